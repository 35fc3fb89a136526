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
  CpuTarget() : processor(*findProcessor("x86-64-v3")) {}
  std::string name() const override { return "cpu"; }
  bool hasHostSteps() const override { return true; }

  bool setProcessors(llvm::ArrayRef<std::string> names, std::string& error) override {
    if (names.empty()) return true;
    auto p = findProcessor(names[0]);
    if (!p) {
      error = fmt::format("processor '{}' is not known; expected a name of LLVM's, as x86-64-v2, "
                          "x86-64-v3, x86-64-v4, znver4, sapphirerapids, native",
                          names[0]);
      return false;
    }
    if (names.size() > 1) {
      error = "several processors in one bundle are not supported by this version; compile one "
              "bundle for each";
      return false;
    }
    processor = *p;
    return true;
  }
  bool prefersChannelsLast() const override { return true; }

  std::vector<Candidate> candidates(KernelOp kernel) const override {
    std::vector<Candidate> rows;
    gemmCandidates(kernel, processor, rows);
    convCandidates(kernel, processor, rows);
    return rows;
  }
  double loopsCost(KernelOp kernel) const override { return cpu::loopsCost(kernel, processor); }
  Schedule schedule(KernelOp kernel) const override { return cpu::schedule(kernel, processor); }
  std::optional<mlir::OpFoldResult> workspace(KernelOp kernel, mlir::OpBuilder& b) const override {
    llvm::StringRef choice = chosen(kernel);
    if (choice.starts_with("gemm_")) return gemmWorkspace(kernel, b);
    if (choice.starts_with("conv_") || choice.starts_with("depthwise_"))
      return convWorkspace(kernel, b);
    return std::nullopt;
  }
  mlir::FailureOr<LoweredKernel> writeChoice(KernelOp kernel, mlir::ModuleOp module,
                                             StridesOf strides, Weights&) const override {
    llvm::StringRef choice = chosen(kernel);
    if (choice.starts_with("gemm_")) return writeGemm(kernel, module, strides);
    if (choice.starts_with("conv_") || choice.starts_with("depthwise_"))
      return writeConv(kernel, module, strides);
    return LoweredKernel();
  }

  bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    CxxBundleOptions options;
    options.compileOptions = processor.flags;
    for (const char* flag : {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
                             "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wno-psabi"})
      options.compileOptions.push_back(flag);
    options.templateHeaders = [](llvm::StringRef callee) -> std::vector<std::string> {
      if (callee == "gemm_f32") return {"cpu/kernels/gemm/gemm.h"};
      if (callee == "gemm_unpacked_f32") return {"cpu/kernels/gemm/unpacked.h"};
      if (callee == "conv_f32") return {"cpu/kernels/conv/conv.h"};
      if (callee.starts_with("depthwise")) return {"cpu/kernels/depthwise/depthwise.h"};
      return {};
    };
    return writeCxxBundle(program, facts, request, *this, options, diagnostics);
  }

private:
  Processor processor;

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
