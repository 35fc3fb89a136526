// SPDX-License-Identifier: 0BSD
// f16 and bf16: storage only; all arithmetic is in f32. Rounding is to nearest even, NaN stays NaN
// (made quiet), and the bits are those of the F16C instructions, which are used where they exist.
#ifndef ORTC_RT_HALF_H
#define ORTC_RT_HALF_H

#include "ops.h"

ORTC_RT_ISA_BEGIN

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

namespace detail {

// V: float or a vector of them; the halves are in the low 16 bits of as many uint32_t
template <class V> ORTC_INLINE V f16_decode(uint_of<V> h) {
  using U = uint_of<V>;
  const U magnitude = (h & 0x7fffu) << 13;
  // Times 2^112: turns the exponent's bias from 15 to 127, and makes denormals normal.
  const V number = bits_as<V>(magnitude) * bits_as<float>(0x77800000u);
  const U special = magnitude | 0x7f800000u, quiet = special | 0x00400000u;
  U u = bits_as<U>(number);
  u = magnitude >= 0x0f800000u ? special : u;
  u = magnitude > 0x0f800000u ? quiet : u;
  return bits_as<V>(U(u | (h & 0x8000u) << 16));
}
template <class V> ORTC_INLINE uint_of<V> f16_encode(V x) {
  using U = uint_of<V>;
  const U u = bits_as<U>(x), a = u & 0x7fffffffu;
  // The sum with 0.5 has the bits of a denormal half in its last places, rounded; above, the
  // exponent is moved.
  const U denormal = bits_as<U>(V(bits_as<V>(a) + 0.5f)) - 0x3f000000u;
  const U normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  const U infinite = splat<U>(0x7c00u), nan = (a >> 13 & 0x3ffu) | 0x7e00u;
  U r = a < 0x38800000u ? denormal : normal;
  r = a >= 0x477ff000u ? infinite : r; // 65520, half way between the greatest number and the next
  r = a > 0x7f800000u ? nan : r;
  return r | (u >> 16 & 0x8000u);
}
template <class V> ORTC_INLINE V bf16_decode(uint_of<V> h) {
  return bits_as<V>(uint_of<V>(h << 16));
}
template <class V> ORTC_INLINE uint_of<V> bf16_encode(V x) {
  using U = uint_of<V>;
  const U u = bits_as<U>(x);
  const U number = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16, nan = (u >> 16) | 0x40u;
  return (u & 0x7fffffffu) > 0x7f800000u ? nan : number;
}

// f64 to f32 so that a second rounding, to at most 22 bits, gives what one would have: what was cut
// off leaves a 1 in the last place.
ORTC_INLINE float round_to_odd(double x) {
  const float f = float(x);
  if (double(f) == x || x != x || f - f != 0) return f;
  uint32_t u = bits_as<uint32_t>(f);
  if ((u & 1) == 0) // the neighbour towards x is odd
    u += (double(f) < x) == (x > 0) ? 1u : uint32_t(-1);
  return bits_as<float>(u);
}

} // namespace detail

ORTC_INLINE float to_f32(f16 h) {
  return detail::f16_decode<float>(h.bits);
}
ORTC_INLINE float to_f32(bf16 h) {
  return detail::bf16_decode<float>(h.bits);
}
ORTC_INLINE f16 to_f16(float x) {
  return {uint16_t(detail::f16_encode(x))};
}
ORTC_INLINE bf16 to_bf16(float x) {
  return {uint16_t(detail::bf16_encode(x))};
}
ORTC_INLINE f16 to_f16(double x) {
  return to_f16(detail::round_to_odd(x));
}
ORTC_INLINE bf16 to_bf16(double x) {
  return to_bf16(detail::round_to_odd(x));
}

// Vectors of f32 from and to memory of another type: halves, and integers of 8 or 16 bits (to
// integers with saturation, and rounding towards zero: round first for another).
template <class V> ORTC_INLINE V load_as(const float* p) {
  return load<V>(p);
}
template <class V> ORTC_INLINE void store_as(float* p, V v) {
  store(p, v);
}

template <class V, class I> ORTC_INLINE V load_as(const I* p) {
  static_assert(sizeof(I) <= 2 && !detail::is_float<I>, "an integer of 8 or 16 bits");
  return convert<float>(load<like<I, V>>(p));
}
template <class V, class I> ORTC_INLINE void store_as(I* p, V v) {
  store(p, saturate<I>(v));
}

template <class V> ORTC_INLINE V load_as(const f16* p) {
  using H = like<uint16_t, V>;
  const H h = load<H>(reinterpret_cast<const uint16_t*>(p));
#if defined(__F16C__) && !defined(ORTC_RT_NO_BUILTINS)
#if defined(__clang__)
  if constexpr (lanes_of<V> >= 4) return convert<float>(bits_as<like<_Float16, V>>(h));
#else
  if constexpr (sizeof(V) == 32) return __builtin_ia32_vcvtph2ps256(bits_as<vec<short, 8>>(h));
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    return __builtin_ia32_vcvtph2ps512_mask(bits_as<vec<short, 16>>(h), V{}, uint16_t(-1), 4);
#endif
#endif
#endif
  return detail::f16_decode<V>(convert<uint32_t>(h));
}
template <class V> ORTC_INLINE void store_as(f16* p, V v) {
  using H = like<uint16_t, V>;
  H h;
#if defined(__F16C__) && !defined(ORTC_RT_NO_BUILTINS) && defined(__clang__)
  if constexpr (lanes_of<V> >= 4)
    h = bits_as<H>(convert<_Float16>(v));
  else
#elif defined(__F16C__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(V) == 32) h = bits_as<H>(__builtin_ia32_vcvtps2ph256(v, 0));
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    h = bits_as<H>(__builtin_ia32_vcvtps2ph512_mask(v, 0, vec<short, 16>{}, uint16_t(-1)));
#endif
  else
#endif
    h = convert<uint16_t>(detail::f16_encode(v));
  store(reinterpret_cast<uint16_t*>(p), h);
}

template <class V> ORTC_INLINE V load_as(const bf16* p) {
  const auto h = load<like<uint16_t, V>>(reinterpret_cast<const uint16_t*>(p));
  return detail::bf16_decode<V>(convert<uint32_t>(h));
}
template <class V> ORTC_INLINE void store_as(bf16* p, V v) {
  store(reinterpret_cast<uint16_t*>(p), convert<uint16_t>(detail::bf16_encode(v)));
}

ORTC_RT_ISA_END
#endif
