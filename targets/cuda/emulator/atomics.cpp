// SPDX-License-Identifier: 0BSD
//
// Atomics of kernels as atomics of the host, since blocks may run on several host threads.
#include <cstring>

#include "checker.h"
#include "device_api.h"

namespace {

template <class Bits, class T, class F> T update(T* p, const void* pc, F next) {
  static_assert(sizeof(Bits) == sizeof(T), "the integer that carries the value");
  cuemu::noteAccess(p, sizeof(T), cuemu::AccessKind::Atomic, pc);
  Bits* bits = reinterpret_cast<Bits*>(p);
  Bits before = __atomic_load_n(bits, __ATOMIC_RELAXED), after;
  T old;
  do {
    std::memcpy(&old, &before, sizeof old);
    const T value = next(old);
    std::memcpy(&after, &value, sizeof after);
  } while (
      !__atomic_compare_exchange_n(bits, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

} // namespace

#define PC __builtin_return_address(0)
#define ADD(T, BITS)                                                                               \
  T atomicAdd(T* p, T v) {                                                                         \
    return update<BITS>(p, PC, [=](T old) { return static_cast<T>(old + v); });                    \
  }
#define MIN_MAX(T, BITS)                                                                           \
  T atomicMin(T* p, T v) {                                                                         \
    return update<BITS>(p, PC, [=](T old) { return v < old ? v : old; });                          \
  }                                                                                                \
  T atomicMax(T* p, T v) {                                                                         \
    return update<BITS>(p, PC, [=](T old) { return old < v ? v : old; });                          \
  }
#define EXCHANGE(T, BITS)                                                                          \
  T atomicExch(T* p, T v) {                                                                        \
    return update<BITS>(p, PC, [=](T) { return v; });                                              \
  }                                                                                                \
  T atomicCAS(T* p, T expected, T v) {                                                             \
    return update<BITS>(p, PC, [=](T old) { return old == expected ? v : old; });                  \
  }

int atomicAdd(int* p, int v) {
  return update<uint32_t>(p, PC, [=](int old) {
    return static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(v));
  });
}
ADD(unsigned, uint32_t)
ADD(unsigned long long, uint64_t)
ADD(float, uint32_t)
ADD(double, uint64_t)
MIN_MAX(int, uint32_t)
MIN_MAX(unsigned, uint32_t)
MIN_MAX(long long, uint64_t)
EXCHANGE(int, uint32_t)
EXCHANGE(unsigned, uint32_t)
unsigned atomicOr(unsigned* p, unsigned v) {
  return update<uint32_t>(p, PC, [=](unsigned old) { return old | v; });
}
unsigned atomicAnd(unsigned* p, unsigned v) {
  return update<uint32_t>(p, PC, [=](unsigned old) { return old & v; });
}
unsigned long long atomicCAS(unsigned long long* p, unsigned long long expected,
                             unsigned long long v) {
  return update<uint64_t>(p, PC, [=](unsigned long long old) { return old == expected ? v : old; });
}
