// SPDX-License-Identifier: 0BSD
//
// Decision trees: what the leaves that a row reaches add up to, per target.
//
//   trees<Compare, Nan, OneWeight, Link>(args, epilogue, threads)
//
// A step from a node to its child waits for two loads and a comparison, and where it leads is hard
// to predict: rows walk a tree eight at a time, without branches, and the walks of a single row
// are those of eight trees. The children of a node lie side by side, and a leaf is its own child,
// so that all walks take as many steps. Nodes are small, and two generations share a cache line:
// the walks of one row are waiting for memory most of the time. Weights are added in the order of
// trees, as a plain loop does it.
#ifndef ORTC_KERNELS_TREES_H
#define ORTC_KERNELS_TREES_H

#include "targets/cpu/kernels/tile/tile.h"

ORTC_RT_ISA_BEGIN

// A row goes to a node's first child when its feature compares with the threshold, else to the one
// behind it. Leaves have the number of the leaf in place of the threshold, or its weight. `Link` is
// uint32_t or uint64_t, and holds, from below: is it a node and no leaf, does NaN go to the first
// child, the feature, and how many nodes further the first child is (a leaf: 0).
template <class In, class Link> struct TreeNode {
  In threshold;
  Link link;
};
template <class Link> constexpr int kFeatureBits = sizeof(Link) == 4 ? 12 : 31;
template <class Link> constexpr int kChildBits = sizeof(Link) == 4 ? 18 : 31;

struct TreeRoot {
  int32_t node, depth; // depth: the most steps that a walk takes
};

// What sends a row to the first child.
enum class Compare { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual };
// And NaN: nowhere but where the comparison says, to the first child, or as the node says.
enum class Nan { Compares, GoesFirst, ByNode };

template <class In, class Out> struct TreesArgs {
  const In* x; // [rows][features], rows xRow apart
  int64_t xRow;
  const int8_t* nodes;      // TreeNode<In, Link>
  const int32_t* roots;     // TreeRoot, `trees` of them
  const int32_t* leafBegin; // the weights of leaf l: [leafBegin[l], leafBegin[l + 1])
  const int32_t* targets;   // of each weight
  const Out* weights;
  Out* y; // [rows][targetCount], rows yRow apart
  int64_t yRow;
  int64_t rows, trees, targetCount;
  int64_t steps; // of all trees together, for one row
};

constexpr int kWalks = 8;

// Where a row goes from node `at`.
template <Compare C, Nan N, class In, class Link>
ORTC_INLINE int32_t nextNode(const TreeNode<In, Link>* nodes, int32_t at, const In* row) {
  const TreeNode<In, Link> node = nodes[at];
  const In x = row[node.link >> 2 & ((Link(1) << kFeatureBits<Link>)-1)];
  bool first = C == Compare::LessEqual      ? x <= node.threshold
               : C == Compare::Less         ? x < node.threshold
               : C == Compare::GreaterEqual ? x >= node.threshold
               : C == Compare::Greater      ? x > node.threshold
               : C == Compare::Equal        ? x == node.threshold
                                            : x != node.threshold;
  if constexpr (N == Nan::GoesFirst) first |= x != x;
  if constexpr (N == Nan::ByNode) first |= (x != x) & bool(node.link & 2);
  const auto child = int32_t(node.link >> (2 + kFeatureBits<Link>));
  return at + child + int32_t(node.link & Link(!first));
}

// Walk i goes from node at[i] down with rows[i]; at[i] is a leaf in the end.
template <Compare C, Nan N, class In, class Link>
ORTC_INLINE void walkTrees(const TreeNode<In, Link>* nodes, const In* const* rows, int64_t depth,
                           int32_t* at) {
  for (int64_t d = 0; d < depth; ++d) {
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i)
      at[i] = nextNode<C, N>(nodes, at[i], rows[i]);
    if (d % 2 == 0) continue; // a look now and then whether all have arrived
    Link inside = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i)
      inside |= nodes[at[i]].link;
    if (!(inside & 1)) break;
  }
}

