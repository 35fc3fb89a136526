// SPDX-License-Identifier: Apache-2.0
// A contraction as what kernels of catalogues compute: products of matrices, several at a time.
#pragma once
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include <optional>
#include <vector>

namespace ortc::catalogue {

/// A loop of a contraction, or several that run as one.
struct MatrixLoop {
  mlir::OpFoldResult extent;
  mlir::OpFoldResult a, b, c; // strides in lhs, rhs and result; 0 where it is not
};

/// By who has them: rows (lhs and result), columns (rhs and result), inner (both operands), batch
/// (all). In the order of the result, then of the lhs.
struct MatrixLoops {
  std::vector<MatrixLoop> batch, rows, columns, inner;
};

/// The loops with the strides of the three tensors; nothing when one is summed over in one operand
/// alone.
std::optional<MatrixLoops> matrixLoops(ContractOp op, mlir::OpBuilder& b,
                                       llvm::ArrayRef<mlir::OpFoldResult> lhs,
                                       llvm::ArrayRef<mlir::OpFoldResult> rhs,
                                       llvm::ArrayRef<mlir::OpFoldResult> result);
/// Runs neighbouring loops as one where every operand is dense across them. `ignoreRhs`: it will be
/// packed.
void mergeLoops(mlir::OpBuilder& b, std::vector<MatrixLoop>& loops, bool ignoreRhs);
/// The loops as one product of matrices, done for a batch of at most two loops: one loop of
/// columns, one inner loop; the last loop of rows is M, the others belong to the batch. Columns of
/// the result and the inner dim of the lhs lie side by side. `packed`: the rhs is a constant that
/// will be rearranged, so that its strides do not matter; otherwise its columns or rows lie side by
/// side.
std::optional<MatrixLoops> matrixProduct(ContractOp op, mlir::OpBuilder& b, bool packed,
                                         llvm::ArrayRef<mlir::OpFoldResult> lhs,
                                         llvm::ArrayRef<mlir::OpFoldResult> rhs,
                                         llvm::ArrayRef<mlir::OpFoldResult> result);
/// A constant rhs without batch loops as the matrix [K, N] of that product.
HostTensor rhsMatrix(ContractOp op, const HostTensor& rhs);
/// How often they run, all together.
mlir::OpFoldResult extentOf(mlir::OpBuilder& b, llvm::ArrayRef<MatrixLoop> loops);

/// Row-major strides of a tensor without gaps.
Sizes denseStrides(mlir::OpBuilder& b, mlir::Value tensor);

/// The result's dims are rows and batches in order, then columns: what an epilogue can count by m
/// and n.
bool columnsComeLast(ContractOp op);
/// m of an epilogue counts (batches, row): the batch loops come before the row loops in the result.
bool batchComesFirst(ContractOp op);
/// Dims of the result that are batches and rows.
unsigned rowDims(ContractOp op);

} // namespace ortc::catalogue
