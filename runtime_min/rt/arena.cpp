// SPDX-License-Identifier: 0BSD
// Aligned, zeroed memory from the system; where there is none, from a static block or from growing
// wasm memory.
#include "arena.h"

#if defined(ORTC_STATIC_BYTES)
#define ORTC_MEMORY_STATIC 1 // firmware: so many bytes for all contexts
#elif defined(__unix__) || defined(__APPLE__) || defined(_WIN32) || defined(__wasi__)
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif
#elif defined(__wasm__)
#define ORTC_MEMORY_WASM 1
#else
#define ORTC_MEMORY_STATIC 1
#define ORTC_STATIC_BYTES 64
#endif

ORTC_RT_BEGIN

namespace {
constexpr uint64_t kAlign = 64;
inline uint64_t round_up(uint64_t n, uint64_t to) {
  return (n + to - 1) / to * to;
}
} // namespace

#if defined(ORTC_MEMORY_STATIC) || defined(ORTC_MEMORY_WASM)

namespace {

#if defined(ORTC_MEMORY_STATIC)
alignas(64) char block[(ORTC_STATIC_BYTES + 63) / 64 * 64];
uint64_t block_used = 0;
char* take(uint64_t bytes) {
  if (bytes > sizeof block - block_used) return nullptr;
  char* p = block + block_used;
  block_used += bytes;
  return p;
}
bool give(char* p, uint64_t bytes) {
  const bool last = p + bytes == block + block_used;
  if (last) block_used -= bytes;
  return last;
}
#else
constexpr uint64_t kPage = 65536;
char* take(uint64_t bytes) {
  const size_t old = __builtin_wasm_memory_grow(0, size_t(round_up(bytes, kPage) / kPage));
  return old == SIZE_MAX ? nullptr : reinterpret_cast<char*>(old * kPage);
}
bool give(char*, uint64_t) {
  return false;
} // wasm memory never shrinks: free blocks are used again
#endif

// Blocks that could not be given back, each with its size and the next one in its first bytes.
struct free_block {
  free_block* next;
  uint64_t bytes;
};
free_block* free_blocks = nullptr;

} // namespace

void* memory_alloc(uint64_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  bytes = round_up(bytes ? bytes : 1, kAlign);
  char* p = nullptr;
  for (free_block** link = &free_blocks; *link && !p; link = &(*link)->next) {
    if ((*link)->bytes == bytes) {
      p = reinterpret_cast<char*>(*link);
      *link = (*link)->next;
      break;
    }
  }
  if (!p) p = take(bytes);
  if (p) __builtin_memset(p, 0, size_t(bytes));
  return p;
}

void memory_free(void* p, uint64_t bytes) {
  bytes = round_up(bytes ? bytes : 1, kAlign);
  if (!p || give(static_cast<char*>(p), bytes)) return;
  auto* b = static_cast<free_block*>(p);
  b->next = free_blocks;
  b->bytes = bytes;
  free_blocks = b;
}

#else

#if defined(__linux__)
namespace {
constexpr uint64_t kHugePage = uint64_t(2) << 20;
} // namespace
#endif

void* memory_alloc(uint64_t bytes) {
  bytes = bytes ? bytes : 1;
  if (bytes > SIZE_MAX / 2) return nullptr;
#if defined(__linux__)
  if (bytes >= kHugePage) {
    // One huge page more than needed, so that a start on a huge page lies within; the ends are
    // given back.
    const uint64_t size = round_up(bytes, kHugePage), all = size + kHugePage;
    void* m =
        mmap(nullptr, size_t(all), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return nullptr;
    char* start = static_cast<char*>(m);
    char* aligned = start + (kHugePage - uintptr_t(start) % kHugePage) % kHugePage;
    if (aligned != start) munmap(start, size_t(aligned - start));
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
  if (posix_memalign(&p, kAlign, size_t(round_up(bytes, kAlign))) != 0) return nullptr;
#endif
  if (p) memset(p, 0, size_t(bytes));
  return p;
}

void memory_free(void* p, uint64_t bytes) {
  if (!p) return;
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

#endif

bool arena_reserve(arena& a, uint64_t bytes) {
  if (bytes <= a.size) return true;
  void* p = memory_alloc(bytes);
  if (!p) return false;
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
