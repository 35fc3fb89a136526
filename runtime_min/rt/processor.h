// SPDX-License-Identifier: 0BSD
// What the processor at hand can do: asked once, when a bundle with several levels is loaded. Only
// features that the operating system has switched on count (AVX registers are saved by it, or not).
#ifndef ORTC_RT_PROCESSOR_H
#define ORTC_RT_PROCESSOR_H

#include "config.h"

ORTC_RT_BEGIN

// What the levels of the x86-64 psABI ask for, then what processors add to them. The compiler
// prints these names.
enum processor_feature : uint64_t {
  x86_64_v2 = 1 << 0, // SSE3, SSSE3, SSE4.1, SSE4.2, POPCNT, CMPXCHG16B, LAHF
  x86_64_v3 = 1 << 1, // AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE
  x86_64_v4 = 1 << 2, // AVX-512 F, BW, CD, DQ, VL
  avx512vnni = 1 << 3,
  avx512bf16 = 1 << 4,
};

// The features that are there, or-ed; a level counts only with those below it.
uint64_t processor_features();

ORTC_RT_END
#endif
