// SPDX-License-Identifier: 0BSD
//
// Packing of the weights for conv8.h. Plain C++ without vectors: the compiler calls it on constant
// weights, and no bundle contains it.
#pragma once

#include "targets/cpu/kernels/gemm8/pack.h"

#include <vector>

namespace ortc::cpu {

inline int64_t packedConv8Bytes(int64_t OC, int64_t IC, int64_t taps, int64_t groups,
                                const PanelLayout& l) {
  return groups * packedGemm8Bytes(taps * IC, OC, l);
}

// From ONNX's [groups * OC][IC][taps]; IC and OC are those of one group. Each output channel has an
// offset (columnOffset).
inline void packConv8(const int16_t* w, int64_t OC, int64_t IC, int64_t taps, int64_t groups,
                      const PanelLayout& l, int8_t* packed) {
  std::vector<int16_t> matrix(static_cast<size_t>(OC * IC * taps)); // [OC][taps][IC]
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t o = 0; o < OC; ++o)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < IC; ++c)
          matrix[static_cast<size_t>((o * taps + t) * IC + c)] = w[(o * IC + c) * taps + t];
    packGemm8(matrix.data(), taps * IC, OC, 1, taps * IC, l, packed);
    w += OC * IC * taps;
    packed += packedGemm8Bytes(taps * IC, OC, l);
  }
}

// Of a depthwise convolution: [taps][C] from [C][1][taps].
template <class T> void packDepthwise8(const int16_t* w, int64_t C, int64_t taps, T* packed) {
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < C; ++c)
      *packed++ = static_cast<T>(w[c * taps + t]);
}

} // namespace ortc::cpu
