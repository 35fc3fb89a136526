// SPDX-License-Identifier: Apache-2.0
// One case on one target: is what comes out what the case expects?
#pragma once
#include "compiler/cases/Case.h"
#include "compiler/driver/Session.h"
#include <functional>
#include <string>
#include <vector>

namespace ortc::driver {

struct CaseResult {
  enum class Status { Passed, Failed, Skipped };
  std::string name;
  Status status = Status::Failed;
  std::string reason;
  std::optional<double> maxRel, maxUlp; // of what was compared
};
const char* statusName(CaseResult::Status status);

/// A case to be checked, or a bare model file.
struct CaseInput {
  std::string name;   // as printed: path of the folder or file
  std::string folder; // empty for a bare file
  std::string modelPath;
};
/// Cases at and below each path. Throws UsageError for one that holds none.
std::vector<CaseInput> collectCases(const std::vector<std::string>& paths);

/// Makes the model ready; called once, or with --shape=from-data once per set of input shapes.
/// Null: refused.
using OpenModel = std::function<std::unique_ptr<Session>(const PipelineOptions&, Diagnostics&)>;

struct CheckOptions {
  PipelineOptions pipeline;
  bool shapeFromData = false;
  uint64_t seed = 0;
  /// For models without data: what seeded inputs must give. Null on the reference itself, where
  /// running is all.
  std::function<std::unique_ptr<Session>(const std::string& model, const PipelineOptions&,
                                         Diagnostics&)>
      reference;
};

CaseResult checkCase(const CaseInput& input, const CheckOptions& options, const OpenModel& open);

/// Does the data say how many elements an input has, or whether it has a value? Then shapes come
/// from the data for such inputs, whatever --shape says of the others.
bool needsData(const onnx::Graph& graph);
/// With the sizes of the data: `options` plus --shape for every input; `all`: also for those that
/// are plain tensors.
PipelineOptions withShapesOf(const PipelineOptions& options, const onnx::Graph& graph,
                             const std::vector<CaseValue>& inputs, bool all);

/// What went wrong in one line: the first error.
std::string firstError(const Diagnostics& diagnostics);

} // namespace ortc::driver
