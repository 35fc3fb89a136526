// SPDX-License-Identifier: 0BSD
//
// Decision trees: what the leaves that a row reaches add up to, per target.
//
//   trees<OneWeight, Link>(args, epilogue, threads)
//
// A step from a node to its child waits for two loads and a comparison, and where it leads is hard
// to predict: rows walk a tree eight at a time, without branches, and the walks of a single row
// are those of eight trees. The children of a node lie side by side, and a leaf is its own child,
// so that all walks take as many steps. Nodes are small, and two generations share a cache line.
//
// All comparisons are one: features become integers that are ordered as the floats are, with NaN
// below or above all others (as the node wants it), and a node asks whether one is at most its
// threshold. Weights are added in the order of trees, as a plain loop does it.
#ifndef ORTC_KERNELS_TREES_H
#define ORTC_KERNELS_TREES_H

#include "targets/cpu/kernels/tile/tile.h"

ORTC_RT_ISA_BEGIN

template <class In> using SortKey = int_of<In>;

// Ordered as `x` is; both zeros are equal. NaN is below or above all others.
template <class In> ORTC_INLINE SortKey<In> sortKey(In x, bool nanFirst) {
  using K = SortKey<In>;
  constexpr K most = sizeof(K) == 4 ? K(INT32_MAX) : K(INT64_MAX);
  if (x != x) return nanFirst ? -most : most;
  const K bits = bits_as<K>(x + In(0)); // -0 becomes 0
  return bits ^ (bits >> (8 * sizeof(K) - 1) & most);
}

// A row goes to a node's first child when its key is at most the threshold, else to the one behind
// it. `Link` is uint32_t or uint64_t, and holds, from below: is it a node and no leaf, a bit of 0,
// the key, and how many nodes further the first child is (a leaf: 0). Leaves have their weight, as
// bits, or their number in place of the threshold.
template <class In, class Link> struct TreeNode {
  SortKey<In> threshold;
  Link link;
};
template <class Link> constexpr int kKeyBits = sizeof(Link) == 4 ? 12 : 31;
template <class Link> constexpr int kChildBits = sizeof(Link) == 4 ? 18 : 31;

struct TreeRoot {
  int32_t node, depth; // depth: the most steps that a walk takes
};

template <class In, class Out> struct TreesArgs {
  const In* x; // [rows][features], rows xRow apart
  int64_t xRow;
  const int32_t* keys;      // what each key is: 2 * feature + 1 when NaN is below all others
  const int8_t* nodes;      // TreeNode<In, Link>
  const int32_t* roots;     // TreeRoot, `trees` of them
  const int32_t* leafBegin; // the weights of leaf l: [leafBegin[l], leafBegin[l + 1])
  const int32_t* targets;   // of each weight
  const Out* weights;
  Out* y; // [rows][targetCount], rows yRow apart
  int64_t yRow;
  int64_t rows, keyCount, trees, targetCount;
  int64_t steps; // of all trees together, for one row
};

constexpr int kWalks = 8;
// Keys of the rows that walk together lie on the stack.
constexpr int64_t kTreeKeyBytes = 32768;

// Walk i goes from at[i] down to a leaf. Keys lie as [keyCount][Stride], those of walk i at i; with
// a stride of 1 all walks are of one row.
template <int Stride, class In, class Link>
ORTC_INLINE void walkTrees(const SortKey<In>* keys, int64_t depth, const TreeNode<In, Link>** at) {
  const auto step = [&](int i) __attribute__((always_inline)) {
    const TreeNode<In, Link>& node = *at[i];
    const Link link = node.link;
    // Four times the key's number, as it lies in the link.
    const Link four = link & (((Link(1) << kKeyBits<Link>)-1) << 2);
    constexpr int64_t quarter = Stride * int64_t(sizeof(SortKey<In>)) / 4;
    SortKey<In> key;
    __builtin_memcpy(
        &key, reinterpret_cast<const char*>(keys + (Stride > 1 ? i : 0)) + int64_t(four) * quarter,
        sizeof key);
    at[i] += (link >> (2 + kKeyBits<Link>)) + (link & Link(key > node.threshold));
  };
  for (int64_t d = 0; d < depth; ++d) {
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i)
      step(i);
    if (d % 2 == 0) continue; // a look now and then whether all have arrived
    Link inside = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kWalks; ++i)
      inside |= at[i]->link;
    if (!(inside & 1)) break;
  }
}

