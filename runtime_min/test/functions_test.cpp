// SPDX-License-Identifier: 0BSD
// Errors of the elementary functions on a sample of all f32 (accuracy.cpp takes all of them),
// special values, and the functions of two arguments.
#include "functions.h"

#include <catch2/catch.hpp>
#include <vector>

namespace rt = ortc_rt;
using functions::ulps;

namespace {
const float inf = std::numeric_limits<float>::infinity();
const float nan_f = std::numeric_limits<float>::quiet_NaN();
const float tiny = 1e-45f;

// two-argument functions on pairs that are spread over all magnitudes and near 1
template <class F> void eachPair(F f) {
  std::vector<float> values = {
      0.0f,           -0.0f,          1.0f,        -1.0f,       2.0f,
      -2.0f,          0.5f,           -3.0f,       4.0f,        inf,
      -inf,           nan_f,          tiny,        -tiny,       3.4028235e38f,
      -3.4028235e38f, 1.1754944e-38f, 16777215.0f, 16777216.0f, -16777217.0f,
      0.99999994f,    1.0000001f,     2.5f,        -0.5f,       3.0f,
      -1e-40f,        88.0f,          127.0f,      -149.0f,     33554433.0f};
  uint32_t state = 1;
  for (int i = 0; i < 500; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(rt::bits_as<float>(state));
    values.push_back(1.0f + float(int32_t(state) >> 8) * 1e-8f);
    values.push_back(float(int32_t(state) >> 20) * 0.25f);
  }
  for (float a : values)
    for (float b : values)
      f(a, b);
}
} // namespace

TEST_CASE("each function is as exact as stated, with the same bits in vectors and scalars") {
  for (const functions::function& f : functions::all) {
    const functions::result r = functions::sweep(f, 9973);
    INFO(f.name << ": " << r.worst << " ulp at " << r.at << "; differ: " << r.different
                << ", first " << r.different_at);
    CHECK(r.worst <= f.ulp);
    CHECK(r.different == 0);
  }
}

TEST_CASE("each function is as exact as stated where values and results are of usual size") {
  for (const functions::function& f : functions::all) {
    // 0.01 to 128, both signs
    functions::result r = functions::sweep(f, 1013, 0x3c23d70a, 0x43000000);
    const functions::result negative = functions::sweep(f, 1013, 0xbc23d70a, 0xc3000000);
    r.worst = std::fmax(r.worst, negative.worst);
    INFO(f.name << ": " << r.worst << " ulp");
    CHECK(r.worst <= f.ulp);
  }
}

TEST_CASE("special values of the functions of one argument") {
  const float specials[] = {0.0f,  -0.0f, inf,   -inf,           nan_f,        1.0f,
                            -1.0f, tiny,  -tiny, 1.1754944e-38f, 3.4028235e38f};
  for (const functions::function& f : functions::all) {
    for (float x : specials) {
      const float got = f.scalar(x);
      const double want = f.reference(x);
      INFO(f.name << "(" << x << ") = " << got << ", expected " << want);
      CHECK(ulps(got, want) <= f.ulp);
    }
  }
}

TEST_CASE("pow is right to one ulp, and for all special values") {
  double worst = 0;
  uint64_t different = 0;
  eachPair([&](float a, float b) {
    const float got = rt::pow(a, b);
    const double want = std::pow(double(a), double(b));
    const double e = ulps(got, want);
    if (!(e <= 0.6)) FAIL_CHECK("pow(" << a << ", " << b << ") = " << got << ", expected " << want);
    worst = std::fmax(worst, e);
    const rt::f32v v = rt::pow(rt::splat<rt::f32v>(a), rt::splat<rt::f32v>(b));
    const float last = rt::lane(v, rt::lanes_of<rt::f32v> - 1);
    different += rt::bits_as<uint32_t>(last) != rt::bits_as<uint32_t>(got) &&
                 !(std::isnan(last) && std::isnan(got));
  });
  CHECK(worst <= 0.6);
  CHECK(different == 0);
}

TEST_CASE("atan2 is right to two ulps in all quadrants") {
  double worst = 0;
  uint64_t different = 0;
  eachPair([&](float a, float b) {
    const float got = rt::atan2(a, b);
    const double want = std::atan2(double(a), double(b));
    const double e = ulps(got, want);
    if (!(e <= 2.5))
      FAIL_CHECK("atan2(" << a << ", " << b << ") = " << got << ", expected " << want);
    worst = std::fmax(worst, e);
    const rt::f32v v = rt::atan2(rt::splat<rt::f32v>(a), rt::splat<rt::f32v>(b));
    const float last = rt::lane(v, rt::lanes_of<rt::f32v> - 1);
    different += rt::bits_as<uint32_t>(last) != rt::bits_as<uint32_t>(got) &&
                 !(std::isnan(last) && std::isnan(got));
  });
  CHECK(worst <= 2.5);
  CHECK(different == 0);
}

TEST_CASE("f64 goes through libm") {
  CHECK(rt::exp(1.0) == std::exp(1.0));
  CHECK(rt::tanh(0.3) == std::tanh(0.3));
  CHECK(rt::pow(2.0, 0.5) == std::pow(2.0, 0.5));
  CHECK(rt::sigmoid(-800.0) == Approx(0.0));
  using D = rt::native<double>;
  const D v = rt::log(rt::splat<D>(3.0));
  CHECK(rt::lane(v, rt::lanes_of<D> - 1) == std::log(3.0));
}
