// SPDX-License-Identifier: 0BSD
//
// Decision trees in f32: what the leaves that a row reaches add up to, per target.
//
//   trees_f32<Mode>(args, epilogue, threads)
//
// A step down a tree is a chain of three loads and a comparison, some twenty cycles in which little
// else happens; so several walks go on at once: rows of one tree, or trees of one row where there
// are few rows. Leaves are nodes whose children are themselves, so that a walk that has ended does
// no harm, and which child it takes is an address and no branch. All rows of a block take one tree
// after the other, which then lies in L1.
//
// Weights are added tree by tree, in order: the result is that of plain loops, bit by bit.
#ifndef ORTC_KERNELS_TREES_H
#define ORTC_KERNELS_TREES_H

#include "runtime_min/rt/pool.h"
#include "runtime_min/rt/simd.h"

#include <cstddef>
#include <cstring>

ORTC_RT_ISA_BEGIN

// How all nodes compare a feature with their threshold.
enum class TreeMode { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual };

// One node; inner ones come first.
struct TreeNode {
  int32_t feature;
  float threshold;
  int32_t children[2]; // where the comparison does not hold, and where it does
};

struct TreeArgs {
  const float* x;       // [rows][features]
  float* y;             // [rows][targets]
  const int32_t* nodes; // TreeNode[]
  const int32_t* roots; // [trees]
  // Entries [leafBegin[l], leafBegin[l + 1]) are those of leaf l, which is node inner + l.
  const int32_t* leafBegin;
  const int32_t* leafTargets;
  const float* leafWeights;
  int64_t rows, features, targets, trees, inner;
};

constexpr int kTreeWalks = 8;       // at once: 4 take a third longer, 16 a tenth (Zen 3)
constexpr int64_t kTreeBlock = 128; // rows that take a tree together

// `NanTrue`: a NaN takes the branch of those for which the comparison holds.
template <TreeMode Mode, bool NanTrue> ORTC_INLINE bool holds(float x, float threshold) {
  bool r = false;
  if constexpr (Mode == TreeMode::LessEqual) r = x <= threshold;
  if constexpr (Mode == TreeMode::Less) r = x < threshold;
  if constexpr (Mode == TreeMode::GreaterEqual) r = x >= threshold;
  if constexpr (Mode == TreeMode::Greater) r = x > threshold;
  if constexpr (Mode == TreeMode::Equal) r = x == threshold;
  if constexpr (Mode == TreeMode::NotEqual) r = x != threshold;
  if constexpr (NanTrue) r |= x != x;
  return r;
}

// From nodes at[] to the leaves that rows[] reach.
template <TreeMode Mode, bool NanTrue>
ORTC_INLINE void walkTrees(const TreeArgs& a, const float* const* rows, int64_t* at) {
  const char* const nodes = reinterpret_cast<const char*>(a.nodes);
  for (;;) {
    bool inside = false;
#pragma GCC unroll 16
    for (int w = 0; w < kTreeWalks; ++w)
      inside |= at[w] < a.inner;
    if (!inside) return;
#pragma GCC unroll 16
    for (int w = 0; w < kTreeWalks; ++w) {
      const char* const node = nodes + at[w] * int64_t(sizeof(TreeNode));
      int32_t feature, next;
      float threshold;
      std::memcpy(&feature, node + offsetof(TreeNode, feature), 4);
      std::memcpy(&threshold, node + offsetof(TreeNode, threshold), 4);
      const int64_t child = holds<Mode, NanTrue>(rows[w][feature], threshold);
      std::memcpy(&next, node + offsetof(TreeNode, children) + child * 4, 4);
      at[w] = next;
    }
  }
}

ORTC_INLINE void addLeaf(const TreeArgs& a, int64_t node, float* y) {
  const int64_t leaf = node - a.inner;
  for (int64_t e = a.leafBegin[leaf]; e < a.leafBegin[leaf + 1]; ++e)
    y[a.leafTargets[e]] += a.leafWeights[e];
}

template <TreeMode Mode, bool NanTrue = false, class Epilogue>
ORTC_NOINLINE void trees_f32(const TreeArgs& a, const Epilogue&, const executor& threads) {
  const int64_t blocks = (a.rows + kTreeBlock - 1) / kTreeBlock;
  parallel_for(threads, blocks, [&](int64_t block) {
    const int64_t begin = block * kTreeBlock;
    const int64_t count = a.rows - begin < kTreeBlock ? a.rows - begin : kTreeBlock;
    const float* const x = a.x + begin * a.features;
    float* const y = a.y + begin * a.targets;
    for (int64_t i = 0; i < count * a.targets; ++i)
      y[i] = 0.0f;
    const float* rows[kTreeWalks];
    int64_t at[kTreeWalks];
    if (count < kTreeWalks / 2) {
      for (int64_t r = 0; r < count; ++r)
        for (int64_t t = 0; t < a.trees; t += kTreeWalks) {
          for (int64_t w = 0; w < kTreeWalks; ++w) {
            rows[w] = x + r * a.features;
            at[w] = a.roots[t + w < a.trees ? t + w : t];
          }
          walkTrees<Mode, NanTrue>(a, rows, at);
          for (int64_t w = 0; w < kTreeWalks && t + w < a.trees; ++w)
            addLeaf(a, at[w], y + r * a.targets);
        }
      return;
    }
    for (int64_t t = 0; t < a.trees; ++t)
      for (int64_t r = 0; r < count; r += kTreeWalks) {
        for (int64_t w = 0; w < kTreeWalks; ++w) {
          rows[w] = x + (r + w < count ? r + w : r) * a.features;
          at[w] = a.roots[t];
        }
        walkTrees<Mode, NanTrue>(a, rows, at);
        for (int64_t w = 0; w < kTreeWalks && r + w < count; ++w)
          addLeaf(a, at[w], y + (r + w) * a.targets);
      }
  });
}

ORTC_RT_ISA_END

#endif
