// SPDX-License-Identifier: Apache-2.0
// Servers, desktops and phones: C++ with vectors and threads. Processors are named by --mcpu; the
// code is the same for all of them but for the width of vectors and the tiles that are chosen.
#include "targets/common/cxx/CxxBundle.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/Schedules.h"

namespace ortc {
namespace {

using namespace cpu;

class CpuTarget final : public TargetInfo {
public:
  CpuTarget() : CpuTarget(*findProcessor("x86-64-v3")) {}
  explicit CpuTarget(const Processor& processor) : machine{processor} {}
  std::string name() const override { return "cpu"; }
  bool hasHostSteps() const override { return true; }
  bool growsArena() const override { return true; }

  bool setProcessors(llvm::ArrayRef<std::string> names, std::string& error) override {
    std::vector<Processor> processors;
    for (const std::string& name : names) {
      std::optional<Processor> p = findProcessor(name);
      if (!p) {
        error = fmt::format("processor '{}' is not known; expected a name of LLVM's, as x86-64-v2, "
                            "x86-64-v3, x86-64-v4, znver4, sapphirerapids, native",
                            name);
        return false;
      }
      for (const Processor& other : processors)
        if (other.features == p->features) {
          error = fmt::format("processors '{}' and '{}' need the same instructions, so that a "
                              "bundle with both would never take the second; leave one out",
                              other.name, p->name);
          return false;
        }
      processors.push_back(*p);
    }
    // What needs more comes first: the bundle takes the first that the machine can run.
    llvm::sort(processors, [](const Processor& a, const Processor& b) {
      return a.features.size() != b.features.size() ? a.features.size() > b.features.size()
                                                    : a.features < b.features;
    });
    if (processors.size() == 1) machine.processor = processors[0];
    levelTargets.clear();
    if (processors.size() > 1)
      for (const Processor& p : processors)
        levelTargets.push_back(std::make_unique<CpuTarget>(p));
    return true;
  }
  bool allowLibraries(llvm::ArrayRef<std::string> names, std::string& error) override {
    for (const std::string& name : names) {
      if (name != "onednn") {
        error = fmt::format("library '{}' is not known; expected onednn", name);
        return false;
      }
      machine.oneDnn = true;
      for (auto& level : levelTargets)
        level->machine.oneDnn = true;
    }
    return true;
  }
  bool setStrict(bool on) override {
    machine.strict = on;
    for (auto& level : levelTargets)
      level->machine.strict = on;
    return true;
  }
  std::vector<const TargetInfo*> levels() const override {
    std::vector<const TargetInfo*> r;
    for (auto& level : levelTargets)
      r.push_back(level.get());
    return r;
  }
  std::string levelName() const override { return machine.processor.name; }
  bool prefersChannelsLast() const override { return true; }
  bool multipliesBytes() const override { return true; }

  std::vector<Candidate> candidates(KernelOp kernel) const override {
    return Families::candidates(kernel, machine);
  }
  double loopsCost(KernelOp kernel) const override {
    return cpu::loopsCost(kernel, machine.processor);
  }
  Schedule schedule(KernelOp kernel) const override {
    return cpu::schedule(kernel, machine.processor);
  }
  std::optional<mlir::OpFoldResult> workspace(KernelOp kernel, mlir::OpBuilder& b) const override {
    return Families::workspace(kernel, b);
  }
  mlir::FailureOr<LoweredKernel> writeChoice(KernelOp kernel, mlir::ModuleOp module,
                                             StridesOf strides, Weights&) const override {
    return Families::write(kernel, module, strides);
  }

  bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    CxxBundleOptions options = bundleOptions({program});
    options.compileOptions.insert(options.compileOptions.begin(), machine.processor.flags.begin(),
                                  machine.processor.flags.end());
    return writeCxxBundle(program, facts, request, *this, options, diagnostics);
  }
  bool emitLevels(llvm::ArrayRef<TargetProgram> programs, const BundleRequest& request,
                  Diagnostics& diagnostics) const override {
    std::vector<CxxLevel> levels;
    std::vector<mlir::ModuleOp> modules;
    for (auto [target, program] : llvm::zip(levelTargets, programs)) {
      const Processor& p = target->machine.processor;
      levels.push_back({target.get(), p.flags, p.features, *program.module, &program.facts});
      modules.push_back(*program.module);
    }
    return writeCxxLevels(levels, request, *this, bundleOptions(modules), diagnostics);
  }

private:
  Machine machine;
  std::vector<std::unique_ptr<CpuTarget>> levelTargets;

  static CxxBundleOptions bundleOptions(llvm::ArrayRef<mlir::ModuleOp> programs) {
    CxxBundleOptions options;
    bool callsOneDnn = false;
    for (mlir::ModuleOp program : programs)
      program->walk(
          [&](CallTemplateOp call) { callsOneDnn |= call.getCallee().starts_with("onednn_"); });
    if (callsOneDnn) options.libraries = {{"oneDNN", "dnnl", "on Debian: libdnnl-dev"}};
    options.compileOptions = {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
                              "-fno-exceptions",   "-fno-rtti",       "-fvisibility=hidden",
                              "-Wno-psabi"};
    options.templateHeaders = [](llvm::StringRef callee) -> std::vector<std::string> {
      return {"cpu/" + Families::templateHeader(callee, "h")};
    };
    return options;
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "cpu", [] { return std::unique_ptr<TargetInfo>(new CpuTarget); },
    "C++ with vectors and threads, for x86-64 processors");

} // namespace
} // namespace ortc
