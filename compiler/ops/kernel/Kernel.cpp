// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/kernel/Kernel.cpp.inc"

ValueRange KernelOp::yielded() {
  return block().getTerminator()->getOperands();
}

SmallVector<Value> KernelOp::capturedTensors() {
  llvm::SetVector<Value> captured;
  getBody().walk([&](Operation* op) {
    for (Value v : op->getOperands()) {
      if (!isa<TensorType>(v.getType()) || getBody().isAncestor(v.getParentRegion())) continue;
      if (v.getDefiningOp<tensor::EmptyOp>()) continue; // only a shape
      captured.insert(v);
    }
  });
  return captured.takeVector();
}
