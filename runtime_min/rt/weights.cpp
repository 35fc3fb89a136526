// SPDX-License-Identifier: 0BSD
// Finding, checking and mapping the weights file. Only its first 64 bytes are read.
#include "weights.h"

#if defined(_WIN32)
#include <string.h>
#include <windows.h>
#elif defined(__unix__) || defined(__APPLE__)
#if !defined(__linux__)
#include <dlfcn.h>
#endif
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

ORTC_RT_BEGIN

#if defined(_WIN32) || defined(__unix__) || defined(__APPLE__)

namespace {

constexpr size_t kMaxPath = 4096;

// folder of `from` + "/" + name; false if it does not fit
bool beside(char* out, const char* from, const char* name) {
  size_t folder = 0;
  for (size_t i = 0; from[i]; ++i)
    if (from[i] == '/' || from[i] == '\\') folder = i + 1;
  const size_t n = strlen(name);
  if (folder + n + 1 > kMaxPath) return false;
  memcpy(out, from, folder);
  memcpy(out + folder, name, n + 1);
  return true;
}

ortc_status check(const weights_header& h, uint64_t file_bytes, const char* path, uint64_t bytes,
                  const unsigned char* digest, text& why) {
  if (file_bytes < sizeof h || memcmp(h.magic, "ortcwts1", 8) != 0)
    return why << "'" << path << "' is no weights file", ORTC_IO;
  if (h.bytes != bytes || memcmp(h.digest, digest, sizeof h.digest) != 0)
    return why << "'" << path << "' holds the weights of another model", ORTC_IO;
  if (file_bytes < sizeof h + bytes)
    return why << "'" << path << "' is cut short: " << file_bytes << " bytes, " << sizeof h + bytes
               << " expected",
           ORTC_IO;
  return ORTC_OK;
}

} // namespace

#endif

#if defined(_WIN32)

ortc_status weights_open(weights& w, const char* path, const char* name, const void* anchor,
                         uint64_t bytes, const unsigned char* digest, text& why) {
  char found[kMaxPath];
  if (!path) {
    HMODULE module = nullptr;
    char self[MAX_PATH];
    if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            static_cast<LPCSTR>(anchor), &module) ||
        !GetModuleFileNameA(module, self, MAX_PATH) || !beside(found, self, name))
      return why << "cannot tell where '" << name << "' lies", ORTC_IO;
    path = found;
  }
  const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                                  FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return why << "cannot open '" << path << "'", ORTC_IO;
  weights_header h = {};
  DWORD got = 0;
  LARGE_INTEGER size = {};
  ReadFile(file, &h, sizeof h, &got, nullptr);
  GetFileSizeEx(file, &size);
  ortc_status s = check(h, got == sizeof h ? uint64_t(size.QuadPart) : 0, path, bytes, digest, why);
  if (s == ORTC_OK) {
    const HANDLE mapping = CreateFileMappingA(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    w.mapping = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
    if (mapping) CloseHandle(mapping);
    if (!w.mapping) s = ORTC_IO, why << "cannot map '" << path << "'";
  }
  CloseHandle(file);
  if (s == ORTC_OK) {
    w.mapped = sizeof h + bytes;
    w.data = static_cast<const char*>(w.mapping) + sizeof h;
    w.size = bytes;
  }
  return s;
}

void weights_close(weights& w) {
  if (w.mapping) UnmapViewOfFile(w.mapping);
  w = weights();
}

#elif defined(__unix__) || defined(__APPLE__)

namespace {

// The file that the code or data at `anchor` was loaded from. false: unknown.
bool loaded_from(const void* anchor, char* path) {
#if defined(__linux__)
  // Lines of "from-to rwxp offset device inode    /path". Unlike dladdr's, this path is absolute.
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  uint64_t bounds[2] = {0, 0};
  int bound = 0;     // which of the two is being read; 2: neither
  size_t length = 0; // of the path
  bool found = false;
  char buffer[1024];
  for (ssize_t n; !found && (n = read(maps, buffer, sizeof buffer)) > 0;) {
    for (ssize_t i = 0; i < n && !found; ++i) {
      const char c = buffer[i];
      if (c == '\n') {
        path[length] = 0;
        found = length && bounds[0] <= uintptr_t(anchor) && uintptr_t(anchor) < bounds[1];
        bounds[0] = bounds[1] = 0, bound = 0, length = 0;
      } else if (length || c == '/') {
        if (length + 1 < kMaxPath) path[length++] = c;
      } else if (c == '-' || c == ' ') {
        bound = c == '-' && bound == 0 ? 1 : 2;
      } else if (bound < 2) {
        bounds[bound] = bounds[bound] << 4 | uint64_t(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
  close(maps);
  return found;
#else
  Dl_info info;
  if (!dladdr(anchor, &info) || !info.dli_fname || strlen(info.dli_fname) >= kMaxPath) return false;
  strcpy(path, info.dli_fname);
  return true;
#endif
}

} // namespace

ortc_status weights_open(weights& w, const char* path, const char* name, const void* anchor,
                         uint64_t bytes, const unsigned char* digest, text& why) {
  char found[kMaxPath], self[kMaxPath];
  if (!path) {
    if (!loaded_from(anchor, self) || !beside(found, self, name))
      return why << "cannot tell where '" << name << "' lies", ORTC_IO;
    path = found;
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return why << "cannot open '" << path << "'", ORTC_IO;
  weights_header h = {};
  struct stat st = {};
  const bool whole = pread(file, &h, sizeof h, 0) == ssize_t(sizeof h) && fstat(file, &st) == 0;
  ortc_status s = check(h, whole ? uint64_t(st.st_size) : 0, path, bytes, digest, why);
  if (s == ORTC_OK) {
    void* m = mmap(nullptr, size_t(sizeof h + bytes), PROT_READ, MAP_PRIVATE, file, 0);
    if (m == MAP_FAILED) {
      s = ORTC_IO;
      why << "cannot map '" << path << "'";
    } else {
      w.mapping = m;
      w.mapped = sizeof h + bytes;
      w.data = static_cast<const char*>(m) + sizeof h;
      w.size = bytes;
    }
  }
  close(file);
  return s;
}

void weights_close(weights& w) {
  if (w.mapping) munmap(w.mapping, size_t(w.mapped));
  w = weights();
}

#else // no files

ortc_status weights_open(weights&, const char*, const char*, const void*, uint64_t,
                         const unsigned char*, text& why) {
  return why << "there are no files here", ORTC_IO;
}
void weights_close(weights& w) {
  w = weights();
}

#endif

ORTC_RT_END
