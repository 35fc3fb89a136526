// SPDX-License-Identifier: Apache-2.0
// RISC-V microcontrollers.
#include "targets/common/cxx/FirmwareTarget.h"

namespace ortc {
namespace {

[[maybe_unused]] const bool rv32 = registerTarget(
    "rv32",
    [] {
      return std::unique_ptr<TargetInfo>(
          new FirmwareTarget("rv32", {"-march=rv32imac", "-mabi=ilp32", "-mcmodel=medany"}));
    },
    "C++ without heap or libc for RISC-V rv32imac");

} // namespace
} // namespace ortc
