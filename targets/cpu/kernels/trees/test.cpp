// SPDX-License-Identifier: Apache-2.0
//
// Sums of random trees against plain walks, equal to the last bit: every comparison, NaN, one and
// several targets, any number of rows, pitches, deep and empty trees, threads.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/trees/pack.h"
#include "targets/cpu/kernels/trees/trees.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Random {
  uint32_t seed;
  uint32_t next(uint32_t end) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % end;
  }
  float real() { return float(next(65)) / 16 - 2; } // few values: some are equal to thresholds
};

// Both zeros, infinities, numbers next to each other.
double threshold(Random& random) {
  const double special[] = {0.0,    -0.0,   INFINITY, -INFINITY, 1.0, std::nextafter(1.0f, 2.0f),
                            1e-45f, -1e-45f};
  return random.next(3) == 0 ? special[random.next(8)] : double(random.real());
}

struct Forest {
  std::vector<PlainNode> nodes;
  std::vector<int32_t> roots, leafBegin{0}, targets;
  std::vector<double> weights;

  // A node, or a leaf as -1 - its number.
  int32_t grow(Random& random, int depth, int features, int targetCount, bool one, bool chain) {
    if (depth == 0 || (!chain && random.next(6) == 0)) {
      const uint32_t entries = one ? 1 : random.next(4);
      for (uint32_t e = 0; e < entries; ++e) {
        targets.push_back(int32_t(random.next(uint32_t(targetCount))));
        weights.push_back(double(random.real()) / 3);
      }
      leafBegin.push_back(int32_t(targets.size()));
      return -int32_t(leafBegin.size()) + 1;
    }
    const auto at = nodes.size();
    nodes.push_back({Compare(random.next(4)), random.next(2) == 0,
                     int32_t(random.next(uint32_t(features))), threshold(random), 0, 0});
    const int32_t yes = grow(random, chain ? 0 : depth - 1, features, targetCount, one, chain);
    const int32_t no = grow(random, depth - 1, features, targetCount, one, chain);
    nodes[at].yes = yes, nodes[at].no = no;
    return int32_t(at);
  }
};

bool goes(const PlainNode& node, double x) {
  if (x != x) return node.nanGoesYes;
  switch (node.compare) {
  case Compare::LessEqual: return x <= node.threshold;
  case Compare::Less: return x < node.threshold;
  case Compare::GreaterEqual: return x >= node.threshold;
  default: return x > node.threshold;
  }
}

template <bool OneWeight, class In, class Out,
          class Link = std::conditional_t<sizeof(In) == 4, uint32_t, uint64_t>>
void check(int64_t rows, int trees, int depth, int targetCount, const executor& pool = serial(),
           bool chain = false) {
  INFO(rows << " rows, " << trees << " trees, " << targetCount << " targets");
  Random random{uint32_t(rows * 31 + trees)};
  const int features = 7;
  const int64_t xRow = features + 2, yRow = targetCount + 1;
  Forest f;
  for (int t = 0; t < trees; ++t)
    f.roots.push_back(
        f.grow(random, t % 5 == 4 ? 0 : depth, features, targetCount, OneWeight, chain));
  PackedTrees packed;
  const std::vector<double> leafWeights = OneWeight ? f.weights : std::vector<double>();
  REQUIRE(TreePacker<In, Link>(f.nodes, leafWeights, 1 << 20).pack(f.roots, packed));
  std::vector<In> x(size_t(rows * xRow));
  for (In& v : x)
    v = random.next(9) == 0 ? In(NAN) : In(threshold(random));
  std::vector<Out> y(size_t(rows * yRow), Out(77)), weights(f.weights.begin(), f.weights.end());
  TreesArgs<In, Out> a{};
  a.x = x.data(), a.xRow = xRow, a.keys = packed.keys.data();
  a.keyCount = int64_t(packed.keys.size());
  a.nodes = packed.nodes.data(), a.roots = packed.roots.data();
  a.leafBegin = f.leafBegin.data(), a.targets = f.targets.data(), a.weights = weights.data();
  a.y = y.data(), a.yRow = yRow, a.rows = rows, a.trees = trees, a.targetCount = targetCount;
  a.steps = packed.steps;
  ::ortc_rt::trees<OneWeight, Link>(a, Identity{}, pool);

  for (int64_t r = 0; r < rows; ++r) {
    std::vector<Out> expected(size_t(targetCount), Out(0));
    for (int32_t at : f.roots) {
      while (at >= 0) {
        const PlainNode& node = f.nodes[size_t(at)];
        at = goes(node, double(x[size_t(r * xRow + node.feature)])) ? node.yes : node.no;
      }
      for (int32_t e = f.leafBegin[size_t(-1 - at)]; e < f.leafBegin[size_t(-at)]; ++e)
        expected[size_t(f.targets[size_t(e)])] +=
            Out(OneWeight ? In(f.weights[size_t(e)]) : f.weights[size_t(e)]);
    }
    for (int t = 0; t < targetCount; ++t)
      REQUIRE(y[size_t(r * yRow + t)] == expected[size_t(t)]);
    REQUIRE(y[size_t(r * yRow + targetCount)] == Out(77));
  }
}

