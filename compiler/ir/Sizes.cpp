// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace ortc {

std::optional<int64_t> constantSize(OpFoldResult size) {
  return getConstantIntValue(size);
}

bool isTooLarge(ArrayRef<int64_t> sizes) {
  constexpr int64_t kMost = int64_t(1) << 48;
  int64_t product = 1;
  for (int64_t s : sizes) {
    if (s <= 1) continue; // one that is not known is counted as 1
    if (s > kMost / product) return true;
    product *= s;
  }
  return false;
}

Value sizeValue(OpBuilder& b, Location loc, OpFoldResult size) {
  // A constant that is already a value may stand later than where it is needed now.
  if (auto c = constantSize(size)) return b.create<arith::ConstantIndexOp>(loc, *c);
  return cast<Value>(size);
}

SmallVector<Value> dynamicOnly(ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> r;
  for (OpFoldResult s : sizes)
    if (!constantSize(s)) r.push_back(cast<Value>(s));
  return r;
}

SmallVector<int64_t> staticShape(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> r;
  for (OpFoldResult s : sizes)
    r.push_back(constantSize(s).value_or(ShapedType::kDynamic));
  return r;
}

Value createEmpty(OpBuilder& b, Location loc, ArrayRef<OpFoldResult> sizes, Type elementType) {
  return b.create<tensor::EmptyOp>(loc, staticShape(sizes), elementType, dynamicOnly(sizes));
}

/// Sizes of the `?` of a type from the values that follow it in a list (results, arguments).
static Sizes fromFollowing(OpBuilder& b, RankedTensorType type, ValueRange following) {
  Sizes r;
  unsigned next = 0;
  for (int64_t s : type.getShape())
    if (ShapedType::isDynamic(s)) {
      assert(next < following.size() && following[next].getType().isIndex() &&
             "sizes must follow their tensor");
      r.push_back(following[next++]);
    } else
      r.push_back(b.getIndexAttr(s));
  return r;
}

static Sizes ofArgument(OpBuilder& b, BlockArgument arg, RankedTensorType type) {
  Operation* parent = arg.getOwner()->getParentOp();
  auto function = dyn_cast<FunctionOpInterface>(parent);
  if (auto loop = dyn_cast_or_null<scf::ForOp>(parent); loop && loop->hasAttr("ortc.fixed_sizes"))
    return fromFollowing(b, type, loop.getInitArgs().drop_front(arg.getArgNumber()));
  if (auto loop = dyn_cast_or_null<scf::WhileOp>(parent); loop && loop->hasAttr("ortc.fixed_sizes"))
    return fromFollowing(b, type, loop.getInits().drop_front(arg.getArgNumber() + 1));
  if (!function)
    return fromFollowing(b, type,
                         arg.getOwner()->getArguments().drop_front(arg.getArgNumber() + 1));
  auto names = function.getArgAttrOfType<ArrayAttr>(arg.getArgNumber(), "ortc.dims");
  Sizes r;
  for (auto [i, s] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(s))
      r.push_back(getDim(parent, cast<StringAttr>(names[i]).getValue()));
    else
      r.push_back(b.getIndexAttr(s));
  return r;
}

Sizes getSizes(OpBuilder& b, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Sizes r;
  if (type.hasStaticShape()) {
    for (int64_t s : type.getShape())
      r.push_back(b.getIndexAttr(s));
    return r;
  }
  if (auto arg = dyn_cast<BlockArgument>(tensor)) return ofArgument(b, arg, type);
  auto result = cast<OpResult>(tensor);
  Operation* op = result.getOwner();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) return empty.getMixedSizes();
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return getSizes(b, dps.getTiedOpOperand(result)->get());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    auto dropped = slice.getDroppedDims();
    for (auto [i, s] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(i)) r.push_back(s);
    return r;
  }
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    // The more static of the two types wins, dim by dim.
    r = getSizes(b, cast.getSource());
    for (auto [i, s] : llvm::enumerate(type.getShape()))
      if (!ShapedType::isDynamic(s)) r[i] = b.getIndexAttr(s);
    return r;
  }
  if (op->getName().getStringRef() == "ortc.kernel") {
    // The region knows, and its sizes are values from outside of it.
    Value inner = op->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber());
    return getSizes(b, inner);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop->hasAttr("ortc.fixed_sizes"))
    return fromFollowing(b, type, loop.getInitArgs().drop_front(result.getResultNumber() + 1));
  if (auto loop = dyn_cast<scf::WhileOp>(op); loop && loop->hasAttr("ortc.fixed_sizes"))
    return fromFollowing(b, type, loop.getInits().drop_front(result.getResultNumber() + 1));
  if (op->getName().getStringRef() == "ortc.host_step") {
    // Destination style by convention: the last arguments are the inits of the results that are
    // tensors.
    unsigned tensorsAfter =
        llvm::count_if(op->getResults().drop_front(result.getResultNumber()),
                       [](Value v) { return isa<RankedTensorType>(v.getType()); });
    return getSizes(b, op->getOperand(op->getNumOperands() - tensorsAfter));
  }
  if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
    return fromFollowing(b, type, op->getResults().drop_front(result.getResultNumber() + 1));
  llvm::report_fatal_error(llvm::Twine("no sizes known for results of ") +
                           op->getName().getStringRef());
}

