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

struct HostTensor {
  DType dtype = DType::Undefined;
  std::vector<int64_t> dims;
  /// Packed, little-endian, row-major, as ONNX's raw_data: byteSize(dtype, elementCount()) bytes.
  /// Empty for strings.
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings; // elementCount() of them when dtype is String

  int64_t elementCount() const { return ortc::elementCount(dims).value_or(0); }
  std::string typeText() const { return shapedName(dtype, dims); }
  bool operator==(const HostTensor&) const = default;

  /// Zero-filled, or empty strings.
  static HostTensor zeros(DType dtype, std::vector<int64_t> dims);
};

struct HostValue {
  enum class Kind : uint8_t { Absent, Tensor, List, Map };
  Kind kind = Kind::Absent; // an optional without a value
  HostTensor tensor;
  std::vector<HostValue> items; // elements of a List; values of a Map, in the order of its keys
  HostTensor keys;              // of a Map: rank 1, integers or strings

  HostValue() = default;
  HostValue(HostTensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  static HostValue list(std::vector<HostValue> items);
  static HostValue map(HostTensor keys, std::vector<HostValue> values);

  bool isAbsent() const { return kind == Kind::Absent; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool operator==(const HostValue&) const = default;
  /// "f32[2,3]", "seq of 3 (f32[2], ...)", "map of 2", "absent".
  std::string typeText() const;
};

} // namespace ortc
