// SPDX-License-Identifier: 0BSD
//
// Convolution of 8-bit numbers of one to three spatial axes, channels last, summed in 32 bits, with
// any stride, dilation, padding and groups:
//
//   conv8<MR, NV, Bytes, Group, Unsigned, Offsets>(args, epilogue, threads)
//
// It is the product of gemm8.h whose rows are gathered: the numbers of all taps of an output pixel,
// one behind the other, are staged where a row of A would be. Staging copies a row in any case, so
// that taps outside of the image cost nothing more; they are the zero point of the input.
#ifndef ORTC_KERNELS_CONV8_H
#define ORTC_KERNELS_CONV8_H

#include "targets/cpu/kernels/conv/conv.h"
#include "targets/cpu/kernels/gemm8/gemm8.h"

ORTC_RT_ISA_BEGIN

template <class Out> struct Conv8Args {
  const int8_t* x; // [images][depth][height][width][channels]
  const int8_t* w; // packed panels of each group, K = [taps][IC]; of conv8_depthwise see there
  const int8_t* padding = nullptr; // what lies around the image, one number; null: 0
  Out* y;                          // [images][pixels][channels], pixels yPixel elements apart
  float* workspace;                // conv8WorkspaceBytes() bytes
  int64_t images;
  int64_t IC, OC; // of one group
  int64_t groups;
  ConvAxis depth, height, width;
  int64_t xPixel, xRow, xPlane, xImage; // pitches of x in numbers
  int64_t yPixel;
};

// A row of all taps for each task.
inline int64_t conv8RowBytes(int64_t K) {
  return (K + 63) / 64 * 64;
}
inline int64_t conv8WorkspaceBytes(int64_t K) {
  return GemmSplit::kMostTasks * conv8RowBytes(K);
}

// A few bytes: a call of memcpy takes longer than most of these copies.
ORTC_INLINE void copyBytes(int8_t* to, const int8_t* from, int64_t n) {
  const auto piece = [&](auto zero, int64_t at) {
    __builtin_memcpy(&zero, from + at, sizeof zero);
    __builtin_memcpy(to + at, &zero, sizeof zero);
  };
  if (n >= 16) {
    for (int64_t i = 0; i + 16 <= n; i += 16)
      piece(vec<int8_t, 16>{}, i);
    piece(vec<int8_t, 16>{}, n - 16);
  } else if (n >= 8) {
    piece(uint64_t(), 0), piece(uint64_t(), n - 8);
  } else if (n >= 4) {
    piece(uint32_t(), 0), piece(uint32_t(), n - 4);
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = from[i];
  }
}

ORTC_INLINE bool inside(const ConvAxis& axis, int64_t i) {
  return uint64_t(i) < uint64_t(axis.in);
}

// Output pixels one after the other, without a division for each.
template <class Out> class PixelWalk {
public:
  explicit PixelWalk(const Conv8Args<Out>& a) : a(a) {}

  // To pixel m of all images.
  ORTC_INLINE void moveTo(int64_t m) {
    if (m != pixel + 1 || ++ow == a.width.out) {
      ow = m % a.width.out, oh = m / a.width.out % a.height.out;
      const int64_t plane = m / a.width.out / a.height.out;
      od = plane % a.depth.out, image = plane / a.depth.out;
      line = a.x + image * a.xImage + start(a.depth, od) * a.xPlane + start(a.height, oh) * a.xRow;
    }
    pixel = m;
  }

  // The numbers of all taps; in place where they lie side by side, else copied.
  ORTC_NOINLINE const int8_t* gather(int64_t channel, int8_t* copy) const {
    const int64_t d = start(a.depth, od), h = start(a.height, oh), w = start(a.width, ow);
    const int8_t* from = line + w * a.xPixel + channel;
    const int64_t taps = a.depth.kernel * a.height.kernel * a.width.kernel;
    if (taps == 1 && inside(a.depth, d) && inside(a.height, h) && inside(a.width, w)) return from;
    // All taps of a line lie in the image, side by side: one copy.
    const bool dense =
        a.xPixel == a.IC && a.width.dilation == 1 && w >= 0 && w + a.width.kernel <= a.width.in;
    const int8_t around = a.padding ? *a.padding : int8_t(0);
    const int64_t lineBytes = a.width.kernel * a.IC;
    int8_t* to = copy;
    for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
      for (int64_t kh = 0; kh < a.height.kernel; ++kh) {
        const int8_t* taps0 =
            from + kd * a.depth.dilation * a.xPlane + kh * a.height.dilation * a.xRow;
        if (!inside(a.depth, d + kd * a.depth.dilation) ||
            !inside(a.height, h + kh * a.height.dilation)) {
          __builtin_memset(to, around, size_t(lineBytes));
          to += lineBytes;
        } else if (dense) {
          copyBytes(to, taps0, lineBytes);
          to += lineBytes;
        } else {
          for (int64_t kw = 0; kw < a.width.kernel; ++kw, to += a.IC)
            if (inside(a.width, w + kw * a.width.dilation))
              copyBytes(to, taps0 + kw * a.width.dilation * a.xPixel, a.IC);
            else
              __builtin_memset(to, around, size_t(a.IC));
        }
      }
    return copy;
  }

private:
  ORTC_INLINE static int64_t start(const ConvAxis& axis, int64_t out) {
    return out * axis.stride - axis.pad;
  }

  const Conv8Args<Out>& a;
  int64_t pixel = -2, ow = 0, oh = 0, od = 0, image = 0;
  const int8_t* line = nullptr; // where the first tap of the line's first pixel is, or would be
};

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets, class Out,
          class Epilogue>
