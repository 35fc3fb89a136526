// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/EmitCases.h"
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/EmitBundle.h"
#include "compiler/driver/WorkerPool.h"
#include "compiler/import/OnnxFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

/// More text than this is a build of its own: the compiler takes long enough for it.
constexpr uint64_t kLargeSource = 512 << 10;

// ---- emitting, in a worker; the result travels as JSON ----

llvm::json::Value toJson(const CompiledModel& m) {
  llvm::json::Object shapes;
  for (auto& [name, sizes] : m.shapes)
    shapes[llvm::json::fixUTF8(name)] = llvm::json::Array(sizes);
  llvm::json::Array messages;
  for (const Diagnostic& d : m.messages)
    messages.push_back(llvm::json::Object{{"severity", static_cast<int>(d.severity)},
                                          {"file", llvm::json::fixUTF8(d.file)},
                                          {"location", llvm::json::fixUTF8(d.location)},
                                          {"message", llvm::json::fixUTF8(d.message)}});
  return llvm::json::Object{{"shapes", std::move(shapes)},
                            {"name", m.bundle.name},
                            {"folder", m.bundle.folder},
                            {"emitted", m.emitted},
                            {"messages", std::move(messages)}};
}

CompiledModel fromJson(const llvm::json::Object& o, const std::string& model) {
  CompiledModel m;
  for (const auto& [name, sizes] : *o.getObject("shapes"))
    for (const llvm::json::Value& v : *sizes.getAsArray())
      m.shapes[name.str()].push_back(*v.getAsInteger());
  for (const auto& [name, sizes] : *o.getObject("shapes"))
    m.shapes[name.str()]; // scalars, too
  m.bundle = {o.getString("name")->str(), o.getString("folder")->str(), model};
  m.emitted = *o.getBoolean("emitted");
  for (const llvm::json::Value& v : *o.getArray("messages")) {
    const llvm::json::Object& d = *v.getAsObject();
    m.messages.push_back({static_cast<Severity>(*d.getInteger("severity")),
                          d.getString("file")->str(),
                          d.getString("location")->str(),
                          d.getString("message")->str(),
                          {}});
  }
  return m;
}

/// The shapes that a case is to be compiled for.
std::vector<PipelineOptions> shapesToCompile(const CaseInput& input, const CheckOptions& check) {
  if (input.folder.empty()) return {check.pipeline};
  Diagnostics ignored; // whoever checks the case reads the same and reports
  std::optional<Case> theCase = readCase(input.folder, ignored);
  if (!theCase || theCase->dataSets.empty()) return {check.pipeline};
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(input.modelPath, ignored);
  if (!file || (!check.shapeFromData && !needsData(file->model().graph))) return {check.pipeline};
  std::vector<PipelineOptions> all;
  for (const std::string& folder : theCase->dataSets) {
    std::optional<DataSet> data = readDataSet(folder, file->model().graph, ignored);
    if (!data) continue;
    PipelineOptions one =
        withShapesOf(check.pipeline, file->model().graph, data->inputs, check.shapeFromData);
    if (std::none_of(all.begin(), all.end(), [&](const PipelineOptions& p) {
          return p.import.shapes == one.import.shapes;
        }))
      all.push_back(one);
  }
  return all;
}

std::string emitCase(const CaseInput& input, const CompileOptions& compile,
                     const CheckOptions& check, const TargetInfo& target,
                     const std::string& folder) {
  llvm::json::Array models;
  std::string prefix = "case_" + BuildKey().add(input.name).hex().substr(0, 12);
  for (const PipelineOptions& pipeline : shapesToCompile(input, check)) {
    CompiledModel m;
    m.shapes = pipeline.import.shapes;
    m.bundle.name = fmt::format("{}_{}", prefix, models.size());
    m.bundle.folder = folder + "/" + m.bundle.name;
    std::error_code error;
    fs::remove_all(m.bundle.folder, error); // the same path given twice
    fs::create_directories(m.bundle.folder, error);
    Diagnostics diagnostics;
    m.emitted = emitBundle(compile, pipeline, target,
                           {input.modelPath, m.bundle.name, m.bundle.folder}, diagnostics)
                    .has_value();
    m.messages.assign(diagnostics.all().begin(), diagnostics.all().end());
    models.push_back(toJson(m));
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(models));
  return text;
}

// ---- building ----

using Unit = std::vector<CompiledModel*>;

uint64_t sourceBytes(const Bundle& bundle) {
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(bundle.folder + "/src", error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error)) total += it->file_size(error);
  return total;
}

bool hasManySources(const Bundle& bundle) {
  return fs::exists(bundle.folder + "/src/kernels.h") ||
         fs::exists(bundle.folder + "/src/levels.h");
}

std::vector<Unit> makeUnits(std::vector<CompiledCase>& cases, size_t most) {
  std::vector<Unit> units;
  Unit current;
  uint64_t bytes = 0;
  for (CompiledCase& c : cases)
    for (CompiledModel& m : c.models) {
      if (!m.emitted) continue;
      uint64_t size = sourceBytes(m.bundle);
      if (most == 1 || size > kLargeSource || hasManySources(m.bundle)) {
        units.push_back({&m});
        continue;
      }
      if (!current.empty() && (current.size() >= most || bytes + size > 2 * kLargeSource)) {
        units.push_back(std::move(current));
        current.clear();
        bytes = 0;
      }
      current.push_back(&m);
      bytes += size;
    }
  if (!current.empty()) units.push_back(std::move(current));
  return units;
}

