// SPDX-License-Identifier: Apache-2.0
// Building tensor IR: constants, maps, reductions, and structure.
#include "compiler/ir/HostTensor.h"
#include "compiler/onnx/NodeBuilder.h"
#include "compiler/ops/AllOps.h"
#include <cstring>
#include <numeric>

using namespace mlir;

namespace ortc::opdef {

static std::vector<OpFoldResult> raw(ArrayRef<Size> sizes) {
  std::vector<OpFoldResult> r;
  for (Size s : sizes)
    r.push_back(s.v);
  return r;
}
static bool unsignedOf(DType t) {
  return (isInteger(t) && !isSignedInteger(t)) || t == DType::Bool;
}

Tensor NodeBuilder::made(Value value, DType dtype) {
  return {graph.simplify(value), dtype};
}

Type NodeBuilder::typeOf(DType dtype) {
  switch (dtype) {
  case DType::F32: return b.getF32Type();
  case DType::F64: return b.getF64Type();
  case DType::F16: return b.getF16Type();
  case DType::BF16: return b.getBF16Type();
  case DType::F8E4M3FN: return Float8E4M3FNType::get(b.getContext());
  case DType::F8E4M3FNUZ: return Float8E4M3FNUZType::get(b.getContext());
  case DType::F8E5M2: return Float8E5M2Type::get(b.getContext());
  case DType::F8E5M2FNUZ: return Float8E5M2FNUZType::get(b.getContext());
  case DType::F4E2M1: return b.getIntegerType(4); // codes: NodeBuilder::decoded
  case DType::F8E8M0: return b.getIntegerType(8);
  case DType::C64: return ComplexType::get(b.getF32Type());
  case DType::C128: return ComplexType::get(b.getF64Type());
  case DType::Bool: return b.getI1Type();
  case DType::String: return StringType::get(b.getContext());
  default: break;
  }
  if (isInteger(dtype)) return b.getIntegerType(bitWidth(dtype));
  error("element type {} is not supported", dtypeName(dtype));
}

// ---- constants ----

Tensor NodeBuilder::constant(const HostTensor& value, DType dtype) {
  return {b.create<arith::ConstantOp>(
              loc, toAttribute(value, node.name.empty() ? "constant" : node.name)),
          dtype};
}

Tensor NodeBuilder::constant(const TensorData& data) {
  Type type = typeOf(data.dtype);
  SmallVector<int64_t> dims(data.dims.begin(), data.dims.end());
  if (data.dtype == DType::String) {
    HostTensor t(type, dims);
    *t.strings = data.strings;
    return constant(t, data.dtype);
  }
  if (isSubByte(data.dtype)) { // packed in the file, a byte each here
    HostTensor t(type, dims);
    unsigned width = bitWidth(data.dtype), perByte = 8 / width;
    for (int64_t i = 0; i < t.size(); ++i)
      t.setInt(i, data.bytes[i / perByte] >> (i % perByte * width) & ((1u << width) - 1));
    return constant(t, data.dtype);
  }
  auto owner = std::const_pointer_cast<void>(data.owner);
  return constant(HostTensor::view(type, dims, data.bytes.data(), owner), data.dtype);
}

Tensor NodeBuilder::ints(ArrayRef<int64_t> values, DType dtype) {
  HostTensor t(typeOf(dtype), {static_cast<int64_t>(values.size())});
  for (auto [i, v] : llvm::enumerate(values))
    t.setInt(i, v);
  return constant(t, dtype);
}

Tensor NodeBuilder::scalarOf(double value, DType dtype) {
  HostTensor t(typeOf(dtype), {});
  t.setDouble(0, value);
  return constant(t, dtype);
}

Tensor NodeBuilder::scalarOf(Size size, DType dtype) {
  if (auto c = size.constant()) {
    HostTensor t(typeOf(dtype), {});
    t.setInt(0, *c);
    return constant(t, dtype);
  }
  auto type = RankedTensorType::get({}, typeOf(dtype));
  Value element = cast({this, sizeValue(b, loc, size.v), false}, dtype).v;
  return {b.create<tensor::FromElementsOp>(loc, type, element), dtype};
}

Tensor NodeBuilder::fromSizes(ArrayRef<Size> list, DType dtype) {
  std::vector<int64_t> constants;
  for (Size s : list)
    if (s.constant()) constants.push_back(*s.constant());
  if (constants.size() == list.size()) return ints(constants, dtype);
  SmallVector<Value> elements;
  for (Size s : list)
    elements.push_back(cast({this, sizeValue(b, loc, s.v), false}, dtype).v);
  auto type = RankedTensorType::get({static_cast<int64_t>(list.size())}, typeOf(dtype));
  return {b.create<tensor::FromElementsOp>(loc, type, elements), dtype};
}

// ---- maps ----

void NodeBuilder::requirePossible(ArrayRef<Size> shape) {
  SmallVector<int64_t> known;
  for (Size s : shape)
    known.push_back(s.constant().value_or(1));
  if (isTooLarge(known)) {
    std::string text;
    for (Size s : shape)
      text += (text.empty() ? "" : ",") + (s.constant() ? std::to_string(*s.constant()) : "?");
    error("a tensor of sizes [{}] is too large", text);
  }
  for (int64_t s : known)
    if (s < 0) error("a size of the result is {}", s);
}

Value NodeBuilder::empty(ArrayRef<Size> shape, Type elementType) {
  requirePossible(shape);
  return createEmpty(b, loc, raw(shape), elementType);
}

/// The size of two free ones that are equal, or of which one is 1: the larger; 0 beside 1 stays 0.
/// Is `part` the size `whole` cut at a constant above 1? So many rows are taken of a table of
/// positions as there are tokens. Then one of them is 1 only when the other is: broadcast to each
/// other they must be equal, and what follows need not tell them apart.
static bool isCutOf(Size part, Size whole) {
  auto v = dyn_cast<Value>(part.v);
  auto cut = v ? v.getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  if (!cut) return false;
  for (unsigned i : {0u, 1u})
    if (auto limit = getConstantIntValue(cut->getOperand(1 - i));
        limit && *limit > 1 && sameSize(OpFoldResult(cut->getOperand(i)), whole.v))
      return true;
  return false;
}

Size NodeBuilder::broadcastSize(Size x, Size y) {
  if (isCutOf(y, x)) return x;
  if (isCutOf(x, y)) return y;
  if (indexRange(x.v).first >= 1 && indexRange(y.v).first >= 1) return max(x, y);
  Value one = b.create<arith::ConstantIndexOp>(loc, 1), p = sizeValue(b, loc, x.v);
  Value isOne = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, p, one);
  return {this, b.createOrFold<arith::SelectOp>(loc, isOne, sizeValue(b, loc, y.v), p)};
}

