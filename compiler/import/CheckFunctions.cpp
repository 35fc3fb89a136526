// SPDX-License-Identifier: Apache-2.0
// Model-local functions are expanded when they are called, so their call graph must be finite,
// shallow and not explode: 60 functions that each call the next one twice are 2^60 nodes.
#include "compiler/import/ModelChecks.h"
#include "compiler/import/NearestName.h"

#include <map>
#include <tuple>

#include <llvm/ADT/STLExtras.h>

namespace ortc::onnx {
namespace {

class CallChecker {
public:
  CallChecker(Model& model, Diagnostics& diagnostics) : model(model), diagnostics(diagnostics) {}
  bool check();

private:
  struct Cost {
    enum State : uint8_t { New, Active, Done } state = New;
    unsigned depth = 0;
    uint64_t nodes = 0;
  };
  /// Resolves the calls in `nodes` and below; adds them up.
  bool visit(std::vector<Node>& nodes, const std::vector<OpsetImport>& opsets, unsigned level,
             Cost& cost);
  bool resolve(Node& node, const std::vector<OpsetImport>& opsets);
  bool knowsAttributes(const Function& f, const Node& call);
  bool expand(const Node& caller, size_t function, unsigned level);

  Model& model;
  Diagnostics& diagnostics;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, size_t> byName;
  std::vector<Cost> costs;
};

bool CallChecker::check() {
  bool ok = true;
  for (size_t i = 0; i < model.functions.size(); ++i) {
    const Function& f = model.functions[i];
    if (f.name.empty()) {
      diagnostics.error(fmt::format("function #{}", i), "the function has no name");
      ok = false;
    } else if (!byName
                    .emplace(std::tuple(std::string_view(f.domain), std::string_view(f.name),
                                        std::string_view(f.overload)),
                             i)
                    .second) {
      diagnostics.error("function " + quoteName(f.name), "the function is defined more than once");
      ok = false;
    }
  }
  costs.resize(model.functions.size());
  Cost total;
  ok = visit(model.graph.nodes, model.opsets, 0, total) && ok;
  // Functions that nothing calls must be sound too.
  for (size_t i = 0; ok && i < model.functions.size(); ++i) {
    Node none;
    none.name = model.functions[i].name;
    none.opType = model.functions[i].name;
    none.domain = model.functions[i].domain;
    if (costs[i].state == Cost::New) ok = expand(none, i, 0);
  }
  return ok;
}

bool CallChecker::visit(std::vector<Node>& nodes, const std::vector<OpsetImport>& opsets,
                        unsigned level, Cost& cost) {
  bool ok = true;
  for (Node& node : nodes) {
    if (diagnostics.tooManyErrors()) return false;
    ok = resolve(node, opsets) && ok;
    uint64_t added = 1;
    if (node.function) {
      if (!expand(node, *node.function, level)) return false; // one such error says it all
      const Cost& callee = costs[*node.function];
      cost.depth = std::max(cost.depth, callee.depth + 1);
      added += callee.nodes;
    }
    if (cost.depth > kMaxFunctionDepth) {
      diagnostics.error(node.describe(), "functions call each other more than {} deep",
                        kMaxFunctionDepth);
      return false;
    }
    cost.nodes += added; // both below 2^32
    if (cost.nodes > kMaxExpandedNodes) {
      diagnostics.error(node.describe(), "the calls of functions expand to more than {} nodes",
                        kMaxExpandedNodes);
      return false;
    }
    for (Attribute& attribute : node.attributes)
      for (const std::shared_ptr<Graph>& graph : attribute.graphs)
        if (!visit(graph->nodes, opsets, level, cost)) ok = false;
  }
  return ok;
}

bool CallChecker::resolve(Node& node, const std::vector<OpsetImport>& opsets) {
  if (auto it = byName.find({node.domain, node.opType, node.overload}); it != byName.end()) {
    node.function = it->second;
    const Function& f = model.functions[it->second];
    const auto tooMany = [&](size_t given, size_t declared, std::string_view what) {
      if (given > declared)
        diagnostics.error(node.describe(), "the call has {} {} but function {} has {}", given, what,
                          quoteName(f.name), declared);
      return given > declared;
    };
    return !tooMany(node.inputs.size(), f.inputs.size(), "inputs") &&
           !tooMany(node.outputs.size(), f.outputs.size(), "outputs") && knowsAttributes(f, node);
  }
  if (node.opset != 0) return true;
  auto& error = diagnostics.error(node.describe(), "domain {} is not imported",
                                  quoteName(node.domain.empty() ? "ai.onnx" : node.domain));
  for (const OpsetImport& opset : opsets)
    error.note("imported: {}, opset {}", quoteName(opset.domain.empty() ? "ai.onnx" : opset.domain),
               opset.version);
  return false;
}

bool CallChecker::knowsAttributes(const Function& f, const Node& call) {
  std::vector<std::string_view> known(f.attributes.begin(), f.attributes.end());
  for (const Attribute& withDefault : f.attributeDefaults)
    known.push_back(withDefault.name);
  for (const Attribute& a : call.attributes) {
    // Names that begin so are for what tools note down.
    if (a.name.rfind("__", 0) == 0 || llvm::is_contained(known, a.name)) continue;
    auto& error = diagnostics.error(call.describe(), "attribute {} is not one of function {}",
                                    quoteName(a.name), quoteName(f.name));
    NearestName nearest(a.name);
    for (std::string_view name : known)
      nearest.offer(name);
    if (nearest) error.help("did you mean {}?", quoteName(nearest.best()));
    return false;
  }
  return true;
}

bool CallChecker::expand(const Node& caller, size_t index, unsigned level) {
  Cost& cost = costs[index];
  if (cost.state == Cost::Done) return true;
  if (cost.state == Cost::Active) {
    diagnostics.error(caller.describe(), "function {} calls itself, directly or through others",
                      quoteName(model.functions[index].name));
    return false;
  }
  if (level >= kMaxFunctionDepth) {
    diagnostics.error(caller.describe(), "functions call each other more than {} deep",
                      kMaxFunctionDepth);
    return false;
  }
  cost.state = Cost::Active;
  Function& f = model.functions[index];
  if (!visit(f.nodes, f.opsets, level + 1, cost)) return false;
  cost.state = Cost::Done;
  return true;
}

} // namespace

bool checkFunctionCalls(Model& model, Diagnostics& diagnostics) {
  return CallChecker(model, diagnostics).check();
}

} // namespace ortc::onnx
