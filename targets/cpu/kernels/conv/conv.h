// SPDX-License-Identifier: 0BSD
//
// Convolution in f32 of one to three spatial axes, channels last, with any stride, dilation, padding and groups.
//
//   conv_f32<MR, NV, Bytes, Rows>(args, epilogue, threads)
//
// It is a matrix product whose rows are gathered: for a tile of MR output pixels, a table of pointers says where the
// channels of each kernel tap lie, and taps outside of the image point at zeros. So nothing is copied, and edges cost
// nothing in the inner loop. With few input channels a tap is too short for that; then the taps along the last axis,
// which lie beside each other in memory, are one longer row, and only the rows that cross an edge are copied.
//
// The output is (image, pixel) rows by channels: the epilogue's m is the pixel's index over all images, n the channel.
#ifndef ORTC_KERNELS_CONV_H
#define ORTC_KERNELS_CONV_H

#include "targets/cpu/kernels/gemm/gemm.h"

ORTC_RT_ISA_BEGIN

struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0; // pad: at the beginning
};

struct ConvArgs {
  const float* x; // [images][depth][height][width][channels]
  const float* w; // packed: [groups][ceil(OC / NR)][taps][IC][NR]
  float* y;       // [images][pixels][channels], pixels yPixel floats apart
  float* workspace; // convWorkspaceFloats() floats
  int64_t images;
  int64_t IC, OC; // of one group
  int64_t groups;
  int64_t firstChannel = 0; // what the epilogue calls the first output channel
  ConvAxis depth, height, width;
  int64_t xPixel, xRow, xPlane, xImage; // pitches of x in floats
  int64_t yPixel;
  int64_t prefetchBytes = 0; // as in GemmArgs
};

// Pointers of one group of tiles. More tiles share one pass over the weights; this many stay in L1.
constexpr int64_t kConvTable = 2048;
// Below this many input channels, taps of one kernel row are taken together.
constexpr int64_t kConvFewChannels = 16;

enum class ConvRow {
  Pixel, // a row of the table is one tap of one pixel
  Line,  // ... all taps along the last axis; copied where it crosses an edge or is not contiguous
  Whole  // ... all taps, always copied: kernels of hundreds of taps
};

// How rows are gathered, and what the planner has to provide for it.
struct ConvPlan {
  ConvRow row = ConvRow::Pixel;
  int64_t taps;      // rows of the table per pixel
  int64_t k;         // floats of one row
  int64_t zeros;     // floats at the start of the workspace
  int64_t patch = 0; // floats of copied rows behind them, per task

  ConvPlan(const ConvArgs& a, int MR) {
    const int64_t lines = a.depth.kernel * a.height.kernel;
    const int64_t all = lines * a.width.kernel;
    if (lines * MR > kConvTable)
      row = ConvRow::Whole;
    else if (all * MR > kConvTable ||
             (a.width.kernel > 1 && a.groups == 1 && a.IC < kConvFewChannels))
      row = ConvRow::Line;
    taps = row == ConvRow::Pixel ? all : row == ConvRow::Line ? lines : 1;
    k = all / taps * a.IC;
    zeros = ((a.groups - 1) * a.IC + k + 15) / 16 * 16;
    if (row != ConvRow::Pixel)
      patch = (MR * taps * k + 15) / 16 * 16;
  }
};

inline int64_t convWorkspaceFloats(const ConvArgs& a, int MR) {
  const ConvPlan plan(a, MR);
  return plan.zeros + GemmSplit::kMostTasks * plan.patch;
}

// Fills the table of row pointers. One of these belongs to a task and walks its pixels.
struct ConvRows {
  const ConvArgs& a;
  const ConvPlan& plan;
  const float* zeros;
  float* copy;    // where the next copied row goes

  // True if every tap from `first` on lies inside of the axis.
  static bool inside(const ConvAxis& axis, int64_t first) {
    return first >= 0 && first + (axis.kernel - 1) * axis.dilation < axis.in;
  }
  static bool inside1(const ConvAxis& axis, int64_t i) { return uint64_t(i) < uint64_t(axis.in); }

