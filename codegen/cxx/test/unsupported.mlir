// RUN: not ortc-translate %s --to=cxx 2>&1 | %FileCheck %s
// RUN: not ortc-translate %s --to=cuda 2>&1 | %FileCheck %s --check-prefix=CUDA
// What cannot be printed is an error at the op, and shows in the text.

// CHECK: unsupported.mlir:[[#@LINE+9]]:{{.*}} error: cannot print 'math.cbrt'
// CHECK: <<unsupported math.cbrt>>
// CUDA: unsupported.mlir:[[#@LINE+8]]:{{.*}} error: cannot print 'vector.store' as CUDA
// CUDA: <<unsupported vector.store>>
func.func private @k(%x: memref<?xf32> {ortc.name = "x"}) attributes {ortc.kernel} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  %c = vector.broadcast %v : f32 to vector<4xf32>
  // cbrt has no use in ONNX, and the runtime has none.
  %w = math.cbrt %c : vector<4xf32>
  vector.store %w, %x[%c0] : memref<?xf32>, vector<4xf32>
  return
}
