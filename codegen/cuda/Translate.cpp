// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Translations.h"
#include "codegen/cuda/PrintCuda.h"
using namespace mlir;

static LogicalResult printCuda(ModuleOp module, llvm::raw_ostream& os) {
  using namespace ortc::codegen;
  bool hasProgram = llvm::any_of(module.getOps<func::FuncOp>(),
                                 [](func::FuncOp f) { return f->hasAttr("ortc.program"); });
  os << "#include \"" << (hasProgram ? "cuda_context.h" : "ortc_cuda.cuh")
     << "\"\nnamespace ortc_rt {\nnamespace model {\n";
  LogicalResult result = success();
  cuda::Needs needs;
  for (auto f : module.getOps<func::FuncOp>()) {
    os << "\n";
    if (f->hasAttr("ortc.kernel") && failed(cuda::printKernel(f, os, needs))) result = failure();
    if (!f->hasAttr("ortc.program")) continue;
    if (failed(cuda::printArenaBytes(f, os))) result = failure();
    os << "\n";
    if (failed(cuda::printProgram(f, os))) result = failure();
  }
  os << "\n}\n}\n";
  return result;
}

[[maybe_unused]] static const bool cudaRegistered =
    ortc::codegen::addTranslation("cuda", printCuda);
