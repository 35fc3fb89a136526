// SPDX-License-Identifier: 0BSD
//
// C = epilogue(A * B) in f32, with B packed when the model was compiled. A batch is a loop over
// strides.
//
//   gemm_f32<MR, NV, Bytes, Rows>(args, epilogue, threads)
//
// MR rows by NV vectors of Bytes bytes is the register tile, NR = NV * Bytes / 4 its width, and B
// lies as [ceil(N / NR)][K][NR] with zeros after column N. The result does not depend on the number
// of threads: each output is summed over K in order by one thread.
#ifndef ORTC_KERNELS_GEMM_H
#define ORTC_KERNELS_GEMM_H

#include "targets/cpu/kernels/tile/tile.h"

ORTC_RT_ISA_BEGIN

// One axis of a batch; strides in floats, 0 where all of the axis share one matrix.
struct GemmBatch {
  int64_t count = 1;
  int64_t a = 0, b = 0, c = 0;
};

struct GemmArgs {
  const float* a; // [outer][inner][M][K], rows lda apart
  int64_t lda;
  const float* b; // packed: [ceil(N / NR)][K][NR] for each of the batch
  float* c;       // [outer][inner][M][N], rows ldc apart
  int64_t ldc;
  int64_t M, N, K;
  GemmBatch outer = {}, inner = {};
  // Weights lie in one arena in the order of use. Tiles fetch, bit by bit, what lies this many
  // bytes ahead of the panel in use; the last panels of a layer thereby fetch the first of the next
  // one. 0: no prefetch.
  int64_t prefetchBytes = 0;
};

// Which heights of tile are instantiated. The caller knows M when the shape is fixed, and code is
// saved.
enum class Rows {
  Exact, // M is a multiple of MR: one height
  Even,  // M is a sum of MRs and MR-1s: two heights, and all blocks about equal
  Any    // any M: MR, then 8, 4, 2 and 1 for what is left
};

// True if Rows::Even may be used for this M.
constexpr bool rowsAreEven(int64_t M, int MR) {
  return (M + MR - 1) / MR * (MR - 1) <= M;
}

// The rows of a matrix, cut in blocks of at most MR.
template <int MR, Rows R> struct RowBlocks {
  int64_t M, count, tall; // `tall` blocks have MR rows; in an even split the others have MR-1
  explicit RowBlocks(int64_t m) : M(m), count((m + MR - 1) / MR) {
    tall = R == Rows::Even ? m - count * (MR - 1) : m / MR;
  }
  int64_t begin(int64_t i) const {
    return R == Rows::Even && i > tall ? tall * MR + (i - tall) * (MR - 1) : i * MR;
  }
  int height(int64_t i) const { return i < tall ? MR : R == Rows::Even ? MR - 1 : int(M - i * MR); }
};

// Calls piece(Constant<h>) for the tile heights that make up a block of `height` rows.
template <int MR, Rows R, class Piece> ORTC_INLINE void forPieces(int height, const Piece& piece) {
  if (R == Rows::Exact || height == MR) return piece(Constant<MR>{});
  if constexpr (R == Rows::Even && MR > 1) return piece(Constant<MR - 1>{});
  if constexpr (R == Rows::Any) {
    if constexpr (MR > 8)
      if (height & 8) piece(Constant<8>{});
    if constexpr (MR > 4)
      if (height & 4) piece(Constant<4>{});
    if constexpr (MR > 2)
      if (height & 2) piece(Constant<2>{});
    if constexpr (MR > 1)
      if (height & 1) piece(Constant<1>{});
  }
}

// Writes the row pointers of a block, [taps][h] for each of its pieces: rows(table, m, Constant<h>)
// those of rows m to m + h. Returns the end of what was written.
template <int MR, Rows R, class RowsAt>
ORTC_INLINE const float** fillTable(RowsAt&& rows, const float** table, int64_t taps, int64_t m,
                                    int height) {
  forPieces<MR, R>(height, [&](auto size) {
    constexpr int h = decltype(size)::value;
    rows(table, m, size);
    table += taps * h;
    m += h;
  });
  return table;
}

// Calls the micro-kernel for the pieces of a block, whose first element `tile` describes.
template <int MR, int NV, int Bytes, Rows R, class Epilogue>
ORTC_INLINE const float** computeRows(TileArgs& tile, int height, const float** table,
                                      const Epilogue& epilogue) {
  forPieces<MR, R>(height, [&](auto size) {
    constexpr int h = decltype(size)::value;
    computeTile<h, NV, Bytes>(table, tile, epilogue);
    table += tile.taps * h;
    tile.m += h;
    tile.c += h * tile.ldc;
    tile.prefetchLines = 0;
  });
  return table;
}

