// SPDX-License-Identifier: 0BSD
// log, log2, log10 and log1p.
#ifndef ORTC_RT_LOG_H
#define ORTC_RT_LOG_H

#include "exp.h"

ORTC_RT_ISA_BEGIN

namespace detail {

constexpr uint32_t sqrt_half_bits = 0x3f3504f3u; // 0.707

// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2), plus `more`, which is small against f: -f^2/2 +
// f^3 p(f) + more
template <class V> ORTC_INLINE V log_rest(V f, V more) {
  V p = fma(splat<V>(-0.0761891156f), f, 0.127496243f);
  p = fma(p, f, -0.131562218f);
  p = fma(p, f, 0.14200893f);
  p = fma(p, f, -0.16623348f);
  p = fma(p, f, 0.200012609f);
  p = fma(p, f, -0.250008225f);
  p = fma(p, f, 0.333333313f);
  const V z = f * f;
  return fma(z, -0.5f, fma(V(f * z), p, more));
}

// x = (1 + f) 2^e, for finite x > 0, denormals included
template <class V> struct log_parts {
  V f, e;
};
template <class V> ORTC_INLINE log_parts<V> split(V x) {
  using U = uint_of<V>;
  const auto tiny = x < 1.17549435e-38f;
  const V big = x * 8388608.0f;
  const V y = tiny ? big : x;
  const U i = bits_as<U>(y) - sqrt_half_bits;
  const V e = convert<float>(int_of<V>(bits_as<int_of<V>>(i) >> 23));
  const V m = bits_as<V>(U((i & 0x007fffffu) + sqrt_half_bits));
  const V lower = e - 23.0f;
  return {V(m - 1.0f), tiny ? lower : e};
}

// What all logarithms answer for x <= 0, infinity and NaN
template <class V> ORTC_INLINE V log_special(V x, V y) {
  y = x < infinity ? y : x;
  const V pole = splat<V>(-infinity), bad = splat<V>(not_a_number);
  const V outside = x == V() ? pole : bad;
  return x <= V() ? outside : y;
}

template <class V> ORTC_INLINE V log_f32(V x) {
  const log_parts<V> s = split(x);
  const V rest = log_rest(s.f, V(s.e * ln2_low));
  return log_special(x, fma(s.e, ln2_high, V(s.f + rest)));
}

template <class V> ORTC_INLINE V log2_f32(V x) {
  const log_parts<V> s = split(x);
  const V y = s.f + log_rest(s.f, V());
  return log_special(x, fma(y, log2_e, s.e));
}

template <class V> ORTC_INLINE V log10_f32(V x) {
  const log_parts<V> s = split(x);
  const V y = s.f + log_rest(s.f, V());
  const V low = fma(s.e, 4.60503907e-6f, V(y * 0.434294492f)); // e * (log10(2) - 0.301025391)
  return log_special(x, fma(s.e, 0.301025391f, low));
}

template <class V> ORTC_INLINE V log1p_f32(V x) {
  using U = uint_of<V>;
  const V u = x + 1.0f;
  const U i = bits_as<U>(u) - sqrt_half_bits;
  const int_of<V> e = bits_as<int_of<V>>(i) >> 23;
  // f = (1 + x) / 2^e - 1 without the rounding of 1 + x; from 2^24 on that rounding is nothing
  const V s = bits_as<V>(U((127u - bits_as<U>(e)) << 23));
  const V m = bits_as<V>(U((i & 0x007fffffu) + sqrt_half_bits));
  const V exact = fma(x, s, V(s - 1.0f)), rounded = m - 1.0f;
  const V f = x < 16777216.0f ? exact : rounded;
  const V ef = convert<float>(e);
  const V rest = log_rest(f, V(ef * ln2_low));
  V y = fma(ef, ln2_high, V(f + rest));
  y = x < infinity ? y : x;
  const V pole = splat<V>(-infinity), bad = splat<V>(not_a_number);
  const V outside = x == -1.0f ? pole : bad;
  y = x <= -1.0f ? outside : y;
  return x == V() ? x : y;
}

} // namespace detail

template <class V> ORTC_INLINE V log(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::log_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_log(v); });
}

template <class V> ORTC_INLINE V log2(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::log2_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_log2(v); });
}

template <class V> ORTC_INLINE V log10(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::log10_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_log10(v); });
}

template <class V> ORTC_INLINE V log1p(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::log1p_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_log1p(v); });
}

ORTC_RT_ISA_END
#endif
