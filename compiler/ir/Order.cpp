// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Order.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace ortc {
namespace {

/// May move between ops that write: it reads at most.
bool isMovable(Operation* op) {
  if (op->hasTrait<OpTrait::IsTerminator>()) return false;
  // Named dims stand at the start, in the order of the file.
  if (op->getName().getStringRef() == "ortc.dim") return false;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance& e) {
           return isa<MemoryEffects::Read>(e.getEffect());
         });
}

class BlockOrder {
public:
  BlockOrder(Block& block, OrderRuns runs) : block(block), runs(runs) {}

  void run() {
    // From the last run to the first: who uses a value, in which order, is settled by then.
    auto end = block.rbegin();
    while (end != block.rend()) {
      SmallVector<Operation*> ops;
      Operation* barrier = nullptr; // ends the run
      for (; end != block.rend(); ++end) {
        Operation* op = &*end;
        const bool movable = isMovable(op);
        if (!ops.empty() &&
            (!movable || (runs == OrderRuns::SameOrigin && op->getLoc() != ops.back()->getLoc())))
          break;
        if (!movable) barrier = op;
        ops.push_back(op);
      }
      Operation* after = ops.front()->getNextNode();
      sort(ops, barrier);
      for (Operation* op : sorted)
        after ? op->moveBefore(after) : op->moveBefore(&block, block.end());
      Operation* first = sorted.empty() ? after : sorted.front();
      end = first ? std::next(first->getReverseIterator()) : block.rbegin();
      noteUses();
    }
  }

private:
  Block& block;
  OrderRuns runs;
  /// How far from the end of the block an op is used first.
  DenseMap<Operation*, size_t> firstUse;
  size_t uses = 0;
  SmallPtrSet<Operation*, 16> pending;
  SmallVector<Operation*> sorted;

  /// Ops of this block that `op` needs, in the order of its operands, then of what its regions
  /// read.
  void forNeeded(Operation* op, llvm::function_ref<void(Operation*)> f) {
    op->walk<WalkOrder::PreOrder>([&](Operation* inner) {
      for (Value v : inner->getOperands())
        if (Operation* def = v.getDefiningOp(); def && def->getBlock() == &block) f(def);
    });
  }
  void place(Operation* root) {
    // A stack of its own: a chain of ops may be long.
    struct Frame {
      Operation* op;
      SmallVector<Operation*> needed;
      size_t next = 0;
    };
    SmallVector<Frame> stack;
    auto push = [&](Operation* op) {
      if (!pending.erase(op)) return;
      stack.push_back({op, {}});
      forNeeded(op, [&](Operation* def) {
        if (pending.contains(def)) stack.back().needed.push_back(def);
      });
    };
    push(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.needed.size()) {
        push(top.needed[top.next++]);
        continue;
      }
      sorted.push_back(top.op);
      stack.pop_back();
    }
  }
  /// `ops` come last first.
  void sort(ArrayRef<Operation*> ops, Operation* barrier) {
    sorted.clear();
    pending.clear();
    pending.insert(ops.begin(), ops.end());
    if (barrier) {
      pending.erase(barrier);
      forNeeded(barrier, [&](Operation* def) { place(def); });
    }
    SmallVector<Operation*> usedLater;
    for (Operation* op : ops)
      if (op != barrier && firstUse.count(op)) usedLater.push_back(op);
    llvm::sort(usedLater, [&](Operation* x, Operation* y) { return firstUse[x] > firstUse[y]; });
    for (Operation* op : usedLater)
      place(op);
    for (Operation* op : ops) // users before what they use
      if (pending.contains(op) && isOpTriviallyDead(op)) {
        pending.erase(op);
        op->erase();
      }
    for (Operation* op : llvm::reverse(ops))
      place(op);
    if (barrier) sorted.push_back(barrier);
  }
  void noteUses() {
    for (Operation* op : llvm::reverse(sorted)) {
      SmallVector<Operation*> needed;
      forNeeded(op, [&](Operation* def) { needed.push_back(def); });
      for (Operation* def : llvm::reverse(needed))
        firstUse[def] = ++uses;
    }
  }
};

} // namespace

void orderOps(Operation* root, OrderRuns runs) {
  // Inner blocks first: what a region reads, in which order, counts outside.
  root->walk<WalkOrder::PostOrder>([&](Operation* op) {
    for (Region& region : op->getRegions())
      for (Block& block : region)
        BlockOrder(block, runs).run();
  });
}

} // namespace ortc
