// SPDX-License-Identifier: Apache-2.0
// One kernel of tensor IR to one function of loops over memory.
#pragma once
#include "compiler/lower/LoopEmitter.h"
#include "compiler/ops/AllOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ortc {

/// How the loops of a kernel are spread and widened; a target's schedule, read from the kernel's
/// attribute.
struct Schedule {
  /// Outer loops that become one scf.parallel; -1: all (GPU: one thread per element).
  int64_t parallelLoops = 0;
  /// Elements of f32 in a vector; 0 or 1: scalar code.
  int64_t vectorLanes = 0;
  /// Threads that share each iteration of the parallel loop (spreadRows), where that is possible;
  /// 0: one thread does all of it.
  int64_t rowThreads = 0;
};

struct LoweredKernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> inputs;  // tensors of the enclosing function; the first arguments
  llvm::SmallVector<mlir::Value> scalars; // index and other scalar values of it; the last arguments
  bool hasWorkspace = false;              // one more buffer, after the results
};

/// Tells the strides of the place that a tensor of the enclosing function has.
using StridesOf = llvm::function_ref<Sizes(mlir::Value tensor)>;

/// Arguments of the function: inputs in order of first use, results, scalars. Tensors come as
/// one-dimensional buffers (memref<?xT>) that begin at their first element; what is known of sizes
/// and strides is in the code. Made in `module` under a name that is unique in it. A catalogue
/// kernel (choice) is written by `lowerChoice` of the target instead.
mlir::FailureOr<LoweredKernel> lowerKernel(KernelOp kernel, mlir::ModuleOp module,
                                           const Schedule& schedule, StridesOf stridesOf);

/// Removes doubles, what folding left behind and what nothing uses; then verifies. Every kernel
/// function goes through it.
mlir::LogicalResult tidyKernel(mlir::func::FuncOp function);

/// The arguments of a kernel function that is being written; also used by targets that write
/// catalogue kernels.
class KernelWriter final : public LoopEmitter::Outside {
public:
  KernelWriter(KernelOp kernel, mlir::ModuleOp module, std::function<Sizes(mlir::Value)> stridesOf);
  mlir::Value scalar(mlir::Value outer) override;
  Place place(mlir::Value tensor) override;
  bool isInside(mlir::Operation* op) override { return kernel->isProperAncestor(op); }
  /// The place of result i.
  const Place& result(unsigned i) { return results[i]; }
  /// Memory that only this kernel uses (ProgramOptions::workspace says how much): an argument after
  /// the results.
  mlir::Value workspace();
  LoweredKernel finish();

  mlir::OpBuilder builder;
  LoopEmitter emitter;

private:
  KernelOp kernel;
  mlir::func::FuncOp function;
  std::function<Sizes(mlir::Value)> stridesOf;
  llvm::SmallVector<Place> results;
  mlir::Value workspaceArg;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> inputArgs, scalarArgs;
};

/// A name for what a value holds, from its op's node or dim: "batch", "conv1". Not unique, not yet
/// legal C++.
std::string wishName(mlir::Value value);

} // namespace ortc
