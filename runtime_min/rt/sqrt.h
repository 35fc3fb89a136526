// SPDX-License-Identifier: 0BSD
// Square root, correctly rounded, without the call into libm that -fmath-errno asks for.
#ifndef ORTC_RT_SQRT_H
#define ORTC_RT_SQRT_H

#include "ops.h"

ORTC_RT_ISA_BEGIN

template <class V> ORTC_INLINE V sqrt(V x) {
#if defined(__clang__)
  return __builtin_elementwise_sqrt(x);
#else
  using T = elem_of<V>;
#if defined(__SSE2__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (lanes_of<V> == 1 && sizeof(T) == 4)
    return __builtin_ia32_sqrtss(f32x4{x, 0, 0, 0})[0];
  else if constexpr (lanes_of<V> == 1)
    return __builtin_ia32_sqrtsd(vec<double, 2>{x, 0})[0];
  else if constexpr (sizeof(V) == 16 && sizeof(T) == 4)
    return __builtin_ia32_sqrtps(x);
  else if constexpr (sizeof(V) == 16)
    return __builtin_ia32_sqrtpd(x);
#if defined(__AVX__)
  else if constexpr (sizeof(V) == 32 && sizeof(T) == 4)
    return __builtin_ia32_sqrtps256(x);
  else if constexpr (sizeof(V) == 32)
    return __builtin_ia32_sqrtpd256(x);
#endif
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
    return __builtin_ia32_sqrtps512_mask(x, x, uint16_t(-1), 4);
  else if constexpr (sizeof(V) == 64)
    return __builtin_ia32_sqrtpd512_mask(x, x, uint8_t(-1), 4);
#endif
#endif
  return detail::per_lane<T>(x, [](T v) {
    if constexpr (sizeof(T) == 4)
      return __builtin_sqrtf(v);
    else
      return __builtin_sqrt(v);
  });
#endif
}

template <class V> ORTC_INLINE V rsqrt(V x) {
  return elem_of<V>(1) / sqrt(x);
}

ORTC_RT_ISA_END
#endif
