// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --simplify %s | %FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @reshape_c1
// CHECK: ortc.reshape %arg0 into %{{.*}} : tensor<2x3xf32> -> tensor<6xf32>
func.func @reshape_c1(%a: tensor<2x3xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = ortc.reshape %a into %e : tensor<2x3xf32> -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: @reshape_c2
// CHECK: ortc.reshape
func.func @reshape_c2(%n: index, %a: tensor<2x?xf32>) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = ortc.reshape %a into %e : tensor<2x?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// FOLD-LABEL: @there_and_back
// FOLD-NEXT: return %arg0
func.func @there_and_back(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = ortc.reshape %a into %e : tensor<2x3xf32> -> tensor<6xf32>
  %f = tensor.empty() : tensor<2x3xf32>
  %s = ortc.reshape %r into %f : tensor<6xf32> -> tensor<2x3xf32>
  return %s : tensor<2x3xf32>
}

// With two free sizes, equal types do not yet mean equal shapes.
// FOLD-LABEL: @two_free_sizes
// FOLD: ortc.reshape
func.func @two_free_sizes(%n: index, %m: index, %a: tensor<?x?xf32> {ortc.dims = ["h", "w"]}) -> tensor<?x?xf32> {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %r = ortc.reshape %a into %e : tensor<?x?xf32> -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// FOLD-LABEL: @constants
// FOLD: arith.constant dense<{{\[}}[1, 2], [3, 4]]> : tensor<2x2xi64>
func.func @constants() -> tensor<2x2xi64> {
  %a = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %e = tensor.empty() : tensor<2x2xi64>
  %r = ortc.reshape %a into %e : tensor<4xi64> -> tensor<2x2xi64>
  return %r : tensor<2x2xi64>
}
