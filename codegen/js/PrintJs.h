// SPDX-License-Identifier: Apache-2.0
// The host program for WebGPU: the module NAME.mjs on targets/webgpu/host/ortc_webgpu.mjs.
#pragma once
#include "codegen/gpu/Legalise.h"
#include <string>

namespace ortc::codegen::js {

struct Options {
  std::string runtime = "./runtime/ortc_webgpu.mjs";
  std::string shaders = "shaders/"; ///< kernels are SHADERS/NAME.wgsl, NAME as in DeviceKernel
  std::string weightsFile = "weights/weights.bin"; ///< relative to the module
};

/// Model description, program, and `create`. Buffers of a run: arena 0 holds what the planner
/// placed, then one per input and output.
mlir::LogicalResult printModule(mlir::ModuleOp module, const gpu::DeviceModule& device,
                                llvm::raw_ostream& os, const Options& options = {});

} // namespace ortc::codegen::js
