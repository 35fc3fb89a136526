// REQUIRES: node, webgpu
// RUN: rm -rf %t && mkdir -p %t && ortc-translate %s --to=wgsl --shaders=%t && cat %t/fill.wgsl | %FileCheck %s
// RUN: node %root/targets/webgpu/tools/validate_wgsl.mjs %t/fill.wgsl
// Numbers at the ends of f32: WGSL refuses a text that is more than the largest, and knows no infinity.

// CHECK-DAG: = 3.4028234663852886e+38
// CHECK-DAG: = -3.4028234663852886e+38
// CHECK-DAG: = 1.1754944e-38
// CHECK-DAG: = o_bits(0x7f800000u)
// CHECK-DAG: = o_bits(0x00000001u)
module {
func.func private @fill(%y: memref<?xf32> {ortc.name = "y"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %largest = arith.constant 0x7F7FFFFF : f32
  %lowest = arith.constant 0xFF7FFFFF : f32
  %smallest = arith.constant 0x00800000 : f32
  %infinity = arith.constant 0x7F800000 : f32
  %tiny = arith.constant 0x00000001 : f32
  memref.store %largest, %y[%c0] : memref<?xf32>
  memref.store %lowest, %y[%c1] : memref<?xf32>
  memref.store %smallest, %y[%c2] : memref<?xf32>
  memref.store %infinity, %y[%c3] : memref<?xf32>
  memref.store %tiny, %y[%c4] : memref<?xf32>
  return
}
}
