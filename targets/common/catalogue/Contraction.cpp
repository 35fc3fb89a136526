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

std::optional<MatrixLoops> matrixProduct(ContractOp op, OpBuilder& b, bool packed,
                                         ArrayRef<OpFoldResult> as, ArrayRef<OpFoldResult> bs,
                                         ArrayRef<OpFoldResult> cs) {
  std::optional<MatrixLoops> loops = matrixLoops(op, b, as, bs, cs);
  if (!loops) return std::nullopt;
  MatrixLoops& p = *loops;
  mergeLoops(b, p.rows, false);
  mergeLoops(b, p.columns, packed);
  mergeLoops(b, p.inner, packed);
  mergeLoops(b, p.batch, packed);
  // The innermost row axis is M; the others are batches, of which two are possible.
  if (p.columns.size() > 1 || p.inner.size() > 1 ||
      p.batch.size() + std::max<size_t>(p.rows.size(), 1) - 1 > 2)
    return std::nullopt;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  if (p.columns.empty()) p.columns.push_back({one, zero, one, one});
  if (p.inner.empty()) p.inner.push_back({one, one, one, zero});
  if (p.rows.empty()) p.rows.push_back({one, p.inner[0].extent, zero, p.columns[0].extent});
  if (constantSize(p.columns[0].c) != 1 || constantSize(p.inner[0].a) != 1) return std::nullopt;
  if (!packed && constantSize(p.columns[0].b) != 1 && constantSize(p.inner[0].b) != 1)
    return std::nullopt;
  return p;
}

HostTensor rhsMatrix(ContractOp op, const HostTensor& rhs) {
  SmallVector<int64_t> dense(rhs.dims.size(), 1);
  for (size_t d = rhs.dims.size(); d-- > 1;)
    dense[d - 1] = dense[d] * rhs.dims[d];
  // Places in the rhs of all rows, and of all columns: those of the loops that `map` has and `no`
  // has not, whatever their order in the rhs.
  auto placesOf = [&](AffineMap map, AffineMap no) {
    std::vector<int64_t> places{0};
    for (AffineExpr e : map.getResults()) {
      if (no.isFunctionOfDim(cast<AffineDimExpr>(e).getPosition())) continue;
      for (auto [d, r] : llvm::enumerate(op.map(1).getResults())) {
        if (r != e) continue;
        std::vector<int64_t> next;
        for (int64_t at : places)
          for (int64_t i = 0; i < rhs.dims[d]; ++i)
            next.push_back(at + i * dense[d]);
        places = std::move(next);
      }
    }
    return places;
  };
  std::vector<int64_t> ks = placesOf(op.map(0), op.map(2)), ns = placesOf(op.map(2), op.map(0));
  HostTensor matrix(rhs.elementType,
                    {static_cast<int64_t>(ks.size()), static_cast<int64_t>(ns.size())});
  const int64_t bytes = storageBytes(rhs.elementType);
  char* to = matrix.data.get();
  for (int64_t k : ks)
    for (int64_t n : ns)
      std::memcpy(to, rhs.data.get() + (k + n) * bytes, bytes), to += bytes; // may be unaligned
  return matrix;
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
