// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline/Pipeline.h"
#include "compiler/ir/Order.h"
#include "compiler/passes/FormKernels.h"
#include "compiler/passes/Passes.h"
#include "compiler/pipeline/DiagnosticBridge.h"
#include "compiler/pipeline/HostValues.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ortc {

std::vector<std::string> stageNames() {
  return {"import", "simplify", "optimise", "kernels", "select", "program"};
}

namespace {

class Stages {
public:
  Stages(ModuleOp module, const PipelineOptions& options, Diagnostics& diagnostics)
      : module(module), options(options), diagnostics(diagnostics) {}

  /// Runs one stage; false: stop (an error, or the stage that was asked for).
  bool run(StringRef name, llvm::function_ref<LogicalResult()> stage) {
    if (failed(stage())) {
      if (!diagnostics.hasErrors())
        diagnostics.error("", "stage '{}' failed without saying why; this is a fault of ortc",
                          name.str());
      return false;
    }
    if (options.printChanged) {
      std::string now;
      llvm::raw_string_ostream os(now);
      module->print(os, OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(16));
      if (now != before)
        llvm::errs() << "// ---- after " << name << " ----\n" << now << "\n";
      else
        llvm::errs() << "// ---- " << name << " changed nothing ----\n";
      before = now;
    }
    return options.emitIr != name;
  }

private:
  ModuleOp module;
  const PipelineOptions& options;
  Diagnostics& diagnostics;
  std::string before;
};

/// `keepQuantised`: weights of 8 bits stay what they are until `optimise`, which looks for products
/// of them.
LogicalResult simplify(ModuleOp module, bool keepQuantised) {
  PassManager pm(module.getContext());
  pm.enableVerifier(true);
  // Folding first makes shapes constant, which simplification needs; simplification makes more
  // constants.
  pm.addPass(createSimplify());
  FoldConstantsOptions folding;
  folding.keepQuantised = keepQuantised;
  pm.addPass(createFoldConstants(folding));
  pm.addPass(createSimplify());
  return pm.run(module);
}

LogicalResult optimise(ModuleOp module, const TargetInfo& target) {
  if (!target.checksData())
    module.walk([](CheckOp check) {
      if (check.getOfData()) check.erase();
    });
  PassManager pm(module.getContext());
  if (target.multipliesBytes()) {
    // While zero points and scales stand next to their product; then what it left is folded.
    pm.addNestedPass<func::FuncOp>(createNarrowProducts());
    pm.addPass(createFoldConstants());
    pm.addPass(createSimplify());
  }
  // Bias and activation directly after their product, where the next pass looks for them.
  pm.addNestedPass<func::FuncOp>(createSinkReshape());
  pm.addPass(createSimplify());
  // Factors before layouts: they know output channels by their dim of the model.
  pm.addNestedPass<func::FuncOp>(createFoldScaleIntoWeights());
  pm.addNestedPass<func::FuncOp>(createFoldTranspose());
  // Transposes of constants are folded, and what moved away is dropped, before layouts add new
  // ones.
  pm.addPass(createFoldConstants());
  pm.addPass(createSimplify());
  if (target.prefersChannelsLast()) {
    pm.addNestedPass<func::FuncOp>(createAssignLayout());
    pm.addPass(createFoldConstants());
    pm.addPass(createSimplify());
  }
  // Factors of queries and keys stand next to their product now.
  pm.addNestedPass<func::FuncOp>(createFoldScaleIntoWeights());
  // Again: layouts turn transposes into reshapes.
  pm.addNestedPass<func::FuncOp>(createSinkReshape());
  pm.addPass(createSimplify());
  // Concatenations are made anew with their layouts.
  pm.addNestedPass<func::FuncOp>(createShareConcatPrefix());
  return pm.run(module);
}

} // namespace

OwningOpRef<ModuleOp> buildTensorIr(const onnx::OnnxFile& file, MLIRContext& context,
                                    const PipelineOptions& options, Diagnostics& diagnostics,
                                    bool keepQuantised) {
  DiagnosticBridge bridge(context, diagnostics);
  OwningOpRef<ModuleOp> module = importModel(file, context, options.import, diagnostics);
  if (!module) return nullptr;
  // Definitions make the ops of an expression in the order that a C++ compiler likes.
  orderOps(*module, OrderRuns::SameOrigin);
  Stages stages(*module, options, diagnostics);
  if (!stages.run("import", [&] { return verify(*module); }))
    return diagnostics.hasErrors() ? nullptr : std::move(module);
  if (!stages.run("simplify", [&] { return simplify(*module, keepQuantised); }) &&
      diagnostics.hasErrors())
    return nullptr;
  return module;
}

