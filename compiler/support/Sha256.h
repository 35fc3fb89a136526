// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4). LLVM's counts bytes in 32 bits, and so is wrong from 4 GiB on, where
// weights begin to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ortc {

/// 64 lower-case hexadecimal digits, as sha256sum prints them.
std::string sha256Hex(std::span<const uint8_t> bytes);

} // namespace ortc
