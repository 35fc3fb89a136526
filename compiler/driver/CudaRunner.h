// SPDX-License-Identifier: Apache-2.0
// Target cuda: under the emulator (--emulate), or built by nvcc and run on a device.
#pragma once
#include "compiler/driver/DeviceRunner.h"

namespace ortc::driver {

std::unique_ptr<DeviceRunner> makeCudaRunner(const CompileOptions& options,
                                             const std::string& workFolder, int threads);

} // namespace ortc::driver
