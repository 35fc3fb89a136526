// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @reshape_c1(%a: tensor<2x3xi32>) {
  %e = tensor.empty() : tensor<6xf32>
  // expected-error @+1 {{'ortc.reshape' op element types differ}}
  %r = ortc.reshape %a into %e : tensor<2x3xi32> -> tensor<6xf32>
  return
}

// -----

func.func @reshape_c2(%a: tensor<2x3xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  // expected-error @+1 {{'ortc.reshape' op has 6 elements to put into 5}}
  %r = ortc.reshape %a into %e : tensor<2x3xf32> -> tensor<5xf32>
  return
}
