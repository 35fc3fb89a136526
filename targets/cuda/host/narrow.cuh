// SPDX-License-Identifier: 0BSD
// Floats of 8 and 4 bits, as ONNX's Cast defines them: to nearest even; beyond the greatest number
// that number with saturation, else NaN or, in f8e5m2, infinity. Storage only.
#ifndef ORTC_NARROW_CUH
#define ORTC_NARROW_CUH

#include "ortc_cuda.cuh"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

struct f8e4m3fn {
  uint8_t bits;
};
struct f8e4m3fnuz {
  uint8_t bits;
};
struct f8e5m2 {
  uint8_t bits;
};
struct f8e5m2fnuz {
  uint8_t bits;
};
struct f8e8m0 {
  uint8_t bits;
};
struct f4e2m1 {
  uint8_t bits;
}; // in the low 4 bits; packed two a byte in memory, see int4.h

namespace detail {

struct small_format {
  int exponent, mantissa, bias; // bits, bits, exponent of 1.0
  uint8_t max;                  // code of the greatest number
  uint8_t nan, infinite;        // codes without sign; infinite == nan: there is no infinity
  bool unsigned_zero;           // "fnuz": -0's code is the only NaN
};
ORTC_HD constexpr small_format e4m3fn() {
  return {4, 3, 7, 0x7e, 0x7f, 0x7f, false};
}
ORTC_HD constexpr small_format e4m3fnuz() {
  return {4, 3, 8, 0x7f, 0x80, 0x80, true};
}
ORTC_HD constexpr small_format e5m2() {
  return {5, 2, 15, 0x7b, 0x7e, 0x7c, false};
}
ORTC_HD constexpr small_format e5m2fnuz() {
  return {5, 2, 16, 0x7f, 0x80, 0x80, true};
}
ORTC_HD constexpr small_format e2m1() {
  return {2, 1, 1, 0x7, 0x7, 0x7, false};
} // no NaN: the greatest number stands for it

ORTC_HD float decode_small(small_format f, uint32_t code) {
  const int width = f.exponent + f.mantissa;
  const uint32_t magnitude = code & ((1u << width) - 1u), sign = code >> width & 1u;
  if (f.unsigned_zero && magnitude == 0 && sign) return bits_as<float>(0x7fc00000u);
  float r = 0;
  const bool special = !f.unsigned_zero && magnitude > f.max;
  if (special)
    r = magnitude == f.infinite && f.infinite != f.nan ? bits_as<float>(0x7f800000u)
                                                       : bits_as<float>(0x7fc00000u);
  else if (magnitude >> f.mantissa)
    r = bits_as<float>((magnitude << (23 - f.mantissa)) + (uint32_t(127 - f.bias) << 23));
  else // a multiple of the smallest number, 2^(1 - bias - mantissa)
    r = float(magnitude) * bits_as<float>(uint32_t(127 + 1 - f.bias - f.mantissa) << 23);
  return sign ? -r : r;
}

ORTC_HD uint8_t encode_small(small_format f, float x, bool saturating) {
  const uint32_t u = bits_as<uint32_t>(x), a = u & 0x7fffffffu;
  const uint32_t sign = f.unsigned_zero ? (u >> 31) << 7 : (u >> 31) << (f.exponent + f.mantissa);
  if (a > 0x7f800000u) return uint8_t(f.unsigned_zero ? f.nan : f.nan | sign);
  const int drop = 23 - f.mantissa;
  uint32_t code;
  if (a < uint32_t(128 - f.bias)
              << 23) { // denormal: the sum with this power of two is rounded at the right place
    const uint32_t magic = uint32_t(127 + 1 - f.bias + drop) << 23;
    code = bits_as<uint32_t>(bits_as<float>(a) + bits_as<float>(magic)) - magic;
  } else {
    const uint32_t rounded = a + ((1u << (drop - 1)) - 1u) + (a >> drop & 1u);
    code = (rounded >> drop) - (uint32_t(127 - f.bias) << f.mantissa);
  }
  if (code > f.max) {
    if (!saturating) return uint8_t(f.unsigned_zero ? f.nan : f.infinite | sign);
    code = f.max;
  }
  return uint8_t(f.unsigned_zero && code == 0 ? 0 : code | sign);
}

} // namespace detail

