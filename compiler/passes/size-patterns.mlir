// RUN: %ortc-opt --simplify --mlir-print-local-scope %s | %FileCheck %s

// A size is not -1, not less than its minimum with another, and the quotient of a product of it is the other factor.
// CHECK-LABEL: @sizes
// CHECK: %[[K:.*]] = arith.constant 384 : index
// CHECK: %[[N:.*]] = ortc.dim "n"
// CHECK: return %[[N]], %[[N]], %[[K]]
func.func @sizes() -> (index, index, index) {
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  %c512 = arith.constant 512 : index
  %none = arith.constant -1 : i64
  %n = ortc.dim "n" in[0, 9223372036854775807]
  %i = arith.index_cast %n : index to i64
  %unset = arith.cmpi eq, %i, %none : i64
  %a = arith.select %unset, %c1, %n : index
  %capped = arith.minsi %n, %c512 : index
  %b = arith.maxsi %n, %capped : index
  %all = arith.muli %n, %c384 : index
  %least = arith.maxsi %n, %c1 : index
  %c = arith.floordivsi %all, %least : index
  return %a, %b, %c : index, index, index
}

// Without bounds nothing is known.
// CHECK-LABEL: @unknown
// CHECK: arith.cmpi
// CHECK: arith.maxsi
func.func @unknown(%n: index) -> (index, index) {
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : index
  %unset = arith.cmpi eq, %n, %none : index
  %a = arith.select %unset, %c1, %n : index
  %b = arith.maxsi %n, %c1 : index
  return %a, %b : index, index
}

// "0 where the size is 1, else i", with i below that size, is i: what is left is a copy, which is its source.
// CHECK-LABEL: @broadcast
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>
// CHECK-NOT: linalg.generic
// CHECK: return %[[X]]
func.func @broadcast(%x: tensor<?xf32> {ortc.dims = ["n"], ortc.name = "x"}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = ortc.dim "n" in[0, 9223372036854775807]
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %one = arith.cmpi eq, %n, %c1 : index
    %at = arith.select %one, %c0, %i : index
    %v = tensor.extract %x[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// Another size: the question stays.
// CHECK-LABEL: @other_size
// CHECK: arith.select
// CHECK: tensor.extract
func.func @other_size(%x: tensor<?xf32> {ortc.dims = ["n"], ortc.name = "x"}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = ortc.dim "n" in[0, 9223372036854775807]
  %m = ortc.dim "m" in[0, 9223372036854775807]
  %e = tensor.empty(%m) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %one = arith.cmpi eq, %n, %c1 : index
    %at = arith.select %one, %c0, %i : index
    %v = tensor.extract %x[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
