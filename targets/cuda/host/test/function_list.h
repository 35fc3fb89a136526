// SPDX-License-Identifier: 0BSD
//
// The scalar functions that kernels may call, as expressions that mean the same with ops.cuh and
// narrow.cuh as with the headers of runtime_min, and values that are hard for them.
#ifndef ORTC_TEST_FUNCTION_LIST_H
#define ORTC_TEST_FUNCTION_LIST_H

// clang-format off: one function after the other
// name, expression in x (and y), relative tolerance
#define FLOAT_FUNCTIONS(F)                                                                     \
  F(exp, exp(x), 1e-6) F(exp2, exp2(x), 1e-6) F(expm1, expm1(x), 1e-6) F(log, log(x), 1e-6)    \
  F(log2, log2(x), 1e-6) F(log10, log10(x), 1e-6) F(log1p, log1p(x), 1e-6)                     \
  F(sqrt, sqrt(x), 1e-6) F(rsqrt, rsqrt(x), 1e-6) F(sin, sin(x), 1e-6) F(cos, cos(x), 1e-6)    \
  F(tan, tan(x), 1e-6) F(asin, asin(x), 1e-6) F(acos, acos(x), 1e-6) F(atan, atan(x), 1e-6)    \
  F(sinh, sinh(x), 1e-6) F(cosh, cosh(x), 1e-6) F(tanh, tanh(x), 1e-6)                         \
  F(asinh, asinh(x), 1e-6) F(acosh, acosh(x), 1e-6) F(atanh, atanh(x), 1e-6)                   \
  F(erf, erf(x), 1e-6) F(sigmoid, sigmoid(x), 1e-6) F(floor, floor(x), 0) F(ceil, ceil(x), 0)  \
  F(trunc, trunc(x), 0) F(round_even, round_even(x), 0) F(round_away, round_away(x), 0)        \
  F(abs, abs(x), 0) F(neg, neg(x), 0) F(sign, sign(x), 0) F(is_nan, int(is_nan(x)), 0)         \
  F(is_inf, int(is_inf(x)), 0) F(half, to_f32(to_f16(x)), 0)                                   \
  F(half_of_double, to_f32(to_f16(double(x) * 1.0000001)), 0) F(bfloat, to_f32(to_bf16(x)), 0) \
  F(cast_i8, cast<int8_t>(x), 0) F(cast_u8, cast<uint8_t>(x), 0)                               \
  F(cast_i32, cast<int32_t>(x), 0) F(cast_u32, cast<uint32_t>(x), 0)                           \
  F(cast_i64, cast<int64_t>(x), 0) F(cast_bool, int(cast<bool>(x)), 0)                         \
  F(saturate_i16, saturate<int16_t>(x), 0) F(bits, is_nan(x) ? 0u : bits_as<uint32_t>(x), 0)   \
  F(e4m3fn, to_f32(to_f8e4m3fn(x, true)), 0) F(e4m3fnuz, to_f32(to_f8e4m3fnuz(x, false)), 0)   \
  F(e5m2, to_f32(to_f8e5m2(x, false)), 0) F(e5m2fnuz, to_f32(to_f8e5m2fnuz(x, true)), 0)       \
  F(e2m1, to_f32(to_f4e2m1(x)), 0) F(e8m0, to_f32(to_f8e8m0(x, e8m0_rounding::up, true)), 0)   \
  F(i4, saturate_i4(x), 0) F(u4, saturate_u4(x), 0)

#define FLOAT_PAIRS(F)                                                                         \
  F(maximum, maximum(x, y), 0) F(minimum, minimum(x, y), 0) F(max_number, max_number(x, y), 0) \
  F(min_number, min_number(x, y), 0) F(copysign, copysign(x, y), 0) F(fmod, fmod(x, y), 0)     \
  F(mod, mod(x, y), 0) F(atan2, atan2(x, y), 1e-6) F(pow, pow(x, y), 2e-6)                     \
  F(add, add(x, y), 0) F(sub, sub(x, y), 0) F(mul, mul(x, y), 0) F(div, div(x, y), 0)          \
  F(clamp, clamp(x, y, 1.0f), 0) F(select, select(x < y, x, y), 0)

#define INTEGER_FUNCTIONS(F)                                                                   \
  F(neg, neg(x), 0) F(abs, abs(x), 0) F(sign, sign(x), 0) F(cast_i8, cast<int8_t>(x), 0)       \
  F(saturate_u8, saturate<uint8_t>(x), 0) F(cast_f32, cast<float>(x), 0)                       \
  F(cast_i64, cast<int64_t>(x), 0)

#define INTEGER_PAIRS(F)                                                                       \
  F(maximum, maximum(x, y), 0) F(minimum, minimum(x, y), 0) F(add, add(x, y), 0)               \
  F(sub, sub(x, y), 0) F(mul, mul(x, y), 0) F(div, div(x, y), 0) F(rem, rem(x, y), 0)          \
  F(mod, mod(x, y), 0) F(floor_div, floor_div(x, y), 0) F(ceil_div, ceil_div(x, y), 0)         \
  F(shl, shl(x, y), 0) F(shr_logical, shr_logical(x, y), 0)                                    \
  F(shr_arithmetic, shr_arithmetic(x, y), 0) F(pow, pow(x, y), 0)

// Not in runtime_min, or only as good as the CPU: fma rounds twice there without the instruction.
#define CUDA_ONLY_FUNCTIONS(F)                                                                 \
  F(cbrt, cbrt(x), 1e-6) F(erfc, erfc(x), 2e-6)
#define CUDA_ONLY_PAIRS(F)                                                                     \
  F(fma, fma(x, y, x), 0)
// clang-format on

#define FLOAT_VALUES                                                                               \
  0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.5f, -2.5f, 3.7f, -3.7f, 1e-5f, -1e-5f, 12.25f, -88.0f,  \
      100.0f, 127.5f, 300.0f, -1e4f, 65519.0f, 65520.0f, 1e-38f, 6e-8f, 3e9f, -3e9f, 1e19f,        \
      -1e30f, 448.0f, 464.0f, 0.0019f, 61440.0f, INFINITY, NAN, 16777216.0f, 0.33333f, 1.0078f,    \
      -INFINITY
#define I32_VALUES                                                                                 \
  0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 127, 128, 255, 256, -129, 65535, INT32_MAX, INT32_MIN
#define I8_VALUES 0, 1, -1, 2, -3, 7, 8, 9, 100, 127, -128
#define I64_VALUES 0, 1, -1, 5, -7, 63, 64, int64_t(1) << 40, INT64_MAX, INT64_MIN

#endif
