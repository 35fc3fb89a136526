// SPDX-License-Identifier: Apache-2.0
// How bundles of a target are built and run on this machine: one implementation per way of running,
// in a file of its own, listed in DeviceRunner.cpp.
#pragma once
#include "compiler/driver/Session.h"
#include <memory>
#include <string>
#include <vector>

namespace ortc::driver {

/// A bundle that was emitted.
struct Bundle {
  std::string name;   // prefix of its symbols
  std::string folder; // holds manifest.json
  std::string model;  // path of the ONNX file
};

class DeviceRunner {
public:
  virtual ~DeviceRunner() = default;
  /// As results are called: "cpu", "cuda (emulated)".
  virtual std::string label() const = 0;
  /// Throws MissingTool when a compiler or a device is not there. Called once, before anything is
  /// emitted.
  virtual void require() = 0;
  /// How many small bundles are built together.
  virtual size_t bundlesPerBuild() const { return 1; }
  /// Builds bundles into one artefact, whatever that is (a path). False: `log` tells why. Called in
  /// a worker process.
  virtual bool build(const std::vector<Bundle>& bundles, std::string& artefact,
                     std::string& log) = 0;
  /// Makes a bundle of the artefact ready to run, in the process that runs it. Null on error.
  virtual std::unique_ptr<Session> load(const Bundle& bundle, const std::string& artefact,
                                        Diagnostics& diagnostics) = 0;
};

/// Throws UsageError for flags that make no sense for the target, MissingTool when this build
/// cannot run it.
std::unique_ptr<DeviceRunner> createDeviceRunner(const CompileOptions& options,
                                                 const std::string& workFolder, int threads);

} // namespace ortc::driver
