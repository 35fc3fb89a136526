// SPDX-License-Identifier: Apache-2.0
// Assumes simplified tensor IR. Comes before everything that looks for elementwise ops directly
// after a contraction or convolution: FoldScaleIntoWeights, and the epilogues of FormKernels.
#include "compiler/passes/Passes.h"
#include "compiler/passes/Transposes.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_SINKRESHAPE
#include "compiler/passes/Passes.h.inc"

namespace {
struct SinkReshapePass : impl::SinkReshapeBase<SinkReshapePass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp>
        ops; // in order, so that one walk carries a reshape as far as it goes
    getOperation().walk<WalkOrder::PreOrder>([&](linalg::GenericOp g) { ops.push_back(g); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp g : ops)
      sink(rewriter, g);
  }

  static void sink(RewriterBase& rewriter, linalg::GenericOp g) {
    if (g.getNumReductionLoops() || g.hasIndexSemantics() || g.getNumDpsInits() != 1) return;
    if (!g.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() ||
        !g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity())
      return;
    for (OpOperand* operand : g.getDpsInputOperands()) {
      auto reshape = operand->get().getDefiningOp<ReshapeOp>();
      if (!reshape || !isa_and_nonnull<ContractOp, ConvOp, linalg::GenericOp>(
                          reshape.getSource().getDefiningOp()))
        continue;
      if (rewrite(rewriter, g, operand, reshape.getSource())) return;
    }
  }

  /// For each dim of the operand the loop that runs along it, when these are all loops in order
  /// (but for those of one turn); empty otherwise.
  static SmallVector<int64_t> loopsInOrder(linalg::GenericOp g, OpOperand* operand,
                                           ArrayRef<OpFoldResult> sizes,
                                           ArrayRef<OpFoldResult> extents) {
    SmallVector<int64_t> r;
    unsigned next = 0;
    auto skipOnes = [&] {
      while (next < extents.size() && constantSize(extents[next]) == 1)
        ++next;
    };
    for (auto [d, e] : llvm::enumerate(g.getMatchingIndexingMap(operand).getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      r.push_back(dim ? static_cast<int64_t>(dim.getPosition()) : -1);
      if (constantSize(sizes[d]) == 1) continue;
      skipOnes();
      if (!dim || dim.getPosition() != next) return {};
      ++next;
    }
    skipOnes();
    return next == extents.size() ? r : SmallVector<int64_t>();
  }

  /// Computes `g` over the dims of x, which the operand is a reshape of.
  static bool rewrite(RewriterBase& rewriter, linalg::GenericOp g, OpOperand* through, Value x) {
    rewriter.setInsertionPoint(g);
    Sizes from = getSizes(rewriter, x), to = getSizes(rewriter, through->get()),
          extents = getSizes(rewriter, g.getDpsInits()[0]);
    unsigned rank = from.size();
    SmallVector<int64_t> along = loopsInOrder(g, through, to, extents);
    if (along.empty()) return false;
    // Each loop as an index of x; null where several dims become one or the other way round.
    SmallVector<AffineExpr> loops(extents.size());
    for (const DimGroup& group : groupDims(from, to)) {
      SmallVector<unsigned> ins, outs;
      for (unsigned d = group.from0; d < group.from1; ++d)
        if (constantSize(from[d]) != 1) ins.push_back(d);
      for (unsigned d = group.to0; d < group.to1; ++d)
        if (constantSize(to[d]) != 1) outs.push_back(d);
      if (ins.size() == 1 && outs.size() == 1)
        loops[along[outs[0]]] = rewriter.getAffineDimExpr(ins[0]);
    }
    for (auto [d, size] : llvm::enumerate(extents))
      if (constantSize(size) == 1) loops[d] = rewriter.getAffineConstantExpr(0);
    SmallVector<Value> ins;
    SmallVector<AffineMap> maps;
    for (OpOperand* operand : g.getDpsInputOperands()) {
      // Another reshape of a tensor of these sizes: the same dims.
      auto reshape = operand->get().getDefiningOp<ReshapeOp>();
      if (operand == through ||
          (reshape && sameSizes(getSizes(rewriter, reshape.getSource()), from) &&
           sameSizes(getSizes(rewriter, operand->get()), to) &&
           g.getMatchingIndexingMap(operand) == g.getMatchingIndexingMap(through))) {
        ins.push_back(reshape.getSource());
        maps.push_back(rewriter.getMultiDimIdentityMap(rank));
        continue;
      }
      SmallVector<AffineExpr> exprs;
      for (AffineExpr e : g.getMatchingIndexingMap(operand).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(e);
        if (!dim && !isa<AffineConstantExpr>(e)) return false;
        if (dim && !loops[dim.getPosition()]) return false;
        exprs.push_back(dim ? loops[dim.getPosition()] : e);
      }
      ins.push_back(operand->get());
      maps.push_back(AffineMap::get(rank, 0, exprs, rewriter.getContext()));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(rank));
    Value init =
        createEmpty(rewriter, g.getLoc(), from, getElementTypeOrSelf(g.getResult(0).getType()));
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    auto made = rewriter.create<linalg::GenericOp>(g.getLoc(), TypeRange{init.getType()}, ins,
                                                   ValueRange{init}, maps, iterators);
    rewriter.inlineRegionBefore(g.getRegion(), made.getRegion(), made.getRegion().begin());
    rewriter.replaceOpWithNewOp<ReshapeOp>(g, g.getResult(0).getType(), made.getResult(0),
                                           g.getDpsInits()[0]);
    return true;
  }
};
} // namespace
} // namespace ortc
