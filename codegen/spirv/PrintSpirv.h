// SPDX-License-Identifier: Apache-2.0
// Kernels as SPIR-V for Vulkan 1.1, and the host program that dispatches them as C++ over
// ortc_vulkan.h.
#pragma once
#include "codegen/spirv/Legalise.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ortc::codegen::spirv_text {

struct SpirvKernel {
  LegalKernel legal; ///< its function is gone
  mlir::func::FuncOp source;
  std::vector<uint32_t> words;
  std::string text; ///< MLIR's spirv dialect, for people
};

struct SpirvProgram {
  std::vector<SpirvKernel> kernels;
  llvm::StringMap<unsigned> byName; ///< of the kernel's func.func
  std::map<std::string, std::string>
      needs; ///< features beyond Vulkan 1.1 (VULKAN_INT64), with a kernel that needs it
  std::set<std::string> headers; ///< of the runtime, that what is printed for the host calls
};

/// All kernels of a module. Failure comes with diagnostics at the ops.
mlir::FailureOr<SpirvProgram> compileKernels(mlir::ModuleOp module);

/// `static ortc_status run(NAME_context& context, ortc_tensor* outputs, const int64_t* dims)`.
mlir::LogicalResult printProgram(mlir::func::FuncOp run, SpirvProgram& program,
                                 llvm::StringRef contextType, llvm::raw_ostream& os);
mlir::LogicalResult printArenaBytes(mlir::func::FuncOp run, SpirvProgram& program,
                                    llvm::raw_ostream& os);

} // namespace ortc::codegen::spirv_text
