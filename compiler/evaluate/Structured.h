// SPDX-License-Identifier: Apache-2.0
// linalg ops on host tensors: the loop nest around a Body.
#pragma once
#include "compiler/evaluate/Body.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ortc {

/// What is known of a linalg op before its operands are: made once per op.
struct StructuredPlan {
  Body body;
  /// One per output when all outputs are folds `acc = combine(acc, x)` with `x` not looking at any
  /// accumulator.
  struct Fold {
    ScalarOp op;
    Register x;
  };
  llvm::SmallVector<Fold> folds;
  llvm::SmallVector<unsigned>
      loops; ///< order in which dims are walked: parallel ones, then reductions
  unsigned parallelLoops = 0;
  bool reads(unsigned operand) const { return body.arguments[operand] != noRegister; }

  static mlir::FailureOr<StructuredPlan> make(mlir::linalg::LinalgOp op);
};

/// Operands in the op's order (an output's content is only looked at when the body or a fold does).
/// Errors land in `errors`; when it is set, the results mean nothing.
llvm::SmallVector<HostTensor> runStructured(mlir::linalg::LinalgOp op, const StructuredPlan& plan,
                                            llvm::ArrayRef<HostTensor> operands,
                                            llvm::ArrayRef<HostTensor> tensors,
                                            llvm::ArrayRef<HostScalar> captured,
                                            BodyErrors& errors);

} // namespace ortc
