// SPDX-License-Identifier: 0BSD
// One answer for everything that C++ or ONNX leaves open, the same on every target. Each function
// takes a scalar or a vector (simd.h).
//
//   floats    maximum minimum        NaN if either is NaN; of two zeros, the first argument
//             max_number min_number  the other one if one is NaN
//             clamp(x, lo, hi)       minimum(maximum(x, lo), hi): NaN stays, hi wins when lo > hi
//             abs negate copysign sign        bits only: right for zeros and NaN; sign(NaN) is NaN,
//             sign(-0) is -0 round_even floor ceil trunc round_away  signed zeros kept; infinities
//             and NaN pass fmod(a, b)             exact, sign of a; NaN when b is 0 or a is
//             infinite mod(a, b)              floats: sign of b is_nan is_inf
//   integers  add sub mul neg abs    wrap around
//             div(a, b)              towards 0; x / 0 is 0; the smallest number / -1 is itself
//             floor_div ceil_div     as div, rounded down or up
//             rem(a, b)              sign of a; 0 when b is 0 (C's %)
//             mod(a, b)              sign of b; 0 when b is 0 (ONNX Mod, fmod=0)
//             shl shr_logical shr_arithmetic  by the width or more (or a negative count): all bits
//             shifted out pow(a, n)              wraps; a negative exponent as 1 / a^-n: 0 unless a
//             is 1 or -1 count_ones leading_zeros trailing_zeros  of 0: the width
//   casts     cast<To>(x)            float to integer: towards 0, saturates, NaN is 0; integer to
//   integer wraps;
//                                    to bool: x != 0
//             saturate<To>(x)        any number to an integer: saturates (quantisation)
#ifndef ORTC_RT_OPS_H
#define ORTC_RT_OPS_H

#include "simd.h"

ORTC_RT_ISA_BEGIN

namespace detail {
template <class T> constexpr bool is_float = T(1) / T(2) != T(0);
template <> inline constexpr bool is_float<bool> = false;
template <class V> using if_integer = typename when<!is_float<elem_of<V>>>::type;
template <class V> using if_float = typename when<is_float<elem_of<V>>>::type;
template <class T> constexpr bool is_signed = T(-1) < T(0);
template <> inline constexpr bool is_signed<bool> = false;
template <class T> struct float_bits; // of f32 and f64
template <> struct float_bits<float> {
  static constexpr uint32_t sign = 0x80000000u, infinity = 0x7f800000u, mantissa = 0x007fffffu;
  static constexpr int width = 32, mantissa_bits = 23;
  static constexpr float whole = 8388608.0f; // 2^23: from here on every number is whole
};
template <> struct float_bits<double> {
  static constexpr uint64_t sign = 0x8000000000000000u, infinity = 0x7ff0000000000000u,
                            mantissa = 0x000fffffffffffffu;
  static constexpr int width = 64, mantissa_bits = 52;
  static constexpr double whole = 4503599627370496.0;
};
template <class V> using fbits = float_bits<elem_of<V>>;
template <class T>
constexpr T max_of = T(is_signed<T> ? (uint64_t(1) << (8 * sizeof(T) - 1)) - 1 : uint64_t(-1));
template <class T> constexpr T min_of = T(is_signed<T> ? T(-max_of<T> - 1) : T(0));
template <class T, class V, class F> ORTC_INLINE like<T, V> per_lane(V a, F f) {
  if constexpr (lanes_of<V> == 1) {
    return f(a);
  } else {
    like<T, V> r = like<T, V>();
    for (int i = 0; i < lanes_of<V>; ++i)
      r[i] = f(a[i]);
    return r;
  }
}
template <class V, class F> ORTC_INLINE V per_lane(V a, V b, F f) {
  if constexpr (lanes_of<V> == 1) {
    return f(a, b);
  } else {
    V r = V();
    for (int i = 0; i < lanes_of<V>; ++i)
      r[i] = f(a[i], b[i]);
    return r;
  }
}
} // namespace detail

// Floats: comparisons and signs.

