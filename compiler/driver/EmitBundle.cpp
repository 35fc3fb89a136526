// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/EmitBundle.h"
#include "compiler/import/OnnxFile.h"
#include "compiler/support/Names.h"
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {

std::string bundleName(const CompileOptions& options, const std::string& model) {
  return options.name.empty() ? legaliseIdentifier(fs::path(model).stem().string(), "model")
                              : options.name;
}

std::string commandText(const CompileOptions& o, const std::string& model) {
  // Quoted for a shell, since names of values may hold anything.
  auto quoted = [](const std::string& text) {
    if (!text.empty() &&
        text.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+") ==
            std::string::npos)
      return text;
    std::string r = "'";
    for (char c : text)
      r += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return r + "'";
  };
  std::string text =
      "ortc compile " + quoted(fs::path(model).filename().string()) + " --target=" + o.target;
  auto list = [&](const char* flag, const std::vector<std::string>& values) {
    if (values.empty()) return;
    std::string joined;
    for (const std::string& v : values)
      joined += (joined.empty() ? "" : ",") + v;
    text += std::string(" ") + flag + "=" + quoted(joined);
  };
  list("--mcpu", o.processors);
  if (!o.name.empty()) text += " --name=" + quoted(o.name);
  for (const std::string& s : o.shapes)
    text += " --shape " + quoted(s);
  for (const std::string& s : o.dims)
    text += " --dim " + quoted(s);
  list("--cut-inputs", o.cutInputs);
  list("--cut-outputs", o.cutOutputs);
  if (!o.weights.empty()) text += " --weights=" + o.weights;
  list("--with", o.with);
  if (!o.maxRam.empty()) text += " --max-ram=" + quoted(o.maxRam);
  if (!o.maxFlash.empty()) text += " --max-flash=" + quoted(o.maxFlash);
  return text;
}

std::string liveSetText(const ProgramFacts& facts) {
  std::string text = fmt::format("the largest set of tensors that are live at once takes {} bytes",
                                 facts.largestLiveSet);
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < std::min(kMost, facts.liveSet.size()); ++i)
    text += fmt::format("{} {} of {}", i ? "," : ":", quoteName(facts.liveSet[i].first),
                        facts.liveSet[i].second);
  if (facts.liveSet.size() > kMost)
    text += fmt::format(" and {} more", facts.liveSet.size() - kMost);
  return text;
}

bool checkLimits(const CompileOptions& options, const ProgramFacts& facts,
                 Diagnostics& diagnostics) {
  if (!options.maxRam.empty()) {
    const auto limit = static_cast<int64_t>(*parseBytes(options.maxRam));
    if (!facts.arenaBytes) {
      diagnostics
          .error("", "the model needs memory that grows with its sizes, and --max-ram is {}",
                 options.maxRam)
          .help("bound the free dimensions with --dim NAME=LOW..HIGH");
      return false;
    }
    if (*facts.arenaBytes > limit) {
      diagnostics
          .error("", "the model needs {} bytes of memory, and --max-ram allows {}",
                 *facts.arenaBytes, limit)
          .note("{}", liveSetText(facts));
      return false;
    }
  }
  if (!options.maxFlash.empty()) {
    const auto limit = static_cast<int64_t>(*parseBytes(options.maxFlash));
    if (static_cast<int64_t>(facts.weights.bytes()) > limit) {
      diagnostics.error("", "the weights alone take {} bytes, and --max-flash allows {}",
                        facts.weights.bytes(), limit);
      return false;
    }
  }
  return true;
}

std::optional<Emitted> emitBundle(const CompileOptions& options, const PipelineOptions& pipeline,
                                  const TargetInfo& target, const EmitRequest& request,
                                  Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, request.model);
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(request.model, diagnostics);
  if (!file || diagnostics.hasErrors()) return std::nullopt;
  mlir::MLIRContext context;
  context.disableMultithreading();
  std::optional<PipelineResult> result = runPipeline(*file, context, target, pipeline, diagnostics);
  if (!result || diagnostics.hasErrors() || !checkLimits(options, result->facts, diagnostics))
    return std::nullopt;
  BundleRequest bundle;
  bundle.name = request.name.empty() ? bundleName(options, request.model) : request.name;
  bundle.folder = request.folder;
  bundle.modelFile = fs::path(request.model).filename().string();
  bundle.command = commandText(options, request.model);
  bundle.sha256 = file->sha256();
  if (!options.weights.empty()) bundle.weights = options.weights;
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity != Severity::Error)
      bundle.notes.push_back((d.location.empty() ? "" : d.location + ": ") + d.message);
  if (!target.emit(*result->module, result->facts, bundle, diagnostics)) {
    if (!diagnostics.hasErrors())
      diagnostics.error(
          "", "the bundle could not be written, without a reason; this is a fault of ortc");
    return std::nullopt;
  }
  return Emitted{bundle.name, std::move(result->facts), std::move(result->explanation)};
}

} // namespace ortc::driver
