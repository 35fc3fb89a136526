// SPDX-License-Identifier: Apache-2.0
// Inputs for models that come without data. The same seed gives the same values on every machine:
// counters through splitmix64, and arithmetic that rounds alike everywhere.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/cases/CaseValue.h"
#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc {

struct RandomOptions {
  double low = -1, high = 1; // floats: low <= x < high
  /// 32- and 64-bit integers: intLow <= x < intHigh. Small, as they tend to be indices and sizes.
  /// Narrower ones take their whole range, as they tend to be quantised data.
  int64_t intLow = 0, intHigh = 4;
};

CaseTensor randomTensor(DType dtype, std::vector<int64_t> dims, uint64_t seed,
                        const RandomOptions& options = {});

/// A value of a model's type: sequences of two elements, optionals present, maps of three. Named
/// dimensions are looked up in `sizes`; those not there and unknown ones are 1. None for types
/// without element type or rank.
std::optional<CaseValue> randomValue(const onnx::Type& type,
                                     const std::map<std::string, int64_t>& sizes, uint64_t seed,
                                     const RandomOptions& options = {});

/// One for each of Graph::dataInputs(). An input depends on the seed and on its position only.
std::optional<std::vector<CaseValue>> randomInputs(const onnx::Graph& graph,
                                                   const std::map<std::string, int64_t>& sizes,
                                                   uint64_t seed, Diagnostics& diagnostics,
                                                   const RandomOptions& options = {});

} // namespace ortc
