// SPDX-License-Identifier: Apache-2.0
// .npz archives: zip files of .npy members, read stored and deflated, written stored unless asked
// otherwise.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cases/CaseValue.h"
#include "compiler/support/Diagnostics.h"

namespace ortc {

/// In the archive's order; names without ".npy".
using NamedTensors = std::vector<std::pair<std::string, CaseTensor>>;

/// `wanted` tells the type that is meant where numpy has none; see parseNpy. May be null.
std::optional<NamedTensors> parseNpz(std::span<const uint8_t> bytes,
                                     const std::function<DType(const std::string&)>& wanted,
                                     Diagnostics& diagnostics);
/// The same tensors give the same bytes: members carry no date.
std::vector<uint8_t> formatNpz(const NamedTensors& tensors, bool compress = false);

std::optional<NamedTensors> readNpzFile(const std::string& path,
                                        const std::function<DType(const std::string&)>& wanted,
                                        Diagnostics& diagnostics);
bool writeNpzFile(const std::string& path, const NamedTensors& tensors, Diagnostics& diagnostics,
                  bool compress = false);

} // namespace ortc
