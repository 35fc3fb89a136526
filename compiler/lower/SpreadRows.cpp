// SPDX-License-Identifier: Apache-2.0
// Softmax, norms and the like: an iteration of the parallel loop is a row, whose sums are loops
// that carry them, and whose elements are stored by loops that carry nothing. Both are dealt out
// with a stride, so that neighbouring threads read neighbours in memory. All threads come to each
// reduction, because what surrounds it is the same for all of them.
#include "compiler/lower/SpreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;

namespace ortc {
namespace {

/// Loops of fewer turns are done by every thread alike: dealing them out would cost more.
constexpr int64_t kFewTurns = 8;

int64_t turnsOf(scf::ForOp loop) {
  return getConstantIntValue(loop.getUpperBound()).value_or(std::numeric_limits<int64_t>::max());
}
bool countsFromZero(scf::ForOp loop) {
  return getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1;
}

/// How partial results of a reduction become one.
struct Combiner {
  gpu::AllReduceOperation operation;
  TypedAttr neutral;
  Operation* op = nullptr;
};

std::optional<Combiner> combinerOf(Operation* op) {
  Builder b(op->getContext());
  Type type = op->getResult(0).getType();
  auto number = [&](double v) { return TypedAttr(b.getFloatAttr(type, v)); };
  if (isa<arith::AddFOp>(op)) return Combiner{gpu::AllReduceOperation::ADD, number(0)};
  if (isa<arith::MulFOp>(op)) return Combiner{gpu::AllReduceOperation::MUL, number(1)};
  if (isa<arith::MaximumFOp>(op))
    return Combiner{gpu::AllReduceOperation::MAXIMUMF, number(-INFINITY)};
  if (isa<arith::MinimumFOp>(op))
    return Combiner{gpu::AllReduceOperation::MINIMUMF, number(INFINITY)};
  auto i = dyn_cast<IntegerType>(type);
  if (!i || i.getWidth() < 32) return std::nullopt;
  auto whole = [&](const APInt& v) { return TypedAttr(b.getIntegerAttr(type, v)); };
  unsigned width = i.getWidth();
  if (isa<arith::AddIOp>(op))
    return Combiner{gpu::AllReduceOperation::ADD, whole(APInt::getZero(width))};
  if (isa<arith::MulIOp>(op)) return Combiner{gpu::AllReduceOperation::MUL, whole(APInt(width, 1))};
  if (isa<arith::MaxSIOp>(op))
    return Combiner{gpu::AllReduceOperation::MAXSI, whole(APInt::getSignedMinValue(width))};
  if (isa<arith::MinSIOp>(op))
    return Combiner{gpu::AllReduceOperation::MINSI, whole(APInt::getSignedMaxValue(width))};
  return std::nullopt;
}

/// What makes `value` from what the loop carries in `arg`: combine(arg, term), perhaps under a
/// condition, arg else.
std::optional<Combiner> combinerOf(Value arg, Value value) {
  Block* body = arg.getParentBlock();
  auto isHere = [&](Operation* op) { return op && op->getBlock() == body; };
  Operation* op = value.getDefiningOp();
  if (!isHere(op) || !value.hasOneUse()) return std::nullopt;
  SmallVector<Operation*, 2> users(arg.getUsers());
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Value other = select.getTrueValue() == arg ? select.getFalseValue() : select.getTrueValue();
    if ((select.getTrueValue() == arg) == (select.getFalseValue() == arg) ||
        select.getCondition() == arg || !other.hasOneUse())
      return std::nullopt;
    llvm::erase(users, op);
    op = other.getDefiningOp();
    if (!isHere(op)) return std::nullopt;
  }
  if (op->getNumOperands() != 2 || users != SmallVector<Operation*, 2>{op} ||
      op->getOperand(0) == op->getOperand(1))
    return std::nullopt;
  auto combiner = combinerOf(op);
  if (combiner) combiner->op = op;
  return combiner;
}

class RowSpreader {
public:
  RowSpreader(scf::ParallelOp rows, int64_t threads)
      : rows(rows), b(rows.getContext()), threads(threads) {}

  /// Can all be written, and is there anything to share?
  bool fits() { return checkBlock(*rows.getBody()) && anyShared; }

  void run() {
    b.setInsertionPointToStart(rows.getBody());
    Location loc = rows.getLoc();
    thread = b.create<gpu::ThreadIdOp>(loc, b.getIndexType(), gpu::Dimension::x);
    thread.getDefiningOp()->setAttr("ortc.name", b.getStringAttr("thread"));
    step = b.create<arith::ConstantIndexOp>(loc, threads);
    spreadBlock(*rows.getBody());
  }

private:
  scf::ParallelOp rows;
  OpBuilder b;
  int64_t threads;
  Value thread, step;
  bool anyShared = false;

  static bool mayStore(Operation* op) {
    bool found = false;
    op->walk([&](memref::StoreOp) { found = true; });
    return found;
  }

