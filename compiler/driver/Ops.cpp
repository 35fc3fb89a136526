// SPDX-License-Identifier: Apache-2.0
// ortc ops: which operators are supported where. Names and versions come from the definitions that
// are linked in, the figures from tests that ran (OpResults.inc, written by scripts/op-results from
// the output of `ortc verify --json`).
#include "compiler/driver/Command.h"
#include "compiler/onnx/NodeBuilder.h"
#include <map>
#include <memory>
#include <set>

namespace ortc::driver {
namespace {

struct OpResult {
  const char* target;
  const char* op; // with the domain where it is not ai.onnx
  int passed, failed;
};
constexpr OpResult kResults[] = {
#include "compiler/driver/OpResults.inc"
    {nullptr, nullptr, 0, 0}};

struct Options {
  std::string target, format = "md";
};

int ops(const GlobalOptions& global, const Options& o) {
  std::map<std::string, std::map<std::string, std::pair<int, int>>> results; // operator -> target
  std::set<std::string> targets;
  for (const OpResult& r : kResults) {
    if (!r.target || (!o.target.empty() && o.target != r.target)) continue;
    results[r.op][r.target] = {r.passed, r.failed};
    targets.insert(r.target);
  }
  if (!o.target.empty() && targets.empty())
    throw UsageError{fmt::format("no results of target '{}' are recorded in this build", o.target),
                     "without --target all columns are shown"};
  const bool json = global.json || o.format == "json";
  llvm::json::Array list;
  if (!json) {
    fmt::print("| operator | versions |");
    for (const std::string& t : targets)
      fmt::print(" {} |", t);
    fmt::print("\n|---|---|");
    for (size_t i = 0; i < targets.size(); ++i)
      fmt::print("---|");
    fmt::print("\n");
  }
  for (const opdef::OpDefinition* d : opdef::OpRegistry::all()) {
    const std::string name = d->domain.empty() ? d->name : d->domain + "." + d->name;
    std::string versions;
    llvm::json::Array versionList;
    for (int64_t v : d->versions) {
      versions += (versions.empty() ? "" : " ") + std::to_string(v);
      versionList.push_back(v);
    }
    llvm::json::Object cells;
    std::string row;
    for (const std::string& t : targets) {
      auto it = results[name].find(t);
      if (it == results[name].end()) {
        row += " untested |";
        continue;
      }
      auto [passed, failed] = it->second;
      cells[t] = llvm::json::Object{{"passed", passed}, {"failed", failed}};
      row += failed ? fmt::format(" {} of {} |", passed, passed + failed)
                    : fmt::format(" {} |", passed);
    }
    if (json)
      list.push_back(llvm::json::Object{
          {"operator", name}, {"versions", std::move(versionList)}, {"tests", std::move(cells)}});
    else
      fmt::print("| {} | {} |{}\n", name, versions, row);
  }
  if (json)
    printJson(llvm::json::Object{{"operators", std::move(list)}});
  else if (!targets.empty())
    fmt::print("\nFigures: test cases that pass, of those that ran.\n");
  return 0;
}

} // namespace

void addOps(CLI::App& app, GlobalOptions& global, Action& action) {
  auto o = std::make_shared<Options>();
  CLI::App* c = addCommand(
      app, global, "ops", "Which operators are supported, and on which target tests of them passed",
      "  ortc ops\n  ortc ops --target=cpu --format=json\n");
  c->add_option("--target", o->target, "Only this target's column")->type_name("T");
  c->add_option("--format", o->format, "md or json")
      ->check(CLI::IsMember({"md", "json"}))
      ->capture_default_str();
  c->callback([&global, &action, o] { action = [&global, o] { return ops(global, *o); }; });
}

} // namespace ortc::driver
