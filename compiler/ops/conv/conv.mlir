// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --fold-constants %s | %FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @conv_c1
// CHECK: ortc.conv(%arg0, %arg1) into %{{.*}} {dilations = array<i64: 1>, pads = array<i64: 1, 1>, strides = array<i64: 1>} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
func.func @conv_c1(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<1x4x8xf32> {
  %e = tensor.empty() : tensor<1x4x8xf32>
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// CHECK-LABEL: @conv_c2
// CHECK: ortc.conv
func.func @conv_c2(%x: tensor<1x3x4x8x8xf32>, %w: tensor<4x3x1x3x3xf32>) -> tensor<1x4x4x3x6xf32> {
  %e = tensor.empty() : tensor<1x4x4x3x6xf32>
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 1>,
       pads = array<i64: 0, 0, 0, 0, 0, 0>} : tensor<1x3x4x8x8xf32>, tensor<4x3x1x3x3xf32> -> tensor<1x4x4x3x6xf32>
  return %y : tensor<1x4x4x3x6xf32>
}

// CHECK-LABEL: @conv_c3
// CHECK: group = 2 : i64
// CHECK-SAME: layout = "nhwc"
func.func @conv_c3(%x: tensor<1x8x8x6xi8>, %w: tensor<4x3x3x3xi8>) -> tensor<1x6x6x4xi32> {
  %e = tensor.empty() : tensor<1x6x6x4xi32>
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
       group = 2 : i64, layout = "nhwc", inputUnsigned = true} : tensor<1x8x8x6xi8>, tensor<4x3x3x3xi8> -> tensor<1x6x6x4xi32>
  return %y : tensor<1x6x6x4xi32>
}

// CHECK-LABEL: @conv_c4
// CHECK: ortc.conv
func.func @conv_c4(%h: index, %x: tensor<1x3x?x9xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x?x4xf32> {
  %e = tensor.empty(%h) : tensor<1x4x?x4xf32>
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
       : tensor<1x3x?x9xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x?x4xf32>
  return %y : tensor<1x4x?x4xf32>
}

// FOLD-LABEL: @constants
// FOLD: arith.constant dense<{{\[\[}}[3.000000e+00, 6.000000e+00, 5.000000e+00]]]> : tensor<1x1x3xf32>
func.func @constants() -> tensor<1x1x3xf32> {
  %x = arith.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %w = arith.constant dense<1.0> : tensor<1x1x3xf32>
  %e = tensor.empty() : tensor<1x1x3xf32>
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x1x3xf32>, tensor<1x1x3xf32> -> tensor<1x1x3xf32>
  return %y : tensor<1x1x3xf32>
}

// Padding that is not 0, unsigned as the input.
// CHECK-LABEL: @conv_c5
// CHECK: ortc.conv(%{{.*}}, %{{.*}}) into %{{.*}} padding %{{.*}} : tensor<1x1x3xi8>, tensor<1x1x3xi8>, tensor<i8> -> tensor<1x1x3xi32>
// FOLD-LABEL: @conv_c5
// FOLD: arith.constant dense<{{\[\[}}[203, 6, 205]]]> : tensor<1x1x3xi32>
func.func @conv_c5() -> tensor<1x1x3xi32> {
  %x = arith.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %w = arith.constant dense<1> : tensor<1x1x3xi8>
  %p = arith.constant dense<200> : tensor<i8>
  %e = tensor.empty() : tensor<1x1x3xi32>
  %y = ortc.conv(%x, %w) into %e padding %p {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>,
       inputUnsigned = true} : tensor<1x1x3xi8>, tensor<1x1x3xi8>, tensor<i8> -> tensor<1x1x3xi32>
  return %y : tensor<1x1x3xi32>
}
