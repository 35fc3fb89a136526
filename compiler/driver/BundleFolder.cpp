// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/BundleFolder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

std::vector<std::string> filesBelow(const fs::path& root) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end;
       it.increment(error))
    if (!it->is_directory() || it->is_symlink())
      files.push_back(it->path().lexically_relative(root).generic_string());
  std::sort(files.begin(), files.end());
  return files;
}

/// The files that the manifest in `folder` lists; none when it is no manifest of ours.
std::optional<std::vector<std::string>> filesOfBundle(const fs::path& folder) {
  auto buffer = llvm::MemoryBuffer::getFile((folder / "manifest.json").string());
  if (!buffer) return std::nullopt;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object* o = json->getAsObject();
  if (!o || o->getString("generator").value_or("") != "ortc") return std::nullopt;
  std::vector<std::string> files{"manifest.json"};
  if (const llvm::json::Array* list = o->getArray("files"))
    for (const llvm::json::Value& v : *list)
      files.push_back(v.getAsString().value_or("").str());
  std::sort(files.begin(), files.end());
  return files;
}

/// May what is at the destination be replaced?
bool checkDestination(const fs::path& destination, Diagnostics& diagnostics) {
  std::error_code error;
  fs::file_status status = fs::symlink_status(destination, error);
  if (!fs::exists(status)) return true;
  if (!fs::is_directory(status)) {
    diagnostics.error("", "is there already, and is no folder").help("name another folder with -o");
    return false;
  }
  if (fs::is_empty(destination, error)) return true;
  std::optional<std::vector<std::string>> ours = filesOfBundle(destination);
  if (!ours) {
    diagnostics.error("", "holds files that are not of a bundle")
        .help("name another folder with -o, or empty this one");
    return false;
  }
  for (const std::string& file : filesBelow(destination))
    if (!std::binary_search(ours->begin(), ours->end(), file)) {
      diagnostics.error("", "holds {}, which is not of the bundle that is there", quoteName(file))
          .help("move it elsewhere: the folder is replaced as a whole");
      return false;
    }
  return true;
}

bool sameContent(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  auto x =
      llvm::MemoryBuffer::getFile(a.string(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  auto y = llvm::MemoryBuffer::getFile(b.string(), false, false);
  return x && y && (*x)->getBuffer() == (*y)->getBuffer();
}

void copyTimes(const fs::path& from, const fs::path& to) {
  struct stat s{};
  if (stat(from.c_str(), &s) != 0) return;
  timespec times[2] = {s.st_atim, s.st_mtim};
  utimensat(AT_FDCWD, to.c_str(), times, 0);
}

// The folder that is being written, for the handler of signals.
char pendingFolder[4096];
void removePending(int signal) {
  // fork and exec are allowed in a handler, removing a tree in this process is not: the lock of the
  // heap may be held.
  pid_t pid = pendingFolder[0] ? fork() : -1;
  if (pid == 0) {
    execl("/bin/rm", "rm", "-rf", pendingFolder, static_cast<char*>(nullptr));
    _exit(1);
  }
  if (pid > 0) waitpid(pid, nullptr, 0);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

} // namespace

namespace {
/// The folder that is being written, and that is gone whatever ends the writing.
class PendingFolder {
public:
  explicit PendingFolder(fs::path folder) : folder(std::move(folder)) {
    snprintf(pendingFolder, sizeof pendingFolder, "%s", this->folder.c_str());
    for (int s : {SIGINT, SIGTERM, SIGHUP})
      std::signal(s, removePending);
  }
  ~PendingFolder() {
    std::error_code error;
    fs::remove_all(folder, error);
    pendingFolder[0] = 0;
    for (int s : {SIGINT, SIGTERM, SIGHUP})
      std::signal(s, SIG_DFL);
  }
  PendingFolder(const PendingFolder&) = delete;

private:
  fs::path folder;
};
} // namespace

/// What a compile that was killed outright has left beside the destination.
static void removeStale(const fs::path& target) {
  const std::string begin = fmt::format(".{}.", target.filename().string()), end = ".tmp";
  std::error_code error;
  for (fs::directory_iterator it(target.parent_path(), error), last; !error && it != last;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= begin.size() + end.size() || name.compare(0, begin.size(), begin) != 0 ||
        name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    const std::string number = name.substr(begin.size(), name.size() - begin.size() - end.size());
    if (number.find_first_not_of("0123456789") != std::string::npos || number.size() > 9) continue;
    std::error_code ignored;
    if (kill(std::stoi(number), 0) != 0 && errno == ESRCH) fs::remove_all(it->path(), ignored);
  }
}

bool writeBundleFolder(const std::string& destination,
                       const std::function<bool(const std::string& folder)>& write,
                       std::vector<std::string>& files, Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, destination);
  std::error_code error;
  fs::path target = fs::absolute(destination, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path(); // "out/"
  if (!checkDestination(target, diagnostics)) return false;
  fs::create_directories(target.parent_path(), error);
  removeStale(target);
  const fs::path temporary =
      target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), getpid());
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error)) {
    diagnostics.error("", "cannot be written: {}", error.message());
    return false;
  }
  const PendingFolder pending(temporary);
  bool ok = false;
  {
    Diagnostics::FileScope model(diagnostics, "");
    ok = write(temporary.string());
  }
  if (ok) {
    files = filesBelow(temporary);
    for (const std::string& file : files)
      if (fs::exists(target / file) && sameContent(target / file, temporary / file))
        copyTimes(target / file, temporary / file);
    if (fs::exists(target)) {
      // One step where the system has it: at no time is the bundle missing.
      ok = renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0;
      if (!ok) {
        const fs::path old = temporary.string() + ".old";
        fs::rename(target, old, error);
        if (!error) fs::rename(temporary, target, error);
        ok = !error;
        fs::remove_all(ok ? old : fs::path(), error);
      }
    } else {
      fs::rename(temporary, target, error);
      ok = !error;
    }
    if (!ok)
      diagnostics.error("", "cannot be put in place: {}",
                        error ? error.message() : std::string(strerror(errno)));
  }
  return ok;
}

} // namespace ortc::driver