TEST_CASE("rows") {
  for (int64_t rows : {0, 1, 7, 8, 9, 64, 65, 150, 700}) {
    check<true, float, float>(rows, 13, 6, 1);
    check<false, float, float>(rows, 13, 6, 3);
  }
}

TEST_CASE("types, targets, and trees of any shape") {
  check<false, double, double>(70, 9, 5, 2);
  check<true, double, float>(70, 9, 5, 1);
  check<false, float, double>(70, 9, 5, 33);
  check<true, float, float, uint64_t>(70, 9, 5, 1);
  check<false, float, float, uint64_t>(70, 9, 5, 4);
  check<false, float, float>(70, 0, 5, 2);
  check<true, float, float>(70, 3, 0, 1);
  check<false, float, float>(70, 6, 90, 2, serial(), true);
}

TEST_CASE("any number of threads gives the same") {
  ThreadedPool two{2}, five{5};
  for (const executor& pool : {two.get(), five.get()})
    check<false, float, float>(1000, 40, 8, 3, pool);
}

TEST_CASE("links have room for so many keys") {
  std::vector<PlainNode> nodes;
  for (int32_t i = 0; i < 4096; ++i)
    nodes.push_back({Compare::Less, false, i, 0, -1, i + 1 < 4096 ? i + 1 : -2});
  PackedTrees packed;
  CHECK(TreePacker<float, uint32_t>(nodes, {}, 100000).pack({0}, packed));
  nodes.push_back({Compare::Less, true, 0, 0, -1, 0});
  CHECK(!TreePacker<float, uint32_t>(nodes, {}, 100000).pack({4096}, packed = {}));
  CHECK(TreePacker<float, uint64_t>(nodes, {}, 100000).pack({4096}, packed = {}));
}

TEST_CASE("what lies between the fields of a node is 0") {
  PackedTrees packed;
  const std::vector<PlainNode> nodes{{Compare::Less, false, 0, 1.5, -1, -2}};
  REQUIRE(TreePacker<float, uint64_t>(nodes, {2, 3}, 100).pack({0}, packed));
  for (size_t at = 0; at < packed.nodes.size(); at += 16)
    for (size_t i = 4; i < 8; ++i)
      CHECK(packed.nodes[at + i] == 0);
}

TEST_CASE("shared nodes are not copied without end") {
  std::vector<PlainNode> nodes;
  for (int32_t i = 0; i < 40; ++i)
    nodes.push_back({Compare::Less, false, 0, 0, i + 1, i + 1});
  nodes.push_back({Compare::Less, false, 0, 0, -1, -2});
  PackedTrees packed;
  CHECK(!TreePacker<float, uint32_t>(nodes, {}, 10000).pack({0}, packed));
}

} // namespace
