// SPDX-License-Identifier: 0BSD
// The error function.
#ifndef ORTC_RT_ERF_H
#define ORTC_RT_ERF_H

#include "exp.h"

ORTC_RT_ISA_BEGIN

namespace detail {

template <class V> ORTC_INLINE V erf_f32(V x) {
  const V t = abs(x), s = x * x;
  V p = fma(splat<V>(7.99504851e-05f), s, -0.000804951473f);
  p = fma(p, s, 0.00519239251f);
  p = fma(p, s, -0.0268557295f);
  p = fma(p, s, 0.112836257f);
  p = fma(p, s, -0.376126289f);
  p = fma(p, s, 0.128379166f);
  const V near = fma(t, p, t);
  // 1 - e^-(c + c q(c)); at 4 the result is 1
  const V c = at_most(t, 4.0f);
  V q = fma(splat<V>(4.93703465e-06f), c, -4.55716436e-05f);
  q = fma(q, c, -4.96217253e-05f);
  q = fma(q, c, 0.00293023442f);
  q = fma(q, c, -0.022674242f);
  q = fma(q, c, 0.105262779f);
  q = fma(q, c, 0.635625243f);
  q = fma(q, c, 0.128551751f);
  const V far = 1.0f - exp_in_range(V(-fma(c, q, c)));
  return copysign(V(t > 0.925f ? far : near), x);
}

} // namespace detail

template <class V> ORTC_INLINE V erf(V x) {
  if constexpr (sizeof(elem_of<V>) == 4)
    return detail::erf_f32(x);
  else
    return detail::per_lane<double>(x, [](double v) { return __builtin_erf(v); });
}

ORTC_RT_ISA_END
#endif
