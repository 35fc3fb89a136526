// SPDX-License-Identifier: 0BSD
// The context heap: strings, sequences, maps and outputs of unknown size live here until the next
// run. Its size is set at create; allocation moves a mark, and a run starts by moving it back.
#ifndef ORTC_RT_HEAP_H
#define ORTC_RT_HEAP_H

#include "ortc/ortc.h"

#include "config.h"

ORTC_RT_BEGIN

struct heap {
  char* data = nullptr;
  uint64_t size = 0;
  uint64_t used = 0;
  uint64_t missing = 0; // bytes of the first request that did not fit

  void reset() { used = 0, missing = 0; }

  // NULL when full: the run then answers ORTC_OUT_OF_MEMORY.
  void* alloc(uint64_t bytes, uint64_t align = 16) {
    const uint64_t start = (used + align - 1) / align * align;
    if (start > size || bytes > size - start) {
      if (missing == 0) missing = bytes ? bytes : 1;
      return nullptr;
    }
    used = start + bytes;
    return data + start;
  }
  template <class T> T* alloc_array(uint64_t n) {
    return n > UINT64_MAX / sizeof(T) ? nullptr : static_cast<T*>(alloc(n * sizeof(T), alignof(T)));
  }

  // A copy of [p, p + n). data is NULL when it did not fit.
  ortc_string copy(const char* p, uint64_t n) {
    char* to = static_cast<char*>(alloc(n ? n : 1, 1));
    if (to) __builtin_memcpy(to, p, size_t(n));
    return {to, to ? n : 0};
  }

  // Scratch: what was allocated since mark() is given back by release(mark).
  uint64_t mark() const { return used; }
  void release(uint64_t m) { used = m; }
};

ORTC_RT_END
#endif
