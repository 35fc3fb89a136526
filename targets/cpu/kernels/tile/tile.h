// SPDX-License-Identifier: 0BSD
//
// The micro-kernel under every dense kernel of this folder: MR rows times NV vectors of columns
// stay in registers while K runs. Matrix products, convolutions and Winograd's products differ only
// in where their rows lie, so rows are given by pointers: `rows[tap * MR + r]` is row r of tap
// `tap`, K contiguous floats. A matrix product has one tap; a 3x3 convolution has nine, and rows
// outside of the image point at zeros.
//
// It is never inlined: inlined into a driver, compilers run out of registers and spill accumulators
// (measured: 15 %). Sizes and pitches are run-time values, because constants bring nothing here
// (0.98-1.01x), so that one instance per (MR, NV, vector, epilogue) serves all layers.
#ifndef ORTC_KERNELS_TILE_H
#define ORTC_KERNELS_TILE_H

#include "runtime_min/rt/pool.h"
#include "runtime_min/rt/simd.h"

ORTC_RT_ISA_BEGIN

// For epilogues: the first `lanes` elements at p. Where the edge is far `lanes` is a constant, and
// this is a plain load.
template <class V> ORTC_INLINE V load_lanes(const elem_of<V>* p, int lanes) {
  return lanes == lanes_of<V> ? load<V>(p) : load_n<V>(p, lanes);
}

template <int N> struct Constant {
  static constexpr int value = N;
};

struct TileArgs {
  int64_t rowOffset = 0; // added to every row pointer
  const float* b;        // [taps * K] rows of MR x NV x lanes floats, `bStep` floats apart
  int64_t bStep;
  int64_t taps;
  int64_t k;
  float* c; // the tile's first output; rows are ldc floats apart
  int64_t ldc;
  int64_t m; // coordinates of the tile's first element, for the epilogue
  int64_t n;
  int64_t columns;      // columns that exist from n on; fewer than the tile has at the right edge
  const char* prefetch; // weights that will be needed soon; the tile fetches `prefetchLines` lines
                        // of 64 bytes
  int64_t prefetchLines;
  const float* zeros = nullptr; // taps whose rows all lie here add nothing, and are left out
};

// K is cut in chunks, so that prefetches are spread evenly and cost nothing in the inner loop.
constexpr int64_t kTileChunk = 32;

// Where b is longer than what an L1 cache holds, its lines are fetched into it so many steps of K
// before they are used (measured on Intel: 5 % of a product; 8 to 16 steps are alike).
constexpr int64_t kTileFar = 96 * 1024;
constexpr int64_t kTileAhead = 12;

// An epilogue of many instructions says `static constexpr bool heavy = true`: it is then
// instantiated once in a loop over the tile in memory, and not once per register of the tile.
template <class Epilogue, class = void> constexpr bool isHeavy = false;
template <class Epilogue>
constexpr bool isHeavy<Epilogue, decltype(void(Epilogue::heavy))> = Epilogue::heavy;

// A tile goes through memory at the right edge, where vectors are partial, and for heavy epilogues.
template <int NV, int Bytes, class Epilogue>
ORTC_NOINLINE void finishTile(const TileArgs& t, const float* tile, int rows,
                              const Epilogue& epilogueRef) {
  using V = vec<float, Bytes / 4>;
  constexpr int lanes = lanes_of<V>;
  const Epilogue epilogue = epilogueRef;
  const int64_t columns = t.columns < NV * lanes ? t.columns : NV * lanes;
  for (int r = 0; r < rows; ++r) {
    float* c = t.c + r * t.ldc;
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes)
      store<V>(c + j, epilogue(load<V>(tile + j), t.m + r, t.n + j, lanes));
    if (j < columns) {
      const int rest = int(columns - j);
      store_n<V>(c + j, epilogue(load<V>(tile + j), t.m + r, t.n + j, rest), rest);
    }
    tile += NV * lanes;
  }
}

