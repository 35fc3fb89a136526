// RUN: rm -rf %t && mkdir -p %t && ortc-translate %s --to=js -o %t/net.mjs && %FileCheck %s < %t/net.mjs
// The module for WebGPU: sizes of buffers, what the kernels take, and the program.

// CHECK:      function sizes(dims) {
// CHECK-NEXT:   const batch = dims.batch;
// Floats are f32 there, too, and what is no number is no size.
// CHECK-NEXT:   const converted = (Math.trunc(Math.fround(Math.fround(batch) * Math.fround(0.3))) || 0);
// CHECK-NEXT:   return [batch * 512 + 64, 4 * dims.batch * 128, 4 * Math.max(converted, 64) * 2];
// CHECK:        { name: 'x', dtype: 'float32', shape: ['batch', 128] },
// CHECK:        { name: 'y', dtype: 'float32', shape: [null, 2] },
// CHECK:        { name: 'batch', min: 1, max: 32 },
// CHECK:        { name: 'scale_rows', file: 'shaders/scale_rows.wgsl', access: ['r', 'r', 'rw'],
// CHECK:      async program(run, dims) {
// CHECK:        run.input(0, input0);
// CHECK:        run.dispatch(0 /* scale_rows */, [input0, weights, arena], [0, 64, 16, batch],
// CHECK-NEXT:       groups(batch, 64));
// CHECK:        const value = Number((await run.read([run.arena(0, 0, 8)], BigInt64Array))[0][0]);
// CHECK-NEXT:   const found = Math.min(value, 64);
// CHECK-NEXT:   run.output(0, output0, [found, 2]);
// CHECK-NEXT:   if (found > 0) {
// CHECK:          run.dispatch(2 /* fill */, [output0], [0, found * 2], 1);
// A string is never cut, whatever quotes are in it.
// CHECK:          run.fail('node \'select\' (Compress, opset 11): too many of \'x\', which is f32[batch,128], pass, more than "1000"');
module attributes {ortc.name = "net", ortc.weights_bytes = 1024 : i64, ortc.inputs = [{name = "x", dtype = 1 : i64, dims = ["batch", 128]}],
  ortc.outputs = [{name = "y", dtype = 1 : i64, dims = [unit, 2]}]} {

func.func private @scale_rows(%x: memref<?xf32> {ortc.name = "x"}, %s: memref<?xf32> {ortc.name = "s"}, %y: memref<?xf32> {ortc.name = "y"},
    %batch: index {ortc.name = "batch"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  scf.parallel (%i) = (%c0) to (%batch) step (%c1) {
    scf.for %j = %c0 to %c128 step %c1 {
      %r = arith.muli %i, %c128 : index
      %k = arith.addi %r, %j : index
      %v = memref.load %x[%k] : memref<?xf32>
      %w = memref.load %s[%j] : memref<?xf32>
      %p = arith.mulf %v, %w : f32
      memref.store %p, %y[%k] : memref<?xf32>
    }
    scf.reduce
  }
  return
}
func.func private @count_positive(%x: memref<?xf32> {ortc.name = "x"}, %n: memref<?xi64> {ortc.name = "count"}, %size: index {ortc.name = "size"})
    attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %size step %c1 iter_args(%a = %none) -> i64 {
    %v = memref.load %x[%i] : memref<?xf32>
    %p = arith.cmpf ogt, %v, %zero : f32
    %d = arith.extui %p : i1 to i64
    %b = arith.addi %a, %d overflow<nsw> : i64
    scf.yield %b : i64
  }
  memref.store %r, %n[%c0] : memref<?xi64>
  return
}
func.func private @fill(%y: memref<?xf32> {ortc.name = "y"}, %size: index {ortc.name = "size"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 2.5 : f32
  scf.for %i = %c0 to %size step %c1 {
    memref.store %v, %y[%i] : memref<?xf32>
  }
  return
}
func.func @run() attributes {ortc.program} {
  %batch = ortc.dim "batch" in [1, 32]
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %c1000 = arith.constant 1000 : index
  %b = arith.muli %batch, %c512 : index
  %bytes = arith.addi %b, %c64 : index
  ortc.require_arena %bytes
  %x = ortc.buffer "x" in "input" number 0 : memref<?xf32>
  %s = ortc.buffer "scale" in "weights" at %c256 : memref<?xf32>
  %h = ortc.buffer "h" in "arena" at %c64 : memref<?xf32>
  %n = ortc.buffer "count" in "arena" at %c0 : memref<?xi64>
  ortc.launch @scale_rows(%x, %s, %h, %batch) : memref<?xf32>, memref<?xf32>, memref<?xf32>, index
  %size = arith.muli %batch, %c128 : index
  ortc.launch @count_positive(%h, %n, %size) : memref<?xf32>, memref<?xi64>, index
  %raw = memref.load %n[%c0] : memref<?xi64>
  %all = arith.index_cast %raw : i64 to index
  %c64_1 = arith.constant 64 : index
  %found = arith.minsi %all, %c64_1 {ortc.name = "found"} : index
  ortc.output_dims 0 bytes 4 sizes(%found, %c2)
  %y = ortc.buffer "y" in "output" number 0 : memref<?xf32>
  %some = arith.cmpi sgt, %found, %c0 : index
  scf.if %some {
    %total = arith.muli %found, %c2 : index
    ortc.launch @fill(%y, %total) : memref<?xf32>, index
  }
  %few = arith.cmpi slt, %found, %c1000 : index
  ortc.check %few, "RUN_ERROR" "node 'select' (Compress, opset 11): too many of 'x', which is f32[batch,128], pass, more than \221000\22"
  return
}
// The most that outputs take whose sizes the run computes.
func.func @output_bounds() {
  %batch = ortc.dim "batch" in [1, 32]
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %third = arith.constant 0.3 : f32
  %i = arith.index_cast %batch : index to i64
  %f = arith.sitofp %i : i64 to f32
  %scaled = arith.mulf %f, %third : f32
  %n = arith.fptosi %scaled : f32 to i64
  %m = arith.index_cast %n : i64 to index
  %most = arith.maxsi %m, %c64 : index
  ortc.output_dims 0 bytes 4 sizes(%most, %c2)
  return
}
}
