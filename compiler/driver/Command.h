// SPDX-License-Identifier: Apache-2.0
// What the commands of `ortc` share: how they are added, how they end, how they answer with --json.
#pragma once
#include "compiler/support/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace ortc::driver {

/// Ends the command with exit code 2: the command line asks for what cannot be.
struct UsageError {
  std::string message; // lower case, no full stop
  std::string help;
};
/// Ends the command with exit code 3: a tool or a device is missing.
struct MissingTool {
  std::string message;
  std::string help;
};

/// Set by the flag that stands before or after any command.
struct GlobalOptions {
  bool json = false; // one JSON document on stdout; messages stay on stderr
};

/// What the command line chose: returns the exit code.
using Action = std::function<int()>;

/// Each adds its subcommand and, when that was given, sets `action`. One file per command.
void addCompile(CLI::App& app, GlobalOptions& global, Action& action);
void addRun(CLI::App& app, GlobalOptions& global, Action& action);
void addVerify(CLI::App& app, GlobalOptions& global, Action& action);
void addInspect(CLI::App& app, GlobalOptions& global, Action& action);
void addOps(CLI::App& app, GlobalOptions& global, Action& action);
void addDoctor(CLI::App& app, GlobalOptions& global, Action& action);
void addCompletion(CLI::App& app, GlobalOptions& global, Action& action);

/// Creates a subcommand with --json and, below its help, examples.
CLI::App* addCommand(CLI::App& app, GlobalOptions& global, const std::string& name,
                     const std::string& summary, const std::string& examples);

/// What --random and --seed may be.
CLI::Validator seedNumber();

void printJson(const llvm::json::Value& value);
/// Errors, warnings and remarks as a list of objects.
llvm::json::Array toJson(const Diagnostics& diagnostics);

/// Prints what was reported; exit code 0, or 1 when there are errors. With --json the same as
/// {"ok", "messages"} and the fields of `result`.
int finish(const GlobalOptions& global, const Diagnostics& diagnostics,
           llvm::json::Object result = {});

} // namespace ortc::driver
