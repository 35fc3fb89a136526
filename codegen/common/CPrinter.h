// SPDX-License-Identifier: Apache-2.0
// What C++ and CUDA C++ have in common.
#pragma once
#include "codegen/common/Printer.h"

namespace ortc::codegen {

class CPrinter : public Printer {
public:
  using Printer::Printer;

protected:
  std::string typeName(mlir::Type type) override;
  std::string constDecl(mlir::Type type, llvm::StringRef name, llvm::StringRef init) override;
  std::string varDecl(mlir::Type type, llvm::StringRef name, llvm::StringRef init) override;
  Expr floatLiteral(mlir::FloatType type, const llvm::APFloat& value) override;
  Expr integerLiteral(mlir::Type type, const llvm::APInt& value) override;
  Expr castTo(mlir::Type type, const Expr& e) override;
  Expr unsignedCast(mlir::Type type, const Expr& e) override;
  Expr bitcastTo(mlir::Type type, const Expr& e) override;
  std::string forHeader(mlir::Type type, llvm::StringRef name, const Expr& lower, const Expr& upper,
                        const Expr& step) override;
  Expr integerOp(mlir::Operation* op) override;
  Expr castOp(mlir::Operation* op) override;
  Expr floatOperand(mlir::Value value) override;
  Expr toSmallFloat(mlir::Type type, const Expr& e, bool saturating = false);
  Expr tableOp(mlir::Operation* op, const OpRow& row) override;
  void declareView(mlir::Value view, Layout layout, llvm::StringRef wish) override;
  mlir::LogicalResult printCopy(mlir::memref::CopyOp op) override;

  /// Calls a template of the runtime: integer literals get their type, so that all arguments agree.
  Expr runtimeCall(llvm::StringRef callee, mlir::ValueRange operands, llvm::StringRef header);
  std::string argument(mlir::Value value);
  std::string pointerDecl(const Layout& layout, mlir::Type element, llvm::StringRef name,
                          llvm::StringRef init);
  /// base + offset, as a pointer.
  std::string address(const Layout& layout, const Expr& index);
  std::string unsignedName(mlir::Type type);
  virtual std::string indexName() { return "int64_t"; }
  /// Parameters of the kernel's function for its memrefs, sizes and scalars; binds them. After the
  /// body is printed, `parameterList` leaves out the names that it does not mention.
  void bindParameters(mlir::func::FuncOp kernel, const KernelSignature& signature);
  llvm::SmallVector<std::string>
  parameterList(mlir::func::FuncOp kernel, const KernelSignature& signature, llvm::StringRef body);
};

/// Does `word` occur in `text` as a whole word?
bool mentions(llvm::StringRef text, llvm::StringRef word);
/// Shortest decimal that reads back as the same number.
std::string shortestDecimal(const llvm::APFloat& value);
/// f16, bf16 and the 8-bit floats: types of storage, computed in f32.
bool isSmallFloat(mlir::Type type);

} // namespace ortc::codegen
