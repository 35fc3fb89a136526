// SPDX-License-Identifier: Apache-2.0
// From a model file to the files of a bundle: the pipeline, then the target's writer.
#pragma once
#include "compiler/driver/CompileOptions.h"

namespace ortc::driver {

struct EmitRequest {
  std::string model;  // path
  std::string name;   // prefix of symbols; empty: from the file's name
  std::string folder; // exists and is empty
};

struct Emitted {
  std::string name;
  ProgramFacts facts; // of the most demanding program, with the weights of all
  std::string explanation;
};

/// The bundle's name: as given, else from the file's name.
std::string bundleName(const CompileOptions& options, const std::string& model);

/// The command line that makes this bundle again, with base names only.
std::string commandText(const CompileOptions& options, const std::string& model);

std::optional<Emitted> emitBundle(const CompileOptions& options, const PipelineOptions& pipeline,
                                  const TargetInfo& target, const EmitRequest& request,
                                  Diagnostics& diagnostics);

/// Which tensors make up the most memory that is in use at one time, for messages.
std::string liveSetText(const ProgramFacts& facts);

/// Compares what the program needs with --max-ram and --max-flash.
bool checkLimits(const CompileOptions& options, const ProgramFacts& facts,
                 Diagnostics& diagnostics);

} // namespace ortc::driver
