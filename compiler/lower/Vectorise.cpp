// SPDX-License-Identifier: Apache-2.0
// Two rewrites, on loops that LoopEmitter wrote: a loop of independent turns becomes a loop over
// vectors, and a loop that sums (or takes a maximum) keeps one partial result per lane. What is the
// same in all lanes stays scalar. The order of a sum is fixed by the number of lanes, never by the
// number of threads.
#include "compiler/lower/Vectorise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ortc {
namespace {

/// Loops with fewer turns than this are not worth a vector.
constexpr int64_t kFewTurns = 4;

/// What lanes hold: f32, and integers that are no wider, for quantised numbers. i1 is a mask.
bool isNumber(Type t) {
  return t.isF32() || t.isInteger(8) || t.isInteger(16) || t.isInteger(32);
}

bool isElementwise(Operation* op) {
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
          arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::CmpIOp,
          arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp>(op))
    return isNumber(op->getOperand(0).getType()); // not on masks
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp, arith::SelectOp, math::ExpOp,
             math::ExpM1Op, math::LogOp, math::Log1pOp, math::TanhOp, math::ErfOp, math::SqrtOp,
             math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
             math::SinOp, math::CosOp, math::PowFOp>(op);
}

class Widener {
public:
  Widener(scf::ForOp loop, int64_t lanes) : loop(loop), lanes(lanes), b(loop) {}

  /// The loop as a loop over vectors; false, and nothing changed, when that is not possible.
  bool parallel() {
    if (!loop.getInitArgs().empty() || !goodCount()) return false;
    strides[loop.getInductionVar()] = 1;
    if (!analyse(*loop.getBody()) || !anyStore) return false;
    auto made = b.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                     b.create<arith::ConstantIndexOp>(loop.getLoc(), lanes));
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    b.setInsertionPoint(made.getBody()->getTerminator());
    beginBody(made);
    rewrite(*loop.getBody());
    loop.erase();
    return true;
  }

  /// A loop that folds f32 values by sums, products, maxima or minima.
  bool reduction() {
    if (loop.getInitArgs().empty() || !goodCount()) return false;
    strides[loop.getInductionVar()] = 1;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<Operation*> combiners;
    for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
      Operation* op = value.getDefiningOp();
      if (!arg.getType().isF32() || !op || op->getBlock() != loop.getBody() ||
          !isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp>(op))
        return false;
      // carried only through the combiner
      if (!arg.hasOneUse() || *arg.getUsers().begin() != op || !value.hasOneUse()) return false;
      combiners.push_back(op);
      varying.insert(arg);
    }
    if (!analyse(*loop.getBody()) || anyStore || !anyVectorLoad) return false;
    for (Operation* c : combiners)
      for (Value v : c->getOperands())
        if (!isVarying(v)) return false; // a sum of equal terms: leave it
    Location loc = loop.getLoc();
    SmallVector<Value> inits, neutrals;
    for (Operation* c : combiners) {
      double neutral = isa<arith::AddFOp>(c)       ? 0
                       : isa<arith::MulFOp>(c)     ? 1
                       : isa<arith::MaximumFOp>(c) ? -INFINITY
                                                   : INFINITY;
      neutrals.push_back(b.create<arith::ConstantOp>(
          loc, DenseElementsAttr::get(floatsType(),
                                      b.getF32FloatAttr(static_cast<float>(neutral)).getValue())));
    }
    inits = neutrals;
    auto made = b.create<scf::ForOp>(loc, loop.getLowerBound(), loop.getUpperBound(),
                                     b.create<arith::ConstantIndexOp>(loc, lanes), inits);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    b.setInsertionPointToEnd(made.getBody());
    beginBody(made);
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), made.getRegionIterArgs()))
      map.map(from, to);
    SmallVector<Value> next;
    for (Operation& op : loop.getBody()->without_terminator()) {
      auto c = llvm::find(combiners, &op);
      if (c == combiners.end()) {
        rewriteOp(op);
        continue;
      }
      size_t i = c - combiners.begin();
      Value carried = made.getRegionIterArgs()[i];
      Value term =
          op.getOperand(0) == loop.getRegionIterArgs()[i] ? op.getOperand(1) : op.getOperand(0);
      Value wide = vector(term);
      // Lanes past the end hold rubbish.
      if (mask) wide = b.create<arith::SelectOp>(loc, mask, wide, neutrals[i]);
      Operation* combined =
          b.create(loc, op.getName().getIdentifier(), {carried, wide}, {floatsType()});
      next.push_back(combined->getResult(0));
    }
    // in the order of the yield
    SmallVector<Value> ordered;
    SmallVector<Operation*> seen;
    for (Operation& op : loop.getBody()->without_terminator())
      if (llvm::is_contained(combiners, &op)) seen.push_back(&op);
    for (Operation* c : combiners)
      ordered.push_back(next[llvm::find(seen, c) - seen.begin()]);
    b.create<scf::YieldOp>(loc, ordered);
    b.setInsertionPointAfter(made);
    for (auto [i, c] : llvm::enumerate(combiners)) {
      auto kind = isa<arith::AddFOp>(c)       ? vector::CombiningKind::ADD
                  : isa<arith::MulFOp>(c)     ? vector::CombiningKind::MUL
                  : isa<arith::MaximumFOp>(c) ? vector::CombiningKind::MAXIMUMF
                                              : vector::CombiningKind::MINIMUMF;
      Value scalar = b.create<vector::ReductionOp>(loc, kind, made.getResult(i));
      Value init = loop.getInitArgs()[i];
      bool isNeutral = false;
      if (auto k = init.getDefiningOp<arith::ConstantOp>())
        if (auto f = dyn_cast<FloatAttr>(k.getValue()))
          isNeutral = isa<arith::AddFOp>(c)   ? f.getValue().isZero()
                      : isa<arith::MulFOp>(c) ? f.getValue().isExactlyValue(1)
                                              : f.getValue().isInfinity();
      if (!isNeutral)
        scalar = b.create(loc, c->getName().getIdentifier(), {init, scalar}, {init.getType()})
                     ->getResult(0);
      loop.getResult(i).replaceAllUsesWith(scalar);
    }
    loop.erase();
    return true;
  }