// greater(b, a) is one instruction of x86; it lacks only the NaN of b, and when b is a
// constant that check folds away.
template <class V> ORTC_INLINE V maximum(V a, V b) {
  V m = detail::greater(b, a);
  if constexpr (detail::is_float<elem_of<V>>) m = b != b ? b : m;
  return m;
}
template <class V> ORTC_INLINE V minimum(V a, V b) {
  V m = detail::less(b, a);
  if constexpr (detail::is_float<elem_of<V>>) m = b != b ? b : m;
  return m;
}
template <class V, detail::if_vector<V> = 0> ORTC_INLINE V maximum(V a, elem_of<V> b) {
  return maximum(a, splat<V>(b));
}
template <class V, detail::if_vector<V> = 0> ORTC_INLINE V minimum(V a, elem_of<V> b) {
  return minimum(a, splat<V>(b));
}

template <class V> ORTC_INLINE V max_number(V a, V b) {
  V m = detail::greater(b, a);
  return a != a ? b : m;
}
template <class V> ORTC_INLINE V min_number(V a, V b) {
  V m = detail::less(b, a);
  return a != a ? b : m;
}

template <class V> ORTC_INLINE V clamp(V x, elem_of<V> lo, elem_of<V> hi) {
  return minimum(maximum(x, lo), hi);
}

template <class V> ORTC_INLINE V copysign(V magnitude, V sign) {
  using U = uint_of<V>;
  constexpr auto s = detail::fbits<V>::sign;
  return bits_as<V>((bits_as<U>(magnitude) & ~s) | (bits_as<U>(sign) & s));
}

template <class V> ORTC_INLINE V abs(V x) {
  using T = elem_of<V>;
  if constexpr (detail::is_float<T>) {
    return bits_as<V>(bits_as<uint_of<V>>(x) & ~detail::fbits<V>::sign);
  } else if constexpr (detail::is_signed<T>) {
    const V n = V(V() - x); // as an unsigned difference in wrap-around arithmetic
    return x < V() ? n : x;
  } else {
    return x;
  }
}

template <class V> ORTC_INLINE auto is_nan(V x) {
  return x != x;
}
template <class V> ORTC_INLINE auto is_inf(V x) {
  return (bits_as<uint_of<V>>(x) & ~detail::fbits<V>::sign) == detail::fbits<V>::infinity;
}

// Floats: rounding.

namespace detail {
// x86 rounds in one instruction from SSE4.1 on: mode 8 even, 9 down, 10 up, 11 towards zero (no
// exceptions raised)
template <int Mode, class V> ORTC_INLINE bool x86_round(V x, V& r) {
#if defined(__SSE4_1__) && !defined(ORTC_RT_NO_BUILTINS)
  using T = elem_of<V>;
  if constexpr (sizeof(V) == 16 && sizeof(T) == 4)
    return r = __builtin_ia32_roundps(x, Mode), true;
  else if constexpr (sizeof(V) == 16 && sizeof(T) == 8)
    return r = __builtin_ia32_roundpd(x, Mode), true;
  else if constexpr (lanes_of<V> == 1 && sizeof(T) == 4)
    return r = __builtin_ia32_roundss(f32x4{}, f32x4{x}, Mode)[0], true;
  else if constexpr (lanes_of<V> == 1)
    return r = __builtin_ia32_roundsd(vec<double, 2>{}, vec<double, 2>{x}, Mode)[0], true;
#if defined(__AVX__)
  else if constexpr (sizeof(V) == 32 && sizeof(T) == 4)
    return r = __builtin_ia32_roundps256(x, Mode), true;
  else if constexpr (sizeof(V) == 32 && sizeof(T) == 8)
    return r = __builtin_ia32_roundpd256(x, Mode), true;
#endif
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
    return r = __builtin_ia32_rndscaleps_mask(x, Mode, x, uint16_t(-1), 4), true;
  else if constexpr (sizeof(V) == 64 && sizeof(T) == 8)
    return r = __builtin_ia32_rndscalepd_mask(x, Mode, x, uint8_t(-1), 4), true;
#endif
#endif
  (void)x, (void)r;
  return false;
}
} // namespace detail

