// SPDX-License-Identifier: Apache-2.0
// ortc run: a model on inputs, once.
#include "compiler/driver/InputFiles.h"
#include "compiler/driver/Session.h"
#include "compiler/support/Names.h"
#include <memory>

namespace ortc::driver {
namespace {

struct RunOptions {
  CompileOptions compile;
  std::string model, output;
  InputChoice inputs;
};

int run(const GlobalOptions& global, RunOptions& o) {
  std::unique_ptr<TargetInfo> target = targetOf(o.compile);
  checkCompileOptions(o.compile, target.get());
  if (target) throw MissingTool{fmt::format("there is no runner for target '{}' in this build", o.compile.target), ""};
  if (!o.compile.emitIr.empty()) throw UsageError{"--emit-ir stops before there is anything to run: use it with `ortc compile`", ""};
  PipelineOptions pipeline = pipelineOptions(o.compile);
  Diagnostics diagnostics(o.model);
  std::unique_ptr<Session> session = openReference(o.model, pipeline, diagnostics);
  if (!session) return finish(global, diagnostics);
  std::optional<std::vector<CaseValue>> inputs = readInputs(session->signature(), o.inputs, randomSizes(pipeline), diagnostics);
  std::optional<std::vector<CaseValue>> outputs;
  if (inputs) outputs = session->run(*inputs, diagnostics);
  if (outputs && !o.output.empty()) writeOutputs(o.output, session->signature(), *outputs, diagnostics);
  llvm::json::Object result{{"target", o.compile.target}};
  if (outputs) {
    llvm::json::Array list;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const std::string& name = session->signature().outputs[i].name;
      const std::string text = valueText((*outputs)[i], 8);
      list.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(escapeControls(name))}, {"value", llvm::json::fixUTF8(text)}});
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
  CLI::App* c = addCommand(app, global, "run", "Run a model once: compile it, build it, and run it on inputs",
                           "  ortc run net.onnx --input x=x.npy -o out.npz\n"
                           "  ortc run net.onnx --random 1 --dim batch=4 --target=reference\n");
  c->add_option("model", o->model, "ONNX file")->required()->type_name("MODEL");
  addCompileOptions(*c, o->compile, /*builds=*/true);
  c->add_option("--input", o->inputs.files, "An input from a .npy or .pb file")->type_name("X=FILE")->allow_extra_args(false);
  c->add_option("--inputs", o->inputs.archive, "Inputs by name from an .npz archive")->type_name("FILE");
  c->add_option("--random", o->inputs.seed, "Make the inputs that no file gives from this seed")->type_name("SEED");
  c->add_option("-o", o->output, "Write all outputs into an .npz archive")->type_name("FILE");
  c->callback([&global, &action, o] {
    action = [&global, o] {
      if (o->compile.target.empty()) o->compile.target = defaultTarget();
      return run(global, *o);
    };
  });
}

} // namespace ortc::driver