ORTC_HD float to_f32(f8e4m3fn x) {
  return detail::decode_small(detail::e4m3fn(), x.bits);
}
ORTC_HD float to_f32(f8e4m3fnuz x) {
  return detail::decode_small(detail::e4m3fnuz(), x.bits);
}
ORTC_HD float to_f32(f8e5m2 x) {
  return detail::decode_small(detail::e5m2(), x.bits);
}
ORTC_HD float to_f32(f8e5m2fnuz x) {
  return detail::decode_small(detail::e5m2fnuz(), x.bits);
}
ORTC_HD float to_f32(f4e2m1 x) {
  return detail::decode_small(detail::e2m1(), x.bits);
}

ORTC_HD f8e4m3fn to_f8e4m3fn(float x, bool saturating) {
  return {detail::encode_small(detail::e4m3fn(), x, saturating)};
}
ORTC_HD f8e4m3fnuz to_f8e4m3fnuz(float x, bool saturating) {
  return {detail::encode_small(detail::e4m3fnuz(), x, saturating)};
}
ORTC_HD f8e5m2 to_f8e5m2(float x, bool saturating) {
  return {detail::encode_small(detail::e5m2(), x, saturating)};
}
ORTC_HD f8e5m2fnuz to_f8e5m2fnuz(float x, bool saturating) {
  return {detail::encode_small(detail::e5m2fnuz(), x, saturating)};
}
ORTC_HD f4e2m1 to_f4e2m1(float x) {
  return {detail::encode_small(detail::e2m1(), x, true)};
}

// A power of two, 2^(bits - 127); 255 is NaN.
ORTC_HD float to_f32(f8e8m0 x) {
  return x.bits == 255 ? bits_as<float>(0x7fc00000u)
                       : bits_as<float>(x.bits ? uint32_t(x.bits) << 23 : 0x00400000u);
}
enum class e8m0_rounding { up, down, nearest }; // ties go up
ORTC_HD f8e8m0 to_f8e8m0(float x, e8m0_rounding mode, bool saturating) {
  const uint32_t a = bits_as<uint32_t>(x) & 0x7fffffffu; // the sign is ignored
  if (a > 0x7f800000u) return {255};
  if (a < 0x00400000u) // below 2^-127
    return {uint8_t(saturating ? 0 : 255)};
  uint32_t e = a >> 23, m = a & 0x007fffffu;
  if (e == 0) // denormal: 2^-127 (1 + f), f in steps of 2^-22
    m = (m - 0x00400000u) << 1;
  e +=
      (mode == e8m0_rounding::up && m != 0) || (mode == e8m0_rounding::nearest && m >= 0x00400000u);
  if (e > 254) return {uint8_t(saturating ? 254 : 255)};
  return {uint8_t(e)};
}

// Integers (and f4e2m1) of 4 bits: two a byte, the even element in the low half.

ORTC_HD uint8_t get_u4(const uint8_t* p, int64_t i) {
  return uint8_t(p[i >> 1] >> (i & 1 ? 4 : 0) & 15);
}
ORTC_HD int8_t get_i4(const uint8_t* p, int64_t i) {
  return int8_t((get_u4(p, i) ^ 8) - 8);
}

// Only the low 4 bits of `value` count. Two elements share a byte: one thread writes both.
ORTC_HD void put_4(uint8_t* p, int64_t i, uint8_t value) {
  const int shift = i & 1 ? 4 : 0;
  p[i >> 1] = uint8_t((p[i >> 1] & ~(15 << shift)) | (value & 15) << shift);
}

template <class T> ORTC_HD int8_t saturate_i4(T x) {
  return saturate<int8_t>(clamp(x, T(-8), T(7)));
}
template <class T> ORTC_HD uint8_t saturate_u4(T x) {
  return saturate<uint8_t>(clamp(x, T(0), T(15)));
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif
