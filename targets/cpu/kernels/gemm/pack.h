// SPDX-License-Identifier: 0BSD
//
// Packing of the right-hand matrix for gemm.h. Plain C++ without vectors: the compiler calls it on
// constant weights, and no bundle contains it.
#pragma once

#include <cstdint>
#include <cstring>

namespace ortc::cpu {

// Floats that B[K, N] takes when packed for tiles of NR columns.
inline int64_t packedGemmFloats(int64_t K, int64_t N, int NR) {
  return (N + NR - 1) / NR * NR * K;
}

// B[k, n] = b[k * rowStride + n * columnStride], so (N, 1) is a plain [K, N] and (1, K) a
// transposed [N, K]. Writes packedGemmFloats(K, N, NR) floats: [ceil(N / NR)][K][NR], zeros after
// column N.
inline void packGemm(const float* b, int64_t K, int64_t N, int64_t rowStride, int64_t columnStride,
                     int NR, float* packed) {
  for (int64_t n0 = 0; n0 < N; n0 += NR)
    for (int64_t k = 0; k < K; ++k)
      for (int64_t j = 0; j < NR; ++j)
        *packed++ = n0 + j < N ? b[k * rowStride + (n0 + j) * columnStride] : 0.0f;
}

} // namespace ortc::cpu
