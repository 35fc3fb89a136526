// SPDX-License-Identifier: Apache-2.0
// All passes of the middle of the compiler: one entry here, one .cpp of the same name beside it, one .mlir test.
#ifndef ORTC_PASSES_TD
#define ORTC_PASSES_TD
include "mlir/Pass/PassBase.td"

def FoldConstants : Pass<"fold-constants"> {
  let summary = "evaluates ops whose operands are all constants";
  let description = [{
    Runs the evaluator on structured ops, own ops, slices and control flow that read nothing but constants, resources
    included, within limits on bytes and time: a scalar is not blown up to a large tensor, and a loop of 2^62 turns
    stays a loop.

    ```mlir
    %w = arith.constant dense_resource<w> : tensor<64x32xf32>
    %t = linalg.generic {... transpose ...} ins(%w) outs(%e) -> tensor<32x64xf32>
    ```
    becomes
    ```mlir
    %t = arith.constant dense_resource<weights> : tensor<32x64xf32>
    ```
  }];
  let options = [
    Option<"slack", "slack", "uint64_t", "65536", "bytes that a result may always have">,
    Option<"growth", "growth", "uint64_t", "4", "times the bytes of the constants read that a result may have">,
    Option<"steps", "steps", "uint64_t", "536870912", "scalar operations that one op may take">,
    Option<"total", "total", "uint64_t", "8589934592", "scalar operations in all">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def Simplify : Pass<"simplify"> {
  let summary = "canonical form: folds, small integer tensors as scalars, equal ops once";
  let description = [{
    Greedy folding and canonicalisation of arithmetic, tensor and own ops, the rewrite of small tensors that are known
    element by element to scalar arithmetic (`tryScalarise`), then CSE. The patterns of scf and linalg that drop
    results or loop arguments, or change types, are left out on purpose: the index values that follow a tensor say its
    sizes (compiler/ir/Sizes.h).

    ```mlir
    %t = tensor.from_elements %a, %b : tensor<2xindex>
    %p = linalg.generic {... product over i ...} ins(%t) outs(%one) -> tensor<index>
    ```
    becomes
    ```mlir
    %m = arith.muli %a, %b : index
    %p = tensor.from_elements %m : tensor<index>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

#endif // ORTC_PASSES_TD
