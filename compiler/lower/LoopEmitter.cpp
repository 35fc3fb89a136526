// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/LoopEmitter.h"
#include "compiler/lower/GroupSums.h"
#include "compiler/ops/AllOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace ortc {

// ---- scalars and sizes of the enclosing function ----

Value LoopEmitter::scalar(Value v) {
  Operation* op = v.getDefiningOp();
  // Written outside of the loops that it does not depend on, so that neither do its users.
  OpBuilder::InsertionGuard guard(b);
  if (op && isa<arith::ConstantOp>(op)) {
    b.restoreInsertionPoint(hoistPoint({}));
    return b.clone(*op)->getResult(0);
  }
  if (dominatesHere(v)) return v;   // of this function: a loop index, or something written before
  if (op && outside.isInside(op)) { // index arithmetic that fusion moved into the kernel
    IRMapping map;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(scalar(operand));
      map.map(operand, operands.back());
    }
    if (isPure(op)) b.restoreInsertionPoint(hoistPoint(operands));
    return b.clone(*op, map)->getResult(cast<OpResult>(v).getResultNumber());
  }
  return outside.scalar(v);
}

Value LoopEmitter::localSize(OpFoldResult size) {
  if (auto c = constantSize(size)) return index(*c);
  return scalar(cast<Value>(size));
}

Sizes LoopEmitter::localSizes(Value tensor) {
  Sizes r;
  for (OpFoldResult s : getSizes(b, tensor)) {
    if (constantSize(s))
      r.push_back(s);
    else
      r.push_back(localSize(s));
  }
  return r;
}

Value LoopEmitter::size(Value tensor, int64_t dim) {
  return localSize(getSize(b, tensor, dim));
}

// ---- index arithmetic ----

Value LoopEmitter::index(int64_t c) {
  // Outside of all loops, so that what is computed from it can be written there, too.
  OpBuilder::InsertionGuard guard(b);
  b.restoreInsertionPoint(hoistPoint({}));
  return b.create<arith::ConstantIndexOp>(loc, c);
}
static std::optional<int64_t> constant(Value v) {
  return getConstantIntValue(v);
}

/// v, when the terms are (v / s) * s and v % s: an index that was split for a shape and is put
/// together again for the same.
static Value joined(Value scaled, Value rest) {
  auto r = rest.getDefiningOp<arith::RemUIOp>();
  auto m = scaled.getDefiningOp<arith::MulIOp>();
  if (!r || !m) return {};
  auto same = [](Value a, Value b) {
    return a == b || (constant(a) && constant(a) == constant(b));
  };
  for (auto [quotient, s] : {std::pair(m.getLhs(), m.getRhs()), std::pair(m.getRhs(), m.getLhs())})
    if (auto q = quotient.getDefiningOp<arith::DivUIOp>();
        q && q.getLhs() == r.getLhs() && same(q.getRhs(), r.getRhs()) && same(s, r.getRhs()))
      return r.getLhs();
  return {};
}

/// Indices that are split for a shape are written outside of the loops that they do not depend on,
/// so that what is read there (the sum of a row) can be, too. A place that is only put together
/// stays where it is read: `x[i * 8 + k]`. So does a division by a size that may be 0: the loop
/// over that size has no turns then.
template <class Op> Value LoopEmitter::arithmetic(Value x, Value y) {
  constexpr bool divides = std::is_same_v<Op, arith::DivUIOp> || std::is_same_v<Op, arith::RemUIOp>;
  const bool ofParts = (x.getDefiningOp() && !constant(x)) || (y.getDefiningOp() && !constant(y));
  OpBuilder::InsertionGuard guard(b);
  if (divides ? constant(y).value_or(0) != 0 : ofParts) b.restoreInsertionPoint(hoistPoint({x, y}));
  return b.create<Op>(loc, x, y);
}

