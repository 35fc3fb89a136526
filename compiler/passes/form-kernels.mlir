// RUN: %ortc-opt --form-kernels %s | %FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>

// Softmax is one kernel: its sums are needed per row, which is what the outer loop runs over. The scale before it is
// computed where the product is written, not three times in the rows.
// CHECK-LABEL: @softmax
// CHECK: %[[S:.*]] = ortc.kernel
// CHECK-NEXT: ortc.contract
// CHECK-NEXT: linalg.generic
// CHECK: ortc.kernel
// CHECK-SAME: ortc.rows = 1
// CHECK: maximumf
// CHECK: math.exp
// CHECK: addf
// CHECK: divf
// CHECK: ortc.yield
// CHECK-NOT: ortc.kernel
// CHECK: return
func.func @softmax(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %r = tensor.empty() : tensor<8xf32>
  %y = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
       : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %x = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.mulf %v, %half : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  %lows = linalg.fill ins(%low : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%lows : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.maximumf %v, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %p = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %d = arith.subf %v, %w : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<8x16xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %v, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<8x16xf32>, tensor<8xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %t = arith.divf %v, %w : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// A sum over the outer loop would be computed for every element: it is a kernel of its own.
// CHECK-LABEL: @columns
// CHECK: ortc.kernel
// CHECK-NEXT: linalg.generic
// CHECK-SAME: "reduction"
// CHECK: ortc.kernel
// CHECK-NOT: "reduction"
// CHECK: return
func.func @columns(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%zeros : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %v, %o : f32
    linalg.yield %t : f32
  } -> tensor<16xf32>
  %z = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %t = arith.subf %v, %w : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// Reshapes and slices of what is in memory stay outside.
// CHECK-LABEL: @views
// CHECK: ortc.reshape
// CHECK: ortc.kernel
// CHECK-NEXT: linalg.generic
func.func @views(%x: tensor<8x16xf32>) -> tensor<128xf32> {
  %e = tensor.empty() : tensor<128xf32>
  %r = ortc.reshape %x into %e : tensor<8x16xf32> -> tensor<128xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%r : tensor<128xf32>) outs(%e : tensor<128xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.negf %v : f32
    linalg.yield %t : f32
  } -> tensor<128xf32>
  return %z : tensor<128xf32>
}

// What is picked element by element is picked once, and not by each sum of a row: these are vectors then.
// CHECK-LABEL: @picked
// CHECK: %[[G:.*]] = ortc.kernel
// CHECK: tensor.extract
// CHECK: ortc.kernel
// CHECK: ins({{.*}}, %[[G]]
// CHECK: arith.maximumf
// CHECK: arith.subf
// CHECK-NOT: ortc.kernel
func.func @picked(%x: tensor<8x64xf32>, %table: tensor<225xf32>, %at: tensor<64xi64>) -> tensor<8x64xf32> {
  %low = arith.constant 0xFF800000 : f32
  %v = tensor.empty() : tensor<64xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
       ins(%at : tensor<64xi64>) outs(%v : tensor<64xf32>) {
  ^bb0(%i: i64, %o: f32):
    %place = arith.index_cast %i : i64 to index
    %e = tensor.extract %table[%place] : tensor<225xf32>
    linalg.yield %e : f32
  } -> tensor<64xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij], iterator_types = ["parallel", "parallel"]}
         ins(%x, %g : tensor<8x64xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  %r = tensor.empty() : tensor<8xf32>
  %init = linalg.fill ins(%low : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %most = linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%sum : tensor<8x64xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#ij, affine_map<(i, j) -> (i)>, #ij], iterator_types = ["parallel", "parallel"]}
       ins(%sum, %most : tensor<8x64xf32>, tensor<8xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
