// SPDX-License-Identifier: Apache-2.0
#include "compiler/onnx/ControlFlow.h"

using namespace mlir;

namespace ortc::opdef {

Value castTo(OpBuilder& b, Location loc, Value value, Type type) {
  if (value.getType() == type) return value;
  return b.create<tensor::CastOp>(loc, type, value);
}

SmallVector<Value> withSizes(OpBuilder& b, ArrayRef<Tensor> tensors) {
  SmallVector<Value> r;
  for (Tensor t : tensors) {
    r.push_back(t.value);
    auto type = dyn_cast<RankedTensorType>(t.value.getType());
    if (!type || type.hasStaticShape()) continue;
    Sizes sizes = getSizes(b, t.value);
    for (auto [i, s] : llvm::enumerate(type.getShape()))
      if (ShapedType::isDynamic(s)) r.push_back(sizeValue(b, t.value.getLoc(), sizes[i]));
  }
  return r;
}

BranchScratch::BranchScratch(OpBuilder& b, Location loc, Value condition) {
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addRegion();
  state.addRegion();
  op = b.create(state);
}
BranchScratch::~BranchScratch() {
  op->dropAllReferences();
  for (Region& r : op->getRegions())
    r.walk([](Operation* inner) { inner->dropAllUses(); });
  op->erase();
}

/// The tensors of values, sequences taken apart; fails when a branch has a sequence of another
/// length than `like`, or none.
static std::vector<Tensor> flattened(ArrayRef<Tensor> values, ArrayRef<Tensor> like) {
  std::vector<Tensor> r;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(values, like))) {
    auto [t, other] = pair;
    auto length = [](const Tensor& v) { return v.elements ? v.elements->size() : 0; };
    if (!t.elements != !other.elements || length(t) != length(other))
      throw NodeError{fmt::format("output {} is a sequence of another length in each branch", i),
                      {}};
    if (t.absent() != other.absent())
      throw NodeError{fmt::format("output {} has a value in one branch only", i), {}};
    if (t.elements) {
      std::vector<Tensor> inner = flattened(*t.elements, *other.elements);
      r.insert(r.end(), inner.begin(), inner.end());
    } else if (!t.absent()) {
      r.push_back(t);
    }
  }
  return r;
}
/// The opposite: values of the form of `like`, from tensors that are taken off the front.
static std::vector<Tensor> restored(ArrayRef<Tensor>& tensors, ArrayRef<Tensor> like) {
  std::vector<Tensor> r;
  for (const Tensor& t : like) {
    if (t.elements) {
      r.push_back(NodeBuilder::sequence(restored(tensors, *t.elements), t.dtype));
    } else if (t.absent()) {
      r.push_back(t);
    } else {
      r.push_back(tensors.front());
      tensors = tensors.drop_front();
    }
  }
  return r;
}

std::vector<Tensor> buildIf(OpBuilder& b, Location loc, Value condition,
                            llvm::function_ref<std::vector<Tensor>()> then,
                            llvm::function_ref<std::vector<Tensor>()> otherwise) {
  // The result types are only known when the branches are built, so they are built in a throw-away
  // op first. (It stands in the function: what folds inside of a branch looks at the regions around
  // it.)
  BranchScratch scratch(b, loc, condition);
  std::vector<Tensor> results[2];
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&scratch.region(i));
    results[i] = i == 0 ? then() : otherwise();
  }
  if (results[0].size() != results[1].size())
    throw NodeError{
        fmt::format("branches have {} and {} outputs", results[0].size(), results[1].size()), {}};
  const std::vector<Tensor> form = results[0];
  std::vector<Tensor> flat[2] = {flattened(results[0], results[1]),
                                 flattened(results[1], results[0])};
  std::swap(results, flat);
  SmallVector<Type> types;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(results[0], results[1]))) {
    auto [x, y] = pair;
    auto tx = dyn_cast<RankedTensorType>(x.value.getType()),
         ty = dyn_cast<RankedTensorType>(y.value.getType());
    if (x.dtype != y.dtype || !tx != !ty)
      throw NodeError{fmt::format("output {} has another type in each branch: {} and {}", i,
                                  dtypeName(x.dtype), dtypeName(y.dtype)),
                      {}};
    if (!tx) {
      types.push_back(x.value.getType());
      continue;
    }
    if (tx.getRank() != ty.getRank())
      throw BranchRankError{condition,
                            fmt::format("output {} has rank {} in one branch and {} in the other",
                                        i, tx.getRank(), ty.getRank())};
    SmallVector<int64_t> shape;
    for (auto [p, q] : llvm::zip(tx.getShape(), ty.getShape()))
      shape.push_back(p == q ? p : ShapedType::kDynamic);
    types.push_back(RankedTensorType::get(shape, tx.getElementType()));
  }
  SmallVector<Type> resultTypes;
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&scratch.region(i).front());
    std::vector<Tensor> cast = results[i];
    for (auto [t, type] : llvm::zip(cast, types))
      t.value = castTo(b, loc, t.value, type);
    SmallVector<Value> yielded = withSizes(b, cast);
    b.create<scf::YieldOp>(loc, yielded);
    if (i == 0)
      resultTypes.assign(ValueRange(yielded).getTypes().begin(),
                         ValueRange(yielded).getTypes().end());
  }
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(resultTypes);
  for (unsigned i : {0u, 1u})
    state.addRegion()->takeBody(scratch.region(i));
  Operation* op = b.create(state);
  std::vector<Tensor> r;
  unsigned next = 0;
  for (Tensor t : results[0]) {
    Value v = op->getResult(next++);
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      next += llvm::count_if(type.getShape(), ShapedType::isDynamic);
    r.push_back({v, t.dtype});
  }
  ArrayRef<Tensor> all = r;
  return restored(all, form);
}