OpFoldResult getSize(OpBuilder& b, Value tensor, int64_t dim) {
  int64_t s = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  if (!ShapedType::isDynamic(s)) return b.getIndexAttr(s);
  return getSizes(b, tensor)[dim];
}

/// `equal`: pairs that were found to be. Sizes share operands, so that without it copies of a long
/// computation would be compared again and again.
static bool sameSize(OpFoldResult a, OpFoldResult b,
                     llvm::DenseSet<std::pair<Value, Value>>& equal) {
  auto ca = constantSize(a), cb = constantSize(b);
  if (ca || cb) return ca == cb;
  Value va = cast<Value>(a), vb = cast<Value>(b);
  if (va == vb || equal.contains({va, vb})) return true;
  // Equal expressions of equal operands: what CSE would find.
  Operation *oa = va.getDefiningOp(), *ob = vb.getDefiningOp();
  if (!oa || !ob || oa->getName() != ob->getName() ||
      (oa->getNumOperands() == 0 && !oa->hasTrait<OpTrait::ConstantLike>()) ||
      oa->getNumOperands() != ob->getNumOperands() || oa->getNumRegions() ||
      oa->getAttrDictionary() != ob->getAttrDictionary() || !isPure(oa))
    return false;
  for (auto [x, y] : llvm::zip(oa->getOperands(), ob->getOperands()))
    // Also floats, by which sizes are scaled: all of this is pure.
    if (x != y && !(x.getType().isIntOrIndexOrFloat() && sameSize(x, y, equal))) return false;
  equal.insert({va, vb});
  return true;
}

bool sameSize(OpFoldResult a, OpFoldResult b) {
  llvm::DenseSet<std::pair<Value, Value>> equal;
  return sameSize(a, b, equal);
}

bool sameSizes(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto p) {
           return sameSize(std::get<0>(p), std::get<1>(p));
         });
}

// Folding wraps around, as the run would: that what counts fits is checked where tensors are made.
static int64_t wrapAdd(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
static int64_t wrapSub(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
static int64_t wrapMul(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <typename Op, typename Fn>
static OpFoldResult fold2(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y, Fn fn) {
  auto cx = constantSize(x), cy = constantSize(y);
  if (cx && cy) return b.getIndexAttr(fn(*cx, *cy));
  return b.createOrFold<Op>(loc, sizeValue(b, loc, x), sizeValue(b, loc, y));
}

static int64_t floorDiv(int64_t x, int64_t y) {
  if (y == 0) return 0; // of a dim that is 0: nothing is computed with it
  if (y == -1) return wrapSub(0, x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

OpFoldResult addSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (constantSize(x) == 0) return y;
  if (constantSize(y) == 0) return x;
  if (constantSize(x)) std::swap(x, y);
  // (z + c1) + c2 = z + (c1 + c2): convolutions with "same" padding come out as what went in.
  if (auto c2 = constantSize(y))
    if (auto v = dyn_cast<Value>(x))
      if (auto add = v.getDefiningOp<arith::AddIOp>())
        if (auto c1 = getConstantIntValue(add.getRhs()))
          return addSizes(b, loc, add.getLhs(), b.getIndexAttr(wrapAdd(*c1, *c2)));
  return fold2<arith::AddIOp>(b, loc, x, y, wrapAdd);
}
OpFoldResult subSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (auto c = constantSize(y)) return addSizes(b, loc, x, b.getIndexAttr(wrapSub(0, *c)));
  if (sameSize(x, y)) return b.getIndexAttr(0);
  // 0 - (p - q) = q - p: what is counted downwards
  if (constantSize(x) == 0)
    if (auto inner = cast<Value>(y).getDefiningOp<arith::SubIOp>())
      return subSizes(b, loc, inner.getRhs(), inner.getLhs());
  // x - (0 - q) = x + q
  if (auto v = dyn_cast<Value>(y))
    if (auto inner = v.getDefiningOp<arith::SubIOp>();
        inner && getConstantIntValue(inner.getLhs()) == 0)
      return addSizes(b, loc, x, inner.getRhs());
  return fold2<arith::SubIOp>(b, loc, x, y, wrapSub);
}
OpFoldResult mulSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (constantSize(x) == 1) return y;
  if (constantSize(y) == 1) return x;
  if (constantSize(x)) std::swap(x, y);
  return fold2<arith::MulIOp>(b, loc, x, y, wrapMul);
}
/// x / -c is written as -x / c: dividing by -1 may overflow, so that no pass may move it.
static void makeDivisorPositive(OpBuilder& b, Location loc, OpFoldResult& x, OpFoldResult& y) {
  auto c = constantSize(y);
  if (!c || *c >= 0 || constantSize(x)) return;
  x = subSizes(b, loc, b.getIndexAttr(0), x);
  y = b.getIndexAttr(wrapSub(0, *c));
}
OpFoldResult floorDivSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  makeDivisorPositive(b, loc, x, y);
  if (constantSize(y) == 1) return x;
  if (sameSize(x, y)) return b.getIndexAttr(1);
  return fold2<arith::FloorDivSIOp>(b, loc, x, y, floorDiv);
}
OpFoldResult ceilDivSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  makeDivisorPositive(b, loc, x, y);
  if (constantSize(y) == 1) return x;
  return fold2<arith::CeilDivSIOp>(
      b, loc, x, y, [](int64_t p, int64_t q) { return wrapSub(0, floorDiv(wrapSub(0, p), q)); });
}
OpFoldResult maxSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (sameSize(x, y)) return x;
  return fold2<arith::MaxSIOp>(b, loc, x, y, [](int64_t p, int64_t q) { return std::max(p, q); });
}
OpFoldResult minSizes(OpBuilder& b, Location loc, OpFoldResult x, OpFoldResult y) {
  if (sameSize(x, y)) return x;
  return fold2<arith::MinSIOp>(b, loc, x, y, [](int64_t p, int64_t q) { return std::min(p, q); });
}

