// SPDX-License-Identifier: Apache-2.0
// The pieces of checkModel that stand for themselves.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc::onnx {

/// Puts nodes after what they read. Files should be sorted already; one that is not is sorted with
/// a remark, keeping the file's order wherever it can be kept.
class NodeSorter {
public:
  explicit NodeSorter(Diagnostics& diagnostics) : diagnostics(diagnostics) {}
  /// False when there is a cycle, which is reported.
  bool sort(std::vector<Node>& nodes);

private:
  using Names = std::vector<std::string_view>;
  const Names& freeNames(const Graph& graph);
  template <typename Visit> void forEachRead(const Node& node, Visit visit);
  void reportCycle(const std::vector<Node>& nodes,
                   const std::vector<std::vector<size_t>>& producers,
                   const std::vector<size_t>& waitingFor);

  Diagnostics& diagnostics;
  /// What a subgraph reads from the graphs around it. Keyed by address: graphs do not move while a
  /// model is checked.
  std::unordered_map<const Graph*, Names> freeNamesOf;
};

/// Sets Node::function; refuses unknown operator set imports, duplicate functions, recursion, calls
/// too deep, and expansion beyond kMaxExpandedNodes.
bool checkFunctionCalls(Model& model, Diagnostics& diagnostics);

} // namespace ortc::onnx
