// SPDX-License-Identifier: Apache-2.0
// The command line of ortc. Commands are in files of their own; here they meet, and what ends one
// becomes an exit code.
#include "compiler/driver/Command.h"

using namespace ortc;
using namespace ortc::driver;

namespace {

int usage(const std::string& message, const std::string& help) {
  fmt::print(stderr, "error: {}\n", message);
  if (!help.empty()) fmt::print(stderr, "  help: {}\n", help);
  return static_cast<int>(ExitCode::Usage);
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"ortc: compiles ONNX models to readable source code", "ortc"};
  app.set_version_flag("--version", "ortc 0.1.0");
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.footer("\n`ortc COMMAND --help` tells more.\n");
  GlobalOptions global;
  Action action;
  for (auto* add : {addCompile, addRun, addVerify, addInspect, addOps, addDoctor, addCompletion})
    add(app, global, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& e) {
    return app.exit(e); // --help, --version
  } catch (const CLI::ParseError& e) {
    std::string message = e.what();
    if (!message.empty())
      message[0] = static_cast<char>(tolower(static_cast<unsigned char>(message[0])));
    while (!message.empty() && (message.back() == '.' || message.back() == '\n'))
      message.pop_back();
    const auto given = app.get_subcommands();
    return usage(message, fmt::format("see `ortc {}--help`",
                                      given.empty() ? "" : given.front()->get_name() + " "));
  } catch (const UsageError& e) {
    return usage(e.message, e.help);
  } catch (const MissingTool& e) {
    usage(e.message, e.help);
    return static_cast<int>(ExitCode::MissingTool);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return static_cast<int>(ExitCode::BadModel);
  }
}
