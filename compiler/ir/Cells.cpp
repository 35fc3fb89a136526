// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Cells.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ortc {

namespace {
template <typename To, typename From> To bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To r;
  std::memcpy(&r, &v, sizeof r);
  return r;
}
double powerOfTwo(int n) {
  return bits<double>(static_cast<uint64_t>(n + 1023) << 52);
}
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

double largest(CellType t) {
  int topExponent = (1 << t.exponentBits) - 1 - t.bias - (t.special == CellType::ieee);
  uint64_t mantissa = (1u << t.mantissaBits) - 1 - (t.special == CellType::finite);
  return std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -t.mantissaBits), topExponent);
}

double roundSmall(CellType t, double limit, double x) {
  if (x != x) return x;
  double a = std::fabs(x);
  if (a == 0) return t.special == CellType::unsignedZero ? 0 : x;
  double r = a;
  if (a != infinity) {
    int exponent = static_cast<int>(bits<uint64_t>(a) >> 52) - 1023;
    exponent = std::max(exponent, 1 - t.bias);
    if (exponent > 1000 - t.mantissaBits)
      r = infinity;
    else {
      // Adding 1.5 * 2^52 units leaves no room for a fraction of a unit.
      double magic = 1.5 * powerOfTwo(52 + exponent - t.mantissaBits);
      r = (a + magic) - magic;
    }
  }
  if (r > limit) r = t.special == CellType::ieee ? infinity : nan;
  if (r == 0 && t.special == CellType::unsignedZero) return 0;
  return std::copysign(r, x);
}

double decodeSmall(CellType t, uint64_t code) {
  uint64_t exponents = (1u << t.exponentBits) - 1, mantissas = (1u << t.mantissaBits) - 1;
  bool negative = code >> (t.width - 1) & 1;
  uint64_t e = code >> t.mantissaBits & exponents, m = code & mantissas;
  if (t.special == CellType::ieee && e == exponents)
    return m ? nan : negative ? -infinity : infinity;
  if (t.special == CellType::finite && e == exponents && m == mantissas) return nan;
  if (t.special == CellType::unsignedZero && negative && !e && !m) return nan;
  double r = e ? std::ldexp(1 + std::ldexp(static_cast<double>(m), -t.mantissaBits),
                            static_cast<int>(e) - t.bias)
               : std::ldexp(static_cast<double>(m), 1 - t.bias - t.mantissaBits);
  return negative ? -r : r;
}

/// `x` must be rounded already.
uint64_t encodeSmall(CellType t, double x) {
  uint64_t sign = static_cast<uint64_t>(std::signbit(x)) << (t.width - 1);
  uint64_t exponents = (1u << t.exponentBits) - 1;
  if (x != x)
    return t.special == CellType::ieee ? exponents << t.mantissaBits | 1u << (t.mantissaBits - 1)
           : t.special == CellType::finite ? (1u << (t.width - 1)) - 1
                                           : 1u << (t.width - 1);
  double a = std::fabs(x);
  if (a == infinity) return sign | exponents << t.mantissaBits;
  if (a == 0) return t.special == CellType::unsignedZero ? 0 : sign;
  int e = static_cast<int>(bits<uint64_t>(a) >> 52) - 1023;
  if (e < 1 - t.bias)
    return sign | static_cast<uint64_t>(a * powerOfTwo(t.bias + t.mantissaBits - 1));
  uint64_t m = bits<uint64_t>(a) << 12 >> (64 - t.mantissaBits);
  return sign | static_cast<uint64_t>(e + t.bias) << t.mantissaBits | m;
}

/// All codes of a small format as doubles; made once per format.
const double* decodeTable(CellType t) {
  static std::mutex mutex;
  static std::map<std::array<int, 5>, std::unique_ptr<std::vector<double>>> tables;
  std::lock_guard lock(mutex);
  auto& table = tables[{t.width, t.exponentBits, t.mantissaBits, t.bias, t.special}];
  if (!table) {
    table = std::make_unique<std::vector<double>>(size_t(1) << t.width);
    for (size_t i = 0; i < table->size(); ++i)
      (*table)[i] = decodeSmall(t, i);
  }
  return table->data();
}

template <typename Stored, typename Cell, typename Fn>
void gather(const void* data, int64_t offset, int64_t stride, int64_t n, Cell* out, Fn fn) {
  const Stored* p = static_cast<const Stored*>(data) + offset;
  if (stride == 0 && n > 0) {
    Cell v = fn(*p);
    for (int64_t i = 0; i < n; ++i)
      out[i] = v;
  } else if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = fn(p[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      out[i] = fn(p[i * stride]);
  }
}
template <typename Stored, typename Cell, typename Fn>
void scatter(void* data, int64_t offset, int64_t stride, int64_t n, const Cell* in, Fn fn) {
  Stored* p = static_cast<Stored*>(data) + offset;
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i)
      p[i] = fn(in[i]);
  else
    for (int64_t i = 0; i < n; ++i)
      p[i * stride] = fn(in[i]);
}
} // namespace

void loadDoubles(CellType type, const void* data, int64_t offset, int64_t stride, int64_t n,
                 double* out) {
  auto plain = [](auto v) { return static_cast<double>(v); };
  if (type.kind == CellType::f32) return gather<float>(data, offset, stride, n, out, plain);
  if (type.kind == CellType::f64) return gather<double>(data, offset, stride, n, out, plain);
  if (type.kind == CellType::smallFloat) {
    const double* table = decodeTable(type);
    auto look = [table](auto v) { return table[v]; };
    if (type.bytes == 1) return gather<uint8_t>(data, offset, stride, n, out, look);
    return gather<uint16_t>(data, offset, stride, n, out, look);
  }
}

void loadIntegers(CellType type, const void* data, int64_t offset, int64_t stride, int64_t n,
                  int64_t* out) {
  auto plain = [](auto v) { return static_cast<int64_t>(v); };
  if (type.kind == CellType::string) {
    const std::string* p = static_cast<const std::string*>(data) + offset;
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<int64_t>(reinterpret_cast<intptr_t>(p + i * stride));
    return;
  }
  if (type.width == 1)
    return gather<uint8_t>(data, offset, stride, n, out, [](uint8_t v) { return int64_t(v & 1); });
  switch (type.bytes) {
  case 1: gather<int8_t>(data, offset, stride, n, out, plain); break;
  case 2: gather<int16_t>(data, offset, stride, n, out, plain); break;
  case 4: gather<int32_t>(data, offset, stride, n, out, plain); break;
  case 8: return gather<int64_t>(data, offset, stride, n, out, plain);
  default: // odd sizes, such as i24
    for (int64_t i = 0; i < n; ++i) {
      out[i] = 0;
      std::memcpy(&out[i], static_cast<const char*>(data) + (offset + i * stride) * type.bytes,
                  type.bytes);
    }
  }
  if (type.width != 8 * type.bytes || (type.bytes & (type.bytes - 1))) wrapIntegers(type, out, n);
}

void storeDoubles(CellType type, void* data, int64_t offset, int64_t stride, int64_t n,
                  const double* in) {
  if (type.kind == CellType::f32)
    return scatter<float>(data, offset, stride, n, in,
                          [](double v) { return static_cast<float>(v); });
  if (type.kind == CellType::f64)
    return scatter<double>(data, offset, stride, n, in, [](double v) { return v; });
  if (type.kind == CellType::smallFloat) {
    double limit = largest(type);
    if (type.bytes == 1)
      return scatter<uint8_t>(data, offset, stride, n, in, [&](double v) {
        return uint8_t(encodeSmall(type, roundSmall(type, limit, v)));
      });
    return scatter<uint16_t>(data, offset, stride, n, in, [&](double v) {
      return uint16_t(encodeSmall(type, roundSmall(type, limit, v)));
    });
  }
}

void storeIntegers(CellType type, void* data, int64_t offset, int64_t stride, int64_t n,
                   const int64_t* in) {
  if (type.kind == CellType::string) {
    std::string* p = static_cast<std::string*>(data) + offset;
    for (int64_t i = 0; i < n; ++i)
      if (in[i])
        p[i * stride] = *reinterpret_cast<const std::string*>(static_cast<intptr_t>(in[i]));
    return;
  }
  if (type.width == 1)
    return scatter<uint8_t>(data, offset, stride, n, in, [](int64_t v) { return uint8_t(v & 1); });
  switch (type.bytes) {
  case 1:
    return scatter<int8_t>(data, offset, stride, n, in,
                           [](int64_t v) { return static_cast<int8_t>(v); });
  case 2:
    return scatter<int16_t>(data, offset, stride, n, in,
                            [](int64_t v) { return static_cast<int16_t>(v); });
  case 4:
    return scatter<int32_t>(data, offset, stride, n, in,
                            [](int64_t v) { return static_cast<int32_t>(v); });
  case 8: return scatter<int64_t>(data, offset, stride, n, in, [](int64_t v) { return v; });
  default:
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(static_cast<char*>(data) + (offset + i * stride) * type.bytes, &in[i],
                  type.bytes);
  }
}

void roundDoubles(CellType type, double* values, int64_t n) {
  if (type.kind == CellType::f32)
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<double>(static_cast<float>(values[i]));
  if (type.kind == CellType::smallFloat) {
    double limit = largest(type);
    for (int64_t i = 0; i < n; ++i)
      values[i] = roundSmall(type, limit, values[i]);
  }
}

void wrapIntegers(CellType type, int64_t* values, int64_t n) {
  if (type.width == 1) {
    for (int64_t i = 0; i < n; ++i)
      values[i] &= 1;
  } else if (type.width < 64) {
    int shift = 64 - type.width;
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<int64_t>(static_cast<uint64_t>(values[i]) << shift) >> shift;
  }
}

uint64_t encodeDouble(CellType type, double value) {
  if (type.kind == CellType::f64) return bits<uint64_t>(value);
  if (type.kind == CellType::f32) return bits<uint32_t>(static_cast<float>(value));
  return encodeSmall(type, roundSmall(type, largest(type), value));
}

double decodeDouble(CellType type, uint64_t code) {
  if (type.kind == CellType::f64) return bits<double>(code);
  if (type.kind == CellType::f32)
    return static_cast<double>(bits<float>(static_cast<uint32_t>(code)));
  return decodeSmall(type, code & ((uint64_t(1) << type.width) - 1));
}

} // namespace ortc
