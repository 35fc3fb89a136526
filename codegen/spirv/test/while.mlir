// RUN: ortc-translate %s --to=spv -o %t.spv && spirv-val --target-env vulkan1.1 %t.spv
// RUN: ortc-translate %s --to=spirv | FileCheck %s
// REQUIRES: vulkan
// A while that carries a size beside a number: sizes are 32-bit words there as everywhere.

// CHECK: spirv.func @halvings
// CHECK: spirv.mlir.loop
// CHECK-NOT: unrealized
func.func private @halvings(%x: memref<?xf32>, %count: memref<?xi32>, %n: index) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 100 : index
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    %r:2 = scf.while (%w = %v, %turn = %c0) : (f32, index) -> (f32, index) {
      %large = arith.cmpf ogt, %w, %one : f32
      %early = arith.cmpi slt, %turn, %most : index
      %go = arith.andi %large, %early : i1
      scf.condition(%go) %w, %turn : f32, index
    } do {
    ^bb0(%w: f32, %turn: index):
      %next = arith.mulf %w, %half : f32
      %after = arith.addi %turn, %c1 : index
      scf.yield %next, %after : f32, index
    }
    %c = arith.index_cast %r#1 : index to i32
    memref.store %c, %count[%i] : memref<?xi32>
    scf.reduce
  }
  return
}
