// SPDX-License-Identifier: 0BSD
// sin, cos, tan and their inverses. Arguments of any size are reduced exactly: large ones lane by
// lane in integers.
#ifndef ORTC_RT_TRIG_H
#define ORTC_RT_TRIG_H

#include "exp.h"
#include "sqrt.h"

ORTC_RT_ISA_BEGIN

namespace detail {

constexpr float pi_high = 3.14159274f, pi_low = -8.74227766e-08f;
constexpr float half_pi_high = 1.57079637f, half_pi_low = -4.37113883e-08f;

// x = n pi/2 + r + low with |r| <= pi/4, and low what r lost by rounding
template <class V> struct angle {
  V r, low;
  int_of<V> n;
};

// Multiplies the 24 bits of x with those bits of 2/pi that matter (Payne and Hanek, 1983): the ones
// above count whole turns. The top two bits of the product are n, the others the fraction of a
// quarter turn.
inline ORTC_NOINLINE angle<float> reduce_large(float x) {
  static constexpr uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u,
                                             0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                             0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const uint32_t bits = bits_as<uint32_t>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) return {not_a_number, 0, 0};
  const uint64_t m = (bits & 0x007fffffu) | 0x00800000u;
  const int position =
      int(bits >> 23) - 150 + 30; // x = m 2^(exponent - 150); of the bit that has weight 2
  const int w = position / 32, s = position % 32;
  uint32_t window[3];
  for (int i = 0; i < 3; ++i) {
    const uint64_t two =
        uint64_t(two_over_pi[w + i]) << 32 | (w + i + 1 < 9 ? two_over_pi[w + i + 1] : 0);
    window[i] = uint32_t(two << s >> 32);
  }
  const uint64_t product = ((window[0] * m) << 32) + window[1] * m + ((window[2] * m) >> 32);
  const uint64_t n = (product + (uint64_t(1) << 61)) >> 62;
  const double fraction = double(int64_t(product - (n << 62)));
  const double exact = fraction * 3.4061215800865545e-19; // pi/2 * 2^-62
  const float r = float(exact), low = float(exact - double(r));
  return x < 0 ? angle<float>{-r, -low, int32_t(-n)} : angle<float>{r, low, int32_t(n)};
}

template <class V> ORTC_INLINE angle<V> reduce(V x) {
  const nearest<V> n = round_product(x, 0.636619747f);
#if defined(ORTC_FMA_F32)
  constexpr float limit = 100000.0f;
  const V r0 = fma(n.value, -half_pi_high, x); // exact
  const V product = n.value * half_pi_low, product_low = fma(n.value, half_pi_low, V(-product));
  const V r1 = r0 - product;
  const V rest = ((r0 - r1) - product) - fma(n.value, -1.71512451e-15f, product_low);
#else
  constexpr float limit =
      12000.0f; // n has 13 bits, and each part of pi/2 has 11: their products are exact
  const V r0 = (x - n.value * 1.5703125f) - n.value * 0.000483751297f;
  const V product = n.value * 7.54953362e-08f;
  const V r1 = r0 - product;
  const V rest = ((r0 - r1) - product) - n.value * 2.56334407e-12f;
#endif
  const V r = r1 + rest;
  angle<V> a = {r, V((r1 - r) + rest), n.number};
  if (ORTC_UNLIKELY(any(abs(x) > limit))) {
    for (int i = 0; i < lanes_of<V>; ++i) {
      if (abs(lane(x, i)) > limit) {
        const angle<float> one = reduce_large(lane(x, i));
        set_lane(a.r, i, one.r);
        set_lane(a.low, i, one.low);
        set_lane(a.n, i, one.n);
      }
    }
  }
  return a;
}

// on |r| <= pi/4
template <class V> ORTC_INLINE V sin_core(V r, V s) {
  V p = fma(splat<V>(2.83251006e-06f), s, -0.000198530644f);
  p = fma(p, s, 0.0083333794f);
  p = fma(p, s, -0.166666672f);
  return fma(V(r * s), p, r);
}
template <class V> ORTC_INLINE V cos_core(V s) {
  V p = fma(splat<V>(2.44306702e-05f), s, -0.00138873013f);
  p = fma(p, s, 0.0416666456f);
  return fma(V(s * s), p, fma(s, -0.5f, splat<V>(1.0f)));
}

// sin(r + n pi/2)
template <class V> ORTC_INLINE V sin_of(const angle<V>& a) {
  using U = uint_of<V>;
  const V s = a.r * a.r;
  const V odd = cos_core(s), even = sin_core(a.r, s);
  const V y = (a.n & 1) != 0 ? odd : even;
  return bits_as<V>(U(bits_as<U>(y) ^ (bits_as<U>(a.n) & 2u) << 30));
}

