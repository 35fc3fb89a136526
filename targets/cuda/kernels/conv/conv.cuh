// SPDX-License-Identifier: 0BSD
//
// Convolution in f32 of one to three spatial axes, channels last, with any stride, dilation,
// padding and groups, as a matrix product whose left operand is never stored: its rows are output
// pixels, its k runs over taps and the input channels of each, and what a tap outside of the image
// would read is zero.
//
//   ORTC_LAUNCH((conv_f32<Tile<BM, BN, BK, TM, TN>, Epilogue>), grid, block, 0, stream, args,
//               epilogue)
//
// The grid is (ceil(pixels / BM), ceil(OC / BN), groups), pixels counted over all images; less of
// it in y and z is made up by loops. The epilogue's m is the pixel, n the channel over all groups.
#ifndef ORTC_CUDA_KERNELS_CONV_CUH
#define ORTC_CUDA_KERNELS_CONV_CUH

#include "../tile/tile.cuh"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

struct ConvAxis {
  int in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0; // pad: at the beginning
};

struct ConvArgs {
  const float* x; // [images][depth][height][width][channels]
  const float* w; // [groups][taps][IC][OC]
  float* y;       // [pixels][channels], pixels yPixel floats apart
  int64_t pixels; // of all images
  int IC, OC;     // of one group
  int groups = 1;
  ConvAxis depth, height, width;
  int64_t xPixel, xRow, xPlane, xImage; // distances in x in floats
  int64_t yPixel;
};

// The left operand. A cursor knows its pixel, and at which tap and channel it is.
struct ConvSource {
  static constexpr Along along = Along::K;
  const ConvArgs& conv;
  const float* x; // the first channel of the group
  bool whole;     // four channels are of one tap, side by side and aligned

  ORTC_DEV ConvSource(const ConvArgs& conv, int group)
      : conv(conv), x(conv.x + static_cast<int64_t>(group) * conv.IC) {
    whole = conv.IC % 4 == 0 && is_aligned(x) &&
            (conv.xPixel | conv.xRow | conv.xPlane | conv.xImage) % 4 == 0;
  }

  struct Cursor {
    const float* image;
    int depth, height, width; // of the first tap, in the input
    int kd, kh, kw, channel;
  };
  ORTC_DEV Cursor at(int64_t pixel, int k) const {
    Cursor c{x, 0, 0, 0, 0, 0, 0, 0};
    if (pixel >= conv.pixels) {
      c.kd = conv.depth.kernel; // beyond the last tap: reads nothing
      return c;
    }
    const int64_t rows = pixel / conv.width.out, planes = rows / conv.height.out;
    c.width = static_cast<int>(pixel % conv.width.out) * conv.width.stride - conv.width.pad;
    c.height = static_cast<int>(rows % conv.height.out) * conv.height.stride - conv.height.pad;
    c.depth = static_cast<int>(planes % conv.depth.out) * conv.depth.stride - conv.depth.pad;
    c.image += planes / conv.depth.out * conv.xImage;
    advance(c, k);
    return c;
  }
  ORTC_DEV void advance(Cursor& c, int steps) const {
    c.channel += steps;
    while (c.channel >= conv.IC && c.kd < conv.depth.kernel) {
      c.channel -= conv.IC;
      if (++c.kw < conv.width.kernel) continue;
      c.kw = 0;
      if (++c.kh < conv.height.kernel) continue;
      c.kh = 0;
      ++c.kd;
    }
  }
  // The element of x at the cursor; null where there is none.
  ORTC_DEV const float* element(const Cursor& c) const {
    const int d = c.depth + c.kd * conv.depth.dilation, h = c.height + c.kh * conv.height.dilation,
              w = c.width + c.kw * conv.width.dilation;
    const bool inside = c.kd < conv.depth.kernel && d >= 0 && d < conv.depth.in && h >= 0 &&
                        h < conv.height.in && w >= 0 && w < conv.width.in;
    return inside ? c.image + d * conv.xPlane + h * conv.xRow + w * conv.xPixel + c.channel
                  : nullptr;
  }
  ORTC_DEV float4 load(Cursor c) const {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (whole) {
      if (const float* p = element(c)) v = load_vector<float4>(p);
      return v;
    }
    if (const float* p = element(c)) v.x = *p;
    advance(c, 1);
    if (const float* p = element(c)) v.y = *p;
    advance(c, 1);
    if (const float* p = element(c)) v.z = *p;
    advance(c, 1);
    if (const float* p = element(c)) v.w = *p;
    return v;
  }
};

template <class T, class Epilogue>
__global__ void __launch_bounds__(T::threads)
    conv_f32(const ConvArgs conv, const Epilogue epilogue) {
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * T::BM;
  if (m0 >= conv.pixels) return;
  const int K = conv.depth.kernel * conv.height.kernel * conv.width.kernel * conv.IC;
  for (int group = static_cast<int>(blockIdx.z); group < conv.groups;
       group += static_cast<int>(gridDim.z)) {
    const int firstChannel = group * conv.OC;
    const ConvSource a(conv, group);
    const MatrixSource<Along::Lines> b(conv.w + static_cast<int64_t>(group) * K * conv.OC, conv.OC,
                                       K, 1, conv.OC);
    const TileResult to{conv.y + firstChannel, conv.yPixel, conv.pixels, conv.OC, 0, firstChannel};
    for (int64_t n0 = static_cast<int64_t>(blockIdx.y) * T::BN; n0 < conv.OC;
         n0 += static_cast<int64_t>(gridDim.y) * T::BN)
      compute_tile<T>(a, b, K, to, m0, n0, epilogue);
  }
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif
