// SPDX-License-Identifier: 0BSD
//
// C = epilogue(A * B) of 8-bit numbers, summed in 32 bits, with B packed when the model was
// compiled:
//
//   gemm8<MR, NV, Bytes, Group, Unsigned, Offsets>(args, epilogue, threads)
//
// MR rows by NV vectors of Bytes bytes is the tile, NR = NV * Bytes / 4 its width; `Group` is how
// many numbers are multiplied at once (tile8.h), `Unsigned` says that A is u8, `Offsets` that
// columns of B are s8 plus a number each. B lies in ceil(N / NR) panels (pack.h). The epilogue gets
// vectors of i32 and gives vectors of Out.
#ifndef ORTC_KERNELS_GEMM8_H
#define ORTC_KERNELS_GEMM8_H

#include "targets/cpu/kernels/gemm/gemm.h"
#include "targets/cpu/kernels/gemm8/tile8.h"

ORTC_RT_ISA_BEGIN

template <class Out> struct Gemm8Args {
  const int8_t* a; // [outer][inner][M][K], rows lda apart
  int64_t lda;
  const int8_t* b; // packed panels for each of the batch
  Out* c;          // [outer][inner][M][N], rows ldc apart
  int64_t ldc;
  int64_t M, N, K;
  GemmBatch outer = {}, inner = {}; // strides in elements
};

// Products of rows that are staged by the caller with the panels of one matrix. Convolutions are
// the same with rows that are gathered.
template <class Out> struct Rows8 {
  const int8_t* b;  // panels
  Out* c;           // row 0
  int64_t ldc;      // in elements
  int64_t M, N, K;  // a row of A has K numbers
  int64_t firstRow; // what the epilogue calls row 0
  int64_t firstColumn;
};

// A staged row is its units, with offsets followed by their sum.
template <int Group, bool Offsets> constexpr int64_t stagePitch8(int64_t K) {
  return unitsOf<Group>(K) + Offsets;
}

// How many rows make up a block: MR, or what there is room for when they are long.
template <int MR, int Group, bool Offsets> constexpr int64_t blockRows8(int64_t K) {
  const int64_t pitch = stagePitch8<Group, Offsets>(K),
                fitting = pitch > 0 ? kStageUnits / pitch : MR;
  return fitting < MR ? fitting : MR;
}

// What a tile of sums starts with: the panel's numbers, and its offsets times the sum of each row.
template <int NV, int Bytes, bool Offsets>
ORTC_INLINE void startTile8(const int8_t* panel, const uint32_t* rowSums, int64_t pitch, int rows,
                            uint32_t* tile) {
  using U = Sums<Bytes>;
  constexpr int lanes = lanes_of<U>;
  const auto* heads = reinterpret_cast<const uint32_t*>(panel);
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < NV; ++j) {
      U start = load<U>(heads + j * lanes);
      if constexpr (Offsets)
        start += load<U>(heads + (NV + j) * lanes) * splat<U>(rowSums[r * pitch]);
      store<U>(tile + (r * NV + j) * lanes, start);
    }
}

// Blocks [blockBegin, blockEnd) of rows times panels [panelBegin, panelEnd). As many blocks as
// there is room for are staged together, and each panel is used for all of them. `stage(m, units)`
// writes the units of row m.
template <int MR, int NV, int Bytes, int Group, bool Offsets, class Out, class Stage,
          class Epilogue>
