// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/reshape/Reshape.cpp.inc"

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType()),
       to = cast<RankedTensorType>(getResult().getType());
  if (from.getElementType() != to.getElementType()) return emitOpError("element types differ");
  if (from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() != to.getNumElements())
    return emitOpError() << "has " << from.getNumElements() << " elements to put into "
                         << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType()) {
    auto type = cast<RankedTensorType>(getSource().getType());
    // One `?` at most: then equal numbers of elements make it equal, too.
    if (llvm::count_if(type.getShape(), ShapedType::isDynamic) <= 1) return getSource();
    OpBuilder b(getContext());
    b.setInsertionPoint(*this);
    if (sameSizes(getSizes(b, getSource()), getSizes(b, getInit()))) return getSource();
  }
  if (auto inner = getSource().getDefiningOp<ReshapeOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  if (auto dense = dyn_cast_if_present<DenseIntOrFPElementsAttr>(adaptor.getSource()))
    if (auto type = cast<RankedTensorType>(getResult().getType()); type.hasStaticShape())
      return dense.reshape(type);
  return {};
}

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor>& results) {
  HostTensor r = operands[0];
  r.dims = operands[1].dims;
  if (r.size() != operands[0].size())
    return emitError() << "cannot reshape " << operands[0].size() << " elements into " << r.size();
  results.push_back(std::move(r));
  return success();
}

// Groups of dims that multiply to the same size map onto each other alone, which keeps divisions
// few: walk both shapes from the left, and close a group when the products are known to agree.
Value ReshapeOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  OpBuilder& b = e.builder();
  Sizes from = getSizes(b, getSource()), to = getSizes(b, getInit());
  SmallVector<Value> source(from.size());
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i0 = i, j0 = j;
    OpFoldResult left = b.getIndexAttr(1), right = b.getIndexAttr(1);
    if (i < from.size()) left = from[i++];
    if (j < to.size()) right = to[j++];
    // Grow the side that is known to be smaller; take everything when nothing can be proven.
    while (!sameSize(left, right)) {
      auto l = constantSize(left), r = constantSize(right);
      if (l && r && *l < *r && i < from.size())
        left = mulSizes(b, e.loc, left, from[i++]);
      else if (l && r && *r < *l && j < to.size())
        right = mulSizes(b, e.loc, right, to[j++]);
      else {
        i = from.size(), j = to.size();
        break;
      }
    }
    // Ones at the end belong to the last group.
    if (i == from.size()) j = to.size();
    if (j == to.size()) i = from.size();
    if (i - i0 == j - j0) {
      bool same = true;
      for (size_t k = 0; k < i - i0; ++k)
        same &= sameSize(from[i0 + k], to[j0 + k]);
      if (same) {
        for (size_t k = 0; k < i - i0; ++k)
          source[i0 + k] = indices[j0 + k];
        continue;
      }
    }
    Value linear = e.index(0);
    for (size_t k = j0; k < j; ++k)
      linear = e.add(e.mul(linear, e.size(getInit(), k)), indices[k]);
    for (size_t k = i; k-- > i0;) {
      Value size = e.size(getSource(), k);
      bool outermost = true; // no dim of size other than 1 before it: the rest is its index
      for (size_t q = i0; q < k; ++q)
        outermost &= constantSize(from[q]) == 1;
      if (constantSize(from[k]) == 1) {
        source[k] = e.index(0);
        continue;
      }
      source[k] = outermost ? linear : e.rem(linear, size);
      if (!outermost) linear = e.div(linear, size);
    }
    for (size_t k = i0; k < i; ++k)
      if (!source[k]) source[k] = e.index(0);
  }
  return e.read(getSource(), source);
}
