// SPDX-License-Identifier: 0BSD
//
// The scalar functions that kernels and the host program call, under the names of
// runtime_min/rt/ops.h and with the same answers: one text for nvcc and for the emulator.
// Elementary functions are those of CUDA's library (or of the host's under the emulator), so they
// agree to a few units in the last place, everything else to the bit.
#ifndef ORTC_OPS_CUH
#define ORTC_OPS_CUH

#include <cmath>
#include <cstring>
#include <type_traits>

#include "ortc_cuda.cuh"

#ifdef ORTC_RT_OPS_H
#error "ops.h is for the CPU: a .cu file includes ortc_cuda.cuh alone"
#endif

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

namespace detail {
template <class T> constexpr bool is_float = std::is_floating_point<T>::value;
template <class T> constexpr bool is_signed = std::is_signed<T>::value;
// at least as wide as int, so that C's promotion to signed int cannot overflow
template <class T>
using wide_uint = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int, T>>;
template <class T>
constexpr T max_of = T(is_signed<T> ? (uint64_t(1) << (8 * sizeof(T) - 1)) - 1 : uint64_t(-1));
template <class T> constexpr T min_of = T(is_signed<T> ? T(-max_of<T> - 1) : T(0));
template <class T> ORTC_HD constexpr T power_of_two(int n) {
  T r = 1;
  for (; n > 0; --n)
    r *= 2;
  return r;
}
} // namespace detail

template <class To, class From> ORTC_HD To bits_as(From v) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the size");
  To r;
  memcpy(&r, &v, sizeof r);
  return r;
}
namespace detail {
template <class T> struct same_type {
  using type = T;
};
// f64 to f32 so that a second rounding, to at most 22 bits, gives what one would have: what was cut
// off leaves a 1 in the last place.
ORTC_HD float round_to_odd(double x) {
  const float f = float(x);
  if (double(f) == x || x != x || f - f != 0.0f) return f;
  uint32_t u = bits_as<uint32_t>(f);
  if ((u & 1) == 0) // the neighbour towards x is odd
    u += (double(f) < x) == (x > 0.0) ? 1u : uint32_t(-1);
  return bits_as<float>(u);
}
} // namespace detail
ORTC_HD f16 to_f16(double x) {
  return to_f16(detail::round_to_odd(x));
}
ORTC_HD bf16 to_bf16(double x) {
  return to_bf16(detail::round_to_odd(x));
}

template <class M, class T> ORTC_HD T select(M m, T a, T b) {
  return m ? a : b;
}

// Floats: comparisons, signs, rounding.

template <class T> ORTC_HD bool is_nan(T x) {
  return x != x;
}
template <class T> ORTC_HD bool is_inf(T x) {
  return x == T(INFINITY) || x == -T(INFINITY);
}
template <class T> ORTC_HD T maximum(T a, T b) {
  const T m = b > a ? b : a;
  return b != b ? b : m;
}
template <class T> ORTC_HD T minimum(T a, T b) {
  const T m = b < a ? b : a;
  return b != b ? b : m;
}
template <class T> ORTC_HD T max_number(T a, T b) {
  const T m = b > a ? b : a;
  return a != a ? b : m;
}
template <class T> ORTC_HD T min_number(T a, T b) {
  const T m = b < a ? b : a;
  return a != a ? b : m;
}
template <class T>
ORTC_HD T clamp(T x, typename detail::same_type<T>::type lo,
                typename detail::same_type<T>::type hi) {
  return minimum(maximum(x, lo), hi);
}

#define ORTC_FLOAT_FUNCTION(name)                                                                  \
  ORTC_HD float name(float x) {                                                                    \
    return ::name##f(x);                                                                           \
  }                                                                                                \
  ORTC_HD double name(double x) {                                                                  \
    return ::name(x);                                                                              \
  }
#define ORTC_FLOAT_FUNCTION2(name)                                                                 \
  ORTC_HD float name(float a, float b) {                                                           \
    return ::name##f(a, b);                                                                        \
  }                                                                                                \
  ORTC_HD double name(double a, double b) {                                                        \
    return ::name(a, b);                                                                           \
  }
