// SPDX-License-Identifier: 0BSD
//
// What the conversion instructions of the GPU do between float and the bits of half and bfloat16:
// to nearest even, and every NaN becomes one NaN.
#ifndef CUEMU_HALF_H
#define CUEMU_HALF_H

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
  if (f != f) return 0x7fff; // cvt.rn.f16.f32 of the PTX manual: the canonical NaN
#ifdef __F16C__
  return static_cast<uint16_t>(_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT));
#else
  const uint32_t u = floatBits(f), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00); // 65520 and more round to infinity
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 lines the last bit of a half up with the last bit of the float, and the
    // add rounds.
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
  if (exponent == 31)
    return bitsFloat(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f; // 2^-24
    return sign ? -magnitude : magnitude;
  }
  return bitsFloat(sign | (exponent + 112) << 23 | fraction << 13);
#endif
}

inline uint16_t bfloatFromFloat(float f) {
  const uint32_t u = floatBits(f);
  if (f != f) return 0x7fff;
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
inline float bfloatToFloat(uint16_t h) {
  return bitsFloat(uint32_t(h) << 16);
}

} // namespace cuemu
#endif
