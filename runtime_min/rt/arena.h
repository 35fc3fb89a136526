// SPDX-License-Identifier: 0BSD
// Memory of a context: asked for at create and reserve only, never by a run.
#ifndef ORTC_RT_ARENA_H
#define ORTC_RT_ARENA_H

#include "config.h"

ORTC_RT_BEGIN

// Zeroed and aligned to 64 bytes; from 2 MiB on on huge pages where Linux gives them (a GEMM reads
// its weights up to 1.8 times as fast from them). NULL when there is none.
void* memory_alloc(uint64_t bytes);
void memory_free(void* p, uint64_t bytes);

// The one block in which the planner has placed every intermediate tensor. Code adds constant or
// computed offsets to `data`; what is at an offset is never both live and overwritten.
struct arena {
  char* data = nullptr;
  uint64_t size = 0;

  template <class T> T* at(uint64_t offset) const { return reinterpret_cast<T*>(data + offset); }
};

// At least `bytes`; what was in it is lost when it grows. False: no memory, and the arena is as it
// was.
bool arena_reserve(arena& a, uint64_t bytes);
void arena_release(arena& a);

ORTC_RT_END
#endif
