// SPDX-License-Identifier: Apache-2.0
//
// Speed of tree ensembles: full trees over random data. The figure is steps, 10^9 a second.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/trees/pack.h"
#include "targets/cpu/kernels/trees/trees.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

void add(Bench& bench, int64_t rows, int count, int depth, int64_t features) {
  std::vector<PlainNode> nodes;
  std::vector<int32_t> roots;
  const float* random = allocate(1 << 16);
  int32_t leaves = 0;
  for (int t = 0; t < count; ++t) {
    const auto begin = int32_t(nodes.size()), inner = (1 << depth) - 1;
    roots.push_back(begin);
    for (int32_t i = 0; i < inner; ++i) {
      const auto child = [&](int32_t c) { return c < inner ? begin + c : -1 - leaves++; };
      const int32_t yes = child(2 * i + 1), no = child(2 * i + 2);
      const size_t at = nodes.size() % (1 << 16);
      nodes.push_back({Compare::LessEqual, false, int32_t(at * 2654435761u % uint32_t(features)),
                       double(random[at]), yes, no});
    }
  }
  auto* packed = new PackedTrees; // for as long as the benchmark runs
  const std::vector<double> weights(size_t(leaves), 0.5);
  TreePacker<float, uint32_t>(nodes, weights, nodes.size() * 8).pack(roots, *packed);
  TreesArgs<float, float> a{};
  a.x = allocate(rows * features), a.xRow = features;
  a.keys = packed->keys.data(), a.keyCount = int64_t(packed->keys.size());
  a.nodes = packed->nodes.data(), a.roots = packed->roots.data();
  a.y = allocate(rows), a.yRow = 1;
  a.rows = rows, a.trees = count, a.targetCount = 1, a.steps = packed->steps;
  char name[100];
  std::snprintf(name, sizeof name, "%lld rows, %d trees of depth %d, %lld features",
                (long long)rows, count, depth, (long long)features);
  bench.add(name, double(rows) * double(packed->steps),
            [=] { trees<true, uint32_t>(a, Identity{}, serial()); });
}

} // namespace

int main() {
  Bench bench;
  for (int64_t rows : {1, 16, 1000}) {
    add(bench, rows, 100, 6, 20);
    add(bench, rows, 100, 10, 20);
    add(bench, rows, 500, 6, 100);
  }
  bench.run();
}
