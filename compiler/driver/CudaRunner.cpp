// SPDX-License-Identifier: Apache-2.0
// The emulator is C++ source that goes with the installation: bundles are built with it as C++
// bundles are. Its results are called "cuda (emulated)" everywhere.
#include "compiler/driver/CudaRunner.h"
#include "codegen/bundle/Bundle.h"
#include "compiler/driver/CxxRunner.h"
#include "compiler/driver/Tools.h"
#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {

std::unique_ptr<DeviceRunner> makeCudaRunner(const CompileOptions& options,
                                             const std::string& workFolder, int threads) {
  if (!options.emulate)
    throw MissingTool{
        "running bundles of target 'cuda' on a device is not in this build of ortc",
        "check them without a device with --emulate, or build the emitted CMake project"};
  const std::string share = codegen::resourceFolder() + "/targets/cuda";
  CxxTraits traits;
  traits.label = "cuda (emulated)";
  traits.flags = {"-DORTC_CUEMU", "-Wno-unknown-pragmas"};
  if (options.sanitize) traits.kernelFlags = {"-fsanitize=thread", "-gdwarf-4"};
  traits.includeFolders = {share + "/emulator", share + "/host"};
  traits.bundleFolders = {"runtime/rt"};
  std::error_code error;
  for (fs::directory_iterator it(share + "/emulator", error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".cpp") traits.extraSources.push_back(it->path().string());
  if (traits.extraSources.empty())
    throw MissingTool{"the installation lacks the emulator",
                      "it belongs into share/ortc/targets/cuda/emulator"};
  std::sort(traits.extraSources.begin(), traits.extraSources.end());
  return makeCxxRunner(options, workFolder, threads, std::move(traits));
}

} // namespace ortc::driver
