// SPDX-License-Identifier: Apache-2.0
// A generic that reads reshape(transpose(x)), where the reshape merges dims that do not lie side by
// side in x (the channels and pixels of a group that a norm sums over, channels being last): its
// loops are split into those of the dims, so that it reads x in the order of x. Without it each
// element costs a division and a remainder, and no loop runs along memory.
#include "compiler/passes/Transposes.h"

using namespace mlir;

namespace ortc {

/// For each dim of `to` in the group the sizes that it is made of, fine enough that each dim of
/// `from` is made of some of them, too; false where the sizes do not divide each other, or are
/// not known to.
static bool refine(ArrayRef<OpFoldResult> from, ArrayRef<OpFoldResult> to, const DimGroup& group,
                   MutableArrayRef<Sizes> pieces) {
  Sizes ins;
  SmallVector<unsigned> outs;
  for (unsigned d = group.from0; d < group.from1; ++d)
    if (constantSize(from[d]) != 1) ins.push_back(from[d]);
  for (unsigned d = group.to0; d < group.to1; ++d) {
    if (constantSize(to[d]) != 1)
      outs.push_back(d);
    else
      pieces[d].push_back(to[d]);
  }
  if (ins.empty() || outs.empty()) return ins.empty() && outs.empty();
  unsigned i = 0, o = 0;
  OpFoldResult in = ins[0], out = to[outs[0]];
  auto nextIn = [&] {
    if (++i < ins.size()) in = ins[i];
  };
  auto nextOut = [&] {
    if (++o < outs.size()) out = to[outs[o]];
  };
  while (i < ins.size() && o < outs.size()) {
    Sizes& list = pieces[outs[o]];
    auto a = constantSize(in), b = constantSize(out);
    if (in == out || (a && b && *a == *b)) {
      list.push_back(in), nextIn(), nextOut();
    } else if (a && b && *a % *b == 0) {
      list.push_back(out);
      in = Builder(out.getContext()).getIndexAttr(*a / *b), nextOut();
    } else if (a && b && *b % *a == 0) {
      list.push_back(in);
      out = Builder(in.getContext()).getIndexAttr(*b / *a), nextIn();
    } else if (o + 1 == outs.size()) {
      for (; i < ins.size(); nextIn())
        list.push_back(in);
      return true;
    } else if (i + 1 == ins.size()) {
      for (; o < outs.size(); nextOut())
        pieces[outs[o]].push_back(out);
      return true;
    } else {
      return false;
    }
  }
  return i == ins.size() && o == outs.size();
}

/// The transpose that `v` is a reshape of.
static std::optional<Permutation> reshapedTranspose(Value v) {
  auto reshape = v.getDefiningOp<ReshapeOp>();
  return reshape ? permutationOf(reshape.getSource()) : std::nullopt;
}

static bool isPlain(AffineMap map) {
  return llvm::all_of(map.getResults(),
                      [](AffineExpr e) { return isa<AffineDimExpr, AffineConstantExpr>(e); });
}

/// Is reading in the order of x worth it: does most of what is as large lie in that order?
static OpOperand* leading(linalg::GenericOp g) {
  OpOperand* lead = nullptr;
  unsigned most = 0, moved = 0, straight = 0;
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    if (!isa<RankedTensorType>(operand->get().getType())) continue;
    if (!isPlain(map)) return nullptr;
    if (operand->get().getDefiningOp<arith::ConstantOp>()) continue;
    if (map.getNumResults() > most)
      most = map.getNumResults(), lead = nullptr, moved = straight = 0;
    if (map.getNumResults() < most) continue;
    bool other = reshapedTranspose(operand->get()) || permutationOf(operand->get());
    ++(other ? moved : straight);
    if (!lead && reshapedTranspose(operand->get())) lead = operand;
  }
  if (g.getNumReductionLoops() ? moved < straight : moved <= straight) return nullptr;
  return lead;
}

