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
  /// Libraries of the system that kernels call.
  std::vector<codegen::BundleLibrary> libraries;
  /// Kernels per source file.
  size_t kernelsPerFile = 50;
};

/// A program for one of several processors.
struct CxxLevel {
  const TargetInfo* target;                // its levelName names it
  std::vector<std::string> compileOptions; // beside those of CxxBundleOptions
  std::vector<std::string> features;       // that it needs: names of runtime_min/rt/processor.h
  mlir::ModuleOp module;
  const ProgramFacts* facts; // those of the last level have the weights of all
};

bool writeCxxBundle(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics);
/// A bundle that picks the first level that runs where it is loaded.
bool writeCxxLevels(llvm::ArrayRef<CxxLevel> levels, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics);

} // namespace ortc
