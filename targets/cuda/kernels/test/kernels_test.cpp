// SPDX-License-Identifier: 0BSD
//
// The catalogue kernels under the emulator, against sums in f64: every tile, every layout, sizes
// that do not fill tiles, operands that are not aligned, a grid that is too small. Linked once with
// plain and once with instrumented kernels: races, accesses out of bounds and reads of what was
// never written fail the second.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cmath>

#include "cuemu.h"
#include "programs.h"

namespace {

std::vector<float> wave(int64_t n, float step) {
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i + 1) * step);
  return x;
}

float at(const std::vector<float>& v, int64_t i) {
  REQUIRE(i >= 0);
  return v.at(static_cast<size_t>(i));
}

void requireClose(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  float worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const float error = std::fabs(found[i] - expected[i]);
    worst = error <= worst ? worst : error; // NaN stays
  }
  INFO("reports: " << (cuemu::reports().empty() ? "none" : cuemu::reports()[0]));
  REQUIRE(cuemu::reports().empty());
  REQUIRE(worst <= 1e-4f);
}

std::vector<float> gemmOf(const GemmProblem& p) {
  std::vector<float> c(static_cast<size_t>(p.cFloats), -1.0f);
  for (int64_t o = 0; o < p.outer; ++o)
    for (int64_t i = 0; i < p.inner; ++i)
      for (int64_t m = 0; m < p.M; ++m)
        for (int64_t n = 0; n < p.N; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < p.K; ++k)
            sum += static_cast<double>(
                       at(p.a, p.aFirst + o * p.outerA + i * p.innerA + m * p.aRow + k * p.aK)) *
                   static_cast<double>(
                       at(p.b, p.bFirst + o * p.outerB + i * p.innerB + k * p.bK + n * p.bColumn));
          c.at(static_cast<size_t>(p.cFirst + o * p.outerC + i * p.innerC + m * p.cRow + n)) =
              static_cast<float>(sum) * at(p.rows, (o * p.inner + i) * p.M + m) + at(p.columns, n);
        }
  return c;
}

/// One product of dense matrices, either of them stored transposed.
GemmProblem product(int64_t M, int64_t N, int64_t K, bool transposedA, bool transposedB) {
  GemmProblem p{};
  p.M = M, p.N = N, p.K = K;
  p.aRow = transposedA ? 1 : K, p.aK = transposedA ? M : 1;
  p.bK = transposedB ? 1 : N, p.bColumn = transposedB ? K : 1;
  p.cRow = N;
  p.outer = p.inner = 1;
  p.a = wave(M * K, 0.37f), p.b = wave(K * N, 0.11f);
  p.rows = wave(M, 0.7f), p.columns = wave(N, 0.9f);
  p.cFloats = M * N;
  return p;
}

void checkGemm(const GemmProblem& p) {
  const std::vector<float> expected = gemmOf(p);
  for (size_t tile = 0; tile < tileShapes().size(); ++tile) {
    INFO("tile " << tileShapes()[tile].BM << "x" << tileShapes()[tile].BN << ", M " << p.M << " N "
                 << p.N << " K " << p.K);
    requireClose(runGemm(p, static_cast<int>(tile)), expected);
  }
}

std::vector<float> convOf(const ConvProblem& p) {
  const int64_t pixels = static_cast<int64_t>(p.images) * p.depth.out * p.height.out * p.width.out;
  std::vector<float> y(static_cast<size_t>(pixels * p.yPixel), -1.0f);
  const int taps = p.depth.kernel * p.height.kernel * p.width.kernel;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const int64_t ow = pixel % p.width.out, oh = pixel / p.width.out % p.height.out,
                  od = pixel / p.width.out / p.height.out % p.depth.out,
                  image = pixel / p.width.out / p.height.out / p.depth.out;
    for (int g = 0; g < p.groups; ++g)
      for (int n = 0; n < p.OC; ++n) {
        double sum = 0;
        for (int tap = 0; tap < taps; ++tap) {
          const int kw = tap % p.width.kernel, kh = tap / p.width.kernel % p.height.kernel,
                    kd = tap / p.width.kernel / p.height.kernel;
          const int64_t d = od * p.depth.stride - p.depth.pad + kd * p.depth.dilation,
                        h = oh * p.height.stride - p.height.pad + kh * p.height.dilation,
                        w = ow * p.width.stride - p.width.pad + kw * p.width.dilation;
          if (d < 0 || d >= p.depth.in || h < 0 || h >= p.height.in || w < 0 || w >= p.width.in)
            continue;
          const int64_t from =
              p.xFirst +
              (((image * p.depth.in + d) * p.height.in + h) * p.width.in + w) * p.xPixel +
              static_cast<int64_t>(g) * p.IC;
          for (int c = 0; c < p.IC; ++c)
            sum += static_cast<double>(at(p.x, from + c)) *
                   static_cast<double>(
                       at(p.w, ((static_cast<int64_t>(g) * taps + tap) * p.IC + c) * p.OC + n));
        }
        const int64_t channel = static_cast<int64_t>(g) * p.OC + n;
        y.at(static_cast<size_t>(pixel * p.yPixel + channel)) =
            static_cast<float>(sum) * at(p.rows, pixel) + at(p.columns, channel);
      }
  }
  return y;
}

ConvAxisProblem axis(int in, int kernel, int stride, int dilation, int pad, int padEnd) {
  ConvAxisProblem a;
  a.in = in, a.kernel = kernel, a.stride = stride, a.dilation = dilation, a.pad = pad;
  a.out = (in + pad + padEnd - ((kernel - 1) * dilation + 1)) / stride + 1;
  return a;
}

