// SPDX-License-Identifier: Apache-2.0
//
// Speed of decision trees: balanced ones with random thresholds. "Operations" are steps of a walk.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/trees/trees.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Plain {};

void add(Bench& bench, int64_t rows, int64_t trees, int depth) {
  constexpr int64_t kFeatures = 20;
  const int64_t perTree = (int64_t(1) << depth) - 1, inner = trees * perTree;
  const int64_t leavesPerTree = perTree + 1, leaves = trees * leavesPerTree;
  auto* nodes = new TreeNode[size_t(inner + leaves)];
  auto *roots = new int32_t[size_t(trees)], *begin = new int32_t[size_t(leaves + 1)],
       *targets = new int32_t[size_t(leaves)]();
  float *noise = allocate(inner), *weights = allocate(leaves);
  for (int64_t t = 0; t < trees; ++t) {
    roots[t] = int32_t(t * perTree);
    for (int64_t i = 0; i < perTree; ++i) {
      TreeNode& n = nodes[t * perTree + i];
      n.feature = int32_t(uint32_t(i * 7919 + t * 104729) % kFeatures);
      n.threshold = noise[t * perTree + i];
      for (int64_t c : {0, 1}) {
        const int64_t child = 2 * i + 1 + c;
        n.children[c] = child < perTree ? int32_t(t * perTree + child)
                                        : int32_t(inner + t * leavesPerTree + child - perTree);
      }
    }
  }
  for (int64_t l = 0; l < leaves; ++l)
    nodes[inner + l] = {0, 0, {int32_t(inner + l), int32_t(inner + l)}}, begin[l] = int32_t(l);
  begin[leaves] = int32_t(leaves);
  TreeArgs a = {};
  a.x = allocate(rows * kFeatures), a.y = allocate(rows);
  a.nodes = reinterpret_cast<const int32_t*>(nodes), a.roots = roots, a.leafBegin = begin;
  a.leafTargets = targets, a.leafWeights = weights;
  a.rows = rows, a.features = kFeatures, a.targets = 1, a.trees = trees, a.inner = inner;
  char name[100];
  std::snprintf(name, sizeof name, "%lld rows, %lld trees of depth %d", (long long)rows,
                (long long)trees, depth);
  bench.add(name, double(rows * trees * depth),
            [=] { trees_f32<TreeMode::LessEqual>(a, Plain{}, serial()); });
}

} // namespace

int main() {
  Bench bench;
  for (int64_t rows : {1, 1000}) {
    add(bench, rows, 100, 6);
    add(bench, rows, 100, 8);
    add(bench, rows, 500, 6);
  }
  bench.run();
}
