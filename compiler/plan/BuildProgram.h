// SPDX-License-Identifier: Apache-2.0
// From kernels on tensors to the host program: every tensor gets a place, every kernel becomes a
// function (docs/spine.md, section 3).
#pragma once
#include "compiler/lower/LowerKernel.h"
#include "compiler/plan/Weights.h"

namespace ortc {

/// How a target writes kernels; the generic way is lowerKernel.
struct ProgramOptions {
  int64_t alignment = 64; // of buffers in the arena and of weights
  /// The blob that constants are added to: of a bundle for several processors it holds what the
  /// programs before this one need. Empty: a new one.
  std::optional<Weights> weights;
  /// The arena may need more while a run goes on (TargetInfo::growsArena).
  bool growsArena = false;
  /// Launches say after their arguments how many bytes lie behind each buffer, for devices that
  /// bind ranges of memory.
  bool bufferBytes = false;
  /// The schedule of a kernel that is written as loops.
  std::function<Schedule(KernelOp)> schedule = [](KernelOp) { return Schedule(); };
  /// Bytes of memory that a kernel needs while it runs: none, a constant, or an expression of
  /// sizes.
  std::function<std::optional<mlir::OpFoldResult>(KernelOp, mlir::OpBuilder&)> workspace;
  /// Writes a catalogue kernel: returns null to have it written as loops. May add packed weights.
  std::function<mlir::FailureOr<LoweredKernel>(KernelOp, mlir::ModuleOp, StridesOf, Weights&)>
      writeChoice;
};

struct ProgramFacts {
  Weights weights;
  std::optional<int64_t> arenaBytes; // at the upper bounds; none when a dim has none
  int64_t largestLiveSet = 0;        // with the same meaning
  std::vector<std::pair<std::string, int64_t>>
      liveSet;        // its tensors and their bytes, largest first
  int64_t copies = 0; // launches that only move data
  int64_t launches = 0;
};

/// Replaces @main by @run, kernel functions, and @output_bounds when the sizes of an output are
/// computed by the run (docs/spine.md). Failure comes with a diagnostic.
mlir::FailureOr<ProgramFacts> buildProgram(mlir::ModuleOp module, const ProgramOptions& options);

} // namespace ortc
