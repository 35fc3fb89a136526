// RUN: ortc-translate %s --to=wgsl | %FileCheck %s
// The start of a minimum of 64-bit positions is the largest number: 32 bits have one of their own.

// CHECK: var [[FIRST:[a-z0-9_]+]]: i32 = 2147483647;
// CHECK: min([[FIRST]], i)
module {
func.func private @first_of(%x: memref<?xf32> {ortc.name = "x"}, %y: memref<?xi64> {ortc.name = "y"}, %n: index {ortc.name = "n"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 9223372036854775807 : i64
  %one = arith.constant 1.0 : f32
  %first = scf.for %i = %c0 to %n step %c1 iter_args(%least = %none) -> (i64) {
    %v = memref.load %x[%i] : memref<?xf32>
    %hit = arith.cmpf oeq, %v, %one : f32
    %at = arith.index_cast %i : index to i64
    %less = arith.minsi %least, %at : i64
    %next = arith.select %hit, %less, %least : i64
    scf.yield %next : i64
  } {ortc.axis = "i"}
  memref.store %first, %y[%c0] : memref<?xi64>
  return
}
}
