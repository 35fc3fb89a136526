// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @contract_c1_number(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  // expected-error @+1 {{'ortc.contract' op needs three indexing maps}}
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>]}
       : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @contract_c1_form(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  // expected-error @+1 {{'ortc.contract' op indexing map 0 is no projected permutation over the same loops}}
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k + n)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @contract_c2(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  // expected-error @+1 {{'ortc.contract' op indexing map 1 does not fit the rank of its operand}}
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<4x5xf32>, tensor<5x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @contract_c3(%a: tensor<4x5xf32>, %b: tensor<7x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  // expected-error @+1 {{'ortc.contract' op loop 2 is 5 and 7}}
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
       affine_map<(m, n, k) -> (m, n)>]} : tensor<4x5xf32>, tensor<7x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @contract_c4(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  // expected-error @+1 {{'ortc.contract' op a loop is in neither the lhs nor the rhs map}}
  %r = ortc.contract(%a, %b) into %e {indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m)>,
       affine_map<(m, n) -> (m, n)>]} : tensor<4xf32>, tensor<4xf32> -> tensor<4x6xf32>
  return
}
