// SPDX-License-Identifier: 0BSD
// Vectors: each operation against the obvious loop, for the native width and for widths that the
// machine may not have.
#include "rt/simd.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

namespace rt = ortc_rt;

namespace {

template <class V> void checkMemory() {
  constexpr int n = rt::lanes_of<V>;
  using T = rt::elem_of<V>;
  std::vector<T> from(n + 2), to(n + 2, T(77));
  for (int i = 0; i < n + 2; ++i)
    from[size_t(i)] = T(i + 1);
  V v = rt::load<V>(from.data() + 1); // off by one element: unaligned
  for (int i = 0; i < n; ++i)
    CHECK(rt::lane(v, i) == T(i + 2));
  rt::store(to.data() + 1, v);
  CHECK(to[0] == T(77));
  CHECK(to[size_t(n) + 1] == T(77));
  CHECK(std::memcmp(to.data() + 1, from.data() + 1, n * sizeof(T)) == 0);
  for (int k = 0; k <= n; ++k) {
    // The buffer ends behind k elements, so that AddressSanitizer sees a byte too many.
    std::vector<T> part(from.begin(), from.begin() + k), out(size_t(k), T(0));
    v = rt::load_n<V>(part.data(), k);
    for (int i = 0; i < n; ++i)
      CHECK(rt::lane(v, i) == (i < k ? T(i + 1) : T(0)));
    rt::store_n(out.data(), v, k);
    CHECK(out == part);
  }
}

template <class V> void checkLanes() {
  constexpr int n = rt::lanes_of<V>;
  using T = rt::elem_of<V>;
  const V i = rt::iota<V>(), five = rt::splat<V>(T(5));
  T sum = 0, product = 1;
  for (int k = 0; k < n; ++k) {
    CHECK(rt::lane(i, k) == T(k));
    CHECK(rt::lane(five, k) == T(5));
    sum = T(sum + T(k));
    product = T(product * T(k % 2 + 1));
  }
  CHECK(rt::sum_lanes(i) == sum);
  V p = five;
  for (int k = 0; k < n; ++k)
    rt::set_lane(p, k, T(k % 2 + 1));
  CHECK(rt::product_lanes(p) == product);
  CHECK(rt::any(i == T(n - 1)));
  CHECK_FALSE(rt::any(i == T(n)));
  CHECK(rt::all(i < T(n)));
  if (n > 1) CHECK_FALSE(rt::all(i < T(n - 1)));
  const V s = rt::select(i < T(2), five, i);
  for (int k = 0; k < n; ++k)
    CHECK(rt::lane(s, k) == (k < 2 ? T(5) : T(k)));
}

template <class V> void checkFma() {
  constexpr int n = rt::lanes_of<V>;
  using T = rt::elem_of<V>;
  const T eps = std::ldexp(T(1), sizeof(T) == 4 ? -13 : -30);
  const V a = T(1) + eps * rt::iota<V>();
  const V r = rt::fma(a, a, rt::splat<V>(T(-1)));
  for (int i = 0; i < n; ++i) {
    const T x = rt::lane(a, i);
    const T scalar = rt::fma(x, x, T(-1));
    CHECK(rt::lane(r, i) == scalar);
#if defined(ORTC_FMA_F32) && defined(ORTC_FMA_F64)
    CHECK(scalar == std::fma(x, x, T(-1)));
#endif
  }
  const V mixed = rt::fma(a, T(2), T(3));
  CHECK(rt::lane(mixed, n - 1) == rt::fma(rt::lane(a, n - 1), T(2), T(3)));
}

} // namespace

TEST_CASE("vectors load and store any number of elements at any address") {
  checkMemory<rt::f32v>();
  checkMemory<rt::native<double>>();
  checkMemory<rt::native<int8_t>>();
  checkMemory<rt::i32v>();
  checkMemory<rt::vec<float, 4>>();
  checkMemory<rt::vec<float, 16>>();
  checkMemory<rt::vec<int64_t, 8>>();
  checkMemory<float>();
}

TEST_CASE("lanes can be counted, set, selected and folded") {
  checkLanes<rt::f32v>();
  checkLanes<rt::native<double>>();
  checkLanes<rt::native<int16_t>>();
  checkLanes<rt::vec<uint8_t, 16>>();
  checkLanes<rt::vec<int32_t, 16>>();
  checkLanes<rt::vec<float, 2>>();
  checkLanes<float>();
}

TEST_CASE("fma has the same bits for vectors and scalars") {
  checkFma<rt::f32v>();
  checkFma<rt::native<double>>();
  checkFma<rt::vec<float, 4>>();
  checkFma<rt::vec<float, 16>>();
  checkFma<float>();
}

TEST_CASE("elements are gathered from indices and strides") {
  constexpr int n = rt::lanes_of<rt::f32v>;
  std::vector<float> table(4 * n + 1);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = float(i) * 0.5f;
  rt::i32v index = rt::iota<rt::i32v>();
  for (int i = 0; i < n; ++i)
    rt::set_lane(index, i, (7 * i + 3) % (4 * n));
  const rt::f32v g = rt::gather(table.data(), index);
  const rt::f32v s = rt::load_strided<rt::f32v>(table.data() + 1, 3);
  std::vector<float> out(size_t(3 * n), -1.0f);
  rt::store_strided(out.data(), 3, s);
  for (int i = 0; i < n; ++i) {
    CHECK(rt::lane(g, i) == table[size_t((7 * i + 3) % (4 * n))]);
    CHECK(rt::lane(s, i) == table[size_t(1 + 3 * i)]);
    CHECK(out[size_t(3 * i)] == table[size_t(1 + 3 * i)]);
    CHECK(out[size_t(3 * i + 1)] == -1.0f);
  }
}

TEST_CASE("halves of a vector are its lanes in order") {
  const auto v = rt::iota<rt::vec<float, 8>>();
  const auto a = rt::lower(v), b = rt::upper(v);
  for (int i = 0; i < 4; ++i) {
    CHECK(a[i] == float(i));
    CHECK(b[i] == float(4 + i));
  }
}
