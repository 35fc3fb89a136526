// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/Transposes.h"
#include "llvm/ADT/SmallSet.h"
#include <numeric>

using namespace mlir;

namespace ortc {

std::optional<Permutation> permutationOf(Value v) {
  auto g = v.getDefiningOp<linalg::GenericOp>();
  if (!g || g.getNumDpsInputs() != 1 || g.getNumDpsInits() != 1 || g.getNumReductionLoops())
    return std::nullopt;
  Block& body = g.getRegion().front();
  if (body.getTerminator()->getOperand(0) != body.getArgument(0)) return std::nullopt;
  AffineMap in = g.getMatchingIndexingMap(g.getDpsInputOperand(0)),
            out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  if (!in.isPermutation() || !out.isPermutation()) return std::nullopt;
  // result dim d is loop out(d), which source dim s with in(s) == out(d) reads
  Permutation p(out.getNumResults());
  for (unsigned d = 0; d < p.size(); ++d)
    for (unsigned s = 0; s < p.size(); ++s)
      if (in.getResult(s) == out.getResult(d)) p[d] = s;
  return p;
}

Value transposeSource(Value v) {
  return v.getDefiningOp<linalg::GenericOp>().getDpsInputs()[0];
}

bool isIdentity(ArrayRef<int64_t> p) {
  for (size_t d = 0; d < p.size(); ++d)
    if (p[d] != static_cast<int64_t>(d)) return false;
  return true;
}

Permutation inverse(ArrayRef<int64_t> p) {
  Permutation r(p.size());
  for (size_t d = 0; d < p.size(); ++d)
    r[p[d]] = static_cast<int64_t>(d);
  return r;
}

static Sizes permuted(ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> p) {
  Sizes r;
  for (int64_t s : p)
    r.push_back(sizes[s]);
  return r;
}

Value createReshape(OpBuilder& b, Location loc, Value x, ArrayRef<OpFoldResult> sizes) {
  if (sameSizes(getSizes(b, x), sizes)) return x;
  Value init = createEmpty(b, loc, sizes, getElementTypeOrSelf(x.getType()));
  return b.createOrFold<ReshapeOp>(loc, init.getType(), x, init);
}

/// Does the permutation keep the order of all dims of a size other than 1?
static bool movesOnlyOnes(ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> p) {
  int64_t last = -1;
  for (int64_t s : p) {
    if (constantSize(sizes[s]) == 1) continue;
    if (s < last) return false;
    last = s;
  }
  return true;
}

Value createTranspose(OpBuilder& b, Location loc, Value x, ArrayRef<int64_t> permutation) {
  Permutation p(permutation);
  while (auto inner = permutationOf(x)) {
    for (int64_t& d : p)
      d = (*inner)[d];
    x = transposeSource(x);
  }
  Sizes in = getSizes(b, x), out = permuted(in, p);
  if (isIdentity(p)) return x;
  if (movesOnlyOnes(in, p)) return createReshape(b, loc, x, out);
  int64_t rank = p.size();
  SmallVector<AffineExpr> read(rank);
  for (int64_t d = 0; d < rank; ++d)
    read[p[d]] = b.getAffineDimExpr(d);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  AffineMap maps[] = {AffineMap::get(rank, 0, read, b.getContext()),
                      b.getMultiDimIdentityMap(rank)};
  Value init = createEmpty(b, loc, out, getElementTypeOrSelf(x.getType()));
  auto op = b.create<linalg::GenericOp>(loc, TypeRange{init.getType()}, x, init, maps, iterators,
                                        [](OpBuilder& body, Location l, ValueRange args) {
                                          body.create<linalg::YieldOp>(l, args[0]);
                                        });
  return op.getResult(0);
}

// ---- what ops read ----

/// The map that reads the source of a transpose where `map` reads its result.
static AffineMap throughTranspose(AffineMap map, ArrayRef<int64_t> p) {
  SmallVector<AffineExpr> exprs(p.size());
  for (size_t d = 0; d < p.size(); ++d)
    exprs[p[d]] = map.getResult(d);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

/// The loops of `g` on which an index value in its body depends.
static void loopsOf(Value v, linalg::GenericOp g, llvm::SmallSetVector<unsigned, 4>& loops,
                    llvm::SmallPtrSetImpl<Operation*>& seen) {
  Operation* op = v.getDefiningOp();
  if (!op || !g->isProperAncestor(op) || !seen.insert(op).second) return;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    loops.insert(index.getDim());
    return;
  }
  for (Value operand : op->getOperands())
    loopsOf(operand, g, loops, seen);
}

/// Per dim of `tensor`, the one parallel loop of `g` that runs along it, or -1.
static SmallVector<int64_t> loopsAlong(linalg::GenericOp g, Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  auto iterators = g.getIteratorTypesArray();
  for (OpOperand* operand : g.getDpsInputOperands()) {
    if (operand->get() != tensor) continue;
    SmallVector<int64_t> r;
    for (AffineExpr e : g.getMatchingIndexingMap(operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      r.push_back(dim && iterators[dim.getPosition()] == utils::IteratorType::parallel
                      ? static_cast<int64_t>(dim.getPosition())
                      : -1);
    }
    return r;
  }
  SmallVector<int64_t> r(rank, -1);
  g.getRegion().walk([&](tensor::ExtractOp e) {
    if (e.getTensor() != tensor) return WalkResult::advance();
    for (auto [d, index] : llvm::enumerate(e.getIndices())) {
      llvm::SmallSetVector<unsigned, 4> loops;
      llvm::SmallPtrSet<Operation*, 16> seen;
      loopsOf(index, g, loops, seen);
      loops.remove_if([&](unsigned l) { return iterators[l] != utils::IteratorType::parallel; });
      if (loops.size() == 1 && !llvm::is_contained(r, static_cast<int64_t>(loops[0])))
        r[d] = loops[0];
    }
    return WalkResult::interrupt();
  });
  return r;
}

/// All tensors that `g` reads, by maps and in its body.
static llvm::SetVector<Value> tensorsRead(linalg::GenericOp g) {
  llvm::SetVector<Value> r;
  for (Value v : g.getDpsInputs())
    if (isa<RankedTensorType>(v.getType())) r.insert(v);
  g.getRegion().walk([&](tensor::ExtractOp e) {
    if (!g.getRegion().isAncestor(e.getTensor().getParentRegion())) r.insert(e.getTensor());
  });
  return r;
}

static bool isConstant(Value v) {
  return v.getDefiningOp<arith::ConstantOp>() != nullptr;
}

/// A generic of the same body that reads other operands by other maps, runs its loops in another
/// order (loop k is the old one order[k]) and has another init.
static linalg::GenericOp rebuild(RewriterBase& rewriter, linalg::GenericOp g, ValueRange ins,
                                 ArrayRef<AffineMap> maps, ArrayRef<int64_t> order, Value init) {
  unsigned n = g.getNumLoops();
  SmallVector<AffineExpr> place(n);
  for (auto [k, l] : llvm::enumerate(order))
    place[l] = rewriter.getAffineDimExpr(k);
  SmallVector<AffineMap> newMaps;
  for (AffineMap m : maps)
    newMaps.push_back(m.replaceDimsAndSymbols(place, {}, n, 0));
  SmallVector<utils::IteratorType> iterators;
  for (int64_t l : order)
    iterators.push_back(g.getIteratorTypesArray()[l]);
  auto made = rewriter.create<linalg::GenericOp>(g.getLoc(), TypeRange{init.getType()}, ins,
                                                 ValueRange{init}, newMaps, iterators);
  rewriter.inlineRegionBefore(g.getRegion(), made.getRegion(), made.getRegion().begin());
  Permutation at = inverse(order);
  made.getRegion().walk([&](linalg::IndexOp i) { i.setDim(at[i.getDim()]); });
  return made;
}

/// The init of `g` with its dims permuted.
static Value permutedInit(OpBuilder& b, linalg::GenericOp g, ArrayRef<int64_t> p) {
  Value init = g.getDpsInits()[0];
  Value empty = createEmpty(b, g.getLoc(), permuted(getSizes(b, init), p),
                            getElementTypeOrSelf(init.getType()));
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    return b.create<linalg::FillOp>(g.getLoc(), fill.getInputs()[0], empty).getResult(0);
  return empty;
}

static bool sinkIntoGeneric(RewriterBase& rewriter, linalg::GenericOp g) {
  if (g.getNumDpsInits() != 1) return false;
  Value init = g.getDpsInits()[0];
  if (!init.getDefiningOp<tensor::EmptyOp>() && !init.getDefiningOp<linalg::FillOp>()) return false;
  AffineMap out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  if (!out.isProjectedPermutation()) return false;
  Value lead; // the transposed operand whose source decides the order
  unsigned transposed = 0, straight = 0, most = 0;
  SmallVector<Value> moved;
  for (Value v : tensorsRead(g)) {
    unsigned along = llvm::count_if(loopsAlong(g, v), [](int64_t l) { return l >= 0; });
    if (permutationOf(v)) {
      moved.push_back(v);
      if (along > most) most = along, lead = v;
    }
  }
  if (moved.empty()) return false;
  for (Value v : tensorsRead(g)) {
    unsigned along = llvm::count_if(loopsAlong(g, v), [](int64_t l) { return l >= 0; });
    if (along < most || along < 2) continue;
    if (permutationOf(v) == permutationOf(lead))
      ++transposed;
    else if (!isConstant(v))
      ++straight;
  }

  // Read the sources. A tensor that is read with the inverse order cancels here, too.
  rewriter.setInsertionPoint(g);
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  Value leadSource = lead ? transposeSource(lead) : Value();
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    Value v = operand->get();
    while (auto p = permutationOf(v))
      map = throughTranspose(map, *p), v = transposeSource(v);
    ins.push_back(v);
    maps.push_back(map);
  }
  maps.push_back(out);
  g.getRegion().walk([&](tensor::ExtractOp e) {
    while (auto p = permutationOf(e.getTensor())) {
      SmallVector<Value> at(p->size());
      for (size_t d = 0; d < p->size(); ++d)
        at[(*p)[d]] = e.getIndices()[d];
      rewriter.modifyOpInPlace(e, [&] {
        e.getTensorMutable().assign(transposeSource(e.getTensor()));
        e.getIndicesMutable().assign(at);
      });
    }
  });

  // The order of the result: the loops that run along the leading tensor come in its order.
  Permutation p(out.getNumResults());
  std::iota(p.begin(), p.end(), 0);
  SmallVector<int64_t> order;
  SmallVector<int64_t> reductions;
  for (auto [l, it] : llvm::enumerate(g.getIteratorTypesArray()))
    if (it == utils::IteratorType::reduction) reductions.push_back(l);
  if (lead && transposed >= straight && most >= 2) {
    // Loops along the source of lead: by its maps as they are now.
    SmallVector<int64_t> along;
    for (auto [v, m] : llvm::zip(ins, ArrayRef(maps).drop_back()))
      if (v == leadSource && along.empty())
        for (AffineExpr e : m.getResults())
          if (auto dim = dyn_cast<AffineDimExpr>(e)) along.push_back(dim.getPosition());
    if (along.empty()) along = loopsAlong(g, leadSource);
    // Window loops of a fold stay in order; loops of a reduction over an operand come in the
    // operand's order.
    SmallVector<int64_t> reduced;
    for (int64_t l : along)
      if (llvm::is_contained(reductions, l)) reduced.push_back(l);
    if (reduced.size() == reductions.size()) reductions = reduced;
    SmallVector<int64_t> wanted, slots;
    for (int64_t l : along)
      for (unsigned d = 0; d < out.getNumResults(); ++d)
        if (l >= 0 && out.getResult(d) == rewriter.getAffineDimExpr(l)) wanted.push_back(d);
    slots = wanted;
    llvm::sort(slots);
    for (auto [slot, d] : llvm::zip(slots, wanted))
      p[slot] = d;
  }
  SmallVector<AffineExpr> outExprs;
  for (int64_t d : p) {
    outExprs.push_back(out.getResult(d));
    order.push_back(cast<AffineDimExpr>(out.getResult(d)).getPosition());
  }
  order.append(reductions);
  maps.back() = AffineMap::get(out.getNumDims(), 0, outExprs, rewriter.getContext());
  auto made =
      rebuild(rewriter, g, ins, maps, order, isIdentity(p) ? init : permutedInit(rewriter, g, p));
  rewriter.replaceOp(g, createTranspose(rewriter, g.getLoc(), made.getResult(0), inverse(p)));
  return true;
}

// ---- contractions ----

static bool isReductionLoop(ContractOp op, unsigned loop) {
  return !op.map(2).isFunctionOfDim(loop);
}

/// May operand `o` be read from a source whose last dim is read along `loop`? Kernels want rows
/// that are dense along what is summed, or (for the rhs) along the columns of the result.
static bool denseEnough(ContractOp op, unsigned o, unsigned loop) {
  if (isReductionLoop(op, loop)) return true;
  return o == 1 && !op.map(0).isFunctionOfDim(loop);
}

/// Do the loops that are summed over, when there are several, lie side by side? Kernels run over
/// them as one.
static bool sumsTogether(ContractOp op, AffineMap map) {
  if (op.reductionLoops().size() < 2) return true;
  bool began = false, ended = false;
  for (AffineExpr e : map.getResults()) {
    bool sum = isReductionLoop(op, cast<AffineDimExpr>(e).getPosition());
    if (sum && ended) return false;
    began |= sum;
    ended |= began && !sum;
  }
  return true;
}

static bool absorbIntoContract(RewriterBase& rewriter, ContractOp op) {
  bool changed = false;
  for (unsigned o : {0u, 1u}) {
    Value v = op->getOperand(o);
    auto p = permutationOf(v);
    if (!p) continue;
    Value source = transposeSource(v);
    AffineMap map = throughTranspose(op.map(o), *p);
    auto last = cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1)).getPosition();
    if (!isConstant(source) && (!denseEnough(op, o, last) || !sumsTogether(op, map))) continue;
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    maps[o] = AffineMapAttr::get(map);
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperand(o, source);
      op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
    });
    changed = true;
  }
  return changed;
}