template <int MR, int NV, int Bytes, class Epilogue>
ORTC_NOINLINE void computeTile(const float* const* rows, const TileArgs& t,
                               const Epilogue& epilogueRef) {
  using V = vec<float, Bytes / 4>;
  constexpr int lanes = lanes_of<V>;
  // A multiply-add takes four cycles: fewer than four sums would wait for each other, so K is dealt
  // out to more.
  constexpr int chains = MR * NV < 4 ? 4 / (MR * NV) : 1;
  V acc[chains][MR][NV] = {};

  const float* b = t.b;
  const int64_t bStep = t.bStep;
  const char* ahead = t.prefetch;
  const int64_t chunks = t.taps * ((t.k + kTileChunk - 1) / kTileChunk);
  int64_t lines = t.prefetchLines;
  const int64_t linesPerChunk = lines ? (lines + chunks - 1) / chunks : 0;
  const int64_t farAhead = kTileAhead * bStep;
  const bool far = MR >= 4 && t.taps * t.k * NV * Bytes > kTileFar;
  for (int64_t tap = 0; tap < t.taps; ++tap, rows += MR) {
    if (t.zeros) {
      bool there = false;
#pragma GCC unroll 32
      for (int r = 0; r < MR; ++r)
        there |= rows[r] != t.zeros;
      if (!there) {
        b += t.k * bStep;
        continue;
      }
    }
    const float* row[MR];
#pragma GCC unroll 32
    for (int r = 0; r < MR; ++r)
      row[r] = rows[r] + t.rowOffset;
    const auto step = [&](int64_t k, int chain, auto isFar) __attribute__((always_inline)) {
      V w[NV];
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j)
        w[j] = load<V>(b + j * lanes);
      if constexpr (isFar.value) {
#pragma GCC unroll 16
        for (int line = 0; line < NV * Bytes / 64; ++line)
          __builtin_prefetch(b + farAhead + line * 16, 0, 3);
      }
      b += bStep;
#pragma GCC unroll 32
      for (int r = 0; r < MR; ++r) {
        const V a = splat<V>(row[r][k]);
#pragma GCC unroll 16
        for (int j = 0; j < NV; ++j)
          acc[chain][r][j] = fma(a, w[j], acc[chain][r][j]);
      }
    };
    for (int64_t k0 = 0; k0 < t.k; k0 += kTileChunk) {
      for (int64_t i = 0; i < linesPerChunk && lines > 0; ++i, --lines, ahead += 64)
        ortc_rt::prefetch(ahead);
      const int64_t end = k0 + kTileChunk < t.k ? k0 + kTileChunk : t.k;
      int64_t k = k0;
      const auto run = [&](auto isFar) __attribute__((always_inline)) {
#pragma GCC unroll 1
        for (; k + chains <= end; k += chains)
#pragma GCC unroll 4
          for (int chain = 0; chain < chains; ++chain)
            step(k + chain, chain, isFar);
        if constexpr (chains > 1)
          for (; k < end; ++k)
            step(k, 0, isFar);
      };
      if (MR >= 4 && far)
        run(Constant<MR >= 4>{});
      else
        run(Constant<0>{});
    }
  }
#pragma GCC unroll 4
  for (int chain = 1; chain < chains; ++chain)
#pragma GCC unroll 32
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j)
        acc[0][r][j] += acc[chain][r][j];

  if (!isHeavy<Epilogue> && t.columns >= NV * lanes) {
    const Epilogue epilogue = epilogueRef;
#pragma GCC unroll 32
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 16
      for (int j = 0; j < NV; ++j)
        store<V>(t.c + r * t.ldc + j * lanes,
                 epilogue(acc[0][r][j], t.m + r, t.n + j * lanes, lanes));
    return;
  }
  float tile[MR * NV * lanes];
#pragma GCC unroll 32
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j)
      store<V>(tile + (r * NV + j) * lanes, acc[0][r][j]);
  finishTile<NV, Bytes>(t, tile, MR, epilogueRef);
}

ORTC_RT_ISA_END

#endif