/// Null when a leaf is neither an index value nor a constant. `lifted`: what was found so far.
static OpFoldResult liftToIndex(OpBuilder& b, Location loc, Value v, unsigned depth,
                                DenseMap<Value, OpFoldResult>& lifted);
static OpFoldResult computeLifted(OpBuilder& b, Location loc, Value v, unsigned depth,
                                  DenseMap<Value, OpFoldResult>& lifted) {
  if (v.getType().isIndex()) return v;
  if (auto c = getConstantIntValue(v)) return b.getIndexAttr(*c);
  Operation* op = v.getDefiningOp();
  if (!op || depth > 32) return {};
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return cast.getIn().getType().isIndex() ? OpFoldResult(cast.getIn()) : OpFoldResult();
  if (v.getType().getIntOrFloatBitWidth() < 32) return {};
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return liftToIndex(b, loc, op->getOperand(0), depth + 1, lifted);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp, arith::MaxSIOp, arith::MinSIOp, arith::RemSIOp, arith::SelectOp>(op))
    return {};
  bool select = isa<arith::SelectOp>(op);
  OpFoldResult x = liftToIndex(b, loc, op->getOperand(select ? 1 : 0), depth + 1, lifted);
  OpFoldResult y =
      x ? liftToIndex(b, loc, op->getOperand(select ? 2 : 1), depth + 1, lifted) : OpFoldResult();
  if (!x || !y) return {};
  if (isa<arith::AddIOp>(op)) return addSizes(b, loc, x, y);
  if (isa<arith::SubIOp>(op)) return subSizes(b, loc, x, y);
  if (isa<arith::MulIOp>(op)) return mulSizes(b, loc, x, y);
  if (isa<arith::MaxSIOp>(op)) return maxSizes(b, loc, x, y);
  if (isa<arith::MinSIOp>(op)) return minSizes(b, loc, x, y);
  auto divisor = constantSize(y);
  bool plain = divisor && *divisor > 0;
  if (isa<arith::FloorDivSIOp>(op) && plain) return floorDivSizes(b, loc, x, y);
  if (isa<arith::CeilDivSIOp>(op) && plain) return ceilDivSizes(b, loc, x, y);
  if (isa<arith::DivSIOp>(op) && plain && indexRange(x).first >= 0)
    return floorDivSizes(b, loc, x, y);
  Value vx = sizeValue(b, loc, x), vy = sizeValue(b, loc, y);
  if (select) return b.createOrFold<arith::SelectOp>(loc, op->getOperand(0), vx, vy);
  if (isa<arith::DivSIOp>(op)) return b.createOrFold<arith::DivSIOp>(loc, vx, vy);
  if (isa<arith::RemSIOp>(op)) return b.createOrFold<arith::RemSIOp>(loc, vx, vy);
  if (isa<arith::FloorDivSIOp>(op)) return b.createOrFold<arith::FloorDivSIOp>(loc, vx, vy);
  return b.createOrFold<arith::CeilDivSIOp>(loc, vx, vy);
}