ORTC_FLOAT_FUNCTION2(copysign)
ORTC_FLOAT_FUNCTION2(fmod)
ORTC_FLOAT_FUNCTION(floor)
ORTC_FLOAT_FUNCTION(ceil)
ORTC_FLOAT_FUNCTION(trunc)
ORTC_HD float round_even(float x) {
  return ::rintf(x);
}
ORTC_HD double round_even(double x) {
  return ::rint(x);
}
ORTC_HD float round_away(float x) {
  return ::roundf(x);
}
ORTC_HD double round_away(double x) {
  return ::round(x);
}
ORTC_HD float fma(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
ORTC_HD double fma(double a, double b, double c) {
  return ::fma(a, b, c);
}

// Elementary functions.

ORTC_FLOAT_FUNCTION(sqrt)
ORTC_FLOAT_FUNCTION(cbrt)
ORTC_FLOAT_FUNCTION(exp)
ORTC_FLOAT_FUNCTION(exp2)
ORTC_FLOAT_FUNCTION(expm1)
ORTC_FLOAT_FUNCTION(log)
ORTC_FLOAT_FUNCTION(log2)
ORTC_FLOAT_FUNCTION(log10)
ORTC_FLOAT_FUNCTION(log1p)
ORTC_FLOAT_FUNCTION(sin)
ORTC_FLOAT_FUNCTION(cos)
ORTC_FLOAT_FUNCTION(tan)
ORTC_FLOAT_FUNCTION(asin)
ORTC_FLOAT_FUNCTION(acos)
ORTC_FLOAT_FUNCTION(atan)
ORTC_FLOAT_FUNCTION(sinh)
ORTC_FLOAT_FUNCTION(cosh)
ORTC_FLOAT_FUNCTION(tanh)
ORTC_FLOAT_FUNCTION(asinh)
ORTC_FLOAT_FUNCTION(acosh)
ORTC_FLOAT_FUNCTION(atanh)
ORTC_FLOAT_FUNCTION(erf)
ORTC_FLOAT_FUNCTION(erfc)
ORTC_FLOAT_FUNCTION2(atan2)
ORTC_FLOAT_FUNCTION2(pow)
#undef ORTC_FLOAT_FUNCTION
#undef ORTC_FLOAT_FUNCTION2
template <class T> ORTC_HD T rsqrt(T x) {
  return T(1) / sqrt(x);
}
template <class T> ORTC_HD T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

// Integers: sums and products wrap, so they are computed unsigned. Floats pass through.

template <class T> ORTC_HD T add(T a, T b) {
  if constexpr (detail::is_float<T>)
    return a + b;
  else
    return T(detail::wide_uint<T>(a) + detail::wide_uint<T>(b));
}
template <class T> ORTC_HD T sub(T a, T b) {
  if constexpr (detail::is_float<T>)
    return a - b;
  else
    return T(detail::wide_uint<T>(a) - detail::wide_uint<T>(b));
}
template <class T> ORTC_HD T mul(T a, T b) {
  if constexpr (detail::is_float<T>)
    return a * b;
  else
    return T(detail::wide_uint<T>(a) * detail::wide_uint<T>(b));
}
template <class T> ORTC_HD T neg(T a) {
  if constexpr (detail::is_float<T>)
    return -a;
  else
    return T(0 - detail::wide_uint<T>(a));
}
template <class T> ORTC_HD T abs(T x) {
  if constexpr (std::is_same<T, float>::value)
    return ::fabsf(x);
  else if constexpr (std::is_same<T, double>::value)
    return ::fabs(x);
  else if constexpr (detail::is_signed<T>)
    return x < 0 ? neg(x) : x;
  else
    return x;
}
template <class T> ORTC_HD T sign(T x) {
  if constexpr (detail::is_float<T>)
    return x > T(0) || x < T(0) ? copysign(T(1), x) : x; // zeros and NaN stay what they are
  else if constexpr (detail::is_signed<T>)
    return T((x > 0) - (x < 0));
  else
    return T(x > 0);
}
template <class T> ORTC_HD T div(T a, T b) {
  if constexpr (detail::is_float<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (detail::is_signed<T>)
      if (b == T(-1)) return neg(a);
    return T(a / b);
  }
}
template <class T> ORTC_HD T rem(T a, T b) {
  if (b == 0) return 0;
  if constexpr (detail::is_signed<T>)
    if (b == T(-1)) return 0;
  return T(a % b);
}
template <class T> ORTC_HD T mod(T a, T b) {
  T r;
  if constexpr (detail::is_float<T>)
    r = fmod(a, b);
  else
    r = rem(a, b);
  if constexpr (detail::is_float<T> || detail::is_signed<T>)
    if (r != T(0) && (r < T(0)) != (b < T(0))) r = T(r + b);
  return r;
}
template <class T> ORTC_HD T floor_div(T a, T b) {
  if constexpr (detail::is_signed<T>) {
    const T r = rem(a, b);
    return T(div(a, b) - T(r != 0 && (r < 0) != (b < 0)));
  } else {
    return div(a, b);
  }
}
template <class T> ORTC_HD T ceil_div(T a, T b) {
  const T r = rem(a, b);
  bool up = r != 0;
  if constexpr (detail::is_signed<T>) up = up && (r < 0) == (b < 0);
  return T(div(a, b) + T(up));
}
template <class T> ORTC_HD T shl(T a, T n) {
  using U = std::make_unsigned_t<T>;
  return U(n) < 8 * sizeof(T) ? T(detail::wide_uint<T>(U(a)) << U(n)) : T(0);
}
template <class T> ORTC_HD T shr_logical(T a, T n) {
  using U = std::make_unsigned_t<T>;
  return U(n) < 8 * sizeof(T) ? T(U(a) >> U(n)) : T(0);
}
template <class T> ORTC_HD T shr_arithmetic(T a, T n) {
  using U = std::make_unsigned_t<T>;
  using S = std::make_signed_t<T>;
  constexpr unsigned width = 8 * sizeof(T);
  return T(S(a) >> (U(n) < width ? U(n) : U(width - 1)));
}
template <class T> ORTC_HD T pow_int(T a, T n) {
  if constexpr (detail::is_signed<T>)
    if (n < 0) return a == 1 ? T(1) : a == T(-1) ? (n % 2 != 0 ? T(-1) : T(1)) : T(0);
  T r = 1;
  for (; n != 0; n = T(n >> 1)) {
    if (n & 1) r = mul(r, a);
    a = mul(a, a);
  }
  return r;
}
template <class T, std::enable_if_t<std::is_integral<T>::value, int> = 0> ORTC_HD T pow(T a, T n) {
  return pow_int(a, n);
}
template <class T> ORTC_DEV T count_ones(T x) {
  return T(__popcll(static_cast<unsigned long long>(std::make_unsigned_t<T>(x))));
}
template <class T> ORTC_DEV T leading_zeros(T x) {
  constexpr int width = 8 * sizeof(T);
  return T(__clzll(static_cast<long long>(std::make_unsigned_t<T>(x))) - (64 - width));
}
template <class T> ORTC_DEV T trailing_zeros(T x) {
  const unsigned long long u = std::make_unsigned_t<T>(x);
  return u == 0 ? T(8 * sizeof(T)) : T(__popcll((u & (0 - u)) - 1));
}

// Casts: float to integer goes towards zero, saturates, and NaN is 0; integer to integer wraps; to
// bool is x != 0.

namespace detail {
template <class To, class T> ORTC_HD To float_to_int(T x) {
  constexpr int bits = 8 * int(sizeof(To)) - (is_signed<To> ? 1 : 0);
  constexpr T end = power_of_two<T>(bits); // first value that is too large
  constexpr T low = is_signed<To> ? -end : T(0);
  if (x >= end) return max_of<To>;
  return x > low ? To(x) : x <= low ? min_of<To> : To(0);
}
} // namespace detail

// any number to an integer, with saturation
template <class To, class T> ORTC_HD To saturate(T x) {
  if constexpr (detail::is_float<T>) {
    return detail::float_to_int<To>(x);
  } else {
    if constexpr (detail::is_signed<T>)
      if (x < 0 && (!detail::is_signed<To> || int64_t(x) < int64_t(detail::min_of<To>)))
        return detail::min_of<To>;
    return x > 0 && uint64_t(x) > uint64_t(detail::max_of<To>) ? detail::max_of<To> : To(x);
  }
}
template <class To, class T> ORTC_HD To cast(T x) {
  if constexpr (std::is_same<To, T>::value)
    return x;
  else if constexpr (std::is_same<To, bool>::value)
    return x != T(0);
  else if constexpr (detail::is_float<T> && !detail::is_float<To>)
    return detail::float_to_int<To>(x);
  else
    return static_cast<To>(x);
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt

// For text that is not in this namespace: C's and CUDA's libraries have these names, too, and with
// `using namespace` alone a call would be ambiguous. Inside of a namespace that has a name, since
// CUDA's headers, of which some come last, must not see it.
#define ORTC_USE_FUNCTIONS                                                                         \
  using ::ortc_rt::abs, ::ortc_rt::acos, ::ortc_rt::acosh, ::ortc_rt::asin, ::ortc_rt::asinh,      \
      ::ortc_rt::atan, ::ortc_rt::atan2, ::ortc_rt::atanh, ::ortc_rt::cbrt, ::ortc_rt::ceil,       \
      ::ortc_rt::copysign, ::ortc_rt::cos, ::ortc_rt::cosh, ::ortc_rt::div, ::ortc_rt::erf,        \
      ::ortc_rt::erfc, ::ortc_rt::exp, ::ortc_rt::exp2, ::ortc_rt::expm1, ::ortc_rt::floor,        \
      ::ortc_rt::fma, ::ortc_rt::fmod, ::ortc_rt::log, ::ortc_rt::log10, ::ortc_rt::log1p,         \
      ::ortc_rt::log2, ::ortc_rt::pow, ::ortc_rt::rsqrt, ::ortc_rt::select, ::ortc_rt::sin,        \
      ::ortc_rt::sinh, ::ortc_rt::sqrt, ::ortc_rt::tan, ::ortc_rt::tanh, ::ortc_rt::trunc
#endif
