// SPDX-License-Identifier: Apache-2.0
// ortc verify: cases on a target, each in a process of its own.
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/EmitCases.h"
#include "compiler/driver/Progress.h"
#include "compiler/driver/WorkerPool.h"
#include "compiler/support/Names.h"
#include "compiler/support/WriteFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <memory>

namespace ortc::driver {
namespace {

struct VerifyOptions {
  CompileOptions compile;
  std::vector<std::string> paths;
  unsigned jobs = 0;
  double timeout = 600;
  uint64_t seed = 0;
  std::string jsonFile, keep;
};

/// JSON has no infinities and no NaN: they become null.
llvm::json::Value number(const std::optional<double>& v) {
  return v && std::isfinite(*v) ? llvm::json::Value(*v) : llvm::json::Value(nullptr);
}

llvm::json::Object toJson(const CaseResult& r) {
  return llvm::json::Object{{"name", llvm::json::fixUTF8(r.name)},
                            {"status", statusName(r.status)},
                            {"reason", llvm::json::fixUTF8(escapeControls(r.reason))},
                            {"max_rel", number(r.maxRel)},
                            {"max_ulp", number(r.maxUlp)}};
}

// A result travels through the pipe of its worker as lines.
std::string pack(const CaseResult& r) {
  return fmt::format("{}\n{}\n{}\n{}", statusName(r.status), r.maxRel.value_or(-1),
                     r.maxUlp.value_or(-1), r.reason);
}
void unpack(CaseResult& r, const std::string& text) {
  std::array<std::string, 4> fields;
  size_t at = 0;
  for (size_t i = 0; i < 3; ++i) {
    size_t end = std::min(text.find('\n', at), text.size());
    fields[i] = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
  }
  fields[3] = text.substr(at);
  r.status = fields[0] == "passed"    ? CaseResult::Status::Passed
             : fields[0] == "skipped" ? CaseResult::Status::Skipped
                                      : CaseResult::Status::Failed;
  auto figure = [](const std::string& s) {
    double v = s.empty() ? -1 : std::stod(s);
    return v < 0 ? std::nullopt : std::optional(v);
  };
  r.maxRel = figure(fields[1]);
  r.maxUlp = figure(fields[2]);
  r.reason = fields[3];
}

int verify(const GlobalOptions& global, VerifyOptions& o) {
  std::unique_ptr<TargetInfo> target = targetOf(o.compile);
  checkCompileOptions(o.compile, target.get());
  if (!o.compile.emitIr.empty() || o.compile.printChanged || o.compile.explain)
    throw UsageError{"--emit-ir, --print-changed and --explain show one model: use them with `ortc "
                     "compile` or `ortc run`",
                     ""};
  CheckOptions check;
  check.pipeline = pipelineOptions(o.compile);
  check.shapeFromData = o.compile.shapeFromData;
  check.seed = o.seed;

  std::vector<CaseInput> cases = collectCases(o.paths);
  // Asked before the work, so that hours of it are not lost to a path that cannot be written.
  const bool toFile = !o.jsonFile.empty() && o.jsonFile != "-";
  if (toFile)
    if (std::string why = whyNotWritable(o.jsonFile); !why.empty())
      throw UsageError{fmt::format("--json: {} cannot be written: {}", quoteName(o.jsonFile), why),
                       ""};
  const bool jsonOnly = global.json || o.jsonFile == "-";

  std::optional<WorkFolder> work;
  std::unique_ptr<DeviceRunner> runner;
  if (target) {
    work.emplace(o.keep);
    runner = createDeviceRunner(o.compile, work->path(), /*threads=*/1);
    runner->require();
    check.reference = [](const std::string& model, const PipelineOptions& p, Diagnostics& d) {
      return openReference(model, p, d);
    };
  } else if (!o.keep.empty()) {
    throw UsageError{"--keep has no effect on target 'reference': nothing is emitted", ""};
  }
  const std::string label = runner ? runner->label() : o.compile.target;
  size_t passed = 0, failed = 0, skipped = 0;
  llvm::json::Array list;
  Progress progress;
  std::vector<CompiledCase> compiled;
  if (runner)
    compiled = emitAndBuild(cases, o.compile, check, *target, *runner, work->path(), o.jobs,
                            o.timeout, progress);
  runInWorkers(
      cases.size(), o.jobs, {o.timeout, 0},
      [&](size_t i) {
        return pack(checkCase(cases[i], check, [&](const PipelineOptions& p, Diagnostics& d) {
          return runner ? openCompiled(compiled[i], p, *runner, d)
                        : openReference(cases[i].modelPath, p, d);
        }));
      },
      [&](size_t i, WorkerResult worker) {
        CaseResult r;
        r.name = cases[i].name;
        if (worker.failure.empty())
          unpack(r, worker.output);
        else
          r.reason = worker.failure;
        (r.status == CaseResult::Status::Passed   ? passed
         : r.status == CaseResult::Status::Failed ? failed
                                                  : skipped)++;
        if (r.status != CaseResult::Status::Passed && !jsonOnly) {
          progress.clear();
          fmt::print("{}: {}: {}\n", statusName(r.status), escapeControls(r.name),
                     escapeControls(r.reason));
          fflush(stdout);
        }
        list.push_back(toJson(r));
        progress.show(fmt::format("{} of {}: {} failed", i + 1, cases.size(), failed));
      });
  progress.clear();
  llvm::json::Object document{{"target", label},
                              {"passed", static_cast<int64_t>(passed)},
                              {"failed", static_cast<int64_t>(failed)},
                              {"skipped", static_cast<int64_t>(skipped)},
                              {"cases", std::move(list)}};
  llvm::json::Value value(std::move(document));
  if (toFile) {
    const std::string text = llvm::formatv("{0:2}\n", value).str();
    std::string why;
    if (!writeWholeFile(o.jsonFile, {reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                        why)) {
      fmt::print(stderr, "{}: error: cannot be written: {}\n", escapeControls(o.jsonFile), why);
      ++failed;
    }
  }
  if (jsonOnly)
    printJson(value);
  else
    fmt::print("target {}\n{} passed, {} failed, {} skipped\n", label, passed, failed, skipped);
  return static_cast<int>(failed ? ExitCode::BadModel : ExitCode::Ok);
}

} // namespace

void addVerify(CLI::App& app, GlobalOptions& global, Action& action) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* c =
      app.add_subcommand("verify", "Check cases: does the model give on a target what it must?");
  c->footer("\nEvery folder at or below FOLDER that holds a model.onnx is a case: "
            "test_data_set_K/input_I.pb and\n"
            "output_I.pb, and expect.json for how close they must be. A model without data runs on "
            "seeded inputs\n"
            "against the reference, and so does a data set that holds inputs only. Exit code 1 "
            "when a case fails.\n"
            "\nExamples:\n"
            "  ortc verify models --jobs 4 --json=results.json\n"
            "  ortc verify net.onnx --target=cpu --shape x=1x3x224x224\n"
            "  ortc verify cases --target=cuda --emulate --shape=from-data\n");
  c->add_option("paths", o->paths, "Models and folders of cases")
      ->required()
      ->type_name("MODEL|FOLDER...");
  addCompileOptions(*c, o->compile, /*builds=*/true);
  c->add_option("--jobs,-j", o->jobs, "Cases at a time (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  c->add_option("--timeout", o->timeout, "Seconds that one case may take")
      ->type_name("S")
      ->check(CLI::Validator(
          [](const std::string& text) {
            double seconds = 0;
            return CLI::detail::lexical_cast(text, seconds) && seconds > 0
                       ? std::string()
                       : "'" + text + "' is not a number of seconds above 0";
          },
          ""))
      ->capture_default_str();
  c->add_option("--keep", o->keep, "Leave bundles and what was built of them in this folder")
      ->type_name("DIR");
  c->add_option("--seed", o->seed, "Of the inputs of models without data")
      ->type_name("N")
      ->check(seedNumber())
      ->capture_default_str();
  c->add_option("--json", o->jsonFile, "Write the results as JSON; without a file to stdout")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("FILE");
  c->callback([&global, &action, o] {
    action = [&global, o] {
      auto& shapes = o->compile.shapes;
      o->compile.shapeFromData = std::erase(shapes, "from-data") > 0;
      if (!o->jobs) o->jobs = std::max(1u, static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)));
      if (o->compile.target.empty()) o->compile.target = defaultTarget();
      return verify(global, *o);
    };
  });
}

} // namespace ortc::driver
