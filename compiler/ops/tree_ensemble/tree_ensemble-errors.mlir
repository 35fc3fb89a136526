// RUN: %ortc-opt --split-input-file --verify-diagnostics %s

func.func @tree_ensemble_c1(%x: tensor<4x3xf64>, %i: tensor<1xi32>, %t: tensor<1xf32>, %m: tensor<1xi8>, %begin: tensor<2xi32>) {
  %e = tensor.empty() : tensor<4x1xf32>
  // expected-error @+1 {{'ortc.tree_ensemble' op thresholds must have the type of the input}}
  %y = ortc.tree_ensemble(%x) nodes(%i, %t, %m, %i, %i) trees(%i, %begin) leaves(%begin, %i, %t) into %e
       : tensor<4x3xf64>, tensor<1xi32>, tensor<1xf32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<2xi32>,
       tensor<2xi32>, tensor<1xi32>, tensor<1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @tree_ensemble_c2(%x: tensor<4x3xf32>, %i: tensor<1xi32>, %t: tensor<1xf32>, %m: tensor<1xi8>, %begin: tensor<2xi32>) {
  %e = tensor.empty() : tensor<4x1xf32>
  // expected-error @+1 {{'ortc.tree_ensemble' op unknown aggregate}}
  %y = ortc.tree_ensemble(%x) nodes(%i, %t, %m, %i, %i) trees(%i, %begin) leaves(%begin, %i, %t) into %e {aggregate = "mean"}
       : tensor<4x3xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<2xi32>,
       tensor<2xi32>, tensor<1xi32>, tensor<1xf32>, tensor<4x1xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @tree_ensemble_c3(%x: tensor<4x3xf32>, %i: tensor<1xi32>, %t: tensor<1xf32>, %m: tensor<1xi8>, %begin: tensor<2xi32>) {
  %e = tensor.empty() : tensor<4x2xf32>
  // expected-error @+1 {{'ortc.tree_ensemble' op rootBegin must have one element more than there are targets}}
  %y = ortc.tree_ensemble(%x) nodes(%i, %t, %m, %i, %i) trees(%i, %begin) leaves(%begin, %i, %t) into %e
       : tensor<4x3xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<2xi32>,
       tensor<2xi32>, tensor<1xi32>, tensor<1xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  return
}