std::vector<Size> NodeBuilder::broadcastShapes(ArrayRef<Tensor> xs) {
  int64_t rank = 0;
  for (Tensor x : xs)
    rank = std::max(rank, x.rank());
  std::vector<Size> r(rank, size(1));
  for (Tensor x : xs) {
    std::vector<Size> s = sizes(x);
    for (int64_t i = 0; i < x.rank(); ++i) {
      Size& out = r[rank - x.rank() + i];
      Size in = s[i];
      if (in.is(1) || same(in, out)) continue;
      if (out.is(1)) {
        out = in;
        continue;
      }
      if (in.constant() && out.constant())
        error("shapes do not broadcast: {} and {} on axis {} from the right", *out.constant(),
              *in.constant(), x.rank() - i);
      // Two sizes of which at least one is free: they must be equal, or one of them is 1, which
      // only a run can tell. A constant other than 1 is what the other must be (or 1).
      if (in.constant())
        out = in;
      else if (!out.constant())
        out = broadcastSize(out, in);
    }
  }
  return r;
}

/// Moves a half-built body: creates a linalg.generic around a block that `fill` writes.
static linalg::GenericOp makeGeneric(NodeBuilder& n, ValueRange ins, Value init,
                                     ArrayRef<AffineMap> maps,
                                     ArrayRef<utils::IteratorType> iterators,
                                     llvm::function_ref<Value(ValueRange)> fill) {
  OpBuilder& b = n.b;
  auto op = b.create<linalg::GenericOp>(n.loc, TypeRange{init.getType()}, ins, ValueRange{init},
                                        maps, iterators);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types;
  for (Value v : ins)
    types.push_back(getElementTypeOrSelf(v.getType()));
  types.push_back(getElementTypeOrSelf(init.getType()));
  Block* block =
      b.createBlock(&op.getRegion(), {}, types, SmallVector<Location>(types.size(), n.loc));
  Value result = fill(block->getArguments());
  b.create<linalg::YieldOp>(n.loc, result);
  return op;
}

