// SPDX-License-Identifier: 0BSD
// What every file of the runtime agrees on: the namespace that keeps bundles apart, the width of a
// vector, and a few spellings of attributes. Needs no header but the compiler's own, so that
// firmware and bare wasm can include it.
#ifndef ORTC_RT_CONFIG_H
#define ORTC_RT_CONFIG_H

#include <stddef.h>
#include <stdint.h>

// A bundle compiles its copy of the runtime with -DORTC_RT_PREFIX=<bundle name>: bundles with
// different versions of the runtime then link into one program, since no two of them define the
// same symbol.
#ifndef ORTC_RT_PREFIX
#define ORTC_RT_PREFIX unprefixed
#endif

// Inline functions of these headers come out differently for each instruction set, and the linker
// keeps only one of two functions of equal name: it could pick AVX-512 code for a program that
// checked for AVX2. So the instruction set is part of the name. A bundle with several levels passes
// its own word: -DORTC_RT_ISA=x86_64_v3.
#ifndef ORTC_RT_ISA
#if defined(__AVX512F__)
#define ORTC_RT_ISA isa_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define ORTC_RT_ISA isa_avx2
#elif defined(__AVX__)
#define ORTC_RT_ISA isa_avx
#elif defined(__SSE4_1__)
#define ORTC_RT_ISA isa_sse4
#else
#define ORTC_RT_ISA isa_base
#endif
#endif

// namespace of what has state or a layout (pool, context), and of what is inlined into kernels
#define ORTC_RT_BEGIN                                                                              \
  namespace ortc_rt {                                                                              \
  inline namespace ORTC_RT_PREFIX {
#define ORTC_RT_END                                                                                \
  }                                                                                                \
  }
#define ORTC_RT_ISA_BEGIN                                                                          \
  namespace ortc_rt {                                                                              \
  inline namespace ORTC_RT_PREFIX {                                                                \
  inline namespace ORTC_RT_ISA {
#define ORTC_RT_ISA_END                                                                            \
  }                                                                                                \
  }                                                                                                \
  }

#if defined(__GNUC__) // clang says so too
#define ORTC_INLINE inline __attribute__((always_inline))
#define ORTC_NOINLINE __attribute__((noinline))
#define ORTC_LIKELY(x) __builtin_expect(!!(x), 1)
#define ORTC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ORTC_RESTRICT __restrict__
#else
#error "the runtime needs g++, clang or mingw: it is written with their vector extensions"
#endif

// ORTC_NO_THREADS: one thread, no atomics. Where there is no operating system there are no threads
// either.
#if !defined(ORTC_NO_THREADS) && !defined(__unix__) && !defined(__APPLE__) && !defined(_WIN32)
#define ORTC_NO_THREADS 1
#endif

// Bytes of the native vector; 0 where there is none: a "vector" is then one scalar, and the same
// source still works.
#ifndef ORTC_VEC_BYTES
#if defined(__AVX512F__)
#define ORTC_VEC_BYTES 64
#elif defined(__AVX__)
#define ORTC_VEC_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)
#define ORTC_VEC_BYTES 16
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#define ORTC_VEC_BYTES (__ARM_FEATURE_SVE_BITS / 8)
#elif defined(__riscv_v_fixed_vlen)
#define ORTC_VEC_BYTES (__riscv_v_fixed_vlen / 8)
#elif defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#define ORTC_VEC_BYTES 16
#else
#define ORTC_VEC_BYTES 0
#endif
#endif

// Whether a*b+c in one rounding is one instruction, for f32 and for f64. All code of the runtime
// that wants it calls fma() below; it never relies on the compiler to fuse a product and a sum, so
// that a vector, its scalar tail, g++ and clang all give the same bits. Compile bundles with
// -ffp-contract=off.
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__) ||                            \
    (defined(__riscv_flen) && __riscv_flen >= 64)
#define ORTC_FMA_F32 1
#define ORTC_FMA_F64 1
#elif defined(__ARM_FEATURE_FMA) || (defined(__riscv_flen) && __riscv_flen >= 32)
#define ORTC_FMA_F32 1
#endif

#endif
