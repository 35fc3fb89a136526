// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/CheckCase.h"
#include "compiler/cases/RandomInputs.h"
#include "compiler/import/OnnxFile.h"
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

using Error = Expectation::Error;
using Status = CaseResult::Status;

class Checker {
public:
  Checker(const CaseInput& input, const CheckOptions& options, const OpenModel& open)
      : options(options), open(open) {
    result.name = input.name;
    modelPath = input.modelPath;
    folder = input.folder;
  }

  CaseResult run() {
    if (readAll()) check();
    return std::move(result);
  }

private:
  const CheckOptions& options;
  const OpenModel& open;
  std::string modelPath, folder;
  Case theCase;
  CaseResult result;
  std::unique_ptr<Session> session, reference;
  std::map<std::string, std::vector<int64_t>> sessionShapes, referenceShapes;

  bool finish(Status status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
    return false;
  }

  bool readAll() {
    if (folder.empty()) {
      theCase.modelPath = modelPath;
      return true;
    }
    Diagnostics diagnostics;
    std::optional<Case> read = readCase(folder, diagnostics);
    if (!read) return finish(Status::Failed, firstError(diagnostics));
    theCase = std::move(*read);
    return true;
  }

  bool mustBeRefused() const { return theCase.expect.error != Error::None; }

  /// The model was refused: is that what the case wants? For its own reason, that is, and not for
  /// what we lack.
  bool refused(const Diagnostics& diagnostics, bool compiling) {
    const Error wanted = theCase.expect.error;
    const std::string error = firstError(diagnostics);
    if (wanted == Error::None) return finish(Status::Failed, error);
    for (const Diagnostic& d : diagnostics.all())
      if (d.severity == Severity::Error && d.isLimitOfOrtc())
        return finish(Status::Failed, "refused, but for another reason: " + error);
    if (wanted == Error::Run && compiling)
      return finish(Status::Failed, "refused when compiled, not when run: " + error);
    if (wanted == Error::Compile && !compiling)
      return finish(Status::Failed, "refused when run, not when compiled: " + error);
    return finish(Status::Passed, "");
  }

  /// Makes `session` ready for these shapes. False: finished.
  bool prepare(const PipelineOptions& pipeline) {
    if (session && sessionShapes == pipeline.import.shapes) return true;
    Diagnostics diagnostics(modelPath);
    session = open(pipeline, diagnostics);
    sessionShapes = pipeline.import.shapes;
    return session ? true : refused(diagnostics, /*compiling=*/true);
  }

  void check() {
    if (theCase.dataSets.empty()) {
      checkWithoutData();
      return;
    }
    // With shapes from the data these are read before the model is compiled, by the types in the
    // file.
    Diagnostics opening(modelPath);
    std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(modelPath, opening);
    if (!file) {
      refused(opening, true);
      return;
    }
    if (!options.shapeFromData && !needsData(file->model().graph)) {
      file.reset();
      if (!prepare(options.pipeline)) return;
    }
    Comparison all;
    bool compared = false, againstReference = false;
    for (const std::string& dataFolder : theCase.dataSets) {
      Diagnostics reading;
      std::optional<DataSet> data =
          readDataSet(dataFolder, file ? file->model().graph : session->signature(), reading);
      if (!data) {
        finish(Status::Failed, firstError(reading));
        return;
      }
      const PipelineOptions pipeline = file ? withShapesOf(options.pipeline, file->model().graph,
                                                           data->inputs, options.shapeFromData)
                                            : options.pipeline;
      if (file && !prepare(pipeline)) return;
      if (file) data->inputs = inParts(file->model().graph, std::move(data->inputs));
      Diagnostics diagnostics(modelPath);
      std::optional<std::vector<CaseValue>> outputs = session->run(data->inputs, diagnostics);
      if (!outputs) {
        refused(diagnostics, false);
        return;
      }
      if (mustBeRefused()) continue;
      if (!data->hasOutputs()) {
        againstReference = true;
        if (!options.reference) continue;
        if (!referenceGives(pipeline, *data)) return;
      }
      Comparison one = compareOutputs(*outputs, *data, session->signature(), theCase.expect);
      if (!one.passed && theCase.dataSets.size() > 1)
        one.reason += " (" + fs::path(dataFolder).filename().string() + ")";
      all.merge(one);
      compared = true;
    }
    if (mustBeRefused()) {
      finish(Status::Failed, theCase.expect.error == Error::Compile
                                 ? "accepted, but must be refused when compiled"
                                 : "accepted, but must be refused");
      return;
    }
    if (compared) result.maxRel = all.maxRel, result.maxUlp = all.maxUlp;
    finish(all.passed ? Status::Passed : Status::Failed,
           !all.passed || !againstReference ? all.reason
           : compared                       ? "inputs without outputs: against the reference"
                      : "inputs without outputs: ran, nothing to compare with");
  }

