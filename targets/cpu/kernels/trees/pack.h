// SPDX-License-Identifier: 0BSD
// Tables of ortc.tree_ensemble as nodes of trees.h.
#ifndef ORTC_KERNELS_TREES_PACK_H
#define ORTC_KERNELS_TREES_PACK_H

#include <cstdint>
#include <cstring>

namespace ortc::cpu {

// Children c >= 0 are nodes, c < 0 is leaf -1 - c, which becomes node inner - 1 - c. `out` has
// 4 * (inner + leaves) numbers.
inline void packTrees(const int32_t* features, const float* thresholds, const int32_t* yes,
                      const int32_t* no, int64_t inner, int64_t leaves, int32_t* out) {
  const auto node = [&](int32_t child) { return child >= 0 ? child : int32_t(inner - 1 - child); };
  for (int64_t i = 0; i < inner; ++i, out += 4) {
    out[0] = features[i];
    std::memcpy(out + 1, thresholds + i, 4);
    out[2] = node(no[i]), out[3] = node(yes[i]);
  }
  for (int64_t l = 0; l < leaves; ++l, out += 4)
    out[0] = out[1] = 0, out[2] = out[3] = int32_t(inner + l);
}

} // namespace ortc::cpu

#endif
