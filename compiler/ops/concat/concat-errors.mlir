// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @concat_c1_rank(%a: tensor<2xf32>, %b: tensor<2x4xf32>) {
  %e = tensor.empty() : tensor<2x6xf32>
  // expected-error @+1 {{'ortc.concat' op sources and result differ in rank or element type}}
  %r = ortc.concat axis 1 (%a, %b) into %e : tensor<2xf32>, tensor<2x4xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_c1_type(%a: tensor<2x2xi32>, %b: tensor<2x4xf32>) {
  %e = tensor.empty() : tensor<2x6xf32>
  // expected-error @+1 {{'ortc.concat' op sources and result differ in rank or element type}}
  %r = ortc.concat axis 1 (%a, %b) into %e : tensor<2x2xi32>, tensor<2x4xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<2x2xf32>) {
  %e = tensor.empty() : tensor<2x2xf32>
  // expected-error @+1 {{'ortc.concat' op axis is out of range}}
  %r = ortc.concat axis 2 (%a) into %e : tensor<2x2xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @concat_c3(%a: tensor<2x2xf32>, %b: tensor<3x4xf32>) {
  %e = tensor.empty() : tensor<2x6xf32>
  // expected-error @+1 {{'ortc.concat' op sizes differ on dim 0}}
  %r = ortc.concat axis 1 (%a, %b) into %e : tensor<2x2xf32>, tensor<3x4xf32> -> tensor<2x6xf32>
  return
}
