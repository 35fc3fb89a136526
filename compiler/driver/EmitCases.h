// SPDX-License-Identifier: Apache-2.0
// The first two steps of `ortc verify` on a target that is built: bundles of all cases, emitted in
// workers, then built many at a time. What does not compile is found by splitting.
#pragma once
#include "compiler/driver/CheckCase.h"
#include "compiler/driver/DeviceRunner.h"
#include "compiler/driver/Progress.h"
#include <map>

namespace ortc::driver {

/// A model compiled with certain shapes: a bundle, or the reasons why there is none.
struct CompiledModel {
  std::map<std::string, std::vector<int64_t>> shapes; // as in ImportOptions
  Bundle bundle;
  bool emitted = false;
  std::vector<Diagnostic> messages; // of the compiler
  std::string artefact;             // of the build; empty when it failed
  std::string buildLog;
};

/// All that was compiled for one case; with --shape=from-data there may be several.
struct CompiledCase {
  std::vector<CompiledModel> models;
  std::string failure; // the compiler itself crashed or hung
};

std::vector<CompiledCase> emitAndBuild(const std::vector<CaseInput>& cases,
                                       const CompileOptions& compile, const CheckOptions& check,
                                       const TargetInfo& target, DeviceRunner& runner,
                                       const std::string& folder, unsigned jobs, double timeout,
                                       Progress& progress);

/// Finds what was compiled for the shapes in `pipeline`, and loads it. Repeats the compiler's
/// messages when it was refused.
std::unique_ptr<Session> openCompiled(const CompiledCase& compiled, const PipelineOptions& pipeline,
                                      DeviceRunner& runner, Diagnostics& diagnostics);

} // namespace ortc::driver
