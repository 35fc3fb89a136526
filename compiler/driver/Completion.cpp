// SPDX-License-Identifier: Apache-2.0
// ortc completion: scripts for shells, made from the commands and flags themselves.
#include "compiler/driver/Command.h"
#include "compiler/select/TargetInfo.h"
#include <memory>

namespace ortc::driver {
namespace {

std::vector<std::string> flagsOf(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      flags.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      flags.push_back("-" + name);
  }
  return flags;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words)
    text += (text.empty() ? "" : " ") + w;
  return text;
}

std::string targetWords() {
  std::string text = "reference";
  for (auto& [name, summary] : targetNames())
    text += " " + name;
  return text;
}

std::string bash(const CLI::App& app) {
  std::string text;
  std::vector<std::string> commands;
  for (const CLI::App* c : app.get_subcommands({}))
    commands.push_back(c->get_name());
  text += fmt::format(
      "# ortc completion bash > /etc/bash_completion.d/ortc\n_ortc() {{\n  local "
      "word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" flags=\"\"\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return; "
      "fi\n"
      "  [ \"$before\" = = ] && before=\"${{COMP_WORDS[COMP_CWORD-2]}}\" && word=\"${{word#=}}\"\n"
      "  if [ \"$before\" = --target ]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); "
      "return; fi\n  case \"${{COMP_WORDS[1]}}\" in\n",
      join(commands), targetWords());
  for (const CLI::App* c : app.get_subcommands({}))
    text += fmt::format("  {}) flags=\"{}\" ;;\n", c->get_name(), join(flagsOf(*c)));
  text += fmt::format(
      "  esac\n  case \"$word\" in\n  -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) "
      ";;\n  *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}}\n"
      "complete -o filenames -F _ortc ortc\n");
  return text;
}

std::string zsh(const CLI::App& app) {
  std::string text;
  text += fmt::format(
      "#compdef ortc\n# ortc completion zsh > \"${{fpath[1]}}/_ortc\"\n_ortc() {{\n  local "
      "-a commands\n  commands=(\n");
  for (const CLI::App* c : app.get_subcommands({})) {
    std::string summary = c->get_description();
    for (size_t at = 0; (at = summary.find(':', at)) != std::string::npos; at += 2)
      summary.insert(at, "\\");
    text += fmt::format("    '{}:{}'\n", c->get_name(), summary);
  }
  text += fmt::format(
      "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  if [[ \"$PREFIX\" == --target=* ]]; then compset -P '*='; compadd {}; return; fi\n "
      " case \"$words[2]\" in\n",
      targetWords());
  for (const CLI::App* c : app.get_subcommands({}))
    text += fmt::format("  {}) [[ \"$PREFIX\" == -* ]] && compadd -- {} || _files ;;\n",
                        c->get_name(), join(flagsOf(*c)));
  text += fmt::format("  esac\n}}\n_ortc \"$@\"\n");
  return text;
}

std::string fish(const CLI::App& app) {
  std::string text;
  text += fmt::format("# ortc completion fish > ~/.config/fish/completions/ortc.fish\n");
  for (const CLI::App* c : app.get_subcommands({})) {
    text += fmt::format("complete -c ortc -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        c->get_name(), c->get_description());
    for (const CLI::Option* option : c->get_options())
      for (const std::string& name : option->get_lnames())
        text += fmt::format("complete -c ortc -n '__fish_seen_subcommand_from {}' -l {}{}\n",
                            c->get_name(), name,
                            name == "target" ? " -x -a '" + targetWords() + "'" : "");
  }
  return text;
}

} // namespace

void addCompletion(CLI::App& app, GlobalOptions& global, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* c = addCommand(app, global, "completion", "Print a completion script for a shell",
                           "  ortc completion bash > /etc/bash_completion.d/ortc\n");
  c->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->callback([&app, &global, &action, shell] {
    action = [&app, &global, shell] {
      const std::string text = *shell == "bash"  ? bash(app)
                               : *shell == "zsh" ? zsh(app)
                                                 : fish(app);
      if (global.json)
        printJson(llvm::json::Object{{"shell", *shell}, {"script", text}});
      else
        fmt::print("{}", text);
      return 0;
    };
  });
}

} // namespace ortc::driver
