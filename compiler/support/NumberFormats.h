// SPDX-License-Identifier: Apache-2.0
// All small number formats in one place: f16, bf16, the 8-, 6- and 4-bit floats to and from double,
// and access to single elements of a packed little-endian buffer, 2, 4 and 6 bits included. Obvious
// code, not fast code: for folding, comparing and printing.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "compiler/support/DType.h"

namespace ortc {

/// What a format does with its largest exponent.
enum class FloatSpecials : uint8_t {
  Ieee,   // infinities and NaNs
  Fn,     // no infinity; NaN is all ones
  Fnuz,   // no infinity, no minus zero; NaN is the pattern of minus zero
  Finite, // neither infinity nor NaN
  E8M0,   // a power of two, no sign, no zero; NaN is 0xFF
};

struct FloatFormat {
  int exponentBits, mantissaBits, bias;
  FloatSpecials specials;
};

/// The layout of a float type; f32 and f64 included.
constexpr FloatFormat floatFormat(DType type) {
  switch (type) {
  case DType::F64: return {11, 52, 1023, FloatSpecials::Ieee};
  case DType::F32: return {8, 23, 127, FloatSpecials::Ieee};
  case DType::F16: return {5, 10, 15, FloatSpecials::Ieee};
  case DType::BF16: return {8, 7, 127, FloatSpecials::Ieee};
  case DType::F8E4M3FN: return {4, 3, 7, FloatSpecials::Fn};
  case DType::F8E4M3FNUZ: return {4, 3, 8, FloatSpecials::Fnuz};
  case DType::F8E5M2: return {5, 2, 15, FloatSpecials::Ieee};
  case DType::F8E5M2FNUZ: return {5, 2, 16, FloatSpecials::Fnuz};
  case DType::F6E2M3: return {2, 3, 1, FloatSpecials::Finite};
  case DType::F6E3M2: return {3, 2, 3, FloatSpecials::Finite};
  case DType::F4E2M1: return {2, 1, 1, FloatSpecials::Finite};
  case DType::F8E8M0: return {8, 0, 127, FloatSpecials::E8M0};
  default: return {0, 0, 0, FloatSpecials::Ieee};
  }
}

/// The value of a bit pattern. Exact for every format.
inline double decodeFloat(DType type, uint64_t bits) {
  if (type == DType::F64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (type == DType::F32) { // the common one, fast
    float value;
    const uint32_t low = static_cast<uint32_t>(bits);
    std::memcpy(&value, &low, sizeof value);
    return value;
  }
  const FloatFormat f = floatFormat(type);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.specials == FloatSpecials::E8M0)
    return (bits & 0xFF) == 0xFF ? nan : std::ldexp(1.0, static_cast<int>(bits & 0xFF) - f.bias);
  const uint64_t mantissaMask = (uint64_t{1} << f.mantissaBits) - 1;
  const uint64_t exponentMask = (uint64_t{1} << f.exponentBits) - 1;
  const uint64_t mantissa = bits & mantissaMask;
  const uint64_t exponent = bits >> f.mantissaBits & exponentMask;
  const bool negative = bits >> (f.mantissaBits + f.exponentBits) & 1;
  if (f.specials == FloatSpecials::Ieee && exponent == exponentMask) {
    if (mantissa) return nan;
    constexpr double inf = std::numeric_limits<double>::infinity();
    return negative ? -inf : inf;
  }
  if (f.specials == FloatSpecials::Fn && exponent == exponentMask && mantissa == mantissaMask)
    return nan;
  if (f.specials == FloatSpecials::Fnuz && negative && exponent == 0 && mantissa == 0) return nan;
  const double magnitude =
      exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissaBits)
                    : std::ldexp(static_cast<double>(mantissa | (mantissaMask + 1)),
                                 static_cast<int>(exponent) - f.bias - f.mantissaBits);
  return negative ? -magnitude : magnitude;
}

/// The bit pattern of a format's largest finite value, without its sign.
constexpr uint64_t largestFiniteBits(DType type) {
  const FloatFormat f = floatFormat(type);
  const uint64_t all = (uint64_t{1} << (f.exponentBits + f.mantissaBits)) - 1;
  switch (f.specials) {
  case FloatSpecials::Ieee: return all - (uint64_t{1} << f.mantissaBits);
  case FloatSpecials::Fn: return all - 1;
  case FloatSpecials::E8M0: return all - 1;
  default: return all;
  }
}

