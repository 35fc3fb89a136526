// SPDX-License-Identifier: Apache-2.0
// A model that is ready to run, wherever it runs: what `run` and `verify` need of it.
#pragma once
#include "compiler/cases/CaseValue.h"
#include "compiler/driver/CompileOptions.h"
#include "compiler/import/Model.h"
#include <memory>
#include <optional>
#include <vector>

namespace ortc::driver {

class Session {
public:
  virtual ~Session() = default;
  /// Inputs and outputs as they are after shapes were fixed and values cut.
  virtual const onnx::Graph& signature() const = 0;
  /// None on error, with errors reported. A model may be run many times.
  virtual std::optional<std::vector<CaseValue>> run(const std::vector<CaseValue>& inputs,
                                                    Diagnostics& diagnostics) = 0;
};

/// Imports the model for the evaluator. Null on error.
std::unique_ptr<Session> openReference(const std::string& model, const PipelineOptions& options,
                                       Diagnostics& diagnostics);

/// Sizes for random inputs: those that --dim bounds take their lower end, at least 1.
std::map<std::string, int64_t> randomSizes(const PipelineOptions& options);

} // namespace ortc::driver
