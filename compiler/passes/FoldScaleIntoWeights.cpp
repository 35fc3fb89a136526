// SPDX-License-Identifier: Apache-2.0
// Assumes simplified tensor IR with constants folded (the factors of a batch normalisation are
// computed from its statistics). Comes before AssignLayout. Only float types that hold what is
// folded: narrower ones would be rounded in another place than the model says.
#include "compiler/ir/Sizes.h"
#include "compiler/passes/Passes.h"
#include <cmath>

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_FOLDSCALEINTOWEIGHTS
#include "compiler/passes/Passes.h.inc"

namespace {

/// factor * y + offset; one entry for all channels, or one each.
struct Affine {
  std::vector<double> factor, offset;
};

/// Which dim of the result is the output channel, and the dim of the weights it comes from.
struct Channel {
  unsigned ofResult, ofWeights;
  int64_t count;
};

std::vector<double> combine(const std::vector<double>& x, const std::vector<double>& y,
                            double (*fn)(double, double)) {
  size_t n = std::max(x.size(), y.size());
  std::vector<double> r(n);
  for (size_t i = 0; i < n; ++i)
    r[i] = fn(x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
  return r;
}
double plus(double a, double b) {
  return a + b;
}
double minus(double a, double b) {
  return a - b;
}
double times(double a, double b) {
  return a * b;
}
double over(double a, double b) {
  return a / b;
}

/// The body of an elementwise op as factor and offset of one operand, per channel; none when it is
/// something else.
class BodyReader {
public:
  BodyReader(linalg::GenericOp g, Value y, Channel channel) : g(g), y(y), channel(channel) {}

  std::optional<Affine> read() {
    return valueOf(g.getRegion().front().getTerminator()->getOperand(0));
  }

private:
  linalg::GenericOp g;
  Value y;
  Channel channel;

  static bool isConstant(const Affine& a) { return a.factor.size() == 1 && a.factor[0] == 0; }

  std::optional<Affine> valueOf(Value v) {
    if (auto arg = dyn_cast<BlockArgument>(v))
      return arg.getOwner() == &g.getRegion().front() ? ofArgument(arg.getArgNumber())
                                                      : std::nullopt;
    Operation* op = v.getDefiningOp();
    if (auto c = dyn_cast<arith::ConstantOp>(op)) {
      auto f = dyn_cast<FloatAttr>(c.getValue());
      return f ? std::optional(Affine{{0}, {f.getValueAsDouble()}}) : std::nullopt;
    }
    if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op)) return std::nullopt;
    auto a = valueOf(op->getOperand(0)), b = a ? valueOf(op->getOperand(1)) : std::nullopt;
    if (!a || !b) return std::nullopt;
    if (isa<arith::AddFOp>(op))
      return Affine{combine(a->factor, b->factor, plus), combine(a->offset, b->offset, plus)};
    if (isa<arith::SubFOp>(op))
      return Affine{combine(a->factor, b->factor, minus), combine(a->offset, b->offset, minus)};
    if (isa<arith::DivFOp>(op)) {
      if (!isConstant(*b)) return std::nullopt;
      return Affine{combine(a->factor, b->offset, over), combine(a->offset, b->offset, over)};
    }
    if (!isConstant(*a)) std::swap(a, b);
    if (!isConstant(*a)) return std::nullopt;
    return Affine{combine(b->factor, a->offset, times), combine(b->offset, a->offset, times)};
  }

  std::optional<Affine> ofArgument(unsigned i) {
    OpOperand& operand = g->getOpOperand(i);
    AffineMap map = g.getMatchingIndexingMap(&operand);
    if (operand.get() == y)
      return map.isIdentity() ? std::optional(Affine{{1}, {0}}) : std::nullopt;
    auto constant = operand.get().getDefiningOp<arith::ConstantOp>();
    auto elements = constant ? dyn_cast<ElementsAttr>(constant.getValue()) : ElementsAttr();
    if (!elements) return std::nullopt;
    // Read along the channel, or at one place.
    for (auto [d, e] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      bool one = cast<RankedTensorType>(operand.get().getType()).getDimSize(d) == 1;
      if (!one && (!dim || dim.getPosition() != channel.ofResult)) return std::nullopt;
    }
    HostTensor t = toHostTensor(elements);
    if (t.size() != 1 && t.size() != channel.count) return std::nullopt;
    Affine a{{0}, std::vector<double>(t.size())};
    for (int64_t k = 0; k < t.size(); ++k)
      a.offset[k] = t.getDouble(k);
    return a;
  }
};

