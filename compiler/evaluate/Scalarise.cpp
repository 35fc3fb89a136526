// SPDX-License-Identifier: Apache-2.0
// Small tensors as scalars: the body of an op is written out once per element, and folded as it is
// written.
#include "compiler/evaluate/Simplify.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ortc {

namespace {
constexpr int64_t maxElements = 64;
constexpr unsigned maxOps = 4096; ///< that one op may be written out as

class Scalariser {
public:
  explicit Scalariser(OpBuilder& b, Location loc) : b(b), loc(loc) {}

  /// Value of element `at` (row-major), null when it is not known.
  Value element(Value tensor, int64_t at) {
    if (auto from = tensor.getDefiningOp<tensor::FromElementsOp>()) return from.getElements()[at];
    if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) return fill.getInputs()[0];
    if (auto c = tensor.getDefiningOp<arith::ConstantOp>())
      if (auto dense = dyn_cast<DenseElementsAttr>(c.getValue())) {
        Type type = dense.getElementType();
        if (type.isIntOrIndex())
          return constant(b.getIntegerAttr(type, dense.getValues<APInt>()[at]));
        if (isa<FloatType>(type))
          return constant(FloatAttr::get(type, dense.getValues<APFloat>()[at]));
      }
    return {};
  }
  static bool isKnown(Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (!type || !type.hasStaticShape()) return false;
    Operation* def = tensor.getDefiningOp();
    if (auto c = dyn_cast_if_present<arith::ConstantOp>(def))
      return isa<DenseElementsAttr>(c.getValue()) && type.getElementType().isIntOrIndexOrFloat();
    if (auto fill = dyn_cast_if_present<linalg::FillOp>(def)) return true;
    return isa_and_present<tensor::FromElementsOp>(def);
  }

  Value constant(TypedAttr value) {
    return record(b.create<arith::ConstantOp>(loc, value))->getResult(0);
  }

  Value run(Operation* op) {
    Value result = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    SmallVector<Value> elements;
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      if (!isKnown(extract.getTensor())) return {};
      auto at =
          position(cast<RankedTensorType>(extract.getTensor().getType()), extract.getIndices());
      return at ? element(extract.getTensor(), *at) : Value();
    }
    if (!type || !type.hasStaticShape() || type.getNumElements() > maxElements ||
        type.getNumElements() == 0 || !type.getElementType().isIntOrIndexOrFloat())
      return {};
    bool done = false;
    if (auto o = dyn_cast<linalg::LinalgOp>(op))
      done = !isa<linalg::FillOp>(op) && structured(o, type, elements);
    else if (auto o = dyn_cast<tensor::ExtractSliceOp>(op))
      done = slice(o, elements);
    else if (auto o = dyn_cast<ConcatOp>(op))
      done = concat(o, type, elements);
    else if (auto o = dyn_cast<ReshapeOp>(op)) {
      done = isKnown(o.getSource());
      for (int64_t i = 0; done && i < type.getNumElements(); ++i)
        elements.push_back(element(o.getSource(), i));
    }
    if (!done || !llvm::all_of(elements, [](Value v) { return static_cast<bool>(v); })) return {};
    return record(b.create<tensor::FromElementsOp>(loc, type, elements))->getResult(0);
  }

  ArrayRef<Operation*> operations() const { return created; }
  void undo() {
    for (Operation* op : llvm::reverse(created))
      op->erase();
  }

