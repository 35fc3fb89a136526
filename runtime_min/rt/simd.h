// SPDX-License-Identifier: 0BSD
// Vectors of numbers by the vector extensions of g++ and clang: one source for SSE2, AVX2, AVX-512,
// NEON, wasm and, at a fixed length, SVE and RISC-V V. `vec<float, 8>` is the compiler's own vector
// type, so that + - * / < == & ? : and v[i] are built in; a vector of one element is the scalar
// itself, and every function here takes that too: a kernel and its scalar tail are one template.
#ifndef ORTC_RT_SIMD_H
#define ORTC_RT_SIMD_H

#include "config.h"

// Vectors wider than the machine's (f32x16 to i64, say) would be passed differently by code for
// another machine; here all is inlined, and nothing crosses a library's boundary.
#pragma GCC diagnostic ignored "-Wpsabi" // clang reads it too

ORTC_RT_ISA_BEGIN

// Types.

template <class T, int N> struct vec_of {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T> struct vec_of<T, 1> {
  using type = T;
};
template <class T, int N> using vec = typename vec_of<T, N>::type;

namespace detail {
template <class T> struct no_ref {
  using type = T;
};
template <class T> struct no_ref<T&> {
  using type = T;
};
template <class T> T& an();
template <class V> struct traits {
  using elem = typename no_ref<decltype(an<V>()[0])>::type;
  static constexpr int lanes = int(sizeof(V) / sizeof(elem));
};
#define ORTC_SCALAR(T)                                                                             \
  template <> struct traits<T> {                                                                   \
    using elem = T;                                                                                \
    static constexpr int lanes = 1;                                                                \
  };
ORTC_SCALAR(bool)
ORTC_SCALAR(float)
ORTC_SCALAR(double)
ORTC_SCALAR(char)
ORTC_SCALAR(signed char)
ORTC_SCALAR(unsigned char)
ORTC_SCALAR(short)
ORTC_SCALAR(unsigned short)
ORTC_SCALAR(int)
ORTC_SCALAR(unsigned)
ORTC_SCALAR(long)
ORTC_SCALAR(unsigned long)
ORTC_SCALAR(long long)
ORTC_SCALAR(unsigned long long)
#undef ORTC_SCALAR

template <class A, class B> constexpr bool same_types = false;
template <class A> constexpr bool same_types<A, A> = true;
template <bool> struct when {};
template <> struct when<true> {
  using type = int;
};
template <class V> using if_vector = typename when<(traits<V>::lanes > 1)>::type;

template <int Bytes> struct int_by_size;
template <> struct int_by_size<1> {
  using s = int8_t;
  using u = uint8_t;
};
template <> struct int_by_size<2> {
  using s = int16_t;
  using u = uint16_t;
};
template <> struct int_by_size<4> {
  using s = int32_t;
  using u = uint32_t;
};
template <> struct int_by_size<8> {
  using s = int64_t;
  using u = uint64_t;
};

template <int... I> struct ints {};
template <class A, class B> struct join;
template <int... A, int... B> struct join<ints<A...>, ints<B...>> {
  using type = ints<A..., (int(sizeof...(A)) + B)...>;
};
template <int N> struct count_to {
  using type =
      typename join<typename count_to<N / 2>::type, typename count_to<N - N / 2>::type>::type;
};
template <> struct count_to<0> {
  using type = ints<>;
};
template <> struct count_to<1> {
  using type = ints<0>;
};
} // namespace detail

template <class V> using elem_of = typename detail::traits<V>::elem;
template <class V> constexpr int lanes_of = detail::traits<V>::lanes;
// the same number of lanes, of another element type
template <class U, class V> using like = vec<U, lanes_of<V>>;
// signed and unsigned integers with as many bits as the elements of V
template <class V> using int_of = like<typename detail::int_by_size<sizeof(elem_of<V>)>::s, V>;
template <class V> using uint_of = like<typename detail::int_by_size<sizeof(elem_of<V>)>::u, V>;

// Lanes of the native vector of T.
template <class T>
constexpr int native_lanes = ORTC_VEC_BYTES > int(sizeof(T)) ? ORTC_VEC_BYTES / int(sizeof(T)) : 1;
template <class T> using native = vec<T, native_lanes<T>>;

using f32x4 = vec<float, 4>;
using f32x8 = vec<float, 8>;
using f32x16 = vec<float, 16>;
using i32x4 = vec<int32_t, 4>;
using i32x8 = vec<int32_t, 8>;
using i32x16 = vec<int32_t, 16>;
using f32v = native<float>; // as wide as the machine
using i32v = like<int32_t, f32v>;

// Bits and lanes.

template <class To, class From> ORTC_INLINE To bits_as(From v) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  To r;
  __builtin_memcpy(&r, &v, sizeof r);
  return r;
}

