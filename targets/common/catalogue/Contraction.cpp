// SPDX-License-Identifier: Apache-2.0
#include "targets/common/catalogue/Contraction.h"

using namespace mlir;

namespace ortc::catalogue {

OpFoldResult extentOf(OpBuilder& b, ArrayRef<MatrixLoop> loops) {
  OpFoldResult n = b.getIndexAttr(1);
  for (const MatrixLoop& x : loops)
    n = mulSizes(b, b.getUnknownLoc(), n, x.extent);
  return n;
}

void mergeLoops(OpBuilder& b, std::vector<MatrixLoop>& loops, bool ignoreRhs) {
  Location loc = b.getUnknownLoc();
  std::vector<MatrixLoop> merged;
  for (const MatrixLoop& x : loops) {
    if (constantSize(x.extent) == 1) continue;
    if (!merged.empty()) {
      MatrixLoop& last = merged.back();
      auto dense = [&](OpFoldResult outer, OpFoldResult inner) {
        return sameSize(outer, mulSizes(b, loc, inner, x.extent));
      };
      if (dense(last.a, x.a) && (ignoreRhs || dense(last.b, x.b)) && dense(last.c, x.c)) {
        last = {mulSizes(b, loc, last.extent, x.extent), x.a, x.b, x.c};
        continue;
      }
    }
    merged.push_back(x);
  }
  loops = merged;
}

std::optional<MatrixLoops> matrixLoops(ContractOp op, OpBuilder& b, ArrayRef<OpFoldResult> as,
                                       ArrayRef<OpFoldResult> bs, ArrayRef<OpFoldResult> cs) {
  MatrixLoops p;
  OpFoldResult zero = b.getIndexAttr(0);
  auto strideOf = [&](unsigned operand, ArrayRef<OpFoldResult> strides, unsigned loop) {
    for (auto [d, e] : llvm::enumerate(op.map(operand).getResults()))
      if (e == getAffineDimExpr(loop, op.getContext())) return strides[d];
    return zero;
  };
  SmallVector<unsigned> order;
  for (AffineExpr e : op.map(2).getResults())
    order.push_back(cast<AffineDimExpr>(e).getPosition());
  for (AffineExpr e : op.map(0).getResults())
    if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !llvm::is_contained(order, l))
      order.push_back(l);
  for (AffineExpr e : op.map(1).getResults())
    if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !llvm::is_contained(order, l))
      order.push_back(l);
  for (unsigned l : order) {
    auto [operand, dim] = op.extentOf(l);
    bool inA = op.map(0).isFunctionOfDim(l), inB = op.map(1).isFunctionOfDim(l),
         inC = op.map(2).isFunctionOfDim(l);
    MatrixLoop x{getSize(b, operand ? op.getRhs() : op.getLhs(), dim), strideOf(0, as, l),
                 strideOf(1, bs, l), strideOf(2, cs, l)};
    if (inC)
      (inA && inB ? p.batch : inA ? p.rows : p.columns).push_back(x);
    else if (inA && inB)
      p.inner.push_back(x);
    else
      return std::nullopt;
  }
  return p;
}

Sizes denseStrides(OpBuilder& b, Value v) {
  Sizes sizes = getSizes(b, v), strides(sizes.size(), b.getIndexAttr(1));
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = mulSizes(b, v.getLoc(), strides[d], sizes[d]);
  return strides;
}

bool columnsComeLast(ContractOp op) {
  bool columns = false;
  for (AffineExpr e : op.map(2).getResults()) {
    unsigned l = cast<AffineDimExpr>(e).getPosition();
    bool isColumn = !op.map(0).isFunctionOfDim(l);
    if (columns && !isColumn) return false;
    columns |= isColumn;
  }
  return true;
}

bool batchComesFirst(ContractOp op) {
  bool row = false;
  for (AffineExpr e : op.map(2).getResults()) {
    unsigned l = cast<AffineDimExpr>(e).getPosition();
    bool inA = op.map(0).isFunctionOfDim(l), inB = op.map(1).isFunctionOfDim(l);
    if (inA && inB && row) return false;
    row |= inA && !inB;
  }
  return true;
}

unsigned rowDims(ContractOp op) {
  unsigned n = 0;
  for (AffineExpr e : op.map(2).getResults())
    n += op.map(0).isFunctionOfDim(cast<AffineDimExpr>(e).getPosition());
  return n;
}

} // namespace ortc::catalogue
