// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/dim/Dim.cpp.inc"

LogicalResult DimOp::verify() {
  if (getMin() < 0 || getMin() > getMax()) return emitOpError() << "bounds [" << getMin() << ", " << getMax() << "] are empty or negative";
  if (getMultipleOf() < 1) return emitOpError("multipleOf must be positive");
  return success();
}