namespace detail {
template <class V, int... I> ORTC_INLINE V splat_to(elem_of<V> x, ints<I...>) {
  return V{((void)I, x)...};
}
template <class V, int... I> ORTC_INLINE V count_up(ints<I...>) {
  return V{elem_of<V>(I)...};
}
template <class V, int From, int... I>
ORTC_INLINE like<elem_of<V>, vec<char, sizeof...(I)>> part(V v, ints<I...>) {
  return __builtin_shufflevector(v, v, (From + I)...);
}
} // namespace detail

// x in every lane
template <class V> ORTC_INLINE V splat(elem_of<V> x) {
  if constexpr (lanes_of<V> == 1)
    return x;
  else
    return detail::splat_to<V>(x, typename detail::count_to<lanes_of<V>>::type());
}

// 0, 1, 2, ...
template <class V> ORTC_INLINE V iota() {
  if constexpr (lanes_of<V> == 1)
    return V(0);
  else
    return detail::count_up<V>(typename detail::count_to<lanes_of<V>>::type());
}

template <class V> ORTC_INLINE elem_of<V> lane(const V& v, int i) {
  if constexpr (lanes_of<V> == 1)
    return v;
  else
    return v[i];
}

template <class V> ORTC_INLINE void set_lane(V& v, int i, elem_of<V> x) {
  if constexpr (lanes_of<V> == 1)
    v = x;
  else
    v[i] = x;
}

// first and second half of the lanes
template <class V> ORTC_INLINE vec<elem_of<V>, lanes_of<V> / 2> lower(V v) {
  constexpr int H = lanes_of<V> / 2;
  if constexpr (H == 1)
    return v[0];
  else
    return detail::part<V, 0>(v, typename detail::count_to<H>::type());
}
template <class V> ORTC_INLINE vec<elem_of<V>, lanes_of<V> / 2> upper(V v) {
  constexpr int H = lanes_of<V> / 2;
  if constexpr (H == 1)
    return v[1];
  else
    return detail::part<V, H>(v, typename detail::count_to<H>::type());
}

// m ? a : b, lane by lane; m is what a comparison of two V gives
template <class M, class V> ORTC_INLINE V select(M m, V a, V b) {
  return m ? a : b;
}

// Whether a comparison holds in some lane.
template <class M> ORTC_INLINE bool any(M m) {
  if constexpr (lanes_of<M> == 1) {
    return bool(m);
  } else if constexpr (sizeof(M) <= 8) {
    for (int i = 0; i < lanes_of<M>; ++i)
      if (m[i]) return true;
    return false;
  } else {
    const auto words = bits_as<vec<int64_t, sizeof(M) / 8>>(m);
    if constexpr (sizeof(M) == 16)
      return (words[0] | words[1]) != 0;
    else
      return any(lower(words) | upper(words));
  }
}
template <class M> ORTC_INLINE bool all(M m) {
  return !any(m == 0);
}

// Memory. Unaligned addresses are fine everywhere.

