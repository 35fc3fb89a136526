// SPDX-License-Identifier: Apache-2.0
// What C++ has beyond the common part: threads, vectors, kernel templates.
#pragma once
#include "codegen/common/CPrinter.h"
#include "codegen/cxx/PrintCxx.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace ortc::codegen::cxx {

class CxxPrinter : public CPrinter {
public:
  CxxPrinter(llvm::raw_ostream& os, const Options& options, Needs& needs)
      : CPrinter(kCxx, os), options(options), needs(needs) {}
  std::string prelude; ///< text that must stand before the function: structs of epilogues

protected:
  std::string typeName(mlir::Type type) override;
  std::optional<mlir::LogicalResult> printSpecial(mlir::Operation* op) override;
  mlir::LogicalResult printParallel(mlir::scf::ParallelOp op) override;
  mlir::LogicalResult printAlloca(mlir::Operation* op, mlir::MemRefType type) override;
  std::string varDecl(mlir::Type type, llvm::StringRef name, llvm::StringRef init) override;
  std::string constDecl(mlir::Type type, llvm::StringRef name, llvm::StringRef init) override;

  // Vectors (CxxVector.cpp).
  std::optional<mlir::LogicalResult> printVectorOp(mlir::Operation* op);
  Expr vectorOperand(mlir::Value value, bool laneAllowed);
  Expr vectorTableOp(mlir::Operation* op, const OpRow& row);
  Expr vectorIntegerOp(mlir::Operation* op);
  Expr vectorCast(mlir::Operation* op);
  mlir::LogicalResult printReduction(mlir::vector::ReductionOp op);
  /// i1 vectors are what comparisons give: integers as wide as what was compared.
  unsigned maskBits(mlir::Value mask, unsigned depth = 0);
  Expr maskOf(mlir::Value mask, unsigned bits);
  Expr splat(mlir::VectorType type, const Expr& lane);
  std::string vectorName(mlir::Type element, int64_t lanes);

  mlir::LogicalResult printCallTemplate(CallTemplateOp op);

  const Options& options;
  Needs& needs;
};

} // namespace ortc::codegen::cxx
