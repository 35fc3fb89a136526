// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --simplify --fold-constants %s | %FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @serial_c1
func.func @serial_c1(%n: index, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty(%n) : tensor<?x8xf32>
  // CHECK: ortc.serial for(%arg0) into(%{{.*}} : tensor<?x8xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: memref<?x8xf32>):
  %y = ortc.serial for (%n) into (%init : tensor<?x8xf32>) {
  ^bb0(%r: index, %out: memref<?x8xf32>):
    %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%carried = %zero) -> f32 {
      %v = tensor.extract %x[%r, %i] : tensor<?x8xf32>
      %next = arith.addf %carried, %v : f32
      memref.store %next, %out[%r, %i] : memref<?x8xf32>
      scf.yield %next : f32
    }
    // CHECK: ortc.yield
    ortc.yield
  } : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Where the elements are that are not zero, and how many there are.
// FOLD-LABEL: @constants
// FOLD-DAG: arith.constant dense<[1, 3, -1, -1]> : tensor<4xi64>
// FOLD-DAG: arith.constant dense<2> : tensor<1xi64>
// FOLD-NOT: ortc.serial
func.func @constants() -> (tensor<4xi64>, tensor<1xi64>) {
  %x = arith.constant dense<[0, 5, 0, 7]> : tensor<4xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant -1 : i64
  %zero = arith.constant 0 : i32
  %places = tensor.empty() : tensor<4xi64>
  %count = tensor.empty() : tensor<1xi64>
  %r:2 = ortc.serial for () into (%places, %count : tensor<4xi64>, tensor<1xi64>) {
  ^bb0(%p: memref<4xi64>, %c: memref<1xi64>):
    scf.for %i = %c0 to %c4 step %c1 {
      memref.store %none, %p[%i] : memref<4xi64>
    }
    %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%at = %c0) -> index {
      %v = tensor.extract %x[%i] : tensor<4xi32>
      %hit = arith.cmpi ne, %v, %zero : i32
      scf.if %hit {
        %place = arith.index_cast %i : index to i64
        memref.store %place, %p[%at] : memref<4xi64>
      }
      %more = arith.addi %at, %c1 : index
      %next = arith.select %hit, %more, %at : index
      scf.yield %next : index
    }
    %n = arith.index_cast %end : index to i64
    memref.store %n, %c[%c0] : memref<1xi64>
    ortc.yield
  } : tensor<4xi64>, tensor<1xi64>
  return %r#0, %r#1 : tensor<4xi64>, tensor<1xi64>
}
