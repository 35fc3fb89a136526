// SPDX-License-Identifier: 0BSD
//
// Depthwise convolution in f32, channels last: each channel has a kernel of its own, so vectors run
// over channels and there is no matrix product in it. What limits it is loading, so neighbouring
// output pixels share their inputs:
//
//   depthwise_f32<TW, Tail, KW, SW, Bytes>(args, epilogue, threads)   KW taps and stride SW along
//   the last axis,
//                                                                     dilation 1 there; anything
//                                                                     along the others
//   depthwise_any_f32<Bytes>(args, epilogue, threads)                 any convolution of one to
//   three axes
//
// TW output pixels are computed at once, then Tail of what is left, then single ones: the caller
// who knows the width chooses both so that they add up. Columns outside of the image are pointers
// to zeros, rows outside are left out. The epilogue's m is the pixel's index over all images, n the
// channel.
#ifndef ORTC_KERNELS_DEPTHWISE_H
#define ORTC_KERNELS_DEPTHWISE_H

#include "targets/cpu/kernels/conv/conv.h"

ORTC_RT_ISA_BEGIN

struct DepthwiseArgs {
  const float* x;   // [images][depth][height][width][C]
  const float* w;   // packed: [ceil(C / lanes)][taps][lanes]
  float* y;         // [images][pixels][C], pixels yPixel floats apart
  float* workspace; // C floats; not used by depthwise_any_f32
  int64_t images, C;
  ConvAxis depth, height, width;
  int64_t xPixel, xRow, xPlane, xImage; // pitches of x in floats
  int64_t yPixel;
};

// The taps [begin, end) of an output that lie inside of the image, and where the first tap is.
struct TapRange {
  int64_t first, begin, end;
  TapRange(const ConvAxis& axis, int64_t o) {
    first = o * axis.stride - axis.pad;
    begin = first < 0 ? (axis.dilation - 1 - first) / axis.dilation : 0;
    const int64_t room = axis.in - first; // inputs from the first tap on
    end = room > 0 ? (room + axis.dilation - 1) / axis.dilation : 0;
    end = end < axis.kernel ? end : axis.kernel;
    if (end < begin) end = begin;
  }
};

// Work is cut into (row of outputs, block of channels). With many channels a block is chosen so
// that the rows that a kernel spans stay in L1 for the next row; below 128 channels that does not
// pay, and L2 holds them.
struct DepthwiseSplit {
  static constexpr int64_t kRowBytes = 24 * 1024, kFewChannels = 128;
  int64_t rows, rowTasks, channels, channelTasks;
  DepthwiseSplit(const DepthwiseArgs& a, int lanes, const executor& threads) {
    rows = a.images * a.depth.out * a.height.out;
    channels = kRowBytes / (4 * a.height.kernel * (a.width.in + 1));
    const int64_t blocks = a.C / (channels < kFewChannels ? kFewChannels : channels);
    channels = blocks < 2 ? a.C : (a.C / blocks + lanes - 1) / lanes * lanes;
    channels = channels < 1 ? 1 : channels;
    channelTasks = (a.C + channels - 1) / channels;
    const double flops = 2.0 * double(rows * a.width.out * a.C) *
                         double(a.depth.kernel * a.height.kernel * a.width.kernel);
    rowTasks = 1;
    if (threads.run && flops > 1e6) {
      rowTasks = (GemmSplit::kMostTasks + channelTasks - 1) / channelTasks;
      rowTasks = rowTasks < rows ? rowTasks : rows;
    }
  }
  // Calls body(row, c0, c1) for every row and block of channels.
  template <class Body>
  void run(const DepthwiseArgs& a, const executor& threads, const Body& body) {
    parallel_for(threads, rowTasks * channelTasks, [&](int64_t task) {
      const int64_t c0 = task % channelTasks * channels, rowTask = task / channelTasks;
      const int64_t c1 = c0 + channels < a.C ? c0 + channels : a.C;
      for (int64_t row = rows * rowTask / rowTasks; row < rows * (rowTask + 1) / rowTasks; ++row)
        body(row, c0, c1);
    });
  }
};

// TW outputs of one row. `columns` holds (TW - 1) * SW + KW pointers for each row of taps, the next
// row of taps is at the next pointers, and belongs to weights `tap`.
struct DepthwiseTile {
  const float* const* columns;
  const int64_t* taps; // index of the first tap of each row of taps
  int64_t rows;        // rows of taps inside of the image
  int64_t allTaps;
  const float* w;
  float* y;
  int64_t yPixel;
  int64_t m, c0, c1;
};

