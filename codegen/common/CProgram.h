// SPDX-License-Identifier: Apache-2.0
// The host program as C++: sizes, places of tensors, and launches of kernels in order. What fails
// returns a status. The CPU's and CUDA's programs differ in where buffers are and how a kernel is
// started.
#pragma once
#include "codegen/common/CPrinter.h"
#include "compiler/ops/AllOps.h"

namespace ortc::codegen {

class CProgramPrinter : public CPrinter {
public:
  CProgramPrinter(const Language& language, mlir::func::FuncOp program, llvm::raw_ostream& os)
      : CPrinter(language, os), program(program) {}

  mlir::LogicalResult printBody();
  /// Definitions at the start of the function of what the body mentions: the dims.
  std::string dimDeclarations(llvm::StringRef body);
  /// `static uint64_t arena_bytes(const int64_t* dims)`: what the arena must hold for these sizes.
  mlir::LogicalResult printArenaBytes(llvm::raw_ostream& os);
  /// `static uint64_t computed_bytes(int32_t output, const int64_t* dims)`: the most that an output
  /// takes whose sizes are no plain dims; 0 for all others. The program is @output_bounds.
  mlir::LogicalResult printComputedBytes(llvm::raw_ostream& os);

protected:
  std::string typeName(mlir::Type type) override;
  std::optional<mlir::LogicalResult> printSpecial(mlir::Operation* op) override;
  /// The pointer to byte `at` of a segment; `element` without const.
  virtual std::string bufferPointer(BufferOp op, const Expr& at, const std::string& element) = 0;
  virtual mlir::LogicalResult printLaunch(LaunchOp op) = 0;
  virtual mlir::LogicalResult printRequireArena(RequireArenaOp op) = 0;

  void returnOnFailure(const std::string& call);
  void bindDims();
  /// Pointers, sizes, scalars in the order of the kernel's parameters; failure after a diagnostic.
  mlir::LogicalResult launchArguments(LaunchOp op, mlir::func::FuncOp kernel,
                                      llvm::SmallVectorImpl<std::string>& args);

  mlir::func::FuncOp program;
  std::vector<std::pair<std::string, int64_t>> dimNames;

private:
  mlir::LogicalResult printBuffer(BufferOp op);
  mlir::LogicalResult printOutputDims(OutputDimsOp op);
  mlir::LogicalResult printHostStep(HostStepOp op);
  bool setting(HostStepOp op, mlir::NamedAttribute s, llvm::SmallVectorImpl<std::string>& args);
  /// Patterns as a table of rows, one after another.
  bool patterns(HostStepOp op, mlir::NamedAttribute s, llvm::SmallVectorImpl<std::string>& args);
  /// Tables of patterns by the block that they are printed in.
  std::map<std::pair<mlir::Block*, const void*>, std::pair<std::string, size_t>> patternTables;
};

} // namespace ortc::codegen
