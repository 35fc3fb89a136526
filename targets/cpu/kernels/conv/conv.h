// SPDX-License-Identifier: 0BSD
//
// Convolution in f32 of one to three spatial axes, channels last, with any stride, dilation,
// padding and groups.
//
//   conv_f32<MR, NV, Bytes, Rows>(args, epilogue, threads)
//
// It is a matrix product whose rows are gathered: for a tile of MR output pixels, a table of
// pointers says where the channels of each kernel tap lie, and taps outside of the image point at
// zeros. So nothing is copied, and edges cost nothing in the inner loop; a tap that no pixel of the
// tile has is left out (most of a kernel that is dilated by more than the image). With few input
// channels a tap is too short for that; then the taps along the last axis, which lie beside each
// other in memory, are one longer row, and only the rows that cross an edge are copied.
//
// The output is (image, pixel) rows by channels: the epilogue's m is the pixel's index over all
// images, n the channel.
#ifndef ORTC_KERNELS_CONV_H
#define ORTC_KERNELS_CONV_H

#include "targets/cpu/kernels/gemm/gemm.h"

ORTC_RT_ISA_BEGIN

struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0; // pad: at the beginning
};

struct ConvArgs {
  const float* x;   // [images][depth][height][width][channels]
  const float* w;   // packed: [groups][ceil(OC / NR)][taps][IC][NR]
  float* y;         // [images][pixels][channels], pixels yPixel floats apart
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
    if (row != ConvRow::Pixel) patch = (MR * taps * k + 15) / 16 * 16;
  }
};

inline int64_t convWorkspaceFloats(const ConvArgs& a, int MR) {
  const ConvPlan plan(a, MR);
  return plan.zeros + GemmSplit::kMostTasks * plan.patch;
}

// Fills the table of row pointers. Each task has one, and walks its pixels in order.
class ConvRows {
public:
  ConvRows(const ConvArgs& args, const ConvPlan& p, const float* zeroRow)
      : a(args), plan(p), zeros(zeroRow) {
    // Output columns whose taps all lie inside of the image's width; empty when rows have to be
    // copied.
    const int64_t reach = a.width.in + a.width.pad - (a.width.kernel - 1) * a.width.dilation;
    const bool dense = a.xPixel == a.IC && a.width.dilation == 1;
    if (plan.row == ConvRow::Pixel || (plan.row == ConvRow::Line && dense)) {
      innerBegin = (a.width.pad + a.width.stride - 1) / a.width.stride;
      innerEnd = reach > 0 ? (reach - 1) / a.width.stride + 1 : 0;
      innerEnd = innerEnd < a.width.out ? innerEnd : a.width.out;
    }
  }

  // Copied rows go to p from now on.
  void copyTo(float* p) { copy = p; }

