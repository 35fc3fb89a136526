// SPDX-License-Identifier: Apache-2.0
// Legalised kernels as SPIR-V for Vulkan 1.1, through MLIR's conversion, and the host program on
// targets/vulkan/host/ortc_vulkan.h. Bindings are set 0, storage buffers; scalars are one block of push constants.
#pragma once
#include "codegen/gpu/Legalise.h"
#include <string>
#include <vector>

namespace ortc::codegen::spirv {

struct Shader {
  std::string name; ///< of the module and its entry point
  std::vector<uint32_t> words;
  uint32_t bindings = 0, writes = 0, pushBytes = 0; ///< as in vulkan_kernel
  uint32_t sharedBytes = 0, invocations = 1;
};

mlir::LogicalResult emitKernels(const gpu::DeviceModule& device, std::vector<Shader>& shaders);

struct Options {
  std::string contextType = "ortc_rt::context";
};

/// Two functions:
///   static uint64_t place(const int64_t* dims, vulkan_range* inputs, vulkan_range* outputs)
///     bytes of the whole arena: what the planner placed, then inputs and outputs;
///   static ortc_status run(context& context, vulkan_context& vk, const ortc_tensor* inputs, ortc_tensor* outputs, const int64_t* dims)
///     the program. Kernels are numbered as in device.kernels().
mlir::LogicalResult printProgram(mlir::ModuleOp module, mlir::func::FuncOp program, const gpu::DeviceModule& device, llvm::raw_ostream& os,
                                 const Options& options = {});

} // namespace ortc::codegen::spirv
