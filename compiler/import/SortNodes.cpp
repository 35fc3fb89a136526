// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/ModelChecks.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace ortc::onnx {

/// Calls `visit` for each name that the node needs: its inputs, and what its subgraphs take from
/// outside.
template <typename Visit> void NodeSorter::forEachRead(const Node& node, Visit visit) {
  for (const std::string& input : node.inputs)
    if (!input.empty()) visit(std::string_view(input));
  for (const Attribute& attribute : node.attributes)
    for (const std::shared_ptr<Graph>& graph : attribute.graphs)
      for (std::string_view name : freeNames(*graph))
        visit(name);
}

const NodeSorter::Names& NodeSorter::freeNames(const Graph& graph) {
  if (auto it = freeNamesOf.find(&graph); it != freeNamesOf.end()) return it->second;
  std::unordered_set<std::string_view> defined, seen;
  for (const ValueInfo& input : graph.inputs)
    defined.insert(input.name);
  for (const TensorData& tensor : graph.initializers)
    defined.insert(tensor.name);
  for (const SparseTensor& tensor : graph.sparseInitializers)
    defined.insert(tensor.values.name);
  for (const Node& node : graph.nodes)
    for (const std::string& output : node.outputs)
      defined.insert(output);
  Names names;
  const auto read = [&](std::string_view name) {
    if (!defined.count(name) && seen.insert(name).second) names.push_back(name);
  };
  for (const Node& node : graph.nodes)
    forEachRead(node, read);
  for (const ValueInfo& output : graph.outputs)
    read(output.name);
  return freeNamesOf.emplace(&graph, std::move(names)).first->second;
}

bool NodeSorter::sort(std::vector<Node>& nodes) {
  std::unordered_map<std::string_view, size_t> producerOf;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].outputs)
      if (!output.empty()) producerOf.emplace(output, i);
  std::vector<std::vector<size_t>> producers(nodes.size()), consumers(nodes.size());
  bool sorted = true;
  for (size_t i = 0; i < nodes.size(); ++i)
    forEachRead(nodes[i], [&](std::string_view name) {
      auto it = producerOf.find(name);
      if (it == producerOf.end()) return; // from outside, or missing
      producers[i].push_back(it->second);
      consumers[it->second].push_back(i);
      sorted &= it->second < i;
    });
  if (sorted) return true;

  // Kahn's algorithm; the smallest index first, so that order changes as little as possible.
  std::vector<size_t> waitingFor(nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if ((waitingFor[i] = producers[i].size()) == 0) ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (size_t consumer : consumers[i])
      if (--waitingFor[consumer] == 0) ready.push(consumer);
  }
  if (order.size() != nodes.size()) {
    reportCycle(nodes, producers, waitingFor);
    return false;
  }
  std::vector<Node> result;
  result.reserve(nodes.size());
  size_t firstMoved = 0;
  while (order[firstMoved] == firstMoved)
    ++firstMoved;
  diagnostics.remark(nodes[firstMoved].describe(),
                     "the node reads what later nodes produce; the nodes have been sorted");
  for (size_t i : order)
    result.push_back(std::move(nodes[i]));
  // Names that were recorded by address: short strings live inside the nodes that were just moved.
  freeNamesOf.clear();
  nodes = std::move(result);
  return true;
}

void NodeSorter::reportCycle(const std::vector<Node>& nodes,
                             const std::vector<std::vector<size_t>>& producers,
                             const std::vector<size_t>& waitingFor) {
  // Each node that was never ready waits for another such node; following these ends in a cycle.
  std::vector<size_t> path;
  std::vector<bool> onPath(nodes.size());
  size_t at = 0;
  while (waitingFor[at] == 0)
    ++at;
  while (!onPath[at]) {
    onPath[at] = true;
    path.push_back(at);
    for (size_t producer : producers[at])
      if (waitingFor[producer] != 0) {
        at = producer;
        break;
      }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::reverse(path.begin(), path.end()); // now in the direction of the data
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  auto& error = diagnostics.error(nodes[path[0]].describe(),
                                  "the graph has a cycle: the node needs its own output");
  constexpr size_t kMostNotes = 6;
  for (size_t k = 0; k < path.size() && k < kMostNotes; ++k)
    error.note("{} is read by {}", nodes[path[k]].describe(),
               nodes[path[(k + 1) % path.size()]].describe());
  if (path.size() > kMostNotes) error.note("... {} nodes in all", path.size());
}

} // namespace ortc::onnx