/// contract(reshape(transpose(x)), constant), where the reshape merges what is summed over (a
/// flattened image into a fully connected layer): sums over the dims of x one by one, and leaves
/// the new order to the constant.
static bool splitMergedLoop(RewriterBase& rewriter, ContractOp op) {
  auto reshape = op.getLhs().getDefiningOp<ReshapeOp>();
  auto p = reshape ? permutationOf(reshape.getSource()) : std::nullopt;
  if (!p || !isConstant(op.getRhs())) return false;
  rewriter.setInsertionPoint(op);
  Value t = reshape.getSource(), x = transposeSource(t);
  Sizes from = getSizes(rewriter, t), to = getSizes(rewriter, reshape.getResult());
  SmallVector<DimGroup> groups = groupDims(from, to);
  unsigned loops = op.numLoops();
  SmallVector<SmallVector<unsigned>> newLoops(loops); // of each old loop
  unsigned next = 0;
  SmallVector<int64_t> loopOfDim(from.size(), -1); // of t
  DenseMap<unsigned, Sizes> parts;
  for (const DimGroup& g : groups) {
    SmallVector<unsigned> outs, ins;
    for (unsigned d = g.to0; d < g.to1; ++d)
      if (constantSize(to[d]) != 1) outs.push_back(d);
    for (unsigned d = g.from0; d < g.from1; ++d)
      if (constantSize(from[d]) != 1) ins.push_back(d);
    if (outs.size() != 1) return false;
    unsigned loop = op.map(0).getDimPosition(outs[0]);
    if (ins.size() > 1 && !isReductionLoop(op, loop)) return false;
    for (unsigned d : ins) {
      loopOfDim[d] = next;
      newLoops[loop].push_back(next++);
      parts[loop].push_back(from[d]);
    }
  }
  for (unsigned l = 0; l < loops; ++l)
    if (newLoops[l].empty()) newLoops[l].push_back(next++);
  MLIRContext* c = rewriter.getContext();
  // The lhs: dims of size 1 that loops of the result have come first, then those of x in its order.
  Sizes lhsSizes, rhsSizes;
  SmallVector<AffineExpr> lhsMap, rhsMap, outMap;
  for (auto [d, e] : llvm::enumerate(op.map(0).getResults()))
    if (constantSize(to[d]) == 1)
      lhsSizes.push_back(to[d]),
          lhsMap.push_back(getAffineDimExpr(newLoops[cast<AffineDimExpr>(e).getPosition()][0], c));
  Permutation back = inverse(*p); // dim s of x is dim back[s] of t
  for (size_t s = 0; s < back.size(); ++s)
    if (loopOfDim[back[s]] >= 0)
      lhsSizes.push_back(from[back[s]]), lhsMap.push_back(getAffineDimExpr(loopOfDim[back[s]], c));
  Sizes rhs = getSizes(rewriter, op.getRhs());
  for (auto [d, e] : llvm::enumerate(op.map(1).getResults())) {
    unsigned loop = cast<AffineDimExpr>(e).getPosition();
    for (unsigned l : newLoops[loop])
      rhsMap.push_back(getAffineDimExpr(l, c));
    if (parts.count(loop))
      rhsSizes.append(parts[loop]);
    else
      rhsSizes.push_back(rhs[d]);
  }
  for (AffineExpr e : op.map(2).getResults())
    outMap.push_back(getAffineDimExpr(newLoops[cast<AffineDimExpr>(e).getPosition()][0], c));
  // Kernels run over what is summed as one loop: it must lie in one piece, last.
  bool summed = false;
  for (AffineExpr e : lhsMap) {
    bool isSum = !llvm::is_contained(outMap, e);
    if (summed && !isSum) return false;
    summed |= isSum;
  }
  if (!summed) return false;
  Value lhs = createReshape(rewriter, op.getLoc(), x, lhsSizes),
        weights = createReshape(rewriter, op.getLoc(), op.getRhs(), rhsSizes);
  auto maps = rewriter.getAffineMapArrayAttr({AffineMap::get(next, 0, lhsMap, c),
                                              AffineMap::get(next, 0, rhsMap, c),
                                              AffineMap::get(next, 0, outMap, c)});
  rewriter.replaceOpWithNewOp<ContractOp>(op, op.getResult().getType(), lhs, weights, op.getInit(),
                                          maps, op.getLhsUnsigned(), op.getRhsUnsigned());
  return true;
}

