// SPDX-License-Identifier: 0BSD
//
// Packing of decision trees for trees.h. Plain C++ without vectors: the compiler calls it on
// constant tables, and no bundle contains it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace ortc::cpu {

// How a node compares a feature with its threshold, to go to `yes`.
enum class Compare { LessEqual, Less, GreaterEqual, Greater };

// A node of a tree, before packing: children c >= 0 are nodes, and c < 0 is leaf -1 - c.
struct PlainNode {
  Compare compare;
  bool nanGoesYes;
  int32_t feature;
  double threshold; // no NaN
  int32_t yes, no;
};

struct PackedTrees {
  std::vector<int8_t> nodes;  // TreeNode<In, Link> of trees.h
  std::vector<int32_t> roots; // node, depth
  std::vector<int32_t> keys;  // 2 * feature + 1 when NaN is below all others
  int64_t steps = 0;          // of all trees together
};

// `weights`: of each leaf, which nodes hold then; empty: they hold the leaf's number. False when a
// link has too few bits (trees.h), or when trees share so many nodes that they would become more
// than `mostNodes`.
template <class In, class Link> class TreePacker {
public:
  TreePacker(const std::vector<PlainNode>& plain, const std::vector<double>& weights,
             size_t mostNodes)
      : plain(plain), weights(weights), mostNodes(mostNodes) {
    for (const PlainNode& node : plain)
      keys.push_back(keyOf(node));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }

  bool pack(const std::vector<int32_t>& roots, PackedTrees& packed) {
    for (int32_t root : roots) {
      depth = 0;
      const size_t at = reserve(1);
      std::vector<Open> open{{root, 0, at}};
      // Two generations side by side, then what hangs on them.
      while (!open.empty()) {
        const Open block = open.back();
        open.pop_back();
        std::vector<Open> children = fill(block, /*pairs=*/3);
        for (const Open& child : children)
          for (const Open& grandchild : fill(child, 1))
            open.push_back(grandchild);
        if (failed) return false;
      }
      packed.roots.push_back(static_cast<int32_t>(at));
      packed.roots.push_back(depth);
      packed.steps += depth;
    }
    packed.keys = keys;
    packed.nodes.resize(nodes.size() * sizeof(Node));
    if (!nodes.empty()) std::memcpy(packed.nodes.data(), nodes.data(), packed.nodes.size());
    return true;
  }

private:
  using Key = std::conditional_t<sizeof(In) == 4, int32_t, int64_t>;
  struct Node { // as TreeNode<In, Link>
    Key threshold;
    Link link;
  };
  struct Open {
    int32_t plain, level;
    size_t at; // where it is to be written
  };
  static constexpr int keyBits = sizeof(Link) == 4 ? 12 : 31;
  static constexpr int childBits = sizeof(Link) == 4 ? 18 : 31;

  // x >= t is "not x < t", and x > t is "not x <= t": the children change places.
  static bool isSwapped(const PlainNode& node) {
    return node.compare == Compare::GreaterEqual || node.compare == Compare::Greater;
  }
  static int32_t keyOf(const PlainNode& node) {
    return 2 * node.feature + (node.nanGoesYes != isSwapped(node));
  }
  // As sortKey of trees.h; x < t is "key of x at most key of t less 1".
  static Key thresholdOf(const PlainNode& node) {
    const In t = static_cast<In>(node.threshold) + In(0);
    Key bits;
    std::memcpy(&bits, &t, sizeof bits);
    if (bits < 0) bits ^= std::numeric_limits<Key>::max();
    return bits - (node.compare == Compare::Less || node.compare == Compare::GreaterEqual);
  }

  size_t reserve(size_t count) {
    const size_t at = nodes.size();
    Node none;
    std::memset(&none, 0, sizeof none);
    nodes.resize(at + count, none);
    failed |= nodes.size() > mostNodes;
    return at;
  }

  // Writes a node or a leaf; its children get a place, where so many pairs follow each other.
  std::vector<Open> fill(const Open& o, size_t pairs) {
    depth = std::max(depth, o.level);
    if (o.plain < 0) {
      const int32_t leaf = -1 - o.plain;
      nodes[o.at].threshold = leaf;
      if (!weights.empty()) {
        const auto weight = static_cast<In>(weights[static_cast<size_t>(leaf)]);
        std::memcpy(&nodes[o.at].threshold, &weight, sizeof weight);
      }
      return {};
    }
    const PlainNode& from = plain[static_cast<size_t>(o.plain)];
    // A line of the cache is 64 bytes.
    constexpr size_t line = 64 / sizeof(Node);
    if (const size_t used = nodes.size() % line; used && used + 2 * pairs > line)
      reserve(line - used);
    const size_t first = reserve(2), distance = first - o.at;
    const auto key = static_cast<uint64_t>(std::lower_bound(keys.begin(), keys.end(), keyOf(from)) -
                                           keys.begin());
    failed |= distance >> childBits || key >> keyBits;
    // Field by field: what lies between them stays 0, and the bytes are always the same.
    nodes[o.at].threshold = thresholdOf(from);
    nodes[o.at].link =
        Link(1) | static_cast<Link>(key) << 2 | static_cast<Link>(distance) << (2 + keyBits);
    const bool swapped = isSwapped(from);
    return {{swapped ? from.no : from.yes, o.level + 1, first},
            {swapped ? from.yes : from.no, o.level + 1, first + 1}};
  }

  const std::vector<PlainNode>& plain;
  const std::vector<double>& weights;
  size_t mostNodes;
  std::vector<int32_t> keys;
  std::vector<Node> nodes;
  int32_t depth = 0;
  bool failed = false;
};

} // namespace ortc::cpu
