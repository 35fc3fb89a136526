// RUN: %ortc-opt --share-concat-prefix %s | %FileCheck %s

// CHECK-LABEL: @dense_block
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<3xf32>, %[[Z:.*]]: tensor<4xf32>
// CHECK: %[[A:.*]] = ortc.concat axis 0(%[[X]], %[[Y]])
// CHECK: %[[B:.*]] = ortc.concat axis 0(%[[A]], %[[Z]])
// CHECK: ortc.concat axis 0(%[[B]], %[[X]])
func.func @dense_block(%x: tensor<2xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>) -> (tensor<5xf32>, tensor<9xf32>, tensor<11xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  %a = ortc.concat axis 0 (%x, %y) into %e : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %f = tensor.empty() : tensor<9xf32>
  %b = ortc.concat axis 0 (%x, %y, %z) into %f : tensor<2xf32>, tensor<3xf32>, tensor<4xf32> -> tensor<9xf32>
  %g = tensor.empty() : tensor<11xf32>
  %c = ortc.concat axis 0 (%x, %y, %z, %x) into %g : tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<2xf32> -> tensor<11xf32>
  return %a, %b, %c : tensor<5xf32>, tensor<9xf32>, tensor<11xf32>
}