private:
  scf::ForOp loop;
  int64_t lanes;
  OpBuilder b;
  IRMapping map;
  Value mask; // of the lanes that are inside; null when all always are
  llvm::DenseMap<Value, std::optional<int64_t>>
      strides;                   // of index values, along the loop; none: not linear
  llvm::DenseSet<Value> varying; // numbers and i1 that differ from lane to lane
  bool anyStore = false, anyVectorLoad = false;

  VectorType vectorType(Type lane) { return VectorType::get({lanes}, lane); }
  VectorType floatsType() { return vectorType(b.getF32Type()); }
  VectorType maskType() { return vectorType(b.getI1Type()); }

  bool goodCount() {
    auto n = getConstantIntValue(loop.getUpperBound());
    return getConstantIntValue(loop.getLowerBound()) == 0 &&
           getConstantIntValue(loop.getStep()) == 1 && (!n || *n >= kFewTurns);
  }

  std::optional<int64_t> strideOf(Value v) {
    auto it = strides.find(v);
    return it == strides.end() ? std::optional<int64_t>(0) : it->second;
  }
  bool isVarying(Value v) { return varying.contains(v); }

  // ---- analysis ----

  bool analyse(Block& block) {
    for (Operation& op : block)
      if (!analyseOp(op)) return false;
    return true;
  }

  bool analyseOp(Operation& op) {
    auto anyVaries = [&] {
      return llvm::any_of(op.getOperands(),
                          [&](Value v) { return isVarying(v) || strideOf(v) != 0; });
    };
    if (isa<scf::YieldOp>(op)) return true; // the op that holds it looks at what is yielded
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      auto stride = strideOf(load.getIndices()[0]);
      if (stride == 0) return true;
      if (stride != 1 || !isNumber(load.getType())) return false;
      varying.insert(load.getResult());
      return anyVectorLoad = true;
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      anyStore = true;
      return strideOf(store.getIndices()[0]) == 1 && isNumber(store.getValueToStore().getType());
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (isVarying(branch.getCondition())) return false;
      for (Region& r : branch->getRegions())
        for (Block& block : r)
          if (!analyse(block)) return false;
      for (auto [i, r] : llvm::enumerate(branch.getResults())) {
        bool varies = false;
        for (Region* region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
          Value y = region->front().getTerminator()->getOperand(i);
          varies |= isVarying(y);
          if (strideOf(y) != 0) return false;
        }
        if (varies && !isNumber(r.getType())) return false;
        if (varies) varying.insert(r);
      }
      return true;
    }
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      for (Value v : {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
        if (strideOf(v) != 0) return false;
      // What is carried may vary from the second turn on: assume it of all numbers, and forbid it
      // of the rest.
      for (auto [arg, init] : llvm::zip(inner.getRegionIterArgs(), inner.getInitArgs())) {
        if (isNumber(arg.getType()))
          varying.insert(arg);
        else if (isVarying(init) || strideOf(init) != 0)
          return false;
      }
      if (!analyse(*inner.getBody())) return false;
      for (auto [r, y] :
           llvm::zip(inner.getResults(), inner.getBody()->getTerminator()->getOperands())) {
        if (isNumber(r.getType()))
          varying.insert(r);
        else if (isVarying(y) || strideOf(y) != 0)
          return false;
      }
      return true;
    }
    if (op.getNumRegions()) return false;
    if (!anyVaries()) return isPure(&op);
    if (op.getNumResults() != 1) return false;
    Value r = op.getResult(0);
    if (r.getType().isIndex()) {
      auto x = strideOf(op.getOperand(0)),
           y = op.getNumOperands() > 1 ? strideOf(op.getOperand(1)) : std::optional<int64_t>(0);
      std::optional<int64_t> s;
      if (x && y && isa<arith::AddIOp>(op))
        s = *x + *y;
      else if (x && y && isa<arith::SubIOp>(op))
        s = *x - *y;
      else if (isa<arith::MulIOp>(op)) {
        auto cx = getConstantIntValue(op.getOperand(0)), cy = getConstantIntValue(op.getOperand(1));
        if (x && cy && y == 0)
          s = *x * *cy;
        else if (y && cx && x == 0)
          s = *y * *cx;
      }
      strides[r] = s; // none: any use as an address fails
      return isPure(&op);
    }
    // Comparisons of indices and the like would need vectors of indices.
    if (!isElementwise(&op)) return false;
    auto fits = [](Type t) { return isNumber(t) || t.isInteger(1); };
    if (!llvm::all_of(op.getOperandTypes(), fits) || !fits(r.getType())) return false;
    if (auto select = dyn_cast<arith::SelectOp>(op); select && r.getType().isInteger(1))
      return false;
    varying.insert(r);
    return true;
  }

  // ---- rewriting ----

  void beginBody(scf::ForOp made) {
    map.map(loop.getInductionVar(), made.getInductionVar());
    auto n = getConstantIntValue(loop.getUpperBound());
    if (n && *n % lanes == 0) return;
    // the last turn has fewer
    Location loc = loop.getLoc();
    Value left = b.create<arith::SubIOp>(loc, loop.getUpperBound(), made.getInductionVar());
    mask = b.create<vector::CreateMaskOp>(loc, maskType(), ValueRange{left});
  }

  Value scalar(Value v) { return map.lookupOrDefault(v); }
  Value vector(Value v) {
    Value here = map.lookupOrDefault(v);
    if (isa<VectorType>(here.getType())) return here;
    return b.create<vector::BroadcastOp>(v.getLoc(), vectorType(v.getType()), here);
  }

  void rewrite(Block& block) {
    for (Operation& op : block.without_terminator())
      rewriteOp(op);
  }

  void rewriteOp(Operation& op) {
    Location loc = op.getLoc();
    if (auto load = dyn_cast<memref::LoadOp>(op); load && isVarying(load.getResult())) {
      Value at = scalar(load.getIndices()[0]), v;
      if (mask) {
        Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vectorType(load.getType())));
        v = b.create<vector::MaskedLoadOp>(loc, vectorType(load.getType()), load.getMemRef(),
                                           ValueRange{at}, mask, zero);
      } else {
        v = b.create<vector::LoadOp>(loc, vectorType(load.getType()), load.getMemRef(),
                                     ValueRange{at});
      }
      map.map(load.getResult(), v);
      return;
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      Value v = vector(store.getValueToStore()), at = scalar(store.getIndices()[0]);
      if (mask)
        b.create<vector::MaskedStoreOp>(loc, store.getMemRef(), ValueRange{at}, mask, v);
      else
        b.create<vector::StoreOp>(loc, v, store.getMemRef(), ValueRange{at});
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      SmallVector<Type> types;
      for (Value r : branch.getResults())
        types.push_back(isVarying(r) ? Type(vectorType(r.getType())) : r.getType());
      auto made = b.create<scf::IfOp>(loc, types, scalar(branch.getCondition()), true,
                                      !branch.getElseRegion().empty());
      for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
        if (from.empty()) continue;
        OpBuilder::InsertionGuard guard(b);
        if (!to.empty() && !to.front().empty()) to.front().clear();
        if (to.empty()) b.createBlock(&to);
        b.setInsertionPointToEnd(&to.front());
        rewrite(from.front());
        SmallVector<Value> yields;
        for (auto [i, y] : llvm::enumerate(from.front().getTerminator()->getOperands()))
          yields.push_back(isVarying(branch.getResult(i)) ? vector(y) : scalar(y));
        b.create<scf::YieldOp>(loc, yields);
      }
      for (auto [x, y] : llvm::zip(branch.getResults(), made.getResults()))
        map.map(x, y);
      return;
    }
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      SmallVector<Value> inits;
      for (Value v : inner.getInitArgs())
        inits.push_back(isNumber(v.getType()) ? vector(v) : scalar(v));
      auto made =
          b.create<scf::ForOp>(loc, scalar(inner.getLowerBound()), scalar(inner.getUpperBound()),
                               scalar(inner.getStep()), inits);
      made->setDiscardableAttrs(inner->getDiscardableAttrDictionary());
      map.map(inner.getInductionVar(), made.getInductionVar());
      for (auto [x, y] : llvm::zip(inner.getRegionIterArgs(), made.getRegionIterArgs()))
        map.map(x, y);
      OpBuilder::InsertionGuard guard(b);
      Block* body = made.getBody();
      if (!body->empty()) body->back().erase();
      b.setInsertionPointToEnd(body);
      rewrite(*inner.getBody());
      SmallVector<Value> yields;
      for (Value y : inner.getBody()->getTerminator()->getOperands())
        yields.push_back(isNumber(y.getType()) ? vector(y) : scalar(y));
      b.create<scf::YieldOp>(loc, yields);
      for (auto [x, y] : llvm::zip(inner.getResults(), made.getResults()))
        map.map(x, y);
      return;
    }
    if (op.getNumResults() == 1 && isVarying(op.getResult(0))) {
      SmallVector<Value> operands;
      for (Value v : op.getOperands())
        operands.push_back(vector(v));
      Operation* made = b.create(loc, op.getName().getIdentifier(), operands,
                                 {vectorType(op.getResult(0).getType())}, op.getAttrs());
      map.map(op.getResult(0), made->getResult(0));
      return;
    }
    b.clone(op, map);
  }
};

bool holdsLoops(scf::ForOp loop, bool carrying) {
  bool found = false;
  loop.getBody()->walk([&](scf::ForOp inner) { found |= inner.getInitArgs().empty() != carrying; });
  return found;
}

void visit(Block& block, int64_t lanes) {
  for (Operation& op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      // The innermost loop of independent turns; else the sums inside.
      if (loop.getInitArgs().empty() && !holdsLoops(loop, false) && Widener(loop, lanes).parallel())
        continue;
      if (!loop.getInitArgs().empty() && !holdsLoops(loop, true) && !holdsLoops(loop, false) &&
          Widener(loop, lanes).reduction())
        continue;
    }
    for (Region& r : op.getRegions())
      for (Block& inner : r)
        visit(inner, lanes);
  }
}

} // namespace

void vectoriseLoops(func::FuncOp function, int64_t lanes) {
  visit(function.getBody().front(), lanes);
}

} // namespace ortc
