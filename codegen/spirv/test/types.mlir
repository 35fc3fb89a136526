// RUN: ortc-translate %s --to=spv -o %t.spv && spirv-val --target-env vulkan1.1 %t.spv
// RUN: ortc-translate %s --to=spirv | FileCheck %s
// REQUIRES: vulkan
// Types of memory: bytes for bool and i8, 16-bit words for f16, 64-bit integers as they are; what they need is told.

// CHECK: spirv.module {{.*}} requires #spirv.vce<v1.0, [
// CHECK-SAME: StorageBuffer8BitAccess, StorageBuffer16BitAccess, Int64, Int8, Int16]
// CHECK-DAG: spirv.GlobalVariable @types_arg_0 bind(0, 0) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i8, stride=1> [0])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @types_arg_1 bind(0, 1) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @types_arg_2 bind(0, 2) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>
// CHECK-DAG: spirv.GlobalVariable @types_arg_4 : !spirv.ptr<!spirv.struct<(!spirv.array<4 x i32, stride=4> [0])>, PushConstant>
// CHECK: // needs VULKAN_INT16: types
// CHECK: // needs VULKAN_INT64: types
// CHECK: // needs VULKAN_INT8: types
func.func private @types(%mask: memref<?xi1>, %half: memref<?xf16>, %wide: memref<?xi64>, %out: memref<?xf16>, %n: index, %by: i64, %scale: f32)
    attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %m = memref.load %mask[%i] : memref<?xi1>
    %h = memref.load %half[%i] : memref<?xf16>
    %w = memref.load %wide[%i] : memref<?xi64>
    %q = arith.divsi %w, %by : i64
    %f = arith.sitofp %q : i64 to f16
    %s = arith.truncf %scale : f32 to f16
    %p = arith.mulf %h, %f : f16
    %r = arith.select %m, %p, %s : f16
    memref.store %r, %out[%i] : memref<?xf16>
    scf.reduce
  }
  return
}
