// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of `ortc run`: .npy, .npz and .pb files, and values as text.
#pragma once
#include "compiler/cases/CaseValue.h"
#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ortc::driver {

struct InputChoice {
  std::vector<std::string> files; // --input name=file
  std::string archive;            // --inputs file.npz
  std::optional<uint64_t> seed;   // --random: what no file gives
};

/// One for each input of the model. None on error, with errors reported.
std::optional<std::vector<CaseValue>> readInputs(const onnx::Graph& graph,
                                                 const InputChoice& choice,
                                                 const std::map<std::string, int64_t>& sizes,
                                                 Diagnostics& diagnostics);

/// Lists become NAME.0, NAME.1, ...; maps NAME.keys and NAME.values; what is absent is left out.
bool writeOutputs(const std::string& path, const onnx::Graph& graph,
                  const std::vector<CaseValue>& outputs, Diagnostics& diagnostics);

/// "f32[2,3]: 0.5 1.25 ..." with at most `most` elements.
std::string valueText(const CaseValue& value, int64_t most);

} // namespace ortc::driver
