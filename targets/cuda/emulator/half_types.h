// SPDX-License-Identifier: 0BSD
//
// Half and bfloat16 as storage types with CUDA's names. Arithmetic is done in float by the emitted text, as it is on
// the GPU, so only conversions are here. Rounding is to nearest even, as __float2half_rn and __float2bfloat16_rn do.
#ifndef CUEMU_HALF_TYPES_H
#define CUEMU_HALF_TYPES_H

#include <cstdint>
#include <cstring>
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace cuemu {

inline uint32_t floatBits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}
inline float bitsFloat(uint32_t u) {
  float f;
  std::memcpy(&f, &u, sizeof f);
  return f;
}

inline uint16_t halfFromFloat(float f) {
#ifdef __F16C__
  return static_cast<uint16_t>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT));
#else
  const uint32_t u = floatBits(f), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00); // 65520 and more round to infinity
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 lines the last bit of a half up with the last bit of the float, and the add rounds.
    const uint32_t shifted = floatBits(bitsFloat(magnitude) + 0.5f) - floatBits(0.5f);
    return static_cast<uint16_t>(sign | shifted);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
#endif
}

inline float halfToFloat(uint16_t h) {
#ifdef __F16C__
  return _cvtsh_ss(h);
#else
  const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;
  if (exponent == 31) return bitsFloat(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f; // 2^-24
    return sign ? -magnitude : magnitude;
  }
  return bitsFloat(sign | (exponent + 112) << 23 | fraction << 13);
#endif
}

inline uint16_t bfloatFromFloat(float f) {
  const uint32_t u = floatBits(f);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff; // what the hardware conversion gives for every NaN
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
inline float bfloatToFloat(uint16_t h) { return bitsFloat(uint32_t(h) << 16); }

} // namespace cuemu

struct __half {
  uint16_t bits;
};
struct __nv_bfloat16 {
  uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __half __float2half_rn(float f) { return {cuemu::halfFromFloat(f)}; }
inline float __half2float(__half h) { return cuemu::halfToFloat(h.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return {cuemu::bfloatFromFloat(f)}; }
inline float __bfloat162float(__nv_bfloat16 h) { return cuemu::bfloatToFloat(h.bits); }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }
inline __half __ushort_as_half(unsigned short u) { return {u}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short u) { return {u}; }

#endif
