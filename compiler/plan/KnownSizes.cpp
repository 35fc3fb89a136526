// SPDX-License-Identifier: Apache-2.0
// What is known of sizes at the start of a run, or before a loop: the number itself, or a bound.
#include "compiler/plan/Places.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace ortc {

std::optional<OpFoldResult> Places::atStart(OpFoldResult size) {
  if (constantSize(size)) return size;
  Value v = cast<Value>(size);
  if (auto it = atStartOf.find(v); it != atStartOf.end()) return OpFoldResult(it->second);
  Operation* op = v.getDefiningOp();
  // A size that a loop carries is the same in every turn, or it is not known.
  auto carried = [&](scf::ForOp loop, unsigned i) -> std::optional<OpFoldResult> {
    Value arg = loop.getRegionIterArg(i), next = loop.getBody()->getTerminator()->getOperand(i);
    auto init = atStart(OpFoldResult(loop.getInitArgs()[i]));
    if (!init || next == arg) return init;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(start);
    atStartOf[arg] = sizeValue(b, loop.getLoc(), *init);
    auto after = atStart(OpFoldResult(next));
    if (after && sameSize(*after, *init)) return init;
    atStartOf.erase(arg);
    return std::nullopt;
  };
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
    if (!loop || arg == loop.getInductionVar()) return std::nullopt;
    return carried(loop, arg.getArgNumber() - 1);
  }
  if (isa<DimOp>(op)) return size;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return carried(loop, cast<OpResult>(v).getResultNumber());
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(v).getResultNumber();
    auto x = atStart(OpFoldResult(branch.thenYield()->getOperand(i))),
         y = atStart(OpFoldResult(branch.elseYield()->getOperand(i)));
    if (x && y && sameSize(*x, *y)) return x;
    return std::nullopt;
  }
  if (op->getNumRegions() || !isPure(op) || op->getNumOperands() == 0) return std::nullopt;
  IRMapping map;
  for (Value operand : op->getOperands()) {
    // Floats, too: exporters scale sizes by them.
    if (!operand.getType().isIntOrIndexOrFloat()) return std::nullopt;
    if (matchPattern(operand, m_Constant())) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(start);
      map.map(operand, b.clone(*operand.getDefiningOp())->getResult(0));
      continue;
    }
    auto known = atStart(OpFoldResult(operand));
    if (!known) return std::nullopt;
    map.map(operand, cast<Value>(*known));
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(start);
  Operation* copy = b.clone(*op, map);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    atStartOf[from] = to;
  return OpFoldResult(atStartOf[v]);
}

std::optional<OpFoldResult> Places::boundAtStart(OpFoldResult size) {
  return bound(size, nullptr, boundOf, [&](OpFoldResult s) { return atStart(s); });
}

