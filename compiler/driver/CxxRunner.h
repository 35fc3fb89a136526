// SPDX-License-Identifier: Apache-2.0
// Bundles in C++ that run on this machine: built into a shared library, loaded into the process.
#pragma once
#include "compiler/driver/DeviceRunner.h"

namespace ortc::driver {

/// What differs between targets whose bundles are C++.
struct CxxTraits {
  std::string label;
  std::vector<std::string> flags;       // before those of the bundle
  std::vector<std::string> kernelFlags; // of the bundle's own sources only
  std::vector<std::string> includeFolders;
  std::vector<std::string> bundleFolders; // the same, below the bundle's folder
  std::vector<std::string> extraSources;  // compiled with the bundle
  std::vector<std::string> libraries;     // -l...
  size_t bundlesPerBuild = 50;
};

std::unique_ptr<DeviceRunner> makeCxxRunner(const CompileOptions& options,
                                            const std::string& workFolder, int threads);
std::unique_ptr<DeviceRunner> makeCxxRunner(const CompileOptions& options,
                                            const std::string& workFolder, int threads,
                                            CxxTraits traits);

} // namespace ortc::driver