ConvProblem convolution(int images, int IC, int OC, int groups, ConvAxisProblem depth,
                        ConvAxisProblem height, ConvAxisProblem width) {
  ConvProblem p{};
  p.images = images, p.IC = IC, p.OC = OC, p.groups = groups;
  p.depth = depth, p.height = height, p.width = width;
  p.xPixel = static_cast<int64_t>(IC) * groups;
  p.yPixel = static_cast<int64_t>(OC) * groups;
  p.x = wave(p.xPixel * images * depth.in * height.in * width.in, 0.21f);
  p.w = wave(static_cast<int64_t>(groups) * depth.kernel * height.kernel * width.kernel * IC * OC,
             0.13f);
  p.rows = wave(static_cast<int64_t>(images) * depth.out * height.out * width.out, 0.7f);
  p.columns = wave(static_cast<int64_t>(OC) * groups, 0.9f);
  return p;
}

void checkConv(const ConvProblem& p) {
  const std::vector<float> expected = convOf(p);
  for (size_t tile = 0; tile < tileShapes().size(); ++tile) {
    INFO("tile " << tileShapes()[tile].BM << "x" << tileShapes()[tile].BN << ", " << p.IC << " to "
                 << p.OC << " channels in " << p.groups << " groups");
    requireClose(runConv(p, static_cast<int>(tile)), expected);
  }
}

const ConvAxisProblem one;

} // namespace

TEST_CASE("products of any layout and size") {
  for (bool transposedA : {false, true})
    for (bool transposedB : {false, true}) {
      checkGemm(product(64, 64, 32, transposedA, transposedB));
      checkGemm(product(130, 68, 20, transposedA, transposedB));
      checkGemm(product(33, 35, 37, transposedA, transposedB));
      checkGemm(product(1, 5, 3, transposedA, transposedB));
    }
  checkGemm(product(3, 7, 1, false, false));
}

TEST_CASE("operands with gaps, off the alignment of vectors, and with no dim that is dense") {
  GemmProblem p = product(40, 36, 24, false, false);
  p.aRow = 28, p.bK = 40, p.cRow = 44;
  p.a = wave(p.M * p.aRow, 0.37f), p.b = wave(p.K * p.bK, 0.11f);
  p.cFloats = p.M * p.cRow;
  checkGemm(p);
  p.aFirst = 1, p.bFirst = 2, p.cFirst = 3;
  p.a = wave(p.M * p.aRow + 1, 0.37f), p.b = wave(p.K * p.bK + 2, 0.11f);
  p.cFloats += 3;
  checkGemm(p);
  GemmProblem q = product(20, 24, 12, false, false);
  q.aRow = 26, q.aK = 2, q.bK = 50, q.bColumn = 2;
  q.a = wave(q.M * q.aRow, 0.37f), q.b = wave(q.K * q.bK, 0.11f);
  checkGemm(q);
}

TEST_CASE("batches, and grids that are too small for them") {
  GemmProblem p = product(35, 70, 18, false, false);
  // Heads of attention: [outer][row][inner][k], one B for all outer.
  p.outer = 2, p.inner = 3;
  p.aRow = p.inner * p.K, p.innerA = p.K, p.outerA = p.M * p.aRow;
  p.innerB = p.K * p.N;
  p.cRow = p.inner * p.N, p.innerC = p.N, p.outerC = p.M * p.cRow;
  p.a = wave(p.outer * p.outerA, 0.37f), p.b = wave(p.inner * p.innerB, 0.11f);
  p.rows = wave(p.outer * p.inner * p.M, 0.7f);
  p.cFloats = p.outer * p.outerC;
  checkGemm(p);
  p.shortGrid = true;
  checkGemm(p);
}

TEST_CASE("convolutions") {
  checkConv(convolution(2, 8, 20, 1, one, axis(9, 3, 1, 1, 1, 1), axis(11, 3, 1, 1, 1, 1)));
  checkConv(convolution(1, 3, 16, 1, one, axis(13, 5, 2, 1, 2, 1), axis(15, 3, 3, 1, 0, 2)));
  checkConv(convolution(1, 16, 33, 1, one, axis(6, 1, 1, 1, 0, 0), axis(7, 1, 1, 1, 0, 0)));
  checkConv(convolution(1, 4, 6, 3, one, axis(8, 2, 1, 2, 1, 0), axis(9, 3, 2, 3, 4, 3)));
  checkConv(convolution(2, 5, 3, 1, axis(4, 3, 1, 1, 1, 1), axis(5, 2, 2, 1, 0, 1),
                        axis(6, 2, 1, 1, 1, 0)));
  checkConv(convolution(3, 1, 7, 1, one, one, axis(50, 9, 4, 1, 3, 3)));
  ConvProblem p = convolution(1, 8, 40, 2, one, axis(7, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1));
  p.shortGrid = true;
  checkConv(p);
}

TEST_CASE("channels of a larger tensor, off the alignment of vectors") {
  ConvProblem p = convolution(1, 8, 12, 1, one, axis(6, 3, 1, 1, 1, 1), axis(6, 3, 1, 1, 1, 1));
  p.xPixel = 20, p.yPixel = 13;
  p.x = wave(20 * 36, 0.21f);
  p.xFirst = 4;
  checkConv(p);
  p.xFirst = 5;
  checkConv(p);
}

TEST_CASE("any order of threads gives the same bits") {
  const GemmProblem p = product(70, 40, 50, false, true);
  const std::vector<float> forward = runGemm(p, 2);
  for (cuemu::Schedule order : {cuemu::Schedule::Reverse, cuemu::Schedule::Random}) {
    cuemu::options().schedule = order;
    CHECK(runGemm(p, 2) == forward);
  }
  cuemu::options().schedule = cuemu::Schedule::Forward;
  CHECK(cuemu::reports().empty());
}

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
