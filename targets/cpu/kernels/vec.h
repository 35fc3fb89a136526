// SPDX-License-Identifier: 0BSD
//
// Vectors of floats for the kernels: GCC and Clang vector extensions of a chosen number of bytes, so that one source
// serves SSE2, AVX2, AVX-512, NEON and others. `Vec<64>::type` is 16 floats.
//
// Loads and stores take any address that a float may have. The forms with `lanes` touch only the first `lanes` floats:
// they are what makes the last columns of a matrix safe to read and write. Callers pass the full width as a constant
// where they can, and then the test disappears.
#ifndef ORTC_KERNELS_VEC_H
#define ORTC_KERNELS_VEC_H

#include <cstdint>
#include <cstring>

#define ORTC_INLINE inline __attribute__((always_inline))
#define ORTC_NOINLINE __attribute__((noinline))

// Everything that is emitted into a bundle lives in a namespace of that bundle: two bundles of one program may be
// compiled for different instruction sets, and must not share inline functions.
#ifndef ORTC_NAMESPACE
#define ORTC_NAMESPACE ortc_kernels
#endif

namespace ORTC_NAMESPACE {

template <int Bytes> struct Vec {
  typedef float type __attribute__((vector_size(Bytes)));
  typedef float unaligned __attribute__((vector_size(Bytes), aligned(4), may_alias));
  typedef int32_t mask __attribute__((vector_size(Bytes)));
  static constexpr int lanes = Bytes / 4;
};

template <class V> constexpr int lanesOf = int(sizeof(V) / sizeof(float));

template <class V> ORTC_INLINE V load(const float* p) {
  return *reinterpret_cast<const typename Vec<sizeof(V)>::unaligned*>(p);
}
template <class V> ORTC_INLINE void store(float* p, V v) {
  *reinterpret_cast<typename Vec<sizeof(V)>::unaligned*>(p) = v;
}

template <int N> struct Constant { static constexpr int value = N; };

// The first `lanes` floats at p; the rest is zero.
template <class V> ORTC_INLINE V load(const float* p, int lanes) {
  if (lanes == lanesOf<V>)
    return load<V>(p);
  V v = {};
  std::memcpy(&v, p, size_t(lanes) * sizeof(float));
  return v;
}
template <class V> ORTC_INLINE void store(float* p, V v, int lanes) {
  if (lanes == lanesOf<V>)
    store(p, v);
  else
    std::memcpy(p, &v, size_t(lanes) * sizeof(float));
}

// x in every lane. Subtracting zero keeps -0 and is folded to a broadcast.
template <class V> ORTC_INLINE V broadcast(float x) { return x - V{}; }

template <class V> ORTC_INLINE V max(V a, V b) { return a > b ? a : b; }
template <class V> ORTC_INLINE V min(V a, V b) { return a < b ? a : b; }

} // namespace ORTC_NAMESPACE

#endif
