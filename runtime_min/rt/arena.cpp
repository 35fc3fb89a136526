// SPDX-License-Identifier: 0BSD
// Aligned, zeroed memory from the system.
#include "arena.h"

#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif

ORTC_RT_BEGIN

namespace {
constexpr uint64_t kAlign = 64;
constexpr uint64_t kHugePage = uint64_t(2) << 20;
inline uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
} // namespace

void* memory_alloc(uint64_t bytes) {
  if (bytes == 0)
    bytes = 1;
  if (bytes > SIZE_MAX / 2)
    return nullptr;
#if defined(__linux__)
  if (bytes >= kHugePage) {
    // One huge page more than needed, so that a start on a huge page lies within; the ends are given back.
    const uint64_t size = round_up(bytes, kHugePage), all = size + kHugePage;
    void* m = mmap(nullptr, size_t(all), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
      return nullptr;
    char* start = static_cast<char*>(m);
    char* aligned = start + (kHugePage - uintptr_t(start) % kHugePage) % kHugePage;
    if (aligned != start)
      munmap(start, size_t(aligned - start));
    if (const uint64_t rest = all - size - uint64_t(aligned - start))
      munmap(aligned + size, size_t(rest));
    madvise(aligned, size_t(size), MADV_HUGEPAGE); // a wish; small pages work too
    return aligned;
  }
#endif
  void* p = nullptr;
#if defined(_WIN32)
  p = _aligned_malloc(size_t(round_up(bytes, kAlign)), kAlign);
#else
  if (posix_memalign(&p, kAlign, size_t(round_up(bytes, kAlign))) != 0)
    return nullptr;
#endif
  if (p)
    memset(p, 0, size_t(bytes));
  return p;
}

void memory_free(void* p, uint64_t bytes) {
  if (!p)
    return;
#if defined(__linux__)
  if (bytes >= kHugePage) {
    munmap(p, size_t(round_up(bytes, kHugePage)));
    return;
  }
#endif
  (void)bytes;
#if defined(_WIN32)
  _aligned_free(p);
#else
  free(p);
#endif
}

bool arena_reserve(arena& a, uint64_t bytes) {
  if (bytes <= a.size)
    return true;
  void* p = memory_alloc(bytes);
  if (!p)
    return false;
  arena_release(a);
  a.data = static_cast<char*>(p);
  a.size = bytes;
  return true;
}

void arena_release(arena& a) {
  memory_free(a.data, a.size);
  a = arena();
}

ORTC_RT_END
