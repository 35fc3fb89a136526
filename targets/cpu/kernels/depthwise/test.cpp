// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions, the fast and the general form, against a reference summed in double:
// every tail of columns and channels, strides, dilations, padding on either side, pitches, and
// memory that ends in an unmapped page.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/depthwise/depthwise.h"
#include "targets/cpu/kernels/depthwise/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Case {
  int64_t images, C;
  ConvAxis depth, height, width; // `out` is computed
  int64_t padEnd = 0;            // of height and width
  int64_t xExtra = 0, yExtra = 0;
};

int64_t outputs(const ConvAxis& a, int64_t padEnd) {
  return (a.in + a.pad + padEnd - (a.kernel - 1) * a.dilation - 1) / a.stride + 1;
}

template <class Run>
void check(Case s, int lanes, const Run& run, std::vector<float>* result = nullptr) {
  s.depth.out = outputs(s.depth, 0);
  s.height.out = outputs(s.height, s.padEnd);
  s.width.out = outputs(s.width, s.padEnd);
  const int64_t taps = s.depth.kernel * s.height.kernel * s.width.kernel;
  const int64_t xPixel = s.C + s.xExtra, yPixel = s.C + s.yExtra;
  const int64_t pixels = s.images * s.depth.out * s.height.out * s.width.out;
  Guarded x(s.images * s.depth.in * s.height.in * s.width.in * xPixel - s.xExtra);
  Guarded w(s.C * taps), packed(packedDepthwiseFloats(s.C, taps, lanes));
  Guarded y(pixels * yPixel - s.yExtra), bias(s.C), workspace(s.C);
  x.randomise(1), w.randomise(2), bias.randomise(3), y.fill(77.0f), workspace.fill(55.0f);
  packDepthwise(w.data(), s.C, taps, lanes, packed.data());
  DepthwiseArgs a = {};
  a.x = x.data(), a.w = packed.data(), a.y = y.data(), a.workspace = workspace.data();
  a.images = s.images, a.C = s.C, a.depth = s.depth, a.height = s.height, a.width = s.width;
  a.xPixel = xPixel, a.xRow = s.width.in * xPixel, a.xPlane = s.height.in * a.xRow;
  a.xImage = s.depth.in * a.xPlane, a.yPixel = yPixel;
  run(a, BiasRelu{bias.data()});

  INFO(s.images << " images, " << s.C << " channels, " << s.depth.in << "x" << s.height.in << "x"
                << s.width.in << " by " << s.depth.kernel << "x" << s.height.kernel << "x"
                << s.width.kernel << " stride " << s.width.stride << ", lanes " << lanes);
  double worst = 0;
  int64_t m = 0;
  for (int64_t image = 0; image < s.images; ++image)
    for (int64_t od = 0; od < s.depth.out; ++od)
      for (int64_t oh = 0; oh < s.height.out; ++oh)
        for (int64_t ow = 0; ow < s.width.out; ++ow, ++m) {
          for (int64_t c = 0; c < s.C; ++c) {
            double sum = bias[c];
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t kw = t % s.width.kernel, kh = t / s.width.kernel % s.height.kernel,
                            kd = t / s.width.kernel / s.height.kernel;
              const int64_t d = od * s.depth.stride - s.depth.pad + kd * s.depth.dilation;
              const int64_t h = oh * s.height.stride - s.height.pad + kh * s.height.dilation;
              const int64_t v = ow * s.width.stride - s.width.pad + kw * s.width.dilation;
              if (d >= 0 && h >= 0 && v >= 0 && d < s.depth.in && h < s.height.in && v < s.width.in)
                sum += double(x[image * a.xImage + d * a.xPlane + h * a.xRow + v * xPixel + c]) *
                       w[c * taps + t];
            }
            worst = std::max(worst, std::fabs(y[m * yPixel + c] - std::max(0.0, sum)));
          }
          for (int64_t c = s.C; c < yPixel && m + 1 < pixels; ++c)
            REQUIRE(y[m * yPixel + c] == 77.0f);
        }
  CHECK(m == pixels);
  CHECK(worst < 1e-6 * double(1 + taps));
  if (result) result->assign(y.begin(), y.end());
}

ConvAxis axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t pad = 0,
              int64_t dilation = 1) {
  return {in, 0, kernel, stride, dilation, pad};
}

template <int Bytes> void checkBytes() {
  constexpr int lanes = Bytes / 4;
  const ConvAxis one;
  const auto general = [](const DepthwiseArgs& a, const BiasRelu& e) {
    depthwise_any_f32<Bytes>(a, e, serial());
  };
  const auto three = [](const DepthwiseArgs& a, const BiasRelu& e) {
    depthwise_f32<7, 1, 3, 1, Bytes>(a, e, serial());
  };
  const auto threeBy2 = [](const DepthwiseArgs& a, const BiasRelu& e) {
    depthwise_f32<5, 2, 3, 2, Bytes>(a, e, serial());
  };
  const auto fiveBy2 = [](const DepthwiseArgs& a, const BiasRelu& e) {
    depthwise_f32<4, 3, 5, 2, Bytes>(a, e, serial());
  };
  for (int64_t C : {1, lanes - 1, lanes, lanes + 1, 5 * lanes + 3})
    for (int64_t width : {1, 2, 6, 7, 8, 19})
      for (int64_t pad : {0, 1, 2}) {
        if (width + 2 * pad >= 3) {
          const Case s{1, C, one, axis(4, 3, 1, 1), axis(width, 3, 1, pad), pad, 2, 1};
          check(s, lanes, three);
          check(s, lanes, general);
          check({2, C, one, axis(6, 2, 2, 0), axis(width, 3, 2, pad), pad, 0, 3}, lanes, threeBy2);
        }
        if (width + 2 * pad >= 5)
          check({1, C, one, axis(9, 5, 3, 2, 2), axis(width, 5, 2, pad), pad + 1}, lanes, fiveBy2);
      }
  check({1, 3 * lanes, axis(4, 3, 1, 1), axis(5, 3, 1, 1), axis(9, 3, 1, 1), 1}, lanes, three);
  check({1, 2 * lanes + 1, axis(4, 3, 2, 1), axis(5, 3, 1, 4, 3), axis(9, 4, 3, 5, 2), 4}, lanes,
        general);
  check({1, 7, one, axis(3, 31, 1, 15), axis(4, 31, 1, 15), 15}, lanes, general);
  check({1, 7, one, axis(1, 1), axis(40, 9, 1, 0, 4), 0}, lanes, general);
}

// Each build tests the vectors of its instruction set: there is a build for each.
TEST_CASE("tiles") {
  checkBytes<4 * native_lanes<float>>();
}

TEST_CASE("the result has the same bits for any number of threads") {
  const Case s{2, 130, {}, axis(30, 3, 1, 1), axis(33, 3, 1, 1), 1};
  std::vector<float> alone, many;
  check(
      s, 4,
      [](const DepthwiseArgs& a, const BiasRelu& e) {
        depthwise_f32<7, 5, 3, 1, 16>(a, e, serial());
      },
      &alone);
  for (int count : {2, 5}) {
    ThreadedPool pool{count};
    check(
        s, 4,
        [&](const DepthwiseArgs& a, const BiasRelu& e) {
          depthwise_f32<7, 5, 3, 1, 16>(a, e, pool.get());
        },
        &many);
    REQUIRE(std::memcmp(alone.data(), many.data(), alone.size() * 4) == 0);
  }
}

} // namespace
