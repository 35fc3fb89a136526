// SPDX-License-Identifier: 0BSD
//
// The micro-kernel under all products of 8-bit numbers: MR rows times NV vectors of columns, summed
// in 32 bits. All of it is exact arithmetic modulo 2^32, so that the order of sums and the
// instructions do not show in results.
//
// Both operands come in units of 32 bits, one for each lane of the sum, and `dot8` multiplies a
// unit of A with one of B:
//
//   Group 4  four u8 of A and four s8 of B: vpdpbusd
//   Group 2  two of each, A as 16-bit numbers, B as bytes that are widened: vpmaddwd, or plain
//            arithmetic
//
// (vpmaddubsw is not used: it saturates.) Columns of B that are not s8 (u8 with a zero point) are
// s8 + an offset, which is multiplied with the sum of A's row. Rows of A are brought into this form
// as they are needed
// (`stageRow`): that also takes care of signs and of what is left at the end of a row, and costs a
// few percent of the product. B is packed when the model is compiled.
//
// Sums are kept in a tile in the L1 cache between the micro-kernel and the epilogue: g++ spills
// registers otherwise, and one instance of the micro-kernel serves all epilogues.
#ifndef ORTC_KERNELS_GEMM8_TILE8_H
#define ORTC_KERNELS_GEMM8_TILE8_H

#include "targets/cpu/kernels/tile/tile.h"

ORTC_RT_ISA_BEGIN

// Sums wrap, so that they are unsigned until an epilogue gets them.
template <int Bytes> using Sums = vec<uint32_t, Bytes / 4>;

// B as the multiplication takes it: bytes as they lie for Group 4, 16-bit numbers for Group 2.
// (g++ 12 makes four instructions of a conversion that is one: a third of the time of one row.)
template <int Group, int Bytes> ORTC_INLINE auto loadUnits(const int8_t* b) {
  if constexpr (Group == 4) {
    return load<vec<int8_t, Bytes>>(b);
  } else {
    using W = vec<int16_t, Bytes / 2>;
    const auto bytes = load<vec<int8_t, Bytes / 2>>(b);
#if !defined(__clang__) && !defined(ORTC_RT_NO_BUILTINS)
#if defined(__AVX512BW__)
    if constexpr (Bytes == 64)
      return W(__builtin_ia32_pmovsxbw512_mask(bits_as<vec<char, 32>>(bytes), W{}, uint32_t(-1)));
#endif
#if defined(__AVX2__)
    if constexpr (Bytes == 32) return W(__builtin_ia32_pmovsxbw256(bits_as<vec<char, 16>>(bytes)));
#endif
#if defined(__SSE2__)
    if constexpr (Bytes == 16) { // each byte twice, then the upper one of the two
      const auto x = bits_as<vec<char, 16>>(vec<int64_t, 2>{bits_as<int64_t>(bytes), 0});
      return bits_as<W>(
                 __builtin_shufflevector(x, x, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)) >>
             8;
    }
#endif
#endif
    return W(convert<int16_t>(bytes));
  }
}

// acc + sum of products of the parts of each lane. The only place that knows of instructions.
template <int Group, class U, class W> ORTC_INLINE U dot8(U acc, U a, W w) {
  using S = int_of<U>;
  if constexpr (Group == 4) {
#if !defined(ORTC_RT_NO_BUILTINS)
#if defined(__AVX512VNNI__)
    if constexpr (sizeof(U) == 64) {
#if defined(__clang__)
      return bits_as<U>(__builtin_ia32_vpdpbusd512(bits_as<S>(acc), bits_as<S>(a), bits_as<S>(w)));
#else
      return bits_as<U>(
          __builtin_ia32_vpdpbusd_v16si(bits_as<S>(acc), bits_as<S>(a), bits_as<S>(w)));
#endif
    }
#endif
#endif
    const U b = bits_as<U>(w);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const S byte = bits_as<S>(b << (24 - 8 * i)) >> 24;
      acc += (a >> (8 * i) & 255u) * bits_as<U>(byte);
    }
    return acc;
  } else {
#if !defined(ORTC_RT_NO_BUILTINS)
#if defined(__AVX512BW__)
    if constexpr (sizeof(U) == 64) {
#if defined(__clang__)
      return acc + bits_as<U>(__builtin_ia32_pmaddwd512(bits_as<W>(a), w));
#else
      return acc + bits_as<U>(__builtin_ia32_pmaddwd512_mask(bits_as<W>(a), w, S{}, uint16_t(-1)));
#endif
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(U) == 32)
      return acc + bits_as<U>(__builtin_ia32_pmaddwd256(bits_as<W>(a), w));
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(U) == 16)
      return acc + bits_as<U>(__builtin_ia32_pmaddwd128(bits_as<W>(a), w));
#endif
#endif
    const U b = bits_as<U>(w);
    const S low = (bits_as<S>(a << 16) >> 16) * (bits_as<S>(b << 16) >> 16);
    const S high = (bits_as<S>(a) >> 16) * (bits_as<S>(b) >> 16);
    return acc + bits_as<U>(low) + bits_as<U>(high);
  }
}

// Units of a row of K numbers.
template <int Group> constexpr int64_t unitsOf(int64_t K) {
  return (K + Group - 1) / Group;
}

