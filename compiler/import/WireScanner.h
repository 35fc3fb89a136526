// SPDX-License-Identifier: Apache-2.0
// Walks the wire format of an ONNX message by hand and cuts the element data of every tensor out of
// it. What is left is small and goes to protobuf; the data stays where it is, in the mapped file.
// So the 2 GiB limit of protobuf does not apply to weights, and they are never copied.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/Diagnostics.h"

namespace ortc::onnx {

/// A piece of a tensor's element data, as it stands in the file.
struct PayloadChunk {
  uint32_t field;  // of TensorProto: 4 float_data, 5 int32_data, 7 int64_data, 9 raw_data, 10
                   // double_data, 11 uint64_data
  bool tagged;     // elements one by one, each behind its tag (the unpacked form); else just the
                   // contents
  uint64_t offset; // from the start of the message
  uint64_t size;
};
using Payload = std::vector<PayloadChunk>;

struct ScannedMessage {
  std::string rest;              // the message without payloads; TensorProto.payload has the index
  std::vector<Payload> payloads; // one for each tensor that had data
};

/// The messages that a file can consist of.
enum class RootMessage : uint8_t { Model, Tensor, Sequence, Map, Optional };

/// How deep subgraphs may be nested.
inline constexpr unsigned kMaxGraphDepth = 64;

/// Reports truncated and corrupt input with its byte offset and what it was part of.
std::optional<ScannedMessage> scanMessage(std::span<const uint8_t> bytes, RootMessage root,
                                          Diagnostics& diagnostics);

} // namespace ortc::onnx
