// SPDX-License-Identifier: Apache-2.0
// The flags of `ortc compile`, which `run` and `verify` take, too; and what they mean to the
// pipeline.
#pragma once
#include "compiler/driver/Command.h"
#include "compiler/pipeline/Pipeline.h"
#include <optional>
#include <string>
#include <vector>

namespace ortc::driver {

struct CompileOptions {
  std::string target;
  std::vector<std::string> processors; // --mcpu
  std::string name;                    // of the bundle; empty: from the file's name
  std::vector<std::string> shapes, dims, cutInputs, cutOutputs;
  std::string weights;  // empty: embed
  std::string numerics; // empty: default
  std::vector<std::string> with;
  std::string maxRam, maxFlash;
  std::string emitIr;
  bool explain = false, printChanged = false;
  bool shapeFromData = false; // --shape=from-data, of verify

  // How bundles are built, for run and verify.
  std::string cxx;
  bool noCache = false;
  bool emulate = false, sanitize = false;

  bool isReference() const { return target == "reference"; }
};

/// `builds`: the command builds and runs the bundle (run, verify).
void addCompileOptions(CLI::App& command, CompileOptions& options, bool builds);

/// Checks flags against the target and each other; throws UsageError for one that would have no
/// effect. `targetInfo` is null for the reference.
void checkCompileOptions(const CompileOptions& options, TargetInfo* targetInfo);

/// Throws UsageError for malformed text.
PipelineOptions pipelineOptions(const CompileOptions& options);

/// "64KiB", "1MiB", "4096" in bytes.
std::optional<uint64_t> parseBytes(const std::string& text);

/// The target of the options; null for `reference`. Throws UsageError when there is none of this
/// name.
std::unique_ptr<TargetInfo> targetOf(const CompileOptions& options);
/// What run and verify take when --target is not given: cpu where it is built in.
std::string defaultTarget();

} // namespace ortc::driver