Value LoopEmitter::add(Value x, Value y) {
  for (auto [p, q] : {std::pair(x, y), std::pair(y, x)}) {
    if (Value whole = joined(p, q)) return whole;
    if (auto inner = p.getDefiningOp<arith::AddIOp>())
      if (Value whole = joined(inner.getRhs(), q)) return add(inner.getLhs(), whole);
  }
  if (constant(x) == 0) return y;
  if (constant(y) == 0) return x;
  if (constant(x) && constant(y)) return index(*constant(x) + *constant(y));
  if (constant(x)) std::swap(x, y);
  if (auto c = constant(y))
    if (auto inner = x.getDefiningOp<arith::AddIOp>())
      if (auto d = constant(inner.getRhs())) return add(inner.getLhs(), index(*c + *d));
  return arithmetic<arith::AddIOp>(x, y);
}
Value LoopEmitter::sub(Value x, Value y) {
  if (auto c = constant(y)) return add(x, index(-*c));
  if (x == y) return index(0);
  return arithmetic<arith::SubIOp>(x, y);
}
Value LoopEmitter::mul(Value x, Value y) {
  if (constant(x)) std::swap(x, y);
  if (auto c = constant(y)) {
    if (*c == 1) return x;
    if (*c == 0) return y;
    if (auto d = constant(x)) return index(*c * *d);
  }
  return arithmetic<arith::MulIOp>(x, y);
}

/// x = quotient * divisor + rest with 0 <= rest < divisor, when the form of x shows it.
static bool splits(Value x, Value divisor, const llvm::DenseMap<Value, Value>& extents,
                   Value& quotient, Value& rest) {
  auto same = [](Value a, Value b) {
    return a == b || (constant(a) && constant(a) == constant(b));
  };
  auto isMultiple = [&](Value v) -> Value {
    if (auto m = v.getDefiningOp<arith::MulIOp>()) {
      if (same(m.getRhs(), divisor)) return m.getLhs();
      if (same(m.getLhs(), divisor)) return m.getRhs();
    }
    return {};
  };
  auto below = [&](Value v) {
    auto it = extents.find(v);
    if (it == extents.end())
      return constant(v) && constant(divisor) && *constant(v) >= 0 &&
             *constant(v) < *constant(divisor);
    if (same(it->second, divisor)) return true;
    return constant(it->second) && constant(divisor) && *constant(it->second) <= *constant(divisor);
  };
  if (Value q = isMultiple(x)) {
    quotient = q, rest = {};
    return true;
  }
  if (below(x)) {
    quotient = {}, rest = x;
    return true;
  }
  if (auto a = x.getDefiningOp<arith::AddIOp>())
    for (auto [p, q] : {std::pair(a.getLhs(), a.getRhs()), std::pair(a.getRhs(), a.getLhs())})
      if (Value m = isMultiple(p); m && below(q)) {
        quotient = m, rest = q;
        return true;
      }
  return false;
}

Value LoopEmitter::div(Value x, Value y) {
  if (constant(y) == 1) return x;
  if (constant(x) && constant(y)) return index(*constant(x) / *constant(y));
  Value q, r;
  if (splits(x, y, extents, q, r)) return q ? q : index(0);
  return arithmetic<arith::DivUIOp>(x, y);
}
Value LoopEmitter::rem(Value x, Value y) {
  if (constant(y) == 1) return index(0);
  if (constant(x) && constant(y)) return index(*constant(x) % *constant(y));
  Value q, r;
  if (splits(x, y, extents, q, r)) return r ? r : index(0);
  return arithmetic<arith::RemUIOp>(x, y);
}

// ---- where to write ----

/// The block that encloses the insertion point, or that it is in, and in which `v` is already
/// defined.
bool LoopEmitter::dominatesHere(Value v) {
  Block* home = v.getParentBlock();
  for (Block* at = b.getInsertionBlock(); at;
       at = at->getParentOp() ? at->getParentOp()->getBlock() : nullptr)
    if (at == home) {
      // Inside of the block all that is written comes before the insertion point, or before the op
      // that holds it.
      return true;
    }
  return false;
}

