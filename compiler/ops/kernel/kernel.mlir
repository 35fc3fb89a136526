// RUN: %ortc-opt %s | %ortc-opt | %FileCheck %s

// CHECK-LABEL: @reads_from_outside
// CHECK: %[[R:.*]] = ortc.kernel "double" {
// CHECK:   linalg.generic
// CHECK:   ortc.yield %{{.*}} : tensor<4xf32>
// CHECK: } : tensor<4xf32>
// CHECK: return %[[R]]
func.func @reads_from_outside(%a: tensor<4xf32>) -> tensor<4xf32> {
  %k = ortc.kernel "double" {
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
         ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%x: f32, %o: f32):
      %s = arith.addf %x, %x : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    ortc.yield %r : tensor<4xf32>
  } : tensor<4xf32>
  return %k : tensor<4xf32>
}

// CHECK-LABEL: @choice
// CHECK: ortc.kernel "k" attributes {choice = {cost_us = 2.100000e+01 : f64, kernel = "gemm_f32_8x48"}}
func.func @choice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %k = ortc.kernel "k" attributes {choice = {kernel = "gemm_f32_8x48", cost_us = 21.0 : f64}} {
    ortc.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  return %k : tensor<4xf32>
}