// ---- loops ----

/// Tensors, each followed by its free sizes, out of a list of values.
static std::vector<Tensor> unpacked(ValueRange values, ArrayRef<Tensor> like) {
  std::vector<Tensor> r;
  unsigned next = 0;
  for (const Tensor& t : like) {
    r.push_back({values[next++], t.dtype});
    next += cast<RankedTensorType>(t.value.getType()).getNumDynamicDims();
  }
  return r;
}

/// Erases an op with all that was built in it.
static void discard(Operation* op) {
  op->dropAllReferences();
  for (Region& r : op->getRegions())
    r.walk([](Operation* inner) { inner->dropAllUses(); });
  op->erase();
}

/// Where it cannot be proven that a size is what it must be, the run checks it.
static void requireSize(NodeBuilder& n, Size have, Size want, const std::string& what) {
  if (same(have, want)) return;
  Value equal =
      n.b.createOrFold<arith::CmpIOp>(n.loc, arith::CmpIPredicate::eq,
                                      sizeValue(n.b, n.loc, have.v), sizeValue(n.b, n.loc, want.v));
  n.b.create<CheckOp>(n.loc, equal, "RUN_ERROR", n.node.describe() + ": " + what);
}

std::optional<int64_t> difference(Size x, Size y) {
  auto split = [](Size s) -> std::pair<Size, int64_t> {
    auto v = dyn_cast<Value>(s.v);
    auto add = v ? v.getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    if (!add) return {s, 0};
    Size left = {s.n, add.getLhs()}, right = {s.n, add.getRhs()};
    if (auto c = right.constant()) return {left, *c};
    if (auto c = left.constant()) return {right, *c};
    return {s, 0};
  };
  if (x.constant() && y.constant()) return *x.constant() - *y.constant();
  auto [p, c] = split(x);
  auto [q, d] = split(y);
  if (same(p, q)) return c - d;
  return std::nullopt;
}

static void checkCarried(NodeBuilder& n, ArrayRef<Tensor> before, ArrayRef<Tensor> after) {
  std::optional<LoopShapeError> changes;
  bool onlyGrows = true;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(before, after))) {
    auto [x, y] = pair;
    if (!y.isTensor() || x.dtype != y.dtype || x.rank() != y.rank())
      throw LoopShapeError{fmt::format("carried value {} becomes another type", i)};
    std::vector<Size> s = n.sizes(x), t = n.sizes(y);
    for (size_t d = 0; d < s.size(); ++d) {
      int64_t step = difference(t[d], s[d]).value_or(0);
      if (step == 0) continue;
      if (!changes)
        changes = LoopShapeError{fmt::format("carried value {} is {} before a turn and {} after it",
                                             i, n.typeText(x), n.typeText(y))};
      onlyGrows &= step > 0;
      changes->growth.push_back({i, static_cast<int64_t>(d), step});
    }
  }
  if (changes) {
    if (!onlyGrows) changes->growth.clear();
    throw *changes;
  }
  for (auto [i, pair] : llvm::enumerate(llvm::zip(before, after))) {
    std::vector<Size> s = n.sizes(std::get<0>(pair)), t = n.sizes(std::get<1>(pair));
    for (size_t d = 0; d < s.size(); ++d)
      requireSize(n, t[d], s[d],
                  fmt::format("carried value {} has another size on dim {} after a turn", i, d));
  }
}

