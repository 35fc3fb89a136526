// SPDX-License-Identifier: Apache-2.0
// Arm Cortex-M: M0 without floating point, M4 with single precision, M55.
#include "targets/common/cxx/FirmwareTarget.h"

namespace ortc {
namespace {

[[maybe_unused]] const bool m0 = registerTarget(
    "cortex-m0",
    [] {
      return std::unique_ptr<TargetInfo>(
          new FirmwareTarget("cortex-m0", {"-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft"}));
    },
    "C++ without heap or libc for Arm Cortex-M0");
[[maybe_unused]] const bool m4 = registerTarget(
    "cortex-m4",
    [] {
      return std::unique_ptr<TargetInfo>(new FirmwareTarget(
          "cortex-m4", {"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"}));
    },
    "C++ without heap or libc for Arm Cortex-M4F");
[[maybe_unused]] const bool m55 = registerTarget(
    "cortex-m55",
    [] {
      return std::unique_ptr<TargetInfo>(
          new FirmwareTarget("cortex-m55", {"-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"}));
    },
    "C++ without heap or libc for Arm Cortex-M55");

} // namespace
} // namespace ortc
