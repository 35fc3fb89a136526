// SPDX-License-Identifier: 0BSD
//
// Clean kernels under the emulator: right numbers for every schedule and number of host threads, no
// faults reported. Linked once with plain and once with instrumented kernels; the second run is the
// checker's false-alarm test.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cmath>

#include "cuemu.h"
#include "programs.h"

namespace {

std::vector<float> ramp(size_t n, float step) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i)
    x[i] = std::sin(static_cast<float>(i) * step);
  return x;
}

std::vector<float> softmaxOf(const std::vector<float>& x, int rows, int columns) {
  std::vector<float> y(x.size());
  for (int r = 0; r < rows; ++r) {
    const size_t row = static_cast<size_t>(r) * static_cast<size_t>(columns);
    double sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(columns); ++i)
      sum += std::exp(static_cast<double>(x[row + i]));
    for (size_t i = 0; i < static_cast<size_t>(columns); ++i)
      y[row + i] = static_cast<float>(std::exp(static_cast<double>(x[row + i])) / sum);
  }
  return y;
}

void requireClose(const std::vector<float>& found, const std::vector<float>& expected,
                  float tolerance) {
  REQUIRE(found.size() == expected.size());
  float worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const float error = std::fabs(found[i] - expected[i]);
    worst = error <= worst ? worst : error; // NaN stays
  }
  REQUIRE(worst <= tolerance);
}

/// All of the kernels, under the options of the moment.
void runAll() {
  cuemu::clearReports();
  const int M = 128, N = 64, K = 48;
  const std::vector<float> a = ramp(static_cast<size_t>(M * K), 0.37f),
                           b = ramp(static_cast<size_t>(K * N), 0.11f);
  std::vector<float> c(static_cast<size_t>(M * N));
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += static_cast<double>(a[static_cast<size_t>(m * K + k)]) *
               static_cast<double>(b[static_cast<size_t>(k * N + n)]);
      c[static_cast<size_t>(m * N + n)] = static_cast<float>(sum);
    }
  requireClose(runGemm(Bug::None, a, b, M, N, K), c, 1e-4f);

  const std::vector<float> x = ramp(10 * 77, 0.7f);
  requireClose(runSoftmax(x, 10, 77), softmaxOf(x, 10, 77), 1e-6f);

  REQUIRE(runSum(Bug::None, std::vector<float>(5000, 1.0f), 3) == 5000.0f);

  std::vector<float> lanes(64), swapped(64);
  for (size_t i = 0; i < 64; ++i) {
    lanes[i] = static_cast<float>(i);
    swapped[i ^ 1] = static_cast<float>(i);
  }
  REQUIRE(runSwap(Bug::None, lanes) == swapped);

  const std::vector<float> squares = runSquareBiasHalf(Bug::None, {1, 2, -3, 0.5f, 300, 0, 1, 1},
                                                       {1, -9, 0, 0.25f, 0, -0.0f, -1, 2});
  REQUIRE(squares == std::vector<float>{2, 0, 9, 0.5f, INFINITY, 0, 0, 3});

  std::vector<uint8_t> table(256), bytes(128);
  std::vector<int64_t> index(1000);
  for (size_t i = 0; i < 256; ++i)
    table[i] = static_cast<uint8_t>(255 - i);
  for (size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<int64_t>(i * 7 % 300) - 20;
  const std::vector<uint8_t> found = runLookUp(table, index);
  for (size_t i = 0; i < index.size(); ++i)
    REQUIRE(found[i] ==
            table[static_cast<size_t>(std::min<int64_t>(std::max<int64_t>(index[i], 0), 255))]);

  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 3);
  REQUIRE(runReverseBytes(Bug::None, bytes) == std::vector<uint8_t>(bytes.rbegin(), bytes.rend()));

  std::vector<int> signs(300);
  for (size_t i = 0; i < signs.size(); ++i)
    signs[i] = i % 3 == 0 ? 1 : i == 200 ? -101 : 0;
  REQUIRE(runCountPositive(signs) == std::vector<int>{35, -35, 30});

  REQUIRE(runSumInArena(false, false) == 1024.0f);
  const std::vector<float> y = ramp(10 * 77, 0.2f);
  requireClose(runGraph(x, y, 10, 77), softmaxOf(softmaxOf(y, 10, 77), 10, 77), 1e-6f);

  for (const std::string& text : cuemu::reports())
    UNSCOPED_INFO(text);
  REQUIRE(cuemu::reports().empty());
}

} // namespace

TEST_CASE("clean kernels give the right numbers and no report, whatever the schedule") {
  cuemu::options().seed = GENERATE(1u, 77u);
  cuemu::options().schedule =
      GENERATE(cuemu::Schedule::Forward, cuemu::Schedule::Reverse, cuemu::Schedule::Random);
  cuemu::options().hostThreads = GENERATE(1, 3);
  runAll();
}

TEST_CASE("streams that wait until somebody waits for them") {
  cuemu::options().deferred = true;
  runAll();
  cuemu::options().deferred = false;
}

TEST_CASE("without instrumentation, writes past the end are found by what they leave behind") {
  if (cuemu::options().check) return; // checker_test.cpp has more
  const std::vector<float> ones(64 * 64, 1.0f);
  for (const Bug bug : {Bug::GlobalOverrun, Bug::SharedOverrun}) {
    cuemu::clearReports();
    runGemm(bug, ones, ones, 64, 64, 64);
    REQUIRE(cuemu::hasReport("OOB"));
  }
  cuemu::clearReports();
}

TEST_CASE("scalar functions answer as ops.h says") {
  const std::vector<double> expected = {1,
                                        2,
                                        2147483647,
                                        0,
                                        -2147483648.0,
                                        0,
                                        -56,
                                        127,
                                        0,
                                        -4,
                                        -3,
                                        -2147483648.0,
                                        0,
                                        2,
                                        0.5,
                                        0,
                                        -1,
                                        15,
                                        5,
                                        0,
                                        -27,
                                        8,
                                        15,
                                        32,
                                        -128,
                                        9223372036854775807.0,
                                        1,
                                        65504,
                                        1,
                                        1,
                                        1,
                                        0.5204998778};
  std::vector<double> found = runScalarFunctions();
  found.resize(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("result " << i);
    REQUIRE(found[i] == Approx(expected[i]).epsilon(1e-6));
  }
}

int main(int argc, char** argv) {
  cuemu::options().printReports = false;
  return Catch::Session().run(argc, argv);
}
