// SPDX-License-Identifier: 0BSD
//
// Packing of the weights for conv8.h. Plain C++ without vectors: the compiler calls it on constant
// weights, and no bundle contains it.
#pragma once

#include "targets/cpu/kernels/gemm8/pack.h"

#include <vector>

namespace ortc::cpu {

inline int64_t packedConv8Bytes(int64_t OC, int64_t IC, int64_t taps, int64_t groups, int NR,
                                int group) {
  return groups * packedGemm8Bytes(taps * IC, OC, NR, group);
}

// From ONNX's s8 [groups * OC][IC][taps]; IC and OC are those of one group. `group` and `flipped`
// are those of packGemm8.
inline void packConv8(const int8_t* w, int64_t OC, int64_t IC, int64_t taps, int64_t groups, int NR,
                      int group, bool flipped, int8_t* packed) {
  std::vector<int8_t> matrix(static_cast<size_t>(OC * IC * taps)); // [OC][taps][IC]
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t o = 0; o < OC; ++o)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < IC; ++c)
          matrix[static_cast<size_t>((o * taps + t) * IC + c)] = w[(o * IC + c) * taps + t];
    packGemm8(matrix.data(), taps * IC, OC, 1, taps * IC, NR, group, flipped, packed);
    w += OC * IC * taps;
    packed += packedGemm8Bytes(taps * IC, OC, NR, group);
  }
}

// Of a depthwise convolution: [taps][C] from [C][1][taps].
inline void packDepthwise8(const int8_t* w, int64_t C, int64_t taps, int8_t* packed) {
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < C; ++c)
      *packed++ = w[c * taps + t];
}

} // namespace ortc::cpu