ORTC_NOINLINE void conv8(const Conv8Args<Out>& a, const Epilogue& epilogue,
                         const executor& threads) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t pixels = a.images * a.depth.out * a.height.out * a.width.out;
  if (pixels <= 0 || a.OC <= 0) return;
  const int64_t K = a.depth.kernel * a.height.kernel * a.width.kernel * a.IC;
  const int64_t height = blockRows8<MR, Group, Offsets>(K), blocks = (pixels + height - 1) / height;
  const int64_t panels = (a.OC + NR - 1) / NR; // of one group
  const int64_t groupBytes = panels * panelBytes8<Group, Offsets>(unitsOf<Group>(K), NR);
  // Rows are gathered once for all channels: tasks are pixels.
  const GemmSplit split(threads, double(pixels) * double(a.groups * a.OC) * double(K), 1, blocks,
                        1);
  parallel_for(threads, split.rowTasks, [&](int64_t task) {
    int8_t* const copy = reinterpret_cast<int8_t*>(a.workspace) + task * conv8RowBytes(K);
    PixelWalk<Out> walk(a);
    for (int64_t g = 0; g < a.groups; ++g) {
      const Rows8<Out> s{
          a.w + g * groupBytes, a.y + g * a.OC, a.yPixel, pixels, a.OC, K, 0, g * a.OC};
      const auto stage = [&](int64_t m, uint32_t* units) {
        walk.moveTo(m);
        stageRow<Group, Unsigned, Bytes>(walk.gather(g * a.IC, copy), K, units);
      };
      computeBlocks8<MR, NV, Bytes, Group, Offsets>(s, blocks * task / split.rowTasks,
                                                    blocks * (task + 1) / split.rowTasks, 0, panels,
                                                    stage, epilogue);
    }
  });
}

// Depthwise: one input and one output channel for each group, so that channels are lanes.
//
//   conv8_depthwise<Bytes, Unsigned, Weight>(args, epilogue, threads)
//
// Weights lie as [taps][groups], in 8 bits, or in 16 (numbers of 9 bits: u8 less a zero point); the
// workspace is a row of padding, `groups` bytes.
constexpr int64_t kMostTaps8 = 128;

// Products of 8-bit numbers fit 16 bits, others 32, in which all are summed.
template <bool Unsigned, class V, class W>
ORTC_INLINE V addProducts8(V acc, like<int8_t, V> x, W w) {
  const auto wide = widen8<Unsigned>(x);
  if constexpr (sizeof(elem_of<W>) == 1)
    return acc + convert<int32_t>(like<int16_t, V>(wide * convert<int16_t>(w)));
  else
    return acc + convert<int32_t>(wide) * convert<int32_t>(w);
}

template <int Bytes, bool Unsigned, class Weight, class Out, class Epilogue>
ORTC_NOINLINE void conv8_depthwise(const Conv8Args<Out>& a, const Epilogue& epilogueRef,
                                   const executor& threads) {
  using V = vec<int32_t, Bytes / 4>;
  using B = like<int8_t, V>;
  using W = like<Weight, V>;
  using R = like<Out, V>;
  constexpr int lanes = lanes_of<V>;
  const int64_t C = a.groups, lines = a.images * a.depth.out * a.height.out;
  auto* const around = reinterpret_cast<int8_t*>(a.workspace);
  __builtin_memset(around, a.padding ? *a.padding : 0, size_t(C));
  const auto* weights = reinterpret_cast<const Weight*>(a.w);
  parallel_for(threads, lines, [&](int64_t line) {
    const Epilogue epilogue = epilogueRef;
    const int64_t oh = line % a.height.out, od = line / a.height.out % a.depth.out;
    const int64_t d0 = od * a.depth.stride - a.depth.pad, h0 = oh * a.height.stride - a.height.pad;
    const int8_t* image = a.x + line / a.height.out / a.depth.out * a.xImage;
    for (int64_t ow = 0; ow < a.width.out; ++ow) {
      const int8_t* rows[kMostTaps8];
      int64_t taps = 0;
      for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
        for (int64_t kh = 0; kh < a.height.kernel; ++kh) {
          const int64_t d = d0 + kd * a.depth.dilation, h = h0 + kh * a.height.dilation;
          const bool there = inside(a.depth, d) && inside(a.height, h);
          for (int64_t kw = 0; kw < a.width.kernel; ++kw) {
            const int64_t w = ow * a.width.stride - a.width.pad + kw * a.width.dilation;
            rows[taps++] = there && inside(a.width, w)
                               ? image + d * a.xPlane + h * a.xRow + w * a.xPixel
                               : around;
          }
        }
      const int64_t m = line * a.width.out + ow;
      Out* y = a.y + m * a.yPixel;
      int64_t c = 0;
      for (; c + lanes <= C; c += lanes) {
        V acc = {};
        for (int64_t t = 0; t < taps; ++t)
          acc = addProducts8<Unsigned>(acc, load<B>(rows[t] + c), load<W>(weights + t * C + c));
        store<R>(y + c, epilogue(acc, m, c, lanes));
      }
      if (c < C) {
        const int rest = int(C - c);
        V acc = {};
        for (int64_t t = 0; t < taps; ++t)
          acc = addProducts8<Unsigned>(acc, load_n<B>(rows[t] + c, rest),
                                       load_n<W>(weights + t * C + c, rest));
        store_n<R>(y + c, epilogue(acc, m, c, rest), rest);
      }
    }
  });
}

ORTC_RT_ISA_END

#endif
