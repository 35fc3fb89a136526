// SPDX-License-Identifier: 0BSD
//
// Packing of convolution weights for conv.h; called by the compiler, in no bundle.
#pragma once

#include <cstdint>

namespace ortc::cpu {

// Floats of packed weights: `OC` output and `IC` input channels of one group, `taps` kernel
// positions.
inline int64_t packedConvFloats(int64_t OC, int64_t IC, int64_t taps, int64_t groups, int NR) {
  return groups * ((OC + NR - 1) / NR * NR) * IC * taps;
}

// From ONNX's [groups * OC][IC][taps] to [groups][ceil(OC / NR)][taps][IC][NR], zeros after channel
// OC.
inline void packConv(const float* w, int64_t OC, int64_t IC, int64_t taps, int64_t groups, int NR,
                     float* packed) {
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t n0 = 0; n0 < OC; n0 += NR)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < IC; ++c)
          for (int64_t j = 0; j < NR; ++j)
            *packed++ = n0 + j < OC ? w[((g * OC + n0 + j) * IC + c) * taps + t] : 0.0f;
}

} // namespace ortc::cpu
