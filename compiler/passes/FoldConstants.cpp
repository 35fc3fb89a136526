// SPDX-License-Identifier: Apache-2.0
// Assumes nothing; guarantees that what is left reads an input, is too large to be worth a
// constant, or would take too long to compute here. Comes after passes that want to see how weights
// are made (dequantisation), and before those that look at constant weights (packing).
#include "compiler/evaluate/Simplify.h"
#include "compiler/passes/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "compiler/passes/Passes.h.inc"

namespace {
struct FoldConstantsPass : impl::FoldConstantsBase<FoldConstantsPass> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    FoldLimits limits{slack, growth, steps, total};
    SmallVector<Value> candidates; // constants and inits that may have lost their last use
    fold(getOperation()->getRegions(), limits, candidates);
    for (Value v : candidates)
      if (Operation* def = v.getDefiningOp(); def && isOpTriviallyDead(def)) def->erase();
  }

  void fold(MutableArrayRef<Region> regions, FoldLimits& limits,
            SmallVectorImpl<Value>& candidates) {
    for (Region& region : regions)
      for (Block& block : region)
        for (Operation& op : llvm::make_early_inc_range(block)) {
          if (keepQuantised && isDequantised(&op)) continue;
          auto constants = foldToConstants(&op, limits);
          if (failed(constants)) {
            // Bodies of structured ops are scalar code, which folds by itself.
            if (!isa<linalg::LinalgOp>(op)) fold(op.getRegions(), limits, candidates);
            continue;
          }
          OpBuilder b(&op);
          for (auto [r, c] : llvm::zip(op.getResults(), *constants))
            if (!r.use_empty()) r.replaceAllUsesWith(b.create<arith::ConstantOp>(op.getLoc(), c));
          llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
          for (Region& r : op.getRegions())
            getUsedValuesDefinedAbove(r, r, operands);
          op.erase();
          // Large weights are freed early: the copy that was folded may be the last use.
          for (Value v : operands) {
            Operation* def = v.getDefiningOp();
            if (!def || !v.use_empty() || def->getBlock() != &block) continue;
            if (isOpTriviallyDead(def)) {
              llvm::append_range(candidates, def->getOperands());
              llvm::erase(candidates, v);
              def->erase();
            }
          }
        }
  }
};
} // namespace
} // namespace ortc
