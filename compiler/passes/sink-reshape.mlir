// RUN: %ortc-opt --sink-reshape %s | %FileCheck %s

// The bias follows the product; the batch of one comes back at the end.
// CHECK-LABEL: @bias
// CHECK: %[[C:.*]] = ortc.contract
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[C]], %{{.*}} : tensor<8x4xf32>, tensor<4xf32>)
// CHECK: %[[R:.*]] = ortc.reshape %[[Y]]
// CHECK: return %[[R]]
func.func @bias(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %bias: tensor<4xf32>) -> tensor<1x8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %c = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<1x8x4xf32>
  %r = ortc.reshape %c into %f : tensor<8x4xf32> -> tensor<1x8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, m, n) -> (i, m, n)>, affine_map<(i, m, n) -> (n)>, affine_map<(i, m, n) -> (i, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%r, %bias : tensor<1x8x4xf32>, tensor<4xf32>) outs(%f : tensor<1x8x4xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %s = arith.addf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<1x8x4xf32>
  return %y : tensor<1x8x4xf32>
}

// Along split dims an operand of its own keeps the op where it is.
// CHECK-LABEL: @per_head
// CHECK: ortc.contract
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: ortc.reshape
// CHECK-NEXT: linalg.generic
func.func @per_head(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %scale: tensor<2xf32>) -> tensor<8x2x2xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %c = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<8x2x2xf32>
  %r = ortc.reshape %c into %f : tensor<8x4xf32> -> tensor<8x2x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, m, n) -> (i, m, n)>, affine_map<(i, m, n) -> (m)>, affine_map<(i, m, n) -> (i, m, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%r, %scale : tensor<8x2x2xf32>, tensor<2xf32>) outs(%f : tensor<8x2x2xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %s = arith.mulf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<8x2x2xf32>
  return %y : tensor<8x2x2xf32>
}