// ---- structure ----

/// reshape(transpose(x)): groups of dims that the reshape keeps to themselves may be moved after
/// it.
static bool sinkThroughReshape(RewriterBase& rewriter, ReshapeOp op) {
  auto p = permutationOf(op.getSource());
  if (!p) return false;
  rewriter.setInsertionPoint(op);
  Value x = transposeSource(op.getSource());
  Sizes from = getSizes(rewriter, op.getSource()), to = getSizes(rewriter, op.getResult());
  SmallVector<DimGroup> groups = groupDims(from, to);
  if (groups.size() < 2) return false;
  // A group that lies in one piece in x (in whatever order) may move; where another dim comes in
  // between, this would only be another transpose of everything.
  SmallVector<int64_t> place(p->size(), -1); // among the dims of x other than of size 1
  int64_t places = 0;
  Permutation back = inverse(*p);
  for (size_t s = 0; s < back.size(); ++s)
    if (constantSize(from[back[s]]) != 1) place[s] = places++;
  for (const DimGroup& g : groups) {
    int64_t low = INT64_MAX, high = -1, count = 0;
    for (unsigned d = g.from0; d < g.from1; ++d)
      if (int64_t at = place[(*p)[d]]; at >= 0)
        low = std::min(low, at), high = std::max(high, at), ++count;
    if (count && high - low + 1 != count) return false;
  }
  // Groups in the order of x: by the first of their dims there.
  auto firstOf = [&](const DimGroup& g) {
    int64_t first = INT64_MAX;
    for (unsigned d = g.from0; d < g.from1; ++d)
      if (constantSize(from[d]) != 1) first = std::min(first, (*p)[d]);
    return first;
  };
  SmallVector<unsigned> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order,
             [&](unsigned a, unsigned b) { return firstOf(groups[a]) < firstOf(groups[b]); });
  if (llvm::is_sorted(order)) return false; // all of it stays before
  Permutation before;                       // of x
  Sizes shape;                              // after the reshape, groups in the order of x
  SmallVector<int64_t> madeOf;              // its dims as dims of the result
  for (unsigned g : order) {
    for (unsigned d = groups[g].from0; d < groups[g].from1; ++d)
      before.push_back((*p)[d]);
    for (unsigned d = groups[g].to0; d < groups[g].to1; ++d)
      shape.push_back(to[d]), madeOf.push_back(d);
  }
  Value y = createTranspose(rewriter, op.getLoc(), x, before);
  Value z = createReshape(rewriter, op.getLoc(), y, shape);
  rewriter.replaceOp(op, createTranspose(rewriter, op.getLoc(), z, inverse(madeOf)));
  return true;
}

