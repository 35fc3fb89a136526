// SPDX-License-Identifier: Apache-2.0
// Control flow on tensors: branches whose results differ in static sizes, and the sizes that follow
// a tensor.
#pragma once
#include "compiler/onnx/NodeBuilder.h"

namespace ortc::opdef {

/// The branches of an If give results of different ranks, and what is known of the sizes does not
/// decide which branch is taken. Thrown with the condition; the importer then moves the rest of the
/// graph into both branches.
struct BranchRankError {
  mlir::Value condition; // i1
  std::string detail;    // "output 0 is f32[2,3] in one branch and f32[6] in the other"
};

/// scf.if: each callback builds one branch and gives its results. Sizes that differ become dynamic.
/// Throws BranchRankError when ranks differ, and leaves nothing behind then.
std::vector<Tensor> buildIf(mlir::OpBuilder& b, mlir::Location loc, mlir::Value condition,
                            llvm::function_ref<std::vector<Tensor>()> then,
                            llvm::function_ref<std::vector<Tensor>()> otherwise);

/// An scf.if without results, in which branches are built before it is known what they give. It
/// hangs in the function, since what is built looks at what it is in. Erased with the object.
class BranchScratch {
public:
  BranchScratch(mlir::OpBuilder& b, mlir::Location loc, mlir::Value condition);
  ~BranchScratch();
  mlir::Region& region(unsigned i) { return op->getRegion(i); }

private:
  mlir::Operation* op;
};

/// What a loop carries has another shape after a turn, or one that is not proven to be the same.
struct LoopShapeError {
  std::string detail;
  /// Set when all that changes is that dims of carried values become longer by a constant number of
  /// elements in each turn.
  struct Growth {
    size_t carried;
    int64_t dim, step;
  };
  std::vector<Growth> growth = {};
};

/// One turn of a loop: the next carried values, rows that are stacked, and (none: always) whether
/// there is another turn.
struct Turn {
  std::vector<Tensor> carried, rows;
  mlir::Value again; // i1
};
struct LoopResult {
  std::vector<Tensor> carried, stacked;     // stacked: one row per turn along a new first dim
  std::optional<Size> turns = std::nullopt; // that were made
};
struct LoopLimits {
  std::optional<Size> turns; ///< at most; none: no limit
  mlir::Value enters;        ///< of a loop without limit: is there a first turn? null: yes
  /// Per stacked result: the first row is the last of the tensor. Not with a condition.
  std::vector<bool> backwards;
  /// Per stacked result: the sizes of a row that the body's graph declares, used where they cannot
  /// be computed before the loop.
  std::vector<std::vector<std::optional<int64_t>>> declared;
};
/// scf.for, or scf.while when a turn says whether there is another. The body is built once, in the
/// loop. Throws LoopShapeError when it cannot be one loop, and leaves nothing behind then.
LoopResult buildLoop(NodeBuilder& n, const LoopLimits& limits, llvm::ArrayRef<Tensor> inits,
                     llvm::function_ref<Turn(Size turn, llvm::ArrayRef<Tensor> carried)> body);
/// The same turn by turn, without a loop.
LoopResult unrollLoop(NodeBuilder& n, int64_t turns, const LoopLimits& limits,
                      llvm::ArrayRef<Tensor> inits,
                      llvm::function_ref<Turn(Size turn, llvm::ArrayRef<Tensor> carried)> body);

/// Carried tensor `all` with `part` at `from` of dim d, and at the start of the others. In loops
/// only.
Tensor insertedAt(NodeBuilder& n, Tensor part, Tensor all, int64_t d, Size from);
/// x - y where it is a constant.
std::optional<int64_t> difference(Size x, Size y);
/// A list of values for scf results or arguments: each tensor is followed by its dynamic sizes.
llvm::SmallVector<mlir::Value> withSizes(mlir::OpBuilder& b, llvm::ArrayRef<Tensor> tensors);
/// `value` with the given, more dynamic type.
mlir::Value castTo(mlir::OpBuilder& b, mlir::Location loc, mlir::Value value, mlir::Type type);

} // namespace ortc::opdef
