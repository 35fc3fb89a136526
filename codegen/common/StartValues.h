// SPDX-License-Identifier: Apache-2.0
// Which values of a program follow from the dims alone, so that they are known before a run.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace ortc::codegen {

/// Sizes share operands: each op is looked at once, however many ways lead to it.
class StartValues {
public:
  explicit StartValues(mlir::func::FuncOp program) : start(&program.getBody().front()) {}

  /// Is it arithmetic on dims and constants, at the start of the program?
  bool has(mlir::Value value);
  /// The ops that such a value is computed by, operands first.
  static void collect(mlir::Value value, llvm::SetVector<mlir::Operation*>& ops);

private:
  mlir::Block* start;
  llvm::DenseMap<mlir::Operation*, bool> known;
};

} // namespace ortc::codegen