template <class V> ORTC_INLINE V load(const elem_of<V>* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V> ORTC_INLINE void store(elem_of<V>* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// The first n lanes only, 0 <= n <= lanes; the others are 0 and no byte behind them is touched.
template <class V> ORTC_INLINE V load_n(const elem_of<V>* p, int64_t n) {
#if defined(__AVX512F__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(V) == 64 && sizeof(elem_of<V>) == 4) {
    const auto mask = uint16_t((1u << n) - 1u);
    using raw = vec<float, 16>;
    return bits_as<V>(
        raw(__builtin_ia32_loadups512_mask(reinterpret_cast<const float*>(p), raw{}, mask)));
  }
#endif
  V v = V();
  for (int i = 0; i < lanes_of<V>; ++i)
    if (i < n) set_lane(v, i, p[i]);
  return v;
}
template <class V> ORTC_INLINE void store_n(elem_of<V>* p, V v, int64_t n) {
#if defined(__AVX512F__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(V) == 64 && sizeof(elem_of<V>) == 4) {
    const auto mask = uint16_t((1u << n) - 1u);
    __builtin_ia32_storeups512_mask(reinterpret_cast<float*>(p), bits_as<vec<float, 16>>(v), mask);
    return;
  }
#endif
  for (int i = 0; i < lanes_of<V>; ++i)
    if (i < n) p[i] = lane(v, i);
}

// base[index[i]] in lane i
template <class T, class I> ORTC_INLINE like<T, I> gather(const T* base, I index) {
#if defined(__AVX512F__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(T) == 4 && sizeof(I) == 64 && sizeof(elem_of<I>) == 4)
    return bits_as<like<T, I>>(vec<float, 16>(
        __builtin_ia32_gathersiv16sf(vec<float, 16>{}, static_cast<const void*>(base),
                                     bits_as<vec<int, 16>>(index), uint16_t(0xffff), 4)));
#endif
  like<T, I> v = like<T, I>();
  for (int i = 0; i < lanes_of<I>; ++i)
    set_lane(v, i, base[lane(index, i)]);
  return v;
}

// Every stride-th element from p on.
template <class V> ORTC_INLINE V load_strided(const elem_of<V>* p, int64_t stride) {
  V v = V();
  for (int i = 0; i < lanes_of<V>; ++i)
    set_lane(v, i, p[i * stride]);
  return v;
}
template <class V> ORTC_INLINE void store_strided(elem_of<V>* p, int64_t stride, V v) {
  for (int i = 0; i < lanes_of<V>; ++i)
    p[i * stride] = lane(v, i);
}

// A hint that p is read soon.
ORTC_INLINE void prefetch(const void* p) {
  __builtin_prefetch(p, 0, 2);
}

// Past the caches: pays for results larger than the last level (measured 1.3-1.8x). p is aligned to
// the vector; call stores_done() before another thread reads.
template <class V> ORTC_INLINE void store_past_cache(elem_of<V>* p, V v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<V*>(p));
#elif defined(__AVX512F__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (sizeof(V) == 64)
    __builtin_ia32_movntps512(reinterpret_cast<float*>(p), bits_as<vec<float, 16>>(v));
  else
    store(p, v);
#else
  store(p, v);
#endif
}
ORTC_INLINE void stores_done() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

// Arithmetic.

