// SPDX-License-Identifier: 0BSD
// The answers of ops.h, by tables of expected results; vectors against scalars.
#include "rt/ops.h"

#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>

namespace rt = ortc_rt;

namespace {

const float inf = std::numeric_limits<float>::infinity();
const float nan_f = std::numeric_limits<float>::quiet_NaN();

// Same bits, and any NaN for a NaN.
template <class T> bool equal(T a, T b) {
  if constexpr (rt::detail::is_float<T>)
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
  else
    return a == b;
}

const std::vector<float>& floats() {
  static const std::vector<float> values = {
      0.0f,          -0.0f,        1.0f,          -1.0f,         0.5f,           -0.5f,
      1.5f,          2.5f,         -2.5f,         0.25f,         -0.75f,         8388607.5f,
      8388608.0f,    -8388609.0f,  16777216.0f,   1e-45f,        -1e-45f,        1e-38f,
      3.4e38f,       -3.4e38f,     2147483520.f,  2147483648.f,  -2147483648.f,  -2147483904.f,
      4294967040.f,  4294967296.f, 127.5f,        128.0f,        -128.9f,        -129.0f,
      255.9f,        256.0f,       9.2233715e18f, 9.2233720e18f, -9.2233720e18f, 1.8446743e19f,
      1.8446744e19f, inf,          -inf,          nan_f,         4.4999995f,     0.49999997f};
  return values;
}

// op on vectors gives in every lane what it gives on scalars
template <class R, class F> void sameInVectors(F op) {
  constexpr int n = rt::lanes_of<rt::f32v>;
  for (size_t i = 0; i < floats().size(); ++i) {
    rt::f32v v = rt::f32v();
    for (int k = 0; k < n; ++k)
      rt::set_lane(v, k, floats()[(i + size_t(k)) % floats().size()]);
    const auto r = op(v);
    for (int k = 0; k < n; ++k) {
      const float x = rt::lane(v, k);
      INFO(x);
      CHECK(equal(R(rt::lane(r, k)), R(op(x))));
    }
  }
}

template <class F> void sameInVectors2(F op) {
  constexpr int n = rt::lanes_of<rt::f32v>;
  for (float b : floats()) {
    for (size_t i = 0; i < floats().size(); i += n) {
      rt::f32v v = rt::f32v();
      for (int k = 0; k < n; ++k)
        rt::set_lane(v, k, floats()[(i + size_t(k)) % floats().size()]);
      const rt::f32v r = op(v, rt::splat<rt::f32v>(b));
      for (int k = 0; k < n; ++k) {
        INFO(rt::lane(v, k) << " and " << b);
        CHECK(equal(rt::lane(r, k), op(rt::lane(v, k), b)));
      }
    }
  }
}

} // namespace

TEST_CASE("maximum and minimum keep NaN, max_number and min_number avoid it") {
  CHECK(rt::maximum(1.0f, 2.0f) == 2.0f);
  CHECK(rt::minimum(1.0f, 2.0f) == 1.0f);
  CHECK(std::isnan(rt::maximum(nan_f, 1.0f)));
  CHECK(std::isnan(rt::maximum(1.0f, nan_f)));
  CHECK(std::isnan(rt::minimum(nan_f, 1.0f)));
  CHECK(std::isnan(rt::minimum(1.0f, nan_f)));
  CHECK(equal(rt::maximum(-0.0f, 0.0f), -0.0f));
  CHECK(equal(rt::minimum(0.0f, -0.0f), 0.0f));
  CHECK(rt::max_number(nan_f, 1.0f) == 1.0f);
  CHECK(rt::max_number(1.0f, nan_f) == 1.0f);
  CHECK(rt::min_number(nan_f, 1.0f) == 1.0f);
  CHECK(rt::min_number(1.0f, nan_f) == 1.0f);
  CHECK(std::isnan(rt::max_number(nan_f, nan_f)));
  CHECK(rt::clamp(5.0f, 0.0f, 3.0f) == 3.0f);
  CHECK(rt::clamp(5.0f, 4.0f, 3.0f) == 3.0f);
  CHECK(std::isnan(rt::clamp(nan_f, 0.0f, 3.0f)));
  sameInVectors2([](auto a, auto b) { return rt::maximum(a, b); });
  sameInVectors2([](auto a, auto b) { return rt::minimum(a, b); });
  sameInVectors2([](auto a, auto b) { return rt::max_number(a, b); });
  rt::f32v v = rt::splat<rt::f32v>(1.0f);
  rt::set_lane(v, rt::lanes_of<rt::f32v> - 1, 7.0f);
  CHECK(rt::max_lanes(v) == 7.0f);
  CHECK(rt::min_lanes(v) == (rt::lanes_of<rt::f32v> == 1 ? 7.0f : 1.0f));
  rt::set_lane(v, 0, nan_f);
  CHECK(std::isnan(rt::max_lanes(v)));
}