static bool sinkThroughConcat(RewriterBase& rewriter, ConcatOp op) {
  std::optional<Permutation> p;
  unsigned transposed = 0, others = 0;
  for (Value s : op.getSources()) {
    auto q = permutationOf(s);
    if (q && (!p || *p == *q))
      p = q, ++transposed;
    else if (!isConstant(s))
      ++others;
  }
  if (!p || transposed <= others) return false;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> sources;
  for (Value s : op.getSources())
    sources.push_back(createTranspose(rewriter, op.getLoc(), s, inverse(*p)));
  Sizes sizes = permuted(getSizes(rewriter, op.getInit()), inverse(*p));
  Value init =
      createEmpty(rewriter, op.getLoc(), sizes, getElementTypeOrSelf(op.getResult().getType()));
  auto made =
      rewriter.create<ConcatOp>(op.getLoc(), init.getType(), sources, init, (*p)[op.getAxis()]);
  rewriter.replaceOp(op, createTranspose(rewriter, op.getLoc(), made.getResult(), *p));
  return true;
}

static bool sinkThroughSlice(RewriterBase& rewriter, tensor::ExtractSliceOp op) {
  auto p = permutationOf(op.getSource());
  if (!p || op.getDroppedDims().any()) return false;
  rewriter.setInsertionPoint(op);
  Permutation back = inverse(*p);
  auto pick = [&](SmallVector<OpFoldResult> v) { return permuted(v, back); };
  auto made = rewriter.create<tensor::ExtractSliceOp>(
      op.getLoc(), transposeSource(op.getSource()), pick(op.getMixedOffsets()),
      pick(op.getMixedSizes()), pick(op.getMixedStrides()));
  rewriter.replaceOp(op, createTranspose(rewriter, op.getLoc(), made.getResult(), *p));
  return true;
}

