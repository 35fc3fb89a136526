// RUN: ortc-translate %s --to=spirv | FileCheck %s
// The host program: ranges with their bytes, a tensor that begins inside a descriptor, a read-back, an output by data.

// CHECK: spirv.GlobalVariable @scale_arg_3 : !spirv.ptr<!spirv.struct<(!spirv.array<2 x i32, stride=4> [0])>, PushConstant>
// CHECK:      static uint64_t arena_bytes(const int64_t* dims) {
// CHECK-NEXT:   const int64_t batch = dims[0];
// CHECK-NEXT:   const int64_t [[BYTES:.*]] = batch * 512;
// CHECK-NEXT:   return uint64_t([[BYTES]] + 256);
// CHECK:      ortc_status run(net_context& context, ortc_tensor* outputs, const int64_t* dims) {
// CHECK:        context.launch(kernel_scale,
// CHECK-NEXT:       {context.input(0, 0), context.weights(320, 64), context.arena(256, {{.*}})},
// CHECK-NEXT:       {vk_start(320, 4), context.size(batch)}, batch);
// CHECK-NEXT:   int64_t [[FOUND:.*]];
// CHECK-NEXT:   if (const ortc_status status = context.read_back(&[[FOUND]], context.arena(0, 8))) {
// CHECK-NEXT:     return status;
// CHECK-NEXT:   }
// CHECK:        context.set_output(outputs, 0, output0_dims)
// CHECK:        context.launch(kernel_fill, {context.output(0, 0)}, {context.size([[FOUND]])}, [[FOUND]]);
// CHECK-NEXT:   return context.vk.status();
module attributes {ortc.name = "net", ortc.weights_bytes = 1024 : i64,
    ortc.inputs = [{name = "x", dtype = 1 : i64, dims = ["batch", 128 : i64]}], ortc.outputs = [{name = "y", dtype = 1 : i64, dims = [unit]}]} {
  func.func private @scale(%x: memref<?xf32>, %s: memref<?xf32>, %y: memref<?xf32>, %batch: index) attributes {ortc.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.parallel (%i) = (%c0) to (%batch) step (%c1) {
      %v = memref.load %x[%i] : memref<?xf32>
      %w = memref.load %s[%c0] : memref<?xf32>
      %p = arith.mulf %v, %w : f32
      memref.store %p, %y[%i] : memref<?xf32>
      scf.reduce
    }
    return
  }
  func.func private @fill(%y: memref<?xf32>, %n: index) attributes {ortc.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %z, %y[%i] : memref<?xf32>
      scf.reduce
    }
    return
  }
  func.func @run() attributes {ortc.program} {
    %batch = ortc.dim "batch" in [1, 32]
    %all = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c256 = arith.constant 256 : index
    %c320 = arith.constant 320 : index
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %bytes = arith.muli %batch, %c512 : index
    %total = arith.addi %bytes, %c256 : index
    ortc.require_arena %total
    %x = ortc.buffer "x" in "input" : memref<?xf32>
    %s = ortc.buffer "s" in "weights" at %c320 : memref<?xf32>
    %h = ortc.buffer "h" in "arena" at %c256 : memref<?xf32>
    %n = ortc.buffer "n" in "arena" at %c0 : memref<?xi64>
    ortc.launch @scale(%x, %s, %h, %batch, %all, %c64, %bytes) : memref<?xf32>, memref<?xf32>, memref<?xf32>, index, index, index, index
    %found = memref.load %n[%c0] : memref<?xi64>
    %count = arith.index_cast %found : i64 to index
    ortc.output_dims 0 bytes 4 sizes(%count)
    %y = ortc.buffer "y" in "output" : memref<?xf32>
    ortc.launch @fill(%y, %count, %all) : memref<?xf32>, index, index
    return
  }
}