static OpFoldResult liftToIndex(OpBuilder& b, Location loc, Value v, unsigned depth,
                                DenseMap<Value, OpFoldResult>& lifted) {
  if (auto it = lifted.find(v); it != lifted.end()) return it->second;
  OpFoldResult r = computeLifted(b, loc, v, depth, lifted);
  return lifted[v] = r;
}

OpFoldResult asSize(OpBuilder& b, Location loc, Value integer) {
  DenseMap<Value, OpFoldResult> lifted;
  if (OpFoldResult r = liftToIndex(b, loc, integer, 0, lifted)) return r;
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), integer);
}

Value computedAgain(OpBuilder& b, Value number, llvm::function_ref<bool(Value)> isThere,
                    DenseMap<Value, Value>& copies) {
  if (isThere(number)) return number;
  if (auto it = copies.find(number); it != copies.end()) return it->second;
  copies[number] = {}; // until it is known better
  Operation* op = number.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op)) return {};
  IRMapping map;
  for (Value operand : op->getOperands()) {
    Value there = operand.getType().isIntOrIndexOrFloat()
                      ? computedAgain(b, operand, isThere, copies)
                      : Value();
    if (!there) return {};
    map.map(operand, there);
  }
  Value copy = b.clone(*op, map)->getResult(cast<OpResult>(number).getResultNumber());
  return copies[number] = copy;
}

Value getDim(Operation* function, StringRef name, int64_t min, int64_t max) {
  Block& entry = function->getRegion(0).front();
  for (Operation& op : entry) {
    // They stand at the start, but folding puts constants between them.
    StringRef kind = op.getName().getStringRef();
    if (kind != "ortc.dim" && kind != "arith.constant") break;
    if (kind == "ortc.dim" && op.getAttrOfType<StringAttr>("name") == name) return op.getResult(0);
  }
  OpBuilder b(function->getContext());
  b.setInsertionPointToStart(&entry);
  OperationState state(function->getLoc(), "ortc.dim");
  state.addAttribute("name", b.getStringAttr(name));
  state.addAttribute("min", b.getI64IntegerAttr(min));
  state.addAttribute("max", b.getI64IntegerAttr(max));
  state.addTypes(b.getIndexType());
  return b.create(state)->getResult(0);
}

namespace {
using Range = std::pair<int64_t, int64_t>;

/// Sizes share operands (a size that is padded, divided and multiplied stands in all that follows):
/// each value is looked at once.
class Ranges {
public:
  Range of(OpFoldResult size) {
    if (auto c = constantSize(size)) return {*c, *c};
    Value v = cast<Value>(size);
    if (auto it = known.find(v); it != known.end()) return it->second;
    Range r = compute(v);
    known[v] = r;
    return r;
  }

private:
  llvm::DenseMap<Value, Range> known;
  Range compute(Value value);
};

Range Ranges::compute(Value value) {
  constexpr int64_t lo = INT64_MIN, hi = INT64_MAX;
  Operation* op = value.getDefiningOp();
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
    if (!loop || arg != loop.getInductionVar()) return {lo, hi};
    int64_t end = of(OpFoldResult(loop.getUpperBound())).second;
    return {of(OpFoldResult(loop.getLowerBound())).first, end == hi ? hi : end - 1};
  }
  if (!op) return {lo, hi};
  if (op->getName().getStringRef() == "ortc.dim")
    return {op->getAttrOfType<IntegerAttr>("min").getInt(),
            op->getAttrOfType<IntegerAttr>("max").getInt()};
  auto saturated = [](__int128 v) {
    return static_cast<int64_t>(std::clamp<__int128>(v, INT64_MIN, INT64_MAX));
  };
  auto range = [&](unsigned i) { return of(OpFoldResult(op->getOperand(i))); };
  // An end that is unknown stays unknown.
  auto sum = [&](int64_t a, int64_t b) {
    return a == lo || b == lo ? lo : a == hi || b == hi ? hi : saturated(__int128(a) + b);
  };
  auto neg = [&](int64_t a) { return a == lo ? hi : a == hi ? lo : -a; };
  if (isa<arith::AddIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    return {sum(a, c), sum(b, d)};
  }
  if (isa<arith::SubIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    return {sum(a, neg(d)), sum(b, neg(c))};
  }
  if (isa<arith::MulIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    if (a < 0 || c < 0) return {lo, hi};
    return {saturated(__int128(a) * c), b == hi || d == hi ? hi : saturated(__int128(b) * d)};
  }
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp, arith::DivUIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    if (c <= 0) return {lo, hi};
    if (c != d) // by one or more: no further from 0
      return {a < 0 ? a : 0, b < 0 ? 0 : b};
    int64_t bump = isa<arith::CeilDivSIOp>(op) ? c - 1 : 0;
    return {a == lo ? lo : floorDiv(a + bump, c), b == hi ? hi : floorDiv(b + bump, c)};
  }
  if (isa<arith::MaxSIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    return {std::max(a, c), std::max(b, d)};
  }
  if (isa<arith::MinSIOp>(op)) {
    auto [a, b] = range(0);
    auto [c, d] = range(1);
    return {std::min(a, c), std::min(b, d)};
  }
  if (isa<arith::SelectOp>(op)) {
    auto [a, b] = range(1);
    auto [c, d] = range(2);
    return {std::min(a, c), std::max(b, d)};
  }
  if (isa<arith::IndexCastOp>(op) && op->getOperand(0).getDefiningOp<arith::IndexCastOp>())
    return of(OpFoldResult(op->getOperand(0).getDefiningOp()->getOperand(0)));
  return {lo, hi};
}
} // namespace