Tensor NodeBuilder::map(ArrayRef<Tensor> xs, DType result, Body body) {
  std::vector<Size> shape = broadcastShapes(xs);
  int64_t rank = shape.size();
  SmallVector<AffineMap> maps;
  SmallVector<Value> ins;
  for (Tensor x : xs) {
    SmallVector<AffineExpr> exprs;
    std::vector<Size> s = sizes(x);
    bool certain = true;
    for (int64_t i = 0; i < x.rank(); ++i) {
      int64_t d = rank - x.rank() + i;
      bool broadcast = s[i].is(1) && !shape[d].is(1);
      certain &= s[i].is(1) || same(s[i], shape[d]);
      exprs.push_back(broadcast ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(d));
    }
    if (!certain) {
      x = broadcastTo(x, std::vector<Size>(shape.end() - x.rank(), shape.end()));
      for (int64_t i = 0; i < x.rank(); ++i)
        exprs[i] = b.getAffineDimExpr(rank - x.rank() + i);
    }
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
    ins.push_back(x.value);
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto op =
      makeGeneric(*this, ins, empty(shape, typeOf(result)), maps, iterators, [&](ValueRange args) {
        SmallVector<Scalar> scalars;
        for (auto [x, a] : llvm::zip(xs, args))
          scalars.push_back({this, a, unsignedOf(x.dtype)});
        return body(scalars).v;
      });
  return made(op.getResult(0), result);
}
Tensor NodeBuilder::map(Tensor x, llvm::function_ref<Scalar(Scalar)> body) {
  return map(x, x.dtype, body);
}
Tensor NodeBuilder::map(Tensor x, DType result, llvm::function_ref<Scalar(Scalar)> body) {
  return map(ArrayRef<Tensor>(x), result, [&](ArrayRef<Scalar> s) { return body(s[0]); });
}
Tensor NodeBuilder::map(Tensor x, Tensor y, llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  return map(x, y, x.dtype, body);
}
Tensor NodeBuilder::map(Tensor x, Tensor y, DType result,
                        llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  return map({x, y}, result, [&](ArrayRef<Scalar> s) { return body(s[0], s[1]); });
}

Tensor NodeBuilder::generate(ArrayRef<Size> shape, DType result, Body body) {
  int64_t rank = shape.size();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto op = makeGeneric(*this, {}, empty(shape, typeOf(result)), {b.getMultiDimIdentityMap(rank)},
                        iterators, [&](ValueRange) {
                          SmallVector<Scalar> indices;
                          for (int64_t d = 0; d < rank; ++d)
                            indices.push_back({this, b.create<linalg::IndexOp>(loc, d), false});
                          return body(indices).v;
                        });
  return made(op.getResult(0), result);
}

static Value filled(NodeBuilder& n, ArrayRef<Size> shape, DType dtype, double init) {
  Type type = n.typeOf(dtype);
  Value v = n.literal(init, type, unsignedOf(dtype)).v;
  return n.b.create<linalg::FillOp>(n.loc, v, n.empty(shape, type)).getResult(0);
}

Tensor NodeBuilder::generateReduce(ArrayRef<Size> shape, ArrayRef<Size> window, DType result,
                                   double init,
                                   llvm::function_ref<Scalar(ArrayRef<Scalar>, Scalar)> body) {
  int64_t outer = shape.size(), all = outer + window.size();
  SmallVector<utils::IteratorType> iterators(outer, utils::IteratorType::parallel);
  iterators.append(window.size(), utils::IteratorType::reduction);
  SmallVector<AffineExpr> out, win;
  for (int64_t d = 0; d < all; ++d)
    (d < outer ? out : win).push_back(b.getAffineDimExpr(d));
  SmallVector<AffineMap> maps{AffineMap::get(all, 0, win, b.getContext()),
                              AffineMap::get(all, 0, out, b.getContext())};
  Value windowShape = empty(window, b.getI1Type()); // carries the extents only
  auto op = makeGeneric(*this, windowShape, filled(*this, shape, result, init), maps, iterators,
                        [&](ValueRange args) {
                          SmallVector<Scalar> indices;
                          for (int64_t d = 0; d < all; ++d)
                            indices.push_back({this, b.create<linalg::IndexOp>(loc, d), false});
                          return body(indices, {this, args[1], unsignedOf(result)}).v;
                        });
  return made(op.getResult(0), result);
}

Tensor NodeBuilder::reduce(Tensor x, ArrayRef<int64_t> axes, bool keepDims, double init,
                           llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  int64_t rank = x.rank();
  std::vector<Size> in = sizes(x), kept, withOnes;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d) {
    bool reduced = llvm::is_contained(axes, d);
    iterators.push_back(reduced ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    withOnes.push_back(reduced ? size(1) : in[d]);
    if (reduced) continue;
    kept.push_back(in[d]);
    exprs.push_back(b.getAffineDimExpr(d));
  }
  SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(rank),
                              AffineMap::get(rank, 0, exprs, b.getContext())};
  auto op = makeGeneric(*this, x.value, filled(*this, kept, x.dtype, init), maps, iterators,
                        [&](ValueRange args) {
                          bool isUnsigned = unsignedOf(x.dtype);
                          return body({this, args[1], isUnsigned}, {this, args[0], isUnsigned}).v;
                        });
  Tensor r = made(op.getResult(0), x.dtype);
  return keepDims ? reshape(r, withOnes) : r;
}

