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
  /// Offset and bytes of the buffers that the weights become; none: one buffer of all.
  std::vector<std::pair<uint64_t, uint64_t>> weightBuffers;
};

/// Model description, program, and `create`. Buffers of a run: arena 0 holds what the planner
/// placed, then one per input and output.
mlir::LogicalResult printModule(mlir::ModuleOp module, const gpu::DeviceModule& device,
                                llvm::raw_ostream& os, const Options& options = {});

/// NAME.d.mts: the model's own inputs and outputs as TypeScript knows them.
void printTypes(mlir::ModuleOp module, llvm::raw_ostream& os, const Options& options = {});

} // namespace ortc::codegen::js