Tensor insertedAt(NodeBuilder& n, Tensor part, Tensor all, int64_t d, Size from) {
  SmallVector<OpFoldResult> offsets(all.rank(), n.b.getIndexAttr(0)),
      strides(all.rank(), n.b.getIndexAttr(1)), sizes;
  offsets[d] = from.v;
  for (Size s : n.sizes(part))
    sizes.push_back(s.v);
  Value v =
      n.b.create<tensor::InsertSliceOp>(n.loc, part.value, all.value, offsets, sizes, strides);
  return {v, all.dtype};
}

LoopResult buildLoop(NodeBuilder& n, const LoopLimits& limits, ArrayRef<Tensor> inits,
                     llvm::function_ref<Turn(Size, ArrayRef<Tensor>)> body) {
  OpBuilder& b = n.b;
  Location loc = n.loc;
  for (auto [i, t] : llvm::enumerate(inits))
    if (!t.isTensor()) throw LoopShapeError{fmt::format("carried value {} is no tensor", i)};
  // The body is built in a loop that is thrown away: what it gives says which loop it must be.
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0),
        one = b.create<arith::ConstantIndexOp>(loc, 1),
        end = limits.turns ? sizeValue(b, loc, limits.turns->v)
                           : b.create<arith::ConstantIndexOp>(loc, INT64_MAX).getResult();
  auto scratch = b.create<scf::ForOp>(loc, zero, end, one, withSizes(b, inits));
  scratch->setAttr("ortc.fixed_sizes", b.getUnitAttr());
  if (!scratch.getBody()->empty()) scratch.getBody()->back().erase();
  Turn turn;
  try {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(scratch.getBody());
    turn = body(n.size(OpFoldResult(scratch.getInductionVar())),
                unpacked(scratch.getRegionIterArgs(), inits));
    if (turn.carried.size() != inits.size())
      n.error("the body gives {} carried values; expected {}", turn.carried.size(), inits.size());
    checkCarried(n, inits, turn.carried);
  } catch (...) {
    discard(scratch);
    throw;
  }
  bool endless = turn.again && getConstantIntValue(turn.again) != 1;
  if (turn.again && getConstantIntValue(turn.again) == 1) turn.again = {};
  auto refuse = [&](std::string message, std::string help) {
    discard(scratch);
    n.fail(std::move(message), {{true, std::move(help)}});
  };
  if (!limits.turns && !endless)
    refuse("the loop never ends: it has no trip count, and its condition is always true", "");
  // Rows go into tensors for all turns.
  std::vector<Tensor> carried(inits);
  b.setInsertionPoint(scratch);
  for (auto [k, row] : llvm::enumerate(turn.rows)) {
    if (!limits.turns)
      refuse("the rows that the loop stacks have no bound in number",
             "give the loop a trip count; it may be larger than what is needed");
    std::vector<Size> shape{*limits.turns};
    for (auto [d, s] : llvm::enumerate(n.sizes(row))) {
      Size all = s;
      if (!s.constant()) {
        DenseMap<Value, Value> copies; // before the loop, unless it depends on a turn
        Value outside = computedAgain(
            b, cast<Value>(s.v),
            [&](Value v) { return !scratch->isAncestor(v.getParentBlock()->getParentOp()); },
            copies);
        auto declared = k < limits.declared.size() && d < limits.declared[k].size()
                            ? limits.declared[k][d]
                            : std::nullopt;
        if (!outside && !declared) {
          discard(scratch);
          throw LoopShapeError{fmt::format("the size of stacked result {} depends on the turn", k)};
        }
        all = outside ? n.size(OpFoldResult(outside)) : n.size(*declared);
        if (!outside) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToEnd(scratch.getBody());
          requireSize(n, s, all,
                      fmt::format("a row of stacked result {} has another size on dim {}", k, d));
        }
      }
      shape.push_back(all);
    }
    carried.push_back({n.empty(shape, row.elementType()), row.dtype});
  }
  SmallVector<Value> start = withSizes(b, carried);
  Operation* loop = nullptr;
  Block* target = nullptr;
  Value index;
  SmallVector<Value> arguments;
  SmallVector<Value> state(start);
  if (!endless) {
    auto made = b.create<scf::ForOp>(loc, zero, end, one, start);
    if (!made.getBody()->empty()) made.getBody()->back().erase();
    loop = made, target = made.getBody(), index = made.getInductionVar();
    arguments.assign(made.getRegionIterArgs().begin(), made.getRegionIterArgs().end());
  } else {
    // carried values, the number of the turn, whether there is another
    Value first = limits.enters;
    if (!first) first = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, zero, end);
    state.push_back(zero), state.push_back(first);
    TypeRange types = ValueRange(state).getTypes();
    SmallVector<Location> locs(state.size(), loc);
    auto made = b.create<scf::WhileOp>(loc, types, state);
    Block* before = b.createBlock(&made.getBefore(), {}, types, locs);
    b.create<scf::ConditionOp>(loc, before->getArguments().back(), before->getArguments());
    target = b.createBlock(&made.getAfter(), {}, types, locs);
    loop = made, index = target->getArgument(target->getNumArguments() - 2);
    auto args = target->getArguments().take_front(start.size());
    arguments.assign(args.begin(), args.end());
  }
  loop->setAttr("ortc.fixed_sizes", b.getUnitAttr());
  // The body moves over.
  target->getOperations().splice(target->end(), scratch.getBody()->getOperations());
  scratch.getInductionVar().replaceAllUsesWith(index);
  std::vector<Tensor> now = unpacked(arguments, carried);
  for (auto [from, to] : llvm::zip(scratch.getRegionIterArgs(), arguments))
    from.replaceAllUsesWith(to);
  // What the body passes on as it is was an argument of the scratch loop.
  for (Tensor& t : turn.carried)
    for (auto [from, to] : llvm::zip(scratch.getRegionIterArgs(), arguments))
      if (t.value == from) t.value = to;
  for (Tensor& t : turn.rows)
    for (auto [from, to] : llvm::zip(scratch.getRegionIterArgs(), arguments))
      if (t.value == from) t.value = to;
  scratch->erase();
  b.setInsertionPointToEnd(target);
  std::vector<Tensor> next(turn.carried);
  for (auto [k, row] : llvm::enumerate(turn.rows)) {
    const Tensor& all = now[inits.size() + k];
    Size at = n.size(OpFoldResult(index));
    if (k < limits.backwards.size() && limits.backwards[k]) at = *limits.turns - n.size(1) - at;
    std::vector<Size> shape = n.sizes(all);
    shape[0] = n.size(1);
    next.push_back(insertedAt(n, n.reshape(row, shape), all, 0, at));
  }
  for (auto [t, like] : llvm::zip(next, carried))
    t.value = castTo(b, loc, t.value, like.value.getType());
  SmallVector<Value> yielded = withSizes(b, next);
  if (endless) {
    Value i = b.create<arith::AddIOp>(loc, index, one);
    Value inside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, i, end);
    yielded.push_back(i);
    yielded.push_back(b.create<arith::AndIOp>(loc, turn.again, inside));
  }
  b.create<scf::YieldOp>(loc, yielded);
  b.setInsertionPointAfter(loop);
  std::vector<Tensor> results = unpacked(loop->getResults(), carried);
  LoopResult r;
  r.carried.assign(results.begin(), results.begin() + static_cast<long>(inits.size()));
  r.stacked.assign(results.begin() + static_cast<long>(inits.size()), results.end());
  r.turns = limits.turns;
  if (endless) {
    r.turns = n.size(OpFoldResult(loop->getResult(loop->getNumResults() - 2)));
    if (limits.turns) r.turns = max(min(*r.turns, *limits.turns), n.size(0));
    for (Tensor& t : r.stacked) { // as many rows as there were turns
      std::vector<Size> starts(t.rank(), n.size(0)), sizes = n.sizes(t);
      sizes[0] = *r.turns;
      t = n.slice(t, starts, sizes);
    }
  }
  return r;
}