/// A size that is not known at a point, but has a bound that is: that of the larger branch, and
/// what is computed from it. All operands of arithmetic on sizes count elements: none is negative
/// but where a constant says so. The point is before `loop`; without one, the start.
std::optional<OpFoldResult>
Places::bound(OpFoldResult size, Operation* loop, Numbers& bounds,
              llvm::function_ref<std::optional<OpFoldResult>(OpFoldResult)> knownAt) {
  if (auto known = knownAt(size)) return known;
  Value v = cast<Value>(size);
  if (auto it = bounds.find(v); it != bounds.end()) return it->second;
  bounds[v] = std::nullopt;
  Operation* op = v.getDefiningOp();
  auto boundAt = [&](OpFoldResult s) { return Places::bound(s, loop, bounds, knownAt); };
  auto at = [&](auto make) -> std::optional<OpFoldResult> {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop ? loop : start);
    return make();
  };
  if (!op) { // the number of a turn is less than that of all turns
    auto turns = dyn_cast<scf::ForOp>(v.getParentBlock()->getParentOp());
    if (!turns || v != turns.getInductionVar()) return std::nullopt;
    auto all = boundAt(turns.getUpperBound());
    return bounds[v] = all;
  }
  Location loc = op->getLoc();
  std::optional<OpFoldResult> bound;
  auto larger = [&](Value x, Value y) -> std::optional<OpFoldResult> {
    auto p = boundAt(x), q = boundAt(y);
    if (!p || !q) return std::nullopt;
    return at([&] { return maxSizes(b, loc, *p, *q); });
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(v).getResultNumber();
    bound = larger(branch.thenYield()->getOperand(i), branch.elseYield()->getOperand(i));
  } else if (isa<arith::MaxUIOp, arith::MaxSIOp>(op)) {
    bound = larger(op->getOperand(0), op->getOperand(1));
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    bound = larger(select.getTrueValue(), select.getFalseValue());
  } else if (isa<arith::AddIOp, arith::MulIOp>(op)) {
    auto p = boundAt(op->getOperand(0)), q = boundAt(op->getOperand(1));
    if (p && q)
      bound = at([&] {
        return isa<arith::AddIOp>(op) ? addSizes(b, loc, *p, *q) : mulSizes(b, loc, *p, *q);
      });
  } else if (isa<arith::MinUIOp, arith::MinSIOp>(op)) {
    bound = boundAt(op->getOperand(0));
    if (!bound) bound = boundAt(op->getOperand(1));
  } else if (isa<arith::SubIOp>(op)) {
    auto c = constantSize(OpFoldResult(op->getOperand(1)));
    auto p = boundAt(op->getOperand(0));
    if (p && (!c || *c >= 0)) bound = p;
  } else if (isa<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp, arith::CeilDivSIOp,
                 arith::FloorDivSIOp>(op)) {
    auto p = boundAt(op->getOperand(0)), q = knownAt(op->getOperand(1));
    if (p && q && indexRange(*q).first >= 1)
      bound = at([&] { return ceilDivSizes(b, loc, *p, *q); });
  } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
    Value in = op->getOperand(0);
    if (in.getType().isIndex() || op->getResult(0).getType().isIndex()) {
      // sizes that went through i64, as shape arithmetic does
      Operation* inner = in.getDefiningOp();
      if (isa_and_nonnull<arith::IndexCastOp>(inner)) bound = boundAt(inner->getOperand(0));
    }
  }
  if (bound) bounds[v] = bound;
  return bound;
}

/// In a loop: sizes that hold for all turns, where they have such bounds, so that a run asks once.
void Places::boundBeforeLoop(PlannedBuffer& buffer) {
  Operation* loop = nullptr; // the outermost
  for (Operation* p = buffer.madeLate->getParentOp(); p && !isa<func::FuncOp>(p);
       p = p->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(p)) loop = p;
  if (!loop) return;
  Numbers bounds;
  DenseMap<Value, Value> copies;
  auto known = [&](OpFoldResult s) -> std::optional<OpFoldResult> {
    auto v = dyn_cast<Value>(s);
    if (!v) return s;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    Value there = computedAgain(
        b, v, [&](Value x) { return !loop->isAncestor(x.getParentBlock()->getParentOp()); },
        copies);
    return there ? std::optional(OpFoldResult(there)) : std::nullopt;
  };
  Sizes sizes;
  for (OpFoldResult s : buffer.sizes) {
    auto most = bound(s, loop, bounds, known);
    if (!most) return;
    sizes.push_back(*most);
  }
  buffer.sizes = sizes;
}

bool Places::isKnownBefore(OpFoldResult size, Operation* op) {
  llvm::DenseSet<Value> can;
  std::function<bool(Value)> known = [&](Value v) {
    Operation* def = v.getDefiningOp();
    if (!def || can.contains(v) || (def->getBlock() == op->getBlock() && def->isBeforeInBlock(op)))
      return true;
    bool arithmetic = def->getNumRegions() == 0 && isPure(def) &&
                      llvm::all_of(def->getOperands(), [&](Value operand) {
                        return operand.getType().isIntOrIndexOrFloat() && known(operand);
                      });
    if (arithmetic) can.insert(v);
    return arithmetic;
  };
  auto v = dyn_cast<Value>(size);
  return !v || known(v);
}

} // namespace ortc
