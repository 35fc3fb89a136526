// SPDX-License-Identifier: Apache-2.0
// ortc compile: a model becomes a bundle of source files.
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/BundleFolder.h"
#include "compiler/driver/EmitBundle.h"
#include "compiler/driver/FirmwareRunner.h"
#include "compiler/import/OnnxFile.h"
#include "compiler/support/Names.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <memory>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

struct Options {
  CompileOptions compile;
  std::string model, destination;
  bool hasDestination = false;
};

/// --emit-ir: the IR after a stage, with large constants cut short.
int emitIr(const GlobalOptions& global, const Options& o, const PipelineOptions& pipeline,
           TargetInfo* target) {
  Diagnostics diagnostics(o.model);
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(o.model, diagnostics);
  if (!file || diagnostics.hasErrors()) return finish(global, diagnostics);
  mlir::MLIRContext context;
  context.disableMultithreading();
  std::optional<PipelineResult> result;
  if (target) {
    result = runPipeline(*file, context, *target, pipeline, diagnostics);
  } else if (auto module = buildTensorIr(*file, context, pipeline, diagnostics)) {
    result.emplace();
    result->programs.emplace_back(nullptr, std::move(module));
  }
  if (!result || diagnostics.hasErrors()) return finish(global, diagnostics);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (TargetProgram& program : result->programs) {
    if (result->programs.size() > 1) os << "// ---- " << program.target->levelName() << " ----\n";
    program.module->print(
        os, mlir::OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(16));
  }
  llvm::json::Object json;
  if (global.json)
    json["ir"] = llvm::json::fixUTF8(text);
  else
    llvm::outs() << text;
  if (o.compile.explain && !global.json) llvm::outs() << result->explanation;
  llvm::outs().flush();
  return finish(global, diagnostics, std::move(json));
}

/// The limits of a board hold for what its own compiler and linker make of the bundle: code, state
/// and stack are only known then.
bool fitsBoard(const Options& o, const TargetInfo& target, const Bundle& bundle,
               const ProgramFacts& facts, std::optional<FirmwareSize>& size,
               Diagnostics& diagnostics) {
  if (target.runner() != Runner::FirmwareImage ||
      (o.compile.maxRam.empty() && o.compile.maxFlash.empty()))
    return true;
  WorkFolder work;
  std::string log;
  size = measureFirmware(o.compile, bundle, work.path(), log);
  if (size) return true;
  Diagnostics::FileScope scope(diagnostics, o.model);
  if (log.rfind("does not fit", 0) == 0)
    diagnostics
        .error("", "the bundle {} (--max-flash={}, --max-ram={})", log,
               o.compile.maxFlash.empty() ? "none" : o.compile.maxFlash,
               o.compile.maxRam.empty() ? "none" : o.compile.maxRam)
        .note("weights take {} bytes of flash; {}", facts.weights.bytes(), liveSetText(facts));
  else
    diagnostics.error("", "what was emitted cannot be built; this is a fault of ortc")
        .note("{}", log);
  return false;
}

int compile(const GlobalOptions& global, Options& o) {
  if (o.compile.target.empty())
    throw UsageError{"--target is missing", "`ortc doctor` lists the targets"};
  std::unique_ptr<TargetInfo> target = targetOf(o.compile);
  checkCompileOptions(o.compile, target.get());
  PipelineOptions pipeline = pipelineOptions(o.compile);
  if (!o.compile.emitIr.empty()) {
    if (!o.destination.empty())
      throw UsageError{"-o has no effect with --emit-ir, which prints the IR and writes nothing",
                       ""};
    if (!target && o.compile.emitIr != "import" && o.compile.emitIr != "simplify")
      throw UsageError{fmt::format("--emit-ir={}: the reference has tensor IR only, which is there "
                                   "after import and simplify",
                                   o.compile.emitIr),
                       ""};
    return emitIr(global, o, pipeline, target.get());
  }
  if (!target)
    throw UsageError{"target 'reference' evaluates models, there is nothing to emit",
                     "name another target, or use `ortc run` or `ortc verify`"};
  if (!o.compile.name.empty() && legaliseIdentifier(o.compile.name) != o.compile.name)
    throw UsageError{fmt::format("--name: {} is no identifier", quoteName(o.compile.name)),
                     "take " + legaliseIdentifier(o.compile.name)};
  if (o.hasDestination && o.destination.empty()) throw UsageError{"-o names no folder", ""};
  if (o.destination.empty()) o.destination = bundleName(o.compile, o.model);

  Diagnostics diagnostics;
  std::vector<std::string> files;
  std::optional<Emitted> emitted;
  std::optional<FirmwareSize> firmware;
  writeBundleFolder(
      o.destination,
      [&](const std::string& folder) {
        emitted = emitBundle(o.compile, pipeline, *target, {o.model, "", folder}, diagnostics);
        return emitted && fitsBoard(o, *target, {emitted->name, folder, o.model}, emitted->facts,
                                    firmware, diagnostics);
      },
      files, diagnostics);
  llvm::json::Object json;
  if (emitted && !diagnostics.hasErrors()) {
    json["name"] = emitted->name;
    json["folder"] = llvm::json::fixUTF8(o.destination);
    json["files"] = llvm::json::Array(files);
    json["weights_bytes"] = static_cast<int64_t>(emitted->facts.weights.bytes());
    if (emitted->facts.arenaBytes) json["arena_bytes"] = *emitted->facts.arenaBytes;
    if (firmware) json["flash_bytes"] = firmware->flash, json["ram_bytes"] = firmware->ram;
    json["launches"] = emitted->facts.launches;
    json["copies"] = emitted->facts.copies;
    if (o.compile.explain) json["choices"] = llvm::json::fixUTF8(emitted->explanation);
    if (!global.json) {
      if (o.compile.explain) fmt::print("{}", emitted->explanation);
      fflush(stdout); // before what goes to stderr, also where both end in one file
      fmt::print(stderr, "{}: {} files, {} launches, weights {} bytes, arena {}\n", o.destination,
                 files.size(), emitted->facts.launches, emitted->facts.weights.bytes(),
                 emitted->facts.arenaBytes ? fmt::format("{} bytes", *emitted->facts.arenaBytes)
                                           : "as the sizes need");
      if (firmware)
        fmt::print(stderr, "flash {} bytes, RAM {} bytes of which {} are for the stack\n",
                   firmware->flash, firmware->ram, firmware->stack);
    }
  }
  return finish(global, diagnostics, std::move(json));
}

} // namespace

void addCompile(CLI::App& app, GlobalOptions& global, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* c = addCommand(
      app, global, "compile", "Compile a model to a bundle of source files",
      "  ortc compile net.onnx --target=cpu -o net\n"
      "  ortc compile net.onnx --target=cpu --mcpu=x86-64-v3 --dim batch=1..32 --explain\n"
      "  ortc compile model.onnx --target=cortex-m4 --max-ram=64KiB --max-flash=256KiB\n"
      "  ortc compile net.onnx --target=reference --emit-ir=simplify\n");
  c->add_option("model", o->model, "ONNX file")->required()->type_name("MODEL");
  c->add_option("-o", o->destination,
                "Folder of the bundle (default: its name, here); an old bundle is replaced")
      ->type_name("DIR");
  addCompileOptions(*c, o->compile, /*builds=*/false);
  c->callback([&global, &action, o, c] {
    o->hasDestination = c->count("-o") != 0;
    action = [&global, o] { return compile(global, *o); };
  });
}

} // namespace ortc::driver
