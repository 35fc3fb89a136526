// SPDX-License-Identifier: Apache-2.0
// numpy's .npy form of one tensor, and .npz archives of several.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cases/CaseValue.h"
#include "compiler/support/Diagnostics.h"

namespace ortc {

/// Parses versions 1 to 3 of the format. numpy has no name for the small types: they come as raw
/// bytes ('V1', 'V2') or as integers, one element per byte for those of less than 8 bits. `wanted`
/// says which of them is meant, and is otherwise not a conversion: an f64 array stays one. `where`
/// is the location of messages.
std::optional<CaseTensor> parseNpy(std::span<const uint8_t> bytes, DType wanted,
                                   std::string_view where, Diagnostics& diagnostics);
/// Version 1 (2 when the header is long), C order, little-endian. bf16 and the small floats are
/// written as raw bytes, i4, u4, i2 and u2 as one byte per element, strings as fixed-width Unicode.
std::vector<uint8_t> formatNpy(const CaseTensor& tensor);

std::optional<CaseTensor> readNpyFile(const std::string& path, DType wanted,
                                      Diagnostics& diagnostics);
bool writeNpyFile(const std::string& path, const CaseTensor& tensor, Diagnostics& diagnostics);

} // namespace ortc