  // Writes table[tap * height + r], the rows of output pixel m + r.
  template <int height> void operator()(const float** table, int64_t m, Constant<height>) {
    if (m != next) seek(m);
    next = m + height;
    for (int r = 0; r < height;) {
      int64_t n = 1;
      if (ow >= innerBegin && ow < innerEnd) {
        n = innerEnd - ow < height - r ? innerEnd - ow : height - r;
        if (n == height)
          innerPixels<height>(table, height);
        else
          innerPixels<height>(table + r, n);
      } else if (plan.row == ConvRow::Pixel) {
        edgePixel(table + r, height);
      } else {
        copyPixel(table + r, height);
      }
      r += int(n);
      ow += n;
      if (ow == a.width.out) {
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
  void seek(int64_t m) {
    ow = m % a.width.out;
    m /= a.width.out;
    oh = m % a.height.out;
    m /= a.height.out;
    od = m % a.depth.out;
    image = m / a.depth.out;
  }

  static bool inside(const ConvAxis& axis, int64_t i) { return uint64_t(i) < uint64_t(axis.in); }
  static int64_t first(const ConvAxis& axis, int64_t o) { return o * axis.stride - axis.pad; }

  // Calls line(p, there) for each row of taps along the last axis: p is the first tap, and `there`
  // tells whether the row lies in the image.
  template <class Line> ORTC_INLINE void forLines(const Line& line) const {
    const int64_t d = first(a.depth, od), h = first(a.height, oh);
    const float* corner =
        a.x + image * a.xImage + d * a.xPlane + h * a.xRow + first(a.width, ow) * a.xPixel;
    for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
      for (int64_t kh = 0; kh < a.height.kernel; ++kh)
        line(corner + kd * a.depth.dilation * a.xPlane + kh * a.height.dilation * a.xRow,
             inside(a.depth, d + kd * a.depth.dilation) &&
                 inside(a.height, h + kh * a.height.dilation));
  }

  // n neighbours at once: their pointers are equally spaced.
  template <int height> ORTC_INLINE void innerPixels(const float** row, int64_t n) const {
    const int64_t pixel = a.width.stride * a.xPixel, tap = a.width.dilation * a.xPixel;
    const int64_t taps = plan.row == ConvRow::Pixel ? a.width.kernel : 1;
    forLines([&](const float* p, bool there) {
      const int64_t step = there ? pixel : 0, next = there ? tap : 0;
      p = there ? p : zeros;
      for (int64_t kw = 0; kw < taps; ++kw, row += height, p += next)
        for (int64_t i = 0; i < n; ++i)
          row[i] = p + i * step;
    });
  }

  void edgePixel(const float** row, int height) const {
    const int64_t w = first(a.width, ow);
    forLines([&](const float* p, bool there) {
      for (int64_t kw = 0; kw < a.width.kernel; ++kw, row += height)
        *row = there && inside(a.width, w + kw * a.width.dilation)
                   ? p + kw * a.width.dilation * a.xPixel
                   : zeros;
    });
  }

  void copyPixel(const float** row, int height) {
    const bool whole = plan.row == ConvRow::Whole;
    const int64_t w = first(a.width, ow);
    if (whole) *row = copy;
    forLines([&](const float* p, bool there) {
      if (!whole) {
        *row = there ? copy : zeros;
        row += height;
        if (!there) return;
      }
      for (int64_t kw = 0; kw < a.width.kernel; ++kw, p += a.width.dilation * a.xPixel) {
        const bool tap = there && inside(a.width, w + kw * a.width.dilation);
        for (int64_t c = 0; c < a.IC; ++c)
          *copy++ = tap ? p[c] : 0.0f;
      }
    });
  }

  const ConvArgs& a;
  const ConvPlan& plan;
  const float* zeros;
  float* copy = nullptr; // where the next copied row goes
  int64_t innerBegin = 0, innerEnd = 0;
  int64_t image = 0, od = 0, oh = 0, ow = 0, next = 0; // the pixel that comes next
};

template <int MR, int NV, int Bytes, Rows R = Rows::Any, class Epilogue>
ORTC_NOINLINE void conv_f32(const ConvArgs& a, const Epilogue& epilogue, const executor& threads) {
  constexpr int64_t NR = NV * Bytes / 4;
  const ConvPlan plan(a, MR);
  const int64_t pixels = a.images * a.depth.out * a.height.out * a.width.out;
  if (pixels <= 0 || a.OC <= 0) return;
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
  GemmSplit split(threads,
                  2.0 * double(pixels * a.groups) * double(a.OC) * double(plan.taps * plan.k), 1,
                  blocks.count, a.groups * panels);
  int64_t group = kConvTable / (plan.taps * MR);
  if (a.groups * panels * panelFloats * 4 <= kGemmSmallB)
    group = rowGroup(group, MR, plan.taps * plan.k / 2, a.groups * a.OC);
  if (plan.row != ConvRow::Pixel) { // copied rows serve all channels, one tile at a time
    split.rowTasks *= split.panelTasks;
    split.rowTasks = split.rowTasks < blocks.count ? split.rowTasks : blocks.count;
    split.panelTasks = 1;
    group = 1;
  }
  const int64_t prefetchLines = a.prefetchBytes ? (panelFloats * 4 / blocks.count + 63) / 64 : 0;
  for (int64_t i = 0; i < plan.zeros; ++i)
    a.workspace[i] = 0.0f;

  parallel_for(threads, split.rowTasks * split.panelTasks, [&](int64_t task) {
    const int64_t panelTask = task % split.panelTasks, rowTask = task / split.panelTasks;
    const int64_t panelBegin = a.groups * panels * panelTask / split.panelTasks;
    const int64_t panelEnd = a.groups * panels * (panelTask + 1) / split.panelTasks;
    const int64_t blockEnd = blocks.count * (rowTask + 1) / split.rowTasks;
    const float* table[kConvTable];
    float* const copies = a.workspace + plan.zeros + rowTask * plan.patch;
    ConvRows rows(a, plan, a.workspace);

    for (int64_t i0 = blocks.count * rowTask / split.rowTasks; i0 < blockEnd; i0 += group) {
      const int64_t i1 = i0 + group < blockEnd ? i0 + group : blockEnd;
      const float** end = table;
      rows.copyTo(copies);
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
        if (plan.row == ConvRow::Pixel && plan.taps > 1) tile.zeros = a.workspace;
        const float** next = table;
        for (int64_t i = i0; i < i1; ++i) {
          tile.m = blocks.begin(i);
          tile.c = a.y + tile.m * a.yPixel + g * a.OC + channel;
          tile.prefetch =
              reinterpret_cast<const char*>(tile.b) + a.prefetchBytes + i * prefetchLines * 64;
          tile.prefetchLines = prefetchLines;
          next = computeRows<MR, NV, Bytes, R>(tile, blocks.height(i), next, epilogue);
        }
      }
    }
  });
}

ORTC_RT_ISA_END

#endif