// s8 or u8 as 16-bit numbers.
template <bool Unsigned, class B> ORTC_INLINE like<int16_t, B> widen8(B v) {
  if constexpr (Unsigned)
    return bits_as<like<int16_t, B>>(convert<uint16_t>(bits_as<like<uint8_t, B>>(v)));
  else
    return convert<int16_t>(v);
}

// K numbers of A as units. Group 4 wants them without sign: s8 is moved up by 128, which the packed
// B takes back. The rest of the last unit is 0. A row that is long enough ends with a vector that
// overlaps the one before.
template <int Group, bool Unsigned, int Bytes>
ORTC_NOINLINE void stageRow(const int8_t* a, int64_t K, uint32_t* units) {
  using B = vec<int8_t, Group == 4 ? Bytes : Bytes / 2>;
  constexpr int64_t step = lanes_of<B>;
  const auto staged = [](auto v) {
    if constexpr (Group == 4)
      return decltype(v)(v ^ splat<decltype(v)>(int8_t(Unsigned ? 0 : -128)));
    else
      return widen8<Unsigned>(v);
  };
  auto* out = reinterpret_cast<elem_of<decltype(staged(B{}))>*>(units);
  int64_t k = 0;
  if (K >= step) {
    for (; k + step <= K; k += step)
      store(out + k, staged(load<B>(a + k)));
    if (k < K) store(out + K - step, staged(load<B>(a + K - step)));
  } else {
    for (; k < K; ++k)
      out[k] = lane(staged(splat<vec<int8_t, 4>>(a[k])), 0);
  }
  for (k = K; k % Group; ++k)
    out[k] = 0;
}

// The sum of the numbers in a row of units.
template <int Group, int Bytes> ORTC_INLINE uint32_t sumOfUnits(const uint32_t* a, int64_t units) {
  using U = Sums<Bytes>;
  using W = decltype(loadUnits<Group, Bytes>(nullptr));
  const W ones = splat<W>(1);
  U sums = {};
  int64_t u = 0;
  for (; u + lanes_of<U> <= units; u += lanes_of<U>)
    sums = dot8<Group>(sums, load<U>(a + u), ones);
  uint32_t sum = sum_lanes(sums);
  for (; u < units; ++u)
    for (int i = 0; i < Group; ++i)
      sum += Group == 4 ? a[u] >> (8 * i) & 255u : uint32_t(int32_t(a[u] << (16 * (1 - i))) >> 16);
  return sum;
}

// tile[MR][NV * lanes] += A * B over `units`; rows of A are `pitch` units apart. Never inlined, as
// computeTile of tile.h.
template <int MR, int NV, int Bytes, int Group>
ORTC_NOINLINE void multiply8(const uint32_t* a, int64_t pitch, const int8_t* b, int64_t units,
                             uint32_t* tile) {
  using U = Sums<Bytes>;
  constexpr int lanes = lanes_of<U>;
  U acc[MR][NV];
#pragma GCC unroll 32
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j)
      acc[r][j] = load<U>(tile + (r * NV + j) * lanes);
#pragma GCC unroll 2
  for (int64_t u = 0; u < units; ++u) {
    decltype(loadUnits<Group, Bytes>(b)) w[NV];
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j)
      w[j] = loadUnits<Group, Bytes>(b + j * lanes * Group);
    b += NV * lanes * Group;
#pragma GCC unroll 32
    for (int r = 0; r < MR; ++r) {
      const U x = splat<U>(a[r * pitch + u]);
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j)
        acc[r][j] = dot8<Group>(acc[r][j], x, w[j]);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j)
      store<U>(tile + (r * NV + j) * lanes, acc[r][j]);
}

// Where a finished tile goes. `Out` is what the epilogue makes of i32.
template <class Out> struct Tile8 {
  Out* c; // the first output; rows are ldc apart
  int64_t ldc;
  int64_t m, n;    // of the first output, for the epilogue
  int64_t columns; // that exist from n on
};

template <int NV, int Bytes, class Out, class Epilogue>
ORTC_NOINLINE void finishTile8(const Tile8<Out>& t, const uint32_t* tile, int rows,
                               const Epilogue& epilogueRef) {
  using V = vec<int32_t, Bytes / 4>;
  using R = like<Out, V>;
  constexpr int lanes = lanes_of<V>;
  const Epilogue epilogue = epilogueRef;
  const int64_t columns = t.columns < NV * lanes ? t.columns : NV * lanes;
  const auto sums = [&](int64_t j) { return bits_as<V>(load<Sums<Bytes>>(tile + j)); };
  for (int r = 0; r < rows; ++r) {
    Out* c = t.c + r * t.ldc;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes)
      store<R>(c + j, epilogue(sums(j), t.m + r, t.n + j, lanes));
    if (j < columns) {
      const int rest = int(columns - j);
      store_n<R>(c + j, epilogue(sums(j), t.m + r, t.n + j, rest), rest);
    }
    tile += NV * lanes;
  }
}

// A panel of B is NR 32-bit numbers that sums start with, NR offsets where there are any, then its
// units.
template <int Group, bool Offsets> constexpr int64_t panelBytes8(int64_t units, int64_t NR) {
  return NR * (Offsets ? 8 : 4) + units * NR * Group;
}

// Units of A that are staged at once: 64 KB, most of which stays in the L1 cache or next to it. A
// row may have one less, which stands for its sum.
constexpr int64_t kStageUnits = 16384;

ORTC_RT_ISA_END

#endif
