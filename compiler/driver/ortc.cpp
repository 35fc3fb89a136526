// SPDX-License-Identifier: Apache-2.0
// The command line of ortc. Commands are in files of their own; here they meet, and what ends one
// becomes an exit code.
#include "compiler/driver/Command.h"
#include "compiler/support/Names.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <system_error>

using namespace ortc;
using namespace ortc::driver;

namespace {

/// --json as a flag, before the command line was understood: `verify` takes a file with it.
bool wantsJson(int argc, char** argv) {
  const bool isVerify = argc > 1 && std::string_view(argv[1]) == "verify";
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--json")
      return !isVerify || i + 1 == argc || argv[i + 1][0] == '-';
  return false;
}

int end(bool json, ExitCode code, const std::string& message, const std::string& help) {
  if (json) {
    llvm::json::Object error{{"severity", "error"},
                             {"message", llvm::json::fixUTF8(escapeControls(message))}};
    if (!help.empty()) error["help"] = llvm::json::Array{llvm::json::fixUTF8(escapeControls(help))};
    printJson(llvm::json::Object{{"ok", false}, {"messages", llvm::json::Array{std::move(error)}}});
  } else {
    fmt::print(stderr, "error: {}\n", escapeControls(message));
    if (!help.empty()) fmt::print(stderr, "  help: {}\n", escapeControls(help));
  }
  return static_cast<int>(code);
}

/// What CLI11 says, in our style.
int parseError(bool json, const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  std::string message = e.what();
  const auto given = app.get_subcommands();
  if (given.empty() && argc > 1)
    message = fmt::format("there is no {} '{}'", argv[1][0] == '-' ? "flag" : "command", argv[1]);
  if (!message.empty())
    message[0] = static_cast<char>(tolower(static_cast<unsigned char>(message[0])));
  while (!message.empty() && (message.back() == '.' || message.back() == '\n'))
    message.pop_back();
  return end(
      json, ExitCode::Usage, message,
      fmt::format("see `ortc {}--help`", given.empty() ? "" : given.front()->get_name() + " "));
}

/// What stands on stdout is the answer: when it did not get there, the command failed.
bool outputArrived() {
  llvm::outs().flush();
  bool ok = !llvm::outs().has_error();
  llvm::outs().clear_error(); // its destructor would end the process
  return fflush(stdout) == 0 && !ferror(stdout) && ok;
}

int run(int argc, char** argv, bool json) {
  CLI::App app{"ortc: compiles ONNX models to readable source code", "ortc"};
  app.set_version_flag("--version", "ortc 0.1.0");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.footer("\n`ortc COMMAND --help` tells more.\n");
  GlobalOptions global;
  Action action;
  for (auto* add : {addCompile, addRun, addVerify, addInspect, addOps, addDoctor, addCompletion})
    add(app, global, action);
  // CLI11 would take the next word for the value.
  for (int i = 1; i < argc; ++i)
    if (std::string_view word = argv[i];
        word.size() > 3 && word.substr(0, 2) == "--" && word.find('=') == word.size() - 1)
      throw UsageError{fmt::format("{} has no value behind it", word), ""};
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e); // --help, --version
  } catch (const CLI::ParseError& e) {
    return parseError(json, app, e, argc, argv);
  }
  return action();
}

} // namespace

int main(int argc, char** argv) {
  // A file that may not grow further is an error of the write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  const bool json = wantsJson(argc, argv);
  int code;
  try {
    code = run(argc, argv, json);
  } catch (const UsageError& e) {
    code = end(json, ExitCode::Usage, e.message, e.help);
  } catch (const MissingTool& e) {
    code = end(json, ExitCode::MissingTool, e.message, e.help);
  } catch (const std::bad_alloc&) {
    code = end(json, ExitCode::BadModel, "out of memory", "");
  } catch (const std::system_error& e) { // of stdout, mostly
    code = end(json, ExitCode::BadModel, e.what(), "");
  } catch (const std::exception& e) {
    code = end(json, ExitCode::BadModel, fmt::format("{}; this is a fault of ortc", e.what()), "");
  }
  if (outputArrived()) return code;
  fmt::print(stderr, "error: the output could not be written\n");
  return code ? code : static_cast<int>(ExitCode::BadModel);
}