  /// The inputs as the model takes them when shapes came from the data: elements of a sequence are
  /// inputs of their own, and what has no value is none.
  static std::vector<CaseValue> inParts(const onnx::Graph& graph, std::vector<CaseValue> inputs) {
    std::vector<const onnx::ValueInfo*> infos = graph.dataInputs();
    std::vector<CaseValue> parts;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i >= infos.size() || !isMadeOfShapes(infos[i]->type) || inputs[i].isTensor())
        parts.push_back(std::move(inputs[i]));
      else
        for (CaseValue& item : inputs[i].items)
          parts.push_back(std::move(item));
    }
    return parts;
  }

  /// What the reference makes of the inputs becomes the outputs of the data set. False: finished.
  bool referenceGives(const PipelineOptions& pipeline, DataSet& data) {
    Diagnostics diagnostics(modelPath);
    if (!reference || referenceShapes != pipeline.import.shapes)
      reference = options.reference(modelPath, pipeline, diagnostics);
    referenceShapes = pipeline.import.shapes;
    std::optional<std::vector<CaseValue>> wanted =
        reference ? reference->run(data.inputs, diagnostics) : std::nullopt;
    if (!wanted)
      return finish(Status::Failed,
                    "the reference refuses what the target accepts: " + firstError(diagnostics));
    data.outputs.assign(std::make_move_iterator(wanted->begin()),
                        std::make_move_iterator(wanted->end()));
    return true;
  }

  void checkWithoutData() {
    if (!prepare(options.pipeline)) return;
    Diagnostics diagnostics(modelPath);
    std::optional<std::vector<CaseValue>> inputs = randomInputs(
        session->signature(), randomSizes(options.pipeline), options.seed, diagnostics);
    if (!inputs) {
      finish(Status::Skipped, "no data, and " + firstError(diagnostics));
      return;
    }
    std::optional<std::vector<CaseValue>> outputs = session->run(*inputs, diagnostics);
    if (!outputs) {
      refused(diagnostics, false);
      return;
    }
    if (mustBeRefused()) {
      finish(Status::Failed, "accepted, but must be refused");
      return;
    }
    if (!options.reference) {
      finish(Status::Passed, "no data: ran on seeded inputs, nothing to compare with");
      return;
    }
    DataSet data;
    data.inputs = std::move(*inputs);
    if (!referenceGives(options.pipeline, data)) return;
    Comparison all = compareOutputs(*outputs, data, session->signature(), theCase.expect);
    result.maxRel = all.maxRel, result.maxUlp = all.maxUlp;
    finish(all.passed ? Status::Passed : Status::Failed,
           all.passed ? "no data: seeded inputs against the reference" : all.reason);
  }
};

} // namespace

const char* statusName(Status status) {
  return status == Status::Passed ? "passed" : status == Status::Failed ? "failed" : "skipped";
}

std::vector<CaseInput> collectCases(const std::vector<std::string>& paths) {
  std::vector<CaseInput> cases;
  std::error_code error;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, error)) {
      if (!fs::exists(path, error))
        throw UsageError{fmt::format("{}: no such file or folder", path), ""};
      else
        cases.push_back({path, "", path});
      continue;
    }
    std::vector<std::string> folders = findCases(path);
    if (folders.empty())
      throw UsageError{fmt::format("{}: no folder here holds a model.onnx", path), ""};
    for (const std::string& folder : folders)
      cases.push_back({folder, folder, (fs::path(folder) / "model.onnx").string()});
  }
  return cases;
}

CaseResult checkCase(const CaseInput& input, const CheckOptions& options, const OpenModel& open) {
  return Checker(input, options, open).run();
}

bool needsData(const onnx::Graph& graph) {
  for (const onnx::ValueInfo* input : graph.dataInputs())
    if (isMadeOfShapes(input->type)) return true;
  return false;
}

PipelineOptions withShapesOf(const PipelineOptions& options, const onnx::Graph& graph,
                             const std::vector<CaseValue>& inputs, bool all) {
  PipelineOptions r = options;
  std::vector<const onnx::ValueInfo*> infos = graph.dataInputs();
  for (size_t i = 0; i < inputs.size() && i < infos.size(); ++i) {
    const onnx::ValueInfo& info = *infos[i];
    const CaseValue& value = inputs[i];
    const bool made = isMadeOfShapes(info.type);
    if (value.isTensor() && (made || (all && info.type.kind == onnx::Type::Kind::Tensor)))
      r.import.shapes.emplace(info.name, value.tensor.dims);
    if (!made || value.isTensor()) continue;
    if (value.items.empty()) r.import.shapes[info.name] = {ImportOptions::kNone};
    for (size_t k = 0; k < value.items.size(); ++k)
      r.import.shapes.emplace(elementName(info.name, k), value.items[k].tensor.dims);
  }
  return r;
}

std::string firstError(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::Error) {
      Diagnostic one = d;
      one.file.clear();
      one.lines.clear();
      std::string text = one.str();
      if (!text.empty() && text.back() == '\n') text.pop_back();
      return text;
    }
  return "no reason was given";
}

} // namespace ortc::driver