  /// The loops of a reduction, outermost first, and how its values are combined; empty when it is
  /// none: each level hands what it carries to the next and does nothing else with it.
  struct Reduction {
    SmallVector<scf::ForOp> levels;
    SmallVector<Combiner> combiners;
    scf::ForOp shared; // the level that is dealt out
  };
  static std::optional<Reduction> reductionOf(scf::ForOp loop) {
    Reduction r;
    for (scf::ForOp level = loop;;) {
      if (!countsFromZero(level) || mayStore(level)) return std::nullopt;
      r.levels.push_back(level);
      if (!r.shared || turnsOf(level) >= turnsOf(r.shared)) r.shared = level;
      auto yield = cast<scf::YieldOp>(level.getBody()->getTerminator());
      auto inner =
          yield.getNumOperands() ? yield.getOperand(0).getDefiningOp<scf::ForOp>() : scf::ForOp();
      if (inner && inner->getBlock() == level.getBody() &&
          llvm::equal(yield.getOperands(), inner.getResults()) &&
          llvm::equal(inner.getInitArgs(), level.getRegionIterArgs()) &&
          llvm::all_of(level.getRegionIterArgs(), [](Value v) { return v.hasOneUse(); })) {
        level = inner;
        continue;
      }
      for (auto [arg, value] : llvm::zip(level.getRegionIterArgs(), yield.getOperands())) {
        auto combiner = combinerOf(arg, value);
        if (!combiner) return std::nullopt;
        r.combiners.push_back(*combiner);
      }
      if (r.combiners.empty() || turnsOf(r.shared) < kFewTurns) return std::nullopt;
      return r;
    }
  }

  /// Of a nest of loops that store: the one with most turns, the inner one of equals.
  static scf::ForOp widest(scf::ForOp loop) {
    scf::ForOp best = loop;
    for (Operation& op : loop.getBody()->without_terminator())
      if (auto inner = dyn_cast<scf::ForOp>(op);
          inner && inner.getInitArgs().empty() && mayStore(inner))
        if (scf::ForOp w = widest(inner); turnsOf(w) >= turnsOf(best)) best = w;
    return best;
  }

  bool checkBlock(Block& block) {
    for (Operation& op : block.without_terminator()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (!loop.getInitArgs().empty()) {
          if (mayStore(loop)) return false;
          anyShared |= reductionOf(loop).has_value();
          continue;
        }
        if (!countsFromZero(loop)) return false;
        if (widest(loop) == loop)
          anyShared = true;
        else if (!checkBlock(*loop.getBody()))
          return false;
        continue;
      }
      if (isa<memref::StoreOp>(op)) continue;
      if (mayStore(&op)) return false; // in a branch or a loop of unknown turns
    }
    return true;
  }

  void share(scf::ForOp loop) {
    loop.getLowerBoundMutable().assign(thread);
    loop.getStepMutable().assign(step);
  }

  void spreadBlock(Block& block) {
    for (Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (!loop.getInitArgs().empty()) {
          if (auto r = reductionOf(loop)) spreadReduction(*r);
        } else if (widest(loop) == loop) {
          share(loop);
        } else {
          spreadBlock(*loop.getBody());
        }
      } else if (isa<memref::StoreOp>(op)) {
        storeOnce(op);
      }
    }
  }

  static StringRef nameOf(gpu::AllReduceOperation operation) {
    switch (operation) {
    case gpu::AllReduceOperation::ADD: return "row_sum";
    case gpu::AllReduceOperation::MUL: return "row_product";
    case gpu::AllReduceOperation::MAXIMUMF:
    case gpu::AllReduceOperation::MAXSI: return "row_maximum";
    default: return "row_minimum";
    }
  }

  void spreadReduction(Reduction& r) {
    scf::ForOp outermost = r.levels.front();
    Location loc = outermost.getLoc();
    share(r.shared);
    for (auto [i, combiner] : llvm::enumerate(r.combiners)) {
      Value init = outermost.getInitArgs()[i], partial = outermost.getResult(i);
      Attribute given;
      bool isNeutral = matchPattern(init, m_Constant(&given)) && given == combiner.neutral;
      b.setInsertionPoint(outermost);
      if (!isNeutral) {
        Value neutral = b.create<arith::ConstantOp>(loc, combiner.neutral);
        outermost.getInitArgsMutable()[i].assign(neutral);
      }
      b.setInsertionPointAfter(outermost);
      auto operation = gpu::AllReduceOperationAttr::get(b.getContext(), combiner.operation);
      Operation* whole = b.create<gpu::AllReduceOp>(loc, partial.getType(), partial, operation,
                                                    /*uniform=*/true);
      whole->setAttr("ortc.name", b.getStringAttr(nameOf(combiner.operation)));
      Value result = whole->getResult(0);
      Operation* last = whole;
      if (!isNeutral) {
        last = b.create(loc, combiner.op->getName().getIdentifier(), {init, result},
                        {partial.getType()});
        result = last->getResult(0);
      }
      partial.replaceUsesWithIf(result, [&](OpOperand& use) {
        return use.getOwner() != whole && use.getOwner() != last;
      });
    }
  }

  /// The same value by all threads: one of them stores it.
  void storeOnce(Operation& store) {
    Location loc = store.getLoc();
    b.setInsertionPoint(&store);
    Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
    Value first = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, thread, zero);
    auto branch = b.create<scf::IfOp>(loc, first, /*withElseRegion=*/false);
    store.moveBefore(branch.thenBlock()->getTerminator());
  }
};

} // namespace

bool spreadRows(func::FuncOp function, int64_t threads) {
  scf::ParallelOp rows;
  for (Operation& op : function.getBody().front())
    if (auto p = dyn_cast<scf::ParallelOp>(op)) rows = p;
  if (!rows || rows.getNumReductions()) return false;
  function.getContext()->loadDialect<gpu::GPUDialect>();
  RowSpreader spreader(rows, threads);
  if (!spreader.fits()) return false;
  spreader.run();
  function->setAttr("ortc.row_threads", Builder(function.getContext()).getI64IntegerAttr(threads));
  return true;
}

} // namespace ortc
