// SPDX-License-Identifier: Apache-2.0
// Making IR simpler by evaluating it: ops on constants become constants, and arithmetic on small
// tensors that are known element by element (sizes, mostly) becomes scalar arithmetic. Import calls
// this on every value that it makes, so that what reads sizes out of tensors (Reshape, Expand,
// Slice) sees index values; the passes FoldConstants and Simplify call it again.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace ortc {

/// When folding pays: results may have `growth` times the bytes of the constants that are read,
/// plus `slack`.
struct FoldLimits {
  uint64_t slack = 64 << 10;
  uint64_t growth = 4;
  /// Scalar operations per op (half a second or so), and what is left for all ops together: folding
  /// takes from it.
  uint64_t steps = uint64_t(1) << 29;
  uint64_t total = uint64_t(1) << 33;
  /// What import folds at once: small things that shapes are made of. Larger ones wait for the
  /// passes.
  static FoldLimits small() { return {4096, 0, 1 << 20, 1 << 20}; }
};

/// Does `op` make a tensor of as many constants of 8 bits, each for itself? These are dequantised
/// weights, which passes want to see before they are folded.
bool isDequantised(mlir::Operation* op);

/// The values of the results of `op` when all that it reads are constants and the limits allow it.
mlir::FailureOr<llvm::SmallVector<mlir::TypedAttr>> foldToConstants(mlir::Operation* op,
                                                                    FoldLimits& limits);

/// When the result of `op` is a tensor of at most 64 elements, or a scalar, and its inputs are
/// known element by element (tensor.from_elements, small constants): the same as scalar arithmetic
/// and tensor.from_elements, made at the builder's insertion point. Else null, and nothing is made.
/// Takes linalg ops (reductions are unrolled), tensor.extract_slice, tensor.extract, ortc.concat
/// and ortc.reshape.
mlir::Value tryScalarise(mlir::OpBuilder& b, mlir::Operation* op);

/// A simpler value that is equal to `built`, or `built` itself. Never erases anything, and leaves
/// dequantised weights.
mlir::Value simplifyBuilt(mlir::OpBuilder& b, mlir::Value built);

} // namespace ortc