// ---- inside a body ----

/// The loop that counts `index` and how far, when it is nothing but a counter from 0.
static std::pair<Operation*, OpFoldResult> counted(OpBuilder& b, Value index) {
  if (auto i = index.getDefiningOp<linalg::IndexOp>()) {
    auto loops = i->getParentOfType<linalg::GenericOp>();
    for (OpOperand& operand : loops->getOpOperands())
      for (auto [d, e] : llvm::enumerate(loops.getMatchingIndexingMap(&operand).getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(e); dim && dim.getPosition() == i.getDim())
          return {loops, getSize(b, operand.get(), static_cast<int64_t>(d))};
    return {};
  }
  auto arg = dyn_cast<BlockArgument>(index);
  Operation* owner = arg ? arg.getOwner()->getParentOp() : nullptr;
  if (auto serial = dyn_cast_or_null<SerialOp>(owner))
    return {serial, serial.getExtents()[arg.getArgNumber()]};
  if (auto loop = dyn_cast_or_null<scf::ForOp>(owner);
      loop && index == loop.getInductionVar() && getConstantIntValue(loop.getLowerBound()) == 0)
    return {loop, getAsOpFoldResult(loop.getUpperBound())};
  return {};
}

/// A counter must not count past the tensor that is read with it: its sizes come from another
/// input, which the model need not have made to fit.
void NodeBuilder::requireWithin(Tensor t, int64_t dim, Value index) {
  Operation* inside = b.getInsertionBlock()->getParentOp();
  if (!inside) return;      // a branch that is being built on its own
  Operation* body = inside; // what is being built, up to the graph's own level
  for (Operation* op = inside; op; op = op->getParentOp())
    if (isa<linalg::GenericOp, SerialOp>(op)) body = op;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(body);
  auto [loop, extent] = counted(b, index);
  if (!loop) return;
  for (Operation* op = inside; op != loop; op = op->getParentOp())
    if (!op || isa<scf::IfOp, scf::WhileOp>(op)) return; // there may be a condition on it
  Size count = size(extent), have = size(t, dim);
  if (same(count, have) || indexRange(count.v).second <= indexRange(have.v).first) return;
  auto value = dyn_cast<Value>(count.v);
  if (value && body->isAncestor(value.getParentRegion()->getParentOp())) return;
  if (count.constant() && have.constant())
    error("the shapes of the inputs do not fit: axis {} of {} has {} elements, and {} are read",
          dim, typeText(t), *have.constant(), *count.constant());
  requireThat(this->index(count) <= this->index(have), "the shapes of the inputs do not fit");
}

Scalar NodeBuilder::at(Tensor t, ArrayRef<Scalar> indices) {
  if (static_cast<int64_t>(indices.size()) != t.rank())
    error("an input is {}; expected rank {}", typeText(t), indices.size());
  for (auto [d, i] : llvm::enumerate(indices))
    requireWithin(t, static_cast<int64_t>(d), i.v);
  SmallVector<Value> idx;
  for (Scalar i : indices)
    idx.push_back(toIndex(i).v);
  return {this, b.create<tensor::ExtractOp>(loc, t.value, idx), unsignedOf(t.dtype)};
}
Scalar NodeBuilder::atOr(Tensor t, ArrayRef<Scalar> indices, Scalar inside, double otherwise) {
  return ifElse(
      inside, [&] { return at(t, indices); },
      [&] { return literal(otherwise, t.elementType(), unsignedOf(t.dtype)); });
}

// ---- what sizes must be ----

void NodeBuilder::requireThat(Scalar condition, StringRef what, bool ofData) {
  if (auto known = getConstantIntValue(condition.v)) {
    if (!*known) fail(what.str());
    return;
  }
  std::string text = node.describe() + ": " + what.str();
  if (std::string types = inputsText(); !types.empty()) text += " (" + types + ")";
  b.create<CheckOp>(loc, condition.v, "RUN_ERROR", text, ofData);
}

std::string NodeBuilder::inputsText() {
  std::string text;
  for (auto [i, t] : llvm::enumerate(inputs))
    if (t && i < node.inputs.size() && text.size() < 200)
      text += (text.empty() ? "" : ", ") + quoteName(node.inputs[i]) + " is " + typeText(t);
  return text;
}

void NodeBuilder::requireEqual(Size x, Size y, StringRef what) {
  if (same(x, y)) return;
  if (x.constant() && y.constant())
    error("{}: {} and {}", what.str(), *x.constant(), *y.constant());
  auto [a, b] = indexRange(x.v);
  auto [c, d] = indexRange(y.v);
  if (b < c || d < a) error("{}: {} to {}, and {} to {}", what.str(), a, b, c, d);
  requireThat(equal(index(x), index(y)), what);
}

void NodeBuilder::requireShape(Tensor t, ArrayRef<Size> shape, StringRef name) {
  if (t.rank() != static_cast<int64_t>(shape.size()))
    error("'{}' is {}; expected rank {}", name.str(), typeText(t), shape.size());
  for (auto [d, want] : llvm::enumerate(shape)) {
    Size have = size(t, static_cast<int64_t>(d));
    if (have.constant() && want.constant() && *have.constant() != *want.constant())
      error("'{}' is {}; expected size {} on axis {}", name.str(), typeText(t), *want.constant(),
            d);
    requireEqual(have, want, fmt::format("'{}' does not fit on axis {}", name.str(), d));
  }
}

void NodeBuilder::requireSizeOrOne(Size have, Size want, StringRef what) {
  Scalar fits = equal(index(have), index(want));
  if (indexRange(have.v).first <= 1) fits = bitOr(fits, equal(index(have), 1.0));
  requireThat(fits, what);
}

void NodeBuilder::requireBroadcast(Tensor t, ArrayRef<Size> shape, StringRef name) {
  const int64_t lead = static_cast<int64_t>(shape.size()) - t.rank();
  if (lead < 0)
    error("'{}' is {}; expected at most rank {}", name.str(), typeText(t), shape.size());
  for (int64_t d = 0; d < t.rank(); ++d) {
    Size have = size(t, d), want = shape[lead + d];
    if (have.is(1) || same(have, want)) continue;
    if (have.constant() && want.constant())
      error("'{}' is {}; expected size 1 or {} on axis {}", name.str(), typeText(t),
            *want.constant(), d);
    requireSizeOrOne(have, want, fmt::format("'{}' does not fit on axis {}", name.str(), d));
  }
}

void NodeBuilder::requireNonNegative(Size x, StringRef what) {
  auto [low, high] = indexRange(x.v);
  if (low >= 0) return;
  if (high < 0) fail(what.str());
  requireThat(index(x) >= 0.0, what);
}

void NodeBuilder::requireIndices(Tensor indices, Size extent, StringRef name, bool negative) {
  std::string dim = extent.constant() ? fmt::format(" of size {}", *extent.constant()) : "";
  std::string what =
      fmt::format("'{}' holds an index that is out of range for a dim{}", name.str(), dim);
  if (auto c = constantTensor(indices)) {
    int64_t least = 0; // that the dim must have
    for (int64_t i = 0; i < c->size(); ++i) {
      int64_t v = c->getInt(i);
      if (v < 0 && !negative) error("'{}' holds {}; expected no negative index", name.str(), v);
      int64_t needs = v < 0 ? -std::max(v, -INT64_MAX) : v == INT64_MAX ? v : v + 1;
      if (needs > extent.constant().value_or(INT64_MAX))
        error("'{}' holds {}, which is out of range for a dim{}", name.str(), v, dim);
      least = std::max(least, needs);
    }
    return requireNonNegative(extent - size(least), what);
  }
  auto outside = [&](Scalar i) {
    Scalar place = toIndex(i), size = index(extent);
    if (i.isUnsigned) return place >= size;
    return bitOr(place >= size, negative ? place < -size : place < 0.0);
  };
  if (indices.rank() == 0) { // a counter of a loop, most of the time
    Size place = asSize(indices, name);
    auto [low, high] = indexRange(place.v);
    auto [least, unused] = indexRange(extent.v);
    if (high < least && low >= (negative ? -least : 0)) return;
    return requireThat(!outside(index(place)), what, true);
  }
  std::vector<int64_t> all(indices.rank());
  std::iota(all.begin(), all.end(), 0);
  Tensor any = reduce(map(indices, DType::Bool, outside), all, false, 0,
                      [](Scalar carried, Scalar v) { return bitOr(carried, v); });
  Scalar found{this, b.createOrFold<tensor::ExtractOp>(loc, any.value, ValueRange()), true};
  requireThat(!found, what, true);
}

/// Reshaping: no element is made up or lost, whatever sizes a run has.
void NodeBuilder::requireSameCount(ArrayRef<Size> from, ArrayRef<Size> to) {
  if (sameProduct(raw(from), raw(to))) return;
  Size before = size(1), after = size(1);
  for (Size s : from)
    before = before * s;
  for (Size s : to)
    after = after * s;
  if (before.constant() && after.constant())
    error("{} elements cannot be shaped into {}", *before.constant(), *after.constant());
  for (Size s : to) // two negative ones would hide each other
    requireNonNegative(s, "a size of the shape is negative");
  requireThat(equal(index(before), index(after)),
              "the elements of the input do not fit the shape that it is to have");
}

// ---- structure ----

Tensor NodeBuilder::reshape(Tensor x, ArrayRef<Size> shape) {
  std::vector<Size> from = sizes(x);
  if (from.size() == shape.size() && llvm::all_of(llvm::zip(from, shape), [](auto p) {
        return same(std::get<0>(p), std::get<1>(p));
      }))
    return x;
  Value init = empty(shape, x.elementType());
  requireSameCount(from, shape);
  return made(b.createOrFold<ReshapeOp>(loc, init.getType(), x.value, init), x.dtype);
}

Tensor NodeBuilder::transpose(Tensor x, ArrayRef<int64_t> permutation) {
  std::vector<Size> in = sizes(x), out;
  for (int64_t p : permutation)
    out.push_back(in[p]);
  if (llvm::all_of(llvm::enumerate(permutation),
                   [](auto p) { return static_cast<int64_t>(p.index()) == p.value(); }))
    return x;
  int64_t rank = x.rank();
  // loop d runs over output dim d, which is input dim permutation[d]
  SmallVector<AffineExpr> read(rank);
  for (int64_t d = 0; d < rank; ++d)
    read[permutation[d]] = b.getAffineDimExpr(d);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto op =
      makeGeneric(*this, x.value, empty(out, x.elementType()),
                  {AffineMap::get(rank, 0, read, b.getContext()), b.getMultiDimIdentityMap(rank)},
                  iterators, [&](ValueRange args) { return args[0]; });
  return made(op.getResult(0), x.dtype);
}

Tensor NodeBuilder::broadcastTo(Tensor x, ArrayRef<Size> shape) {
  std::vector<Size> in = sizes(x);
  int64_t rank = shape.size(), lead = rank - x.rank();
  if (lead == 0 && llvm::all_of(llvm::zip(in, shape),
                                [](auto p) { return same(std::get<0>(p), std::get<1>(p)); }))
    return x;
  std::vector<Size> must = in; // sizes that are those of the shape, or the run ends
  for (int64_t d = 0; d < x.rank(); ++d)
    if (Size out = shape[lead + d]; isCutOf(in[d], out) || isCutOf(out, in[d])) {
      requireEqual(in[d], out, "shapes do not broadcast on axis " + std::to_string(d));
      must[d] = out;
    }
  if (!llvm::all_of(llvm::zip(in, must),
                    [](auto p) { return same(std::get<0>(p), std::get<1>(p)); }))
    return broadcastTo(slice(x, std::vector<Size>(must.size(), size(0)), must), shape);
  SmallVector<AffineExpr> read;
  bool certain = true;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool one = in[d].is(1), equal = same(in[d], shape[lead + d]);
    if (!one && !equal && in[d].constant() && shape[lead + d].constant())
      error("cannot broadcast {} to {} on axis {}", *in[d].constant(), *shape[lead + d].constant(),
            d);
    read.push_back(one && !equal ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(lead + d));
    certain &= one || equal;
    if (one || equal) continue;
    requireSizeOrOne(in[d], shape[lead + d],
                     "shapes do not broadcast on axis " + std::to_string(d));
  }
  if (!certain) // a free size may turn out to be 1: the run decides, with index 0 there
    return generate(shape, x.dtype, [&](ArrayRef<Scalar> i) {
      SmallVector<Scalar> idx;
      for (int64_t d = 0; d < x.rank(); ++d) {
        if (in[d].is(1))
          idx.push_back(index(0));
        else if (same(in[d], shape[lead + d]))
          idx.push_back(i[lead + d]);
        else
          idx.push_back(select(equal(index(in[d]), 1.0), 0.0, i[lead + d]));
      }
      return at(x, idx);
    });
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto op =
      makeGeneric(*this, x.value, empty(shape, x.elementType()),
                  {AffineMap::get(rank, 0, read, b.getContext()), b.getMultiDimIdentityMap(rank)},
                  iterators, [&](ValueRange args) { return args[0]; });
  return made(op.getResult(0), x.dtype);
}

