// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all: written beside their place, then renamed.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace ortc {

/// False with the system's reason in `why`; what was at `path` is then as it was. A device or pipe
/// at `path` is written to as it is.
bool writeWholeFile(const std::string& path, std::span<const uint8_t> bytes, std::string& why);

/// Why no file can be written at `path`, asked before the work that makes it; empty when it looks
/// possible.
std::string whyNotWritable(const std::string& path);

} // namespace ortc