bool sinkTransposes(RewriterBase& rewriter, Operation* op) {
  if (auto g = dyn_cast<linalg::GenericOp>(op)) {
    if (g.getNumResults() == 1 && permutationOf(g.getResult(0))) {
      auto p = permutationOf(g.getResult(0));
      Value x = transposeSource(g.getResult(0));
      rewriter.setInsertionPoint(op);
      if (!permutationOf(x) && !isIdentity(*p) && !movesOnlyOnes(getSizes(rewriter, x), *p))
        return false;
      rewriter.replaceOp(op, createTranspose(rewriter, op->getLoc(), x, *p));
      return true;
    }
    if (linalg::GenericOp split = splitMergedLoops(rewriter, g)) {
      // Its operands are new reshapes of transposes, each dim of which may move.
      for (Value v : split.getDpsInputs())
        if (auto reshape = v.getDefiningOp<ReshapeOp>()) sinkThroughReshape(rewriter, reshape);
      sinkIntoGeneric(rewriter, split);
      return true;
    }
    return sinkIntoGeneric(rewriter, g);
  }
  if (auto contract = dyn_cast<ContractOp>(op)) {
    bool absorbed = absorbIntoContract(rewriter, contract);
    return splitMergedLoop(rewriter, contract) || absorbed;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) return sinkThroughReshape(rewriter, reshape);
  if (auto concat = dyn_cast<ConcatOp>(op)) return sinkThroughConcat(rewriter, concat);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) return sinkThroughSlice(rewriter, slice);
  return false;
}