// Adds the weights of a leaf to the scores of a row.
template <bool OneWeight, class In, class Link, class Out>
ORTC_INLINE void addLeaf(const TreesArgs<In, Out>& a, const TreeNode<In, Link>& leaf, Out* y) {
  if constexpr (OneWeight) {
    y[0] += Out(leaf.threshold);
  } else {
    int32_t number = 0;
    __builtin_memcpy(&number, &leaf.threshold, sizeof number);
    for (int32_t e = a.leafBegin[number]; e < a.leafBegin[number + 1]; ++e)
      y[a.targets[e]] += a.weights[e];
  }
}

// OneWeight: there is one target, and each leaf has a weight for it.
template <Compare C, Nan N, bool OneWeight, class Link, class In, class Out, class Epilogue>
ORTC_NOINLINE void trees(const TreesArgs<In, Out>& a, const Epilogue& epilogue,
                         const executor& threads) {
  using V = native<Out>;
  const auto* nodes = reinterpret_cast<const TreeNode<In, Link>*>(a.nodes);
  const auto* roots = reinterpret_cast<const TreeRoot*>(a.roots);
  // A tree is used for as many rows as stay in the L1 cache beside it: 16 KB.
  const int64_t fitting = 4096 / (a.xRow + 1), most = fitting > 256 ? 256 : fitting;
  const int64_t tileRows = most < 2 * kWalks ? 2 * kWalks : most / kWalks * kWalks;
  const int64_t tiles = (a.rows + tileRows - 1) / tileRows;
  // Waking the workers takes as long as some thousand steps.
  const int64_t tilesOfTask = 20000 / (tileRows * a.steps + 1) + 1;
  parallel_ranges(threads, tiles, tilesOfTask, [&](int64_t tile0, int64_t tile1) {
    const int64_t end = tile1 * tileRows < a.rows ? tile1 * tileRows : a.rows;
    for (int64_t row0 = tile0 * tileRows; row0 < end; row0 += tileRows) {
      const int64_t count = end - row0 < tileRows ? end - row0 : tileRows;
      for (int64_t r = row0; r < row0 + count; ++r)
        for (int64_t t = 0; t < a.targetCount; ++t)
          a.y[r * a.yRow + t] = Out(0);
      const int64_t together = count / kWalks * kWalks;
      const In* rows[kWalks];
      int32_t at[kWalks];
      for (int64_t tree = 0; tree < a.trees; ++tree)
        for (int64_t r = row0; r < row0 + together; r += kWalks) {
          for (int i = 0; i < kWalks; ++i)
            rows[i] = a.x + (r + i) * a.xRow, at[i] = roots[tree].node;
          walkTrees<C, N>(nodes, rows, roots[tree].depth, at);
          for (int i = 0; i < kWalks; ++i)
            addLeaf<OneWeight>(a, nodes[at[i]], a.y + (r + i) * a.yRow);
        }
      for (int64_t r = row0 + together; r < row0 + count; ++r) {
        for (int i = 0; i < kWalks; ++i)
          rows[i] = a.x + r * a.xRow;
        for (int64_t tree = 0; tree < a.trees; tree += kWalks) {
          const int64_t some = a.trees - tree < kWalks ? a.trees - tree : kWalks;
          int64_t depth = 0;
          for (int64_t i = 0; i < kWalks; ++i) { // the last one again, where there are fewer
            const TreeRoot& root = roots[tree + (i < some ? i : some - 1)];
            at[i] = root.node;
            if (root.depth > depth) depth = root.depth;
          }
          walkTrees<C, N>(nodes, rows, depth, at);
          for (int64_t i = 0; i < some; ++i)
            addLeaf<OneWeight>(a, nodes[at[i]], a.y + r * a.yRow);
        }
      }
      for (int64_t r = row0; r < row0 + count; ++r)
        for (int64_t t = 0; t < a.targetCount; t += lanes_of<V>) {
          const int64_t left = a.targetCount - t;
          const int lanes = left < lanes_of<V> ? int(left) : lanes_of<V>;
          Out* y = a.y + r * a.yRow + t;
          store_n<V>(y, epilogue(load_lanes<V>(y, lanes), r, t, lanes), lanes);
        }
    }
  });
}

ORTC_RT_ISA_END

#endif