// Adds the weights of a leaf to the scores of a row.
template <bool OneWeight, class In, class Link, class Out>
ORTC_INLINE void addLeaf(const TreesArgs<In, Out>& a, const TreeNode<In, Link>& leaf, Out* y) {
  if constexpr (OneWeight) {
    y[0] += Out(bits_as<In>(leaf.threshold));
  } else {
    const auto number = leaf.threshold;
    for (int32_t e = a.leafBegin[number]; e < a.leafBegin[number + 1]; ++e)
      y[a.targets[e]] += a.weights[e];
  }
}

// The keys of row r, `stride` apart.
template <class In, class Out>
ORTC_INLINE void writeKeys(const TreesArgs<In, Out>& a, int64_t r, SortKey<In>* to,
                           int64_t stride) {
  const In* x = a.x + r * a.xRow;
  for (int64_t k = 0; k < a.keyCount; ++k)
    to[k * stride] = sortKey(x[a.keys[k] >> 1], a.keys[k] & 1);
}

// OneWeight: there is one target, and each leaf has a weight for it.
template <bool OneWeight, class Link, class In, class Out, class Epilogue>
ORTC_NOINLINE void trees(const TreesArgs<In, Out>& a, const Epilogue& epilogue,
                         const executor& threads) {
  using V = native<Out>;
  using Node = TreeNode<In, Link>;
  const auto* nodes = reinterpret_cast<const Node*>(a.nodes);
  const auto* roots = reinterpret_cast<const TreeRoot*>(a.roots);
  // A tree is used for as many rows as stay in the L1 cache beside it: half of it, but eight.
  const int64_t rowBytes = (a.keyCount + 1) * int64_t(sizeof(SortKey<In>));
  const int64_t fitting = kTreeKeyBytes / 2 / rowBytes / kWalks * kWalks;
  const int64_t tileRows = fitting < kWalks ? kWalks : fitting > 256 ? 256 : fitting;
  const int64_t tiles = (a.rows + tileRows - 1) / tileRows;
  // Waking the workers takes as long as some thousand steps.
  const int64_t tilesOfTask = 20000 / (tileRows * a.steps + 1) + 1;
  parallel_ranges(threads, tiles, tilesOfTask, [&](int64_t tile0, int64_t tile1) {
    alignas(64) SortKey<In> keys[kTreeKeyBytes / int64_t(sizeof(SortKey<In>))];
    const int64_t end = tile1 * tileRows < a.rows ? tile1 * tileRows : a.rows;
    for (int64_t row0 = tile0 * tileRows; row0 < end; row0 += tileRows) {
      const int64_t row1 = end - row0 < tileRows ? end : row0 + tileRows;
      const int64_t together = (row1 - row0) / kWalks * kWalks; // eight by eight
      for (int64_t r = row0; r < row1; ++r)
        for (int64_t t = 0; t < a.targetCount; ++t)
          a.y[r * a.yRow + t] = Out(0);
      for (int64_t r = 0; r < together; ++r)
        writeKeys(a, row0 + r, keys + r / kWalks * kWalks * a.keyCount + r % kWalks, kWalks);
      const Node* at[kWalks];
      for (int64_t tree = 0; tree < a.trees; ++tree)
        for (int64_t r = 0; r < together; r += kWalks) {
          for (int i = 0; i < kWalks; ++i)
            at[i] = nodes + roots[tree].node;
          walkTrees<kWalks, In>(keys + r * a.keyCount, roots[tree].depth, at);
          for (int i = 0; i < kWalks; ++i)
            addLeaf<OneWeight>(a, *at[i], a.y + (row0 + r + i) * a.yRow);
        }
      for (int64_t r = row0 + together; r < row1; ++r) {
        writeKeys(a, r, keys, 1);
        for (int64_t tree = 0; tree < a.trees; tree += kWalks) {
          const int64_t some = a.trees - tree < kWalks ? a.trees - tree : kWalks;
          int64_t depth = 0;
          for (int64_t i = 0; i < kWalks; ++i) { // the last one again, where there are fewer
            const TreeRoot& root = roots[tree + (i < some ? i : some - 1)];
            at[i] = nodes + root.node;
            if (root.depth > depth) depth = root.depth;
          }
          walkTrees<1, In>(keys, depth, at);
          for (int64_t i = 0; i < some; ++i)
            addLeaf<OneWeight>(a, *at[i], a.y + r * a.yRow);
        }
      }
      for (int64_t r = row0; r < row1; ++r)
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