// ---- upwards ----

/// Does the permutation (of dims of the result) leave the columns of a contraction last and in
/// order?
static bool keepsColumns(ContractOp op, ArrayRef<int64_t> p) {
  bool column = false;
  int64_t last = -1;
  for (int64_t d : p) {
    bool isColumn = !op.map(0).isFunctionOfDim(op.map(2).getDimPosition(d));
    if (column && !isColumn) return false;
    if (isColumn && d < last) return false;
    if (isColumn) last = d;
    column |= isColumn;
  }
  return column;
}

/// The elementwise op's only tensor of its own rank, read in order: what a transpose above would go
/// on to.
static OpOperand* onlyFullOperand(linalg::GenericOp g) {
  if (g.getNumReductionLoops() || g.hasIndexSemantics() || g.getNumDpsInits() != 1) return nullptr;
  if (!g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity()) return nullptr;
  OpOperand* found = nullptr;
  for (OpOperand* operand : g.getDpsInputOperands()) {
    if (!g.getMatchingIndexingMap(operand).isIdentity() || isConstant(operand->get())) continue;
    if (found) return nullptr;
    found = operand;
  }
  return found;
}

/// The permutation that goes on above the reshape, when p keeps its groups together.
static std::optional<Permutation> aboveReshape(OpBuilder& b, ReshapeOp op, ArrayRef<int64_t> p) {
  Sizes from = getSizes(b, op.getSource()), to = getSizes(b, op.getResult());
  SmallVector<DimGroup> groups = groupDims(from, to);
  SmallVector<int64_t> groupOf(to.size());
  for (auto [g, group] : llvm::enumerate(groups))
    for (unsigned d = group.to0; d < group.to1; ++d)
      groupOf[d] = g;
  Permutation above;
  int64_t current = -1, last = -1;
  llvm::SmallSetVector<int64_t, 8> done;
  for (int64_t d : p) {
    if (constantSize(to[d]) == 1) continue;
    if (groupOf[d] != current) {
      if (!done.insert(groupOf[d])) return std::nullopt;
      current = groupOf[d];
      for (unsigned s = groups[current].from0; s < groups[current].from1; ++s)
        above.push_back(s);
    } else if (d < last)
      return std::nullopt;
    last = d;
  }
  // Within a group the first dim must be the group's first.
  if (above.size() != from.size()) return std::nullopt;
  for (auto [i, d] : llvm::enumerate(p)) {
    if (constantSize(to[d]) == 1) continue;
    for (unsigned e = groups[groupOf[d]].to0; e < groups[groupOf[d]].to1; ++e)
      if (e < d && constantSize(to[e]) != 1 &&
          !llvm::is_contained(ArrayRef(p).take_front(i), static_cast<int64_t>(e)))
        return std::nullopt;
  }
  return above;
}

