// SPDX-License-Identifier: Apache-2.0
// Comes after layouts are settled (concatenations are made anew there) and before kernels are
// formed.
#include "compiler/passes/Passes.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_SHARECONCATPREFIX
#include "compiler/passes/Passes.h.inc"

namespace {
struct ShareConcatPrefixPass : impl::ShareConcatPrefixBase<ShareConcatPrefixPass> {
  void runOnOperation() override {
    getOperation().walk([](Block* block) {
      SmallVector<std::pair<ConcatOp, SmallVector<Value>>> seen; // with the sources as they were
      for (ConcatOp op : block->getOps<ConcatOp>()) {
        SmallVector<Value> all(op.getSources());
        std::pair<ConcatOp, SmallVector<Value>>* best = nullptr;
        for (auto& earlier : seen) {
          size_t n = earlier.second.size();
          if (earlier.first.getAxis() != op.getAxis() || n >= all.size() ||
              (best && n <= best->second.size()))
            continue;
          if (llvm::equal(earlier.second, ArrayRef(all).take_front(n))) best = &earlier;
        }
        if (best) {
          SmallVector<Value> sources{best->first.getResult()};
          llvm::append_range(sources, ArrayRef(all).drop_front(best->second.size()));
          op.getSourcesMutable().assign(sources);
        }
        seen.push_back({op, all});
      }
    });
  }
};
} // namespace
} // namespace ortc
