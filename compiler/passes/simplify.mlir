// RUN: %ortc-opt --simplify %s | %FileCheck %s

// What an exporter writes for "as many elements as x has, halved": arithmetic on sizes, no tensor work.
// CHECK-LABEL: @product_of_a_shape
// CHECK-NOT: linalg
// CHECK: %[[N:.*]] = ortc.dim "n"
// CHECK: %[[I:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[M:.*]] = arith.muli %[[I]], %{{.*}} : i64
// CHECK: tensor.from_elements %[[M]] : tensor<i64>
func.func @product_of_a_shape() -> tensor<i64> {
  %n = ortc.dim "n" in [1, 100]
  %c4 = arith.constant 4 : index
  %t = tensor.from_elements %n, %c4 : tensor<2xindex>
  %e = tensor.empty() : tensor<2xi64>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
       ins(%t : tensor<2xindex>) outs(%e : tensor<2xi64>) {
  ^bb0(%a: index, %o: i64):
    %v = arith.index_cast %a : index to i64
    linalg.yield %v : i64
  } -> tensor<2xi64>
  %one = arith.constant 1 : i64
  %e1 = tensor.empty() : tensor<i64>
  %f1 = linalg.fill ins(%one : i64) outs(%e1 : tensor<i64>) -> tensor<i64>
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
       ins(%s : tensor<2xi64>) outs(%f1 : tensor<i64>) {
  ^bb0(%a: i64, %o: i64):
    %v = arith.muli %a, %o : i64
    linalg.yield %v : i64
  } -> tensor<i64>
  return %p : tensor<i64>
}

// CHECK-LABEL: @slices_and_concats
// CHECK: %[[R:.*]] = tensor.from_elements %arg2, %arg0, %arg0 : tensor<3xi64>
// CHECK-NEXT: return %[[R]], %arg1
func.func @slices_and_concats(%a: i64, %b: i64, %c: i64) -> (tensor<3xi64>, i64) {
  %t = tensor.from_elements %a, %b, %c : tensor<3xi64>
  %u = tensor.extract_slice %t[2] [1] [1] : tensor<3xi64> to tensor<1xi64>
  %v = tensor.extract_slice %t[0] [1] [1] : tensor<3xi64> to tensor<1xi64>
  %e = tensor.empty() : tensor<3xi64>
  %r = ortc.concat axis 0 (%u, %v, %v) into %e : tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<3xi64>
  %c1 = arith.constant 1 : index
  %x = tensor.extract %t[%c1] : tensor<3xi64>
  return %r, %x : tensor<3xi64>, i64
}

// Gather of a shape: the index is known, so that the read is.
// CHECK-LABEL: @gather
// CHECK: tensor.from_elements %arg1 : tensor<1xi64>
func.func @gather(%a: i64, %b: i64) -> tensor<1xi64> {
  %t = tensor.from_elements %a, %b : tensor<2xi64>
  %at = arith.constant dense<[-1]> : tensor<1xi64>
  %e = tensor.empty() : tensor<1xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
       ins(%at : tensor<1xi64>) outs(%e : tensor<1xi64>) {
  ^bb0(%k: i64, %o: i64):
    %c0 = arith.constant 0 : i64
    %c2 = arith.constant 2 : i64
    %neg = arith.cmpi slt, %k, %c0 : i64
    %w = scf.if %neg -> i64 {
      %s = arith.addi %k, %c2 : i64
      scf.yield %s : i64
    } else {
      scf.yield %k : i64
    }
    %i = arith.index_cast %w : i64 to index
    %v = tensor.extract %t[%i] : tensor<2xi64>
    linalg.yield %v : i64
  } -> tensor<1xi64>
  return %r : tensor<1xi64>
}

// Data stay tensors, however small.
// CHECK-LABEL: @data
// CHECK: linalg.generic
func.func @data(%x: tensor<2xi64>) -> tensor<2xi64> {
  %e = tensor.empty() : tensor<2xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
       ins(%x : tensor<2xi64>) outs(%e : tensor<2xi64>) {
  ^bb0(%a: i64, %o: i64):
    %v = arith.addi %a, %a : i64
    linalg.yield %v : i64
  } -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// CHECK-LABEL: @known_branch
// CHECK-NEXT: return %arg0
func.func @known_branch(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %yes = arith.constant true
  %r = scf.if %yes -> tensor<2xf32> {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %y : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// The size after a tensor stays, although nothing reads it.
// CHECK-LABEL: @sizes_stay
// CHECK: scf.if %arg0 -> (tensor<?xf32>, index)
func.func @sizes_stay(%f: i1, %x: tensor<?xf32> {ortc.dims = ["n"]}, %y: tensor<?xf32> {ortc.dims = ["m"]}) -> tensor<?xf32> {
  %n = ortc.dim "n" in [1, 8]
  %m = ortc.dim "m" in [1, 8]
  %r:2 = scf.if %f -> (tensor<?xf32>, index) {
    scf.yield %x, %n : tensor<?xf32>, index
  } else {
    scf.yield %y, %m : tensor<?xf32>, index
  }
  return %r#0 : tensor<?xf32>
}