LoopResult unrollLoop(NodeBuilder& n, int64_t turns, const LoopLimits& limits,
                      ArrayRef<Tensor> inits,
                      llvm::function_ref<Turn(Size, ArrayRef<Tensor>)> body) {
  LoopResult r;
  r.carried.assign(inits.begin(), inits.end());
  std::vector<std::vector<Tensor>> rows;
  for (int64_t i = 0; i < turns; ++i) {
    Turn turn = body(n.size(i), r.carried);
    r.carried = std::move(turn.carried);
    rows.resize(turn.rows.size());
    for (auto [list, row] : llvm::zip(rows, turn.rows)) {
      std::vector<Size> shape = n.sizes(row);
      shape.insert(shape.begin(), n.size(1));
      list.push_back(n.reshape(row, shape));
    }
    if (!turn.again) continue;
    auto again = getConstantIntValue(turn.again);
    if (!again)
      n.error("the condition of the loop depends on data, and its carried values change their "
              "shapes");
    if (!*again) break;
  }
  for (auto [k, list] : llvm::enumerate(rows)) {
    if (k < limits.backwards.size() && limits.backwards[k]) std::reverse(list.begin(), list.end());
    r.stacked.push_back(n.concat(list, 0));
  }
  return r;
}

} // namespace ortc::opdef
