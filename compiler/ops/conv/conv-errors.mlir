// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @conv_c1(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3xf32>) {
  %e = tensor.empty() : tensor<1x4x8x8xf32>
  // expected-error @+1 {{'ortc.conv' op ranks do not fit}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
       : tensor<1x3x8x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @conv_layout(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  %e = tensor.empty() : tensor<1x4x8xf32>
  // expected-error @+1 {{'ortc.conv' op unknown layout}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, layout = "chwn"}
       : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @conv_c2_number(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  %e = tensor.empty() : tensor<1x4x8xf32>
  // expected-error @+1 {{'ortc.conv' op needs one stride and dilation and two pads per spatial dim}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1>}
       : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @conv_c2_sign(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  %e = tensor.empty() : tensor<1x4x8xf32>
  // expected-error @+1 {{'ortc.conv' op strides, dilations and group must be positive, pads not negative}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 0>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @conv_c3_in(%x: tensor<1x3x8xf32>, %w: tensor<4x2x3xf32>) {
  %e = tensor.empty() : tensor<1x4x8xf32>
  // expected-error @+1 {{'ortc.conv' op has 3 channels where the weights want 2 in each of 1 groups}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x3x8xf32>, tensor<4x2x3xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @conv_c3_out(%x: tensor<1x4x8xf32>, %w: tensor<5x2x3xf32>) {
  %e = tensor.empty() : tensor<1x5x8xf32>
  // expected-error @+1 {{'ortc.conv' op out channels are not divisible by group}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 2 : i64}
       : tensor<1x4x8xf32>, tensor<5x2x3xf32> -> tensor<1x5x8xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  %e = tensor.empty() : tensor<1x4x7xf32>
  // expected-error @+1 {{'ortc.conv' op size of spatial dim 0 does not follow from the input}}
  %y = ortc.conv(%x, %w) into %e {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x7xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<1x3x8xi8>, %w: tensor<4x3x3xi8>, %p: tensor<i32>) {
  %e = tensor.empty() : tensor<1x4x8xi32>
  // expected-error @+1 {{'ortc.conv' op padding is not one element of the input's type}}
  %y = ortc.conv(%x, %w) into %e padding %p {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
       : tensor<1x3x8xi8>, tensor<4x3x3xi8>, tensor<i32> -> tensor<1x4x8xi32>
  return
}