  // Writes table[tap * height + r], the rows of output pixel m + r.
  void operator()(const float** table, int64_t m, int height) {
    int64_t ow = m % a.width.out, rest = m / a.width.out;
    int64_t oh = rest % a.height.out;
    rest /= a.height.out;
    int64_t od = rest % a.depth.out, image = rest / a.depth.out;
    for (int r = 0; r < height; ++r) {
      const int64_t d = od * a.depth.stride - a.depth.pad;
      const int64_t h = oh * a.height.stride - a.height.pad;
      const int64_t w = ow * a.width.stride - a.width.pad;
      const float* corner =
          a.x + image * a.xImage + d * a.xPlane + h * a.xRow + w * a.xPixel;
      if (plan.row != ConvRow::Pixel)
        longRows(table + r, height, corner, d, h, w);
      else
        pixelRows(table + r, height, corner, d, h, w);
      if (++ow == a.width.out) {
        ow = 0;
        if (++oh == a.height.out) {
          oh = 0;
          if (++od == a.depth.out) {
            od = 0;
            ++image;
          }
        }
      }
    }
  }

private:
  void pixelRows(const float** row, int height, const float* corner, int64_t d, int64_t h,
                 int64_t w) const {
    const bool whole = inside(a.depth, d) && inside(a.height, h) && inside(a.width, w);
    const int64_t step = a.width.dilation * a.xPixel;
    for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
      for (int64_t kh = 0; kh < a.height.kernel; ++kh) {
        const float* p =
            corner + kd * a.depth.dilation * a.xPlane + kh * a.height.dilation * a.xRow;
        if (whole) {
          for (int64_t kw = 0; kw < a.width.kernel; ++kw, p += step, row += height)
            *row = p;
          continue;
        }
        const bool line = inside1(a.depth, d + kd * a.depth.dilation) &&
                          inside1(a.height, h + kh * a.height.dilation);
        for (int64_t kw = 0; kw < a.width.kernel; ++kw, p += step, row += height)
          *row = line && inside1(a.width, w + kw * a.width.dilation) ? p : zeros;
      }
  }

  void longRows(const float** row, int height, const float* corner, int64_t d, int64_t h,
                int64_t w) {
    const bool whole = plan.row == ConvRow::Whole;
    const bool inPlace = !whole && a.xPixel == a.IC && a.width.dilation == 1 && inside(a.width, w);
    if (inPlace && inside(a.depth, d) && inside(a.height, h)) {
      for (int64_t kd = 0; kd < a.depth.kernel; ++kd) {
        const float* p = corner + kd * a.depth.dilation * a.xPlane;
        for (int64_t kh = 0; kh < a.height.kernel; ++kh, row += height, p += a.height.dilation * a.xRow)
          *row = p;
      }
      return;
    }
    if (whole)
      *row = copy;
    for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
      for (int64_t kh = 0; kh < a.height.kernel; ++kh) {
        const float* p =
            corner + kd * a.depth.dilation * a.xPlane + kh * a.height.dilation * a.xRow;
        const bool line = inside1(a.depth, d + kd * a.depth.dilation) &&
                          inside1(a.height, h + kh * a.height.dilation);
        if (!whole) {
          *row = line ? inPlace ? p : copy : zeros;
          row += height;
          if (!line || inPlace)
            continue;
        }
        for (int64_t kw = 0; kw < a.width.kernel; ++kw, p += a.width.dilation * a.xPixel) {
          const bool there = line && inside1(a.width, w + kw * a.width.dilation);
          for (int64_t c = 0; c < a.IC; ++c)
            *copy++ = there ? p[c] : 0.0f;
        }
      }
  }
};

