// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/StartValues.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ortc::codegen {

bool StartValues::has(Value value) {
  Operation* op = value.getDefiningOp();
  if (!op || op->getBlock() != start || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  if (auto it = known.find(op); it != known.end()) return it->second;
  bool all = llvm::all_of(op->getOperands(), [&](Value operand) { return has(operand); });
  known[op] = all;
  return all;
}

void StartValues::collect(Value value, llvm::SetVector<Operation*>& ops) {
  Operation* op = value.getDefiningOp();
  if (!op || ops.contains(op)) return;
  for (Value operand : op->getOperands())
    collect(operand, ops);
  ops.insert(op);
}

} // namespace ortc::codegen
