// SPDX-License-Identifier: 0BSD
// Integers (and f4e2m1) of 4 bits: two a byte, the even element in the low half.
#ifndef ORTC_RT_INT4_H
#define ORTC_RT_INT4_H

#include "ops.h"

ORTC_RT_ISA_BEGIN

ORTC_INLINE uint8_t get_u4(const uint8_t* p, int64_t i) {
  return uint8_t(p[i >> 1] >> (i & 1 ? 4 : 0) & 15);
}
ORTC_INLINE int8_t get_i4(const uint8_t* p, int64_t i) {
  return int8_t((get_u4(p, i) ^ 8) - 8);
}

// Only the low 4 bits of `value` count. Two elements share a byte: one thread writes both.
ORTC_INLINE void put_4(uint8_t* p, int64_t i, uint8_t value) {
  const int shift = i & 1 ? 4 : 0;
  p[i >> 1] = uint8_t((p[i >> 1] & ~(15 << shift)) | (value & 15) << shift);
}

template <class V> ORTC_INLINE like<int8_t, V> saturate_i4(V x) {
  return saturate<int8_t>(clamp(x, elem_of<V>(-8), elem_of<V>(7)));
}
template <class V> ORTC_INLINE like<uint8_t, V> saturate_u4(V x) {
  return saturate<uint8_t>(clamp(x, elem_of<V>(0), elem_of<V>(15)));
}

ORTC_RT_ISA_END
#endif
