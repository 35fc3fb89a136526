// SPDX-License-Identifier: 0BSD
//
// Packing of decision trees for trees.h. Plain C++ without vectors: the compiler calls it on
// constant tables, and no bundle contains it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace ortc::cpu {

// A node of a tree, before packing: children c >= 0 are nodes, and c < 0 is leaf -1 - c.
struct PlainNode {
  double threshold;
  int32_t feature;
  bool nanGoesYes;
  int32_t yes, no;
};

struct PackedTrees {
  std::vector<int8_t> nodes;  // TreeNode<In> of trees.h
  std::vector<int32_t> roots; // node, depth
  int64_t steps = 0;          // of all trees together
};

// From each root, breadth first, so that the two children of a node are neighbours. False when the
// trees share so many nodes that they would become more than `mostNodes`.
template <class In>
bool packTrees(const std::vector<PlainNode>& plain, const std::vector<int32_t>& roots,
               bool nanByNode, size_t mostNodes, PackedTrees& packed) {
  struct Node { // as TreeNode<In>
    In threshold;
    int32_t feature, first, kind;
  };
  std::vector<Node> nodes;
  for (int32_t root : roots) {
    std::vector<std::pair<int32_t, int32_t>> queue{{root, 0}}; // plain node or leaf, its depth
    const auto begin = static_cast<int32_t>(nodes.size());
    int32_t depth = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
      const auto [at, level] = queue[i];
      depth = std::max(depth, level);
      if (at < 0) {
        nodes.push_back({In(0), 0, begin + static_cast<int32_t>(i), 2 * (-1 - at)});
        continue;
      }
      const PlainNode& from = plain[static_cast<size_t>(at)];
      const int32_t feature = nanByNode && from.nanGoesYes
                                  ? static_cast<int32_t>(from.feature | INT32_MIN)
                                  : from.feature;
      nodes.push_back({static_cast<In>(from.threshold), feature,
                       begin + static_cast<int32_t>(queue.size()), 1});
      queue.push_back({from.yes, level + 1});
      queue.push_back({from.no, level + 1});
      if (nodes.size() + queue.size() > mostNodes) return false;
    }
    packed.roots.push_back(begin);
    packed.roots.push_back(depth);
    packed.steps += depth;
  }
  packed.nodes.assign(nodes.size() * sizeof(Node), 0);
  // Field by field: what lies between them is 0, whatever compiled this.
  for (size_t i = 0; i < nodes.size(); ++i) {
    int8_t* to = packed.nodes.data() + i * sizeof(Node);
    const auto put = [&](size_t at, const auto& field) {
      std::memcpy(to + at, &field, sizeof field);
    };
    put(offsetof(Node, threshold), nodes[i].threshold);
    put(offsetof(Node, feature), nodes[i].feature);
    put(offsetof(Node, first), nodes[i].first);
    put(offsetof(Node, kind), nodes[i].kind);
  }
  return true;
}

} // namespace ortc::cpu