TEST_CASE("rounding agrees with libm, signs of zero included") {
  for (float x : floats()) {
    INFO(x);
    CHECK(equal(rt::round_even(x), std::nearbyintf(x)));
    CHECK(equal(rt::floor(x), std::floor(x)));
    CHECK(equal(rt::ceil(x), std::ceil(x)));
    CHECK(equal(rt::trunc(x), std::trunc(x)));
    CHECK(equal(rt::round_away(x), std::round(x)));
    CHECK(equal(rt::floor(double(x)), std::floor(double(x))));
    CHECK(equal(rt::round_even(double(x)), std::nearbyint(double(x))));
  }
  sameInVectors<float>([](auto v) { return rt::round_even(v); });
  sameInVectors<float>([](auto v) { return rt::floor(v); });
  sameInVectors<float>([](auto v) { return rt::ceil(v); });
  sameInVectors<float>([](auto v) { return rt::trunc(v); });
  sameInVectors<float>([](auto v) { return rt::round_away(v); });
}

TEST_CASE("signs are bits") {
  CHECK(equal(rt::abs(-0.0f), 0.0f));
  CHECK(equal(rt::copysign(3.0f, -0.0f), -3.0f));
  CHECK(equal(rt::sign(-0.0f), -0.0f));
  CHECK(std::isnan(rt::sign(nan_f)));
  CHECK(rt::sign(-inf) == -1.0f);
  CHECK(rt::sign(1e-45f) == 1.0f);
  CHECK(rt::sign(int8_t(-100)) == -1);
  CHECK(rt::sign(int64_t(0)) == 0);
  CHECK(rt::sign(uint8_t(200)) == 1);
  CHECK(rt::abs(int8_t(-128)) == -128); // wraps
  CHECK(rt::abs(int32_t(-5)) == 5);
  CHECK(rt::is_inf(-inf));
  CHECK_FALSE(rt::is_inf(nan_f));
  sameInVectors<float>([](auto v) { return rt::sign(v); });
  sameInVectors<float>([](auto v) { return rt::abs(v); });
}

