// SPDX-License-Identifier: Apache-2.0
// Bundles for bare machines: linked into an image for a board, run under qemu with real sizes of
// flash and RAM.
#pragma once
#include "compiler/driver/DeviceRunner.h"

namespace ortc::driver {

std::unique_ptr<DeviceRunner> makeFirmwareRunner(const CompileOptions& options,
                                                 const std::string& workFolder);

/// What a bundle takes when it is linked, as the tools of the board report it.
struct FirmwareSize {
  int64_t flash = 0, ram = 0; // code, constants, .data; .data, .bss, stack
  int64_t stack = 0;
};
/// None when it cannot be built or does not fit: `log` tells why. Throws MissingTool without the
/// board's compiler.
std::optional<FirmwareSize> measureFirmware(const CompileOptions& options, const Bundle& bundle,
                                            const std::string& workFolder, std::string& log);

} // namespace ortc::driver
