// SPDX-License-Identifier: 0BSD
//
// Allocation, gaps, and the table of what was written.
#include "memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "core.h"
#include "report.h"

namespace cuemu {
namespace {

constexpr size_t DeviceGap = 512; // behind each allocation of device memory
constexpr size_t SharedGap = 64;  // behind each shared array
constexpr size_t DeviceAlign = 256;
constexpr size_t StaticSharedLimit = size_t(48) << 10; // what ptxas accepts for declared arrays
constexpr unsigned char GapByte = 0xa5;
constexpr unsigned char FreshByte = 0xff; // NaN in every floating-point type, -1 in integers

size_t roundUp(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

size_t firstChanged(const char* p, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (static_cast<unsigned char>(p[i]) != GapByte) return i;
  return n;
}

} // namespace

void* reserveAddresses(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

bool Shadow::reserve(size_t size) {
  // In one piece, so that nothing is left behind where only a part would fit.
  const size_t forWords = size / 4 * sizeof(Access), forBytes = size * sizeof(Access);
  char* all = static_cast<char*>(reserveAddresses(size + forWords + forBytes));
  if (!all) return false;
  words = reinterpret_cast<Access*>(all);
  bytes = reinterpret_cast<Access*>(all + forWords);
  written = reinterpret_cast<uint8_t*>(all + forWords + forBytes);
  return true;
}

DeviceMemory& DeviceMemory::get() {
  static DeviceMemory memory;
  return memory;
}

DeviceMemory::DeviceMemory() {
  // As much as the addresses that this process may have allow. The checker's tables are many times
  // larger than the memory.
  for (size = options().memoryBytes; size >= (size_t(1) << 20); size /= 2) {
    base = static_cast<char*>(reserveAddresses(size));
    if (base && (!options().check || shadow.reserve(size))) return;
    if (base) munmap(base, size);
  }
  std::fprintf(stderr, "cuda emulator: cannot reserve device memory\n");
  std::abort();
}

bool DeviceMemory::shadowReady() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!shadow.written && !shadow.reserve(size)) {
    std::fprintf(stderr,
                 "cuda emulator: cannot reserve the checker's tables; set a smaller memoryBytes\n");
    std::abort();
  }
  return true;
}

void* DeviceMemory::allocate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  char* p = nullptr;
  if (roundUp(used, DeviceAlign) + bytes + DeviceGap <= size) {
    p = base + roundUp(used, DeviceAlign);
    used = static_cast<size_t>(p - base) + bytes + DeviceGap;
  } else {
    // Freed memory is used again only when there is no other, so that stale pointers are found.
    for (auto& [begin, a] : allocations)
      if (a.freed && a.bytes >= bytes) {
        p = const_cast<char*>(begin);
        break;
      }
  }
  if (!p) return nullptr;
  std::memset(p, FreshByte, bytes);
  std::memset(p + bytes, GapByte, DeviceGap);
  if (shadow.written) std::memset(shadow.written + offsetOf(p), 0, bytes);
  allocations[p] = {bytes, false};
  return p;
}

bool DeviceMemory::release(void* p) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto it = allocations.find(static_cast<const char*>(p));
  if (it == allocations.end() || it->second.freed) return false;
  it->second.freed = true;
  const char* end = it->first + it->second.bytes;
  buffers.erase(buffers.lower_bound(it->first), buffers.lower_bound(end));
  // Gives whole pages back to the host; they read as zero from now on.
  const uintptr_t first = roundUp(reinterpret_cast<uintptr_t>(it->first), 4096);
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / 4096 * 4096;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  return true;
}

DeviceMemory::Range DeviceMemory::find(const char* p, size_t bytes, std::string* why) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.upper_bound(p);
  if (it == allocations.begin()) {
    if (why) *why = "before the first allocation";
    return {};
  }
  --it;
  const char* begin = it->first;
  const char* end = begin + it->second.bytes;
  if (it->second.freed || p + bytes > end) {
    if (why) {
      *why = it->second.freed ? "inside an allocation of " + std::to_string(it->second.bytes) +
                                    " bytes that was freed"
                              : std::to_string(p - begin) + " bytes into an allocation of " +
                                    std::to_string(it->second.bytes) + " bytes";
      if (const auto next = std::next(it); !it->second.freed && next != allocations.end())
        *why += ", " + std::to_string(next->first - p) + " bytes before the next one";
    }
    return {};
  }
  const auto firstBuffer = buffers.lower_bound(begin);
  if (firstBuffer == buffers.end() || firstBuffer->first >= end) return {begin, end};
  auto buffer = buffers.upper_bound(p);
  if (buffer != buffers.begin()) {
    --buffer;
    const char* bufferEnd = buffer->first + buffer->second.bytes;
    if (buffer->first >= begin && p + bytes <= bufferEnd) return {buffer->first, bufferEnd};
    if (why)
      *why = std::to_string(p - buffer->first) + " bytes into buffer '" + buffer->second.name +
             "' of " + std::to_string(buffer->second.bytes) + " bytes";
  } else if (why) {
    *why = "before the first buffer of the arena";
  }
  return {};
}

