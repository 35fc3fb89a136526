// SPDX-License-Identifier: Apache-2.0
// Runs tensor IR on the host: the target `reference`, the constant folder, and the oracle that
// kernels are tested against. Every float op is exact and then rounded to its type, as an ideal
// machine of that type would do; sums of reductions, contractions and convolutions are kept in f64
// and rounded once. Results do not depend on the number of threads.
#pragma once
#include "compiler/evaluate/HostValue.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>
#include <memory>

namespace ortc {

class HostStepOp;

/// A step that `ortc.host_step` names: work on strings, lists, maps and files of values.
using HostStep = std::function<mlir::FailureOr<llvm::SmallVector<HostValue>>(
    HostStepOp, llvm::ArrayRef<HostValue>)>;
/// Registers (or replaces) the step of this name. Call before threads start.
void registerHostStep(llvm::StringRef name, HostStep step);

struct EvaluateOptions {
  /// Largest single tensor; more is an error ("needs N bytes").
  uint64_t maxBytes = uint64_t(1) << 36;
  /// Scalar operations in all: elements times operations of their body, products of contractions;
  /// an op at the level of the function counts 128.
  uint64_t maxSteps = UINT64_MAX;
  /// No diagnostics: failure is an answer (constant folding).
  bool quiet = false;
  /// Called with each value of the function once it is computed: per-node comparison, calibration.
  std::function<void(mlir::Value, const HostValue&)> onValue;
};

class Evaluator {
public:
  explicit Evaluator(EvaluateOptions options = {});
  ~Evaluator();

  /// Binds the sizes of `arguments` to the dims that the function's attributes name, checks them,
  /// and runs the body. Failure comes with a diagnostic at the op (unless quiet).
  mlir::FailureOr<llvm::SmallVector<HostValue>> run(mlir::func::FuncOp function,
                                                    llvm::ArrayRef<HostValue> arguments);

  /// One op on given operands. Values that its regions read from outside must be constants, or
  /// given in `captured`.
  mlir::FailureOr<llvm::SmallVector<HostValue>>
  evaluate(mlir::Operation* op, llvm::ArrayRef<HostValue> operands,
           llvm::ArrayRef<std::pair<mlir::Value, HostValue>> captured = {});

  /// Did the last failure come from a limit of the options?
  bool exceededLimit() const;
  /// Steps that the last run took.
  uint64_t steps() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ortc
