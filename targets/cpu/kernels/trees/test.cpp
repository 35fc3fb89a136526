// SPDX-License-Identifier: Apache-2.0
//
// Decision trees against a walk one by one: all comparisons, NaN, few and many rows, leaves of
// several targets, trees that are only a leaf, and memory that ends in an unmapped page.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/trees/pack.h"
#include "targets/cpu/kernels/trees/trees.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Plain {};

/// Random trees, as the compiler's tables have them.
struct Forest {
  std::vector<int32_t> features, yes, no, roots, leafBegin{0}, targets;
  std::vector<float> thresholds, weights;
  uint32_t seed = 1;

  uint32_t next(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
  }
  int32_t leaf(int64_t targetCount) {
    for (uint32_t n = next(3); n-- > 0;) {
      targets.push_back(int32_t(next(uint32_t(targetCount))));
      weights.push_back(float(next(2000)) / 777 - 1);
    }
    leafBegin.push_back(int32_t(targets.size()));
    return -int32_t(leafBegin.size() - 1);
  }
  int32_t grow(int depth, int64_t featureCount, int64_t targetCount) {
    if (depth == 0 || next(6) == 0) return leaf(targetCount);
    const auto node = size_t(features.size());
    features.push_back(int32_t(next(uint32_t(featureCount))));
    thresholds.push_back(float(next(5)) / 4 - 0.5f);
    yes.push_back(0), no.push_back(0);
    const int32_t a = grow(depth - 1, featureCount, targetCount);
    const int32_t b = grow(depth - 1, featureCount, targetCount);
    yes[node] = a, no[node] = b;
    return int32_t(node);
  }
};

template <TreeMode Mode, bool NanTrue>
void check(int64_t rows, int64_t features, int64_t targets, int64_t trees, int depth,
           const executor& threads = serial()) {
  Forest f;
  f.seed = uint32_t(rows * 31 + trees);
  for (int64_t t = 0; t < trees; ++t)
    f.roots.push_back(f.grow(depth, features, targets));
  const auto inner = int64_t(f.features.size()), leaves = int64_t(f.leafBegin.size()) - 1;
  Guarded nodes(4 * (inner + leaves)), x(rows * features), y(rows * targets);
  packTrees(f.features.data(), f.thresholds.data(), f.yes.data(), f.no.data(), inner, leaves,
            reinterpret_cast<int32_t*>(nodes.data()));
  for (float& v : x)
    v = f.next(9) == 0 ? NAN : float(f.next(9)) / 8 - 0.5f; // often equal to a threshold
  std::vector<int32_t> roots;
  for (int32_t r : f.roots)
    roots.push_back(r >= 0 ? r : int32_t(inner - 1 - r));
  y.fill(77.0f);
  TreeArgs a = {};
  a.x = x.data(), a.y = y.data(), a.nodes = reinterpret_cast<const int32_t*>(nodes.data());
  a.roots = roots.data(), a.leafBegin = f.leafBegin.data(), a.leafTargets = f.targets.data();
  a.leafWeights = f.weights.data(), a.rows = rows, a.features = features, a.targets = targets;
  a.trees = trees, a.inner = inner;
  trees_f32<Mode, NanTrue>(a, Plain{}, threads);

  for (int64_t r = 0; r < rows; ++r) {
    std::vector<float> sums(size_t(targets), 0.0f);
    for (int32_t at : f.roots) {
      while (at >= 0) {
        const float v = x[r * features + f.features[size_t(at)]], t = f.thresholds[size_t(at)];
        bool go = false;
        switch (Mode) {
        case TreeMode::LessEqual: go = v <= t; break;
        case TreeMode::Less: go = v < t; break;
        case TreeMode::GreaterEqual: go = v >= t; break;
        case TreeMode::Greater: go = v > t; break;
        case TreeMode::Equal: go = v == t; break;
        case TreeMode::NotEqual: go = v != t; break;
        }
        if (NanTrue && std::isnan(v)) go = true;
        at = go ? f.yes[size_t(at)] : f.no[size_t(at)];
      }
      for (int32_t e = f.leafBegin[size_t(-1 - at)]; e < f.leafBegin[size_t(-at)]; ++e)
        sums[size_t(f.targets[size_t(e)])] += f.weights[size_t(e)];
    }
    for (int64_t t = 0; t < targets; ++t) {
      INFO("row " << r << " of " << rows << ", target " << t << ", " << trees << " trees");
      REQUIRE(y[r * targets + t] == sums[size_t(t)]); // the same bits
    }
  }
}

template <TreeMode Mode, bool NanTrue> void checkMode() {
  for (int64_t rows : {1, 2, 3, 4, 7, 8, 9, 127, 128, 129, 131, 300})
    check<Mode, NanTrue>(rows, 5, 3, 13, 6);
  check<Mode, NanTrue>(1, 1, 1, 1, 0);
  check<Mode, NanTrue>(5, 4, 2, 9, 1);
  check<Mode, NanTrue>(0, 4, 2, 9, 3);
  check<Mode, NanTrue>(20, 30, 1, 8, 11);
}

TEST_CASE("trees") {
  checkMode<TreeMode::LessEqual, false>();
  checkMode<TreeMode::LessEqual, true>();
  checkMode<TreeMode::Less, true>();
  checkMode<TreeMode::GreaterEqual, false>();
  checkMode<TreeMode::Greater, true>();
  checkMode<TreeMode::Equal, false>();
  checkMode<TreeMode::NotEqual, false>();
}

TEST_CASE("any number of threads") {
  for (int count : {2, 5}) {
    ThreadedPool pool{count};
    check<TreeMode::LessEqual, false>(1000, 20, 3, 40, 7, pool.get());
  }
}

} // namespace
