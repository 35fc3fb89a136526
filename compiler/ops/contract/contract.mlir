// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --fold-constants %s | %FileCheck %s --check-prefix=FOLD

// CHECK-DAG: #[[L:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[R:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[O:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: @contract_c1
// CHECK: ortc.contract(%arg0, %arg1) into %{{.*}} {indexing_maps = [#[[L]], #[[R]], #[[O]]]} : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
func.func @contract_c1(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: @contract_c2
// CHECK: ortc.contract
func.func @contract_c2(%a: tensor<5xi8>, %b: tensor<5xi8>) -> tensor<i32> {
  %e = tensor.empty() : tensor<i32>
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
       lhsUnsigned = true} : tensor<5xi8>, tensor<5xi8> -> tensor<i32>
  return %r : tensor<i32>
}

// CHECK-LABEL: @contract_c3
// CHECK: ortc.contract
func.func @contract_c3(%n: index, %a: tensor<?x5xf32>, %b: tensor<5xf32>) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>,
       affine_map<(m, k) -> (m)>]} : tensor<?x5xf32>, tensor<5xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: @contract_c4
// CHECK: ortc.contract
func.func @contract_c4(%a: tensor<4xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
  %e = tensor.empty() : tensor<4x3xf32>
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (n)>,
       affine_map<(m, n) -> (m, n)>]} : tensor<4xf32>, tensor<3xf32> -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// FOLD-LABEL: @constants
// FOLD: arith.constant dense<{{\[}}[1.900000e+01, 2.200000e+01], [4.300000e+01, 5.000000e+01]]> : tensor<2x2xf32>
func.func @constants() -> tensor<2x2xf32> {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
