// SPDX-License-Identifier: Apache-2.0
// From a TensorProto without its data, plus the payload that the scanner cut out, to TensorData.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/import/Tensor.h"
#include "compiler/import/WireScanner.h"

namespace ortc::onnx_proto {
class SparseTensorProto;
class TensorProto;
} // namespace ortc::onnx_proto

namespace ortc::onnx {

class FileSet;

class TensorReader {
public:
  TensorReader(FileSet& files, const ScannedMessage& message, Diagnostics& diagnostics)
      : files(files), message(message), diagnostics(diagnostics) {}

  /// Checks type, shape and size. `where` says whose tensor it is; the proto's strings are moved
  /// out of it.
  std::optional<TensorData> read(onnx_proto::TensorProto& proto, std::string_view where);
  std::optional<SparseTensor> read(onnx_proto::SparseTensorProto& proto, std::string_view where);

private:
  bool readExternal(const onnx_proto::TensorProto& proto, int64_t wanted, TensorData& tensor,
                    std::string_view where);
  bool readRaw(const Payload& chunks, int64_t wanted, TensorData& tensor, std::string_view where);
  bool readTyped(const Payload& chunks, int64_t wanted, TensorData& tensor, std::string_view where);

  FileSet& files;
  const ScannedMessage& message;
  Diagnostics& diagnostics;
};

} // namespace ortc::onnx
