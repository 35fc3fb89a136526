// SPDX-License-Identifier: Apache-2.0
// One table row per element type; everything else is read from it.
#include "compiler/support/DType.h"

namespace ortc {
namespace {

enum class Class : uint8_t { None, Float, Signed, Unsigned, Bool, String, Complex };
struct Row {
  std::string_view name;
  unsigned bits;
  Class kind;
};
// Indexed by ONNX's number.
constexpr Row kRows[kLastDType + 1] = {
    {"?", 0, Class::None},           {"f32", 32, Class::Float},    {"u8", 8, Class::Unsigned},
    {"i8", 8, Class::Signed},        {"u16", 16, Class::Unsigned}, {"i16", 16, Class::Signed},
    {"i32", 32, Class::Signed},      {"i64", 64, Class::Signed},   {"str", 0, Class::String},
    {"bool", 8, Class::Bool},        {"f16", 16, Class::Float},    {"f64", 64, Class::Float},
    {"u32", 32, Class::Unsigned},    {"u64", 64, Class::Unsigned}, {"c64", 64, Class::Complex},
    {"c128", 128, Class::Complex},   {"bf16", 16, Class::Float},   {"f8e4m3fn", 8, Class::Float},
    {"f8e4m3fnuz", 8, Class::Float}, {"f8e5m2", 8, Class::Float},  {"f8e5m2fnuz", 8, Class::Float},
    {"u4", 4, Class::Unsigned},      {"i4", 4, Class::Signed},     {"f4e2m1", 4, Class::Float},
    {"f8e8m0", 8, Class::Float},     {"u2", 2, Class::Unsigned},   {"i2", 2, Class::Signed},
    {"f6e2m3", 6, Class::Float},     {"f6e3m2", 6, Class::Float},
};
const Row& row(DType type) {
  return kRows[static_cast<uint8_t>(type)];
}

} // namespace

std::optional<DType> dtypeFromOnnx(int64_t onnxType) {
  if (onnxType < 1 || onnxType > kLastDType) return std::nullopt;
  return static_cast<DType>(onnxType);
}

std::string_view dtypeName(DType type) {
  return row(type).name;
}

std::optional<DType> dtypeFromName(std::string_view name) {
  for (int i = 1; i <= kLastDType; ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

unsigned bitWidth(DType type) {
  return row(type).bits;
}
bool isFloat(DType type) {
  return row(type).kind == Class::Float;
}
bool isInteger(DType type) {
  return row(type).kind == Class::Signed || row(type).kind == Class::Unsigned;
}
bool isSignedInteger(DType type) {
  return row(type).kind == Class::Signed;
}
bool isComplex(DType type) {
  return row(type).kind == Class::Complex;
}
bool isSubByte(DType type) {
  return bitWidth(type) != 0 && bitWidth(type) < 8;
}

std::optional<int64_t> elementCount(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  bool overflow = false, zero = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    zero |= d == 0;
    overflow |= __builtin_mul_overflow(count, d, &count);
  }
  if (zero) return 0; // [2^40, 2^40, 0] is legal and holds nothing
  if (overflow) return std::nullopt;
  return count;
}

std::optional<int64_t> byteSize(DType type, int64_t count) {
  int64_t bits;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(bitWidth(type)), &bits)) {
    // Up to 2^63 bytes may still fit when an element is whole bytes.
    int64_t bytes;
    if (bitWidth(type) < 8 ||
        __builtin_mul_overflow(count, static_cast<int64_t>(bitWidth(type) / 8), &bytes))
      return std::nullopt;
    return bytes;
  }
  return bits / 8 + (bits % 8 != 0);
}

std::string shapedName(DType type, const std::vector<int64_t>& dims) {
  std::string text(dtypeName(type));
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + ']';
}

} // namespace ortc