// a * b + c, in one rounding where the machine has it (see config.h), else in two.
template <class V> ORTC_INLINE V fma(V a, V b, V c) {
  using T = elem_of<V>;
#if defined(ORTC_FMA_F32) && defined(ORTC_FMA_F64)
  constexpr bool fused = true;
#elif defined(ORTC_FMA_F32)
  constexpr bool fused = sizeof(T) == 4;
#else
  constexpr bool fused = false;
#endif
  if constexpr (!fused) {
    return a * b + c;
  } else if constexpr (lanes_of<V> == 1) {
    if constexpr (sizeof(T) == 4)
      return __builtin_fmaf(a, b, c);
    else
      return __builtin_fma(a, b, c);
  } else {
#if defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__) && !defined(ORTC_RT_NO_BUILTINS)
    if constexpr (sizeof(T) == 4 && sizeof(V) == 16)
      return __builtin_ia32_vfmaddps(a, b, c);
    else if constexpr (sizeof(T) == 8 && sizeof(V) == 16)
      return __builtin_ia32_vfmaddpd(a, b, c);
    else if constexpr (sizeof(T) == 4 && sizeof(V) == 32)
      return __builtin_ia32_vfmaddps256(a, b, c);
    else if constexpr (sizeof(T) == 8 && sizeof(V) == 32)
      return __builtin_ia32_vfmaddpd256(a, b, c);
#if defined(__AVX512F__)
    else if constexpr (sizeof(T) == 4 && sizeof(V) == 64)
      return __builtin_ia32_vfmaddps512_mask(a, b, c, uint16_t(-1), 4);
    else if constexpr (sizeof(T) == 8 && sizeof(V) == 64)
      return __builtin_ia32_vfmaddpd512_mask(a, b, c, uint8_t(-1), 4);
#endif
    else {
      V r = V();
      for (int i = 0; i < lanes_of<V>; ++i)
        r[i] = fma<T>(a[i], b[i], c[i]);
      return r;
    }
#else
    V r = V();
    for (int i = 0; i < lanes_of<V>; ++i)
      r[i] = fma<T>(a[i], b[i], c[i]);
    return r;
#endif
  }
}
// Mixed forms: constants and broadcast scalars need no splat.
template <class V, detail::if_vector<V> = 0> ORTC_INLINE V fma(V a, V b, elem_of<V> c) {
  return fma(a, b, splat<V>(c));
}
template <class V, detail::if_vector<V> = 0> ORTC_INLINE V fma(V a, elem_of<V> b, V c) {
  return fma(a, splat<V>(b), c);
}
template <class V, detail::if_vector<V> = 0> ORTC_INLINE V fma(V a, elem_of<V> b, elem_of<V> c) {
  return fma(a, splat<V>(b), splat<V>(c));
}

// To another element type, lane by lane, as a C cast does: only values that fit. ops.h has the
// saturating one.
template <class U, class V> ORTC_INLINE like<U, V> convert(V v) {
  if constexpr (lanes_of<V> == 1)
    return static_cast<U>(v);
  else
    return __builtin_convertvector(v, like<U, V>);
}

namespace detail {
// a > b ? a : b and a < b ? a : b, so b if either is NaN: one instruction of x86, which clang finds
// by itself and g++ only for scalars.
template <class V> ORTC_INLINE V greater(V a, V b) {
#if defined(__SSE2__) && !defined(__clang__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (same_types<V, vec<float, 4>>) return __builtin_ia32_maxps(a, b);
#if defined(__AVX__)
  if constexpr (same_types<V, vec<float, 8>>) return __builtin_ia32_maxps256(a, b);
#endif
#if defined(__AVX512F__)
  if constexpr (same_types<V, vec<float, 16>>)
    return __builtin_ia32_maxps512_mask(a, b, a, uint16_t(-1), 4);
#endif
#endif
  return a > b ? a : b;
}
template <class V> ORTC_INLINE V less(V a, V b) {
#if defined(__SSE2__) && !defined(__clang__) && !defined(ORTC_RT_NO_BUILTINS)
  if constexpr (same_types<V, vec<float, 4>>) return __builtin_ia32_minps(a, b);
#if defined(__AVX__)
  if constexpr (same_types<V, vec<float, 8>>) return __builtin_ia32_minps256(a, b);
#endif
#if defined(__AVX512F__)
  if constexpr (same_types<V, vec<float, 16>>)
    return __builtin_ia32_minps512_mask(a, b, a, uint16_t(-1), 4);
#endif
#endif
  return a < b ? a : b;
}
} // namespace detail

// Folds of all lanes, by halves: the order depends on nothing but the number of lanes.
template <class V> ORTC_INLINE elem_of<V> sum_lanes(V v) {
  if constexpr (lanes_of<V> == 1)
    return v;
  else
    return sum_lanes(lower(v) + upper(v));
}
template <class V> ORTC_INLINE elem_of<V> product_lanes(V v) {
  if constexpr (lanes_of<V> == 1)
    return v;
  else
    return product_lanes(lower(v) * upper(v));
}

ORTC_RT_ISA_END
#endif
