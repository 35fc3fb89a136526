// SPDX-License-Identifier: Apache-2.0
// The whole order of the compiler, from an ONNX file to a program that a target prints.
#pragma once
#include "compiler/import/OnnxFile.h"
#include "compiler/onnx/GraphImporter.h"
#include "compiler/select/TargetInfo.h"

namespace ortc {

struct PipelineOptions {
  ImportOptions import;
  std::string emitIr;   // stop after this stage and give the IR: "import", "simplify", "kernels",
                        // "select", "program"
  bool explain = false; // gather the table of choices
  bool printChanged = false; // print the IR after each stage that changed it, to stderr
};

struct PipelineResult {
  /// One, at the stage that was asked for; one for each level once kernels are selected for a
  /// target that has some. Facts are known after the last stage.
  std::vector<TargetProgram> programs;
  std::string explanation;
};

/// The names of stages for emitIr, in order.
std::vector<std::string> stageNames();

/// Import and simplification only: tensor IR, as the target `reference` evaluates it.
/// `keepQuantised`: constants of 8 bits are not made floats yet.
mlir::OwningOpRef<mlir::ModuleOp>
buildTensorIr(const onnx::OnnxFile& file, mlir::MLIRContext& context,
              const PipelineOptions& options, Diagnostics& diagnostics, bool keepQuantised = false);
/// Everything up to the program. None on error, with errors reported.
std::optional<PipelineResult> runPipeline(const onnx::OnnxFile& file, mlir::MLIRContext& context,
                                          const TargetInfo& target, const PipelineOptions& options,
                                          Diagnostics& diagnostics);

} // namespace ortc