OpBuilder::InsertPoint LoopEmitter::hoistPoint(ValueRange values) {
  // From the innermost block outwards, as long as no value is of that block and the block is a
  // loop's.
  Block* block = b.getInsertionBlock();
  Block::iterator point = b.getInsertionPoint();
  while (llvm::none_of(values, [&](Value v) { return v.getParentBlock() == block; })) {
    Operation* parent = block->getParentOp();
    if (!isa_and_nonnull<scf::ForOp, scf::ParallelOp>(parent)) break;
    point = parent->getIterator();
    block = parent->getBlock();
  }
  return {block, point};
}

// ---- loops ----

static Location axisLoc(OpBuilder& b, Location loc, StringRef axis) {
  return NameLoc::get(b.getStringAttr(axis), loc);
}

Operation* LoopEmitter::loop(Value extent, StringRef axis, llvm::function_ref<void(Value)> body) {
  auto op = b.create<scf::ForOp>(axisLoc(b, loc, axis), index(0), extent, index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.getBody()->getTerminator());
  setExtent(op.getInductionVar(), extent);
  body(op.getInductionVar());
  return op;
}

Operation* LoopEmitter::parallel(ValueRange ends, ArrayRef<std::string> axes,
                                 llvm::function_ref<void(ValueRange)> body) {
  SmallVector<Value> lower(ends.size(), index(0)), step(ends.size(), index(1));
  auto op = b.create<scf::ParallelOp>(loc, lower, ends, step);
  SmallVector<Attribute> names;
  for (const std::string& a : axes)
    names.push_back(b.getStringAttr(a));
  op->setAttr("ortc.axes", b.getArrayAttr(names));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.getBody()->getTerminator());
  for (auto [iv, end] : llvm::zip(op.getInductionVars(), ends))
    setExtent(iv, end);
  body(op.getInductionVars());
  return op;
}

SmallVector<Value>
LoopEmitter::reduce(ValueRange ends, ValueRange inits,
                    llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<SmallVector<Value>(size_t, ValueRange)> nest =
      [&](size_t level, ValueRange carried) -> SmallVector<Value> {
    if (level == ends.size()) return body(indices, carried);
    if (constant(ends[level]) == 1) { // no loop for one turn
      indices.push_back(index(0));
      auto r = nest(level + 1, carried);
      indices.pop_back();
      return r;
    }
    auto op = b.create<scf::ForOp>(axisLoc(b, loc, "k" + std::to_string(level)), index(0),
                                   ends[level], index(1), carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(op.getBody());
    setExtent(op.getInductionVar(), ends[level]);
    indices.push_back(op.getInductionVar());
    SmallVector<Value> next = nest(level + 1, op.getRegionIterArgs());
    indices.pop_back();
    b.setInsertionPointToEnd(op.getBody());
    b.create<scf::YieldOp>(loc, next);
    return SmallVector<Value>(op.getResults());
  };
  return nest(0, inits);
}

Value LoopEmitter::guarded(Value condition, llvm::function_ref<Value()> then,
                           llvm::function_ref<Value()> otherwise) {
  if (auto c = constant(condition)) return *c ? then() : otherwise();
  Region regions[2];
  Type type;
  // The regions must hang in the function while they are written, so that scopes can be looked up.
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addRegion();
  state.addRegion();
  Operation* op = b.create(state);
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op->getRegion(i));
    Value v = i == 0 ? then() : otherwise();
    b.setInsertionPointToEnd(&op->getRegion(i).front());
    b.create<scf::YieldOp>(loc, v);
    type = v.getType();
  }
  // Now that the type is known, the op is made anew with a result.
  OperationState typed(loc, scf::IfOp::getOperationName());
  typed.addOperands(condition);
  typed.addTypes(type);
  typed.addRegion()->takeBody(op->getRegion(0));
  typed.addRegion()->takeBody(op->getRegion(1));
  Operation* result = b.create(typed);
  op->erase();
  return result->getResult(0);
}