Tensor NodeBuilder::concat(ArrayRef<Tensor> xs, int64_t axis) {
  std::vector<Size> shape = sizes(xs[0]);
  SmallVector<Value> sources;
  Size total = size(0);
  for (Tensor x : xs) {
    if (x.rank() != xs[0].rank())
      error("inputs of ranks {} and {} cannot be concatenated", xs[0].rank(), x.rank());
    if (x.dtype != xs[0].dtype)
      error("inputs of types {} and {} cannot be concatenated", dtypeName(xs[0].dtype),
            dtypeName(x.dtype));
    std::vector<Size> s = sizes(x);
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d != axis) {
        requireEqual(shape[d], s[d], "sizes on axis " + std::to_string(d) + " differ");
        if (s[d].constant()) shape[d] = s[d];
      }
    total = total + s[axis];
    if (s[axis].is(0) && xs.size() > 1) continue;
    sources.push_back(x.value);
  }
  if (sources.empty()) return xs[0];
  shape[axis] = total;
  Value init = empty(shape, xs[0].elementType());
  return made(b.createOrFold<ConcatOp>(loc, init.getType(), sources, init, axis), xs[0].dtype);
}

Tensor NodeBuilder::slice(Tensor x, ArrayRef<Size> starts, ArrayRef<Size> sizes_,
                          ArrayRef<int64_t> steps) {
  SmallVector<OpFoldResult> offsets, extents, strides;
  std::vector<Size> in = sizes(x);
  bool whole = true;
  for (size_t d = 0; d < starts.size(); ++d) {
    offsets.push_back(starts[d].v);
    extents.push_back(sizes_[d].v);
    strides.push_back(b.getIndexAttr(steps.empty() ? 1 : steps[d]));
    whole &= starts[d].is(0) && same(sizes_[d], in[d]) && (steps.empty() || steps[d] == 1);
  }
  if (whole) return x;
  // Upstream folds slices of constants by their raw data, which strings have not.
  if (x.dtype == DType::String && x.value.getDefiningOp<arith::ConstantOp>())
    return generate(sizes_, x.dtype, [&](ArrayRef<Scalar> o) {
      SmallVector<Scalar> i;
      for (size_t d = 0; d < starts.size(); ++d)
        i.push_back(index(starts[d]) + o[d] * static_cast<double>(steps.empty() ? 1 : steps[d]));
      return at(x, i);
    });
  return made(b.create<tensor::ExtractSliceOp>(loc, x.value, offsets, extents, strides), x.dtype);
}

