// SPDX-License-Identifier: Apache-2.0
// Only for targets whose convolutions want channels last. Assumes simplified tensor IR with
// constants folded, so that weights are seen as constants; comes after FoldScaleIntoWeights, which
// knows output channels by their dim, and before kernels are formed.
#include "compiler/passes/Passes.h"
#include "compiler/passes/Transposes.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_ASSIGNLAYOUT
#include "compiler/passes/Passes.h.inc"

namespace {
struct AssignLayoutPass : impl::AssignLayoutBase<AssignLayoutPass> {
  void runOnOperation() override {
    SmallVector<ConvOp> convolutions;
    getOperation().walk([&](ConvOp op) {
      if (!op.isChannelsLast()) convolutions.push_back(op);
    });
    if (convolutions.empty()) return;
    IRRewriter rewriter(&getContext());
    DenseMap<Value, Value> last; // one transpose for all that read a tensor
    for (ConvOp op : convolutions) {
      int64_t n = op.spatialRank();
      Permutation toLast{0};
      for (int64_t i = 0; i < n; ++i)
        toLast.push_back(i + 2);
      toLast.push_back(1);
      Value& x = last[op.getInput()];
      if (!x) {
        rewriter.setInsertionPointAfterValue(op.getInput());
        if (auto arg = dyn_cast<BlockArgument>(op.getInput())) skipDims(rewriter, arg.getOwner());
        x = createTranspose(rewriter, op.getLoc(), op.getInput(), toLast);
      }
      rewriter.setInsertionPoint(op);
      Sizes sizes = getSizes(rewriter, op.getInit()), moved;
      for (int64_t d : toLast)
        moved.push_back(sizes[d]);
      Value init =
          createEmpty(rewriter, op.getLoc(), moved, getElementTypeOrSelf(op.getResult().getType()));
      auto made = rewriter.create<ConvOp>(op.getLoc(), init.getType(), x, op.getWeights(), init,
                                          op.getPadding(), op.getStrides(), op.getDilations(),
                                          op.getPads(), op.getGroup(), "nhwc",
                                          op.getInputUnsigned(), op.getWeightsUnsigned());
      rewriter.replaceOp(op,
                         createTranspose(rewriter, op.getLoc(), made.getResult(), inverse(toLast)));
    }
    moveTransposes(getOperation());
    getOperation().walk([&](linalg::GenericOp g) { dropOnes(rewriter, g); });
  }

  /// A constant per channel, (channels, 1, 1), is read along the last loop now; epilogues want it
  /// to be its last dim.
  static void dropOnes(RewriterBase& rewriter, linalg::GenericOp g) {
    SmallVector<AffineMap> maps = g.getIndexingMapsArray();
    bool changed = false;
    for (OpOperand* operand : g.getDpsInputOperands()) {
      AffineMap& map = maps[operand->getOperandNumber()];
      if (!operand->get().getDefiningOp<arith::ConstantOp>() || !map.isProjectedPermutation(true))
        continue;
      auto type = cast<RankedTensorType>(operand->get().getType());
      SmallVector<AffineExpr> exprs;
      SmallVector<int64_t> shape;
      // One column of a table is read at a constant place, too: only dims of size 1 may go.
      for (auto [e, size] : llvm::zip(map.getResults(), type.getShape()))
        if (size != 1 || !isa<AffineConstantExpr>(e)) exprs.push_back(e), shape.push_back(size);
      if (exprs.size() == map.getNumResults()) continue;
      rewriter.setInsertionPoint(g);
      Value init = rewriter.create<tensor::EmptyOp>(g.getLoc(), shape, type.getElementType());
      operand->set(rewriter.createOrFold<ReshapeOp>(operand->get().getLoc(), init.getType(),
                                                    operand->get(), init));
      map = AffineMap::get(map.getNumDims(), 0, exprs, rewriter.getContext());
      changed = true;
    }
    if (changed) g.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  }

  /// The sizes of arguments are the first ops of the function.
  static void skipDims(OpBuilder& b, Block* block) {
    // Folding puts constants among the dims.
    auto after = block->begin();
    for (auto it = block->begin(); it != block->end() && isa<DimOp, arith::ConstantOp>(*it); ++it)
      if (isa<DimOp>(*it)) after = std::next(it);
    b.setInsertionPoint(block, after);
  }
};
} // namespace
} // namespace ortc
