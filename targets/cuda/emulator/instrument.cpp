// SPDX-License-Identifier: 0BSD
//
// The entry points that -fsanitize=thread makes kernel text call at every load and store. They are
// ours: the sanitizer's own library is not linked. So the checker sees all of memory without any
// change to the kernels. Linking kernel text that was compiled this way switches checking on.
#include <cstddef>
#include <cstring>

#include "checker.h"
#include "core.h"

using cuemu::AccessKind;
using cuemu::noteAccess;

namespace {

void noteRange(const void* p, size_t bytes, AccessKind kind, const void* pc) {
  for (size_t i = 0; i < bytes; i += 4)
    noteAccess(static_cast<const char*>(p) + i, bytes - i < 4 ? bytes - i : 4, kind, pc);
}

template <class T> void noteAtomic(const volatile T* p, const void* pc) {
  noteAccess(const_cast<const T*>(p), sizeof(T), AccessKind::Atomic, pc);
}

} // namespace

extern "C" {
#define PC __builtin_return_address(0)
#define ACCESSES(N)                                                                                \
  void __tsan_read##N(void* p) {                                                                   \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
  }                                                                                                \
  void __tsan_write##N(void* p) {                                                                  \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }                                                                                                \
  void __tsan_unaligned_read##N(void* p) {                                                         \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
  }                                                                                                \
  void __tsan_unaligned_write##N(void* p) {                                                        \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }                                                                                                \
  void __tsan_volatile_read##N(void* p) {                                                          \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
  }                                                                                                \
  void __tsan_volatile_write##N(void* p) {                                                         \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }                                                                                                \
  void __tsan_unaligned_volatile_read##N(void* p) {                                                \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
  }                                                                                                \
  void __tsan_unaligned_volatile_write##N(void* p) {                                               \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }                                                                                                \
  void __tsan_read_write##N(void* p) {                                                             \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }                                                                                                \
  void __tsan_unaligned_read_write##N(void* p) {                                                   \
    noteAccess(p, N, AccessKind::Read, PC);                                                        \
    noteAccess(p, N, AccessKind::Write, PC);                                                       \
  }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void* p, size_t n) {
  noteRange(p, n, AccessKind::Read, PC);
}
void __tsan_write_range(void* p, size_t n) {
  noteRange(p, n, AccessKind::Write, PC);
}
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  noteRange(from, n, AccessKind::Read, PC);
  noteRange(to, n, AccessKind::Write, PC);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  noteRange(from, n, AccessKind::Read, PC);
  noteRange(to, n, AccessKind::Write, PC);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  noteRange(to, n, AccessKind::Write, PC);
  return std::memset(to, value, n);
}
void __tsan_init() {
  cuemu::options().check = true;
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// Atomics of host text that shares a file with kernels (reference counts, flags): do what they say.
#define ATOMICS(BITS, T)                                                                           \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                         \
    noteAtomic(p, PC);                                                                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                                      \
    noteAtomic(p, PC);                                                                             \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) {                                      \
    noteAtomic(p, PC);                                                                             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) {                                     \
    noteAtomic(p, PC);                                                                             \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int) {                                     \
    noteAtomic(p, PC);                                                                             \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_and(volatile T* p, T v, int) {                                     \
    noteAtomic(p, PC);                                                                             \
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_or(volatile T* p, T v, int) {                                      \
    noteAtomic(p, PC);                                                                             \
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                              \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T v, int) {                                     \
    noteAtomic(p, PC);                                                                             \
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {          \
    noteAtomic(p, PC);                                                                             \
    return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* e, T v, int, int) {            \
    noteAtomic(p, PC);                                                                             \
    return __atomic_compare_exchange_n(p, e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }                                                                                                \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T e, T v, int, int) {                \
    noteAtomic(p, PC);                                                                             \
    __atomic_compare_exchange_n(p, &e, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    return e;                                                                                      \
  }
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned)
ATOMICS(64, unsigned long long)
void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
}
