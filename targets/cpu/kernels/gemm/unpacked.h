// SPDX-License-Identifier: 0BSD
//
// The matrix product for a B that is computed by the run, as in attention:
//
//   gemm_unpacked_f32<MR, NV, Bytes, Transposed>(args, epilogue, threads)
//
// B is [K][N], or [N][K] when Transposed. Where many rows of A share a panel of NR columns, the
// panel is packed into the workspace first and the packed micro-kernel does the rest; for few rows
// B is read where it lies.
#ifndef ORTC_KERNELS_GEMM_UNPACKED_H
#define ORTC_KERNELS_GEMM_UNPACKED_H

#include "targets/cpu/kernels/gemm/gemm.h"

ORTC_RT_ISA_BEGIN

struct UnpackedArgs {
  const float* a; // [outer][inner][M][K], rows lda apart
  int64_t lda;
  const float* b; // [outer][inner][K][N] or [N][K], rows ldb apart
  int64_t ldb;
  float* c; // [outer][inner][M][N], rows ldc apart
  int64_t ldc;
  int64_t M, N, K;
  GemmBatch outer = {}, inner = {};
  float* workspace; // unpackedWorkspaceFloats() floats
};

inline int64_t unpackedWorkspaceFloats(int64_t K, int64_t NR) {
  return GemmSplit::kMostTasks * K * NR;
}

// Up to this many rows a transposed B is used by dot products, and a plain one as it lies. Packing
// costs as much as using the panel for about four rows.
constexpr int64_t kUnpackedFewRows = 4;