Tensor NodeBuilder::castTo(Tensor x, DType to) {
  if (x.dtype == to) return x;
  if (isCoded(x.dtype))
    return castTo(map(x, DType::F32, [&](Scalar v) { return decoded(v, x.dtype); }), to);
  if (isCoded(to)) return map(x, to, [&](Scalar v) { return encoded(v, to); });
  if (x.elementType() == typeOf(to)) return {x.value, to}; // only the sign differs
  return map(x, to, [&](Scalar v) { return cast(v, to); });
}

Tensor NodeBuilder::contract(Tensor lhs, Tensor rhs, StringRef equation,
                             std::optional<DType> result) {
  // "mk,kn->mn": loops in order of the result, then of the sums
  auto [ins, out] = equation.split("->");
  auto [l, r] = ins.split(",");
  std::string loops = out.str();
  for (char c : (l + r).str())
    if (loops.find(c) == std::string::npos) loops += c;
  auto mapOf = [&](StringRef letters) {
    SmallVector<AffineExpr> e;
    for (char c : letters)
      e.push_back(b.getAffineDimExpr(loops.find(c)));
    return AffineMap::get(loops.size(), 0, e, b.getContext());
  };
  std::vector<Size> ls = sizes(lhs), rs = sizes(rhs), shape;
  for (char c : loops) {
    size_t i = l.find(c), j = r.find(c);
    Size s = i != StringRef::npos ? ls[i] : rs[j];
    if (i != StringRef::npos && j != StringRef::npos) {
      requireEqual(ls[i], rs[j], "sizes that must be equal differ");
      if (rs[j].constant()) s = rs[j];
    }
    if (out.contains(c)) shape.push_back(s);
  }
  DType type = result.value_or(lhs.dtype);
  auto op = b.create<ContractOp>(loc, empty(shape, typeOf(type)).getType(), lhs.value, rhs.value,
                                 empty(shape, typeOf(type)),
                                 b.getAffineMapArrayAttr({mapOf(l), mapOf(r), mapOf(out)}),
                                 unsignedOf(lhs.dtype), unsignedOf(rhs.dtype));
  return made(op.getResult(), type);
}

