// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of one to three axes against a reference summed in double: strides, dilations,
// asymmetric padding, groups, channel pitches, few channels, kernels of many taps, and memory that
// ends in an unmapped page.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/conv/conv.h"
#include "targets/cpu/kernels/conv/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Case {
  int64_t images, IC, OC, groups; // channels of one group
  ConvAxis depth, height, width;  // `out` is computed
  int64_t padEnd = 0;             // of height and width
  int64_t xExtra = 0, yExtra = 0; // more channels in the buffers than the convolution sees
};

int64_t outputs(const ConvAxis& a, int64_t padEnd) {
  return (a.in + a.pad + padEnd - (a.kernel - 1) * a.dilation - 1) / a.stride + 1;
}

double reference(const ConvArgs& a, const float* w, int64_t image, int64_t od, int64_t oh,
                 int64_t ow, int64_t channel, double& size) {
  const int64_t group = channel / a.OC, taps = a.depth.kernel * a.height.kernel * a.width.kernel;
  double sum = 0;
  for (int64_t kd = 0; kd < a.depth.kernel; ++kd)
    for (int64_t kh = 0; kh < a.height.kernel; ++kh)
      for (int64_t kw = 0; kw < a.width.kernel; ++kw) {
        const int64_t d = od * a.depth.stride - a.depth.pad + kd * a.depth.dilation;
        const int64_t h = oh * a.height.stride - a.height.pad + kh * a.height.dilation;
        const int64_t x = ow * a.width.stride - a.width.pad + kw * a.width.dilation;
        if (d < 0 || h < 0 || x < 0 || d >= a.depth.in || h >= a.height.in || x >= a.width.in)
          continue;
        const int64_t tap = (kd * a.height.kernel + kh) * a.width.kernel + kw;
        for (int64_t c = 0; c < a.IC; ++c) {
          const double term = double(a.x[image * a.xImage + d * a.xPlane + h * a.xRow +
                                         x * a.xPixel + group * a.IC + c]) *
                              w[(channel * a.IC + c) * taps + tap];
          sum += term;
          size += std::fabs(term);
        }
      }
  return sum;
}

template <int MR, int NV, int Bytes>
void check(Case s, const executor& threads = serial(), std::vector<float>* result = nullptr) {
  constexpr int NR = NV * Bytes / 4;
  s.depth.out = outputs(s.depth, 0);
  s.height.out = outputs(s.height, s.padEnd);
  s.width.out = outputs(s.width, s.padEnd);
  const int64_t taps = s.depth.kernel * s.height.kernel * s.width.kernel;
  const int64_t xPixel = s.IC * s.groups + s.xExtra, channels = s.OC * s.groups;
  const int64_t yPixel = channels + s.yExtra;
  const int64_t pixels = s.images * s.depth.out * s.height.out * s.width.out;
  Guarded x(s.images * s.depth.in * s.height.in * s.width.in * xPixel - s.xExtra);
  Guarded w(channels * s.IC * taps), y(pixels * yPixel - s.yExtra), bias(channels);
  Guarded packed(packedConvFloats(s.OC, s.IC, taps, s.groups, NR));
  x.randomise(1), w.randomise(2), bias.randomise(3), y.fill(77.0f);
  packConv(w.data(), s.OC, s.IC, taps, s.groups, NR, packed.data());

  ConvArgs a = {};
  a.x = x.data(), a.w = packed.data(), a.y = y.data();
  a.images = s.images, a.IC = s.IC, a.OC = s.OC, a.groups = s.groups;
  a.depth = s.depth, a.height = s.height, a.width = s.width;
  a.xPixel = xPixel, a.xRow = s.width.in * xPixel, a.xPlane = s.height.in * a.xRow;
  a.xImage = s.depth.in * a.xPlane, a.yPixel = yPixel;
  a.prefetchBytes = 4096;
  Guarded workspace(convWorkspaceFloats(a, MR));
  workspace.fill(55.0f);
  a.workspace = workspace.data();
  conv_f32<MR, NV, Bytes>(a, BiasRelu{bias.data()}, threads);

  INFO("tile " << MR << "x" << NR << ": " << s.images << " images, " << s.IC << ">" << s.OC
               << " channels x " << s.groups << ", " << s.depth.in << "x" << s.height.in << "x"
               << s.width.in << " by " << s.depth.kernel << "x" << s.height.kernel << "x"
               << s.width.kernel);
  double worst = 0;
  int64_t m = 0;
  for (int64_t image = 0; image < s.images; ++image)
    for (int64_t od = 0; od < s.depth.out; ++od)
      for (int64_t oh = 0; oh < s.height.out; ++oh)
        for (int64_t ow = 0; ow < s.width.out; ++ow, ++m) {
          for (int64_t n = 0; n < channels; ++n) {
            double size = 1;
            const double expected =
                std::max(0.0, reference(a, w.data(), image, od, oh, ow, n, size) + bias[n]);
            worst = std::max(worst, std::fabs(y[m * yPixel + n] - expected) / size);
          }
          for (int64_t n = channels; n < yPixel && m + 1 < pixels; ++n)
            REQUIRE(y[m * yPixel + n] == 77.0f);
        }
  CHECK(m == pixels);
  CHECK(worst < 3e-7 * (1 + std::sqrt(double(s.IC * taps))));
  if (result) result->assign(y.begin(), y.end());
}

