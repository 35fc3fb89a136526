// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/Command.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace ortc::driver {

static fs::path temporaryFolder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (error)
    throw UsageError{fmt::format("there is no folder for temporary files: {}", error.message()),
                     "set TMPDIR to a folder that is there"};
  return folder;
}

static std::string environment(const char* name) {
  const char* v = getenv(name);
  return v ? v : "";
}

BuildCache::BuildCache(bool enabled, const std::string& workFolder) {
  fs::path wanted;
  if (!enabled)
    wanted = fs::path(workFolder) / "cache";
  else if (std::string given = environment("ORTC_CACHE_DIR"); !given.empty())
    wanted = given;
  else if (std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
    wanted = fs::path(xdg) / "ortc";
  else if (std::string home = environment("HOME"); !home.empty())
    wanted = fs::path(home) / ".cache" / "ortc";
  else
    wanted = temporaryFolder() / fmt::format("ortc-cache-{}", getuid());
  std::error_code error;
  fs::create_directories(wanted, error);
  struct stat s{};
  // Libraries are loaded from here: another user's folder is not to be trusted.
  const bool ours = stat(wanted.c_str(), &s) == 0 && s.st_uid == geteuid() &&
                    !(s.st_mode & S_IWOTH) && access(wanted.c_str(), W_OK) == 0;
  folder = ours ? wanted.string() : (fs::path(workFolder) / "cache").string();
  if (!ours) fs::create_directories(folder, error);
}

std::string BuildCache::find(const std::string& key) const {
  if (folder.empty()) return {};
  fs::path path = fs::path(folder) / key;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  fs::last_write_time(path, fs::file_time_type::clock::now(), error); // it is in use
  return path.string();
}

std::string BuildCache::put(const std::string& key, const std::string& file) const {
  if (folder.empty()) return file;
  fs::path path = fs::path(folder) / key, temporary = path.string() + fmt::format(".{}", getpid());
  std::error_code error;
  fs::rename(file, temporary, error);
  if (error) { // another file system
    error.clear();
    fs::copy_file(file, temporary, fs::copy_options::overwrite_existing, error);
  }
  if (!error) fs::rename(temporary, path, error);
  if (!error) return path.string();
  fs::remove(temporary, error);
  return file;
}

void BuildCache::trim(uint64_t bytes) const {
  if (folder.empty()) return;
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    uint64_t size;
  };
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code e;
    if (it->is_regular_file(e))
      entries.push_back({it->path(), it->last_write_time(e), it->file_size(e)});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time > b.time; });
  uint64_t total = 0;
  for (const Entry& e : entries)
    if ((total += e.size) > bytes) fs::remove(e.path, error);
}

BuildKey& BuildKey::add(const std::string& text) {
  hash.update(llvm::StringRef(text));
  hash.update(llvm::StringRef("\0", 1)); // "ab","c" is not "a","bc"
  return *this;
}

BuildKey& BuildKey::addFile(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return add(buffer ? (*buffer)->getBuffer().str() : "absent");
}

std::string BuildKey::hex() {
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 40);
}

WorkFolder::WorkFolder(const std::string& kept) : folder(kept), temporary(kept.empty()) {
  std::error_code error;
  if (temporary) {
    std::string pattern = (temporaryFolder() / "ortc-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw UsageError{fmt::format("no temporary folder can be made: {}", strerror(errno)),
                       "set TMPDIR"};
    folder = pattern;
  } else {
    fs::create_directories(folder, error);
    if (error)
      throw UsageError{fmt::format("'{}' cannot be made: {}", folder, error.message()), ""};
    folder = fs::absolute(folder).string();
  }
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (temporary) fs::remove_all(folder, error);
}

} // namespace ortc::driver
