// RUN: %ortc-opt --narrow-products --fold-constants --simplify %s | %FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#none = affine_map<(i, j) -> ()>
#nchw = affine_map<(n, c, h, w) -> (n, c, h, w)>
#one = affine_map<(n, c, h, w) -> ()>

// (x - zero) w with a zero point that the run computes: the product is that of x, and zero times the sum of each column
// is taken off.
// CHECK-LABEL: @computed_zero
// CHECK-SAME: %[[X:.*]]: tensor<4x2xi8>, %[[Z:.*]]: tensor<i8>
// CHECK-DAG: %[[W:.*]] = arith.constant dense<{{\[}}[-128, 127], [3, 4]]> : tensor<2x2xi8>
// CHECK-DAG: %[[SUM:.*]] = arith.constant dense<[-125, 131]> : tensor<2xi32>
// CHECK: %[[P:.*]] = ortc.contract(%[[X]], %[[W]])
// CHECK-SAME: lhsUnsigned = true
// CHECK-SAME: tensor<4x2xi8>, tensor<2x2xi8> -> tensor<4x2xi32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[P]], %[[Z]], %[[SUM]]
// CHECK: arith.extui
// CHECK: arith.muli
// CHECK: arith.subi
func.func @computed_zero(%x: tensor<4x2xi8>, %z: tensor<i8>) -> tensor<4x2xi32> {
  %w = arith.constant dense<[[-128, 127], [3, 4]]> : tensor<2x2xi32>
  %e = tensor.empty() : tensor<4x2xi32>
  %a = linalg.generic {indexing_maps = [#ij, #none, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %z : tensor<4x2xi8>, tensor<i8>) outs(%e : tensor<4x2xi32>) {
  ^bb0(%v: i8, %u: i8, %o: i32):
    %s = arith.extui %v : i8 to i32
    %t = arith.extui %u : i8 to i32
    %d = arith.subi %s, %t : i32
    linalg.yield %d : i32
  } -> tensor<4x2xi32>
  %y = ortc.contract(%a, %w) into %e {indexing_maps = [#mk, #kn, #mn]} : tensor<4x2xi32>, tensor<2x2xi32> -> tensor<4x2xi32>
  return %y : tensor<4x2xi32>
}

// Numbers of 9 bits are weights of i16.
// CHECK-LABEL: @wide_weights
// CHECK-SAME: %[[X:.*]]: tensor<4x2xi8>
// CHECK: %[[W:.*]] = arith.constant dense<{{\[}}[-100, 5], [155, 6]]> : tensor<2x2xi16>
// CHECK: ortc.contract(%[[X]], %[[W]])
// CHECK-SAME: tensor<4x2xi8>, tensor<2x2xi16> -> tensor<4x2xi32>
// CHECK-NOT: linalg.generic
func.func @wide_weights(%x: tensor<4x2xi8>) -> tensor<4x2xi32> {
  %w = arith.constant dense<[[-100, 5], [155, 6]]> : tensor<2x2xi32>
  %e = tensor.empty() : tensor<4x2xi32>
  %a = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x2xi8>) outs(%e : tensor<4x2xi32>) {
  ^bb0(%v: i8, %o: i32):
    %s = arith.extsi %v : i8 to i32
    linalg.yield %s : i32
  } -> tensor<4x2xi32>
  %y = ortc.contract(%a, %w) into %e {indexing_maps = [#mk, #kn, #mn]} : tensor<4x2xi32>, tensor<2x2xi32> -> tensor<4x2xi32>
  return %y : tensor<4x2xi32>
}

// A product of dequantised numbers: the constant zero point becomes a bias, and both scales one factor.
// CHECK-LABEL: @dequantised
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense<[-40, -60]> : tensor<2xi32>
// CHECK-DAG: %[[W:.*]] = arith.constant dense<{{\[}}[1, 2], [3, 4]]> : tensor<2x2xi8>
// CHECK: ortc.contract(%{{.*}}, %[[W]])
// CHECK-SAME: tensor<4x2xi8>, tensor<2x2xi8> -> tensor<4x2xi32>
// CHECK: arith.addi
// CHECK: arith.sitofp
// CHECK: arith.mulf
func.func @dequantised(%x: tensor<4x2xi8>) -> tensor<4x2xf32> {
  %w = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %z = arith.constant dense<10> : tensor<i8>
  %xs = arith.constant dense<0.5> : tensor<f32>
  %ws = arith.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %f = tensor.empty() : tensor<2x2xf32>
  %a = linalg.generic {indexing_maps = [#ij, #none, #none, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %xs, %z : tensor<4x2xi8>, tensor<f32>, tensor<i8>) outs(%e : tensor<4x2xf32>) {
  ^bb0(%v: i8, %s: f32, %u: i8, %o: f32):
    %i = arith.extui %v : i8 to i32
    %t = arith.extui %u : i8 to i32
    %d = arith.subi %i, %t : i32
    %n = arith.sitofp %d : i32 to f32
    %r = arith.mulf %n, %s : f32
    linalg.yield %r : f32
  } -> tensor<4x2xf32>
  %b = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%w, %ws : tensor<2x2xi8>, tensor<2xf32>) outs(%f : tensor<2x2xf32>) {
  ^bb0(%v: i8, %s: f32, %o: f32):
    %i = arith.extsi %v : i8 to i32
    %n = arith.sitofp %i : i32 to f32
    %r = arith.mulf %n, %s : f32
    linalg.yield %r : f32
  } -> tensor<2x2xf32>
  %y = ortc.contract(%a, %b) into %e {indexing_maps = [#mk, #kn, #mn]} : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

// The padding of a convolution is what stands for 0.
// CHECK-LABEL: @padded
// CHECK-SAME: %[[X:.*]]: tensor<1x1x4x4xi8>, %[[Z:.*]]: tensor<i8>
// CHECK: ortc.conv(%[[X]], %{{.*}}) into %{{.*}} padding %[[Z]]
// CHECK-SAME: tensor<1x1x4x4xi8>, tensor<1x1x3x3xi8>, tensor<i8> -> tensor<1x1x4x4xi32>
// CHECK: linalg.generic
func.func @padded(%x: tensor<1x1x4x4xi8>, %z: tensor<i8>) -> tensor<1x1x4x4xi32> {
  %w = arith.constant dense<3> : tensor<1x1x3x3xi32>
  %e = tensor.empty() : tensor<1x1x4x4xi32>
  %a = linalg.generic {indexing_maps = [#nchw, #one, #nchw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %z : tensor<1x1x4x4xi8>, tensor<i8>) outs(%e : tensor<1x1x4x4xi32>) {
  ^bb0(%v: i8, %u: i8, %o: i32):
    %s = arith.extui %v : i8 to i32
    %t = arith.extui %u : i8 to i32
    %d = arith.subi %s, %t : i32
    linalg.yield %d : i32
  } -> tensor<1x1x4x4xi32>
  %y = ortc.conv(%a, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
       : tensor<1x1x4x4xi32>, tensor<1x1x3x3xi32> -> tensor<1x1x4x4xi32>
  return %y : tensor<1x1x4x4xi32>
}

// Weights of one tap: their scales may be read by any dim of size 1.
// CHECK-LABEL: @one_tap
// CHECK: ortc.conv
// CHECK-SAME: tensor<1x2x4x4xi8>, tensor<3x2x1x1xi8> -> tensor<1x3x4x4xi32>
func.func @one_tap(%x: tensor<1x2x4x4xi8>, %xs: tensor<f32>) -> tensor<1x3x4x4xf32> {
  %w = arith.constant dense<3> : tensor<3x2x1x1xi8>
  %ws = arith.constant dense<0.5> : tensor<3x1x1x1xf32>
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %f = tensor.empty() : tensor<3x2x1x1xf32>
  %g = tensor.empty() : tensor<1x3x4x4xf32>
  %a = linalg.generic {indexing_maps = [#nchw, #one, #nchw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %xs : tensor<1x2x4x4xi8>, tensor<f32>) outs(%e : tensor<1x2x4x4xf32>) {
  ^bb0(%v: i8, %s: f32, %o: f32):
    %n = arith.sitofp %v : i8 to f32
    %r = arith.mulf %n, %s : f32
    linalg.yield %r : f32
  } -> tensor<1x2x4x4xf32>
  %b = linalg.generic {indexing_maps = [#nchw, affine_map<(n, c, h, w) -> (n, 0, h, w)>, #nchw], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w, %ws : tensor<3x2x1x1xi8>, tensor<3x1x1x1xf32>) outs(%f : tensor<3x2x1x1xf32>) {
  ^bb0(%v: i8, %s: f32, %o: f32):
    %n = arith.sitofp %v : i8 to f32
    %r = arith.mulf %n, %s : f32
    linalg.yield %r : f32
  } -> tensor<3x2x1x1xf32>
  %y = ortc.conv(%a, %b) into %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
       : tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32> -> tensor<1x3x4x4xf32>
  return %y : tensor<1x3x4x4xf32>
}

// Floats that are no quantised numbers stay; so does a product of two computed tensors.
// CHECK-LABEL: @others
// CHECK: ortc.contract({{.*}}xf32> -> tensor<4x2xf32>
func.func @others(%x: tensor<4x2xf32>, %w: tensor<2x2xf32>) -> tensor<4x2xf32> {
  %e = tensor.empty() : tensor<4x2xf32>
  %y = ortc.contract(%x, %w) into %e {indexing_maps = [#mk, #kn, #mn]} : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
