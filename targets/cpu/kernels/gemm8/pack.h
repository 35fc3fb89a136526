// SPDX-License-Identifier: 0BSD
//
// Packing of the right-hand matrix for gemm8.h. Plain C++ without vectors: the compiler calls it on
// constant weights, and no bundle contains it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ortc::cpu {

// What a panel looks like: its width, how many numbers are multiplied at once, whether the kernel
// multiplies with A + 128 (an A of s8 with a group of 4), and whether columns have offsets.
struct PanelLayout {
  int NR, group;
  bool flipped = false, offsets = false;
};

// Columns are s8, or numbers of which `offset` makes s8: b = s8 + offset. False when their numbers
// are too far apart for one offset.
inline bool columnOffset(const int16_t* b, int64_t K, int64_t rowStride, int32_t* offset) {
  int32_t low = K > 0 ? b[0] : 0, high = low;
  for (int64_t k = 1; k < K; ++k) {
    low = std::min<int32_t>(low, b[k * rowStride]);
    high = std::max<int32_t>(high, b[k * rowStride]);
  }
  *offset = low >= -128 && high <= 127 ? 0 : low + 128;
  return high - low <= 255;
}

// Bytes that B[K, N] takes when packed: panels of NR 32-bit numbers that sums start with, with
// offsets NR of those, then s8 [ceil(K / group)][NR][group] with zeros after row K and column N.
inline int64_t packedGemm8Bytes(int64_t K, int64_t N, const PanelLayout& l) {
  const int64_t heads = l.offsets ? 8 : 4;
  return (N + l.NR - 1) / l.NR * (l.NR * heads + (K + l.group - 1) / l.group * l.NR * l.group);
}

// B[k, n] = b[k * rowStride + n * columnStride]; each column has an offset. A + 128 is taken back
// by what sums start with.
inline void packGemm8(const int16_t* b, int64_t K, int64_t N, int64_t rowStride,
                      int64_t columnStride, const PanelLayout& l, int8_t* packed) {
  const auto put = [&](uint32_t number) {
    std::memcpy(packed, &number, 4);
    packed += 4;
  };
  for (int64_t n0 = 0; n0 < N; n0 += l.NR) {
    const int64_t end = std::min(n0 + l.NR, N), fill = n0 + l.NR - end;
    for (int64_t n = n0; n < end; ++n) {
      uint32_t sum = 0;
      for (int64_t k = 0; l.flipped && k < K; ++k)
        sum += static_cast<uint32_t>(b[k * rowStride + n * columnStride]);
      put(0u - 128u * sum);
    }
    for (int64_t n = 0; n < fill; ++n)
      put(0);
    const auto offsetOf = [&](int64_t n) {
      int32_t offset = 0;
      if (l.offsets) columnOffset(b + n * columnStride, K, rowStride, &offset);
      return offset;
    };
    if (l.offsets) {
      for (int64_t n = n0; n < end; ++n)
        put(static_cast<uint32_t>(offsetOf(n)));
      for (int64_t n = 0; n < fill; ++n)
        put(0);
    }
    const int64_t height = (K + l.group - 1) / l.group * l.group;
    std::memset(packed, 0, static_cast<size_t>(height * l.NR));
    for (int64_t n = n0; n < end; ++n) {
      const int32_t offset = offsetOf(n);
      for (int64_t k = 0; k < K; ++k)
        packed[(k / l.group * l.NR + n - n0) * l.group + k % l.group] =
            static_cast<int8_t>(b[k * rowStride + n * columnStride] - offset);
    }
    packed += height * l.NR;
  }
}

} // namespace ortc::cpu
