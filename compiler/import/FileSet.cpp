// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/FileSet.h"

#include <filesystem>
#include <system_error>

namespace fs = std::filesystem;

namespace ortc::onnx {

std::shared_ptr<llvm::MemoryBuffer> mapFile(const std::string& path, std::string_view location,
                                            Diagnostics& diagnostics) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    diagnostics.error(location, "cannot open {}: {}", quoteName(path),
                      error && error != std::errc::no_such_file_or_directory ? error.message()
                                                                             : "no such file");
    return nullptr;
  }
  if (!fs::is_regular_file(status)) { // a pipe would block, a device never ends
    diagnostics.error(location, "cannot open {}: {}", quoteName(path),
                      fs::is_directory(status) ? "it is a folder" : "it is not a regular file");
    return nullptr;
  }
  // Without the terminator that callers of MemoryBuffer can ask for, a file of any size can be
  // mapped.
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    diagnostics.error(location, "cannot open {}: {}", quoteName(path), buffer.getError().message());
    return nullptr;
  }
  return std::move(*buffer);
}

std::shared_ptr<FileSet> FileSet::open(const std::string& path, Diagnostics& diagnostics) {
  std::shared_ptr<llvm::MemoryBuffer> buffer = mapFile(path, {}, diagnostics);
  if (!buffer) return nullptr;
  auto files = std::make_shared<FileSet>();
  files->mainFile = {fs::path(path).filename().string(), buffer, bytesOf(*buffer)};
  // The folder as the user named it, not where a symbolic link to the model leads: external data
  // lies beside the name.
  fs::path parent = fs::path(path).parent_path();
  std::error_code error;
  files->folder = fs::canonical(parent.empty() ? fs::path(".") : parent, error).string();
  return files;
}

std::shared_ptr<FileSet> FileSet::fromMemory(std::span<const uint8_t> bytes,
                                             const std::string& folder) {
  auto files = std::make_shared<FileSet>();
  files->mainFile = {"model", nullptr, bytes};
  std::error_code error;
  if (!folder.empty()) files->folder = fs::canonical(folder, error).string();
  return files;
}

const FileSet::File* FileSet::openExternal(const std::string& location, std::string_view where,
                                           Diagnostics& diagnostics) {
  if (auto it = externalFiles.find(location); it != externalFiles.end()) return &it->second;
  const auto refuse = [&](std::string_view why) {
    diagnostics.error(where, "external data in {} refused: {}", quoteName(location), why)
        .help("external data must lie in the folder of the model or below it; move it there and "
              "save the model with a "
              "plain relative location");
    return nullptr;
  };
  if (folder.empty()) return refuse("the model has no folder");
  if (location.empty()) return refuse("the location is empty");
  if (location.find('\0') != std::string::npos) return refuse("the location has a zero byte");
  // Backslashes and drive letters too, so that a model means the same on every system.
  if (location[0] == '/' || location[0] == '\\' || (location.size() > 1 && location[1] == ':'))
    return refuse("the path is absolute");
  fs::path path(location);
  for (const fs::path& component : path)
    if (component == "..") return refuse("the path goes up with '..'");
  if (location.find('\\') != std::string::npos) return refuse("the path has a backslash");

  std::error_code error;
  fs::path real = fs::canonical(fs::path(folder) / path, error);
  if (error) {
    diagnostics.error(where, "cannot open external data {}: {}", quoteName(location),
                      error == std::errc::no_such_file_or_directory
                          ? "no such file beside the model"
                          : error.message());
    return nullptr;
  }
  fs::path inside = real.lexically_relative(folder);
  if (inside.empty() || inside.is_absolute() || *inside.begin() == "..")
    return refuse("a symbolic link leads out of the folder");
  std::shared_ptr<llvm::MemoryBuffer> buffer = mapFile(real.string(), where, diagnostics);
  if (!buffer) return nullptr;
  File file{location, buffer, bytesOf(*buffer)};
  return &externalFiles.emplace(location, std::move(file)).first->second;
}

} // namespace ortc::onnx
