// RUN: not ortc-translate %s --to=spirv 2>&1 | FileCheck %s
// What a device has no form of is told with the op, not dropped.

// CHECK: error: cannot be written for Vulkan: 'math.sin': devices have no f64 form of it
func.func private @wide(%x: memref<?xf64>, %n: index) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.sin %v : f64
    memref.store %e, %x[%i] : memref<?xf64>
    scf.reduce
  }
  return
}