struct FoldScaleIntoWeightsPass : impl::FoldScaleIntoWeightsBase<FoldScaleIntoWeightsPass> {
  void runOnOperation() override {
    SmallVector<Operation*> heavy;
    getOperation().walk([&](Operation* op) {
      if (isa<ConvOp, ContractOp>(op)) heavy.push_back(op);
    });
    for (Operation* op : heavy)
      if (auto contract = dyn_cast<ContractOp>(op)) pullFactors(contract);
    for (Operation* op : heavy)
      fold(op);
  }

  /// When `v` is x times a constant, elementwise: x and the constant.
  static std::pair<Value, double> factorOf(Value v) {
    auto g = v.getDefiningOp<linalg::GenericOp>();
    if (!g || !v.hasOneUse() || g.getNumReductionLoops() || g.getNumDpsInits() != 1) return {};
    Value x;
    for (OpOperand* operand : g.getDpsInputOperands())
      if (!operand->get().getDefiningOp<arith::ConstantOp>()) {
        if (x) return {};
        x = operand->get();
      }
    if (!x || x.getType() != v.getType() ||
        !g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity())
      return {};
    auto a = BodyReader(g, x, Channel{~0u, 0, -1}).read();
    if (!a || a->factor.size() != 1 || a->offset.size() != 1 || a->offset[0] != 0 ||
        !std::isfinite(a->factor[0]))
      return {};
    return {x, a->factor[0]};
  }

  /// Factors of the operands of a product (attention scales queries and keys) become one of its
  /// result.
  static void pullFactors(ContractOp op) {
    Type element = getElementTypeOrSelf(op.getResult().getType());
    if (!(element.isF32() || element.isF64()) ||
        getElementTypeOrSelf(op.getLhs().getType()) != element)
      return;
    double factor = 1;
    for (unsigned o : {0u, 1u}) {
      auto reshape = op->getOperand(o).getDefiningOp<ReshapeOp>();
      if (reshape && !reshape->hasOneUse()) continue;
      auto [x, f] = factorOf(reshape ? reshape.getSource() : op->getOperand(o));
      if (!x) continue;
      if (reshape)
        reshape.getSourceMutable().assign(x);
      else
        op->setOperand(o, x);
      factor *= f;
    }
    if (factor == 1) return;
    OpBuilder b(op);
    b.setInsertionPointAfter(op);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
    SmallVector<AffineMap> maps{identity, identity};
    SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
    Value init = createEmpty(b, op.getLoc(), getSizes(b, op.getInit()), element);
    auto g = b.create<linalg::GenericOp>(
        op.getLoc(), TypeRange{type}, op.getResult(), init, maps, iterators,
        [&](OpBuilder& body, Location l, ValueRange args) {
          Value c = body.create<arith::ConstantOp>(l, body.getFloatAttr(element, factor));
          body.create<linalg::YieldOp>(l, body.create<arith::MulFOp>(l, args[0], c).getResult());
        });
    op.getResult().replaceAllUsesExcept(g.getResult(0), g);
  }

  static std::optional<Channel> channelOf(Operation* op) {
    auto weights = cast<RankedTensorType>(op->getOperand(1).getType());
    if (auto conv = dyn_cast<ConvOp>(op))
      return Channel{static_cast<unsigned>(conv.channelDim()), 0, weights.getDimSize(0)};
    auto contract = cast<ContractOp>(op);
    // The last dim of the result that only the weights have.
    for (unsigned d = contract.map(2).getNumResults(); d-- > 0;) {
      unsigned loop = contract.map(2).getDimPosition(d);
      if (contract.map(0).isFunctionOfDim(loop)) continue;
      for (auto [w, e] : llvm::enumerate(contract.map(1).getResults()))
        if (e == getAffineDimExpr(loop, op->getContext()))
          return Channel{d, static_cast<unsigned>(w), weights.getDimSize(w)};
    }
    return std::nullopt;
  }