bool DeviceMemory::allocated(const void* p, size_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  const char* begin = static_cast<const char*>(p);
  auto it = allocations.upper_bound(begin);
  if (it == allocations.begin()) return false;
  --it;
  return !it->second.freed && begin + bytes <= it->first + it->second.bytes;
}

void DeviceMemory::beginBuffer(char* p, size_t bytes, const char* name) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!holds(p)) return;
  auto it = buffers.upper_bound(p);
  if (it != buffers.begin() && std::prev(it)->first + std::prev(it)->second.bytes > p) --it;
  while (it != buffers.end() && it->first < p + bytes)
    it = buffers.erase(it); // whatever lived in this place is dead now
  buffers[p] = {bytes, name};
  std::memset(p, FreshByte, bytes);
  if (shadow.written) std::memset(shadow.written + offsetOf(p), 0, bytes);
}

void DeviceMemory::markWritten(const void* p, size_t bytes) {
  if (shadow.written && holds(p)) std::memset(shadow.written + offsetOf(p), 1, bytes);
}

void DeviceMemory::copyWritten(const void* to, const void* from, size_t bytes) {
  if (shadow.written)
    std::memmove(shadow.written + offsetOf(to), shadow.written + offsetOf(from), bytes);
}

size_t DeviceMemory::firstUnwritten(const void* p, size_t bytes) const {
  if (!shadow.written) return bytes;
  const uint8_t* begin = shadow.written + offsetOf(p);
  const void* zero = std::memchr(begin, 0, bytes);
  return zero ? static_cast<size_t>(static_cast<const uint8_t*>(zero) - begin) : bytes;
}

void DeviceMemory::inspectGaps() {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto& [begin, a] : allocations) {
    char* gap = const_cast<char*>(begin) + a.bytes;
    const size_t at = firstChanged(gap, DeviceGap);
    if (at == DeviceGap) continue;
    report("OOB", "a kernel wrote " + std::to_string(at) +
                      " bytes past the end of an allocation of " + std::to_string(a.bytes) +
                      " bytes (found after the launch; the checked build names the line)");
    std::memset(gap, GapByte, DeviceGap);
  }
}

SharedMemory::SharedMemory() {
  base = static_cast<char*>(reserveAddresses(Size));
  if (!base || !shadow.reserve(Size)) {
    std::fprintf(stderr, "cuda emulator: cannot reserve shared memory\n");
    std::abort();
  }
}

SharedMemory::~SharedMemory() {
  munmap(base, Size);
  munmap(shadow.written, Size);
  munmap(shadow.words, Size / 4 * sizeof(Access));
  munmap(shadow.bytes, Size * sizeof(Access));
}

void SharedMemory::beginBlock() {
  arrays.clear();
  used = 1024; // something to read before the first array
  staticBytes = 0;
  dynamic = nullptr;
}

void SharedMemory::inspectGaps() {
  for (const Array& a : arrays) {
    const char* gap = a.data + a.bytes;
    const size_t at = firstChanged(gap, SharedGap);
    if (at == SharedGap || !firstTime("OOB", std::string("shared gap") + a.name)) continue;
    report("OOB", "the block wrote " + std::to_string(at) +
                      " bytes past the end of shared array '" + a.name + "' of " +
                      std::to_string(a.bytes) +
                      " bytes (found after the block; the checked build names the line)");
  }
}

void* SharedMemory::array(const void* key, size_t bytes, size_t align, const char* name) {
  for (const Array& a : arrays)
    if (a.key == key) return a.data;
  if (key) {
    staticBytes += bytes;
    if (staticBytes > StaticSharedLimit && firstTime("SHARED", name))
      report("SHARED", "declared shared arrays take " + std::to_string(staticBytes) +
                           " bytes; nvcc accepts 49152");
  }
  const size_t begin = roundUp(used, std::max<size_t>(align, 16));
  if (begin + bytes + SharedGap > Size) {
    std::fprintf(stderr, "cuda emulator: shared arrays of a block exceed 1 MiB\n");
    std::abort();
  }
  char* p = base + begin;
  std::memset(p, FreshByte, bytes);
  std::memset(p + bytes, GapByte, SharedGap);
  std::memset(shadow.written + begin, 0, bytes);
  used = begin + bytes + SharedGap;
  arrays.push_back({key, p, bytes, name});
  return p;
}

const SharedMemory::Array* SharedMemory::find(const char* p, size_t bytes, std::string* why) const {
  const Array* nearest = nullptr;
  for (const Array& a : arrays) {
    if (p >= a.data && p + bytes <= a.data + a.bytes) return &a;
    if (p >= a.data) nearest = &a;
  }
  if (why)
    *why = nearest ? std::to_string(p - nearest->data) + " bytes into shared array '" +
                         nearest->name + "' of " + std::to_string(nearest->bytes) + " bytes"
                   : std::string("before the first shared array");
  return nullptr;
}

} // namespace cuemu