static bool canHoist(OpBuilder& b, Value v, ArrayRef<int64_t> p) {
  if (!v.hasOneUse()) return false;
  if (auto contract = v.getDefiningOp<ContractOp>()) return keepsColumns(contract, p);
  if (auto g = v.getDefiningOp<linalg::GenericOp>()) {
    OpOperand* operand = onlyFullOperand(g);
    return operand && canHoist(b, operand->get(), p);
  }
  if (auto reshape = v.getDefiningOp<ReshapeOp>()) {
    b.setInsertionPoint(reshape);
    auto above = aboveReshape(b, reshape, p);
    return above && canHoist(b, reshape.getSource(), *above);
  }
  return false;
}

/// The same value with its dims permuted; canHoist said yes.
static Value hoisted(RewriterBase& rewriter, Value v, ArrayRef<int64_t> p) {
  Operation* op = v.getDefiningOp();
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  if (auto contract = dyn_cast<ContractOp>(op)) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d : p)
      exprs.push_back(contract.map(2).getResult(d));
    SmallVector<Attribute> maps(contract.getIndexingMaps().getValue());
    maps[2] =
        AffineMapAttr::get(AffineMap::get(contract.numLoops(), 0, exprs, rewriter.getContext()));
    Value init = createEmpty(rewriter, loc, permuted(getSizes(rewriter, contract.getInit()), p),
                             getElementTypeOrSelf(v.getType()));
    return rewriter.create<ContractOp>(loc, init.getType(), contract.getLhs(), contract.getRhs(),
                                       init, rewriter.getArrayAttr(maps), contract.getLhsUnsigned(),
                                       contract.getRhsUnsigned());
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    Sizes sizes = permuted(getSizes(rewriter, v), p);
    Value source = hoisted(rewriter, reshape.getSource(), *aboveReshape(rewriter, reshape, p));
    rewriter.setInsertionPoint(op);
    return createReshape(rewriter, loc, source, sizes);
  }
  auto g = cast<linalg::GenericOp>(op);
  OpOperand* full = onlyFullOperand(g);
  Value source = hoisted(rewriter, full->get(), p);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    ins.push_back(operand == full ? source : operand->get());
    if (operand == full) {
      SmallVector<AffineExpr> exprs;
      for (int64_t d : p)
        exprs.push_back(map.getResult(d));
      map = AffineMap::get(map.getNumDims(), 0, exprs, rewriter.getContext());
    }
    maps.push_back(map);
  }
  SmallVector<AffineExpr> out;
  for (int64_t d : p)
    out.push_back(rewriter.getAffineDimExpr(d));
  maps.push_back(AffineMap::get(p.size(), 0, out, rewriter.getContext()));
  return rebuild(rewriter, g, ins, maps, p, permutedInit(rewriter, g, p)).getResult(0);
}

