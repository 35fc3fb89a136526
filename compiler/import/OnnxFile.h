// SPDX-License-Identifier: Apache-2.0
// A model file on disk with its external data, mapped into memory, and the model that it holds.
//
//   Diagnostics diagnostics;
//   std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open("model.onnx", diagnostics);
//   if (!file) { diagnostics.print(stderr); return 1; }
//   for (const onnx::Node& node : file->model().graph.nodes) ...
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc::onnx {

class FileSet;

class OnnxFile {
public:
  ~OnnxFile();

  /// Null on error, with at least one error reported. Warnings may be reported in either case.
  /// Messages name the file as `path` does.
  static std::unique_ptr<OnnxFile> open(const std::string& path, Diagnostics& diagnostics);

  /// A model that is already in memory, which must outlive the result. External data is looked for
  /// in `folder`; without one it is an error.
  static std::unique_ptr<OnnxFile> fromMemory(std::span<const uint8_t> bytes,
                                              Diagnostics& diagnostics,
                                              const std::string& folder = {});

  const Model& model() const { return theModel; }
  Model& model() { return theModel; }

  struct Part {
    std::string name; // base name of the model, else the location as the model gives it
    std::span<const uint8_t> bytes;
  };
  /// The model first, then external data in order of name.
  std::vector<Part> parts() const;

  /// Hex. For a model in one file what sha256sum prints for it; with external data the hash of the
  /// lines
  /// "<sha256 of part>  <name>\n". Reads all bytes: call it once.
  std::string sha256() const;

private:
  OnnxFile() = default;
  static std::unique_ptr<OnnxFile> load(std::shared_ptr<FileSet> files, Diagnostics& diagnostics);

  std::shared_ptr<FileSet> files;
  Model theModel;
};

} // namespace ortc::onnx
