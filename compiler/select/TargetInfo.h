// SPDX-License-Identifier: Apache-2.0
// All that the compiler knows of a device: handed over by the driver, implemented in targets/. The
// tail of the pipeline (how kernels are written, legalised and printed) is the target's, too, under
// the names that Pipeline.cpp shows.
#pragma once
#include "compiler/lower/LowerKernel.h"
#include "compiler/plan/BuildProgram.h"
#include "compiler/support/Diagnostics.h"
#include <memory>
#include <string>
#include <vector>

namespace ortc {

/// One way to compute a kernel on a target: a row of its table that fits.
struct Candidate {
  std::string kernel; // "gemm_f32_8x48", "loops"
  double microseconds;
  mlir::DictionaryAttr parameters; // tiles and the like, for writeChoice
};

/// What goes into a bundle, for all targets alike.
struct BundleRequest {
  std::string name;      // legal identifier: prefix of all symbols
  std::string folder;    // where the files go
  std::string modelFile; // base name of the ONNX file, for provenance
  std::string command;   // the command line that regenerates it, base names only
  std::string sha256;
  std::string weights = "embed";  // "embed", "file", "array"
  std::vector<std::string> notes; // what the import said and a user should know
};

class TargetInfo;

/// What a bundle is built into when this machine runs it (`ortc run`, `ortc verify`).
enum class Runner : uint8_t { None, CxxLibrary, CudaLibrary, WebModule, FirmwareImage };

/// A model as it is written for one target: all kernels chosen, planned and written.
struct TargetProgram {
  TargetProgram(const TargetInfo* target, mlir::OwningOpRef<mlir::ModuleOp> module)
      : target(target), module(std::move(module)) {}
  const TargetInfo* target; // null for the reference
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ProgramFacts facts; // once it is written
};

class TargetInfo {
public:
  virtual ~TargetInfo() = default;
  virtual std::string name() const = 0; // "cpu", "null", "cuda", "webgpu", "vulkan", "cortex-m4"
  /// --mcpu: processors by name; false with a message that lists what is known.
  virtual bool setProcessors(llvm::ArrayRef<std::string> names, std::string& error) {
    return names.empty();
  }
  /// --with: libraries that kernels may call; false with a message that lists what is known.
  virtual bool allowLibraries(llvm::ArrayRef<std::string> names, std::string& error) {
    return names.empty();
  }
  /// --numerics. Strict: nothing whose rounding is larger than that of the plain sum. False: this
  /// target has no such thing.
  virtual bool setStrict(bool /*strict*/) { return false; }
  /// Several processors in one bundle: a target for each, the most capable first; the bundle takes
  /// the first that runs where it is loaded. Empty: this target is for one processor.
  virtual std::vector<const TargetInfo*> levels() const { return {}; }
  /// Of a level: a name for people and manifests ("x86-64-v3").
  virtual std::string levelName() const { return ""; }
  /// Convolutions run on batch, spatial dims, channels; layouts are changed before kernels are
  /// formed.
  virtual bool prefersChannelsLast() const { return false; }
  /// Products of 8-bit numbers are at least as fast as those of f32: products of dequantised
  /// numbers become such.
  virtual bool multipliesBytes() const { return false; }
  /// Strings, lists, maps: steps of a host program in C++. Elsewhere such models are refused.
  virtual bool hasHostSteps() const { return false; }
  /// The host waits for a kernel where the model's data must be checked (indices in range): true
  /// where that costs next to nothing. Elsewhere what reads out of range gets the nearest element.
  virtual bool checksData() const { return true; }
  /// A run may find that it needs more memory than its dims say, and ask for it (NEED_RESERVE):
  /// sizes may depend on data without a bound.
  virtual bool growsArena() const { return false; }
  virtual Runner runner() const { return Runner::CxxLibrary; }
  /// What --weights may say, where the target gives a choice.
  virtual std::vector<std::string> weightsForms() const { return {"embed", "file", "array"}; }
  virtual int64_t alignment() const { return 64; } // of buffers in the arena
  /// Kernels get ranges of memory instead of addresses: launches must tell their bytes.
  virtual bool bindsRanges() const { return false; }
  /// Sizes past 2^31 are refused where index is 32 bits wide.
  virtual unsigned indexBits() const { return 64; }

  // ---- select ----
  /// Rows that fit this kernel, without the loop nest, which always does.
  virtual std::vector<Candidate> candidates(KernelOp) const { return {}; }
  /// Estimated time of the loop nest in microseconds.
  virtual double loopsCost(KernelOp) const { return 0; }
  virtual Schedule schedule(KernelOp) const { return {}; }

  // ---- write and emit ----
  /// Bytes that the chosen kernel needs while it runs.
  virtual std::optional<mlir::OpFoldResult> workspace(KernelOp, mlir::OpBuilder&) const {
    return std::nullopt;
  }
  /// Writes a kernel by its choice; a null function says: as loops.
  virtual mlir::FailureOr<LoweredKernel> writeChoice(KernelOp, mlir::ModuleOp, StridesOf,
                                                     Weights&) const {
    return LoweredKernel();
  }
  /// Small rewrites of the finished program for the language, before it is printed.
  virtual mlir::LogicalResult legalise(mlir::ModuleOp) const { return mlir::success(); }
  /// Writes all files of the bundle into request.folder, which exists and is empty. Reports what
  /// goes wrong.
  virtual bool emit(mlir::ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
                    Diagnostics& diagnostics) const = 0;
  /// The same for a target with levels: one program for each, in their order, with one blob of
  /// weights, which the facts of the last one hold.
  virtual bool emitLevels(llvm::ArrayRef<TargetProgram>, const BundleRequest&, Diagnostics&) const {
    return false;
  }
};

/// Targets that are linked in, by name; each registers itself.
using TargetFactory = std::unique_ptr<TargetInfo> (*)();
bool registerTarget(llvm::StringRef name, TargetFactory make, llvm::StringRef summary);
std::unique_ptr<TargetInfo> createTarget(llvm::StringRef name);
std::vector<std::pair<std::string, std::string>> targetNames(); // with summaries, sorted

/// Chooses an implementation for every kernel of the module and notes it as its attribute `choice`.
void selectKernels(mlir::ModuleOp module, const TargetInfo& target);
/// The choices as a table for people (--explain).
std::string explainChoices(mlir::ModuleOp module);

} // namespace ortc