// How work is cut into pieces of at least about 20 us: panels first, because then each weight is
// read by one core only; rows where there are too few panels. The pieces depend on sizes only, and
// results not even on those.
struct GemmSplit {
  int64_t rowTasks = 1, panelTasks = 1;
  GemmSplit(const executor& threads, double flops, int64_t batch, int64_t blocks, int64_t panels) {
    if (!threads.run) return;
    const int64_t most = (kMostTasks + batch - 1) / batch;
    const int64_t wanted = flops < 4e6                  ? 1
                           : flops < 2e6 * double(most) ? int64_t(flops / 2e6)
                                                        : most;
    panelTasks = panels < wanted ? panels : wanted;
    const int64_t rest = panelTasks > 0 ? wanted / panelTasks : 1;
    rowTasks = blocks < rest ? blocks : rest;
  }
  static constexpr int64_t kMostTasks = 32; // of a batch of one; workspaces have a part for each
};

// When all of B stays in the L2 cache, rows are taken in groups of about this many bytes of A and C
// with all panels each, so that A and C go through memory once; otherwise one panel is used for all
// rows, so that B does.
constexpr int64_t kGemmSmallB = 512 * 1024;
constexpr int64_t kGemmRowGroup = 128 * 1024;

// Blocks of MR rows in such a group: at least one, at most `most`.
inline int64_t rowGroup(int64_t most, int MR, int64_t K, int64_t N) {
  const int64_t fitting = kGemmRowGroup / (4 * MR * (K + N));
  return fitting < 1 ? 1 : fitting < most ? fitting : most;
}

template <int MR, int NV, int Bytes, Rows R = Rows::Any, class Epilogue>
ORTC_NOINLINE void gemm_f32(const GemmArgs& g, const Epilogue& epilogue, const executor& threads) {
  constexpr int64_t NR = NV * Bytes / 4;
  if (g.M <= 0 || g.N <= 0) return;
  const RowBlocks<MR, R> blocks(g.M);
  const int64_t panels = (g.N + NR - 1) / NR;
  const int64_t panelFloats = g.K * NR;
  const int64_t batches = g.outer.count * g.inner.count;
  const GemmSplit split(threads, 2.0 * double(g.M) * double(g.N) * double(g.K), batches,
                        blocks.count, panels);
  const int64_t group = blocks.count > 1 && panels * panelFloats * 4 <= kGemmSmallB
                            ? rowGroup(blocks.count, MR, g.K, g.N)
                            : blocks.count;
  // A single row reads B as one stream, which many processors fetch ahead on their own: a tile for
  // one row is for those that do not.
  const int64_t prefetchLines =
      g.prefetchBytes && (g.M > 1 || MR == 1) ? (panelFloats * 4 / blocks.count + 63) / 64 : 0;

  const auto compute = [&](int64_t batch, int64_t blockBegin, int64_t blockEnd, int64_t panelBegin,
                           int64_t panelEnd) {
    const int64_t outer = batch ? batch / g.inner.count : 0, inner = batch - outer * g.inner.count;
    const float* a = g.a + outer * g.outer.a + inner * g.inner.a;
    const float* b = g.b + outer * g.outer.b + inner * g.inner.b;
    float* c = g.c + outer * g.outer.c + inner * g.inner.c;
    const auto rows = [&](const float** row, int64_t m, auto height) {
      for (int r = 0; r < height.value; ++r)
        row[r] = a + (m + r) * g.lda;
    };

    for (int64_t i0 = blockBegin; i0 < blockEnd; i0 += group) {
      const int64_t i1 = i0 + group < blockEnd ? i0 + group : blockEnd;
      for (int64_t p = panelBegin; p < panelEnd; ++p) {
        TileArgs tile;
        tile.b = b + p * panelFloats;
        tile.bStep = NR;
        tile.taps = 1;
        tile.k = g.K;
        tile.ldc = g.ldc;
        tile.n = p * NR;
        tile.columns = g.N - tile.n;
        for (int64_t i = i0; i < i1; ++i) {
          const int64_t m = blocks.begin(i);
          tile.c = c + m * g.ldc + tile.n;
          tile.m = batch * g.M + m; // the epilogue counts rows over the whole batch
          tile.prefetch =
              reinterpret_cast<const char*>(tile.b) + g.prefetchBytes + i * prefetchLines * 64;
          tile.prefetchLines = prefetchLines;
          const float* table[MR];
          fillTable<MR, R>(rows, table, 1, m, blocks.height(i));
          computeRows<MR, NV, Bytes, R>(tile, blocks.height(i), table, epilogue);
        }
      }
    }
  };

  const int64_t tasks = batches * split.rowTasks * split.panelTasks;
  // The way through divisions is longer than many a small product.
  if (tasks == 1) return compute(0, 0, blocks.count, 0, panels);
  parallel_for(threads, tasks, [&](int64_t task) {
    const int64_t panelTask = task % split.panelTasks;
    const int64_t rowTask = task / split.panelTasks % split.rowTasks;
    compute(task / split.panelTasks / split.rowTasks, blocks.count * rowTask / split.rowTasks,
            blocks.count * (rowTask + 1) / split.rowTasks, panels * panelTask / split.panelTasks,
            panels * (panelTask + 1) / split.panelTasks);
  });
}

ORTC_RT_ISA_END

#endif
