// SPDX-License-Identifier: 0BSD
// tanh, sinh, cosh and their inverses.
#ifndef ORTC_RT_HYPERBOLIC_H
#define ORTC_RT_HYPERBOLIC_H

#include "log.h"
#include "sqrt.h"

ORTC_RT_ISA_BEGIN

namespace detail {

template <class V> ORTC_INLINE V tanh_f32(V x) {
  const V t = abs(x), s = x * x;
  V p = fma(splat<V>(-0.00569229666f), s, 0.0206281673f);
  p = fma(p, s, -0.0537365153f);
  p = fma(p, s, 0.133314058f);
  p = fma(p, s, -0.333332807f);
  const V near = fma(V(t * s), p, t);
  const V e = exp_in_range(V(2.0f * at_most(t, 10.0f)));
  const V far = 1.0f - 2.0f / (e + 1.0f);
  return copysign(V(t > 0.625f ? far : near), x);
}

template <class V> ORTC_INLINE V sinh_f32(V x) {
  const V t = abs(x), s = x * x;
  V p = fma(splat<V>(2.78221319e-06f), s, 0.000198428956f);
  p = fma(p, s, 0.00833331048f);
  p = fma(p, s, 0.166666672f);
  const V near = fma(V(t * s), p, t);
  const V h = exp_shifted(t, -1); // e^t / 2 is finite as long as sinh is
  const V far = h - 0.25f / h;
  return copysign(V(t > 1.0f ? far : near), x);
}

template <class V> ORTC_INLINE V cosh_f32(V x) {
  const V h = exp_shifted(abs(x), -1);
  return h + 0.25f / h;
}

template <class V> ORTC_INLINE V asinh_f32(V x) {
  const V t = abs(x), s = x * x;
  V p = fma(splat<V>(0.00925663859f), s, -0.0200495869f);
  p = fma(p, s, 0.0300335698f);
  p = fma(p, s, -0.0446160957f);
  p = fma(p, s, 0.0749990717f);
  p = fma(p, s, -0.166666657f);
  const V near = fma(V(t * s), p, t);
  // log(t + sqrt(t^2 + 1)); from 1e9 on it is log(2 t), and t^2 may overflow
  const auto huge = t > 1e9f;
  const V w = t + s / (1.0f + sqrt(V(1.0f + s)));
  const V far = log1p_f32(V(huge ? t : w)) + (huge ? splat<V>(0.693147182f) : V());
  return copysign(V(t > 0.5f ? far : near), x);
}

template <class V> ORTC_INLINE V acosh_f32(V x) {
  const V t = x - 1.0f;
  const auto huge = x > 1e9f;
  const V w = t + sqrt(V(t * (t + 2.0f)));
  const V y = log1p_f32(V(huge ? t : w)) + (huge ? splat<V>(0.693147182f) : V());
  const V bad = splat<V>(not_a_number);
  return x < 1.0f ? bad : y;
}

template <class V> ORTC_INLINE V atanh_f32(V x) {
  const V t = abs(x), s = x * x;
  V p = fma(splat<V>(0.17638056f), s, 0.051603131f);
  p = fma(p, s, 0.1181641f);
  p = fma(p, s, 0.142237842f);
  p = fma(p, s, 0.20002453f);
  p = fma(p, s, 0.333333015f);
  const V near = fma(V(t * s), p, t);
  const V far = 0.5f * log1p_f32(V(2.0f * t / (1.0f - t)));
  return copysign(V(t > 0.5f ? far : near), x);
}

} // namespace detail

#define ORTC_F32_OR_LIBM(name)                                                                     \
  template <class V> ORTC_INLINE V name(V x) {                                                     \
    if constexpr (sizeof(elem_of<V>) == 4)                                                         \
      return detail::name##_f32(x);                                                                \
    else                                                                                           \
      return detail::per_lane<double>(x, [](double v) { return __builtin_##name(v); });            \
  }
ORTC_F32_OR_LIBM(tanh)
ORTC_F32_OR_LIBM(sinh)
ORTC_F32_OR_LIBM(cosh)
ORTC_F32_OR_LIBM(asinh)
ORTC_F32_OR_LIBM(acosh)
ORTC_F32_OR_LIBM(atanh)
#undef ORTC_F32_OR_LIBM

ORTC_RT_ISA_END
#endif