// ---- reading ----

static bool sameIndex(Value x, Value y) {
  return x == y || (constant(x) && constant(x) == constant(y));
}

Value LoopEmitter::read(Value tensor, ValueRange indices) {
  for (auto& [at, value] : written[tensor])
    if (llvm::equal(at, indices, sameIndex) && dominatesHere(value)) return value;
  OpBuilder::InsertionGuard guard(b);
  b.restoreInsertionPoint(hoistPoint(indices));
  Value v = compute(tensor, indices);
  written[tensor].push_back({SmallVector<Value>(indices), v});
  return v;
}

Value LoopEmitter::linear(const Place& place, ValueRange indices) {
  // Horner's form where the strides are products of sizes is what a person would write, but a plain
  // sum of products shows the step of each loop; the printer factors it.
  Value sum = index(0);
  for (size_t d = 0; d < indices.size(); ++d) {
    bool merged = false;
    for (const Flat& f : flat) {
      size_t n = f.parts.size();
      if (n < 2 || d + n > indices.size() ||
          !std::equal(f.parts.begin(), f.parts.end(), indices.begin() + d))
        continue;
      bool dense = true;
      for (size_t k = 0; k + 1 < n; ++k)
        dense &= constantSize(f.sizes[k]) == 1 ||
                 sameSize(place.strides[d + k],
                          mulSizes(b, loc, place.strides[d + k + 1], f.sizes[k + 1]));
      if (!dense) continue;
      sum = add(sum, mul(f.whole, localSize(place.strides[d + n - 1])));
      d += n - 1;
      merged = true;
      break;
    }
    if (!merged) sum = add(sum, mul(indices[d], localSize(place.strides[d])));
  }
  return sum;
}
Value LoopEmitter::load(const Place& place, ValueRange indices) {
  return b.create<memref::LoadOp>(loc, place.buffer, linear(place, indices));
}
void LoopEmitter::store(Value element, const Place& place, ValueRange indices) {
  b.create<memref::StoreOp>(loc, element, place.buffer, linear(place, indices));
}

bool isInlineConstant(Operation* op) {
  auto c = dyn_cast_or_null<arith::ConstantOp>(op);
  return c && isa<SplatElementsAttr>(c.getValue()) && !isa<DenseStringElementsAttr>(c.getValue());
}

Value LoopEmitter::compute(Value tensor, ValueRange indices) {
  Operation* op = tensor.getDefiningOp();
  // Shapes and values of a few bytes are written in place even when they stand outside.
  bool inPlace = isa_and_nonnull<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(op);
  inPlace |= isInlineConstant(op);
  if (!inPlace && (!op || !outside.isInside(op))) return load(outside.place(tensor), indices);
  Location before = loc;
  loc = op->getLoc();
  auto restore = llvm::make_scope_exit([&] { loc = before; });
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (auto g = dyn_cast<linalg::GenericOp>(op)) return generic(g, indices);
  if (auto fill = dyn_cast<linalg::FillOp>(op)) return scalar(fill.getInputs()[0]);
  if (isa<tensor::EmptyOp>(op))
    return b.create<arith::ConstantOp>(loc, b.getZeroAttr(element)); // never looked at
  if (auto lowering = dyn_cast<ElementLowering>(op))
    return lowering.elementAt(*this, cast<OpResult>(tensor).getResultNumber(), indices);
  if (auto c = dyn_cast<tensor::CastOp>(op)) return read(c.getSource(), indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<Value> at;
    auto dropped = slice.getDroppedDims();
    unsigned next = 0;
    for (auto [d, offset, stride] :
         llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
      Value i = dropped.test(d) ? index(0) : indices[next++];
      at.push_back(add(localSize(offset), mul(i, localSize(stride))));
    }
    return read(slice.getSource(), at);
  }
  if (isInlineConstant(op)) {
    auto splat = cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    return b.create<arith::ConstantOp>(loc, splat.getSplatValue<TypedAttr>());
  }
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Value linear = index(0);
    for (auto [i, size] : llvm::zip(indices, type.getShape()))
      linear = add(mul(linear, index(size)), i);
    if (auto c = ::ortc::constant(linear)) return scalar(elements.getElements()[*c]);
    Value v = scalar(elements.getElements().back());
    for (size_t k = elements.getElements().size() - 1; k-- > 0;)
      v = b.create<arith::SelectOp>(
          loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, linear, index(k)),
          scalar(elements.getElements()[k]), v);
    return v;
  }
  op->emitError() << "no loops for '" << op->getName() << "' inside of a kernel";
  return b.create<arith::ConstantOp>(loc, b.getZeroAttr(element));
}

