// SPDX-License-Identifier: 0BSD
// Narrow types: every code decodes and encodes back; every rounding is the nearest code, ties to
// the even one.
#include "rt/float8.h"
#include "rt/half.h"
#include "rt/int4.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace rt = ortc_rt;

namespace {

// Value of a float format by its definition, in double; NaN for its NaNs.
double valueOf(uint32_t code, int e, int m, int bias, bool fnuz, bool hasInf) {
  const uint32_t sign = code >> (e + m) & 1, exponent = code >> m & ((1u << e) - 1),
                 mantissa = code & ((1u << m) - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double v;
  if (fnuz && sign && !exponent && !mantissa) return nan;
  if (hasInf && exponent == (1u << e) - 1)
    v = mantissa ? nan : std::numeric_limits<double>::infinity();
  else if (exponent)
    v = std::ldexp(1.0 + std::ldexp(double(mantissa), -m), int(exponent) - bias);
  else
    v = std::ldexp(double(mantissa), 1 - bias - m);
  return sign ? -v : v;
}

// The nearest code for x >= 0 among codes 0 .. max, ties to even; max + 1 when the next step would
// be nearer.
template <class Decode> uint32_t nearestCode(double x, uint32_t max, Decode decode) {
  uint32_t low = 0, high = max;
  if (x >= decode(max)) {
    const double step = decode(max) - decode(max - 1), half = decode(max) + step / 2;
    return x < half || (x == half && max % 2 == 0) ? max : max + 1;
  }
  while (high - low > 1) {
    const uint32_t mid = (low + high) / 2;
    (decode(mid) <= x ? low : high) = mid;
  }
  const double a = x - decode(low), b = decode(high) - x;
  return a < b || (a == b && low % 2 == 0) ? low : high;
}

// Codes' values, the points half way between them, and both neighbours of all of these.
template <class Decode>
std::vector<float> testPoints(uint32_t max, uint32_t stride, Decode decode) {
  std::vector<float> xs = {0.0f, 1e-45f, 1e30f, 3.4e38f};
  for (uint32_t c = 0; c <= max; c += stride) {
    const double here = decode(c), next = c == max ? here + (here - decode(c - 1)) : decode(c + 1);
    for (double v : {here, (here + next) / 2}) {
      xs.push_back(float(v));
      xs.push_back(std::nextafter(float(v), 0.0f));
      xs.push_back(std::nextafter(float(v), 1e38f));
    }
  }
  return xs;
}

template <class F8> struct small {
  int e, m, bias;
  bool fnuz, hasInf;
  uint32_t max;
  F8 (*encode)(float, bool);
};

template <class F8> void checkSmall(const small<F8>& f) {
  const auto decode = [&](uint32_t c) { return valueOf(c, f.e, f.m, f.bias, f.fnuz, f.hasInf); };
  for (uint32_t c = 0; c < 256; ++c) {
    const float got = rt::to_f32(F8{uint8_t(c)});
    if (!f.fnuz && (c & 0x7f) > f.max + (f.hasInf ? 1u : 0u)) {
      CHECK(std::isnan(got));
      continue;
    }
    const double want = decode(c);
    INFO(c << ": " << got << ", expected " << want);
    CHECK((std::isnan(want) ? std::isnan(got)
                            : double(got) == want && std::signbit(got) == std::signbit(want)));
    if (!std::isnan(want)) CHECK(f.encode(got, false).bits == c);
  }
  for (float x : testPoints(f.max, 1, decode)) {
    const uint32_t c = nearestCode(x, f.max, decode);
    INFO(x);
    const uint32_t sign = f.fnuz && c == 0 ? 0 : 0x80;
    if (c <= f.max) {
      CHECK(f.encode(x, false).bits == c);
      CHECK(f.encode(-x, false).bits == (c | sign));
    } else {
      const float big = rt::to_f32(f.encode(-x, false));
      CHECK((f.hasInf ? std::isinf(big) && big < 0 : std::isnan(big)));
    }
    CHECK(f.encode(x, true).bits == std::min(c, f.max));
  }
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(f.encode(inf, true).bits == f.max);
  CHECK(std::isnan(rt::to_f32(f.encode(std::numeric_limits<float>::quiet_NaN(), true))));
  CHECK((f.hasInf ? std::isinf(rt::to_f32(f.encode(inf, false)))
                  : std::isnan(rt::to_f32(f.encode(inf, false)))));
}

} // namespace

TEST_CASE("f16: all codes, all roundings, vectors like scalars") {
  const auto decode = [](uint32_t c) { return valueOf(c, 5, 10, 15, false, true); };
  constexpr int n = rt::lanes_of<rt::f32v>;
  for (uint32_t c = 0; c < 65536; c += n) {
    uint16_t codes[n], back[n];
    for (int i = 0; i < n; ++i)
      codes[i] = uint16_t(c + uint32_t(i));
    const auto v = rt::load_as<rt::f32v>(reinterpret_cast<const rt::f16*>(codes));
    rt::store_as(reinterpret_cast<rt::f16*>(back), v);
    for (int i = 0; i < n; ++i) {
      const float got = rt::to_f32(rt::f16{codes[i]});
      const double want = decode(codes[i]);
      const bool same = std::isnan(want)
                            ? std::isnan(got)
                            : double(got) == want && std::signbit(got) == std::signbit(want);
      if (std::isnan(want)) { // the payload may change, sign and NaN not
        const uint32_t lane = rt::bits_as<uint32_t>(rt::lane(v, i));
        const auto nanOfSign = [&](uint32_t h) {
          return (h & 0x7fff) > 0x7c00 && (h ^ codes[i]) < 0x8000;
        };
        if (!same || (lane & 0x7fffffff) <= 0x7f800000 || lane >> 31 != uint32_t(codes[i] >> 15) ||
            !nanOfSign(back[i]) || !nanOfSign(rt::to_f16(got).bits))
          FAIL(codes[i]);
      } else if (!same || rt::bits_as<uint32_t>(rt::lane(v, i)) != rt::bits_as<uint32_t>(got) ||
                 back[i] != codes[i] || rt::to_f16(got).bits != codes[i])
        FAIL(codes[i]);
    }
  }
  for (float x : testPoints(0x7bff, 7, decode)) {
    const uint32_t c = nearestCode(x, 0x7bff, decode); // 0x7c00 is infinity
    rt::f16 h[n];
    rt::store_as(h, rt::splat<rt::f32v>(-x));
    if (rt::to_f16(x).bits != c || h[n - 1].bits != (c | 0x8000)) FAIL(x);
  }
}

TEST_CASE("bf16: roundings, NaN, vectors like scalars") {
  const auto decode = [](uint32_t c) { return valueOf(c, 8, 7, 127, false, true); };
  constexpr int n = rt::lanes_of<rt::f32v>;
  for (float x : testPoints(0x7f7f, 5, decode)) {
    const uint32_t c = std::isinf(x) ? 0x7f80 : nearestCode(x, 0x7f7f, decode);
    rt::bf16 h[n];
    rt::store_as(h, rt::splat<rt::f32v>(-x));
    if (rt::to_bf16(x).bits != c || h[n - 1].bits != (c | 0x8000)) FAIL(x);
    CHECK(double(rt::lane(rt::load_as<rt::f32v>(h), 0)) == -decode(c));
  }
  CHECK(std::isnan(rt::to_f32(rt::to_bf16(rt::bits_as<float>(0x7f800001u)))));
}

TEST_CASE("f64 to half rounds once") {
  // Just above half way between two f16 numbers: rounding to f32 first would make it a tie.
  const double x = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  CHECK(rt::to_f16(x).bits == 0x3c01);
  CHECK(rt::to_f16(-x).bits == 0xbc01);
  CHECK(rt::to_f16(1.0 + std::ldexp(1.0, -11) - std::ldexp(1.0, -40)).bits == 0x3c00);
  CHECK(rt::to_bf16(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)).bits == 0x3f81);
  CHECK(rt::to_f16(1e300).bits == 0x7c00);
}