TEST_CASE("casts from floats saturate, and NaN is 0") {
  CHECK(rt::cast<int32_t>(2.9f) == 2);
  CHECK(rt::cast<int32_t>(-2.9f) == -2);
  CHECK(rt::cast<int32_t>(nan_f) == 0);
  CHECK(rt::cast<int32_t>(inf) == INT32_MAX);
  CHECK(rt::cast<int32_t>(-inf) == INT32_MIN);
  CHECK(rt::cast<int32_t>(2147483648.0f) == INT32_MAX);
  CHECK(rt::cast<int32_t>(2147483520.0f) == 2147483520);
  CHECK(rt::cast<int32_t>(2147483646.5) == 2147483646);
  CHECK(rt::cast<uint32_t>(-1.0f) == 0u);
  CHECK(rt::cast<uint32_t>(4294967040.0f) == 4294967040u);
  CHECK(rt::cast<uint32_t>(1e20f) == UINT32_MAX);
  CHECK(rt::cast<int64_t>(9.3e18f) == INT64_MAX);
  CHECK(rt::cast<int64_t>(-9.3e18) == INT64_MIN);
  CHECK(rt::cast<uint64_t>(1e19f) == uint64_t(1e19f));
  CHECK(rt::cast<uint64_t>(1e20) == UINT64_MAX);
  CHECK(rt::cast<uint64_t>(double(nan_f)) == 0u);
  CHECK(rt::cast<int8_t>(-128.9f) == -128);
  CHECK(rt::cast<int8_t>(1000.0f) == 127);
  CHECK(rt::cast<uint8_t>(255.9f) == 255);
  CHECK(rt::cast<uint8_t>(-0.5f) == 0);
  CHECK(rt::cast<int16_t>(40000.0) == 32767);
  CHECK(rt::cast<bool>(0.5f));
  CHECK(rt::cast<bool>(nan_f));
  CHECK_FALSE(rt::cast<bool>(-0.0f));
  sameInVectors<int8_t>([](auto v) { return rt::cast<int8_t>(v); });
  sameInVectors<uint16_t>([](auto v) { return rt::cast<uint16_t>(v); });
  sameInVectors<int32_t>([](auto v) { return rt::cast<int32_t>(v); });
  sameInVectors<uint32_t>([](auto v) { return rt::cast<uint32_t>(v); });
  sameInVectors<int64_t>([](auto v) { return rt::cast<int64_t>(v); });
}

TEST_CASE("casts between integers wrap, saturate clamps") {
  CHECK(rt::cast<int8_t>(int32_t(200)) == -56);
  CHECK(rt::cast<uint8_t>(int64_t(-1)) == 255);
  CHECK(rt::cast<int64_t>(uint32_t(4000000000u)) == 4000000000);
  CHECK(rt::cast<float>(int32_t(16777217)) == 16777216.0f);
  CHECK(rt::saturate<int8_t>(int32_t(200)) == 127);
  CHECK(rt::saturate<int8_t>(int32_t(-200)) == -128);
  CHECK(rt::saturate<uint8_t>(int32_t(-200)) == 0);
  CHECK(rt::saturate<uint8_t>(int32_t(300)) == 255);
  CHECK(rt::saturate<int32_t>(int64_t(1) << 40) == INT32_MAX);
  CHECK(rt::saturate<int64_t>(UINT64_MAX) == INT64_MAX);
  CHECK(rt::saturate<uint64_t>(int64_t(-3)) == 0u);
}

TEST_CASE("integers wrap around") {
  CHECK(rt::add(INT32_MAX, 1) == INT32_MIN);
  CHECK(rt::sub(INT64_MIN, int64_t(1)) == INT64_MAX);
  CHECK(rt::mul(int32_t(65537), int32_t(65537)) == 131073);
  CHECK(rt::mul(uint16_t(65535), uint16_t(65535)) == 1);
  CHECK(rt::neg(INT32_MIN) == INT32_MIN);
  CHECK(rt::add(int8_t(127), int8_t(1)) == -128);
  const auto v = rt::splat<rt::i32v>(INT32_MAX);
  CHECK(rt::lane(rt::add(v, rt::splat<rt::i32v>(2)), 0) == INT32_MIN + 1);
}

