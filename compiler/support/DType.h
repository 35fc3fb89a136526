// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, numbered as ONNX numbers them, with their short names and sizes. Shared
// by the importer, the reader of test cases and the evaluator; knows nothing of MLIR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ortc {

enum class DType : uint8_t {
  Undefined = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  String = 8,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  C64 = 14,
  C128 = 15,
  BF16 = 16,
  F8E4M3FN = 17,
  F8E4M3FNUZ = 18,
  F8E5M2 = 19,
  F8E5M2FNUZ = 20,
  U4 = 21,
  I4 = 22,
  F4E2M1 = 23,
  F8E8M0 = 24,
  U2 = 25,
  I2 = 26,
  F6E2M3 = 27,
  F6E3M2 = 28,
};
inline constexpr int kLastDType = 28;

/// The element type with ONNX's number `onnxType`, or none when the number is unknown (0 counts as
/// unknown).
std::optional<DType> dtypeFromOnnx(int64_t onnxType);

/// "f32", "bool", "str", "f8e4m3fn", ...; "?" when undefined.
std::string_view dtypeName(DType type);
std::optional<DType> dtypeFromName(std::string_view name);

/// Bits of one element as stored; 0 for strings. A bool takes 8, and complex both its parts.
unsigned bitWidth(DType type);
bool isFloat(DType type);   // real floating point, all widths
bool isInteger(DType type); // all widths, without bool
bool isSignedInteger(DType type);
bool isComplex(DType type);
/// Several elements share a byte: 2, 4 and 6 bits, stored from the lowest bit up.
bool isSubByte(DType type);

/// Product of `dims`; none when one is negative or the product does not fit.
std::optional<int64_t> elementCount(const std::vector<int64_t>& dims);
/// Bytes that `count` elements take when packed as in ONNX's raw_data; none on overflow.
std::optional<int64_t> byteSize(DType type, int64_t count);

/// "f32[1,64,56,56]"; "f32[]" for a scalar.
std::string shapedName(DType type, const std::vector<int64_t>& dims);

} // namespace ortc