template <class V> ORTC_INLINE V sin_f32(V x) {
  const V y = sin_of(reduce(x));
  return x == V() ? x : y;
}
template <class V> ORTC_INLINE V cos_f32(V x) {
  angle<V> a = reduce(x);
  a.n = add(a.n, splat<int_of<V>>(1));
  return sin_of(a);
}
template <class V> ORTC_INLINE V tan_f32(V x) {
  const angle<V> a = reduce(x);
  const V s = a.r * a.r;
  V p = fma(splat<V>(0.00940340944f), s, 0.00309081469f);
  p = fma(p, s, 0.0244472586f);
  p = fma(p, s, 0.0534068644f);
  p = fma(p, s, 0.13338846f);
  p = fma(p, s, 0.333331555f);
  // near pi/4 an error of r counts twice: tan(r + low) = tan(r) + low (1 + tan(r)^2)
  const V low = fma(s, a.low, a.low);
  const V t = a.r + fma(V(a.r * s), p, low);
  const V cotangent = -1.0f / t;
  const V y = (a.n & 1) != 0 ? cotangent : t;
  return x == V() ? x : y;
}

// asin on [0, 1/2]
template <class V> ORTC_INLINE V asin_core(V x, V s) {
  V p = fma(splat<V>(0.0421582982f), s, 0.0241847802f);
  p = fma(p, s, 0.0454691499f);
  p = fma(p, s, 0.0749530941f);
  p = fma(p, s, 0.166667521f);
  return fma(V(x * s), p, x);
}
template <class V> ORTC_INLINE V asin_f32(V x) {
  const V t = abs(x);
  const auto large = t > 0.5f; // asin(t) = pi/2 - 2 asin(sqrt((1 - t) / 2))
  const V z = (1.0f - t) * 0.5f, tt = t * t;
  const V s = large ? z : tt;
  const V root = sqrt(z);
  const V p = asin_core(V(large ? root : t), s);
  const V far = half_pi_high - (2.0f * p - half_pi_low);
  return copysign(V(large ? far : p), x);
}
template <class V> ORTC_INLINE V acos_f32(V x) {
  const V t = abs(x);
  const auto large = t > 0.5f;
  const V z = (1.0f - t) * 0.5f, tt = t * t;
  const V s = large ? z : tt;
  const V root = sqrt(z);
  const V p = asin_core(V(large ? root : t), s);
  const V twice = 2.0f * p;
  const V left = pi_high - (twice - pi_low);
  const V middle = half_pi_high - (copysign(p, x) - half_pi_low);
  const V outer = x < V() ? left : twice;
  return large ? outer : middle;
}

// atan on [0, 1]
template <class V> ORTC_INLINE V atan_core(V x) {
  const V s = x * x;
  V p = fma(splat<V>(0.00292112445f), s, -0.01636995f);
  p = fma(p, s, 0.0432139523f);
  p = fma(p, s, -0.0755218491f);
  p = fma(p, s, 0.106658824f);
  p = fma(p, s, -0.14211008f);
  p = fma(p, s, 0.199937671f);
  p = fma(p, s, -0.333331525f);
  return fma(V(x * s), p, x);
}
template <class V> ORTC_INLINE V atan_f32(V x) {
  const V t = abs(x);
  const auto large = t > 1.0f;
  const V inverse = 1.0f / t;
  const V p = atan_core(V(large ? inverse : t));
  const V far = half_pi_high - (p - half_pi_low);
  return copysign(V(large ? far : p), x);
}
template <class V> ORTC_INLINE V atan2_f32(V y, V x) {
  using I = int_of<V>;
  const V a = abs(y), b = abs(x);
  const auto steep = a > b;
  const V low = steep ? b : a, high = steep ? a : b;
  V q = low / high;
  q = high == V() ? V() : q;                // 0 / 0
  q = low == infinity ? splat<V>(1.0f) : q; // infinity / infinity
  V p = atan_core(q);
  const V upright = half_pi_high - (p - half_pi_low);
  p = steep ? upright : p;
  const V left = pi_high - (p - pi_low);
  p = bits_as<I>(x) < 0 ? left : p; // by sign bit: -0 too
  p = copysign(p, y);
  const V sum = x + y;
  return is_nan(x) ? sum : V(is_nan(y) ? sum : p);
}

} // namespace detail

#define ORTC_F32_OR_LIBM(name)                                                                     \
  template <class V> ORTC_INLINE V name(V x) {                                                     \
    if constexpr (sizeof(elem_of<V>) == 4)                                                         \
      return detail::name##_f32(x);                                                                \
    else                                                                                           \
      return detail::per_lane<double>(x, [](double v) { return __builtin_##name(v); });            \
  }
ORTC_F32_OR_LIBM(sin)
ORTC_F32_OR_LIBM(cos)
ORTC_F32_OR_LIBM(tan)
ORTC_F32_OR_LIBM(asin)
ORTC_F32_OR_LIBM(acos)
ORTC_F32_OR_LIBM(atan)
#undef ORTC_F32_OR_LIBM

template <class V> ORTC_INLINE V atan2(V y, V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::atan2_f32(y, x);
  else
    return detail::per_lane(y, x, [](double a, double b) { return __builtin_atan2(a, b); });
}

ORTC_RT_ISA_END
#endif
