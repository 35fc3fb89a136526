// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s
// RUN: %ortc-opt --fold-constants %s | %FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @tree_ensemble_c1
// CHECK: ortc.tree_ensemble(%arg1) nodes({{.*}}) trees({{.*}}) leaves({{.*}}) into %{{.*}} {uniformMode = 0 : i64}
func.func @tree_ensemble_c1(%rows: index, %x: tensor<?x3xf32>, %f: tensor<1xi32>, %t: tensor<1xf32>, %m: tensor<1xi8>,
                            %roots: tensor<1xi32>, %begin: tensor<2xi32>, %leaf: tensor<3xi32>, %target: tensor<2xi32>,
                            %w: tensor<2xf32>) -> tensor<?x1xf32> {
  %e = tensor.empty(%rows) : tensor<?x1xf32>
  %y = ortc.tree_ensemble(%x) nodes(%f, %t, %m, %f, %f) trees(%roots, %begin) leaves(%leaf, %target, %w) into %e
       {uniformMode = 0 : i64} : tensor<?x3xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>,
       tensor<1xi32>, tensor<2xi32>, tensor<3xi32>, tensor<2xi32>, tensor<2xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// One tree, x[0] <= 0.5 ? (x[1] > 2 or NaN ? 10 : 20) : 30, for target 0, and a leaf of 100 for target 1.
// FOLD-LABEL: @walk
// FOLD: arith.constant dense<{{\[}}[1.000000e+01, 1.000000e+02], [2.000000e+01, 1.000000e+02], [3.000000e+01, 1.000000e+02], [1.000000e+01, 1.000000e+02]]> : tensor<4x2xf32>
func.func @walk() -> tensor<4x2xf32> {
  %x = arith.constant dense<[[0.5, 3.0], [0.0, 2.0], [1.0, 3.0], [0.0, 0x7FC00000]]> : tensor<4x2xf32>
  %features = arith.constant dense<[0, 1]> : tensor<2xi32>
  %thresholds = arith.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %modes = arith.constant dense<[0, 11]> : tensor<2xi8>
  %yes = arith.constant dense<[1, -1]> : tensor<2xi32>
  %no = arith.constant dense<[-3, -2]> : tensor<2xi32>
  %roots = arith.constant dense<[0, -4]> : tensor<2xi32>
  %rootBegin = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
  %leafBegin = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  %targets = arith.constant dense<[0, 0, 0, 1]> : tensor<4xi32>
  %weights = arith.constant dense<[10.0, 20.0, 30.0, 100.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  %y = ortc.tree_ensemble(%x) nodes(%features, %thresholds, %modes, %yes, %no) trees(%roots, %rootBegin)
       leaves(%leafBegin, %targets, %weights) into %e : tensor<4x2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi8>,
       tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<3xi32>, tensor<5xi32>, tensor<4xi32>, tensor<4xf32>,
       tensor<4x2xf32> -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