template <int TW, int KW, int SW, class V, class Epilogue>
ORTC_INLINE void depthwiseVector(const DepthwiseTile& t, int64_t c, int lanes,
                                 const Epilogue& epilogue) {
  constexpr int inputs = (TW - 1) * SW + KW;
  V acc[TW] = {};
  const float* const* column = t.columns;
  const float* w = t.w + c * t.allTaps;
  for (int64_t row = 0; row < t.rows; ++row, column += inputs) {
    V weight[KW];
#pragma GCC unroll 16
    for (int k = 0; k < KW; ++k)
      weight[k] = load<V>(w + (t.taps[row] + k) * lanes_of<V>);
#pragma GCC unroll 64
    for (int i = 0; i < inputs; ++i) {
      const V x = load_lanes<V>(column[i] + c, lanes);
#pragma GCC unroll 16
      for (int o = 0; o < TW; ++o)
        if (i - o * SW >= 0 && i - o * SW < KW) acc[o] = fma(x, weight[i - o * SW], acc[o]);
    }
  }
#pragma GCC unroll 16
  for (int o = 0; o < TW; ++o) {
    float* y = t.y + o * t.yPixel + c;
    const V out = epilogue(acc[o], t.m + o, c, lanes);
    if (lanes == lanes_of<V>)
      store<V>(y, out);
    else
      store_n<V>(y, out, lanes);
  }
}

template <int TW, int KW, int SW, int Bytes, class Epilogue>
ORTC_NOINLINE void depthwiseTile(const DepthwiseTile& t, const Epilogue& epilogueRef) {
  using V = vec<float, Bytes / 4>;
  constexpr int lanes = lanes_of<V>;
  const Epilogue epilogue = epilogueRef;
  int64_t c = t.c0;
  for (; c + lanes <= t.c1; c += lanes)
    depthwiseVector<TW, KW, SW, V>(t, c, lanes, epilogue);
  if (c < t.c1) depthwiseVector<TW, KW, SW, V>(t, c, int(t.c1 - c), epilogue);
}

// Rows of taps (depth x height) that a tile of the fast form may have.
constexpr int64_t kDepthwiseRows = 64;

template <int TW, int Tail, int KW, int SW, int Bytes, class Epilogue>
ORTC_NOINLINE void depthwise_f32(const DepthwiseArgs& a, const Epilogue& epilogue,
                                 const executor& threads) {
  static_assert(TW >= Tail && Tail >= 1, "the tail is not wider than the tile");
  DepthwiseSplit split(a, Bytes / 4, threads);
  for (int64_t c = 0; c < a.C; ++c)
    a.workspace[c] = 0.0f;
  // Images beyond the L2 cache are fetched ahead, row by row (3x3 stride 2, 96 channels @112: 200 >
  // 161 us).
  const int64_t newRows = a.height.in * a.xRow * 4 > 512 * 1024 ? a.height.stride : 0;

  split.run(a, threads, [&](int64_t row, int64_t c0, int64_t c1) {
    int64_t taps[kDepthwiseRows];
    const float* lines[kDepthwiseRows]; // the rows of x, at column 0
    const float* columns[kDepthwiseRows * ((TW - 1) * SW + KW)];
    const int64_t oh = row % a.height.out, od = row / a.height.out % a.depth.out;
    const TapRange d(a.depth, od), h(a.height, oh);
    const float* image = a.x + row / a.height.out / a.depth.out * a.xImage;
    DepthwiseTile t;
    t.rows = 0;
    for (int64_t kd = d.begin; kd < d.end; ++kd)
      for (int64_t kh = h.begin; kh < h.end; ++kh) {
        taps[t.rows] = (kd * a.height.kernel + kh) * KW;
        lines[t.rows++] = image + (d.first + kd * a.depth.dilation) * a.xPlane +
                          (h.first + kh * a.height.dilation) * a.xRow;
      }
    t.columns = columns;
    t.taps = taps;
    t.allTaps = a.depth.kernel * a.height.kernel * KW;
    t.w = a.w;
    t.yPixel = a.yPixel;
    t.c0 = c0;
    t.c1 = c1;
    int64_t ow = 0;
    const auto tile = [&](auto size) {
      constexpr int n = decltype(size)::value, inputs = (n - 1) * SW + KW;
      const int64_t w = ow * SW - a.width.pad;
      const bool whole = w >= 0 && w + inputs <= a.width.in;
      for (int64_t r = 0; r < t.rows; ++r)
        if (whole)
          for (int i = 0; i < inputs; ++i)
            columns[r * inputs + i] = lines[r] + (w + i) * a.xPixel;
        else
          for (int i = 0; i < inputs; ++i)
            columns[r * inputs + i] = uint64_t(w + i) < uint64_t(a.width.in)
                                          ? lines[r] + (w + i) * a.xPixel
                                          : a.workspace;
      t.m = row * a.width.out + ow;
      t.y = a.y + t.m * a.yPixel;
      // The rows of x that the next row of outputs will be the first to read, below this tile's own
      // columns.
      for (int64_t r = 0; r < newRows && t.rows > 0; ++r) {
        const float* below = lines[t.rows - 1] + (r + 1) * a.xRow + w * a.xPixel;
        for (int64_t i = 0; i < n * SW; ++i)
          for (int64_t c = c0; c < c1; c += 16)
            prefetch(below + i * a.xPixel + c);
      }
      depthwiseTile<n, KW, SW, Bytes>(t, epilogue);
      ow += n;
    };
    while (ow + TW <= a.width.out)
      tile(Constant<TW>{});
    while (ow + Tail <= a.width.out)
      tile(Constant<Tail>{});
    while (ow < a.width.out)
      tile(Constant<1>{});
  });
}

// NV vectors of channels of one output pixel.
template <int NV, class V, class Epilogue>
ORTC_INLINE void depthwisePixel(const DepthwiseArgs& a, const float* corner, const TapRange& d,
                                const TapRange& h, const TapRange& w, int64_t m, int64_t c,
                                int lanes, const Epilogue& epilogue) {
  const int64_t allTaps = a.depth.kernel * a.height.kernel * a.width.kernel;
  V acc[NV] = {};
  for (int64_t kd = d.begin; kd < d.end; ++kd)
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      const float* line =
          corner + kd * a.depth.dilation * a.xPlane + kh * a.height.dilation * a.xRow + c;
      const float* weight =
          a.w + c * allTaps + (kd * a.height.kernel + kh) * a.width.kernel * lanes_of<V>;
      for (int64_t kw = w.begin; kw < w.end; ++kw)
#pragma GCC unroll 4
        for (int j = 0; j < NV; ++j)
          acc[j] =
              fma(load_lanes<V>(line + kw * a.width.dilation * a.xPixel + j * lanes_of<V>, lanes),
                  load<V>(weight + (j * allTaps + kw) * lanes_of<V>), acc[j]);
    }
#pragma GCC unroll 4
  for (int j = 0; j < NV; ++j) {
    float* y = a.y + m * a.yPixel + c + j * lanes_of<V>;
    const V out = epilogue(acc[j], m, c + j * lanes_of<V>, lanes);
    if (lanes == lanes_of<V>)
      store<V>(y, out);
    else
      store_n<V>(y, out, lanes);
  }
}

template <int Bytes, class Epilogue>
ORTC_NOINLINE void depthwise_any_f32(const DepthwiseArgs& a, const Epilogue& epilogueRef,
                                     const executor& threads) {
  using V = vec<float, Bytes / 4>;
  constexpr int lanes = lanes_of<V>;
  DepthwiseSplit split(a, lanes, threads);
  split.run(a, threads, [&](int64_t row, int64_t c0, int64_t c1) {
    const Epilogue epilogue = epilogueRef;
    const int64_t oh = row % a.height.out, od = row / a.height.out % a.depth.out;
    const TapRange d(a.depth, od), h(a.height, oh);
    const float* image = a.x + row / a.height.out / a.depth.out * a.xImage;
    for (int64_t ow = 0; ow < a.width.out; ++ow) {
      const TapRange w(a.width, ow);
      const float* corner = image + d.first * a.xPlane + h.first * a.xRow + w.first * a.xPixel;
      const int64_t m = row * a.width.out + ow;
      int64_t c = c0;
      for (; c + 4 * lanes <= c1; c += 4 * lanes)
        depthwisePixel<4, V>(a, corner, d, h, w, m, c, lanes, epilogue);
      for (; c + lanes <= c1; c += lanes)
        depthwisePixel<1, V>(a, corner, d, h, w, m, c, lanes, epilogue);
      if (c < c1) depthwisePixel<1, V>(a, corner, d, h, w, m, c, int(c1 - c), epilogue);
    }
  });
}

ORTC_RT_ISA_END

#endif