Tensor NodeBuilder::matmul(Tensor x, Tensor y, std::optional<DType> result) {
  if (x.rank() == 0 || y.rank() == 0) error("a scalar cannot be multiplied as a matrix");
  // Letters: batch dims from the right a, b, c, ...; then m, n, k. A batch dim of size 1 is dropped
  // from its operand.
  std::vector<Size> xs = sizes(x), ys = sizes(y);
  bool xVector = x.rank() == 1, yVector = y.rank() == 1;
  int64_t xb = std::max<int64_t>(x.rank() - 2, 0), yb = std::max<int64_t>(y.rank() - 2, 0),
          batch = std::max(xb, yb);
  std::string xl, yl, out;
  std::vector<Size> xShape, yShape, outShape;
  for (int64_t d = 0; d < batch; ++d) {
    char letter = static_cast<char>('a' + d);
    int64_t i = d - (batch - xb), j = d - (batch - yb);
    bool inX = i >= 0 && !xs[i].is(1), inY = j >= 0 && !ys[j].is(1);
    if (inX && inY && !same(xs[i], ys[j])) {
      if (xs[i].constant() && ys[j].constant())
        error("batch sizes {} and {} do not broadcast", *xs[i].constant(), *ys[j].constant());
      if (!xs[i].constant() && !ys[j].constant())
        outShape.push_back(broadcastSize(xs[i], ys[j]));
      else
        outShape.push_back(xs[i].constant() ? xs[i] : ys[j]);
      // A free size against another: whichever is 1 at run time is repeated.
      std::vector<Size> xFull = xs, yFull = ys;
      xFull[i] = yFull[j] = outShape.back();
      x = broadcastTo(x, xFull), y = broadcastTo(y, yFull); // two statements: each may put a check
      return matmul(x, y, result);
    }
    outShape.push_back(inX ? xs[i] : inY ? ys[j] : size(1));
    if (inX) xl += letter, xShape.push_back(xs[i]);
    if (inY) yl += letter, yShape.push_back(ys[j]);
    if (inX || inY) out += letter;
  }
  Size k = xs.back(), k2 = yVector ? ys[0] : ys[ys.size() - 2];
  if (k.constant() && k2.constant() && *k.constant() != *k2.constant())
    error("inner sizes {} and {} differ", *k.constant(), *k2.constant());
  if (!xVector)
    xl += "m", xShape.push_back(xs[xs.size() - 2]), out += "m",
        outShape.push_back(xs[xs.size() - 2]);
  xl += "k", xShape.push_back(k);
  yl += "k", yShape.push_back(k2);
  if (!yVector) yl += "n", yShape.push_back(ys.back()), out += "n", outShape.push_back(ys.back());
  x = reshape(x, xShape), y = reshape(y, yShape);
  return reshape(contract(x, y, xl + "," + yl + "->" + out, result), outShape);
}

Tensor NodeBuilder::conv(Tensor x, Tensor w, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                         ArrayRef<int64_t> pads, int64_t group, std::optional<DType> result) {
  std::vector<Size> in = sizes(x), k = sizes(w), shape{in[0], k[0]};
  size_t n = strides.size();
  for (size_t i = 0; i < n; ++i) {
    Size span = in[i + 2] + size(pads[i] + pads[n + i]) -
                ((k[i + 2] - size(1)) * size(dilations[i]) + size(1));
    if (span.constant() && *span.constant() < 0)
      error("the kernel does not fit: spatial dim {} is {} smaller than the kernel", i,
            -*span.constant());
    shape.push_back(span / size(strides[i]) + size(1));
  }
  DType type = result.value_or(x.dtype);
  Value init = empty(shape, typeOf(type));
  auto op =
      b.create<ConvOp>(loc, init.getType(), x.value, w.value, init, Value(), strides, dilations,
                       pads, group, "nchw", unsignedOf(x.dtype), unsignedOf(w.dtype));
  return made(op.getResult(), type);
}

} // namespace ortc::opdef
