// SPDX-License-Identifier: Apache-2.0
// The mapped files behind a model: the model itself and the external data it names. The only code
// of the importer that opens files, and so the place where a hostile model is kept inside its own
// folder.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include <llvm/Support/MemoryBuffer.h>

#include "compiler/support/Diagnostics.h"

namespace ortc::onnx {

/// Maps a regular file; reports and returns null when that is not possible.
std::shared_ptr<llvm::MemoryBuffer> mapFile(const std::string& path, std::string_view location,
                                            Diagnostics& diagnostics);

inline std::span<const uint8_t> bytesOf(const llvm::MemoryBuffer& buffer) {
  return {reinterpret_cast<const uint8_t*>(buffer.getBufferStart()), buffer.getBufferSize()};
}

class FileSet {
public:
  static std::shared_ptr<FileSet> open(const std::string& path, Diagnostics& diagnostics);
  static std::shared_ptr<FileSet> fromMemory(std::span<const uint8_t> bytes,
                                             const std::string& folder);

  struct File {
    std::string name;
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
  };
  const File& main() const { return mainFile; }
  const std::map<std::string, File>& external() const { return externalFiles; }

  /// The file that the model calls `location`, mapped at the first call. Refuses whatever lies
  /// outside of the model's folder; `where` is whose data it is, for messages.
  const File* openExternal(const std::string& location, std::string_view where,
                           Diagnostics& diagnostics);

private:
  File mainFile;
  std::string folder; // real path; empty: none
  std::map<std::string, File> externalFiles;
};

} // namespace ortc::onnx