  void fold(Operation* op) {
    Value y = op->getResult(0);
    Type element = getElementTypeOrSelf(y.getType());
    auto weights = op->getOperand(1).getDefiningOp<arith::ConstantOp>();
    auto channel = weights ? channelOf(op) : std::nullopt;
    if (!channel || !(element.isF32() || element.isF64()) ||
        getElementTypeOrSelf(weights.getType()) != element)
      return;
    // As many ops as there are in a row.
    Affine all{{1}, {0}};
    Value end = y;
    SmallVector<Operation*> chain;
    while (end.hasOneUse()) {
      auto g = dyn_cast<linalg::GenericOp>(*end.getUsers().begin());
      if (!g || g.getNumReductionLoops() || g.getNumDpsInits() != 1 ||
          g->getBlock() != op->getBlock())
        break;
      if (!g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity() ||
          g.getResult(0).getType() != y.getType())
        break;
      auto a = BodyReader(g, end, *channel).read();
      if (!a) break;
      auto finite = [](double v) { return std::isfinite(v); };
      if (!llvm::all_of(a->factor, finite) || !llvm::all_of(a->offset, finite)) break;
      all.offset = combine(combine(all.offset, a->factor, times), a->offset, plus);
      all.factor = combine(all.factor, a->factor, times);
      end = g.getResult(0);
      chain.push_back(g);
    }
    bool scales = llvm::any_of(all.factor, [](double f) { return f != 1; });
    bool shifts = llvm::any_of(all.offset, [](double f) { return f != 0; });
    // A single addition stays what it is.
    if (chain.empty() || (!scales && chain.size() == 1 && shifts)) return;
    OpBuilder b(op);
    if (scales) op->setOperand(1, scaled(b, weights, *channel, all.factor));
    SmallVector<Location> locs;
    for (Operation* g : chain)
      locs.push_back(g->getLoc());
    b.setInsertionPoint(chain.back());
    Value result =
        shifts ? shifted(b, FusedLoc::get(b.getContext(), locs), y, *channel, all.offset) : y;
    end.replaceAllUsesWith(result);
    for (Operation* dead : llvm::reverse(chain))
      dead->erase();
  }

  static Value scaled(OpBuilder& b, arith::ConstantOp weights, Channel channel,
                      const std::vector<double>& factor) {
    HostTensor w = toHostTensor(cast<ElementsAttr>(weights.getValue())), r(w.elementType, w.dims);
    int64_t inner = 1;
    for (size_t d = channel.ofWeights + 1; d < w.dims.size(); ++d)
      inner *= w.dims[d];
    for (int64_t i = 0; i < w.size(); ++i)
      r.setDouble(i, w.getDouble(i) * factor[factor.size() == 1 ? 0 : i / inner % channel.count]);
    return b.create<arith::ConstantOp>(weights.getLoc(), toAttribute(r));
  }

  /// y + offset
  static Value shifted(OpBuilder& b, Location loc, Value y, Channel channel,
                       const std::vector<double>& offset) {
    auto type = cast<RankedTensorType>(y.getType());
    SmallVector<int64_t> dims;
    if (offset.size() > 1) dims.push_back(channel.count);
    HostTensor t(type.getElementType(), dims);
    for (int64_t i = 0; i < t.size(); ++i)
      t.setDouble(i, offset[i]);
    Value bias = b.create<arith::ConstantOp>(loc, toAttribute(t));
    int64_t rank = type.getRank();
    SmallVector<AffineExpr> read;
    if (!dims.empty()) read.push_back(b.getAffineDimExpr(channel.ofResult));
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    SmallVector<AffineMap> maps{identity, AffineMap::get(rank, 0, read, b.getContext()), identity};
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    Value init = createEmpty(b, loc, getSizes(b, y), type.getElementType());
    auto g = b.create<linalg::GenericOp>(
        loc, TypeRange{type}, ValueRange{y, bias}, init, maps, iterators,
        [](OpBuilder& body, Location l, ValueRange args) {
          body.create<linalg::YieldOp>(l,
                                       body.create<arith::AddFOp>(l, args[0], args[1]).getResult());
        });
    return g.getResult(0);
  }
};
} // namespace
} // namespace ortc
