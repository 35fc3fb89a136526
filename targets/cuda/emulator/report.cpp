// SPDX-License-Identifier: 0BSD
//
// Collects faults and turns addresses into file and line.
#include "report.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <unistd.h>

#include "engine.h"

namespace cuemu {
namespace {

struct Collected {
  std::mutex mutex;
  std::set<std::string> keys;
  std::vector<std::string> texts;
  std::atomic<bool> any{false};
  std::string first;
};
Collected& collected() {
  static Collected c;
  return c;
}

const char* baseName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

struct Module {
  uintptr_t address;
  uintptr_t bias = 0;
  std::string file;
};
int findModule(dl_phdr_info* info, size_t, void* data) {
  Module& m = *static_cast<Module*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || m.address < begin || m.address >= begin + segment.p_memsz)
      continue;
    m.bias = info->dlpi_addr;
    m.file = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "";
    return 1;
  }
  return 0;
}

bool isWrapper(const std::string& place) {
  for (const char* file :
       {"ortc_cuda.cuh", "ops.cuh", "narrow.cuh", "device_api.h", "core.h", "half.h"})
    if (place.compare(0, std::strlen(file), file) == 0 && place[std::strlen(file)] == ':')
      return true;
  return false;
}

} // namespace

std::vector<std::string> reports() {
  Collected& c = collected();
  std::lock_guard<std::mutex> lock(c.mutex);
  return c.texts;
}

bool hasReport(const char* kind) {
  for (const std::string& text : reports())
    if (text.compare(0, std::strlen(kind), kind) == 0) return true;
  return false;
}

void clearReports() {
  Collected& c = collected();
  std::lock_guard<std::mutex> lock(c.mutex);
  c.keys.clear();
  c.texts.clear();
  c.first.clear();
  c.any = false;
}

bool anyReports() {
  return collected().any;
}
const char* firstReport() {
  return collected().first.c_str();
}

bool firstTime(const char* kind, const std::string& key) {
  Collected& c = collected();
  std::lock_guard<std::mutex> lock(c.mutex);
  return static_cast<int>(c.texts.size()) < options().maxReports &&
         c.keys.insert(kind + key).second;
}

void report(const char* kind, const std::string& text) {
  std::string line = kind;
  if (const Engine* engine = activeEngine) {
    const uint3 b = builtIns.block;
    char where[64];
    std::snprintf(where, sizeof where, " block (%u,%u,%u)", b.x, b.y, b.z);
    line += " in '" + std::string(engine->call.name) + "'" + where;
  }
  line += ": " + text;
  Collected& c = collected();
  std::lock_guard<std::mutex> lock(c.mutex);
  if (options().printReports) std::fprintf(stderr, "cuda emulator: %s\n", line.c_str());
  if (c.texts.empty()) c.first = line;
  c.texts.push_back(line);
  c.any = true;
}

std::string placeOf(const Site& site) {
  return std::string(baseName(site.file)) + ":" + std::to_string(site.line);
}

std::string keyOf(const void* p) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", p);
  return text;
}

namespace {
std::string findPlace(const void* returnAddress) {
  Module m{reinterpret_cast<uintptr_t>(returnAddress) - 1, 0, {}};
  dl_iterate_phdr(findModule, &m);
  if (m.file.empty()) {
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    m.file.assign(self, n > 0 ? static_cast<size_t>(n) : 0);
  }
  char offset[32];
  std::snprintf(offset, sizeof offset, "0x%" PRIxPTR, m.address - m.bias);
  const std::string fallback = std::string(baseName(m.file.c_str())) + "+" + offset;
  if (m.file.empty() || m.file.find('\'') != std::string::npos) return fallback;
  FILE* pipe =
      popen(("addr2line -s -i -e '" + m.file + "' " + offset + " 2>/dev/null").c_str(), "r");
  if (!pipe) return fallback;
  // Innermost frame first; the first that is no wrapper is the line that a reader of the kernel
  // wants.
  std::string place;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string frame(line, std::strcspn(line, "\n"));
    frame = frame.substr(0, frame.find(" (discriminator"));
    if (frame.compare(0, 1, "?") == 0) break;
    place = frame;
    if (!isWrapper(frame)) break;
  }
  pclose(pipe);
  return place.empty() ? fallback : place;
}
} // namespace

std::string placeOf(const void* returnAddress) {
  if (!returnAddress) return "an unknown place";
  static std::mutex mutex;
  static std::map<const void*, std::string> known; // addr2line takes tens of milliseconds
  std::lock_guard<std::mutex> lock(mutex);
  std::string& place = known[returnAddress];
  if (place.empty()) place = findPlace(returnAddress);
  return place;
}

} // namespace cuemu