std::pair<int64_t, int64_t> indexRange(OpFoldResult size) {
  return Ranges().of(size);
}

namespace {
/// A size as a constant and other factors: what two products are compared by.
struct Factors {
  static constexpr size_t kMost = 64; // of squares of squares there would be any number
  int64_t constant = 1;
  SmallVector<Value> values;

  void multiply(OpFoldResult size) {
    if (auto c = constantSize(size)) {
      constant = wrapMul(constant, *c);
      return;
    }
    Value v = cast<Value>(size);
    if (auto mul = v.getDefiningOp<arith::MulIOp>(); mul && values.size() < kMost) {
      multiply(OpFoldResult(mul.getLhs()));
      multiply(OpFoldResult(mul.getRhs()));
      return;
    }
    values.push_back(v);
  }
  /// Is this a divisor of `other`, as far as can be seen?
  bool divides(const Factors& other) const {
    if (constant == 0 || other.constant % constant) return false;
    SmallVector<Value> rest(other.values);
    for (Value v : values) {
      auto it = llvm::find_if(rest, [&](Value r) { return sameSize(r, v); });
      if (it == rest.end()) return false;
      rest.erase(it);
    }
    return true;
  }
  bool operator==(const Factors& o) const {
    return constant == o.constant && values.size() == o.values.size() && divides(o);
  }
};
} // namespace

bool sameProduct(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
  Factors left, right;
  for (OpFoldResult s : a)
    left.multiply(s);
  for (OpFoldResult s : b)
    right.multiply(s);
  return (left.constant == 0 && right.constant == 0) || left == right;
}

SmallVector<DimGroup> groupDims(ArrayRef<OpFoldResult> from, ArrayRef<OpFoldResult> to) {
  SmallVector<DimGroup> groups;
  unsigned i = 0, j = 0;
  auto next = [](ArrayRef<OpFoldResult> sizes,
                 unsigned& at) { // past the next dim other than 1; none: at the end
    while (at < sizes.size() && constantSize(sizes[at]) == 1)
      ++at;
    return at < sizes.size() ? std::optional<unsigned>(at++) : std::nullopt;
  };
  unsigned lastFrom = from.size(), lastTo = to.size();
  while (lastFrom > 0 && constantSize(from[lastFrom - 1]) == 1)
    --lastFrom;
  while (lastTo > 0 && constantSize(to[lastTo - 1]) == 1)
    --lastTo;
  while (i < lastFrom || j < lastTo) {
    DimGroup g{i, i, j, j};
    Factors left, right;
    if (auto d = next(from, i)) left.multiply(from[*d]);
    if (auto d = next(to, j)) right.multiply(to[*d]);
    while (!(left == right)) {
      if (i < lastFrom && left.divides(right))
        left.multiply(from[*next(from, i)]);
      else if (j < lastTo && right.divides(left))
        right.multiply(to[*next(to, j)]);
      else {
        i = lastFrom, j = lastTo; // nothing can be told: all the rest
        break;
      }
    }
    g.from1 = i, g.to1 = j;
    groups.push_back(g);
  }
  if (!groups.empty()) groups.back().from1 = from.size(), groups.back().to1 = to.size();
  return groups;
}

} // namespace ortc
