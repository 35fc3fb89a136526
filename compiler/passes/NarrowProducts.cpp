// SPDX-License-Identifier: Apache-2.0
// Products of quantised numbers as products of 8-bit numbers. Models say them in two ways:
//
//   integers   (a - a zero) (b - b zero) in i32: MatMulInteger, ConvInteger, QLinearMatMul, ...
//   floats     products of dequantised numbers: models with QuantizeLinear and DequantizeLinear
//
// Both become the sum over a * w, where w = b - b zero is a constant of s8, or of i16 where it
// takes 9 bits, and what the zero point and the scales make of it comes after the sum, mostly as
// constants:
//
//   sum (a - z) w = sum a w - z sum w
//
// In integers that is exact (modulo 2^32); in floats it is more exact than the sum of rounded
// products was.
//
// Assumes that weights are not yet dequantised (FoldConstants keep-quantised), and targets that
// have kernels for 8-bit numbers: elsewhere floats are faster. Comes before the passes that move
// reshapes, transposes and layouts, which know nothing of zero points.
#include "compiler/ir/HostTensor.h"
#include "compiler/ir/Sizes.h"
#include "compiler/passes/Passes.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "compiler/passes/Passes.h.inc"

namespace {

/// A tensor that is read by a map from the dims of another one.
struct Factor {
  Value tensor; // null: not there
  AffineMap map;
  bool isUnsigned = false;
};

/// A tensor of (bytes - zero) * scale.
struct Quantised {
  Value bytes; // i8
  bool isUnsigned = false;
  Factor zero;  // i8
  Factor scale; // f32; null for integers
};

/// Constant weights as numbers without zero point, each within 9 bits.
struct Weights {
  HostTensor numbers; // i32
  Factor scale;
};

/// An extended 8-bit argument of a body.
std::optional<std::pair<unsigned, bool>> byteArgument(Value v, linalg::GenericOp g) {
  Operation* op = v.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return std::nullopt;
  auto arg = dyn_cast<BlockArgument>(op->getOperand(0));
  if (!arg || arg.getOwner() != &g.getRegion().front() || !arg.getType().isInteger(8) ||
      arg.getArgNumber() >= static_cast<unsigned>(g.getNumDpsInputs()))
    return std::nullopt;
  return std::pair(arg.getArgNumber(), isa<arith::ExtUIOp, arith::UIToFPOp>(op));
}

/// Where there is one element only, the map says 0: weights of one tap read their factors by any of
/// the tap's dims.
Factor factorOf(linalg::GenericOp g, unsigned input, bool isUnsigned = false) {
  OpOperand* operand = g.getDpsInputOperand(input);
  AffineMap map = g.getMatchingIndexingMap(operand);
  auto shape = cast<RankedTensorType>(operand->get().getType()).getShape();
  SmallVector<AffineExpr> exprs(map.getResults());
  for (auto [expr, size] : llvm::zip(exprs, shape))
    if (size == 1) expr = getAffineConstantExpr(0, g.getContext());
  return {operand->get(), AffineMap::get(map.getNumDims(), 0, exprs, g.getContext()), isUnsigned};
}

/// Does the factor read the same element everywhere?
bool isOne(const Factor& f) {
  return !f.tensor || llvm::all_of(f.map.getResults(), llvm::IsaPred<AffineConstantExpr>);
}

std::optional<Quantised> quantised(Value v) {
  Type element = getElementTypeOrSelf(v.getType());
  if (auto reshape = v.getDefiningOp<ReshapeOp>()) {
    auto q = quantised(reshape.getSource());
    if (!q || !isOne(q->zero) || !isOne(q->scale)) return std::nullopt;
    OpBuilder b(reshape);
    Value init = createEmpty(b, v.getLoc(), getSizes(b, v), b.getI8Type());
    q->bytes = b.create<ReshapeOp>(v.getLoc(), init.getType(), q->bytes, init);
    for (Factor* f : {&q->zero, &q->scale}) // constant places
      if (f->tensor)
        f->map = AffineMap::get(cast<RankedTensorType>(v.getType()).getRank(), 0,
                                f->map.getResults(), b.getContext());
    return q;
  }
  auto g = v.getDefiningOp<linalg::GenericOp>();
  if (!g || g.getNumReductionLoops() || g.getNumDpsInits() != 1 ||
      !g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  Quantised q;
  Value number = g.getRegion().front().getTerminator()->getOperand(0);
  if (element.isF32()) {
    auto product = number.getDefiningOp<arith::MulFOp>();
    if (!product) return std::nullopt;
    Value x = product.getLhs(), s = product.getRhs();
    if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(x.getDefiningOp())) std::swap(x, s);
    auto scale = dyn_cast<BlockArgument>(s);
    if (!scale || scale.getOwner() != &g.getRegion().front()) return std::nullopt;
    q.scale = factorOf(g, scale.getArgNumber());
    number = x;
    if (auto convert = x.getDefiningOp<arith::SIToFPOp>();
        convert && convert.getIn().getType().isInteger(32))
      number = convert.getIn();
  } else if (!element.isInteger(32)) {
    return std::nullopt;
  }
  if (auto difference = number.getDefiningOp<arith::SubIOp>()) {
    auto zero = byteArgument(difference.getRhs(), g);
    if (!zero) return std::nullopt;
    q.zero = factorOf(g, zero->first, zero->second);
    number = difference.getLhs();
  }
  auto x = byteArgument(number, g);
  if (!x) return std::nullopt;
  OpOperand* bytes = g.getDpsInputOperand(x->first);
  if (!g.getMatchingIndexingMap(bytes).isIdentity()) return std::nullopt;
  q.bytes = bytes->get(), q.isUnsigned = x->second;
  return q;
}

std::optional<HostTensor> constantOf(Value v) {
  auto c = v.getDefiningOp<arith::ConstantOp>();
  auto elements = c ? dyn_cast<ElementsAttr>(c.getValue()) : ElementsAttr();
  return elements ? std::optional(toHostTensor(elements)) : std::nullopt;
}

/// Calls fn(i, at) for each element of a tensor, `at` its place.
void forElements(ArrayRef<int64_t> dims, llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> fn) {
  int64_t size = 1;
  for (int64_t d : dims)
    size *= d;
  SmallVector<int64_t> at(dims.size());
  for (int64_t i = 0; i < size; ++i) {
    fn(i, at);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

std::optional<Weights> weights(Value v, bool isUnsigned) {
  Type element = getElementTypeOrSelf(v.getType());
  Weights w;
  const bool isInteger = element.isInteger(32) || element.isInteger(8);
  if (auto c = isInteger ? constantOf(v) : std::nullopt) {
    w.numbers = HostTensor(IntegerType::get(v.getContext(), 32), c->dims);
    for (int64_t i = 0; i < c->size(); ++i) {
      const int64_t x = c->getInt(i, element.isInteger(8) && isUnsigned);
      if (x < -255 || x > 255) return std::nullopt;
      w.numbers.setInt(i, x);
    }
    return w;
  }
  auto q = quantised(v);
  auto bytes = q ? constantOf(q->bytes) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::optional<HostTensor> zero;
  if (q->zero.tensor && !(zero = constantOf(q->zero.tensor))) return std::nullopt;
  w.scale = q->scale;
  w.numbers = HostTensor(IntegerType::get(v.getContext(), 32), bytes->dims);
  forElements(bytes->dims, [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t x = bytes->getInt(i, q->isUnsigned);
    if (zero) {
      int64_t place = 0;
      for (auto [d, e] : llvm::enumerate(q->zero.map.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(e);
        place = place * zero->dims[d] +
                (dim ? at[dim.getPosition()] : cast<AffineConstantExpr>(e).getValue());
      }
      x -= zero->getInt(place, q->zero.isUnsigned);
    }
    w.numbers.setInt(i, x);
  });
  return w;
}

/// Weights as s8, or as i16 where that is too narrow, and the sums of each output channel.
struct Channels {
  HostTensor numbers, sum;
  bool anySum = false;
  int64_t terms = 0; // of a sum
};

/// `kept`: the dims of output channels.
Channels summedChannels(const HostTensor& numbers, ArrayRef<unsigned> kept) {
  SmallVector<int64_t> dims;
  for (unsigned d : kept)
    dims.push_back(numbers.dims[d]);
  MLIRContext* context = numbers.elementType.getContext();
  bool fits = true;
  for (int64_t i = 0; i < numbers.size(); ++i)
    fits &= numbers.getInt(i) >= -128 && numbers.getInt(i) <= 127;
  Channels c{HostTensor(IntegerType::get(context, fits ? 8 : 16), numbers.dims),
             HostTensor(IntegerType::get(context, 32), dims)};
  const int64_t count = c.sum.size();
  c.terms = count ? numbers.size() / count : 0;
  std::vector<int64_t> sum(count, 0);
  forElements(numbers.dims, [&](int64_t i, ArrayRef<int64_t> at) {
    int64_t k = 0;
    for (unsigned d : kept)
      k = k * numbers.dims[d] + at[d];
    c.numbers.setInt(i, numbers.getInt(i));
    sum[k] += numbers.getInt(i);
  });
  for (int64_t k = 0; k < count; ++k) {
    c.sum.setInt(k, sum[k]);
    c.anySum |= sum[k] != 0;
  }
  return c;
}

Value constant(OpBuilder& b, Location loc, const HostTensor& t) {
  return b.create<arith::ConstantOp>(loc, toAttribute(t));
}

/// What comes after a sum: elementwise ops on it that read factors by maps of its dims.
class After {
public:
  After(OpBuilder& b, Location loc, Value sum) : b(b), loc(loc), value(sum) {}

  using Body = llvm::function_ref<Value(OpBuilder&, Location, ValueRange)>;
  void apply(Type element, ArrayRef<Factor> factors, Body body) {
    const unsigned rank = cast<RankedTensorType>(value.getType()).getRank();
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    SmallVector<Value> inputs{value};
    SmallVector<AffineMap> maps{identity};
    for (const Factor& f : factors)
      inputs.push_back(f.tensor), maps.push_back(f.map);
    maps.push_back(identity);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    Value init = createEmpty(b, loc, getSizes(b, value), element);
    auto g =
        b.create<linalg::GenericOp>(loc, TypeRange{init.getType()}, inputs, init, maps, iterators,
                                    [&](OpBuilder& in, Location l, ValueRange args) {
                                      in.create<linalg::YieldOp>(l, body(in, l, args));
                                    });
    value = g.getResult(0);
  }
  Value get() const { return value; }

private:
  OpBuilder& b;
  Location loc;
  Value value;
};

Value widened(OpBuilder& b, Location loc, Value v, bool isUnsigned) {
  if (isUnsigned) return b.create<arith::ExtUIOp>(loc, b.getI32Type(), v);
  return b.create<arith::ExtSIOp>(loc, b.getI32Type(), v);
}

/// A product as both kinds of ops say it.
struct Product {
  Operation* op;
  Quantised left;
  Weights right;
  SmallVector<unsigned> kept; // dims of the weights that are output channels
  AffineMap channels;         // from the result's dims to them
  /// A factor of the left operand by the dims of the result; none when it is inside of the sum.
  std::function<std::optional<Factor>(const Factor&)> ofLeft;
  /// The same of the weights.
  std::function<std::optional<Factor>(const Factor&)> ofRight;
  /// The sum of products with the weights' numbers.
  std::function<Value(OpBuilder&, Value numbers)> sum;
};

/// The scales of the weights times that of the left numbers, when all are constants.
std::optional<HostTensor> productOfScales(const Factor& left, const Factor& right) {
  auto one = constantOf(left.tensor), many = constantOf(right.tensor);
  if (!one || !many || one->size() != 1) return std::nullopt;
  HostTensor product(many->elementType, many->dims);
  const float scale = *one->as<float>();
  for (int64_t i = 0; i < many->size(); ++i)
    product.as<float>()[i] = scale * many->as<float>()[i];
  return product;
}

/// Makes floats of a sum of numbers.
void applyScales(After& after, OpBuilder& b, Location loc, const Factor& left,
                 const Factor& right) {
  const auto scaled = [](OpBuilder& in, Location l, Value sum, Value factor) -> Value {
    Value x = in.create<arith::SIToFPOp>(l, in.getF32Type(), sum);
    return in.create<arith::MulFOp>(l, x, factor);
  };
  if (auto factor = productOfScales(left, right))
    after.apply(b.getF32Type(), {Factor{constant(b, loc, *factor), right.map}},
                [&](OpBuilder& in, Location l, ValueRange v) { return scaled(in, l, v[0], v[1]); });
  else
    after.apply(b.getF32Type(), {left, right}, [&](OpBuilder& in, Location l, ValueRange v) {
      return scaled(in, l, v[0], in.create<arith::MulFOp>(l, v[1], v[2]));
    });
}

void rewrite(Product& p) {
  auto zero = p.ofLeft(p.left.zero), scale = p.ofLeft(p.left.scale),
       ofWeights = p.ofRight(p.right.scale);
  if (!zero || !scale || !ofWeights) return;
  const Channels channels = summedChannels(p.right.numbers, p.kept);
  const bool isFloat = getElementTypeOrSelf(p.op->getResult(0).getType()).isF32();
  // Floats do not wrap.
  if (isFloat && channels.terms > INT32_MAX / (2 * 255 * 255)) return;

  OpBuilder b(p.op);
  Location loc = p.op->getLoc();
  Type i32 = b.getI32Type();
  After after(b, loc, p.sum(b, constant(b, loc, channels.numbers)));
  if (zero->tensor && channels.anySum) {
    if (auto number = constantOf(zero->tensor); number && number->size() == 1) {
      HostTensor bias(i32, channels.sum.dims);
      for (int64_t i = 0; i < bias.size(); ++i)
        bias.setInt(i, -number->getInt(0, zero->isUnsigned) * channels.sum.getInt(i));
      after.apply(i32, {Factor{constant(b, loc, bias), p.channels}},
                  [](OpBuilder& in, Location l, ValueRange v) -> Value {
                    return in.create<arith::AddIOp>(l, v[0], v[1]);
                  });
    } else {
      after.apply(i32, {*zero, Factor{constant(b, loc, channels.sum), p.channels}},
                  [&](OpBuilder& in, Location l, ValueRange v) -> Value {
                    Value z = widened(in, l, v[1], zero->isUnsigned);
                    return in.create<arith::SubIOp>(l, v[0], in.create<arith::MulIOp>(l, z, v[2]));
                  });
    }
  }
  if (isFloat) applyScales(after, b, loc, *scale, *ofWeights);
  p.op->getResult(0).replaceAllUsesWith(after.get());
  p.op->erase();
}

/// The operand's element types and scales are those of a product of numbers, or of floats.
bool fitTogether(Operation* op, const Quantised& left, const Weights& right) {
  const bool isFloat = getElementTypeOrSelf(op->getResult(0).getType()).isF32();
  return (left.scale.tensor != nullptr) == isFloat && (right.scale.tensor != nullptr) == isFloat;
}

std::optional<Quantised> leftOf(Value v, bool isUnsigned) {
  if (getElementTypeOrSelf(v.getType()).isInteger(8)) return Quantised{v, isUnsigned, {}, {}};
  return quantised(v);
}

bool isProductType(Operation* op) {
  Type t = getElementTypeOrSelf(op->getResult(0).getType());
  return t.isF32() || t.isInteger(32);
}

void narrow(ContractOp op) {
  // The right operand first: only a constant one goes on.
  auto right = weights(op.getRhs(), op.getRhsUnsigned());
  auto left = right ? leftOf(op.getLhs(), op.getLhsUnsigned()) : std::nullopt;
  if (!left || !fitTogether(op, *left, *right)) return;
  MLIRContext* context = op.getContext();
  const unsigned rank = op.map(2).getNumResults();
  // Where the result has a loop.
  auto ofResult = [&](unsigned loop) -> AffineExpr {
    for (auto [d, e] : llvm::enumerate(op.map(2).getResults()))
      if (e == getAffineDimExpr(loop, context)) return getAffineDimExpr(d, context);
    return {};
  };
  auto placed = [&](unsigned operand) {
    return [&, operand](const Factor& f) -> std::optional<Factor> {
      if (!f.tensor) return f;
      SmallVector<AffineExpr> exprs;
      for (AffineExpr e : f.map.getResults()) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          e = ofResult(op.map(operand).getDimPosition(dim.getPosition()));
        else if (!isa<AffineConstantExpr>(e))
          e = {};
        if (!e) return std::nullopt;
        exprs.push_back(e);
      }
      return Factor{f.tensor, AffineMap::get(rank, 0, exprs, context), f.isUnsigned};
    };
  };
  Product p{op, *left, *right, {}, {}, placed(0), placed(1), {}};
  SmallVector<AffineExpr> channels;
  for (auto [d, e] : llvm::enumerate(op.map(1).getResults()))
    if (AffineExpr there = ofResult(cast<AffineDimExpr>(e).getPosition()))
      p.kept.push_back(d), channels.push_back(there);
    else if (!op.map(0).isFunctionOfDim(cast<AffineDimExpr>(e).getPosition()))
      return; // summed over on its own
  p.channels = AffineMap::get(rank, 0, channels, context);
  p.sum = [&](OpBuilder& b, Value numbers) -> Value {
    Value init = createEmpty(b, op.getLoc(), getSizes(b, op.getInit()), b.getI32Type());
    return b.create<ContractOp>(op.getLoc(), init.getType(), left->bytes, numbers, init,
                                op.getIndexingMaps(), left->isUnsigned, false);
  };
  rewrite(p);
}

void narrow(ConvOp op) {
  auto right = weights(op.getWeights(), op.getWeightsUnsigned());
  auto left =
      right && !op.getPadding() ? leftOf(op.getInput(), op.getInputUnsigned()) : std::nullopt;
  if (!left || !fitTogether(op, *left, *right)) return;
  MLIRContext* context = op.getContext();
  const unsigned rank = op.spatialRank() + 2;
  AffineExpr channel = getAffineDimExpr(op.channelDim(), context);
  // One zero point and scale for all of the input; padding holds the former.
  const bool pads = llvm::any_of(op.getPads(), [](int64_t p) { return p != 0; });
  if (pads && left->zero.tensor && left->zero.map.getNumResults()) return;
  auto ofInput = [&](const Factor& f) -> std::optional<Factor> {
    if (!f.tensor) return f;
    if (!isOne(f)) return std::nullopt;
    return Factor{f.tensor, AffineMap::get(rank, 0, f.map.getResults(), context), f.isUnsigned};
  };
  auto ofWeights = [&](const Factor& f) -> std::optional<Factor> {
    if (!f.tensor) return f;
    SmallVector<AffineExpr> exprs;
    for (AffineExpr e : f.map.getResults()) {
      if (e == getAffineDimExpr(0, context))
        e = channel;
      else if (!isa<AffineConstantExpr>(e))
        return std::nullopt;
      exprs.push_back(e);
    }
    return Factor{f.tensor, AffineMap::get(rank, 0, exprs, context), f.isUnsigned};
  };
  Product p{op,      *left,     *right, {0}, AffineMap::get(rank, 0, channel, context),
            ofInput, ofWeights, {}};
  p.sum = [&](OpBuilder& b, Value numbers) -> Value {
    Value init = createEmpty(b, op.getLoc(), getSizes(b, op.getInit()), b.getI32Type());
    return b.create<ConvOp>(op.getLoc(), init.getType(), left->bytes, numbers, init,
                            pads ? left->zero.tensor : Value(), op.getStrides(), op.getDilations(),
                            op.getPads(), op.getGroup(), op.getLayout(), left->isUnsigned, false);
  };
  rewrite(p);
}

struct NarrowProductsPass : impl::NarrowProductsBase<NarrowProductsPass> {
  void runOnOperation() override {
    SmallVector<Operation*> products;
    getOperation().walk([&](Operation* op) {
      if (isa<ContractOp, ConvOp>(op) && isProductType(op)) products.push_back(op);
    });
    for (Operation* op : products)
      if (auto contract = dyn_cast<ContractOp>(op))
        narrow(contract);
      else
        narrow(cast<ConvOp>(op));
  }
};
} // namespace
} // namespace ortc
