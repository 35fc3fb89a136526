// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/DeviceRunner.h"
#include "compiler/driver/CudaRunner.h"
#include "compiler/driver/CxxRunner.h"
#include "compiler/driver/FirmwareRunner.h"
#include "compiler/driver/WebGpuRunner.h"

namespace ortc::driver {

std::unique_ptr<DeviceRunner> createDeviceRunner(const CompileOptions& options,
                                                 const std::string& workFolder, int threads) {
  const std::string& target = options.target;
  const Runner runner = targetOf(options)->runner();
  if (runner == Runner::CudaLibrary) return makeCudaRunner(options, workFolder, threads);
  if (options.emulate)
    throw UsageError{fmt::format("--emulate has no effect on target '{}', which runs on this "
                                 "machine or in a simulator anyway",
                                 target),
                     ""};
  if (options.sanitize)
    throw UsageError{
        fmt::format("--sanitize has no effect on target '{}': it belongs to --emulate", target),
        ""};
  switch (runner) {
  case Runner::CxxLibrary: return makeCxxRunner(options, workFolder, threads);
  case Runner::WebModule: return makeWebGpuRunner(options, workFolder);
  case Runner::FirmwareImage: return makeFirmwareRunner(options, workFolder);
  default: break;
  }
  throw MissingTool{
      fmt::format("bundles of target '{}' cannot be run by this build of ortc", target),
      "`ortc compile` writes them"};
}

} // namespace ortc::driver
