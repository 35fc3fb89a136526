// SPDX-License-Identifier: 0BSD
// x^y. The logarithm needs 7 more bits than f32 has, since y multiplies its error: both it and the
// exponential are computed in f64, half of the lanes at a time.
#ifndef ORTC_RT_POW_H
#define ORTC_RT_POW_H

#include "log.h"

ORTC_RT_ISA_BEGIN

namespace detail {

// log2(m) for sqrt(1/2) <= m <= sqrt(2), to 2^-38: by log(m) = 2 atanh((m - 1) / (m + 1))
template <class D> ORTC_INLINE D log2_f64(D m) {
  const D z = (m - 1.0) / (m + 1.0), s = z * z;
  D p = fma(splat<D>(1.0 / 15), s, 1.0 / 13);
  p = fma(p, s, 1.0 / 11);
  p = fma(p, s, 1.0 / 9);
  p = fma(p, s, 1.0 / 7);
  p = fma(p, s, 1.0 / 5);
  p = fma(p, s, 1.0 / 3);
  p = fma(p, s, 1.0);
  return z * p * 2.8853900817779268; // 2 / ln 2
}

// 2^x for -200 <= x <= 200, to 2^-38; NaN stays
template <class D> ORTC_INLINE D exp2_f64(D x) {
  using U = uint_of<D>;
  const D t = x + 6755399441055744.0; // 1.5 * 2^52
  const D r = (x - (t - 6755399441055744.0)) * 0.6931471805599453;
  D p = fma(splat<D>(1.0 / 3628800), r, 1.0 / 362880);
  p = fma(p, r, 1.0 / 40320);
  p = fma(p, r, 1.0 / 5040);
  p = fma(p, r, 1.0 / 720);
  p = fma(p, r, 1.0 / 120);
  p = fma(p, r, 1.0 / 24);
  p = fma(p, r, 1.0 / 6);
  p = fma(p, r, 0.5);
  p = fma(p, r, 1.0);
  p = fma(p, r, 1.0);
  const U n = bits_as<U>(t) - bits_as<uint64_t>(6755399441055744.0);
  return p * bits_as<D>(U((n + 1023u) << 52));
}

// 2^(y (e + log2 m)), rounded to f32 once
template <class D>
ORTC_INLINE like<float, D> power(like<float, D> m, like<float, D> e, like<float, D> y) {
  D x = (log2_f64(convert<double>(m)) + convert<double>(e)) * convert<double>(y);
  x = 200.0 < x ? splat<D>(200.0) : x;
  x = -200.0 > x ? splat<D>(-200.0) : x;
  return convert<float>(exp2_f64(x));
}
template <class V> ORTC_INLINE V power_of_lanes(V m, V e, V y) {
  if constexpr (lanes_of<V> == 1) {
    return power<double>(m, e, y);
  } else {
    using D = vec<double, lanes_of<V> / 2>;
    const auto a = power<D>(lower(m), lower(e), lower(y)),
               b = power<D>(upper(m), upper(e), upper(y));
    V r;
    __builtin_memcpy(&r, &a, sizeof a);
    __builtin_memcpy(reinterpret_cast<char*>(&r) + sizeof a, &b, sizeof b);
    return r;
  }
}

template <class V> ORTC_INLINE V pow_f32(V x, V y) {
  const V a = abs(x), one = splat<V>(1.0f);
  log_parts<V> s = split(a);
  // 0 and infinity: any exponent beyond the range makes the product overflow as it must
  const V below = splat<V>(-infinity), above = splat<V>(infinity);
  s.e = a == V() ? below : s.e;
  s.e = a == infinity ? above : s.e;
  V r = power_of_lanes(V(s.f + 1.0f), s.e, y);
  // x < 0: only whole exponents have a result, and odd ones turn the sign
  const V half = y * 0.5f;
  const auto whole = floor(y) == y;
  const auto even = floor(half) == half; // every number from 2^24 on; infinity too
  const V turned = -r, bad = splat<V>(not_a_number);
  const V signed_r = even ? r : V(whole ? turned : r);
  r = bits_as<int_of<V>>(x) < 0 ? signed_r : r;
  r = x < V() ? V(whole ? r : V(a == infinity ? r : bad)) : r;
  r = is_nan(x) ? x : r;
  r = is_nan(y) ? y : r;
  r = x == -1.0f ? V(is_inf(y) ? one : r) : r;
  r = x == 1.0f ? one : r;
  return y == V() ? one : r;
}

} // namespace detail

template <class V, detail::if_float<V> = 0> ORTC_INLINE V pow(V x, V y) { // ops.h has integers
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::pow_f32(x, y);
  else
    return detail::per_lane(x, y, [](double a, double b) { return __builtin_pow(a, b); });
}

ORTC_RT_ISA_END
#endif
