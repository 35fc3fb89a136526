// RUN: %ortc-opt --assign-layout --simplify %s | %FileCheck %s

// One transpose of the image, and none after the pooling, whose result is one pixel of channels.
// CHECK-LABEL: @conv_relu_pool
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xf32>
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<1x3x8x8xf32>) outs({{.*}} : tensor<1x8x8x3xf32>)
// CHECK: %[[C:.*]] = ortc.conv(%[[T]], {{.*}} layout = "nhwc"
// CHECK-SAME: -> tensor<1x8x8x4xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[C]]
// CHECK-SAME: outs({{.*}} : tensor<1x8x8x4xf32>)
// CHECK: linalg.generic
// CHECK-SAME: "reduction", "reduction"]
// CHECK-SAME: ins(%[[R]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @conv_relu_pool(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x8x8xf32>
  %c = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
       : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>, affine_map<(n, c, h, w) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
       ins(%c : tensor<1x4x8x8xf32>) outs(%e : tensor<1x4x8x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = arith.maximumf %v, %zero : f32
    linalg.yield %y : f32
  } -> tensor<1x4x8x8xf32>
  %f = tensor.empty() : tensor<1x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%f : tensor<1x4xf32>) -> tensor<1x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>, affine_map<(n, c, h, w) -> (n, c)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
       ins(%r : tensor<1x4x8x8xf32>) outs(%i : tensor<1x4xf32>) {
  ^bb0(%v: f32, %s: f32):
    %y = arith.addf %s, %v : f32
    linalg.yield %y : f32
  } -> tensor<1x4xf32>
  return %p : tensor<1x4xf32>
}

// What reads at computed places (padding, pooling, resizing) is computed in the new order, too.
// CHECK-LABEL: @windows
// CHECK: ortc.conv
// CHECK: %[[P:.*]] = linalg.generic
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %[[H:.*]], %[[W:.*]], %{{.*}}] : tensor<1x8x8x4xf32>
// CHECK: ortc.conv(%[[P]]
func.func @windows(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %v: tensor<2x4x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<1x4x8x8xf32>
  %c = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
       : tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x8x8xf32>
  %f = tensor.empty() : tensor<1x4x4x4xf32>
  %half = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
       outs(%f : tensor<1x4x4x4xf32>) {
  ^bb0(%o: f32):
    %n = linalg.index 0 : index
    %k = linalg.index 1 : index
    %h = linalg.index 2 : index
    %j = linalg.index 3 : index
    %h2 = arith.muli %h, %c2 : index
    %j2 = arith.muli %j, %c2 : index
    %y = tensor.extract %c[%n, %k, %h2, %j2] : tensor<1x4x8x8xf32>
    linalg.yield %y : f32
  } -> tensor<1x4x4x4xf32>
  %g = tensor.empty() : tensor<1x2x4x4xf32>
  %d = ortc.conv(%half, %v) into %g {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
       : tensor<1x4x4x4xf32>, tensor<2x4x1x1xf32> -> tensor<1x2x4x4xf32>
  return %d : tensor<1x2x4x4xf32>
}

// A constant that is read in one column keeps its columns: only dims of size 1 are dropped.
// CHECK-LABEL: @column
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4x2xf32>)
func.func @column(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %v: tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<1x4x8x8xf32>
  %c = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
       : tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x8x8xf32>
  %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %f = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
       ins(%v, %table : tensor<4xf32>, tensor<4x2xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %c, %y : tensor<1x4x8x8xf32>, tensor<4xf32>
}