TEST_CASE("division of integers has an answer for everything") {
  struct row {
    int32_t a, b, div, floor_div, ceil_div, rem, mod;
  };
  const row rows[] = {
      {7, 2, 3, 3, 4, 1, 1},      {-7, 2, -3, -4, -3, -1, 1},
      {7, -2, -3, -4, -3, 1, -1}, {-7, -2, 3, 3, 4, -1, -1},
      {6, 3, 2, 2, 2, 0, 0},      {-6, 3, -2, -2, -2, 0, 0},
      {5, 0, 0, 0, 0, 0, 0},      {INT32_MIN, -1, INT32_MIN, INT32_MIN, INT32_MIN, 0, 0},
      {0, -5, 0, 0, 0, 0, 0}};
  for (const row& r : rows) {
    INFO(r.a << " and " << r.b);
    CHECK(rt::div(r.a, r.b) == r.div);
    CHECK(rt::floor_div(r.a, r.b) == r.floor_div);
    CHECK(rt::ceil_div(r.a, r.b) == r.ceil_div);
    CHECK(rt::rem(r.a, r.b) == r.rem);
    CHECK(rt::mod(r.a, r.b) == r.mod);
  }
  CHECK(rt::mod(uint8_t(200), uint8_t(7)) == 4);
  CHECK(rt::ceil_div(uint32_t(7), uint32_t(2)) == 4u);
  CHECK(rt::div(INT64_MIN, int64_t(-1)) == INT64_MIN);
}

TEST_CASE("fmod agrees with libm exactly, mod has the sign of the divisor") {
  for (float a : floats()) {
    for (float b : floats()) {
      INFO(a << " and " << b);
      CHECK(equal(rt::fmod(a, b), std::fmod(a, b)));
      CHECK(equal(rt::fmod(double(a), double(b)), std::fmod(double(a), double(b))));
    }
  }
  uint32_t state = 12345;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float a = rt::bits_as<float>(state);
    state = state * 1664525u + 1013904223u;
    const float b = rt::bits_as<float>(state);
    if (!equal(rt::fmod(a, b), std::fmod(a, b))) FAIL(a << " and " << b);
  }
  CHECK(rt::mod(-7.0f, 3.0f) == 2.0f);
  CHECK(rt::mod(7.0f, -3.0f) == -2.0f);
}

TEST_CASE("shifts by the width or more leave nothing") {
  CHECK(rt::shl(int32_t(1), int32_t(31)) == INT32_MIN);
  CHECK(rt::shl(int32_t(1), int32_t(32)) == 0);
  CHECK(rt::shl(uint8_t(255), uint8_t(7)) == 128);
  CHECK(rt::shl(uint8_t(255), uint8_t(8)) == 0);
  CHECK(rt::shr_logical(int32_t(-1), int32_t(28)) == 15);
  CHECK(rt::shr_logical(uint64_t(1) << 63, uint64_t(64)) == 0u);
  CHECK(rt::shr_arithmetic(int32_t(-8), int32_t(1)) == -4);
  CHECK(rt::shr_arithmetic(int32_t(-8), int32_t(100)) == -1);
  CHECK(rt::shr_arithmetic(int32_t(8), int32_t(-1)) == 0);
}

TEST_CASE("bits are counted") {
  CHECK(rt::count_ones(int8_t(-1)) == 8);
  CHECK(rt::leading_zeros(uint16_t(1)) == 15);
  CHECK(rt::leading_zeros(int32_t(0)) == 32);
  CHECK(rt::trailing_zeros(int64_t(8)) == 3);
  CHECK(rt::trailing_zeros(uint8_t(0)) == 8);
}

TEST_CASE("powers of integers wrap, negative exponents divide") {
  CHECK(rt::pow_int(3, 4) == 81);
  CHECK(rt::pow_int(2, 32) == 0);
  CHECK(rt::pow_int(-1, -3) == -1);
  CHECK(rt::pow_int(-1, -4) == 1);
  CHECK(rt::pow_int(2, -1) == 0);
  CHECK(rt::pow_int(1, -9) == 1);
  CHECK(rt::pow_int(0, 0) == 1);
  CHECK(rt::pow_int(int64_t(-3), int64_t(3)) == -27);
  CHECK(rt::lane(rt::pow(rt::splat<rt::i32v>(3), rt::splat<rt::i32v>(5)), 0) == 243);
}
