// SPDX-License-Identifier: Apache-2.0
//
// Winograd's convolution against a reference summed in double, with the rounding that is promised:
// images that tiles do not divide, padding on either side, channel counts that vectors do not
// divide, pitches, several blocks of tiles.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/winograd/pack.h"
#include "targets/cpu/kernels/winograd/winograd.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Case {
  int64_t images, IC, OC, H, W, pad, padEnd, xExtra = 0, yExtra = 0;
};

template <int O, int MR, int NV, int Bytes>
void check(const Case& s, const executor& threads = serial(),
           std::vector<float>* result = nullptr) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t OH = s.H + s.pad + s.padEnd - 2, OW = s.W + s.pad + s.padEnd - 2;
  const int64_t xPixel = s.IC + s.xExtra, yPixel = s.OC + s.yExtra, pixels = s.images * OH * OW;
  Guarded x(s.images * s.H * s.W * xPixel - s.xExtra), w(s.OC * s.IC * 9), bias(s.OC);
  Guarded y(pixels * yPixel - s.yExtra), residual(pixels * s.OC);
  Guarded packed(packedWinogradFloats(s.OC, s.IC, O, NR));
  x.randomise(1), w.randomise(2), bias.randomise(3), residual.randomise(4), y.fill(77.0f);
  packWinograd(w.data(), s.OC, s.IC, O, NR, packed.data());
  WinogradArgs a = {};
  a.x = x.data(), a.u = packed.data(), a.y = y.data();
  a.images = s.images, a.IC = s.IC, a.OC = s.OC;
  a.height = {s.H, OH, 3, 1, 1, s.pad}, a.width = {s.W, OW, 3, 1, 1, s.pad};
  a.xPixel = xPixel, a.xRow = s.W * xPixel, a.xImage = s.H * a.xRow, a.yPixel = yPixel;
  a.prefetchBytes = 4096;
  Guarded workspace(winogradWorkspaceFloats(a, O));
  workspace.fill(NAN); // what is not written is not used either
  a.workspace = workspace.data();
  winograd_f32<O, MR, NV, Bytes>(a, BiasAddRelu{bias.data(), residual.data(), s.OC}, threads);

  INFO("F" << O << " tile " << MR << "x" << NR << ": " << s.images << " images, " << s.IC << ">"
           << s.OC << "@" << s.H << "x" << s.W << " pad " << s.pad << "," << s.padEnd);
  double worst = 0, largest = 0;
  for (int64_t m = 0; m < pixels; ++m) {
    const int64_t ow = m % OW, oh = m / OW % OH, image = m / OW / OH;
    for (int64_t n = 0; n < s.OC; ++n) {
      double sum = double(bias[n]) + residual[m * s.OC + n];
      for (int64_t k = 0; k < 9; ++k) {
        const int64_t h = oh - s.pad + k / 3, v = ow - s.pad + k % 3;
        if (h >= 0 && v >= 0 && h < s.H && v < s.W)
          for (int64_t c = 0; c < s.IC; ++c)
            sum += double(x[image * a.xImage + h * a.xRow + v * xPixel + c]) *
                   w[(n * s.IC + c) * 9 + k];
      }
      worst = std::max(worst, std::fabs(y[m * yPixel + n] - std::max(0.0, sum)));
      largest = std::max(largest, std::fabs(sum));
    }
    for (int64_t n = s.OC; n < yPixel && m + 1 < pixels; ++n)
      REQUIRE(y[m * yPixel + n] == 77.0f);
  }
  CHECK(worst < (O == 4 ? 2e-5 : 3e-6) * std::max(1.0, largest));
  if (result) result->assign(y.begin(), y.end());
}

template <int O, int MR, int NV, int Bytes> void checkTile() {
  for (int64_t size : {1, 2, 3, 4, 5, 7, 9, 14})
    check<O, MR, NV, Bytes>({1, 20, 19, size, size + 3, 1, 1, 3, 2});
  check<O, MR, NV, Bytes>({2, 32, 70, 8, 7, 0, 0, 0, 5});
  check<O, MR, NV, Bytes>({1, 16, 8, 6, 9, 2, 0});
  check<O, MR, NV, Bytes>({1, 3, 5, 60, 50, 1, 1}); // several blocks
  check<O, MR, NV, Bytes>({3, 5, 3, 12, 14, 0, 2});
}

// Each build tests the vectors of its instruction set: there is a build for each.
TEST_CASE("tiles") {
#if defined(__AVX512F__)
  checkTile<4, 6, 4, 64>();
  checkTile<2, 6, 4, 64>();
#elif defined(__AVX__)
  checkTile<4, 6, 2, 32>();
  checkTile<2, 6, 2, 32>();
#else
  checkTile<4, 4, 3, 16>();
  checkTile<2, 4, 3, 16>();
#endif
}

TEST_CASE("the result has the same bits for any number of threads") {
  std::vector<float> one, many;
  check<4, 6, 2, 16>({1, 30, 40, 40, 41, 1, 1}, serial(), &one);
  for (int threads : {2, 5}) {
    ThreadedPool pool{threads};
    check<4, 6, 2, 16>({1, 30, 40, 40, 41, 1, 1}, pool.get(), &many);
    REQUIRE(std::memcmp(one.data(), many.data(), one.size() * 4) == 0);
  }
}

} // namespace
