// SPDX-License-Identifier: Apache-2.0
// What exporters compute from Shape leaves comparisons with -1, maxima of a size with itself and
// quotients of products in the sizes of tensors. While they stay, equal sizes are not seen to be
// equal, every broadcast has to ask at run time whether a dim is 1, and kernels fall apart at such
// places.
#include "compiler/passes/SizePatterns.h"
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"

using namespace mlir;

namespace ortc {
namespace {

/// x < y and the like, where the ranges of both do not meet.
struct CompareByRange : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter& rewriter) const override {
    auto range = [](Value v) { // sizes that were cast to i64 included
      if (auto cast = v.getDefiningOp<arith::IndexCastOp>();
          cast && cast.getIn().getType().isIndex())
        v = cast.getIn();
      return indexRange(OpFoldResult(v));
    };
    auto [a, b] = range(op.getLhs());
    auto [c, d] = range(op.getRhs());
    std::optional<bool> known;
    using P = arith::CmpIPredicate;
    switch (op.getPredicate()) {
    case P::eq:
      if (b < c || d < a) known = false;
      break;
    case P::ne:
      if (b < c || d < a) known = true;
      break;
    case P::slt:
      if (b < c)
        known = true;
      else if (a >= d)
        known = false;
      break;
    case P::sle:
      if (b <= c)
        known = true;
      else if (a > d)
        known = false;
      break;
    case P::sgt:
      if (a > d)
        known = true;
      else if (b <= c)
        known = false;
      break;
    case P::sge:
      if (a >= d)
        known = true;
      else if (b < c)
        known = false;
      break;
    default: break;
    }
    // An end that is not known is the smallest or largest number, which a value may be.
    if (!known || a > b || c > d) return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getBoolAttr(*known));
    return success();
  }
};

/// max(x, y) = x where y is never more: by their ranges, or because y is a minimum with x.
template <typename Op, typename Dual, bool isMax> struct ExtremeByRange : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    if (!op.getLhs().getType().isIndex()) return failure();
    for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      if (wins(x, y)) {
        rewriter.replaceOp(op, x);
        return success();
      }
    }
    return failure();
  }
  static bool wins(Value x, Value y) {
    if (sameSize(x, y)) return true;
    if (auto dual = y.template getDefiningOp<Dual>())
      if (sameSize(dual.getLhs(), x) || sameSize(dual.getRhs(), x)) return true;
    if (auto same = x.template getDefiningOp<Op>())
      if (sameSize(same.getLhs(), y) || sameSize(same.getRhs(), y)) return true;
    auto [a, b] = indexRange(OpFoldResult(x));
    auto [c, d] = indexRange(OpFoldResult(y));
    if (isMax) return a != INT64_MIN && d != INT64_MAX && a >= d;
    return b != INT64_MAX && c != INT64_MIN && b <= c;
  }
};

/// The factors of a product, constants gathered.
static void factorsOf(Value v, int64_t& constant, SmallVectorImpl<Value>& values) {
  if (auto c = getConstantIntValue(v)) {
    constant *= *c;
    return;
  }
  if (auto mul = v.getDefiningOp<arith::MulIOp>()) {
    factorsOf(mul.getLhs(), constant, values);
    factorsOf(mul.getRhs(), constant, values);
    return;
  }
  values.push_back(v);
}

/// (a * b * 384) / max(a * b, 1) = 384, which is how the size -1 of a Reshape comes out. (Of no
/// elements any size is right.)
struct CancelQuotient : OpRewritePattern<arith::FloorDivSIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::FloorDivSIOp op, PatternRewriter& rewriter) const override {
    if (!op.getLhs().getType().isIndex()) return failure();
    Value divisor = op.getRhs();
    if (auto max = divisor.getDefiningOp<arith::MaxSIOp>())
      if (getConstantIntValue(max.getRhs()) == 1) divisor = max.getLhs();
    int64_t above = 1, below = 1;
    SmallVector<Value> tops, bottoms;
    factorsOf(op.getLhs(), above, tops);
    factorsOf(divisor, below, bottoms);
    if (bottoms.empty() || below <= 0 || above % below) return failure();
    for (Value v : bottoms) {
      auto it = llvm::find_if(tops, [&](Value t) { return sameSize(t, v); });
      if (it == tops.end() || indexRange(OpFoldResult(v)).first < 0) return failure();
      tops.erase(it);
    }
    OpFoldResult r = rewriter.getIndexAttr(above / below);
    for (Value v : tops)
      r = mulSizes(rewriter, op.getLoc(), r, v);
    rewriter.replaceOp(op, sizeValue(rewriter, op.getLoc(), r));
    return success();
  }
};

