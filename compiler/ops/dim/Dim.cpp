// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/dim/Dim.cpp.inc"

LogicalResult DimOp::verify() {
  int64_t min = getMin(), max = getMax(), multiple = getMultipleOf(); // the accessors are unsigned
  if (min < 0 || min > max)
    return emitOpError() << "bounds [" << min << ", " << max << "] are empty or negative";
  if (multiple < 1) return emitOpError("multipleOf must be positive");
  return success();
}
