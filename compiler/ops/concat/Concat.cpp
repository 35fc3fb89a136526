// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include <cstring>
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/concat/Concat.cpp.inc"

LogicalResult ConcatOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (getSources().empty()) return emitOpError("needs a source");
  if (getAxis() >= static_cast<uint64_t>(type.getRank()))
    return emitOpError("axis is out of range");
  for (Value s : getSources()) {
    auto t = cast<RankedTensorType>(s.getType());
    if (t.getRank() != type.getRank() || t.getElementType() != type.getElementType())
      return emitOpError("sources and result differ in rank or element type");
    for (int64_t d = 0; d < t.getRank(); ++d)
      if (d != static_cast<int64_t>(getAxis()) && !t.isDynamicDim(d) && !type.isDynamicDim(d) &&
          t.getDimSize(d) != type.getDimSize(d))
        return emitOpError() << "sizes differ on dim " << d;
  }
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getSources().size() == 1 && getSources()[0].getType() == getResult().getType())
    return getSources()[0];
  return {};
}

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor>& results) {
  auto sources = operands.drop_back();
  int64_t axis = getAxis();
  SmallVector<int64_t> dims = sources[0].dims;
  dims[axis] = 0;
  for (const HostTensor& s : sources)
    dims[axis] += s.dims[axis];
  HostTensor r(sources[0].elementType, dims);
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d)
    outer *= dims[d];
  for (size_t d = axis + 1; d < dims.size(); ++d)
    inner *= dims[d];
  int64_t at = 0, width = storageBytes(r.elementType);
  for (const HostTensor& s : sources) {
    int64_t run = s.dims[axis] * inner, pitch = dims[axis] * inner;
    for (int64_t o = 0; o < outer; ++o)
      if (r.strings)
        std::copy_n(s.strings->begin() + o * run, run, r.strings->begin() + o * pitch + at);
      else
        std::memcpy(r.data.get() + (o * pitch + at) * width, s.data.get() + o * run * width,
                    run * width);
    at += run;
  }
  results.push_back(std::move(r));
  return success();
}

Value ConcatOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  OpBuilder& b = e.builder();
  // source k holds [start_k, start_k+1) of the axis
  SmallVector<Value> starts{e.index(0)};
  for (Value s : getSources())
    starts.push_back(e.add(starts.back(), e.size(s, getAxis())));
  std::function<Value(size_t)> pick = [&](size_t k) -> Value {
    auto here = [&]() -> Value {
      SmallVector<Value> at(indices);
      at[getAxis()] = e.sub(at[getAxis()], starts[k]);
      return e.read(getSources()[k], at);
    };
    if (k + 1 == getSources().size()) return here();
    Value inside = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::slt, indices[getAxis()],
                                           starts[k + 1]);
    return e.guarded(inside, here, [&] { return pick(k + 1); });
  };
  return pick(0);
}
