// SPDX-License-Identifier: 0BSD
// exp, exp2, expm1 and sigmoid. Here and in the other function headers: f32 by our own polynomials
// (tools/minimax.py fits them; README.md lists the errors), the same operations for a scalar and
// for a vector, so the same bits; f64, which models rarely use, lane by lane through libm.
#ifndef ORTC_RT_EXP_H
#define ORTC_RT_EXP_H

#include "ops.h"

ORTC_RT_ISA_BEGIN

namespace detail {

constexpr float infinity = __builtin_inff();
constexpr float not_a_number = __builtin_nanf("");
constexpr float log2_e = 1.44269504f;
// ln 2 in two parts; the first has 9 zero bits at its end, so that its products with exponents are
// exact
constexpr float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
constexpr float round_magic =
    12582912.0f; // 1.5 * 2^23: x + this has the nearest integer to x in its low bits

// NaN stays.
template <class V> ORTC_INLINE V at_most(V x, float hi) {
  return less(splat<V>(hi), x);
}
template <class V> ORTC_INLINE V at_least(V x, float lo) {
  return greater(splat<V>(lo), x);
}

// The nearest integer to x, |x| < 2^22, as a float and as an integer.
template <class V> struct nearest {
  V value;
  int_of<V> number;
};
template <class V> ORTC_INLINE nearest<V> round_product(V x, float factor) {
  const V t = fma(x, factor, round_magic);
  // Unsigned: of NaN and infinity the difference is anything.
  using U = uint_of<V>;
  const U number = bits_as<U>(t) - bits_as<uint32_t>(round_magic);
  return {V(t - round_magic), bits_as<int_of<V>>(number)};
}

// e^r - 1 for |r| <= ln2 / 2, as r + r^2 p
template <class V> ORTC_INLINE V expm1_core(V r) {
  V p = fma(splat<V>(0.00138367189f), r, 0.00836914033f);
  p = fma(p, r, 0.0416681059f);
  p = fma(p, r, 0.166665167f);
  p = fma(p, r, 0.49999994f);
  return fma(V(r * r), p, r);
}
template <class V> ORTC_INLINE V exp_core(V r) {
#if defined(ORTC_FMA_F32)
  V p = fma(splat<V>(0.00138367189f), r, 0.00836914033f);
  p = fma(p, r, 0.0416681059f);
  p = fma(p, r, 0.166665167f);
  p = fma(p, r, 0.49999994f);
  p = fma(p, r, 1.0f);
  return fma(p, r, 1.0f);
#else
  return 1.0f + expm1_core(r); // one operation more, and 0.2 ulp less where each product is rounded
#endif
}

// 2^n, -126 <= n <= 127; any number for other n, which NaN leads to
template <class V> ORTC_INLINE V power_of_2(int_of<V> n) {
  using U = uint_of<V>;
  return bits_as<V>(U((bits_as<U>(n) + 127u) << 23));
}

// y 2^n for any n that occurs here, rounded once, denormals included
template <class V> ORTC_INLINE V scale(V y, const nearest<V>& n, int shift) {
#if defined(__AVX512F__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(V) == 64)
    return __builtin_ia32_scalefps512_mask(y, shift ? V(n.value + float(shift)) : n.value, y,
                                           uint16_t(-1), 4);
#endif
  const int_of<V> k = add(n.number, splat<int_of<V>>(shift)), half = k >> 1;
  return y * power_of_2<V>(half) * power_of_2<V>(int_of<V>(k - half));
}

// e^x 2^shift
template <class V> ORTC_INLINE V exp_shifted(V x, int shift) {
  const V c = at_least(at_most(x, 90.0f), -105.0f); // beyond lie infinity and 0
  const nearest<V> n = round_product(c, log2_e);
  const V r = fma(n.value, -ln2_low, fma(n.value, -ln2_high, c));
  return scale(exp_core(r), n, shift);
}

// e^x for -87 <= x <= 88, where one scaling is enough
template <class V> ORTC_INLINE V exp_in_range(V x) {
  const nearest<V> n = round_product(x, log2_e);
  const V r = fma(n.value, -ln2_low, fma(n.value, -ln2_high, x));
  return exp_core(r) * power_of_2<V>(n.number);
}

template <class V> ORTC_INLINE V expm1_f32(V x) {
  const V c = at_least(at_most(x, 89.0f), -18.0f);
  const nearest<V> n = round_product(c, log2_e);
  const V r = fma(n.value, -ln2_low, fma(n.value, -ln2_high, c));
  // 2^n (e^r - 1) + (2^n - 1), at half size: n can be 128
  const V half = power_of_2<V>(sub(n.number, splat<int_of<V>>(1)));
  const V y = fma(expm1_core(r), half, V(half - 0.5f)) * 2.0f;
  return abs(x) < 1e-30f ? x : y; // keeps the sign of 0 and the bits of denormals
}

template <class V> ORTC_INLINE V exp2_f32(V x) {
  const V c = at_least(at_most(x, 130.0f), -152.0f);
  const nearest<V> n = round_product(c, 1.0f);
  return scale(exp_core(V((c - n.value) * 0.693147182f)), n, 0);
}

} // namespace detail

template <class V> ORTC_INLINE V exp(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::exp_shifted(x, 0);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_exp(v); });
}

template <class V> ORTC_INLINE V exp2(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::exp2_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_exp2(v); });
}

template <class V> ORTC_INLINE V expm1(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::expm1_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_expm1(v); });
}

// 1 / (1 + e^-x) = e^x / (1 + e^x), by the exponential that is at most 1: small results keep their
// digits
template <class V> ORTC_INLINE V sigmoid(V x) {
  const V one = splat<V>(1), e = exp(V(-abs(x)));
  return (x < V() ? e : one) / (one + e);
}

ORTC_RT_ISA_END
#endif
