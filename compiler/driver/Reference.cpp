// SPDX-License-Identifier: Apache-2.0
// The target `reference`: tensor IR, evaluated.
#include "compiler/driver/Session.h"
#include "compiler/driver/Values.h"
#include "compiler/evaluate/Evaluator.h"
#include "compiler/pipeline/DiagnosticBridge.h"

using namespace mlir;

namespace ortc::driver {
namespace {

class Reference final : public Session {
public:
  static std::unique_ptr<Session> open(const std::string& path, const PipelineOptions& options,
                                       Diagnostics& diagnostics) {
    auto r = std::make_unique<Reference>();
    r->file = onnx::OnnxFile::open(path, diagnostics);
    if (!r->file || diagnostics.hasErrors()) return nullptr;
    Diagnostics::FileScope scope(diagnostics, path);
    r->context
        .disableMultithreading(); // models are small next to the threads' start, and workers fork
    r->module = buildTensorIr(*r->file, r->context, options, diagnostics);
    if (!r->module || diagnostics.hasErrors()) return nullptr;
    r->main = r->module->lookupSymbol<func::FuncOp>("main");
    r->graph = signatureOf(r->main, r->file->model().graph);
    r->path = path;
    return r;
  }

  const onnx::Graph& signature() const override { return graph; }

  std::optional<std::vector<CaseValue>> run(const std::vector<CaseValue>& inputs,
                                            Diagnostics& diagnostics) override {
    Diagnostics::FileScope scope(diagnostics, path);
    DiagnosticBridge bridge(context, diagnostics);
    if (inputs.size() != main.getNumArguments()) {
      diagnostics.error("", "the model has {} inputs, but {} are given", main.getNumArguments(),
                        inputs.size());
      return std::nullopt;
    }
    SmallVector<HostValue> arguments;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      std::string error;
      std::optional<HostValue> value = toHostValue(input, main.getArgumentTypes()[i], error);
      if (!value) {
        diagnostics.error("input " + quoteName(graph.inputs[i].name), "{}", error);
        return std::nullopt;
      }
      arguments.push_back(std::move(*value));
    }
    FailureOr<SmallVector<HostValue>> results = Evaluator().run(main, arguments);
    if (failed(results)) {
      if (!diagnostics.hasErrors())
        diagnostics.error("", "the run failed without saying why; this is a fault of ortc");
      return std::nullopt;
    }
    std::vector<CaseValue> outputs;
    for (auto [i, info] : llvm::enumerate(graph.outputs)) {
      auto dtype = main.getResultAttrOfType<IntegerAttr>(i, "ortc.dtype");
      outputs.push_back(toCaseValue((*results)[i],
                                    dtype ? static_cast<DType>(dtype.getInt()) : DType::Undefined,
                                    &info.type));
    }
    return outputs;
  }

private:
  // The module refers to the file's mapping, and dies before the context.
  std::unique_ptr<onnx::OnnxFile> file;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  onnx::Graph graph;
  std::string path;
};

} // namespace

std::unique_ptr<Session> openReference(const std::string& model, const PipelineOptions& options,
                                       Diagnostics& diagnostics) {
  return Reference::open(model, options, diagnostics);
}

std::map<std::string, int64_t> randomSizes(const PipelineOptions& options) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, range] : options.import.dims)
    sizes[name] = std::max<int64_t>(1, range.first);
  return sizes;
}

} // namespace ortc::driver