linalg::GenericOp splitMergedLoops(RewriterBase& rewriter, linalg::GenericOp g) {
  if (g.getNumDpsInits() != 1 || g.hasIndexSemantics()) return nullptr;
  Value init = g.getDpsInits()[0];
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (!fill && !init.getDefiningOp<tensor::EmptyOp>()) return nullptr;
  if (!g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isProjectedPermutation()) return nullptr;
  OpOperand* lead = leading(g);
  if (!lead) return nullptr;
  auto reshape = lead->get().getDefiningOp<ReshapeOp>();
  rewriter.setInsertionPoint(g);
  Sizes from = getSizes(rewriter, reshape.getSource()), to = getSizes(rewriter, lead->get());
  SmallVector<Sizes> pieces(to.size());
  for (const DimGroup& group : groupDims(from, to))
    if (!refine(from, to, group, pieces)) return nullptr;

  // What each loop becomes: [begin, begin + sizes.size()) of the new ones.
  struct Loop {
    unsigned begin = 0;
    Sizes sizes; // where there is more than one
  };
  SmallVector<Loop> loops(g.getNumLoops());
  AffineMap leadMap = g.getMatchingIndexingMap(lead);
  bool split = false;
  for (auto [d, e] : llvm::enumerate(leadMap.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (pieces[d].size() < 2) continue;
    if (!dim || !loops[dim.getPosition()].sizes.empty()) return nullptr;
    loops[dim.getPosition()].sizes = pieces[d];
    split = true;
  }
  if (!split) return nullptr;
  unsigned count = 0;
  SmallVector<utils::IteratorType> iterators;
  for (auto [loop, kind] : llvm::zip(loops, g.getIteratorTypesArray())) {
    unsigned n = std::max<unsigned>(1, loop.sizes.size());
    loop.begin = count;
    count += n;
    iterators.append(n, kind);
  }

  auto splitMap = [&](AffineMap map) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr e : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      if (!dim) {
        exprs.push_back(e);
        continue;
      }
      const Loop& loop = loops[dim.getPosition()];
      for (unsigned i = 0; i < std::max<unsigned>(1, loop.sizes.size()); ++i)
        exprs.push_back(rewriter.getAffineDimExpr(loop.begin + i));
    }
    return AffineMap::get(count, 0, exprs, rewriter.getContext());
  };
  auto splitSizes = [&](Value v, AffineMap map) {
    Sizes r;
    for (auto [size, e] : llvm::zip(getSizes(rewriter, v), map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      if (dim && !loops[dim.getPosition()].sizes.empty())
        r.append(loops[dim.getPosition()].sizes);
      else
        r.push_back(size);
    }
    return r;
  };
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    Value v = operand->get();
    if (isa<RankedTensorType>(v.getType()))
      v = createReshape(rewriter, g.getLoc(), v, splitSizes(v, map));
    ins.push_back(v);
    maps.push_back(splitMap(map));
  }
  AffineMap out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  Value result = createEmpty(rewriter, g.getLoc(), splitSizes(init, out),
                             getElementTypeOrSelf(init.getType()));
  if (fill)
    result = rewriter.create<linalg::FillOp>(g.getLoc(), fill.getInputs()[0], result).getResult(0);
  maps.push_back(splitMap(out));
  auto made = rewriter.create<linalg::GenericOp>(g.getLoc(), TypeRange{result.getType()}, ins,
                                                 ValueRange{result}, maps, iterators);
  rewriter.inlineRegionBefore(g.getRegion(), made.getRegion(), made.getRegion().begin());
  // A reshape of the result is one of the split result: often to the sizes before the groups.
  for (Operation* user : llvm::make_early_inc_range(g->getUsers()))
    if (auto after = dyn_cast<ReshapeOp>(user))
      rewriter.modifyOpInPlace(after, [&] { after.getSourceMutable().assign(made.getResult(0)); });
  Sizes sizes = getSizes(rewriter, init);
  rewriter.replaceOp(g, createReshape(rewriter, g.getLoc(), made.getResult(0), sizes));
  return made;
}

} // namespace ortc