/// Everything that depends on the processor: kernels are selected and written. False: stop.
static bool writeProgram(TargetProgram& program, const PipelineOptions& options,
                         std::optional<Weights> weights, Diagnostics& diagnostics,
                         std::string& explanation) {
  const TargetInfo& target = *program.target;
  ModuleOp module = *program.module;
  Stages stages(module, options, diagnostics);
  // 5. select: the target's row for each kernel.
  if (!stages.run("select", [&] {
        selectKernels(module, target);
        if (options.explain) explanation += explainChoices(module);
        return success();
      }))
    return false;
  // 6. program: places, offsets, packed weights, loops; then the target's own small rewrites.
  return stages.run("program", [&]() -> LogicalResult {
    ProgramOptions planned;
    planned.alignment = target.alignment();
    planned.weights = std::move(weights);
    planned.growsArena = target.growsArena();
    planned.bufferBytes = target.bindsRanges();
    planned.schedule = [&](KernelOp k) { return target.schedule(k); };
    planned.workspace = [&](KernelOp k, OpBuilder& b) { return target.workspace(k, b); };
    planned.writeChoice = [&](KernelOp k, ModuleOp m, StridesOf strides, Weights& w) {
      return target.writeChoice(k, m, strides, w);
    };
    FailureOr<ProgramFacts> facts = buildProgram(module, planned);
    if (failed(facts)) return failure();
    program.facts = std::move(*facts);
    if (failed(verify(module)) || failed(target.legalise(module))) return failure();
    orderOps(module); // last: all of this builds expressions
    return success();
  });
}

std::optional<PipelineResult> runPipeline(const onnx::OnnxFile& file, MLIRContext& context,
                                          const TargetInfo& target, const PipelineOptions& options,
                                          Diagnostics& diagnostics) {
  PipelineResult result;
  // 1. import: ONNX to tensor IR. 2. simplify: constants folded, structure recognised.
  OwningOpRef<ModuleOp> built =
      buildTensorIr(file, context, options, diagnostics, target.multipliesBytes());
  if (!built) return std::nullopt;
  ModuleOp module = *built;
  result.programs.emplace_back(&target, std::move(built));
  if (options.emitIr == "import" || options.emitIr == "simplify") return result;
  // After simplification, which removes what only a shape or a dead output needed.
  if (!target.hasHostSteps() &&
      !refuseHostValues(module, file.model().graph, target.name(), diagnostics))
    return std::nullopt;
  DiagnosticBridge bridge(context, diagnostics);
  Stages stages(module, options, diagnostics);
  auto done = [&](bool goOn) { return !goOn; };
  auto answer = [&]() -> std::optional<PipelineResult> {
    if (diagnostics.hasErrors()) return std::nullopt;
    return std::move(result);
  };
  // 3. optimise: what the model computes, in the order that costs least. The evaluator's answers
  // stay within rounding.
  if (done(stages.run("optimise", [&] { return optimise(module, target); }))) return answer();
  // 4. kernels: what is computed together. After all rewriting of tensor IR; nothing later looks
  // into a kernel but to
  //    write it.
  if (done(stages.run("kernels", [&] {
        formKernels(module.lookupSymbol<func::FuncOp>("main"));
        return verify(module);
      })))
    return answer();
  // A bundle for several processors goes on once for each; equal weights are stored once.
  std::vector<const TargetInfo*> levels = target.levels();
  for (size_t i = 1; i < levels.size(); ++i)
    result.programs.emplace_back(levels[i], module.clone());
  if (!levels.empty()) result.programs[0].target = levels[0];
  std::optional<Weights> weights;
  for (TargetProgram& program : result.programs) {
    if (levels.size() > 1 && options.explain)
      result.explanation += program.target->levelName() + ":\n";
    if (done(writeProgram(program, options, std::move(weights), diagnostics, result.explanation)) &&
        diagnostics.hasErrors())
      return std::nullopt;
    if (levels.size() > 1) weights = program.facts.weights;
  }
  for (TargetProgram& program : result.programs)
    if (weights && !weights->items().empty())
      (*program.module)
          ->setAttr("ortc.weights_bytes",
                    Builder(&context).getI64IntegerAttr(static_cast<int64_t>(weights->bytes())));
  return answer();
}

} // namespace ortc