// 4 rows by 4 columns, transposed.
ORTC_INLINE void transpose4(const float* b, int64_t ldb, float* packed, int64_t NR) {
  const f32x4 r0 = load<f32x4>(b), r1 = load<f32x4>(b + ldb);
  const f32x4 r2 = load<f32x4>(b + 2 * ldb), r3 = load<f32x4>(b + 3 * ldb);
  const f32x4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const f32x4 high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const f32x4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const f32x4 high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  store<f32x4>(packed, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store<f32x4>(packed + NR, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store<f32x4>(packed + 2 * NR, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store<f32x4>(packed + 3 * NR, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

// packed[k][j] for j < NR, zeros from `columns` on.
template <int NR, bool Transposed>
ORTC_NOINLINE void packPanel(const float* b, int64_t ldb, int64_t K, int64_t columns,
                             float* packed) {
  if (columns > NR) columns = NR;
  if constexpr (Transposed) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      int64_t k = 0;
      for (; k + 4 <= K; k += 4)
        transpose4(b + j * ldb + k, ldb, packed + k * NR + j, NR);
      for (; k < K; ++k)
        for (int64_t i = j; i < j + 4; ++i)
          packed[k * NR + i] = b[i * ldb + k];
    }
    for (; j < NR; ++j)
      for (int64_t k = 0; k < K; ++k)
        packed[k * NR + j] = j < columns ? b[j * ldb + k] : 0.0f;
  } else {
    for (int64_t k = 0; k < K; ++k, b += ldb, packed += NR) {
      __builtin_memcpy(packed, b, size_t(columns) * sizeof(float));
      for (int64_t j = columns; j < NR; ++j)
        packed[j] = 0.0f;
    }
  }
}

// `columns` outputs of one row as dot products of contiguous floats, four at a time.
template <class V, class Epilogue>
ORTC_NOINLINE void dotRow(const float* a, const float* b, int64_t ldb, int64_t K, float* c,
                          int64_t m, int64_t n, int64_t columns, const Epilogue& epilogueRef) {
  constexpr int lanes = lanes_of<V>;
  const Epilogue epilogue = epilogueRef;
  for (int64_t j0 = 0; j0 < columns; j0 += lanes) {
    const int count = columns - j0 < lanes ? int(columns - j0) : lanes;
    float dot[lanes] = {};
    for (int j = 0; j < count; j += 4) {
      // A row that does not exist is replaced by the first one of the four; its result is not used.
      const float* row[4];
      for (int i = 0; i < 4; ++i)
        row[i] = b + (j0 + j + (j + i < count ? i : 0)) * ldb;
      V acc[4] = {};
      int64_t k = 0;
      for (; k + lanes <= K; k += lanes) {
        const V x = load<V>(a + k);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          acc[i] = fma(x, load<V>(row[i] + k), acc[i]);
      }
      if (k < K) {
        const V x = load_n<V>(a + k, K - k);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          acc[i] = fma(x, load_n<V>(row[i] + k, K - k), acc[i]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        dot[j + i] = sum_lanes(acc[i]);
    }
    const V sums = load<V>(dot);
    if (count == lanes)
      store<V>(c + j0, epilogue(sums, m, n + j0, lanes));
    else
      store_n<V>(c + j0, epilogue(sums, m, n + j0, count), count);
  }
}

template <int MR, int NV, int Bytes, bool Transposed, class Epilogue>
ORTC_NOINLINE void gemm_unpacked_f32(const UnpackedArgs& g, const Epilogue& epilogue,
                                     const executor& threads) {
  constexpr int64_t NR = NV * Bytes / 4;
  if (g.M <= 0 || g.N <= 0) return;
  const RowBlocks<MR, Rows::Any> blocks(g.M);
  const int64_t panels = (g.N + NR - 1) / NR;
  const int64_t items = g.outer.count * g.inner.count * panels; // panels of the whole batch
  const GemmSplit split(threads,
                        2.0 * double(g.outer.count * g.inner.count) * double(g.M) * double(g.N) *
                            double(g.K),
                        1, blocks.count, items);

  parallel_for(threads, split.rowTasks * split.panelTasks, [&](int64_t task) {
    const int64_t panelTask = task % split.panelTasks, rowTask = task / split.panelTasks;
    const int64_t blockBegin = blocks.count * rowTask / split.rowTasks;
    const int64_t blockEnd = blocks.count * (rowTask + 1) / split.rowTasks;
    float* const packed = g.workspace + task * g.K * NR;
    for (int64_t item = items * panelTask / split.panelTasks;
         item < items * (panelTask + 1) / split.panelTasks; ++item) {
      const int64_t panel = item % panels, batch = item / panels;
      const int64_t inner = batch % g.inner.count, outer = batch / g.inner.count;
      const float* a = g.a + outer * g.outer.a + inner * g.inner.a;
      const float* b =
          g.b + outer * g.outer.b + inner * g.inner.b + panel * NR * (Transposed ? g.ldb : 1);
      float* c = g.c + outer * g.outer.c + inner * g.inner.c + panel * NR;
      const int64_t columns = g.N - panel * NR;
      if (Transposed && g.M <= kUnpackedFewRows) {
        for (int64_t m = 0; m < g.M; ++m)
          if (blocks.count == 1 || (m / MR >= blockBegin && m / MR < blockEnd))
            dotRow<vec<float, Bytes / 4>>(a + m * g.lda, b, g.ldb, g.K, c + m * g.ldc,
                                          batch * g.M + m, panel * NR, columns < NR ? columns : NR,
                                          epilogue);
        continue;
      }
      TileArgs tile;
      if (!Transposed && g.M <= kUnpackedFewRows && columns >= NR) {
        tile.b = b;
        tile.bStep = g.ldb;
      } else {
        packPanel<NR, Transposed>(b, g.ldb, g.K, columns, packed);
        tile.b = packed;
        tile.bStep = NR;
      }
      tile.taps = 1;
      tile.k = g.K;
      tile.ldc = g.ldc;
      tile.n = panel * NR;
      tile.columns = columns;
      tile.prefetch = nullptr;
      tile.prefetchLines = 0;
      const auto rows = [&](const float** row, int64_t m, auto height) {
        for (int r = 0; r < height.value; ++r)
          row[r] = a + (m + r) * g.lda;
      };
      for (int64_t i = blockBegin; i < blockEnd; ++i) {
        const int64_t m = blocks.begin(i);
        tile.m = batch * g.M + m;
        tile.c = c + m * g.ldc;
        const float* table[MR];
        fillTable<MR, Rows::Any>(rows, table, 1, m, blocks.height(i));
        computeRows<MR, NV, Bytes, Rows::Any>(tile, blocks.height(i), table, epilogue);
      }
    }
  });
}

ORTC_RT_ISA_END

#endif
