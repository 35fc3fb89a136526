// SPDX-License-Identifier: Apache-2.0
// A test case: a folder with a model, data sets and, in expect.json, how close the outputs must be
// or that the model must be refused.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cases/CaseValue.h"
#include "compiler/cases/Compare.h"
#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc {

struct Expectation {
  /// Where the model must be refused, if at all.
  enum class Error : uint8_t { None, Compile, Run, Any };
  Error error = Error::None;
  Rule rule = Rule::standard();
  std::map<std::string, Rule> outputs; // what holds for single outputs instead

  const Rule& ruleFor(const std::string& output) const {
    auto it = outputs.find(output);
    return it == outputs.end() ? rule : it->second;
  }
};

/// From the text of expect.json.
std::optional<Expectation> parseExpectation(std::string_view json, Diagnostics& diagnostics);

struct Case {
  std::string folder;
  std::string modelPath;
  Expectation expect;
  std::vector<std::string> dataSets; // folders, sorted
};

/// Folders at or below `root` that hold a model.onnx, sorted.
std::vector<std::string> findCases(const std::string& root);

/// Reads all but the model and the data.
std::optional<Case> readCase(const std::string& folder, Diagnostics& diagnostics);

struct DataSet {
  std::vector<CaseValue> inputs; // one per Graph::dataInputs(); absent when there is no file
  std::vector<std::optional<CaseValue>>
      outputs; // one per graph output; none when there is no file: not checked
  /// False: inputs alone, to be checked against the reference.
  bool hasOutputs() const {
    return std::any_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.has_value(); });
  }
};

std::optional<DataSet> readDataSet(const std::string& folder, const onnx::Graph& graph,
                                   Diagnostics& diagnostics);

/// Compares all outputs of a run with a data set. Reasons name the output.
Comparison compareOutputs(const std::vector<CaseValue>& got, const DataSet& data,
                          const onnx::Graph& graph, const Expectation& expect);

} // namespace ortc
