// SPDX-License-Identifier: 0BSD
//
// 3x3 convolution of stride 1 by Winograd's minimal filtering, as in Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks" (arXiv 1509.09308): output tiles of O x O pixels
// from N x N inputs, N = O + 2, cost N * N products instead of 9 * O * O; 36 for 144 with O = 4, 16
// for 36 with O = 2.
//
//   winograd_f32<O, MR, NV, Bytes, Rows>(args, epilogue, threads)
//
// Tiles are taken in blocks. For each block every tile is transformed into N * N rows of channels,
// then there are N * N matrix products [tiles, IC] x [IC, OC] by the shared micro-kernel, then
// every tile is transformed back and stored through the epilogue. Rounding is about 10 times that
// of the direct form for O = 4 (2e-5 of the largest output at most): --numerics=strict leaves it
// out.
#ifndef ORTC_KERNELS_WINOGRAD_H
#define ORTC_KERNELS_WINOGRAD_H

#include "targets/cpu/kernels/conv/conv.h"

ORTC_RT_ISA_BEGIN

struct WinogradArgs {
  const float* x;   // [images][H][W][IC]
  const float* u;   // packed: [N * N][ceil(OC / NR)][IC][NR]
  float* y;         // [images][OH * OW][OC], pixels yPixel floats apart
  float* workspace; // winogradWorkspaceFloats() floats
  int64_t images, IC, OC;
  ConvAxis height, width; // kernel 3, stride 1, dilation 1
  int64_t xPixel, xRow, xImage;
  int64_t yPixel;
  int64_t prefetchBytes = 0; // as in GemmArgs
};

// How the tiles are cut in blocks of about equal size. Enough of them share one pass over the
// weights to pay for reading those; few enough that a block's data stays in or near L2. Measured:
// 14 to 98 are within 4 %.
struct WinogradPlan {
  static constexpr int64_t kTiles = 48;
  int64_t tilesX, tilesY, tiles, blocks, most;
  int64_t inPitch, outPitch;   // floats between tiles of one product
  int64_t inStride, outStride; // ... between products; never a multiple of 4096 bytes
  WinogradPlan(const WinogradArgs& a, int O) {
    tilesX = (a.width.out + O - 1) / O;
    tilesY = (a.height.out + O - 1) / O;
    tiles = a.images * tilesX * tilesY;
    blocks = tiles < 2 * kTiles ? 1 : tiles / kTiles;
    most = (tiles + blocks - 1) / blocks;
    inPitch = (a.IC + 15) / 16 * 16;
    outPitch = (a.OC + 15) / 16 * 16;
    inStride = most * inPitch + 16;
    outStride = most * outPitch + 16;
  }
};

// Sizes that are 0 are not known: enough for all.
inline int64_t winogradWorkspaceFloats(const WinogradArgs& a, int O) {
  const WinogradPlan plan(a, O);
  const bool known = a.images > 0 && a.height.out > 0 && a.width.out > 0;
  const int64_t most = known ? plan.most : 2 * WinogradPlan::kTiles - 1;
  return plan.inPitch + (O + 2) * (O + 2) * (most * (plan.inPitch + plan.outPitch) + 32);
}

// The one-dimensional transforms; each is applied to columns and then to rows.
template <int O> struct Winograd;