template <int MR, int NV, int Bytes, Rows R = Rows::Any, class Epilogue>
ORTC_NOINLINE void conv_f32(const ConvArgs& a, const Epilogue& epilogue, const executor& threads) {
  constexpr int64_t NR = NV * Bytes / 4;
  const ConvPlan plan(a, MR);
  const int64_t pixels = a.images * a.depth.out * a.height.out * a.width.out;
  if (pixels <= 0 || a.OC <= 0)
    return;
  const int64_t panels = (a.OC + NR - 1) / NR; // of one group
  const int64_t panelFloats = plan.taps * plan.k * NR;
  if (plan.row != ConvRow::Pixel && a.groups > 1) { // copied rows hold the channels of one group
    ConvArgs one = a;
    one.groups = 1;
    for (int64_t g = 0; g < a.groups; ++g) {
      conv_f32<MR, NV, Bytes, R>(one, epilogue, threads);
      one.x += a.IC, one.y += a.OC, one.w += panels * panelFloats, one.firstChannel += a.OC;
    }
    return;
  }

  const RowBlocks<MR, R> blocks(pixels);
  GemmSplit split(threads, 2.0 * double(pixels * a.groups) * double(a.OC) * double(plan.taps * plan.k),
                  1, blocks.count, a.groups * panels);
  int64_t group = kConvTable / (plan.taps * MR);
  if (a.groups * panels * panelFloats * 4 <= kGemmSmallB)
    group = rowGroup(group, MR, plan.taps * plan.k / 2, a.groups * a.OC);
  if (plan.row != ConvRow::Pixel) { // copied rows serve all channels, one tile at a time
    split.rowTasks *= split.panelTasks;
    split.rowTasks = split.rowTasks < blocks.count ? split.rowTasks : blocks.count;
    split.panelTasks = 1;
    group = 1;
  }
  const int64_t prefetchLines =
      a.prefetchBytes ? (panelFloats * 4 / blocks.count + 63) / 64 : 0;
  for (int64_t i = 0; i < plan.zeros; ++i)
    a.workspace[i] = 0.0f;

  parallel_for(threads, split.rowTasks * split.panelTasks, [&](int64_t task) {
    const int64_t panelTask = task % split.panelTasks, rowTask = task / split.panelTasks;
    const int64_t panelBegin = a.groups * panels * panelTask / split.panelTasks;
    const int64_t panelEnd = a.groups * panels * (panelTask + 1) / split.panelTasks;
    const int64_t blockEnd = blocks.count * (rowTask + 1) / split.rowTasks;
    const float* table[kConvTable];
    float* const copies = a.workspace + plan.zeros + rowTask * plan.patch;
    ConvRows rows{a, plan, a.workspace, copies};

    for (int64_t i0 = blocks.count * rowTask / split.rowTasks; i0 < blockEnd; i0 += group) {
      const int64_t i1 = i0 + group < blockEnd ? i0 + group : blockEnd;
      const float** end = table;
      rows.copy = copies;
      for (int64_t i = i0; i < i1; ++i)
        end = fillTable<MR, R>(rows, end, plan.taps, blocks.begin(i), blocks.height(i));
      for (int64_t p = panelBegin; p < panelEnd; ++p) {
        const int64_t g = p / panels, channel = (p - g * panels) * NR;
        TileArgs tile;
        tile.rowOffset = g * a.IC;
        tile.b = a.w + p * panelFloats;
        tile.bStep = NR;
        tile.taps = plan.taps;
        tile.k = plan.k;
        tile.ldc = a.yPixel;
        tile.n = a.firstChannel + g * a.OC + channel;
        tile.columns = a.OC - channel;
        const float** next = table;
        for (int64_t i = i0; i < i1; ++i) {
          tile.m = blocks.begin(i);
          tile.c = a.y + tile.m * a.yPixel + g * a.OC + channel;
          tile.prefetch = reinterpret_cast<const char*>(tile.b) + a.prefetchBytes +
                          i * prefetchLines * 64;
          tile.prefetchLines = prefetchLines;
          next = computeRows<MR, NV, Bytes, R>(tile, blocks.height(i), next, epilogue);
        }
      }
    }
  });
}

ORTC_RT_ISA_END

#endif
