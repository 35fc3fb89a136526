// SPDX-License-Identifier: Apache-2.0
// Bundles of WGSL and JavaScript: run in Node on Dawn, over whatever Vulkan driver there is.
#pragma once
#include "compiler/driver/DeviceRunner.h"

namespace ortc::driver {
std::unique_ptr<DeviceRunner> makeWebGpuRunner(const CompileOptions& options,
                                               const std::string& workFolder);
} // namespace ortc::driver
