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
    Option<"total", "total", "uint64_t", "8589934592", "scalar operations in all">,
    Option<"keepQuantised", "keep-quantised", "bool", "false", "leave tensors that are made of constants of 8 bits">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NarrowProducts : Pass<"narrow-products", "::mlir::func::FuncOp"> {
  let summary = "products of quantised numbers with constant weights as products of 8-bit numbers";
  let description = [{
    Contractions and convolutions whose operands are 8-bit numbers less a zero point (in i32), or dequantised ones (in
    f32), multiply the 8-bit numbers as they are; zero points and scales are applied to the sum. Weights of 9 bits (u8
    less a zero point) become i16.

    ```mlir
    %a = linalg.generic {... (extui %x) - (extui %zero) ...} -> tensor<?x64xi32>
    %w = arith.constant dense<...> : tensor<64x96xi32>     // within -128..127
    %y = ortc.contract(%a, %w) into ...
    ```
    becomes
    ```mlir
    %w = arith.constant dense<...> : tensor<64x96xi8>
    %s = ortc.contract(%x, %w) into ... {lhsUnsigned = true}
    %y = linalg.generic {... %s - (extui %zero) * %sums ...}
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::ortc::OrtcDialect"];
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

def FoldTranspose : Pass<"fold-transpose", "::mlir::func::FuncOp"> {
  let summary = "lets ops read and write in the order that is there, instead of transposing";
  let description = [{
    Transposes move down, through elementwise ops, reductions, reshapes, slices and concatenations, until they meet their
    inverse, or a contraction that takes them into an indexing map; what is left moves up into the contraction before it.

    ```mlir
    %t = linalg.generic {... transpose [0, 2, 1, 3] ...} ins(%k)
    %s = ortc.contract(%q, %t) into ... maps (b, m, h, d), (b, h, n, d) -> (b, h, m, n)
    ```
    becomes
    ```mlir
    %s = ortc.contract(%q, %k) into ... maps (b, m, h, d), (b, n, h, d) -> (b, h, m, n)
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::ortc::OrtcDialect"];
}

def AssignLayout : Pass<"assign-layout", "::mlir::func::FuncOp"> {
  let summary = "convolutions on channels last, with as few transposes as possible";
  let description = [{
    Each `ortc.conv` of layout nchw becomes one of layout nhwc between two transposes; these then move as in
    fold-transpose: pooling, resizing and all else in between is computed in the new order. What is left is one transpose
    of each image that comes in or goes out.

    ```mlir
    %y = ortc.conv(%x, %w) into %e {layout = "nchw"}
    ```
    becomes
    ```mlir
    %0 = linalg.generic {... transpose [0, 2, 3, 1] ...} ins(%x)
    %1 = ortc.conv(%0, %w) into %f {layout = "nhwc"}
    %y = linalg.generic {... transpose [0, 3, 1, 2] ...} ins(%1)
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::ortc::OrtcDialect"];
}

def FoldScaleIntoWeights : Pass<"fold-scale-into-weights", "::mlir::func::FuncOp"> {
  let summary = "multiplications by constants per output channel become part of constant weights";
  let description = [{
    What follows a convolution or contraction with constant weights, and is a factor and an offset per output channel
    (batch normalisation, bias, alpha of Gemm), becomes other weights and one addition. Factors and offsets are gathered
    in f64 and rounded once.

    ```mlir
    %y = ortc.conv(%x, %w) into %e
    %z = linalg.generic {... y * factor[c] + offset[c] ...} ins(%y, %factor, %offset)
    ```
    becomes
    ```mlir
    %y = ortc.conv(%x, %w_scaled) into %e
    %z = linalg.generic {... y + bias[c] ...} ins(%y, %bias)
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def ShareConcatPrefix : Pass<"share-concat-prefix", "::mlir::func::FuncOp"> {
  let summary = "a concatenation that begins as an earlier one goes on from its result";
  let description = [{
    Then each tensor is a source of one concatenation only, and can be written in place (dense blocks).

    ```mlir
    %a = ortc.concat axis 1 (%x, %y) into %e
    %b = ortc.concat axis 1 (%x, %y, %z) into %f
    ```
    becomes
    ```mlir
    %b = ortc.concat axis 1 (%a, %z) into %f
    ```
  }];
  let dependentDialects = ["::ortc::OrtcDialect"];
}

def SinkReshape : Pass<"sink-reshape", "::mlir::func::FuncOp"> {
  let summary = "elementwise ops are computed in the shape in which their operand was written";
  let description = [{
    A matrix product without its batch dim of size 1, or with its rows merged, is then followed directly by the bias and
    the activation, and the reshape comes after them.

    ```mlir
    %r = ortc.reshape %y into %e : tensor<128x64xf32> -> tensor<1x128x64xf32>
    %z = linalg.generic {... r + bias[k] ...} ins(%r, %bias)
    ```
    becomes
    ```mlir
    %s = linalg.generic {... y + bias[k] ...} ins(%y, %bias)
    %z = ortc.reshape %s into %e : tensor<128x64xf32> -> tensor<1x128x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::ortc::OrtcDialect"];
}

def FormKernels : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "decides what is computed together";
  let description = [{
    Groups the tensor ops of a function into `ortc.kernel` regions, each of which becomes one function and one launch:
    contractions and convolutions with the elementwise ops after them, and what else can be computed in one loop nest
    without computing anything twice that is worth a trip through memory. Reshapes, slices and concatenations stay
    outside: the planner makes them views.

    ```mlir
    %m = linalg.generic {... maximum over j ...} ins(%x)
    %e = linalg.generic {... exp(x - m) ...} ins(%x, %m)
    ```
    becomes
    ```mlir
    %e = ortc.kernel "kernel" {
      %m = linalg.generic {... maximum over j ...} ins(%x)
      %0 = linalg.generic {... exp(x - m) ...} ins(%x, %m)
      ortc.yield %0
    }
    ```
  }];
  let dependentDialects = ["::ortc::OrtcDialect"];
}

#endif // ORTC_PASSES_TD
