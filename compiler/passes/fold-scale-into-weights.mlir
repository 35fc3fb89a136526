// RUN: %ortc-opt --fold-scale-into-weights %s | %FileCheck %s

// y * factor + offset after a bias: weights times factor, and one addition of bias * factor + offset.
// CHECK-LABEL: @batch_norm
// CHECK: %[[W:.*]] = arith.constant dense<{{\[}}[{{\[}}2.000000e+00]], {{\[}}[-2.000000e+00]]]>
// CHECK: %[[C:.*]] = ortc.conv({{.*}}, %[[W]])
// CHECK: %[[B:.*]] = arith.constant dense<[2.100000e+01, 1.600000e+01]>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[B]]
// CHECK-NOT: arith.mulf
// CHECK: arith.addf
// CHECK: return %[[Y]]
func.func @batch_norm(%x: tensor<1x1x5xf32>) -> tensor<1x2x5xf32> {
  %w = arith.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %bias = arith.constant dense<[0.5, 4.0]> : tensor<2xf32>
  %factor = arith.constant dense<[[2.0], [-1.0]]> : tensor<2x1xf32>
  %offset = arith.constant dense<20.0> : tensor<f32>
  %e = tensor.empty() : tensor<1x2x5xf32>
  %c = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
       : tensor<1x1x5xf32>, tensor<2x1x1xf32> -> tensor<1x2x5xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(n, c, i) -> (n, c, i)>, affine_map<(n, c, i) -> (c)>, affine_map<(n, c, i) -> (n, c, i)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%c, %bias : tensor<1x2x5xf32>, tensor<2xf32>) outs(%e : tensor<1x2x5xf32>) {
  ^bb0(%v: f32, %k: f32, %o: f32):
    %y = arith.addf %v, %k : f32
    linalg.yield %y : f32
  } -> tensor<1x2x5xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(n, c, i) -> (n, c, i)>, affine_map<(n, c, i) -> (c, 0)>, affine_map<(n, c, i) -> ()>, affine_map<(n, c, i) -> (n, c, i)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%b, %factor, %offset : tensor<1x2x5xf32>, tensor<2x1xf32>, tensor<f32>) outs(%e : tensor<1x2x5xf32>) {
  ^bb0(%v: f32, %k: f32, %l: f32, %o: f32):
    %m = arith.mulf %v, %k : f32
    %y = arith.addf %m, %l : f32
    linalg.yield %y : f32
  } -> tensor<1x2x5xf32>
  return %n : tensor<1x2x5xf32>
}

// A factor along the image is no factor of weights.
// CHECK-LABEL: @along_image
// CHECK: ortc.conv({{.*}}, %[[W:.*]])
// CHECK: arith.mulf
func.func @along_image(%x: tensor<1x1x2xf32>) -> tensor<1x2x2xf32> {
  %w = arith.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %factor = arith.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<1x2x2xf32>
  %c = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
       : tensor<1x1x2xf32>, tensor<2x1x1xf32> -> tensor<1x2x2xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(n, c, i) -> (n, c, i)>, affine_map<(n, c, i) -> (i)>, affine_map<(n, c, i) -> (n, c, i)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%c, %factor : tensor<1x2x2xf32>, tensor<2xf32>) outs(%e : tensor<1x2x2xf32>) {
  ^bb0(%v: f32, %k: f32, %o: f32):
    %y = arith.mulf %v, %k : f32
    linalg.yield %y : f32
  } -> tensor<1x2x2xf32>
  return %b : tensor<1x2x2xf32>
}
