// SPDX-License-Identifier: Apache-2.0
// The bundle of every target whose host program and kernels are one language, C++: cpu, null,
// firmware.
#pragma once
#include "codegen/bundle/Bundle.h"

namespace ortc {

struct CxxBundleOptions {
  std::vector<std::string> compileOptions;
  bool hosted = true; ///< as in BundleWriter
  /// Which headers of the installation a kernel template needs: "gemm_f32" ->
  /// {"cpu/kernels/gemm/gemm.h", ...}, below targets/. They go to runtime/kernels/ of the bundle.
  std::function<std::vector<std::string>(llvm::StringRef callee)> templateHeaders;
  /// Kernels per source file.
  size_t kernelsPerFile = 50;
};

bool writeCxxBundle(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics);

} // namespace ortc
