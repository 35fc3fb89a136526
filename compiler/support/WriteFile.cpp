// SPDX-License-Identifier: Apache-2.0
#include "compiler/support/WriteFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace ortc {

static bool writeTo(const std::string& path, std::span<const uint8_t> bytes, std::string& why) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) {
    why = std::strerror(errno);
    return false;
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!written) why = std::strerror(errno);
  if (std::fclose(file) == 0) return written;
  if (written) why = std::strerror(errno);
  return false;
}

bool writeWholeFile(const std::string& path, std::span<const uint8_t> bytes, std::string& why) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (!fs::is_directory(status)) return writeTo(path, bytes, why);
    why = "it is a folder";
    return false;
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  if (writeTo(temporary, bytes, why)) {
    fs::rename(temporary, path, error);
    if (!error) return true;
    why = error.message();
  }
  fs::remove(temporary, error);
  return false;
}

std::string whyNotWritable(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "it is a folder";
  if (fs::exists(status) && !fs::is_regular_file(status)) return "";
  fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) parent = ".";
  if (!fs::is_directory(parent, error))
    return fmt::format("there is no folder '{}'", parent.string());
  if (access(parent.c_str(), W_OK) != 0) return std::strerror(errno);
  return "";
}

} // namespace ortc
