// RUN: ortc-translate %s --to=cuda | %FileCheck %s
// A block per iteration of the parallel loop: the threads of the block share its sum.

// CHECK:      // launch   a block of 64 threads per iteration
// CHECK-NEXT: static __global__ void __launch_bounds__(64) row_sums(const float* x, float* y, int64_t rows,
// CHECK-NEXT:     int64_t cols) {
// CHECK-NEXT:   for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
// CHECK-NEXT:     const int64_t thread = int64_t(threadIdx.x);
// CHECK-NEXT:     float total = 0.0f;
// CHECK-NEXT:     for (int64_t j = thread; j < cols; j += 64) {
// CHECK-NEXT:       total += x[i * cols + j];
// CHECK-NEXT:     }
// CHECK-NEXT:     const float row_sum = block_sum(total);
// CHECK-NEXT:     if (thread == 0) {
// CHECK-NEXT:       y[i] = row_sum;
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func private @row_sums(%x: memref<?xf32> {ortc.name = "x"}, %y: memref<?xf32> {ortc.name = "y"}, %rows: index {ortc.name = "rows"},
    %cols: index {ortc.name = "cols"}) attributes {ortc.kernel, ortc.row_threads = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %t = gpu.thread_id x {ortc.name = "thread"}
    %sum = scf.for %k = %t to %cols step %c64 iter_args(%acc = %zero) -> f32 {
      %o = arith.muli %i, %cols : index
      %at = arith.addi %o, %k : index
      %v = memref.load %x[%at] : memref<?xf32>
      %n = arith.addf %acc, %v : f32
      scf.yield %n : f32
    }
    %all = gpu.all_reduce add %sum uniform {} {ortc.name = "row_sum"} : (f32) -> (f32)
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      memref.store %all, %y[%i] : memref<?xf32>
    }
  }
  return
}

// CHECK: ORTC_LAUNCH(row_sums, dim3(grid_of(n, 2147483647)), dim3(64), 0, stream
func.func @run() attributes {ortc.program} {
  %n = ortc.dim "n" in [1, 100000]
  %x = ortc.buffer "x" in "input" : memref<?xf32>
  %o = ortc.buffer "y" in "output" : memref<?xf32>
  ortc.launch @row_sums(%x, %o, %n, %n) : memref<?xf32>, memref<?xf32>, index, index
  return
}