Value LoopEmitter::generic(linalg::GenericOp op, ValueRange indices) {
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<Value> loops(op.getNumLoops());
  for (auto [d, expr] : llvm::enumerate(out.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) loops[dim.getPosition()] = indices[d];
  SmallVector<unsigned> reduced;
  SmallVector<Value> ends;
  for (unsigned l = 0; l < op.getNumLoops(); ++l) {
    if (loops[l]) continue;
    reduced.push_back(l);
    // The extent is a size of the first operand whose map names the loop alone.
    for (OpOperand& operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      auto it = llvm::find(map.getResults(), getAffineDimExpr(l, b.getContext()));
      if (it == map.getResults().end()) continue;
      ends.push_back(size(operand.get(), it - map.getResults().begin()));
      break;
    }
  }
  // A sum over no dims (of a scalar) starts from the init, too.
  bool readsInit = !op.getRegion().front().getArguments().back().use_empty() || !reduced.empty();
  Value init = readsInit ? read(op.getDpsInits()[0], indices) : Value();
  if (reduced.empty()) return body(op, loops, init);
  Value result = reduce(ends, init, [&](ValueRange at, ValueRange carried) -> SmallVector<Value> {
    for (auto [l, v] : llvm::zip(reduced, at))
      loops[l] = v;
    return {body(op, loops, carried[0])};
  })[0];
  // The innermost loop along which the terms are taken (of those that became loops).
  for (auto l = result.getDefiningOp<scf::ForOp>(); l;) {
    auto inner = l.getBody()->getTerminator()->getOperand(0).getDefiningOp<scf::ForOp>();
    if (!inner || inner->getBlock() != l.getBody()) {
      l->setDiscardableAttr(kSumAttr, b.getUnitAttr());
      break;
    }
    l = inner;
  }
  return result;
}

Value LoopEmitter::body(linalg::GenericOp op, ValueRange loops, Value carried) {
  IRMapping map;
  Block& block = op.getRegion().front();
  for (OpOperand& operand : op->getOpOperands()) {
    BlockArgument arg = block.getArgument(operand.getOperandNumber());
    if (arg.use_empty()) continue;
    if (op.isDpsInit(&operand)) {
      if (carried) map.map(arg, carried);
      continue;
    }
    if (!isa<RankedTensorType>(operand.get().getType())) {
      map.map(arg, scalar(operand.get()));
      continue;
    }
    SmallVector<Value> at;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
      std::function<Value(AffineExpr)> eval = [&](AffineExpr e) -> Value {
        if (auto d = dyn_cast<AffineDimExpr>(e)) return loops[d.getPosition()];
        if (auto c = dyn_cast<AffineConstantExpr>(e)) return index(c.getValue());
        auto bin = cast<AffineBinaryOpExpr>(e);
        Value x = eval(bin.getLHS()), y = eval(bin.getRHS());
        switch (bin.getKind()) {
        case AffineExprKind::Add: return add(x, y);
        case AffineExprKind::Mul: return mul(x, y);
        case AffineExprKind::Mod: return rem(x, y);
        default: return div(x, y);
        }
      };
      at.push_back(eval(expr));
    }
    map.map(arg, read(operand.get(), at));
  }
  for (Operation& inner : block.without_terminator())
    clone(inner, map, loops);
  Value yielded = block.getTerminator()->getOperand(0);
  return map.contains(yielded) ? map.lookup(yielded) : scalar(yielded);
}