template <> struct Winograd<2> {
  template <class V> static ORTC_INLINE void input(const V (&d)[4], V (&t)[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
  }
  template <class V> static ORTC_INLINE void output(const V (&m)[4], V (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
};

template <> struct Winograd<4> {
  template <class V> static ORTC_INLINE void input(const V (&d)[6], V (&t)[6]) {
    const V even = fma(d[2], -4.0f, d[4]), odd = fma(d[1], -4.0f, d[3]);
    const V half = d[4] - d[2], twice = (d[3] - d[1]) * 2.0f;
    t[0] = fma(d[0], 4.0f, fma(d[2], -5.0f, d[4]));
    t[1] = even + odd;
    t[2] = even - odd;
    t[3] = half + twice;
    t[4] = half - twice;
    t[5] = fma(d[1], 4.0f, fma(d[3], -5.0f, d[5]));
  }
  template <class V> static ORTC_INLINE void output(const V (&m)[6], V (&y)[4]) {
    const V sum1 = m[1] + m[2], difference1 = m[1] - m[2];
    const V sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    y[0] = m[0] + sum1 + sum2;
    y[1] = fma(difference2, 2.0f, difference1);
    y[2] = fma(sum2, 4.0f, sum1);
    y[3] = fma(difference2, 8.0f, difference1 + m[5]);
  }
};

struct WinogradNone {
  template <class V> ORTC_INLINE V operator()(V acc, int64_t, int64_t, int) const { return acc; }
};

// The N * N inputs of a tile, given by pointers, to N * N rows `stride` floats apart.
template <int O, int Bytes>
ORTC_NOINLINE void winogradInput(const float* const* x, float* out, int64_t stride,
                                 int64_t channels) {
  using V = vec<float, Bytes / 4>;
  constexpr int N = O + 2;
  for (int64_t c = 0; c < channels; c += lanes_of<V>) {
    const int lanes = channels - c < lanes_of<V> ? int(channels - c) : lanes_of<V>;
    V columns[N][N]; // [column][row of the transform]
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) {
      V d[N];
#pragma GCC unroll 6
      for (int i = 0; i < N; ++i)
        d[i] = load_lanes<V>(x[i * N + j] + c, lanes);
      Winograd<O>::input(d, columns[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) {
      V d[N], t[N];
#pragma GCC unroll 6
      for (int j = 0; j < N; ++j)
        d[j] = columns[j][i];
      Winograd<O>::input(d, t);
#pragma GCC unroll 6
      for (int j = 0; j < N; ++j)
        store<V>(out + (i * N + j) * stride + c, t[j]);
    }
  }
}

// N * N rows `stride` floats apart to the rows x columns pixels of a tile; m is the first pixel,
// `width` those of a row.
template <int O, int Bytes, class Epilogue>
ORTC_NOINLINE void winogradOutput(const float* in, int64_t stride, float* y, int64_t yPixel,
                                  int64_t width, int64_t m, int64_t rows, int64_t columns,
                                  int64_t channels, const Epilogue& epilogueRef) {
  using V = vec<float, Bytes / 4>;
  constexpr int N = O + 2;
  const Epilogue epilogue = epilogueRef;
  for (int64_t c = 0; c < channels; c += lanes_of<V>) {
    V half[N][O], out[O][O];
#pragma GCC unroll 6
    for (int j = 0; j < N; ++j) {
      V d[N];
#pragma GCC unroll 6
      for (int i = 0; i < N; ++i)
        d[i] = load<V>(in + (i * N + j) * stride + c);
      Winograd<O>::output(d, half[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < O; ++i) {
      V d[N];
#pragma GCC unroll 6
      for (int j = 0; j < N; ++j)
        d[j] = half[j][i];
      Winograd<O>::output(d, out[i]);
    }
    const int lanes = channels - c < lanes_of<V> ? int(channels - c) : lanes_of<V>;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        float* to = y + (i * width + j) * yPixel + c;
        if (lanes == lanes_of<V>)
          store<V>(to, epilogue(out[i][j], m + i * width + j, c, lanes_of<V>));
        else
          store_n<V>(to, epilogue(out[i][j], m + i * width + j, c, lanes), lanes);
      }
  }
}

template <int O, int MR, int NV, int Bytes, Rows R = Rows::Any, class Epilogue>
ORTC_NOINLINE void winograd_f32(const WinogradArgs& a, const Epilogue& epilogue,
                                const executor& threads) {
  constexpr int N = O + 2;
  constexpr int64_t NR = NV * Bytes / 4;
  const WinogradPlan plan(a, O);
  if (plan.tiles <= 0) return;
  const int64_t panels = (a.OC + NR - 1) / NR, panelFloats = a.IC * NR;
  float* const zeros = a.workspace;
  float* const in = zeros + plan.inPitch;
  float* const out = in + N * N * plan.inStride;
  for (int64_t c = 0; c < a.IC; ++c)
    zeros[c] = 0.0f;

  for (int64_t block = 0; block < plan.blocks; ++block) {
    const int64_t first = plan.tiles * block / plan.blocks;
    const int64_t count = plan.tiles * (block + 1) / plan.blocks - first;
    const auto place = [&](int64_t tile, int64_t& image, int64_t& top, int64_t& left) {
      left = tile % plan.tilesX * O;
      top = tile / plan.tilesX % plan.tilesY * O;
      image = tile / plan.tilesX / plan.tilesY;
    };

    parallel_ranges(threads, count, 4, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t image, top, left;
        place(first + t, image, top, left);
        const float* x[N * N];
        for (int i = 0; i < N; ++i) {
          const int64_t row = top - a.height.pad + i;
          const float* line = a.x + image * a.xImage + row * a.xRow;
          for (int j = 0; j < N; ++j) {
            const int64_t column = left - a.width.pad + j;
            x[i * N + j] =
                uint64_t(row) < uint64_t(a.height.in) && uint64_t(column) < uint64_t(a.width.in)
                    ? line + column * a.xPixel
                    : zeros;
          }
        }
        winogradInput<O, Bytes>(x, in + t * plan.inPitch, plan.inStride, a.IC);
      }
    });

    const RowBlocks<MR, R> rows(count);
    const int64_t prefetchLines =
        a.prefetchBytes && block == 0 ? (panelFloats * 4 / rows.count + 63) / 64 : 0;
    parallel_ranges(threads, N * N * panels, (panels + 1) / 2, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t product = item / panels, panel = item % panels;
        TileArgs tile;
        tile.b = a.u + item * panelFloats;
        tile.bStep = NR;
        tile.taps = 1;
        tile.k = a.IC;
        tile.ldc = plan.outPitch;
        tile.n = panel * NR;
        tile.columns = a.OC - tile.n;
        const float* from = in + product * plan.inStride;
        const auto fill = [&](const float** row, int64_t m, auto height) {
          for (int r = 0; r < height.value; ++r)
            row[r] = from + (m + r) * plan.inPitch;
        };
        for (int64_t i = 0; i < rows.count; ++i) {
          tile.m = rows.begin(i);
          tile.c = out + product * plan.outStride + tile.m * plan.outPitch + tile.n;
          tile.prefetch =
              reinterpret_cast<const char*>(tile.b) + a.prefetchBytes + i * prefetchLines * 64;
          tile.prefetchLines = prefetchLines;
          const float* table[MR];
          fillTable<MR, R>(fill, table, 1, tile.m, rows.height(i));
          computeRows<MR, NV, Bytes, R>(tile, rows.height(i), table, WinogradNone{});
        }
      }
    });

    parallel_ranges(threads, count, 4, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t image, top, left;
        place(first + t, image, top, left);
        const int64_t m = (image * a.height.out + top) * a.width.out + left;
        const int64_t height = a.height.out - top, width = a.width.out - left;
        winogradOutput<O, Bytes>(out + t * plan.outPitch, plan.outStride, a.y + m * a.yPixel,
                                 a.yPixel, a.width.out, m, height < O ? height : O,
                                 width < O ? width : O, a.OC, epilogue);
      }
    });
  }
}

ORTC_RT_ISA_END

#endif
