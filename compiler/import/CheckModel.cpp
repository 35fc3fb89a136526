// SPDX-License-Identifier: Apache-2.0
// Versions, and the whole of a model: which names are visible where, each defined once, every value
// there when it is read. Functions are in CheckFunctions.cpp, order in SortNodes.cpp, what a node
// of an operator has in OpSchemas.cpp.
#include "compiler/import/ModelChecks.h"
#include "compiler/import/ModelReader.h"
#include "compiler/import/NearestName.h"
#include "compiler/import/OpSchemas.h"

namespace ortc::onnx {
namespace {

/// The names that a graph can see: its own so far, and those of the graphs around it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_set<std::string_view> names;

  bool sees(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->outer)
      if (scope->names.count(name)) return true;
    return false;
  }
  bool outerSees(std::string_view name) const { return outer && outer->sees(name); }
};

class Checker {
public:
  Checker(Model& model, Diagnostics& diagnostics)
      : model(model), diagnostics(diagnostics), sorter(diagnostics) {}
  bool check();

private:
  void checkVersions(const std::vector<OpsetImport>& opsets, const std::string& where);
  void checkGraph(Graph& graph, const Scope* outer);
  void checkFunction(Function& function);
  void checkInputTypes();
  /// False when the nodes form a cycle: whatever else is wrong with such a graph would only
  /// confuse.
  bool checkNodes(std::vector<Node>& nodes, Scope& scope);
  void checkNode(Node& node, Scope& scope);
  void define(Scope& scope, std::string_view name, const std::string& where, std::string_view what);
  void suggest(Diagnostic& diagnostic, std::string_view name, const Scope& scope);

  Model& model;
  Diagnostics& diagnostics;
  NodeSorter sorter;
  const Function* function = nullptr; // whose body is being checked
};

bool Checker::check() {
  if (model.irVersion < 1 || model.irVersion > kNewestIrVersion) {
    auto& error = diagnostics.error({}, "IR version {} is not known; the newest one known is {}",
                                    model.irVersion, kNewestIrVersion);
    if (model.irVersion > kNewestIrVersion)
      error.help("export the model with an older version of ONNX");
    return false;
  }
  const size_t before = diagnostics.errorCount();
  if (model.opsets.empty())
    diagnostics.error({}, "the model imports no operator set")
        .help("opset_import needs an entry for each domain that is used, with '' for ai.onnx");
  checkVersions(model.opsets, {});
  for (const Function& f : model.functions)
    checkVersions(f.opsets, "function " + quoteName(f.name));
  if (diagnostics.errorCount() != before || !checkFunctionCalls(model, diagnostics)) return false;
  checkInputTypes();
  checkGraph(model.graph, nullptr);
  for (Function& f : model.functions)
    if (!diagnostics.tooManyErrors()) checkFunction(f);
  return diagnostics.errorCount() == before;
}

void Checker::checkVersions(const std::vector<OpsetImport>& opsets, const std::string& where) {
  for (size_t i = 0; i < opsets.size(); ++i) {
    const OpsetImport& opset = opsets[i];
    const std::string domain = quoteName(opset.domain.empty() ? "ai.onnx" : opset.domain);
    for (size_t k = 0; k < i; ++k)
      if (opsets[k].domain == opset.domain && opsets[k].version != opset.version)
        diagnostics.error(where, "{} is imported with opset {} and with opset {}", domain,
                          opsets[k].version, opset.version);
    const int64_t newest = opset.domain.empty()           ? kNewestOpset
                           : opset.domain == "ai.onnx.ml" ? kNewestMlOpset
                                                          : INT64_MAX;
    if (opset.version < 1)
      diagnostics.error(where, "opset {} of {} is not valid", opset.version, domain);
    else if (opset.version > newest)
      diagnostics
          .error(where, "opset {} of {} is newer than the newest one known, {}", opset.version,
                 domain, newest)
          .help("export the model with opset {} or older", newest);
  }
}

void Checker::checkInputTypes() {
  for (const ValueInfo& input : model.graph.inputs) {
    const std::string where = "input " + quoteName(input.name);
    const TensorData* initializer = model.graph.initializer(input.name);
    if (input.type.kind == Type::Kind::None ||
        (input.type.isTensor() && input.type.dtype == DType::Undefined)) {
      if (!initializer)
        diagnostics.error(where, "the input has no {}type",
                          input.type.kind == Type::Kind::None ? "" : "element ");
      continue;
    }
    if (!initializer) continue;
    bool fits = input.type.isTensor() && input.type.dtype == initializer->dtype;
    if (fits && input.type.shape) {
      fits = input.type.shape->size() == initializer->dims.size();
      for (size_t i = 0; fits && i < initializer->dims.size(); ++i)
        fits = (*input.type.shape)[i].value.value_or(initializer->dims[i]) == initializer->dims[i];
    }
    if (!fits)
      diagnostics.error(where, "the input is declared as {} but its initializer is {}",
                        typeText(input.type), initializer->typeText());
  }
}

void Checker::define(Scope& scope, std::string_view name, const std::string& where,
                     std::string_view what) {
  if (!scope.names.insert(name).second)
    diagnostics.error(where, "{} {} is defined more than once in one graph", what, quoteName(name))
        .note("every value of ONNX has exactly one producer");
}

void Checker::checkGraph(Graph& graph, const Scope* outer) {
  Scope scope{outer, {}};
  for (const ValueInfo& input : graph.inputs) {
    if (input.name.empty())
      diagnostics.error("graph " + quoteName(graph.name), "an input has no name");
    else
      define(scope, input.name, "input " + quoteName(input.name), "input");
  }
  // An initializer may repeat the name of an input: it is then its default.
  std::unordered_set<std::string_view> initializers;
  const auto addInitializer = [&](const std::string& name) {
    if (name.empty())
      diagnostics.error("graph " + quoteName(graph.name), "an initializer has no name");
    else if (!initializers.insert(name).second)
      diagnostics.error("initializer " + quoteName(name),
                        "initializer {} is defined more than once", quoteName(name));
    scope.names.insert(name);
  };
  for (const TensorData& tensor : graph.initializers)
    addInitializer(tensor.name);
  for (const SparseTensor& tensor : graph.sparseInitializers)
    addInitializer(tensor.values.name);
  if (!checkNodes(graph.nodes, scope)) return;
  for (const ValueInfo& output : graph.outputs)
    if (!scope.sees(output.name)) {
      auto& error = diagnostics.error("output " + quoteName(output.name),
                                      "no node, input or initializer of the graph produces it");
      suggest(error, output.name, scope);
    }
}

void Checker::checkFunction(Function& f) {
  function = &f;
  const std::string where = "function " + quoteName(f.name);
  Scope scope;
  for (const std::string& input : f.inputs)
    define(scope, input, where, "input");
  const bool acyclic = checkNodes(f.nodes, scope);
  for (const std::string& output : f.outputs)
    if (acyclic && !scope.sees(output)) {
      auto& error = diagnostics.error(where, "nothing in the function produces its output {}",
                                      quoteName(output));
      suggest(error, output, scope);
    }
  function = nullptr;
}

bool Checker::checkNodes(std::vector<Node>& nodes, Scope& scope) {
  if (!sorter.sort(nodes)) return false;
  for (Node& node : nodes) {
    if (diagnostics.tooManyErrors()) return false;
    checkNode(node, scope);
  }
  return true;
}

void Checker::checkNode(Node& node, Scope& scope) {
  if (!node.function) checkAgainstSchema(node, diagnostics);
  for (const std::string& input : node.inputs)
    if (!input.empty() && !scope.sees(input)) {
      auto& error = diagnostics.error(node.describe(),
                                      "input {} is produced by no node, input or initializer",
                                      quoteName(input));
      suggest(error, input, scope);
    }
  for (Attribute& attribute : node.attributes) {
    // Before the node's own outputs are known: inside, their names are free.
    for (const std::shared_ptr<Graph>& graph : attribute.graphs)
      checkGraph(*graph, &scope);
    if (!attribute.refName.empty() && function) {
      bool known = false;
      for (const std::string& name : function->attributes)
        known |= name == attribute.refName;
      for (const Attribute& withDefault : function->attributeDefaults)
        known |= withDefault.name == attribute.refName;
      if (!known)
        diagnostics.error(
            node.describe(), "attribute {} refers to {}, which function {} does not have",
            quoteName(attribute.name), quoteName(attribute.refName), quoteName(function->name));
    }
  }
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    if (scope.outerSees(output))
      diagnostics
          .error(node.describe(), "output {} has the name of a value of an enclosing graph",
                 quoteName(output))
          .note("ONNX allows no shadowing: inside a subgraph names must be new");
    define(scope, output, node.describe(), "output");
  }
}

void Checker::suggest(Diagnostic& diagnostic, std::string_view name, const Scope& scope) {
  // A misspelt name is the usual cause; searching is for the first errors of a model of sensible
  // size.
  constexpr size_t kMostNames = 20000, kMostErrors = 4;
  if (diagnostics.errorCount() > kMostErrors) return;
  NearestName nearest(name);
  for (const Scope* s = &scope; s && s->names.size() < kMostNames; s = s->outer)
    for (std::string_view candidate : s->names)
      nearest.offer(candidate);
  if (nearest) diagnostic.help("did you mean {}?", quoteName(nearest.best()));
}

} // namespace

bool checkModel(Model& model, Diagnostics& diagnostics) {
  return Checker(model, diagnostics).check();
}

} // namespace ortc::onnx
