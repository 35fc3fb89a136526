// SPDX-License-Identifier: Apache-2.0
// Assumes tensor IR; keeps its rules (see docs/spine.md): sizes stay beside their tensors, types do
// not change. Runs after import and after every pass that leaves dead or constant code behind.
#include "compiler/evaluate/Simplify.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/SizePatterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_SIMPLIFY
#include "compiler/passes/Passes.h.inc"

namespace {
struct ScalariseSmallTensors : RewritePattern {
  explicit ScalariseSmallTensors(MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    if (!isa_and_present<linalg::LinalgDialect, tensor::TensorDialect>(op->getDialect()) &&
        !isa<DestinationStyleOpInterface>(op))
      return failure();
    if (op->getParentOfType<linalg::LinalgOp>()) return failure();
    Value v = tryScalarise(rewriter, op);
    if (!v) return failure();
    rewriter.replaceOp(op, v);
    return success();
  }
};

/// An if whose condition is known is the branch that is taken.
struct TakeKnownBranch : OpRewritePattern<scf::IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::IfOp op, PatternRewriter& rewriter) const override {
    auto condition = getConstantIntValue(op.getCondition());
    if (!condition) return failure();
    Block* taken = *condition ? op.thenBlock() : op.elseBlock();
    if (!taken) return rewriter.eraseOp(op), success();
    Operation* end = taken->getTerminator();
    SmallVector<Value> results(end->getOperands());
    rewriter.eraseOp(end);
    rewriter.inlineBlockBefore(taken, op);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A check of what is known to hold.
struct DropHeldCheck : OpRewritePattern<CheckOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CheckOp op, PatternRewriter& rewriter) const override {
    auto condition = getConstantIntValue(op.getCondition());
    if (!condition || !*condition) return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

/// A loop that never turns gives its initial values.
struct DropEmptyLoop : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::ForOp op, PatternRewriter& rewriter) const override {
    auto low = getConstantIntValue(op.getLowerBound()),
         high = getConstantIntValue(op.getUpperBound());
    bool empty = op.getLowerBound() == op.getUpperBound() || (low && high && *low >= *high);
    if (!empty) return failure();
    rewriter.replaceOp(op, op.getInitArgs());
    return success();
  }
};

struct SimplifyPass : impl::SimplifyBase<SimplifyPass> {
  LogicalResult initialize(MLIRContext* context) override {
    RewritePatternSet set(context);
    set.add<ScalariseSmallTensors, TakeKnownBranch, DropHeldCheck, DropEmptyLoop>(context);
    populateSizePatterns(set);
    for (RegisteredOperationName op : context->getRegisteredOperations()) {
      StringRef dialect = op.getDialectNamespace();
      if (dialect == "arith" || dialect == "math" || dialect == "ortc")
        op.getCanonicalizationPatterns(set, context);
    }
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    if (failed(applyPatternsAndFoldGreedily(getOperation(), patterns, config)))
      getOperation()->emitWarning(
          "simplification did not come to an end; going on with what it reached");
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
} // namespace ortc