private:
  Operation* record(Operation* op) {
    created.push_back(op);
    return op;
  }

  static std::optional<int64_t> position(RankedTensorType type, ValueRange indices) {
    int64_t at = 0;
    for (auto [v, size] : llvm::zip(indices, type.getShape())) {
      auto i = getConstantIntValue(v);
      if (!i || *i < 0 || *i >= size) return std::nullopt;
      at = at * size + *i;
    }
    return at;
  }
  static int64_t position(RankedTensorType type, ArrayRef<int64_t> indices) {
    int64_t at = 0;
    for (auto [i, size] : llvm::zip(indices, type.getShape())) {
      if (i < 0 || i >= size) return -1;
      at = at * size + i;
    }
    return at;
  }

  /// Writes the ops of a block; what folds is not written.
  bool block(Block& from, IRMapping& map, ArrayRef<int64_t> point) {
    for (Operation& op : from.without_terminator()) {
      if (created.size() > maxOps) return false;
      if (auto index = dyn_cast<linalg::IndexOp>(op)) {
        map.map(index.getResult(), constant(b.getIndexAttr(point[index.getDim()])));
        continue;
      }
      if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
        Value tensor = map.lookupOrDefault(extract.getTensor());
        if (!isKnown(tensor)) return false;
        SmallVector<Value> indices;
        for (Value v : extract.getIndices())
          indices.push_back(map.lookupOrDefault(v));
        auto at = position(cast<RankedTensorType>(tensor.getType()), indices);
        Value v = at ? element(tensor, *at) : Value();
        if (!v) return false;
        map.map(extract.getResult(), v);
        continue;
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (branch.getNumResults() == 0) continue;
        Value condition = map.lookupOrDefault(branch.getCondition());
        auto known = getConstantIntValue(condition);
        SmallVector<Value> yes, no;
        auto side = [&](Block& body, SmallVectorImpl<Value>& out) {
          if (!block(body, map, point)) return false;
          for (Value v : body.getTerminator()->getOperands())
            out.push_back(map.lookupOrDefault(v));
          return true;
        };
        if ((!known || *known) && !side(*branch.thenBlock(), yes)) return false;
        if ((!known || !*known) && !side(*branch.elseBlock(), no)) return false;
        for (auto [i, r] : llvm::enumerate(branch.getResults()))
          map.map(
              r,
              known
                  ? (*known ? yes[i] : no[i])
                  : record(b.create<arith::SelectOp>(loc, condition, yes[i], no[i]))->getResult(0));
        continue;
      }
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        auto bound = [&](Value v) { return getConstantIntValue(map.lookupOrDefault(v)); };
        auto low = bound(loop.getLowerBound()), high = bound(loop.getUpperBound()),
             step = bound(loop.getStep());
        if (!low || !high || !step || *step <= 0 ||
            (*high > *low && (*high - *low) / *step > maxElements))
          return false;
        SmallVector<Value> carried;
        for (Value v : loop.getInitArgs())
          carried.push_back(map.lookupOrDefault(v));
        for (int64_t i = *low; i < *high; i += *step) {
          map.map(loop.getInductionVar(),
                  constant(b.getIntegerAttr(loop.getInductionVar().getType(), i)));
          map.map(loop.getRegionIterArgs(), carried);
          if (!block(*loop.getBody(), map, point)) return false;
          carried.clear();
          for (Value v : loop.getBody()->getTerminator()->getOperands())
            carried.push_back(map.lookupOrDefault(v));
        }
        map.map(loop.getResults(), carried);
        continue;
      }
      if (op.getNumRegions() || !isMemoryEffectFree(&op)) return false;
      Operation* copy = b.clone(op, map);
      copy->setLoc(loc);
      if (!isPure(copy)) { // a division is pure when its divisor is known, and here it may be
        copy->erase();
        return false;
      }
      SmallVector<Value> folded;
      SmallVector<Operation*> constants;
      if (op.hasTrait<OpTrait::ConstantLike>() || failed(fold(copy, folded))) {
        record(copy);
        continue;
      }
      map.map(op.getResults(), folded);
      copy->erase();
    }
    return true;
  }

  /// As OpBuilder::tryFold, but the constants that it makes are recorded.
  LogicalResult fold(Operation* op, SmallVectorImpl<Value>& results) {
    SmallVector<Attribute> operands;
    for (Value v : op->getOperands()) {
      Attribute a;
      matchPattern(v, m_Constant(&a));
      operands.push_back(a);
    }
    SmallVector<OpFoldResult> folded;
    if (failed(op->fold(operands, folded)) || folded.empty()) return failure();
    for (auto [f, type] : llvm::zip(folded, op->getResultTypes())) {
      if (auto v = dyn_cast<Value>(f)) {
        if (v.getType() != type) return failure();
        results.push_back(v);
        continue;
      }
      auto attr = dyn_cast<TypedAttr>(cast<Attribute>(f));
      if (!attr || attr.getType() != type) return failure();
      results.push_back(constant(attr));
    }
    return success();
  }

  bool structured(linalg::LinalgOp op, RankedTensorType type, SmallVectorImpl<Value>& elements) {
    if (op.getNumDpsInits() != 1) return false;
    Block& body = *op.getBlock();
    bool anyScalars = false;
    SmallVector<int64_t> extents(op.getNumLoops(), -1);
    auto maps = op.getIndexingMapsArray();
    for (auto [i, o] : llvm::enumerate(op->getOpOperands())) {
      auto t = dyn_cast<RankedTensorType>(o.get().getType());
      if (!t || !t.hasStaticShape()) return false;
      if (!body.getArgument(i).use_empty()) {
        if (!isKnown(o.get())) return false;
        anyScalars |= static_cast<bool>(o.get().getDefiningOp<tensor::FromElementsOp>());
      }
      for (auto [d, e] : llvm::enumerate(maps[i].getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(e)) extents[dim.getPosition()] = t.getDimSize(d);
    }
    int64_t points = 1;
    for (int64_t e : extents) {
      if (e < 0 || e > 16 * maxElements) return false;
      points *= e;
      if (points > 16 * maxElements) return false;
    }
    // Bodies that read scalars from outside, or known tensors at computed places, count as well.
    op.getBlock()->walk([&](Operation* inner) {
      for (Value v : inner->getOperands())
        if (!op->isProperAncestor(v.getParentBlock()->getParentOp()) &&
            v.getParentBlock()->getParentOp() != op && !isa<TensorType>(v.getType()) &&
            !v.getDefiningOp<arith::ConstantOp>())
          anyScalars = true;
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
        anyScalars |=
            static_cast<bool>(extract.getTensor().getDefiningOp<tensor::FromElementsOp>());
    });
    if (!anyScalars) return false; // folding has its own limits
    elements.assign(type.getNumElements(), Value());
    AffineMap out = maps.back();
    SmallVector<int64_t> point(extents.size(), 0);
    Value init = op.getDpsInits()[0];
    bool reads = !body.getArguments().back().use_empty();
    // Without a point (an empty reduction) the result is the init.
    if (reads)
      for (int64_t i = 0; i < type.getNumElements(); ++i)
        if (!(elements[i] = element(init, i))) return false;
    for (int64_t p = 0; p < points; ++p) {
      IRMapping map;
      for (auto [i, o] : llvm::enumerate(op->getOpOperands())) {
        if (body.getArgument(i).use_empty()) continue;
        auto t = cast<RankedTensorType>(o.get().getType());
        SmallVector<int64_t> at = maps[i].compose(point);
        int64_t index = position(t, at);
        if (index < 0) return false;
        Value v = op.isDpsInit(&o) ? elements[index] : element(o.get(), index);
        if (!v) return false;
        map.map(body.getArgument(i), v);
      }
      if (!block(body, map, point)) return false;
      int64_t at = position(type, ArrayRef<int64_t>(out.compose(point)));
      if (at < 0) return false;
      elements[at] = map.lookupOrDefault(body.getTerminator()->getOperand(0));
      for (size_t l = point.size(); l-- > 0;) {
        if (++point[l] < extents[l]) break;
        point[l] = 0;
      }
    }
    return true;
  }

  bool slice(tensor::ExtractSliceOp op, SmallVectorImpl<Value>& elements) {
    if (!isKnown(op.getSource())) return false;
    auto from = cast<RankedTensorType>(op.getSource().getType());
    SmallVector<int64_t> offsets, sizes, steps;
    for (auto [list, values] : {std::pair{&offsets, op.getMixedOffsets()},
                                {&sizes, op.getMixedSizes()},
                                {&steps, op.getMixedStrides()}})
      for (OpFoldResult v : values) {
        auto c = getConstantIntValue(v);
        if (!c) return false;
        list->push_back(*c);
      }
    SmallVector<int64_t> at(sizes.size(), 0), index(sizes.size());
    int64_t count = 1;
    for (int64_t s : sizes)
      count *= s;
    for (int64_t i = 0; i < count; ++i) {
      for (size_t d = 0; d < at.size(); ++d)
        index[d] = offsets[d] + at[d] * steps[d];
      int64_t p = position(from, index);
      if (p < 0) return false;
      elements.push_back(element(op.getSource(), p));
      for (size_t l = at.size(); l-- > 0;) {
        if (++at[l] < sizes[l]) break;
        at[l] = 0;
      }
    }
    return true;
  }

  bool concat(ConcatOp op, RankedTensorType type, SmallVectorImpl<Value>& elements) {
    for (Value s : op.getSources())
      if (!isKnown(s)) return false;
    int64_t axis = op.getAxis(), outer = 1;
    for (int64_t d = 0; d < axis; ++d)
      outer *= type.getDimSize(d);
    for (int64_t o = 0; o < outer; ++o)
      for (Value s : op.getSources()) {
        int64_t run =
            cast<RankedTensorType>(s.getType()).getNumElements() / std::max<int64_t>(outer, 1);
        for (int64_t i = 0; i < run; ++i)
          elements.push_back(element(s, o * run + i));
      }
    return static_cast<int64_t>(elements.size()) == type.getNumElements();
  }

  OpBuilder& b;
  Location loc;
  SmallVector<Operation*> created;
};
} // namespace

Value tryScalarise(OpBuilder& b, Operation* op) {
  if (op->getNumResults() != 1) return {};
  // Much of what is tried is erased at once, so a rewrite driver that listens hears only of what
  // stays.
  OpBuilder silent(b.getContext());
  silent.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
  Scalariser s(silent, op->getLoc());
  Value v = s.run(op);
  if (!v)
    s.undo();
  else if (OpBuilder::Listener* listener = b.getListener())
    for (Operation* made : s.operations())
      listener->notifyOperationInserted(made, {});
  return v;
}

} // namespace ortc