bool hoistTranspose(RewriterBase& rewriter, linalg::GenericOp transpose) {
  auto p = permutationOf(transpose.getResult(0));
  Value x = transposeSource(transpose.getResult(0));
  if (!canHoist(rewriter, x, *p)) return false;
  rewriter.replaceOp(transpose, hoisted(rewriter, x, *p));
  return true;
}

void moveTransposes(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Operation*> ops;
  auto collect = [&] {
    ops.clear();
    function.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (op->getParentOfType<linalg::LinalgOp>()) return;
      if (isa<linalg::GenericOp, ContractOp, ReshapeOp, ConcatOp, tensor::ExtractSliceOp>(op))
        ops.push_back(op);
    });
  };
  // What is new stands before its users, so they see it in this walk; two more for what a later op
  // makes possible.
  for (int turn = 0; turn < 3; ++turn) {
    collect();
    bool changed = false;
    for (Operation* op : ops) {
      if (op->use_empty()) {
        rewriter.eraseOp(op);
        continue;
      }
      changed |= sinkTransposes(rewriter, op);
    }
    if (!changed) break;
  }
  collect();
  for (Operation* op : llvm::reverse(ops)) {
    if (op->use_empty()) {
      rewriter.eraseOp(op);
      continue;
    }
    auto g = dyn_cast<linalg::GenericOp>(op);
    if (g && g.getNumResults() == 1 && permutationOf(g.getResult(0))) hoistTranspose(rewriter, g);
  }
}

} // namespace ortc
