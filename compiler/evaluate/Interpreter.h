// SPDX-License-Identifier: Apache-2.0
// The interpreter of functions: values in an environment, one op after the other, tensors freed
// after their last use. Internal to this folder; users see Evaluator.h.
#pragma once
#include "compiler/evaluate/Evaluator.h"
#include "compiler/evaluate/Structured.h"
#include "compiler/ops/AllOps.h"

namespace ortc {

class Interpreter {
public:
  explicit Interpreter(const EvaluateOptions& options) : options(options) {
    errors.maxSteps = options.maxSteps;
  }

  using Results = llvm::SmallVector<HostValue>;
  mlir::FailureOr<Results> call(mlir::func::FuncOp function, llvm::ArrayRef<HostValue> arguments);
  mlir::LogicalResult bindDims(mlir::func::FuncOp function, llvm::ArrayRef<HostValue> arguments);
  /// Executes one op whose operands are in the environment; its results are there afterwards.
  mlir::LogicalResult execute(mlir::Operation* op);
  void set(mlir::Value v, HostValue value);
  HostValue get(mlir::Value v);

  bool limitExceeded = false;
  uint64_t steps() const { return errors.steps; }

private:
  // Tensors ops (InterpretTensors.cpp).
  mlir::LogicalResult tensorOp(mlir::Operation* op);
  mlir::LogicalResult empty(mlir::tensor::EmptyOp op);
  mlir::LogicalResult extract(mlir::tensor::ExtractOp op);
  mlir::LogicalResult insert(mlir::tensor::InsertOp op);
  mlir::LogicalResult extractSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult insertSlice(mlir::tensor::InsertSliceOp op);
  mlir::LogicalResult fromElements(mlir::tensor::FromElementsOp op);
  mlir::LogicalResult fill(mlir::linalg::FillOp op);
  mlir::LogicalResult structured(mlir::linalg::LinalgOp op);
  mlir::LogicalResult serial(SerialOp op);
  mlir::LogicalResult castTo(mlir::Operation* op, mlir::Value source, mlir::RankedTensorType type);

  // Control flow and the rest (Interpreter.cpp).
  mlir::LogicalResult constant(mlir::arith::ConstantOp op);
  mlir::LogicalResult scalar(mlir::Operation* op);
  mlir::LogicalResult evaluable(mlir::Operation* op);
  mlir::LogicalResult ifElse(mlir::scf::IfOp op);
  mlir::LogicalResult forLoop(mlir::scf::ForOp op);
  mlir::LogicalResult whileLoop(mlir::scf::WhileOp op);
  mlir::LogicalResult hostStep(HostStepOp op);
  mlir::FailureOr<Results> block(mlir::Block& block);

  mlir::LogicalResult fail(mlir::Operation* op, const llvm::Twine& text, bool isLimit = false);
  /// Reports what went wrong in lanes, if anything.
  mlir::LogicalResult check(mlir::Operation* op);
  mlir::LogicalResult countSteps(mlir::Operation* op, uint64_t n);
  /// Fails when a tensor of this size must not be made.
  mlir::LogicalResult checkSize(mlir::Operation* op, mlir::Type elementType,
                                llvm::ArrayRef<int64_t> dims);

  /// A tensor with content: what comes from tensor.empty gets its zeros here.
  mlir::FailureOr<HostTensor> tensor(mlir::Operation* op, mlir::Value v);
  /// As above, for changing: moved out of the environment when this is the last use, and copied
  /// when it is shared.
  mlir::FailureOr<HostTensor> ownTensor(mlir::Operation* op, mlir::Value v);
  HostTensor shape(mlir::Value v);
  int64_t index(mlir::Value v);
  int64_t index(mlir::OpFoldResult v);
  mlir::FailureOr<std::pair<llvm::SmallVector<HostTensor>, llvm::SmallVector<HostScalar>>>
  capture(mlir::Operation* op, const Body& body);
  /// Values of a block whose last use is an op of it.
  const llvm::SmallVector<mlir::Value>& diesAfter(mlir::Operation* op);
  /// Is the operand `v` of `op` never read again, not even by the regions of `op`?
  bool dies(mlir::Operation* op, mlir::Value v);

  const EvaluateOptions& options;
  BodyErrors errors;
  llvm::DenseMap<mlir::Value, HostValue> environment;
  llvm::StringMap<int64_t> dims;
  llvm::DenseMap<mlir::Attribute, HostTensor> constants;
  llvm::DenseMap<mlir::Operation*, std::unique_ptr<StructuredPlan>> plans;
  llvm::DenseMap<mlir::Operation*, std::unique_ptr<Body>> bodies; // of ortc.serial
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Value>> deaths;
  llvm::DenseSet<mlir::Block*> analysed;
  unsigned depth = 0;
};

/// The steps that tensor IR of imported models holds (HostSteps.cpp).
void addBuiltInHostSteps(llvm::StringMap<HostStep>& steps);

} // namespace ortc
