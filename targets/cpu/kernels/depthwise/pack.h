// SPDX-License-Identifier: 0BSD
//
// Packing of depthwise weights for depthwise.h; called by the compiler, in no bundle.
#pragma once

#include <cstdint>

namespace ortc::cpu {

inline int64_t packedDepthwiseFloats(int64_t C, int64_t taps, int lanes) {
  return (C + lanes - 1) / lanes * lanes * taps;
}

// From ONNX's [C][1][taps] to [ceil(C / lanes)][taps][lanes], zeros after channel C.
inline void packDepthwise(const float* w, int64_t C, int64_t taps, int lanes, float* packed) {
  for (int64_t c0 = 0; c0 < C; c0 += lanes)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t j = 0; j < lanes; ++j)
        *packed++ = c0 + j < C ? w[(c0 + j) * taps + t] : 0.0f;
}

} // namespace ortc::cpu
