// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/serial/Serial.cpp.inc"

LogicalResult SerialOp::verify() {
  Block& body = block();
  size_t extents = getExtents().size();
  if (body.getNumArguments() != extents + getNumResults())
    return emitOpError() << "the region takes " << body.getNumArguments() << " values, expected "
                         << extents + getNumResults();
  for (auto [i, a] : llvm::enumerate(body.getArguments())) {
    if (i < extents) {
      if (!a.getType().isIndex()) return emitOpError() << "argument " << i << " is no index";
      continue;
    }
    auto result = cast<RankedTensorType>(getResult(i - extents).getType());
    auto memref = dyn_cast<MemRefType>(a.getType());
    if (!memref || memref.getElementType() != result.getElementType() ||
        memref.getShape() != result.getShape())
      return emitOpError() << "argument " << i << " is " << a.getType() << ", expected a memref of "
                           << result;
  }
  if (!isa<YieldOp>(body.getTerminator()) || body.getTerminator()->getNumOperands())
    return emitOpError("the region must end with a yield of nothing");
  return success();
}
