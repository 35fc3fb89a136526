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

void bash(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* c : app.get_subcommands({}))
    commands.push_back(c->get_name());
  fmt::print(
      "# ortc completion bash > /etc/bash_completion.d/ortc\n_ortc() {{\n  local "
      "word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\" flags=\"\"\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return; "
      "fi\n"
      "  [ \"$before\" = = ] && before=\"${{COMP_WORDS[COMP_CWORD-2]}}\" && word=\"${{word#=}}\"\n"
      "  if [ \"$before\" = --target ]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); "
      "return; fi\n  case \"${{COMP_WORDS[1]}}\" in\n",
      join(commands), targetWords());
  for (const CLI::App* c : app.get_subcommands({}))
    fmt::print("  {}) flags=\"{}\" ;;\n", c->get_name(), join(flagsOf(*c)));
  fmt::print("  esac\n  case \"$word\" in\n  -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) "
             ";;\n  *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}}\n"
             "complete -o filenames -F _ortc ortc\n");
}

void zsh(const CLI::App& app) {
  fmt::print("#compdef ortc\n# ortc completion zsh > \"${{fpath[1]}}/_ortc\"\n_ortc() {{\n  local "
             "-a commands\n  commands=(\n");
  for (const CLI::App* c : app.get_subcommands({})) {
    std::string summary = c->get_description();
    for (size_t at = 0; (at = summary.find(':', at)) != std::string::npos; at += 2)
      summary.insert(at, "\\");
    fmt::print("    '{}:{}'\n", c->get_name(), summary);
  }
  fmt::print("  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
             "  if [[ \"$PREFIX\" == --target=* ]]; then compset -P '*='; compadd {}; return; fi\n "
             " case \"$words[2]\" in\n",
             targetWords());
  for (const CLI::App* c : app.get_subcommands({}))
    fmt::print("  {}) [[ \"$PREFIX\" == -* ]] && compadd -- {} || _files ;;\n", c->get_name(),
               join(flagsOf(*c)));
  fmt::print("  esac\n}}\n_ortc \"$@\"\n");
}

void fish(const CLI::App& app) {
  fmt::print("# ortc completion fish > ~/.config/fish/completions/ortc.fish\n");
  for (const CLI::App* c : app.get_subcommands({})) {
    fmt::print("complete -c ortc -n __fish_use_subcommand -f -a {} -d '{}'\n", c->get_name(),
               c->get_description());
    for (const CLI::Option* option : c->get_options())
      for (const std::string& name : option->get_lnames())
        fmt::print("complete -c ortc -n '__fish_seen_subcommand_from {}' -l {}{}\n", c->get_name(),
                   name, name == "target" ? " -x -a '" + targetWords() + "'" : "");
  }
}

} // namespace

void addCompletion(CLI::App& app, GlobalOptions&, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completion", "Print a completion script for a shell");
  c->footer("\nExamples:\n  ortc completion bash > /etc/bash_completion.d/ortc\n");
  c->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->callback([&app, &action, shell] {
    action = [&app, shell] {
      *shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app);
      return 0;
    };
  });
}

} // namespace ortc::driver
