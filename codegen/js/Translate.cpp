// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Translations.h"
#include "codegen/js/PrintJs.h"
using namespace mlir;

static LogicalResult printJs(ModuleOp module, llvm::raw_ostream& os) {
  auto device = ortc::codegen::gpu::DeviceModule::create(module);
  return failure(failed(device) || failed(ortc::codegen::js::printModule(module, *device, os)));
}

[[maybe_unused]] static const bool jsRegistered = ortc::codegen::addTranslation("js", printJs);