template <class V> ORTC_INLINE V round_even(V x) {
  V r = x;
  if (detail::x86_round<8>(x, r)) return r;
  // Adding 2^23 leaves no room for a fraction.
  const auto whole = detail::fbits<V>::whole;
  const V a = abs(x);
  const V rounded = copysign(V(V(a + whole) - whole), x);
  return a < whole ? rounded : x;
}
template <class V> ORTC_INLINE V floor(V x) {
  V r = x;
  if (detail::x86_round<9>(x, r)) return r;
  r = round_even(x);
  return r > x ? V(r - elem_of<V>(1)) : r;
}
template <class V> ORTC_INLINE V ceil(V x) {
  V r = x;
  if (detail::x86_round<10>(x, r)) return r;
  r = round_even(x);
  return copysign(r < x ? V(r + elem_of<V>(1)) : r, x); // ceil(-0.5) is -0
}
template <class V> ORTC_INLINE V trunc(V x) {
  V r = x;
  if (detail::x86_round<11>(x, r)) return r;
  return copysign(floor(abs(x)), x);
}
// halves away from zero (C's round)
template <class V> ORTC_INLINE V round_away(V x) {
  const V t = trunc(x);
  const V up = abs(V(x - t)) >= elem_of<V>(0.5) ? splat<V>(1) : V();
  return V(t + copysign(up, x));
}

// -1, 0 or 1; NaN and zeros stay what they are
template <class V> ORTC_INLINE V sign(V x) {
  using T = elem_of<V>;
  const V zero = V(), one = splat<V>(T(1));
  if constexpr (detail::is_float<T>) {
    return x < zero || is_nan(x) || x > zero ? (x != x ? x : copysign(one, x)) : x;
  } else if constexpr (detail::is_signed<T>) {
    const V minus = splat<V>(T(-1));
    const V negative = x < zero ? minus : zero;
    return x > zero ? one : negative;
  } else {
    return x > zero ? one : zero;
  }
}

// Integers. Sums and products wrap: they are computed unsigned.

namespace detail {
// at least as wide as int, so that C's promotion to signed int cannot overflow
template <class V>
using wide_uint =
    like<typename int_by_size<(sizeof(elem_of<V>) < 4 ? 4 : sizeof(elem_of<V>))>::u, V>;
template <class V> ORTC_INLINE auto to_unsigned(V x) {
  if constexpr (lanes_of<V> == 1)
    return wide_uint<V>(x);
  else
    return bits_as<uint_of<V>>(x); // vectors do not promote
}
template <class V, class U> ORTC_INLINE V from_unsigned(U x) {
  if constexpr (lanes_of<V> == 1)
    return V(x);
  else
    return bits_as<V>(x);
}
} // namespace detail

template <class V> ORTC_INLINE V add(V a, V b) {
  if constexpr (detail::is_float<elem_of<V>>)
    return a + b;
  else
    return detail::from_unsigned<V>(detail::to_unsigned(a) + detail::to_unsigned(b));
}
template <class V> ORTC_INLINE V sub(V a, V b) {
  if constexpr (detail::is_float<elem_of<V>>)
    return a - b;
  else
    return detail::from_unsigned<V>(detail::to_unsigned(a) - detail::to_unsigned(b));
}
template <class V> ORTC_INLINE V mul(V a, V b) {
  if constexpr (detail::is_float<elem_of<V>>)
    return a * b;
  else
    return detail::from_unsigned<V>(detail::to_unsigned(a) * detail::to_unsigned(b));
}
template <class V> ORTC_INLINE V neg(V a) {
  if constexpr (detail::is_float<elem_of<V>>)
    return -a;
  else
    return detail::from_unsigned<V>(-detail::to_unsigned(a));
}

namespace detail {
template <class T> ORTC_INLINE T div_scalar(T a, T b) {
  if constexpr (is_float<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (is_signed<T>)
      if (b == T(-1)) return neg(a);
    return T(a / b);
  }
}
template <class T> ORTC_INLINE T rem_scalar(T a, T b) {
  if (b == 0) return 0;
  if constexpr (is_signed<T>)
    if (b == T(-1)) return 0;
  return T(a % b);
}
template <class T> ORTC_INLINE T mod_scalar(T a, T b) {
  T r = rem_scalar(a, b);
  if constexpr (is_signed<T>)
    if (r != 0 && (r < 0) != (b < 0)) r = T(r + b);
  return r;
}
// Long division on the bits: |a| = m 2^e, taken modulo |b| one bit of the quotient at a time.
// Exact.
template <class T> inline T fmod_scalar(T a, T b) {
  using F = float_bits<T>;
  using U = uint_of<T>;
  U x = bits_as<U>(a) & ~F::sign, y = bits_as<U>(b) & ~F::sign;
  const U s = bits_as<U>(a) & F::sign;
  if (x >= F::infinity || y == 0 || y > F::infinity) return (a * b) / (a * b);
  if (x < y) return a;
  // Mantissas with their top bit set, denormals too; their exponents go below 1 then.
  constexpr U hidden = U(1) << F::mantissa_bits;
  const auto unpack = [](U& m) {
    int e = int(m >> F::mantissa_bits);
    m = e ? (m & F::mantissa) | hidden : m;
    for (e += e == 0; m < hidden; --e)
      m <<= 1;
    return e;
  };
  int ex = unpack(x);
  const int ey = unpack(y);
  for (;; --ex) {
    if (x >= y) x -= y;
    if (x == 0) return bits_as<T>(s);
    if (ex == ey) break;
    x <<= 1;
  }
  for (; x < hidden; --ex)
    x <<= 1;
  const U r = ex > 0 ? (x & F::mantissa) | (U(ex) << F::mantissa_bits) : x >> (1 - ex);
  return bits_as<T>(U(r | s));
}
} // namespace detail

