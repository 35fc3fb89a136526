// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "compiler/ops/Accumulate.h"
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/contract/Contract.cpp.inc"

std::pair<unsigned, unsigned> ContractOp::extentOf(unsigned loop) {
  for (unsigned o : {0u, 1u})
    for (auto [d, expr] : llvm::enumerate(map(o).getResults()))
      if (expr == getAffineDimExpr(loop, getContext())) return {o, static_cast<unsigned>(d)};
  llvm_unreachable("verified: every loop is in the lhs or rhs map");
}

SmallVector<unsigned> ContractOp::reductionLoops() {
  SmallVector<unsigned> r;
  for (unsigned l = 0; l < numLoops(); ++l)
    if (!map(2).isFunctionOfDim(l)) r.push_back(l);
  return r;
}

LogicalResult ContractOp::verify() {
  if (getIndexingMaps().size() != 3) return emitOpError("needs three indexing maps");
  Value operands[] = {getLhs(), getRhs(), getInit()};
  for (unsigned i = 0; i < 3; ++i) {
    if (map(i).getNumDims() != numLoops() || !map(i).isProjectedPermutation())
      return emitOpError() << "indexing map " << i
                           << " is no projected permutation over the same loops";
    if (map(i).getNumResults() != cast<RankedTensorType>(operands[i].getType()).getRank())
      return emitOpError() << "indexing map " << i << " does not fit the rank of its operand";
  }
  SmallVector<int64_t> extents(numLoops(), ShapedType::kDynamic);
  SmallVector<bool> seen(numLoops());
  for (unsigned i = 0; i < 3; ++i)
    for (auto [d, expr] : llvm::enumerate(map(i).getResults())) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      if (i < 2) seen[loop] = true;
      int64_t size = cast<RankedTensorType>(operands[i].getType()).getDimSize(d);
      if (ShapedType::isDynamic(size)) continue;
      if (!ShapedType::isDynamic(extents[loop]) && extents[loop] != size)
        return emitOpError() << "loop " << loop << " is " << extents[loop] << " and " << size;
      extents[loop] = size;
    }
  if (!llvm::all_of(seen, [](bool b) { return b; }))
    return emitOpError("a loop is in neither the lhs nor the rhs map");
  return success();
}

LogicalResult ContractOp::evaluate(ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor>& results) {
  unsigned n = numLoops();
  SmallVector<int64_t> extents(n);
  SmallVector<SmallVector<int64_t>> strides(3, SmallVector<int64_t>(n, 0));
  for (unsigned i = 0; i < 3; ++i) {
    int64_t stride = 1;
    for (size_t d = operands[i].dims.size(); d-- > 0;) {
      unsigned loop = map(i).getDimPosition(d);
      if (i < 2) {
        if (extents[loop] && extents[loop] != operands[i].dims[d])
          return emitError() << "sizes of a contraction differ: " << extents[loop] << " and "
                             << operands[i].dims[d];
        extents[loop] = operands[i].dims[d];
      }
      strides[i][loop] = stride;
      stride *= operands[i].dims[d];
    }
  }
  HostTensor r(cast<RankedTensorType>(getResult().getType()).getElementType(), operands[2].dims);
  SmallVector<int64_t> outer, inner;
  for (unsigned l = 0; l < n; ++l)
    (map(2).isFunctionOfDim(l) ? outer : inner).push_back(l);
  auto pick = [](ArrayRef<int64_t> from, ArrayRef<int64_t> which) {
    SmallVector<int64_t> r;
    for (int64_t w : which)
      r.push_back(from[w]);
    return r;
  };
  sumOfProducts(operands[0], getLhsUnsigned(), operands[1], getRhsUnsigned(), r,
                pick(extents, outer), pick(extents, inner),
                {pick(strides[0], outer), pick(strides[1], outer), pick(strides[2], outer)},
                {pick(strides[0], inner), pick(strides[1], inner)});
  results.push_back(std::move(r));
  return success();
}

Value ContractOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  SmallVector<Value> at(numLoops());
  for (auto [d, expr] : llvm::enumerate(map(2).getResults()))
    at[cast<AffineDimExpr>(expr).getPosition()] = indices[d];
  SmallVector<unsigned> loops = reductionLoops();
  SmallVector<Value> extents;
  for (unsigned l : loops) {
    auto [operand, dim] = extentOf(l);
    extents.push_back(e.size(operand ? getRhs() : getLhs(), dim));
  }
  auto readAt = [&](unsigned operand, Value tensor) {
    SmallVector<Value> idx;
    for (AffineExpr expr : map(operand).getResults())
      idx.push_back(at[cast<AffineDimExpr>(expr).getPosition()]);
    return e.read(tensor, idx);
  };
  Type result = cast<RankedTensorType>(getResult().getType()).getElementType();
  return accumulateProducts(e, result, extents, [&](ValueRange k) -> std::pair<Value, Value> {
    for (auto [l, v] : llvm::zip(loops, k))
      at[l] = v;
    return {widen(e, readAt(0, getLhs()), result, getLhsUnsigned()),
            widen(e, readAt(1, getRhs()), result, getRhsUnsigned())};
  });
}