void LoopEmitter::serial(SerialOp op, ValueRange indices, ArrayRef<Place> results) {
  loc = op.getLoc();
  IRMapping map;
  map.map(op.block().getArguments().take_front(indices.size()), indices);
  for (auto [i, place] : llvm::enumerate(results))
    memory[op.out(i)] = place;
  for (Operation& inner : op.block().without_terminator())
    clone(inner, map, {});
}

void LoopEmitter::clone(Operation& op, IRMapping& map, ValueRange loops) {
  auto mapped = [&](Value v) { return map.contains(v) ? map.lookup(v) : scalar(v); };
  if (auto i = dyn_cast<linalg::IndexOp>(op)) {
    map.map(i.getResult(), loops[i.getDim()]);
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Value> at;
    for (Value v : extract.getIndices())
      at.push_back(mapped(v));
    map.map(extract.getResult(), read(extract.getTensor(), at));
    return;
  }
  if (isa<memref::LoadOp, memref::StoreOp>(op)) {
    unsigned first = isa<memref::StoreOp>(op) ? 2 : 1;
    SmallVector<Value> at;
    for (Value v : op.getOperands().drop_front(first))
      at.push_back(mapped(v));
    const Place& place = memory[op.getOperand(first - 1)];
    if (first == 2)
      store(mapped(op.getOperand(0)), place, at);
    else
      map.map(op.getResult(0), load(place, at));
    return;
  }
  // Index arithmetic goes through the folding helpers, so that reads at simple places stay simple.
  if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex() && op.getNumOperands() == 2 &&
      isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Value x = mapped(op.getOperand(0)), y = mapped(op.getOperand(1));
    map.map(op.getResult(0), isa<arith::AddIOp>(op)   ? add(x, y)
                             : isa<arith::SubIOp>(op) ? sub(x, y)
                                                      : mul(x, y));
    return;
  }
  for (Value v : op.getOperands())
    if (!map.contains(v)) map.map(v, scalar(v));
  if (op.getNumRegions() == 0) {
    // What does not change in the inner loops is written before them: with free sizes, the row that
    // a broadcast reads is a choice (size == 1 ? 0 : i), and the sums over that row must not be
    // written once per element.
    OpBuilder::InsertionGuard guard(b);
    if (isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      SmallVector<Value> operands;
      for (Value v : op.getOperands())
        operands.push_back(map.lookup(v));
      b.restoreInsertionPoint(hoistPoint(operands));
    }
    Operation* copy = b.clone(op, map);
    SmallVector<Value> folded;
    if (copy->getNumResults() == 1 && succeeded(b.tryFold(copy, folded)) && !folded.empty()) {
      map.map(op.getResult(0), folded[0]);
      copy->erase();
    }
    return;
  }
  Operation* copy = op.cloneWithoutRegions(map);
  b.insert(copy);
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions())) {
    for (Block& block : from) {
      OpBuilder::InsertionGuard guard(b);
      SmallVector<Location> locs(block.getNumArguments(), loc);
      Block* target = b.createBlock(&to, to.end(), block.getArgumentTypes(), locs);
      for (auto [x, y] : llvm::zip(block.getArguments(), target->getArguments()))
        map.map(x, y);
      for (Operation& inner : block) {
        b.setInsertionPointToEnd(target);
        clone(inner, map, loops);
      }
    }
  }
  for (auto [x, y] : llvm::zip(op.getResults(), copy->getResults()))
    map.map(x, y);
}

} // namespace ortc