template <class V> ORTC_INLINE V div(V a, V b) {
  using T = elem_of<V>;
  if constexpr (detail::is_float<T>)
    return a / b;
  else
    return detail::per_lane(a, b, [](T x, T y) { return detail::div_scalar(x, y); });
}
template <class V> ORTC_INLINE V floor_div(V a, V b) {
  using T = elem_of<V>;
  return detail::per_lane(a, b, [](T x, T y) {
    if constexpr (detail::is_signed<T>) {
      const T r = detail::rem_scalar(x, y);
      return T(detail::div_scalar(x, y) - T(r != 0 && (r < 0) != (y < 0)));
    } else {
      return detail::div_scalar(x, y);
    }
  });
}
template <class V> ORTC_INLINE V ceil_div(V a, V b) {
  using T = elem_of<V>;
  return detail::per_lane(a, b, [](T x, T y) {
    const T r = detail::rem_scalar(x, y);
    bool up = r != 0;
    if constexpr (detail::is_signed<T>) up = up && (r < 0) == (y < 0);
    return T(detail::div_scalar(x, y) + T(up));
  });
}
template <class V> ORTC_INLINE V rem(V a, V b) {
  using T = elem_of<V>;
  return detail::per_lane(a, b, [](T x, T y) { return detail::rem_scalar(x, y); });
}
template <class V> ORTC_INLINE V fmod(V a, V b) {
  using T = elem_of<V>;
  return detail::per_lane(a, b, [](T x, T y) { return detail::fmod_scalar(x, y); });
}
template <class V> ORTC_INLINE V mod(V a, V b) {
  using T = elem_of<V>;
  if constexpr (detail::is_float<T>)
    return detail::per_lane(a, b, [](T x, T y) {
      const T r = detail::fmod_scalar(x, y);
      return r != 0 && (r < 0) != (y < 0) ? T(r + y) : r;
    });
  else
    return detail::per_lane(a, b, [](T x, T y) { return detail::mod_scalar(x, y); });
}

template <class V> ORTC_INLINE V shl(V a, V n) {
  using T = elem_of<V>;
  using U = uint_of<T>;
  constexpr unsigned width = 8 * sizeof(T);
  return detail::per_lane(
      a, n, [](T x, T k) { return U(k) < width ? T(detail::to_unsigned(U(x)) << U(k)) : T(0); });
}
template <class V> ORTC_INLINE V shr_logical(V a, V n) {
  using T = elem_of<V>;
  using U = uint_of<T>;
  constexpr unsigned width = 8 * sizeof(T);
  return detail::per_lane(a, n, [](T x, T k) { return U(k) < width ? T(U(x) >> U(k)) : T(0); });
}
template <class V> ORTC_INLINE V shr_arithmetic(V a, V n) {
  using T = elem_of<V>;
  using U = uint_of<T>;
  using S = int_of<T>;
  constexpr unsigned width = 8 * sizeof(T);
  return detail::per_lane(a, n,
                          [](T x, T k) { return T(S(x) >> (U(k) < width ? U(k) : U(width - 1))); });
}