TEST_CASE("float8 and float4") {
  checkSmall<rt::f8e4m3fn>({4, 3, 7, false, false, 0x7e, rt::to_f8e4m3fn});
  checkSmall<rt::f8e4m3fnuz>({4, 3, 8, true, false, 0x7f, rt::to_f8e4m3fnuz});
  checkSmall<rt::f8e5m2>({5, 2, 15, false, true, 0x7b, rt::to_f8e5m2});
  checkSmall<rt::f8e5m2fnuz>({5, 2, 16, true, false, 0x7f, rt::to_f8e5m2fnuz});
  const float f4[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (uint8_t c = 0; c < 16; ++c) {
    const float v = rt::to_f32(rt::f4e2m1{c});
    CHECK(std::fabs(v) == f4[c & 7]);
    CHECK(std::signbit(v) == (c > 7));
    CHECK(rt::to_f4e2m1(v).bits == c);
  }
  CHECK(rt::to_f4e2m1(2.5f).bits == 4);
  CHECK(rt::to_f4e2m1(100.0f).bits == 7);
}

TEST_CASE("e8m0 rounds to powers of two") {
  using rt::e8m0_rounding;
  CHECK(rt::to_f32(rt::f8e8m0{127}) == 1.0f);
  CHECK(rt::to_f32(rt::f8e8m0{0}) == std::ldexp(1.0f, -127));
  CHECK(std::isnan(rt::to_f32(rt::f8e8m0{255})));
  for (int c = 0; c < 255; ++c)
    for (auto mode : {e8m0_rounding::up, e8m0_rounding::down, e8m0_rounding::nearest})
      CHECK(rt::to_f8e8m0(rt::to_f32(rt::f8e8m0{uint8_t(c)}), mode, false).bits == c);
  CHECK(rt::to_f8e8m0(1.1f, e8m0_rounding::up, true).bits == 128);
  CHECK(rt::to_f8e8m0(1.9f, e8m0_rounding::down, true).bits == 127);
  CHECK(rt::to_f8e8m0(1.4f, e8m0_rounding::nearest, true).bits == 127);
  CHECK(rt::to_f8e8m0(1.5f, e8m0_rounding::nearest, true).bits == 128);
  CHECK(rt::to_f8e8m0(0.0f, e8m0_rounding::up, true).bits == 0);
  CHECK(rt::to_f8e8m0(0.0f, e8m0_rounding::nearest, false).bits == 255);
  CHECK(rt::to_f8e8m0(std::numeric_limits<float>::infinity(), e8m0_rounding::up, true).bits == 254);
}

TEST_CASE("4-bit integers") {
  uint8_t bytes[2] = {0xf1, 0x87};
  const int8_t i4[] = {1, -1, 7, -8};
  const uint8_t u4[] = {1, 15, 7, 8};
  for (int i = 0; i < 4; ++i) {
    CHECK(rt::get_i4(bytes, i) == i4[i]);
    CHECK(rt::get_u4(bytes, i) == u4[i]);
  }
  rt::put_4(bytes, 1, 2);
  rt::put_4(bytes, 2, uint8_t(-3));
  CHECK(bytes[0] == 0x21);
  CHECK(bytes[1] == 0x8d);
  CHECK(rt::saturate_i4(9.7f) == 7);
  CHECK(rt::saturate_u4(-2) == 0);
}

TEST_CASE("small integers load as floats and store with saturation") {
  constexpr int n = rt::lanes_of<rt::f32v>;
  int8_t in[n], out[n];
  for (int i = 0; i < n; ++i)
    in[i] = int8_t(i * 16 - 128);
  const auto v = rt::load_as<rt::f32v>(in);
  rt::store_as(out, rt::f32v(v * 2.0f));
  for (int i = 0; i < n; ++i) {
    CHECK(rt::lane(v, i) == float(in[i]));
    CHECK(out[i] == std::max(-128, std::min(127, 2 * in[i])));
  }
}
