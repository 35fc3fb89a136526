// SPDX-License-Identifier: Apache-2.0
// The sizes of tensors as index values. No `tensor.dim` of an intermediate value ever exists (it
// would keep dead producers alive and block fusion): every value says its own sizes.
//   * a structured op: the sizes of its init, which is a `tensor.empty`
//   * an argument of the model: `ortc.dim` ops, named by the argument's attribute "ortc.dims"
//   * a result or block argument of scf.if, scf.for, scf.while: the index values that follow it,
//   one per `?`
//   * of an scf.for with the attribute `ortc.fixed_sizes`: those of its init, since they are the
//   same in every turn
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

namespace ortc {

using Sizes = llvm::SmallVector<mlir::OpFoldResult>;

/// The sizes of a ranked tensor (or of a memref made by ortc.buffer). New ops are made by `b` only
/// for the sums and quotients of extract_slice and the like; existing values are reused.
Sizes getSizes(mlir::OpBuilder& b, mlir::Value tensor);
mlir::OpFoldResult getSize(mlir::OpBuilder& b, mlir::Value tensor, int64_t dim);

/// The dynamic ones of `sizes` as values, in order.
llvm::SmallVector<mlir::Value> dynamicOnly(llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// The shape for a type: constants, or kDynamic.
llvm::SmallVector<int64_t> staticShape(llvm::ArrayRef<mlir::OpFoldResult> sizes);
/// A `tensor.empty` of these sizes, the init of structured ops.
mlir::Value createEmpty(mlir::OpBuilder& b, mlir::Location loc,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type elementType);

/// Is it proven that the two are the same number? (Equal constants, or the same SSA value, or equal
/// sums of both.)
bool sameSize(mlir::OpFoldResult a, mlir::OpFoldResult b);
bool sameSizes(llvm::ArrayRef<mlir::OpFoldResult> a, llvm::ArrayRef<mlir::OpFoldResult> b);
/// Is it proven that both are sizes of equally many elements? (Products of the same factors.)
bool sameProduct(llvm::ArrayRef<mlir::OpFoldResult> a, llvm::ArrayRef<mlir::OpFoldResult> b);
std::optional<int64_t> constantSize(mlir::OpFoldResult size);

/// Would a tensor of these sizes exceed what any machine addresses (2^48 elements)? Sizes of 0 do
/// not help: strides are products of the others. Below it, no product of bytes and offsets
/// overflows.
bool isTooLarge(llvm::ArrayRef<int64_t> sizes);

/// Smallest and largest value that an index expression can take, from the bounds of `ortc.dim` and
/// arithmetic; {INT64_MIN, INT64_MAX} when nothing is known.
std::pair<int64_t, int64_t> indexRange(mlir::OpFoldResult size);

// Arithmetic on sizes that folds constants and x + 0, x * 1 and the like.
mlir::OpFoldResult addSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                            mlir::OpFoldResult y);
mlir::OpFoldResult subSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                            mlir::OpFoldResult y);
mlir::OpFoldResult mulSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                            mlir::OpFoldResult y);
mlir::OpFoldResult floorDivSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                                 mlir::OpFoldResult y);
mlir::OpFoldResult ceilDivSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                                mlir::OpFoldResult y);
mlir::OpFoldResult maxSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                            mlir::OpFoldResult y);
mlir::OpFoldResult minSizes(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult x,
                            mlir::OpFoldResult y);
mlir::Value sizeValue(mlir::OpBuilder& b, mlir::Location loc, mlir::OpFoldResult size);

/// An integer scalar as a size. Looks through casts and arithmetic down to index values and
/// constants, so that what a model computes from Shape in i64 (or i32: sizes beyond it are refused
/// anyway) is the same value as the size itself.
mlir::OpFoldResult asSize(mlir::OpBuilder& b, mlir::Location loc, mlir::Value integer);

/// The same number where `b` inserts, computed again out of values that `isThere` knows to be
/// there; null when it takes something else than arithmetic on scalars. `copies`: what was made so
/// far, by what it is a copy of; sizes share operands, and each is copied once.
mlir::Value computedAgain(mlir::OpBuilder& b, mlir::Value number,
                          llvm::function_ref<bool(mlir::Value)> isThere,
                          llvm::DenseMap<mlir::Value, mlir::Value>& copies);

/// The `ortc.dim` of this name in the function, made at its start when absent.
mlir::Value getDim(mlir::Operation* function, llvm::StringRef name, int64_t min = 0,
                   int64_t max = INT64_MAX);

/// Dims of two shapes of the same elements that map onto each other: [from0, from1) and [to0, to1)
/// have equal products.
struct DimGroup {
  unsigned from0, from1, to0, to1;
};
/// The finest such groups, by dims other than of size 1; those of size 1 belong to the next group
/// (the last ones to the last group).
llvm::SmallVector<DimGroup> groupDims(llvm::ArrayRef<mlir::OpFoldResult> from,
                                      llvm::ArrayRef<mlir::OpFoldResult> to);

} // namespace ortc