ORTC_INLINE void computeBlocks8(const Rows8<Out>& s, int64_t blockBegin, int64_t blockEnd,
                                int64_t panelBegin, int64_t panelEnd, const Stage& stage,
                                const Epilogue& epilogue) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t units = unitsOf<Group>(s.K), panelBytes = panelBytes8<Group, Offsets>(units, NR);
  const int64_t pitch = stagePitch8<Group, Offsets>(s.K);
  const int64_t height = blockRows8<MR, Group, Offsets>(s.K), blockUnits = height * pitch;
  const int64_t group = blockUnits > 0 ? kStageUnits / blockUnits : blockEnd - blockBegin;
  alignas(64) uint32_t staged[kStageUnits];
  alignas(64) uint32_t tile[MR * NR];
  for (int64_t i0 = blockBegin; i0 < blockEnd; i0 += group) {
    const int64_t i1 = i0 + group < blockEnd ? i0 + group : blockEnd;
    const int64_t end = i1 * height < s.M ? i1 * height : s.M;
    for (int64_t m = i0 * height; m < end; ++m) {
      uint32_t* row = staged + (m - i0 * height) * pitch;
      stage(m, row);
      if constexpr (Offsets) row[units] = sumOfUnits<Group, Bytes>(row, units);
    }
    for (int64_t p = panelBegin; p < panelEnd; ++p) {
      const int8_t* panel = s.b + p * panelBytes;
      const int64_t n = p * NR;
      for (int64_t i = i0; i < i1; ++i) {
        const int64_t m = i * height;
        const int rows = int(s.M - m < height ? s.M - m : height);
        const uint32_t* a = staged + (i - i0) * blockUnits;
        uint32_t* sums = tile;
        startTile8<NV, Bytes, Offsets>(panel, a + units, pitch, rows, tile);
        const int8_t* b = panel + panelBytes8<Group, Offsets>(0, NR);
        forPieces<MR, Rows::Any>(rows, [&](auto size) {
          constexpr int h = decltype(size)::value;
          multiply8<h, NV, Bytes, Group>(a, pitch, b, units, sums);
          a += h * pitch;
          sums += h * NR;
        });
        const Tile8<Out> t{s.c + m * s.ldc + n, s.ldc, s.firstRow + m, s.firstColumn + n, s.N - n};
        finishTile8<NV, Bytes>(t, tile, rows, epilogue);
      }
    }
  }
}

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets, class Out,
          class Epilogue>
ORTC_NOINLINE void gemm8(const Gemm8Args<Out>& g, const Epilogue& epilogue,
                         const executor& threads) {
  constexpr int NR = NV * Bytes / 4;
  if (g.M <= 0 || g.N <= 0) return;
  const int64_t height = blockRows8<MR, Group, Offsets>(g.K), blocks = (g.M + height - 1) / height;
  const int64_t panels = (g.N + NR - 1) / NR;
  const int64_t batches = g.outer.count * g.inner.count;
  // A multiply-add of 8 bits takes about half the time of one in f32.
  const GemmSplit split(threads, double(g.M) * double(g.N) * double(g.K), batches, blocks, panels);

  const auto compute = [&](int64_t batch, int64_t blockBegin, int64_t blockEnd, int64_t panelBegin,
                           int64_t panelEnd) {
    const int64_t outer = batch ? batch / g.inner.count : 0, inner = batch - outer * g.inner.count;
    const int8_t* a = g.a + outer * g.outer.a + inner * g.inner.a;
    const Rows8<Out> s{g.b + outer * g.outer.b + inner * g.inner.b,
                       g.c + outer * g.outer.c + inner * g.inner.c,
                       g.ldc,
                       g.M,
                       g.N,
                       g.K,
                       batch * g.M,
                       0};
    const auto stage = [&](int64_t m, uint32_t* units) {
      stageRow<Group, Unsigned, Bytes>(a + m * g.lda, g.K, units);
    };
    computeBlocks8<MR, NV, Bytes, Group, Offsets>(s, blockBegin, blockEnd, panelBegin, panelEnd,
                                                  stage, epilogue);
  };

  const int64_t tasks = batches * split.rowTasks * split.panelTasks;
  if (tasks == 1) return compute(0, 0, blocks, 0, panels);
  parallel_for(threads, tasks, [&](int64_t task) {
    const int64_t panelTask = task % split.panelTasks;
    const int64_t rowTask = task / split.panelTasks % split.rowTasks;
    compute(task / split.panelTasks / split.rowTasks, blocks * rowTask / split.rowTasks,
            blocks * (rowTask + 1) / split.rowTasks, panels * panelTask / split.panelTasks,
            panels * (panelTask + 1) / split.panelTasks);
  });
}

ORTC_RT_ISA_END

#endif
