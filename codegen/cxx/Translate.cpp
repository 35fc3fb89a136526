// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Translations.h"
#include "codegen/cxx/PrintCxx.h"
using namespace mlir;

static LogicalResult printCxx(ModuleOp module, llvm::raw_ostream& os) {
  ortc::codegen::cxx::Needs needs;
  std::string text;
  llvm::raw_string_ostream body(text);
  LogicalResult result = success();
  for (auto f : module.getOps<func::FuncOp>()) {
    if (f->hasAttr("ortc.kernel")) {
      if (failed(ortc::codegen::cxx::printKernel(f, body, needs))) result = failure();
    } else if (f->hasAttr("ortc.program")) {
      if (failed(ortc::codegen::cxx::printArenaBytes(f, body))) result = failure();
      body << "\n";
      if (failed(ortc::codegen::cxx::printProgram(f, body, needs))) result = failure();
    } else
      continue;
    body << "\n";
  }
  for (const std::string& header : needs.headers)
    os << "#include \"" << header << "\"\n";
  os << "namespace ortc_rt {\nnamespace model {\n\n" << StringRef(text).rtrim() << "\n\n}\n}\n";
  return result;
}

[[maybe_unused]] static const bool cxxRegistered = ortc::codegen::addTranslation("cxx", printCxx);