template <class T> inline T pow_int(T a, T n) {
  if constexpr (detail::is_signed<T>) {
    if (n < 0) return a == 1 ? T(1) : a == T(-1) ? (n % 2 != 0 ? T(-1) : T(1)) : T(0);
  }
  T r = 1;
  for (; n != 0; n = T(n >> 1)) {
    if (n & 1) r = mul(r, a);
    a = mul(a, a);
  }
  return r;
}

template <class V, detail::if_integer<V> = 0> ORTC_INLINE V pow(V a, V n) {
  using T = elem_of<V>;
  return detail::per_lane(a, n, [](T x, T k) { return pow_int(x, k); });
}

template <class T> ORTC_INLINE T count_ones(T x) {
  return T(__builtin_popcountll(uint64_t(uint_of<T>(x))));
}
template <class T> ORTC_INLINE T leading_zeros(T x) {
  constexpr int width = 8 * sizeof(T);
  return x == 0 ? T(width) : T(__builtin_clzll(uint64_t(uint_of<T>(x))) - (64 - width));
}
template <class T> ORTC_INLINE T trailing_zeros(T x) {
  return x == 0 ? T(8 * sizeof(T)) : T(__builtin_ctzll(uint64_t(uint_of<T>(x))));
}

// Casts.

namespace detail {
// 2^n as a T
template <class T> constexpr T power_of_two(int n) {
  return n == 0 ? T(1) : T(2) * power_of_two<T>(n - 1);
}

// Float to a 32- or 64-bit integer: only the conversion itself; values outside become anything.
template <class To, class V> ORTC_INLINE like<To, V> float_to_int(V x) {
  using T = elem_of<V>;
  constexpr int bits = 8 * int(sizeof(To)) - (is_signed<To> ? 1 : 0);
  constexpr T end = power_of_two<T>(bits); // first value that is too large
  constexpr T low = is_signed<To> ? -end : T(0);
  // Conversions outside the range are undefined in C++, so such lanes are replaced first, and
  // patched afterwards.
  const auto over = x >= end;
  V inside = x >= low ? x : splat<V>(low); // NaN too
  inside = over ? V() : inside;
  const like<To, V> r = convert<To>(inside);
  if constexpr (lanes_of<V> == 1) {
    return over ? max_of<To> : x == x ? r : To(0);
  } else if constexpr (sizeof(To) == sizeof(T)) {
    using R = like<To, V>;
    const R high = splat<R>(max_of<To>), zero = R();
    const R s = over ? high : r;
    return is_nan(x) ? zero : s;
  } else {
    return per_lane<To>(x, [](T v) { return float_to_int<To>(v); });
  }
}
} // namespace detail

template <class To, class V> ORTC_INLINE like<To, V> saturate(V x) {
  using T = elem_of<V>;
  using detail::max_of;
  using detail::min_of;
  if constexpr (detail::is_float<T>) {
    if constexpr (sizeof(To) >= 4) {
      return detail::float_to_int<To>(x);
    } else {
      // The bounds of 8 and 16 bits are floats, so that the clamp can come first and the rest is
      // one conversion.
      const V clamped = clamp(x, T(min_of<To>), T(max_of<To>));
      const V number = x == x ? clamped : V();
      return convert<To>(convert<int32_t>(number));
    }
  } else {
    return detail::per_lane<To>(x, [](T v) {
      if constexpr (detail::is_signed<T>) {
        if (v < 0 && (!detail::is_signed<To> || int64_t(v) < int64_t(min_of<To>)))
          return min_of<To>;
      }
      return v > 0 && uint64_t(v) > uint64_t(max_of<To>) ? max_of<To> : To(v);
    });
  }
}

template <class To, class V> ORTC_INLINE like<To, V> cast(V x) {
  using T = elem_of<V>;
  if constexpr (detail::same_types<To, bool>)
    return x != 0;
  else if constexpr (detail::is_float<T> && !detail::is_float<To>)
    return saturate<To>(x);
  else
    return convert<To>(x);
}

// Folds of all lanes, by halves; NaN stays.
template <class V> ORTC_INLINE elem_of<V> max_lanes(V v) {
  if constexpr (lanes_of<V> == 1)
    return v;
  else
    return max_lanes(maximum(lower(v), upper(v)));
}
template <class V> ORTC_INLINE elem_of<V> min_lanes(V v) {
  if constexpr (lanes_of<V> == 1)
    return v;
  else
    return min_lanes(minimum(lower(v), upper(v)));
}

ORTC_RT_ISA_END
#endif