/// The size of the result along a loop of a generic.
static OpFoldResult extentOf(OpBuilder& b, linalg::GenericOp g, unsigned loop) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(g);
  AffineMap out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  for (auto [d, e] : llvm::enumerate(out.getResults()))
    if (e == getAffineDimExpr(loop, g.getContext())) return getSize(b, g.getDpsInits()[0], d);
  return {};
}

/// size == 1 ? 0 : i, where i runs over that size, is i.
struct PlainBroadcastIndex : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter& rewriter) const override {
    auto index = op.getFalseValue().getDefiningOp<linalg::IndexOp>();
    auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!index || !compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
        getConstantIntValue(op.getTrueValue()) != 0 || getConstantIntValue(compare.getRhs()) != 1)
      return failure();
    auto g = op->getParentOfType<linalg::GenericOp>();
    if (!g || g.getNumDpsInits() != 1) return failure();
    OpFoldResult extent = extentOf(rewriter, g, index.getDim());
    if (!extent || !sameSize(extent, compare.getLhs())) return failure();
    rewriter.replaceOp(op, index.getResult());
    return success();
  }
};

/// What a body reads at its loops' own indices is an operand.
struct ExtractIsOperand : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp g, PatternRewriter& rewriter) const override {
    if (g.getNumDpsInits() != 1 || g.getNumReductionLoops()) return failure();
    Block& body = g.getRegion().front();
    for (auto extract : body.getOps<tensor::ExtractOp>()) {
      if (g.getRegion().isAncestor(extract.getTensor().getParentRegion())) continue;
      SmallVector<AffineExpr> exprs;
      bool plain = true;
      for (auto [d, i] : llvm::enumerate(extract.getIndices())) {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(g);
        OpFoldResult size = getSize(rewriter, extract.getTensor(), d);
        if (auto index = i.getDefiningOp<linalg::IndexOp>()) {
          AffineExpr e = rewriter.getAffineDimExpr(index.getDim());
          OpFoldResult extent = extentOf(rewriter, g, index.getDim());
          plain &= extent && sameSize(extent, size) && !llvm::is_contained(exprs, e);
          exprs.push_back(e);
        } else {
          plain &= getConstantIntValue(i) == 0;
          exprs.push_back(rewriter.getAffineConstantExpr(0));
        }
      }
      if (!plain) continue;
      SmallVector<AffineMap> maps = g.getIndexingMapsArray();
      maps.insert(maps.end() - 1, AffineMap::get(g.getNumLoops(), 0, exprs, rewriter.getContext()));
      SmallVector<Value> ins(g.getDpsInputs());
      ins.push_back(extract.getTensor());
      rewriter.setInsertionPoint(g);
      auto made = rewriter.create<linalg::GenericOp>(
          g.getLoc(), g.getResultTypes(), ins, g.getDpsInits(), maps, g.getIteratorTypesArray());
      Value arg =
          body.insertArgument(body.getNumArguments() - 1, extract.getType(), extract.getLoc());
      rewriter.replaceOp(extract, arg);
      rewriter.inlineRegionBefore(g.getRegion(), made.getRegion(), made.getRegion().begin());
      rewriter.replaceOp(g, made);
      return success();
    }
    return failure();
  }
};

/// A copy is its source.
struct DropCopy : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp g, PatternRewriter& rewriter) const override {
    if (g.getNumDpsInputs() != 1 || g.getNumDpsInits() != 1 || g.getNumReductionLoops())
      return failure();
    Block& body = g.getRegion().front();
    if (body.getTerminator()->getOperand(0) != body.getArgument(0)) return failure();
    if (g.getMatchingIndexingMap(g.getDpsInputOperand(0)) !=
        g.getMatchingIndexingMap(g.getDpsInitOperand(0)))
      return failure();
    if (!g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isPermutation() ||
        g.getDpsInputs()[0].getType() != g.getResult(0).getType())
      return failure();
    rewriter.replaceOp(g, g.getDpsInputs()[0]);
    return success();
  }
};

} // namespace

void populateSizePatterns(RewritePatternSet& patterns) {
  patterns.add<CompareByRange, ExtremeByRange<arith::MaxSIOp, arith::MinSIOp, true>,
               ExtremeByRange<arith::MinSIOp, arith::MaxSIOp, false>, CancelQuotient,
               PlainBroadcastIndex, ExtractIsOperand, DropCopy>(patterns.getContext());
}

} // namespace ortc
