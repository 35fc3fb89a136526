// RUN: ortc-translate %s --to=cuda | %FileCheck %s
// A catalogue kernel: a function of the host that launches it, with its arguments by name and the epilogue as a struct.

// CHECK:      struct AddAddRelu {
// CHECK-NEXT:   const float* bias;
// CHECK-NEXT:   const float* residual;
// CHECK-NEXT:   ORTC_DEV float operator()(float acc, int64_t m, int64_t n) const {
// CHECK-NEXT:     return maximum(acc + bias[n] + residual[m * 128 + n], 0.0f);
// CHECK-NEXT:   }
// CHECK-NEXT: };
// CHECK:      // launch   blocks of 256 threads, a tile each
// CHECK-NEXT: static cudaError_t fc1(cudaStream_t stream, const float* a, const float* w, const float* bias,
// CHECK-NEXT:     const float* residual, float* y, int64_t batch) {
// CHECK-NEXT:   GemmArgs args;
// CHECK-NEXT:   args.a = a;
// CHECK-NEXT:   args.b = w;
// CHECK-NEXT:   args.c = y;
// CHECK-NEXT:   args.M = batch;
// CHECK-NEXT:   args.N = 128;
// CHECK-NEXT:   return ORTC_LAUNCH((gemm_f32<Tile<64, 64, 16, 4, 4>, Along::K, AddAddRelu>),
// CHECK-NEXT:       dim3(grid_of((batch + 63) / 64, 2147483647), 2), dim3(256), 0, stream, args,
// CHECK-NEXT:       AddAddRelu{bias, residual});
// CHECK-NEXT: }
#grid = [affine_map<()[b] -> (b ceildiv 64)>, affine_map<()[b] -> (2)>, affine_map<()[b] -> (1)>]
func.func private @fc1(%a: memref<?xf32> {ortc.name = "a"}, %w: memref<?xf32> {ortc.name = "w"}, %bias: memref<?xf32> {ortc.name = "bias"},
    %res: memref<?xf32> {ortc.name = "residual"}, %y: memref<?xf32> {ortc.name = "y"}, %batch: index {ortc.name = "batch"})
    attributes {ortc.kernel, ortc.block = array<i64: 256, 1, 1>, ortc.grid = #grid} {
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  ortc.call_template "gemm_f32" {Tile = "Tile<64, 64, 16, 4, 4>", A = "Along::K"}
      buffers(%a, %w, %y : memref<?xf32>, memref<?xf32>, memref<?xf32>) sizes(%batch, %c128 : index, index)
      names ["a", "b", "c", "M", "N"] attributes {parameterOrder = ["Tile", "A"]} {
  ^bb0(%acc: f32, %m: index, %n: index):
    %b = memref.load %bias[%n] : memref<?xf32>
    %s = arith.addf %acc, %b : f32
    %r = arith.muli %m, %c128 : index
    %k = arith.addi %r, %n : index
    %v = memref.load %res[%k] : memref<?xf32>
    %t = arith.addf %s, %v : f32
    %u = arith.maximumf %t, %zero : f32
    ortc.yield %u : f32
  }
  return
}

// CHECK: ORTC_CUDA_TRY(context, "fc1", fc1(stream, x, x, x, x, y, n));
func.func @run() attributes {ortc.program} {
  %n = ortc.dim "n" in [1, 100000]
  %x = ortc.buffer "x" in "input" : memref<?xf32>
  %o = ortc.buffer "y" in "output" : memref<?xf32>
  ortc.launch @fc1(%x, %x, %x, %x, %o, %n) : memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf32>, index
  return
}
