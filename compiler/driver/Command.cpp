// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Command.h"
#include "compiler/support/Names.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>

namespace ortc::driver {

CLI::App* addCommand(CLI::App& app, GlobalOptions& global, const std::string& name,
                     const std::string& summary, const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer("\nExamples:\n" + examples);
  command->add_flag("--json", global.json, "Answer with one JSON document on stdout");
  return command;
}

CLI::Validator seedNumber() {
  return {[](const std::string& text) {
            uint64_t seed = 0;
            return llvm::StringRef(text).getAsInteger(10, seed)
                       ? "'" + text + "' is not a whole number from 0 to 2^64 - 1"
                       : std::string();
          },
          ""};
}

void printJson(const llvm::json::Value& value) {
  llvm::outs() << llvm::formatv("{0:2}", value) << "\n";
  llvm::outs().flush();
}

llvm::json::Array toJson(const Diagnostics& diagnostics) {
  llvm::json::Array list;
  for (const Diagnostic& d : diagnostics.all()) {
    llvm::json::Object o;
    o["severity"] = d.severity == Severity::Error     ? "error"
                    : d.severity == Severity::Warning ? "warning"
                                                      : "remark";
    if (!d.file.empty()) o["file"] = llvm::json::fixUTF8(d.file);
    if (!d.location.empty()) o["location"] = llvm::json::fixUTF8(escapeControls(d.location));
    o["message"] = llvm::json::fixUTF8(escapeControls(d.message));
    llvm::json::Array notes, helps;
    for (const Diagnostic::Line& line : d.lines)
      (line.isHelp ? helps : notes).push_back(llvm::json::fixUTF8(escapeControls(line.text)));
    if (!notes.empty()) o["notes"] = std::move(notes);
    if (!helps.empty()) o["help"] = std::move(helps);
    list.push_back(std::move(o));
  }
  return list;
}

int finish(const GlobalOptions& global, const Diagnostics& diagnostics, llvm::json::Object result) {
  const bool ok = !diagnostics.hasErrors();
  if (global.json) {
    result["ok"] = ok;
    result["messages"] = toJson(diagnostics);
    printJson(std::move(result));
  } else {
    diagnostics.print(stderr);
  }
  return static_cast<int>(ok ? ExitCode::Ok : ExitCode::BadModel);
}

} // namespace ortc::driver
