// SPDX-License-Identifier: 0BSD
//
// Packing of the right-hand matrix for gemm8.h. Plain C++ without vectors: the compiler calls it on
// constant weights, and no bundle contains it.
#pragma once

#include <cstdint>
#include <cstring>

namespace ortc::cpu {

// Bytes that s8 B[K, N] takes when packed for tiles of NR columns: panels of NR 32-bit numbers that
// sums start with, then [ceil(K / group)][NR][group] with zeros after row K and column N.
inline int64_t packedGemm8Bytes(int64_t K, int64_t N, int NR, int group) {
  return (N + NR - 1) / NR * (NR * 4 + (K + group - 1) / group * NR * group);
}

// B[k, n] = b[k * rowStride + n * columnStride]. `flipped`: the kernel multiplies with A + 128 (an
// A of s8 with a group of 4), which sums are started with -128 times those of the column for.
inline void packGemm8(const int8_t* b, int64_t K, int64_t N, int64_t rowStride,
                      int64_t columnStride, int NR, int group, bool flipped, int8_t* packed) {
  for (int64_t n0 = 0; n0 < N; n0 += NR) {
    for (int64_t n = n0; n < n0 + NR; ++n) {
      uint32_t sum = 0;
      for (int64_t k = 0; flipped && n < N && k < K; ++k)
        sum += static_cast<uint32_t>(b[k * rowStride + n * columnStride]);
      sum = 0u - 128u * sum;
      std::memcpy(packed, &sum, 4);
      packed += 4;
    }
    for (int64_t k0 = 0; k0 < K; k0 += group)
      for (int64_t n = n0; n < n0 + NR; ++n)
        for (int64_t k = k0; k < k0 + group; ++k)
          *packed++ = n < N && k < K ? b[k * rowStride + n * columnStride] : int8_t(0);
  }
}

} // namespace ortc::cpu
