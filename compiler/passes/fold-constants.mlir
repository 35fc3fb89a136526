// RUN: %ortc-opt --fold-constants=steps=1000000 %s | %FileCheck %s

// CHECK-LABEL: @transpose
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<{{\[}}[1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]>
// CHECK-NEXT: return %[[C]]
func.func @transpose() -> tensor<3x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %e = tensor.empty() : tensor<3x2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<3x2xf32>
  return %t : tensor<3x2xf32>
}

// Resources are folded as well as dense constants.
// CHECK-LABEL: @resource
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<[1.500000e+00, 2.500000e+00]> : tensor<2xf32>
// CHECK-NEXT: return %[[C]]
func.func @resource() -> tensor<2xf32> {
  %w = arith.constant dense_resource<w> : tensor<2xf32>
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
       ins(%w : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %half : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %t : tensor<2xf32>
}

// A scalar is not blown up to four megabytes.
// CHECK-LABEL: @broadcast
// CHECK: linalg.generic
func.func @broadcast() -> tensor<1024x1024xf32> {
  %c = arith.constant dense<2.0> : tensor<f32>
  %e = tensor.empty() : tensor<1024x1024xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%c : tensor<f32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<1024x1024xf32>
  return %t : tensor<1024x1024xf32>
}

// CHECK-LABEL: @loops
// CHECK-NEXT: %[[C:.*]] = arith.constant 45 : index
// CHECK-NEXT: return %[[C]]
func.func @loops() -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %c0) -> index {
    %t = arith.addi %s, %i : index
    scf.yield %t : index
  }
  return %r : index
}

// A loop of 2^62 turns stays a loop.
// CHECK-LABEL: @endless
// CHECK: scf.for
func.func @endless() -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4611686018427387904 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> index {
    %t = arith.addi %s, %i : index
    scf.yield %t : index
  }
  return %r : index
}

// What reads an input stays; what it reads is folded, in regions too.
// CHECK-LABEL: @branches
// CHECK: scf.if
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<[4.000000e+00, 9.000000e+00]>
// CHECK-NEXT: scf.yield %[[C]]
func.func @branches(%f: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = scf.if %f -> tensor<2xf32> {
    %w = arith.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %e = tensor.empty() : tensor<2xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
         ins(%w : tensor<2xf32>) outs(%e : tensor<2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<2xf32>
    scf.yield %t : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// A read outside of a constant is left for the run to report.
// CHECK-LABEL: @outside
// CHECK: linalg.generic
func.func @outside() -> tensor<1xf32> {
  %w = arith.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<1xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<1xf32>) {
  ^bb0(%o: f32):
    %v = tensor.extract %w[%c5] : tensor<2xf32>
    linalg.yield %v : f32
  } -> tensor<1xf32>
  return %t : tensor<1xf32>
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040"
    }
  }
#-}