/// Bundles that errors in the log name are built alone, the rest together again; when none is
/// named, halves.
std::vector<Unit> split(const Unit& unit, const std::string& log) {
  std::vector<Unit> parts;
  Unit rest;
  for (CompiledModel* m : unit) {
    bool named = false;
    for (size_t at = 0;
         !named && (at = log.find("/" + m->bundle.name + "/", at)) != std::string::npos; ++at) {
      size_t end = std::min(log.find('\n', at), log.size());
      named = log.substr(at, end - at).find("error:") != std::string::npos;
    }
    if (named)
      parts.push_back({m});
    else
      rest.push_back(m);
  }
  if (parts.empty()) {
    auto middle = rest.begin() + static_cast<long>(rest.size() / 2);
    return {Unit(rest.begin(), middle), Unit(middle, rest.end())};
  }
  if (!rest.empty()) parts.push_back(std::move(rest));
  return parts;
}

} // namespace

std::vector<CompiledCase> emitAndBuild(const std::vector<CaseInput>& cases,
                                       const CompileOptions& compile, const CheckOptions& check,
                                       const TargetInfo& target, DeviceRunner& runner,
                                       const std::string& folder, unsigned jobs, double timeout,
                                       Progress& progress) {
  std::vector<CompiledCase> all(cases.size());
  runInWorkers(
      cases.size(), jobs, {timeout, 0},
      [&](size_t i) { return emitCase(cases[i], compile, check, target, folder); },
      [&](size_t i, WorkerResult r) {
        llvm::Expected<llvm::json::Value> json = llvm::json::parse(r.output);
        const llvm::json::Array* list = json ? json->getAsArray() : nullptr;
        if (!r.failure.empty() || !list) {
          all[i].failure = "the compiler " + (r.failure.empty() ? "gave no answer" : r.failure);
          if (!json) llvm::consumeError(json.takeError());
          return;
        }
        for (const llvm::json::Value& v : *list)
          all[i].models.push_back(fromJson(*v.getAsObject(), cases[i].modelPath));
        progress.show(fmt::format("compiling: {} of {}", i + 1, cases.size()));
      });

  std::vector<Unit> pending = makeUnits(all, runner.bundlesPerBuild());
  size_t built = 0, total = 0;
  for (const Unit& u : pending)
    total += u.size();
  while (!pending.empty()) {
    std::vector<Unit> again;
    runInWorkers(
        pending.size(), jobs, {3600, 0},
        [&](size_t i) {
          std::vector<Bundle> bundles;
          for (CompiledModel* m : pending[i])
            bundles.push_back(m->bundle);
          std::string artefact, log;
          bool ok = runner.build(bundles, artefact, log);
          return ok ? "+" + artefact : "-" + log;
        },
        [&](size_t i, WorkerResult r) {
          const bool ok = r.failure.empty() && !r.output.empty() && r.output[0] == '+';
          const std::string log =
              r.failure.empty() ? (r.output.empty() ? "no answer" : r.output.substr(1)) : r.failure;
          if (!ok && pending[i].size() > 1) {
            for (Unit& part : split(pending[i], log))
              again.push_back(std::move(part));
            return;
          }
          for (CompiledModel* m : pending[i])
            (ok ? m->artefact : m->buildLog) = log;
          built += pending[i].size();
          progress.show(fmt::format("building: {} of {}", built, total));
        });
    pending = std::move(again);
  }
  return all;
}

std::unique_ptr<Session> openCompiled(const CompiledCase& compiled, const PipelineOptions& pipeline,
                                      DeviceRunner& runner, Diagnostics& diagnostics) {
  if (!compiled.failure.empty()) {
    diagnostics.error("", "{}; this is a fault of ortc", compiled.failure);
    return nullptr;
  }
  for (const CompiledModel& m : compiled.models) {
    if (m.shapes != pipeline.import.shapes) continue;
    for (const Diagnostic& d : m.messages)
      diagnostics.report(d);
    if (!m.emitted) return nullptr;
    if (m.artefact.empty()) {
      // The line that says most: the first error.
      std::string line;
      for (size_t at = 0; at < m.buildLog.size() && line.find("error") == std::string::npos;) {
        size_t end = std::min(m.buildLog.find('\n', at), m.buildLog.size());
        if (std::string next = m.buildLog.substr(at, end - at);
            line.empty() || next.find("error") != std::string::npos)
          line = next;
        at = end + 1;
      }
      if (line.rfind("does not fit", 0) == 0)
        diagnostics.error("", "{}", line);
      else
        diagnostics.error("", "what was emitted cannot be built: {}; this is a fault of ortc",
                          line);
      return nullptr;
    }
    return runner.load(m.bundle, m.artefact, diagnostics);
  }
  diagnostics.error("", "the model was not compiled for these shapes; this is a fault of ortc");
  return nullptr;
}

} // namespace ortc::driver