ConvAxis axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t pad = 0,
              int64_t dilation = 1) {
  return {in, 0, kernel, stride, dilation, pad};
}

template <int MR, int NV, int Bytes> void checkTile() {
  const ConvAxis one;
  // many channels: one tap per row
  check<MR, NV, Bytes>({1, 20, 33, 1, one, axis(9, 3, 1, 1), axis(11, 3, 1, 1), 1});
  check<MR, NV, Bytes>({2, 16, 7, 1, one, axis(9, 3, 2, 1), axis(10, 3, 2, 0), 1, 5, 3});
  check<MR, NV, Bytes>({1, 17, 40, 1, one, axis(9, 1), axis(5, 1)});
  check<MR, NV, Bytes>({1, 32, 16, 1, one, axis(9, 1, 2), axis(7, 1, 2), 0, 0, 4});
  check<MR, NV, Bytes>({1, 18, 12, 1, one, axis(12, 3, 1, 2, 2), axis(13, 3, 1, 4, 3), 3});
  check<MR, NV, Bytes>({2, 16, 8, 3, one, axis(7, 3, 1, 1), axis(6, 3, 1, 1), 1, 2, 2});
  // few channels: lines of taps, in place and copied
  check<MR, NV, Bytes>({1, 3, 17, 1, one, axis(20, 7, 2, 3), axis(23, 7, 2, 3), 3});
  check<MR, NV, Bytes>({1, 3, 17, 1, one, axis(9, 3, 1, 1), axis(12, 3, 1, 2, 2), 1, 5, 0});
  check<MR, NV, Bytes>({2, 1, 5, 1, one, axis(1, 1), axis(50, 9, 3, 4), 4});
  check<MR, NV, Bytes>({1, 8, 8, 5, one, axis(6, 3, 1, 1), axis(7, 3, 2, 1), 1, 1, 1});
  // taps that no pixel of a tile has, or of the whole image
  check<MR, NV, Bytes>({1, 16, 20, 1, one, axis(14, 3, 1, 12, 12), axis(15, 3, 1, 20, 20), 20});
  check<MR, NV, Bytes>({1, 20, 17, 2, one, axis(5, 3, 1, 1), axis(7, 3, 1, 1), 1, 1, 1});
  // kernels as large as the image, and larger
  check<MR, NV, Bytes>({1, 16, 9, 1, one, axis(4, 4), axis(4, 4)});
  check<MR, NV, Bytes>({1, 2, 9, 1, one, axis(3, 9, 1, 4), axis(4, 11, 1, 5), 5});
  check<MR, NV, Bytes>({1, 16, 5, 1, one, axis(14, 13, 1, 6), axis(15, 31, 1, 15), 15});
  check<MR, NV, Bytes>({1, 2, 5, 1, one, axis(2100, 2090), axis(1, 1)});
  // three axes
  check<MR, NV, Bytes>({2, 16, 6, 1, axis(4, 3, 1, 0), axis(5, 3, 2, 1), axis(6, 3, 1, 1), 1});
  check<MR, NV, Bytes>({1, 4, 6, 2, axis(6, 2, 2, 1, 3), axis(5, 2), axis(6, 3, 1, 1), 1});
}

// Each build tests the vectors of its instruction set: there is a build for each.
TEST_CASE("tiles") {
#if defined(__AVX512F__)
  checkTile<14, 2, 64>();
  checkTile<6, 4, 64>();
#elif defined(__AVX__)
  checkTile<6, 2, 32>();
  checkTile<14, 1, 32>();
#else
  checkTile<6, 2, 16>();
#endif
}

TEST_CASE("the result has the same bits for any number of threads") {
  const ConvAxis one;
  for (const Case& s : {Case{1, 32, 100, 1, one, axis(20, 3, 1, 1), axis(24, 3, 1, 1), 1},
                        Case{2, 3, 64, 1, one, axis(40, 7, 2, 3), axis(50, 7, 2, 3), 3},
                        Case{1, 8, 8, 6, one, axis(40, 3, 1, 1), axis(50, 3, 1, 1), 1}}) {
    std::vector<float> alone, many;
    check<6, 2, 16>(s, serial(), &alone);
    for (int count : {2, 5}) {
      ThreadedPool pool{count};
      check<6, 2, 16>(s, pool.get(), &many);
      REQUIRE(std::memcmp(alone.data(), many.data(), alone.size() * 4) == 0);
    }
  }
}

} // namespace
