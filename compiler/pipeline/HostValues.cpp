// SPDX-License-Identifier: Apache-2.0
#include "compiler/pipeline/HostValues.h"
#include "compiler/ops/AllOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ortc {
namespace {

bool isHostType(Type t) {
  return isa<ListType, MapType>(t) || isa<StringType>(getElementTypeOrSelf(t));
}

bool isHostType(const onnx::Type& t) {
  return (t.kind != onnx::Type::Kind::None && !t.isTensor()) || t.dtype == DType::String;
}

bool worksOnHostValues(Operation* op) {
  if (isa<func::FuncOp, func::ReturnOp, arith::ConstantOp>(op)) return false;
  return isa<HostStepOp>(op) ||
         llvm::any_of(op->getResultTypes(), [](Type t) { return isHostType(t); }) ||
         llvm::any_of(op->getOperandTypes(), [](Type t) { return isHostType(t); });
}

/// The node of an op, as messages name it; empty for a constant without one.
std::string nodeOf(Operation* op) {
  std::string name;
  op->getLoc()->walk([&](Location l) {
    if (auto n = dyn_cast<NameLoc>(l); n && name.empty()) name = n.getName().str();
    return WalkResult::advance();
  });
  return name;
}

/// Where a model can be cut so that only dense tensors remain.
class Cuts {
public:
  Cuts(const onnx::Graph& graph, const llvm::StringSet<>& hostNodes)
      : graph(graph), hostNodes(hostNodes) {
    for (const onnx::Node& n : graph.nodes)
      for (const std::string& output : n.outputs)
        producer[output] = &n;
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.valueInfos})
      for (const onnx::ValueInfo& v : *list)
        if (isHostType(v.type)) hostValues.insert(v.name);
  }

  /// The outputs, each one that is no dense tensor replaced by what it is made of.
  std::vector<std::string> outputs(func::FuncOp main) {
    std::vector<std::string> list;
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (auto name = main.getResultAttrOfType<StringAttr>(i, "ortc.name"))
        before(name.getValue().str(), isHostType(main.getResultTypes()[i]), list);
    return list;
  }

  /// What nodes that work on strings hand to those that do not.
  std::vector<std::string> inputs() const {
    std::vector<std::string> list;
    for (const onnx::Node& n : graph.nodes) {
      if (hostNodes.contains(n.describe())) continue;
      for (const std::string& input : n.inputs) {
        auto it = producer.find(input);
        if (it != producer.end() && hostNodes.contains(it->second->describe()) &&
            !hostValues.contains(input) && !llvm::is_contained(list, input))
          list.push_back(input);
      }
    }
    return list;
  }

private:
  const onnx::Graph& graph;
  const llvm::StringSet<>& hostNodes;
  llvm::StringMap<const onnx::Node*> producer;
  llvm::StringSet<> hostValues;

  void before(const std::string& value, bool isHost, std::vector<std::string>& list) {
    auto it = producer.find(value);
    if (!isHost) {
      // An input of the model, or a weight, is no answer.
      if (it != producer.end() && !llvm::is_contained(list, value)) list.push_back(value);
      return;
    }
    if (it == producer.end()) return;
    for (const std::string& input : it->second->inputs)
      before(input, hostValues.contains(input), list);
  }
};

/// As on a command line: in quotes where a shell needs them.
std::string listed(const std::vector<std::string>& names) {
  std::string text = llvm::join(names, ",");
  bool isPlain = llvm::all_of(
      text, [](char c) { return llvm::isAlnum(c) || StringRef("_-./:,").contains(c); });
  return isPlain ? text : quoteName(text);
}

} // namespace

bool refuseHostValues(ModuleOp module, const onnx::Graph& graph, StringRef target,
                      Diagnostics& diagnostics) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::StringSet<> nodes;
  std::optional<std::string> first;
  main.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (!worksOnHostValues(op)) return;
    std::string node = nodeOf(op);
    nodes.insert(node);
    if (!first || (first->empty() && !node.empty())) first = node;
  });
  std::string input;
  for (unsigned i = 0; i < main.getNumArguments() && input.empty(); ++i)
    if (isHostType(main.getArgumentTypes()[i]))
      if (auto name = main.getArgAttrOfType<StringAttr>(i, "ortc.name")) input = name.getValue();
  bool returnsThem = llvm::any_of(main.getResultTypes(), [](Type t) { return isHostType(t); });
  if (!first && input.empty() && !returnsThem) return true;

  auto& d = diagnostics.error(first.value_or(""), "target '{}' has no strings, lists or maps{}",
                              target.str(), first ? ", and this node works on them" : "");
  if (!input.empty()) d.note("input {} holds them", quoteName(input));
  Cuts cuts(graph, nodes);
  std::vector<std::string> begin = input.empty() ? std::vector<std::string>() : cuts.inputs(),
                           end = returnsThem ? cuts.outputs(main) : std::vector<std::string>();
  std::string flags;
  if (!begin.empty()) flags += " --cut-inputs=" + listed(begin);
  if (!end.empty()) flags += " --cut-outputs=" + listed(end);
  if (flags.empty())
    d.help("compile the part of the model that has none of them, with --cut-inputs and "
           "--cut-outputs, and do the rest in your own code");
  else
    d.help("do that part in your own code, and compile the rest with{}", flags);
  return false;
}

} // namespace ortc
