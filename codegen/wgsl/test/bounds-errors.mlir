// RUN: not ortc-translate %s --to=wgsl 2>&1 | %FileCheck %s
// A number that is computed with must fit, and the error is at the op that uses it.

// CHECK: bounds-errors.mlir:[[#@LINE+9]]:{{.*}} error: cannot lower 'arith.constant' for this device: integers have 32 bits there, and this is 2654435761
module {
func.func private @hash(%x: memref<?xi64> {ortc.name = "x"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %factor = arith.constant 2654435761 : i64

  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xi64>
    %h = arith.muli %v, %factor : i64
    memref.store %h, %x[%i] : memref<?xi64>
    scf.reduce
  }
  return
}
}
