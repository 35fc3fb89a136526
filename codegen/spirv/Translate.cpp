// SPDX-License-Identifier: Apache-2.0
// spirv: disassembly and program as text; spv: the first kernel as a binary.
#include "codegen/common/Translations.h"
#include "codegen/spirv/PrintSpirv.h"
using namespace mlir;

static LogicalResult printSpirv(ModuleOp module, llvm::raw_ostream& os, bool binary) {
  namespace sp = ortc::codegen::spirv_text;
  FailureOr<sp::SpirvProgram> program = sp::compileKernels(module);
  if (failed(program)) return failure();
  for (const sp::SpirvKernel& k : program->kernels) {
    if (binary) {
      os.write(reinterpret_cast<const char*>(k.words.data()), k.words.size() * 4);
      return success();
    }
    os << k.text << "\n\n";
  }
  for (auto& [feature, kernel] : program->needs)
    os << "// needs " << feature << ": " << kernel << "\n";
  LogicalResult result = success();
  std::set<std::string> headers;
  for (auto f : module.getOps<func::FuncOp>()) {
    if (!f->hasAttr("ortc.program")) continue;
    if (failed(sp::printArenaBytes(f, *program, os, headers)) ||
        failed(sp::printProgram(f, *program, "net_context", os, headers)))
      result = failure();
  }
  for (const std::string& header : headers)
    os << "// needs " << header << "\n";
  return result;
}

[[maybe_unused]] static const bool spirvRegistered = ortc::codegen::addTranslation(
    "spirv", [](ModuleOp m, llvm::raw_ostream& os) { return printSpirv(m, os, /*binary=*/false); });
[[maybe_unused]] static const bool spvRegistered = ortc::codegen::addTranslation(
    "spv", [](ModuleOp m, llvm::raw_ostream& os) { return printSpirv(m, os, /*binary=*/true); });
