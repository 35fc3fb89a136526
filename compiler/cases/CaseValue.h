// SPDX-License-Identifier: Apache-2.0
// A value outside of any device: what test data, .npy files and the outputs of a run have in
// common.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/DType.h"

namespace ortc {

struct CaseTensor {
  DType dtype = DType::Undefined;
  std::vector<int64_t> dims;
  /// Packed, little-endian, row-major, as ONNX's raw_data: byteSize(dtype, elementCount()) bytes.
  /// Empty for strings.
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings; // elementCount() of them when dtype is String

  int64_t elementCount() const { return ortc::elementCount(dims).value_or(0); }
  std::string typeText() const { return shapedName(dtype, dims); }
  bool operator==(const CaseTensor&) const = default;

  /// Zero-filled, or empty strings.
  static CaseTensor zeros(DType dtype, std::vector<int64_t> dims);
};

struct CaseValue {
  enum class Kind : uint8_t { Absent, Tensor, List, Map };
  Kind kind = Kind::Absent; // an optional without a value
  CaseTensor tensor;
  std::vector<CaseValue> items; // elements of a List; values of a Map, in the order of its keys
  CaseTensor keys;              // of a Map: rank 1, integers or strings

  CaseValue() = default;
  CaseValue(CaseTensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  static CaseValue list(std::vector<CaseValue> items);
  static CaseValue map(CaseTensor keys, std::vector<CaseValue> values);

  bool isAbsent() const { return kind == Kind::Absent; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool operator==(const CaseValue&) const = default;
  /// "f32[2,3]", "seq of 3 (f32[2], ...)", "map of 2", "absent".
  std::string typeText() const;
};

} // namespace ortc
