// SPDX-License-Identifier: Apache-2.0
// Map, scan, parse, convert, check.
#include "compiler/import/OnnxFile.h"

#include <google/protobuf/io/coded_stream.h>

#include "compiler/import/FileSet.h"
#include "compiler/import/ModelReader.h"
#include "compiler/import/TensorReader.h"
#include "compiler/import/WireScanner.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/support/Sha256.h"

namespace ortc::onnx {

OnnxFile::~OnnxFile() = default;

std::unique_ptr<OnnxFile> OnnxFile::open(const std::string& path, Diagnostics& diagnostics) {
  diagnostics.setFile(path);
  std::shared_ptr<FileSet> files = FileSet::open(path, diagnostics);
  return files ? load(std::move(files), diagnostics) : nullptr;
}

std::unique_ptr<OnnxFile> OnnxFile::fromMemory(std::span<const uint8_t> bytes,
                                               Diagnostics& diagnostics,
                                               const std::string& folder) {
  return load(FileSet::fromMemory(bytes, folder), diagnostics);
}

std::unique_ptr<OnnxFile> OnnxFile::load(std::shared_ptr<FileSet> files, Diagnostics& diagnostics) {
  if (files->main().bytes.empty()) {
    diagnostics.error({}, "the file is empty");
    return nullptr;
  }
  auto message = scanMessage(files->main().bytes, RootMessage::Model, diagnostics);
  if (!message) return nullptr;
  onnx_proto::ModelProto proto;
  {
    google::protobuf::io::CodedInputStream input(
        reinterpret_cast<const uint8_t*>(message->rest.data()),
        static_cast<int>(message->rest.size()));
    // Three messages per level of subgraphs, and a few for types; protobuf's own limit is 100.
    input.SetRecursionLimit(3 * kMaxGraphDepth + 40);
    if (!proto.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
      diagnostics.error({}, "not an ONNX model: its structure does not decode")
          .help("the file is damaged, incomplete, or no ONNX file; fetch or export it again");
      return nullptr;
    }
  }
  message->rest = std::string(); // protobuf has its own copy
  std::unique_ptr<OnnxFile> file(new OnnxFile);
  file->files = files;
  TensorReader tensors(*files, *message, diagnostics);
  if (!ModelReader(tensors, diagnostics).read(proto, file->theModel) ||
      !checkModel(file->theModel, diagnostics))
    return nullptr;
  return file;
}

std::vector<OnnxFile::Part> OnnxFile::parts() const {
  std::vector<Part> parts{{files->main().name, files->main().bytes}};
  for (const auto& [name, file] : files->external())
    parts.push_back({name, file.bytes});
  return parts;
}

std::string OnnxFile::sha256() const {
  std::vector<Part> all = parts();
  if (all.size() == 1) return sha256Hex(all[0].bytes);
  std::string lines;
  for (const Part& part : all)
    lines += sha256Hex(part.bytes) + "  " + part.name + "\n";
  return sha256Hex({reinterpret_cast<const uint8_t*>(lines.data()), lines.size()});
}

} // namespace ortc::onnx