/// Rounds to nearest, ties to even. What is too large becomes the largest finite value when
/// `saturate`, else infinity, or NaN where the format has no infinity; formats with neither always
/// saturate (NaN too, to the largest value).
inline uint64_t encodeFloat(DType type, double value, bool saturate = false) {
  if (type == DType::F64) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  const FloatFormat f = floatFormat(type);
  const uint64_t exponentMask = (uint64_t{1} << f.exponentBits) - 1;
  const uint64_t signBit = uint64_t{1} << (f.exponentBits + f.mantissaBits);
  const bool negative = std::signbit(value);
  const uint64_t largest = largestFiniteBits(type);
  if (f.specials == FloatSpecials::E8M0) {
    if (std::isnan(value) || negative) return 0xFF;
    if (value == 0) return 0;
    if (std::isinf(value)) return saturate ? largest : 0xFF;
    int exponent;
    const double fraction =
        std::frexp(value, &exponent); // value = fraction * 2^exponent, 0.5 <= fraction < 1
    int biased =
        exponent - 1 + f.bias + (fraction > 0.75 || (fraction == 0.75 && exponent % 2 != 0));
    if (biased < 0) return 0;
    return biased > 254 ? (saturate ? largest : 0xFF) : static_cast<uint64_t>(biased);
  }
  const uint64_t sign = negative ? signBit : 0;
  uint64_t nanBits = 0, overflowBits = 0;
  switch (f.specials) {
  case FloatSpecials::Ieee:
    nanBits = sign | exponentMask << f.mantissaBits | uint64_t{1} << (f.mantissaBits - 1);
    overflowBits = sign | exponentMask << f.mantissaBits;
    break;
  case FloatSpecials::Fn: nanBits = overflowBits = sign | (signBit - 1); break;
  case FloatSpecials::Fnuz: nanBits = overflowBits = signBit; break;
  default:
    nanBits = largest;
    overflowBits = sign | largest;
    break;
  }
  if (saturate) overflowBits = sign | largest;
  if (std::isnan(value)) return nanBits;
  if (std::isinf(value)) return overflowBits;
  const uint64_t zero = f.specials == FloatSpecials::Fnuz ? 0 : sign;
  if (value == 0) return zero;
  int exponent;
  std::frexp(value, &exponent);
  // The spacing of the format at this magnitude; below the smallest normal it stays that of the
  // subnormals.
  const int spacing = std::max(exponent - 1, 1 - f.bias) - f.mantissaBits;
  const double scaled = std::ldexp(std::fabs(value), -spacing); // exact, below 2^(mantissaBits + 1)
  double floor = std::floor(scaled);
  const double rest = scaled - floor;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2) != 0)) floor += 1;
  // Adding the mantissa with its hidden bit to the shifted exponent carries by itself when rounding
  // reached the next power of two.
  const uint64_t magnitude =
      (static_cast<uint64_t>(spacing + f.mantissaBits - (1 - f.bias)) << f.mantissaBits) +
      static_cast<uint64_t>(floor);
  if (magnitude > largest) return overflowBits;
  return magnitude == 0 ? zero : sign | magnitude;
}

/// Bits of element `index` of a packed little-endian buffer, without sign extension. Up to 64 bits.
inline uint64_t loadBits(const uint8_t* data, DType type, int64_t index) {
  const unsigned bits = bitWidth(type);
  assert(bits > 0 && bits <= 64);
  if (bits >= 8) {
    uint64_t value = 0;
    const unsigned bytes = bits / 8;
    const uint8_t* at = data + index * bytes;
    for (unsigned i = 0; i < bytes; ++i)
      value |= uint64_t{at[i]} << (8 * i);
    return value;
  }
  uint64_t value = 0;
  for (unsigned i = 0; i < bits; ++i) {
    const int64_t bit = index * bits + i;
    value |= uint64_t{data[bit / 8] >> (bit % 8) & 1u} << i;
  }
  return value;
}

inline void storeBits(uint8_t* data, DType type, int64_t index, uint64_t value) {
  const unsigned bits = bitWidth(type);
  assert(bits > 0 && bits <= 64);
  if (bits >= 8) {
    const unsigned bytes = bits / 8;
    for (unsigned i = 0; i < bytes; ++i)
      data[index * bytes + i] = static_cast<uint8_t>(value >> (8 * i));
    return;
  }
  for (unsigned i = 0; i < bits; ++i) {
    const int64_t bit = index * bits + i;
    const uint8_t mask = static_cast<uint8_t>(1u << (bit % 8));
    data[bit / 8] = static_cast<uint8_t>((data[bit / 8] & ~mask) | (value >> i & 1 ? mask : 0));
  }
}

/// An integer or bool element; u64 above 2^63 wraps (use loadBits).
inline int64_t loadInt(const uint8_t* data, DType type, int64_t index) {
  const uint64_t bits = loadBits(data, type, index);
  if (!isSignedInteger(type)) return static_cast<int64_t>(bits);
  const unsigned unused = 64 - bitWidth(type);
  return static_cast<int64_t>(bits << unused) >> unused;
}

/// Any real element as a double; 64-bit integers may round.
inline double loadDouble(const uint8_t* data, DType type, int64_t index) {
  if (isFloat(type)) return decodeFloat(type, loadBits(data, type, index));
  if (type == DType::U64) return static_cast<double>(loadBits(data, type, index));
  return static_cast<double>(loadInt(data, type, index));
}

} // namespace ortc
