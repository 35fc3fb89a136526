// SPDX-License-Identifier: Apache-2.0
// ortc run: a model on inputs, once.
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/DeviceRunner.h"
#include "compiler/driver/EmitBundle.h"
#include "compiler/driver/InputFiles.h"
#include "compiler/driver/Progress.h"
#include "compiler/driver/Session.h"
#include "compiler/support/Names.h"
#include "compiler/support/WriteFile.h"
#include <filesystem>
#include <memory>

namespace ortc::driver {
namespace {

struct RunOptions {
  CompileOptions compile;
  std::string model, output;
  InputChoice inputs;
};

std::unique_ptr<Session> buildAndOpen(const GlobalOptions& global, RunOptions& o,
                                      const PipelineOptions& pipeline, const TargetInfo& target,
                                      DeviceRunner& runner, const std::string& folder,
                                      Diagnostics& diagnostics) {
  Bundle bundle{bundleName(o.compile, o.model), folder + "/bundle", o.model};
  std::error_code error;
  std::filesystem::create_directories(bundle.folder, error);
  Progress progress;
  progress.show("compiling");
  std::optional<Emitted> emitted =
      emitBundle(o.compile, pipeline, target, {o.model, "", bundle.folder}, diagnostics);
  if (!emitted) return nullptr;
  if (o.compile.explain && !global.json) fmt::print("{}", emitted->explanation);
  progress.show("building");
  std::string artefact, log;
  if (!runner.build({bundle}, artefact, log)) {
    diagnostics.error("", "what was emitted cannot be built; this is a fault of ortc")
        .note("{}", log);
    return nullptr;
  }
  return runner.load(bundle, artefact, diagnostics);
}

int run(const GlobalOptions& global, RunOptions& o) {
  std::unique_ptr<TargetInfo> target = targetOf(o.compile);
  checkCompileOptions(o.compile, target.get());
  if (!o.compile.emitIr.empty())
    throw UsageError{"--emit-ir stops before there is anything to run: use it with `ortc compile`",
                     ""};
  PipelineOptions pipeline = pipelineOptions(o.compile);
  if (!o.output.empty())
    if (std::string why = whyNotWritable(o.output); !why.empty())
      throw UsageError{fmt::format("-o: {} cannot be written: {}", quoteName(o.output), why), ""};
  Diagnostics diagnostics(o.model);
  std::optional<WorkFolder> work;
  std::unique_ptr<DeviceRunner> runner;
  std::unique_ptr<Session> session;
  if (target) {
    work.emplace();
    runner = createDeviceRunner(o.compile, work->path(), /*threads=*/0);
    runner->require();
    session = buildAndOpen(global, o, pipeline, *target, *runner, work->path(), diagnostics);
  } else {
    session = openReference(o.model, pipeline, diagnostics);
  }
  if (!session) return finish(global, diagnostics);
  std::optional<std::vector<CaseValue>> inputs =
      readInputs(session->signature(), o.inputs, randomSizes(pipeline), diagnostics);
  std::optional<std::vector<CaseValue>> outputs;
  if (inputs) outputs = session->run(*inputs, diagnostics);
  if (outputs && !o.output.empty())
    writeOutputs(o.output, session->signature(), *outputs, diagnostics);
  llvm::json::Object result{{"target", o.compile.target}};
  if (outputs) {
    llvm::json::Array list;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const std::string& name = session->signature().outputs[i].name;
      const std::string text = valueText((*outputs)[i], 8);
      list.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(escapeControls(name))},
                                        {"value", llvm::json::fixUTF8(text)}});
      if (!global.json) fmt::print("{} {}\n", quoteName(name), text);
    }
    result["outputs"] = std::move(list);
  }
  fflush(stdout);
  return finish(global, diagnostics, std::move(result));
}

} // namespace

void addRun(CLI::App& app, GlobalOptions& global, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* c =
      addCommand(app, global, "run", "Run a model once: compile it, build it, and run it on inputs",
                 "  ortc run net.onnx --input x=x.npy -o out.npz\n"
                 "  ortc run net.onnx --random 1 --dim batch=4 --target=reference\n");
  c->add_option("model", o->model, "ONNX file")->required()->type_name("MODEL");
  addCompileOptions(*c, o->compile, /*builds=*/true);
  c->add_option("--input", o->inputs.files, "An input from a .npy or .pb file")
      ->type_name("X=FILE")
      ->allow_extra_args(false);
  c->add_option("--inputs", o->inputs.archive, "Inputs by name from an .npz archive")
      ->type_name("FILE");
  c->add_option("--random", o->inputs.seed, "Make the inputs that no file gives from this seed")
      ->type_name("SEED")
      ->check(seedNumber());
  c->add_option("-o", o->output, "Write all outputs into an .npz archive")->type_name("FILE");
  c->callback([&global, &action, o] {
    action = [&global, o] {
      if (o->compile.target.empty()) o->compile.target = defaultTarget();
      return run(global, *o);
    };
  });
}

} // namespace ortc::driver
