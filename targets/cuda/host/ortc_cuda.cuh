// SPDX-License-Identifier: 0BSD
//
// All that differs between nvcc and the emulator (-DORTC_CUEMU) is in this file: launch syntax,
// shared memory, vector transfers, traps, and how types are spelled. Kernel text includes it and
// nothing else of CUDA, so the text that ran under the emulator is the text that nvcc compiles.
// docs/cuda-device-ledger.md says what of it ever ran on a device.
#ifndef ORTC_CUDA_CUH
#define ORTC_CUDA_CUH

#ifdef ORTC_CUEMU
#include "cuemu.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifndef ORTC_RT_PREFIX
#define ORTC_RT_PREFIX unprefixed
#endif

#define ORTC_HD __host__ __device__ __forceinline__
#define ORTC_DEV __device__ __forceinline__

#ifdef ORTC_CUEMU

// An array in the shared memory of the block. Not cleared: under the emulator it holds NaN until it
// is written.
#define ORTC_SHARED(T, name, count)                                                                \
  using name##_type = T[count];                                                                    \
  static const char name##_place = 0;                                                              \
  name##_type& name = *static_cast<name##_type*>(                                                  \
      ::cuemu::sharedArray(&name##_place, sizeof(name##_type), alignof(T), #name))
// The bytes that the launch asked for, from their start.
#define ORTC_SHARED_DYNAMIC(T, name) T* const name = static_cast<T*>(::cuemu::dynamicShared())
// Starts a kernel; a cudaError_t. Arguments are converted to the parameters' types.
#define ORTC_LAUNCH(kernel, grid, block, sharedBytes, ... /* stream, arguments */)                 \
  static_cast<cudaError_t>(                                                                        \
      ::cuemu::launchKernel(#kernel, kernel, grid, block, sharedBytes, __VA_ARGS__))
// A tensor begins its life in the arena. Nothing on a device; the emulator's checker then knows its
// bounds.
#define ORTC_BUFFER(stream, data, bytes, name)                                                     \
  static_cast<cudaError_t>(::cuemu::beginBuffer(stream, data, bytes, name))
#define ORTC_TRAP(text) ::cuemu::trap(text)

#else

#define ORTC_SHARED(T, name, count) __shared__ __align__(16) T name[count]
#define ORTC_SHARED_DYNAMIC(T, name)                                                               \
  extern __shared__ __align__(128) unsigned char ortc_shared_dynamic[];                            \
  T* const name = reinterpret_cast<T*>(ortc_shared_dynamic)
#define ORTC_LAUNCH(kernel, grid, block, sharedBytes, ... /* stream, arguments */)                 \
  ::ortc_rt::launch_kernel(kernel, grid, block, sharedBytes, __VA_ARGS__)
#define ORTC_BUFFER(stream, data, bytes, name) (static_cast<void>(data), cudaSuccess)
#define ORTC_TRAP(text) __trap()

#endif

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

// Half and bfloat16 are for storage: arithmetic is done in float.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

#ifdef ORTC_CUEMU

// One transfer of 2, 4, 8 or 16 bytes; the address must be a multiple of that. The CPU does not
// mind, and its compiler may split the access, so that only these wrappers can tell.
template <class V> ORTC_DEV V load_vector(const void* p) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(V) != 0) cuemu::reportMisaligned(p, sizeof(V));
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class V> ORTC_DEV void store_vector(void* p, V v) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(V) != 0) cuemu::reportMisaligned(p, sizeof(V));
  memcpy(p, &v, sizeof v);
}

// a * b + c. Here it is rounded twice: where the host has no such instruction, a call of its
// library for each product would take most of the time.
ORTC_DEV float multiply_add(float a, float b, float c) {
  return a * b + c;
}

ORTC_HD float to_f32(f16 x) {
  return cuemu::halfToFloat(x.bits);
}
ORTC_HD float to_f32(bf16 x) {
  return cuemu::bfloatToFloat(x.bits);
}
ORTC_HD f16 to_f16(float x) {
  return {cuemu::halfFromFloat(x)};
}
ORTC_HD bf16 to_bf16(float x) {
  return {cuemu::bfloatFromFloat(x)};
}

#elif defined(__CUDACC__)

template <class V> ORTC_DEV V load_vector(const void* p) {
  return *static_cast<const V*>(p);
}
template <class V> ORTC_DEV void store_vector(void* p, V v) {
  *static_cast<V*>(p) = v;
}

ORTC_DEV float multiply_add(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}

ORTC_HD float to_f32(f16 x) {
  return __half2float(__ushort_as_half(x.bits));
}
ORTC_HD float to_f32(bf16 x) {
  return __bfloat162float(__ushort_as_bfloat16(x.bits));
}
ORTC_HD f16 to_f16(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
ORTC_HD bf16 to_bf16(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

template <class... P, class... A>
inline cudaError_t launch_kernel(void (*kernel)(P...), dim3 grid, dim3 block, size_t sharedBytes,
                                 cudaStream_t stream, const A&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = sharedBytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...);
}

#endif

// Blocks along one side of a grid: at least one, no more than a launch can have; kernels loop over
// the rest.
inline unsigned grid_of(int64_t blocks, int64_t most) {
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

#if defined(ORTC_CUEMU) || defined(__CUDACC__)
// This thread among all of the launch, and how many there are: for (i = thread_index(); i < n; i +=
// thread_count())
ORTC_DEV int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
ORTC_DEV int64_t thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// Between all lanes of a warp; every lane of the warp calls.
template <class T> ORTC_DEV T shuffle_xor(T v, int lanes) {
  return __shfl_xor_sync(0xffffffffu, v, lanes);
}
template <class T> ORTC_DEV T shuffle_down(T v, unsigned lanes) {
  return __shfl_down_sync(0xffffffffu, v, lanes);
}
template <class T> ORTC_DEV T shuffle_from(T v, int lane) {
  return __shfl_sync(0xffffffffu, v, lane);
}
#endif

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt

#if defined(ORTC_CUEMU) || defined(__CUDACC__)
#include "ops.cuh"
#include "rows.cuh"
#endif
#endif
