// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Translations.h"
#include "codegen/wgsl/PrintWgsl.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
using namespace mlir;

static llvm::cl::opt<std::string> shaders("shaders", llvm::cl::desc("folder for WGSL shaders"));

static LogicalResult printWgsl(ModuleOp module, llvm::raw_ostream& os) {
  auto device = ortc::codegen::gpu::DeviceModule::create(module);
  if (failed(device)) return failure();
  LogicalResult result = success();
  for (const auto& kernel : device->kernels()) {
    if (!shaders.empty()) {
      llvm::sys::fs::create_directories(shaders);
      std::error_code error;
      llvm::raw_fd_ostream file(shaders + "/" + kernel.name + ".wgsl", error);
      if (error || failed(ortc::codegen::wgsl::printKernel(kernel, file))) result = failure();
      continue;
    }
    if (device->kernels().size() > 1) os << "// " << kernel.name << ".wgsl\n";
    if (failed(ortc::codegen::wgsl::printKernel(kernel, os))) result = failure();
    os << "\n";
  }
  return result;
}

[[maybe_unused]] static const bool wgslRegistered =
    ortc::codegen::addTranslation("wgsl", printWgsl);
