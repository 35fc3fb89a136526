// SPDX-License-Identifier: Apache-2.0
// A constant tensor of a model: its bytes lie in the mapped file wherever the format allows, else
// in a buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/DType.h"

namespace ortc::onnx {

struct TensorData {
  std::string name; // empty in attributes
  DType dtype = DType::Undefined;
  std::vector<int64_t> dims;
  /// Packed, little-endian, row-major: the layout of ONNX's raw_data, whatever the file used. Not
  /// aligned: read with memcpy or compiler/support/NumberFormats.h. Exactly byteSize(dtype,
  /// elementCount()) bytes; empty for strings.
  std::span<const uint8_t> bytes;
  std::vector<std::string>
      strings; // dtype String only, elementCount() of them; UTF-8 by convention, not checked
  /// Keeps the mapping or buffer behind `bytes` alive.
  std::shared_ptr<const void> owner;
  std::string externalFile; // as named in the model, when the data is outside of it
  std::string docString;

  int64_t elementCount() const { return ortc::elementCount(dims).value_or(0); }
  std::string typeText() const { return shapedName(dtype, dims); }
};

/// Coordinate list. `indices` is i64[nnz, rank] or i64[nnz] (into the flattened tensor).
struct SparseTensor {
  TensorData values, indices;
  std::vector<int64_t> dims;
};

} // namespace ortc::onnx
