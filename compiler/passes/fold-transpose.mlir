// RUN: %ortc-opt --fold-transpose --simplify --split-input-file --mlir-print-local-scope %s | %FileCheck %s

#bhsd = affine_map<(b, h, m, n, d) -> (b, h, m, d)>
#bhnd = affine_map<(b, h, m, n, d) -> (b, h, n, d)>
#bhmn = affine_map<(b, h, m, n, d) -> (b, h, m, n)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>

// Heads are read where they lie; the scale stays elementwise on the tensor as it was.
// CHECK-LABEL: @scores
// CHECK-SAME: %[[Q:.*]]: tensor<2x8x4x16xf32>, %[[K:.*]]: tensor<2x8x4x16xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[Q]]
// CHECK: ortc.contract(%[[S]], %[[K]])
// CHECK-SAME: (d0, d2, d1, d4)
// CHECK-SAME: (d0, d3, d1, d4)
// CHECK-SAME: (d0, d1, d2, d3)
func.func @scores(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32> {
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2x4x8x16xf32>
  %qt = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%q : tensor<2x8x4x16xf32>) outs(%e : tensor<2x4x8x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<2x4x8x16xf32>
  %qs = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%qt : tensor<2x4x8x16xf32>) outs(%e : tensor<2x4x8x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %half : f32
    linalg.yield %y : f32
  } -> tensor<2x4x8x16xf32>
  %kt = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%k : tensor<2x8x4x16xf32>) outs(%e : tensor<2x4x8x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<2x4x8x16xf32>
  %f = tensor.empty() : tensor<2x4x8x8xf32>
  %s = ortc.contract(%qs, %kt) into %f {indexing_maps = [#bhsd, #bhnd, #bhmn]} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x8xf32>
  return %s : tensor<2x4x8x8xf32>
}

// -----

// The transpose after a product, and the reshape that merges heads: the product writes rows of all heads.
// CHECK-LABEL: @merge_heads
// CHECK: %[[C:.*]] = ortc.contract
// CHECK-SAME: (d0, d2, d1, d3)
// CHECK-SAME: -> tensor<2x8x4x16xf32>
// CHECK: %[[R:.*]] = ortc.reshape %[[C]]
// CHECK: return %[[R]]
func.func @merge_heads(%p: tensor<2x4x8x8xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x8x64xf32> {
  %e = tensor.empty() : tensor<2x4x8x16xf32>
  %c = ortc.contract(%p, %v) into %e {indexing_maps = [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>]}
       : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  %f = tensor.empty() : tensor<2x8x4x16xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, c, b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
       ins(%c : tensor<2x4x8x16xf32>) outs(%f : tensor<2x8x4x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<2x8x4x16xf32>
  %g = tensor.empty() : tensor<2x8x64xf32>
  %r = ortc.reshape %t into %g : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %r : tensor<2x8x64xf32>
}

// -----

// A kernel wants the sums dense: this transpose stays.
// CHECK-LABEL: @strided_sum
// CHECK: linalg.generic
// CHECK: ortc.contract
func.func @strided_sum(%a: tensor<32x8xf32>, %b: tensor<32x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
       ins(%a : tensor<32x8xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<8x32xf32>
  %f = tensor.empty() : tensor<8x4xf32>
  %c = ortc.contract(%t, %b) into %f {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x32xf32>, tensor<32x4xf32> -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}

// -----

// Two that cancel, with something in between that has an operand of its own.
// CHECK-LABEL: @cancel
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x1xf32>
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[B]] : tensor<4x8xf32>, tensor<8x1xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]
func.func @cancel(%x: tensor<4x8xf32>, %b: tensor<8x1xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
       ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
       ins(%t, %b : tensor<8x4xf32>, tensor<8x1xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %y = arith.addf %v, %w : f32
    linalg.yield %y : f32
  } -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
       ins(%s : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}

// -----

// Statistics of groups of channels, channels being last: sums run over pixels and the channels of a group, in the order
// of memory, and not along the row that a reshape makes of them.
// CHECK-LABEL: @group_mean
// CHECK-SAME: %[[X:.*]]: tensor<2x9x12xf32>
// CHECK: %[[R:.*]] = ortc.reshape %[[X]] into {{.*}} : tensor<2x9x12xf32> -> tensor<2x9x3x4xf32>
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
// CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-SAME: ["parallel", "parallel", "reduction", "reduction"]
// CHECK-SAME: ins(%[[R]]
func.func @group_mean(%x: tensor<2x9x12xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x12x9xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, c, b)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%x : tensor<2x9x12xf32>) outs(%e : tensor<2x12x9xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<2x12x9xf32>
  %f = tensor.empty() : tensor<2x3x36xf32>
  %r = ortc.reshape %t into %f : tensor<2x12x9xf32> -> tensor<2x3x36xf32>
  %g = tensor.empty() : tensor<2x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%g : tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
       ins(%r : tensor<2x3x36xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%v: f32, %o: f32):
    %y = arith.addf %o, %v : f32
    linalg.yield %y : f32
  } -> tensor<2x3xf32>
  return %s : tensor<2x3xf32>
}

// -----

// What is computed element by element on groups, too: the transpose goes on, in the sizes of the groups.
// CHECK-LABEL: @group_scale
// CHECK-SAME: %[[X:.*]]: tensor<2x9x12xf32>, %[[F:.*]]: tensor<2x3xf32>
// CHECK: %[[R:.*]] = ortc.reshape %[[X]] into {{.*}} -> tensor<2x9x3x4xf32>
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d0, d2)>
// CHECK-SAME: ins(%[[R]], %[[F]]
// CHECK-SAME: outs({{.*}} : tensor<2x9x3x4xf32>)
func.func @group_scale(%x: tensor<2x9x12xf32>, %factor: tensor<2x3xf32>) -> tensor<2x12x9xf32> {
  %e = tensor.empty() : tensor<2x12x9xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, c, b)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%x : tensor<2x9x12xf32>) outs(%e : tensor<2x12x9xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<2x12x9xf32>
  %f = tensor.empty() : tensor<2x3x36xf32>
  %r = ortc.reshape %t into %f : tensor<2x12x9xf32> -> tensor<2x3x36xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
       ins(%r, %factor : tensor<2x3x36xf32>, tensor<2x3xf32>) outs(%f : tensor<2x3x36xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %y = arith.mulf %v, %w : f32
    linalg.yield %y : f32
  } -> tensor<2x3x36xf32>
  %back = ortc.reshape %s into %e : tensor<2x3x36xf32> -> tensor<2x12x9xf32>
  return %back : tensor<2x12x9xf32>
}
