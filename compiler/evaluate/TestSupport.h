// SPDX-License-Identifier: Apache-2.0
// For unit tests: functions written as text, tensors written as lists.
#pragma once
#include "compiler/evaluate/Evaluator.h"
#include "compiler/ops/AllOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <random>

namespace ortc::test {

/// A module in a context of its own; collects the text of diagnostics.
struct Module {
  mlir::MLIRContext context;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Module(llvm::StringRef text)
      : handler(&context, [this](mlir::Diagnostic& d) {
          messages += d.str() + "\n";
          return mlir::success();
        }) {
    context.loadDialect<OrtcDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect, mlir::linalg::LinalgDialect,
                        mlir::tensor::TensorDialect, mlir::scf::SCFDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) throw std::runtime_error("does not parse: " + messages);
  }
  mlir::func::FuncOp main() { return module->lookupSymbol<mlir::func::FuncOp>("main"); }

  /// Type from text: "f32", "i8", "bf16", ...
  mlir::Type type(llvm::StringRef text) {
    if (text == "f32") return mlir::Float32Type::get(&context);
    if (text == "f64") return mlir::Float64Type::get(&context);
    if (text == "f16") return mlir::Float16Type::get(&context);
    if (text == "bf16") return mlir::BFloat16Type::get(&context);
    if (text == "f8E4M3FN") return mlir::Float8E4M3FNType::get(&context);
    if (text == "f8E5M2") return mlir::Float8E5M2Type::get(&context);
    if (text == "f8E4M3FNUZ") return mlir::Float8E4M3FNUZType::get(&context);
    if (text == "f8E5M2FNUZ") return mlir::Float8E5M2FNUZType::get(&context);
    if (text == "index") return mlir::IndexType::get(&context);
    return mlir::IntegerType::get(&context, std::stoi(text.drop_front(1).str()));
  }
  HostTensor tensor(llvm::StringRef element, llvm::ArrayRef<int64_t> dims,
                    llvm::ArrayRef<double> values) {
    HostTensor t(type(element), dims);
    for (auto [i, v] : llvm::enumerate(values))
      t.setDouble(i, v);
    return t;
  }
  /// Small whole numbers and quarters: their sums and products are exact in any order.
  HostTensor random(llvm::StringRef element, llvm::ArrayRef<int64_t> dims, unsigned seed) {
    HostTensor t(type(element), dims);
    std::mt19937 engine(seed);
    bool isFloat = mlir::isa<mlir::FloatType>(t.elementType);
    for (int64_t i = 0; i < t.size(); ++i) {
      int v = static_cast<int>(engine() % 33) - 16;
      t.setDouble(i, isFloat ? v / 4.0 : v);
    }
    return t;
  }

  llvm::SmallVector<HostTensor> run(llvm::ArrayRef<HostTensor> arguments,
                                    EvaluateOptions options = {}) {
    llvm::SmallVector<HostValue> values(arguments.begin(), arguments.end());
    auto results = Evaluator(std::move(options)).run(main(), values);
    if (mlir::failed(results)) throw std::runtime_error(messages.empty() ? "failed" : messages);
    llvm::SmallVector<HostTensor> tensors;
    for (HostValue& v : *results)
      tensors.push_back(v.tensor() ? *v.tensor() : toTensor(*v.scalar()));
    return tensors;
  }
  std::string error(llvm::ArrayRef<HostTensor> arguments, EvaluateOptions options = {}) {
    try {
      run(arguments, std::move(options));
    } catch (std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }
};

inline std::vector<double> values(const HostTensor& t) {
  std::vector<double> r;
  for (int64_t i = 0; i < t.size(); ++i)
    r.push_back(t.getDouble(i));
  return r;
}

} // namespace ortc::test
