// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --simplify --fold-constants %s | %FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @concat_c1
func.func @concat_c1(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %e = tensor.empty() : tensor<2x7xf32>
  // CHECK: ortc.concat axis 1(%arg0, %arg1) into %{{.*}} : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  %r = ortc.concat axis 1 (%a, %b) into %e : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}

// CHECK-LABEL: @concat_c2
// CHECK: ortc.concat axis 0
func.func @concat_c2(%a: tensor<2xi64>, %b: tensor<1xi64>) -> tensor<3xi64> {
  %e = tensor.empty() : tensor<3xi64>
  %r = ortc.concat axis 0 (%a, %b) into %e : tensor<2xi64>, tensor<1xi64> -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// CHECK-LABEL: @concat_c3
// CHECK: ortc.concat axis 0
func.func @concat_c3(%n: index, %a: tensor<2x?xf32>, %b: tensor<1x4xf32>) -> tensor<3x?xf32> {
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %r = ortc.concat axis 0 (%a, %b) into %e : tensor<2x?xf32>, tensor<1x4xf32> -> tensor<3x?xf32>
  return %r : tensor<3x?xf32>
}

// FOLD-LABEL: @one_source_is_itself
// FOLD-NEXT: return %arg0
func.func @one_source_is_itself(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = ortc.concat axis 1 (%a) into %e : tensor<2x3xf32> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// FOLD-LABEL: @constants
// FOLD-NEXT: %[[C:.*]] = arith.constant dense<{{\[}}[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi32>
// FOLD-NEXT: return %[[C]]
func.func @constants() -> tensor<2x3xi32> {
  %a = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = arith.constant dense<[[5], [6]]> : tensor<2x1xi32>
  %e = tensor.empty() : tensor<2x3xi32>
  %r = ortc.concat axis 1 (%a, %b) into %e : tensor<2x2xi32>, tensor<2x1xi32> -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}
