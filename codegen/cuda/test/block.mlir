// RUN: ortc-translate %s --to=cuda | %FileCheck %s
// A block program: sums of rows, 64 threads a row, halves added in shared memory.

// CHECK:      // launch   blocks of 64 x 1 x 1 threads, 256 bytes of shared memory
// CHECK-NEXT: static __global__ void __launch_bounds__(64) row_sums(const float* x, float* y, int /*rows*/,
// CHECK-NEXT:     int cols) {
// CHECK-NEXT:   ORTC_SHARED(float, tile, 64);
// CHECK-NEXT:   const int thread = int(threadIdx.x);
// CHECK-NEXT:   const int row = int(blockIdx.x);
// CHECK-NEXT:   float total = 0.0f;
// CHECK-NEXT:   for (int i = thread; i < cols; i += 64) {
// CHECK-NEXT:     total += x[row * cols + i];
// CHECK-NEXT:   }
// CHECK-NEXT:   tile[thread] = total;
// CHECK-NEXT:   __syncthreads();
// CHECK-NEXT:   int width = 32;
// CHECK-NEXT:   while (width > 0) {
// CHECK-NEXT:     if (thread < width) {
// CHECK-NEXT:       tile[thread] = tile[thread] + tile[thread + width];
// CHECK-NEXT:     }
// CHECK-NEXT:     __syncthreads();
// CHECK-NEXT:     width = width / 2;
// CHECK-NEXT:   }
// CHECK-NEXT:   if (thread == 0) {
// CHECK-NEXT:     y[row] = tile[0];
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func private @row_sums(%x: memref<?xf32> {ortc.name = "x"}, %y: memref<?xf32> {ortc.name = "y"}, %rows: index {ortc.name = "rows"},
    %cols: index {ortc.name = "cols"}) attributes {ortc.kernel, ortc.block = array<i64: 64, 1, 1>, ortc.grid = [affine_map<(r, c) -> (r)>],
    ortc.index_bits = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %tile = memref.alloca() : memref<64xf32, #gpu.address_space<workgroup>>
  %t = gpu.thread_id x {ortc.name = "thread"}
  %r = gpu.block_id x {ortc.name = "row"}
  %sum = scf.for %i = %t to %cols step %c64 iter_args(%acc = %zero) -> f32 {
    %o = arith.muli %r, %cols : index
    %k = arith.addi %o, %i : index
    %v = memref.load %x[%k] : memref<?xf32>
    %n = arith.addf %acc, %v : f32
    scf.yield %n : f32
  }
  memref.store %sum, %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %end = scf.while (%h = %c32) : (index) -> index {
    %more = arith.cmpi sgt, %h, %c0 : index
    scf.condition(%more) %h : index
  } do {
  ^bb0(%h: index):
    %mine = arith.cmpi slt, %t, %h : index
    scf.if %mine {
      %a = memref.load %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      %p = arith.addi %t, %h : index
      %b = memref.load %tile[%p] : memref<64xf32, #gpu.address_space<workgroup>>
      %s = arith.addf %a, %b : f32
      memref.store %s, %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %next = arith.divsi %h, %c2 {ortc.name = "width"} : index
    scf.yield %next : index
  }
  %first = arith.cmpi eq, %t, %c0 : index
  scf.if %first {
    %v = memref.load %tile[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %v, %y[%r] : memref<?xf32>
  }
  return
}
