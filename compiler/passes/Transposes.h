// SPDX-License-Identifier: Apache-2.0
// Moving transposes: what FoldTranspose and AssignLayout share. A transpose here is a
// linalg.generic that only copies from permuted indices.
#pragma once
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include "mlir/IR/PatternMatch.h"

namespace ortc {

using Permutation = llvm::SmallVector<int64_t>;

/// When `v` is the result of a transpose: dim d of it is dim r[d] of the source.
std::optional<Permutation> permutationOf(mlir::Value v);
/// The tensor that a transpose reads.
mlir::Value transposeSource(mlir::Value v);
bool isIdentity(llvm::ArrayRef<int64_t> permutation);
Permutation inverse(llvm::ArrayRef<int64_t> permutation);

/// `x` with dim permutation[d] as dim d: `x` itself, a reshape where only dims of size 1 move, or a
/// transpose. A transpose of a transpose is one of its source.
mlir::Value createTranspose(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x,
                            llvm::ArrayRef<int64_t> permutation);

/// `x` in other sizes: `x` itself where they are the same.
mlir::Value createReshape(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x,
                          llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Splits the loops of `g` that run along what a reshape of a transpose merges, where that lets it
/// read in the order that is there; the generic that stands for it, or null.
mlir::linalg::GenericOp splitMergedLoops(mlir::RewriterBase& rewriter, mlir::linalg::GenericOp g);

/// Lets `op` read the sources of the transposes that it reads, and puts a transpose after it where
/// its result had better be written in another order. Ops are visited in order, so that one walk
/// carries transposes as far as they go. The op may be replaced; true when something changed.
bool sinkTransposes(mlir::RewriterBase& rewriter, mlir::Operation* op);
/// Lets a contraction write what this transpose reads, in the transpose's order, through
/// elementwise ops and reshapes.
bool hoistTranspose(mlir::RewriterBase& rewriter, mlir::linalg::GenericOp transpose);
/// Both, over a whole function.
void moveTransposes(mlir::func::FuncOp function);

} // namespace ortc
