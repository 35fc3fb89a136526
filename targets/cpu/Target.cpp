// SPDX-License-Identifier: Apache-2.0
// Servers, desktops and phones: C++ with vectors and threads. Processors are named by --mcpu; the
// code is the same for all of them but for the width of vectors and the tiles that are chosen.
#include "targets/common/cxx/CxxBundle.h"
#include "targets/cpu/Conv.h"
#include "targets/cpu/Gemm.h"
#include "targets/cpu/Processor.h"
#include "targets/cpu/Schedules.h"

namespace ortc {
namespace {

using namespace cpu;

class CpuTarget final : public TargetInfo {
public:
  CpuTarget() : CpuTarget(*findProcessor("x86-64-v3")) {}
  explicit CpuTarget(const Processor& processor) : processor(processor) {}
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
    if (processors.size() == 1) processor = processors[0];
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
      oneDnn = true;
      for (auto& level : levelTargets)
        level->oneDnn = true;
    }
    return true;
  }
  bool setStrict(bool on) override {
    strict = on;
    for (auto& level : levelTargets)
      level->strict = on;
    return true;
  }
  std::vector<const TargetInfo*> levels() const override {
    std::vector<const TargetInfo*> r;
    for (auto& level : levelTargets)
      r.push_back(level.get());
    return r;
  }
  std::string levelName() const override { return processor.name; }
  bool prefersChannelsLast() const override { return true; }

  std::vector<Candidate> candidates(KernelOp kernel) const override {
    std::vector<Candidate> rows;
    gemmCandidates(kernel, processor, oneDnn, rows);
    convCandidates(kernel, processor, !strict, rows);
    return rows;
  }
  double loopsCost(KernelOp kernel) const override { return cpu::loopsCost(kernel, processor); }
  Schedule schedule(KernelOp kernel) const override { return cpu::schedule(kernel, processor); }
  std::optional<mlir::OpFoldResult> workspace(KernelOp kernel, mlir::OpBuilder& b) const override {
    llvm::StringRef choice = chosen(kernel);
    if (isGemm(choice)) return gemmWorkspace(kernel, b);
    if (isConv(choice)) return convWorkspace(kernel, b);
    return std::nullopt;
  }
  mlir::FailureOr<LoweredKernel> writeChoice(KernelOp kernel, mlir::ModuleOp module,
                                             StridesOf strides, Weights&) const override {
    llvm::StringRef choice = chosen(kernel);
    if (isGemm(choice)) return writeGemm(kernel, module, strides);
    if (isConv(choice)) return writeConv(kernel, module, strides);
    return LoweredKernel();
  }

  bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    CxxBundleOptions options = bundleOptions({program});
    options.compileOptions.insert(options.compileOptions.begin(), processor.flags.begin(),
                                  processor.flags.end());
    return writeCxxBundle(program, facts, request, *this, options, diagnostics);
  }
  bool emitLevels(llvm::ArrayRef<TargetProgram> programs, const BundleRequest& request,
                  Diagnostics& diagnostics) const override {
    std::vector<CxxLevel> levels;
    std::vector<mlir::ModuleOp> modules;
    for (auto [target, program] : llvm::zip(levelTargets, programs)) {
      const Processor& p = target->processor;
      levels.push_back({target.get(), p.flags, p.features, *program.module, &program.facts});
      modules.push_back(*program.module);
    }
    return writeCxxLevels(levels, request, *this, bundleOptions(modules), diagnostics);
  }

private:
  Processor processor;
  std::vector<std::unique_ptr<CpuTarget>> levelTargets;
  bool oneDnn = false; // may be called
  bool strict =
      false; // algorithms whose rounding is larger than that of the plain sum are left out

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
      if (callee == "gemm_f32") return {"cpu/kernels/gemm/gemm.h"};
      if (callee == "gemm_small_f32") return {"cpu/kernels/gemm/small.h"};
      if (callee == "onednn_gemm_f32") return {"cpu/kernels/onednn/onednn.h"};
      if (callee == "gemm_unpacked_f32") return {"cpu/kernels/gemm/unpacked.h"};
      if (callee == "conv_f32") return {"cpu/kernels/conv/conv.h"};
      if (callee == "winograd_f32") return {"cpu/kernels/winograd/winograd.h"};
      if (callee.starts_with("depthwise")) return {"cpu/kernels/depthwise/depthwise.h"};
      return {};
    };
    return options;
  }
  static bool isGemm(llvm::StringRef choice) {
    return choice.starts_with("gemm_") || choice.starts_with("onednn_gemm_");
  }
  static bool isConv(llvm::StringRef choice) {
    return choice.starts_with("conv_") || choice.starts_with("depthwise_") ||
           choice.starts_with("winograd");
  }
  static llvm::StringRef chosen(KernelOp kernel) {
    auto choice = kernel.getChoiceAttr();
    return choice ? choice.getAs<mlir::StringAttr>("kernel").getValue() : "";
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "cpu", [] { return std::unique_ptr<TargetInfo>(new CpuTarget); },
    "C++ with vectors and threads, for x86-64 processors");

} // namespace
} // namespace ortc
