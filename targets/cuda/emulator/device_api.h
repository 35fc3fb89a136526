// SPDX-License-Identifier: 0BSD
//
// What kernel text may call: barriers, warp collectives, atomics and the bit-level intrinsics, with
// CUDA's names. Everything that touches the state of a block is out of line in the core, which is
// compiled without instrumentation; what is inline here touches no memory.
#ifndef CUEMU_DEVICE_API_H
#define CUEMU_DEVICE_API_H

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core.h"
#include "half.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

#define threadIdx (::cuemu::builtIns.thread)
#define blockIdx (::cuemu::builtIns.block)
#define blockDim (::cuemu::builtIns.blockSize)
#define gridDim (::cuemu::builtIns.gridSize)
constexpr int warpSize = 32;

namespace cuemu {

enum class WarpOp { Shuffle, Ballot, SyncWarp };
enum class BarrierVote { None, Or, And, Count };

void blockBarrier(Site site);
int blockBarrierVote(int predicate, BarrierVote vote, Site site);
void warpBarrier(uint32_t mask, Site site);
/// Every lane of `mask` hands in a value and gets that of `source`.
uint64_t warpShuffle(uint32_t mask, uint64_t value, int source, Site site);
uint32_t warpBallot(uint32_t mask, bool predicate, Site site);
uint32_t activeMask();
int laneId();

/// A vector access at an address that is no multiple of its size.
void reportMisaligned(const void* p, size_t bytes);

/// Memory of ORTC_SHARED: per block, with redzones, filled with NaN. `key` is the place of the
/// declaration.
void* sharedArray(const void* key, size_t bytes, size_t align, const char* name);
void* dynamicShared();

[[noreturn]] void trap(const char* what);

template <class T> uint64_t packBits(T v) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  uint64_t r = 0;
  std::memcpy(&r, &v, sizeof v);
  return r;
}
template <class T> T unpackBits(uint64_t r) {
  T v;
  std::memcpy(&v, &r, sizeof v);
  return v;
}

} // namespace cuemu

// Two barriers on one line are two barriers: __COUNTER__ tells them apart.
#define CUEMU_HERE (::cuemu::Site{__FILE__, __LINE__, __COUNTER__})
#define __syncthreads() ::cuemu::blockBarrier(CUEMU_HERE)
#define __syncthreads_or(p) ::cuemu::blockBarrierVote((p), ::cuemu::BarrierVote::Or, CUEMU_HERE)
#define __syncthreads_and(p) ::cuemu::blockBarrierVote((p), ::cuemu::BarrierVote::And, CUEMU_HERE)
#define __syncthreads_count(p)                                                                     \
  ::cuemu::blockBarrierVote((p), ::cuemu::BarrierVote::Count, CUEMU_HERE)

#define CUEMU_SITE const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE()
#define CUEMU_AT (::cuemu::Site{file_, line_, 0})

inline void __syncwarp(unsigned mask = 0xffffffffu, CUEMU_SITE) {
  cuemu::warpBarrier(mask, CUEMU_AT);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
inline T __shfl_sync(unsigned mask, T v, int source, int width = 32, CUEMU_SITE) {
  const int lane = cuemu::laneId(), from = (lane & ~(width - 1)) | (source & (width - 1));
  return cuemu::unpackBits<T>(cuemu::warpShuffle(mask, cuemu::packBits(v), from, CUEMU_AT));
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32, CUEMU_SITE) {
  const int lane = cuemu::laneId(), from = lane ^ lanes, last = lane | (width - 1);
  return cuemu::unpackBits<T>(
      cuemu::warpShuffle(mask, cuemu::packBits(v), from > last ? lane : from, CUEMU_AT));
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, CUEMU_SITE) {
  const int lane = cuemu::laneId(), from = lane + static_cast<int>(delta),
            last = lane | (width - 1);
  return cuemu::unpackBits<T>(
      cuemu::warpShuffle(mask, cuemu::packBits(v), from > last ? lane : from, CUEMU_AT));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, CUEMU_SITE) {
  const int lane = cuemu::laneId(), from = lane - static_cast<int>(delta),
            first = lane & ~(width - 1);
  return cuemu::unpackBits<T>(
      cuemu::warpShuffle(mask, cuemu::packBits(v), from < first ? lane : from, CUEMU_AT));
}
inline unsigned __ballot_sync(unsigned mask, int p, CUEMU_SITE) {
  return cuemu::warpBallot(mask, p != 0, CUEMU_AT);
}
inline int __any_sync(unsigned mask, int p, CUEMU_SITE) {
  return cuemu::warpBallot(mask, p != 0, CUEMU_AT) != 0;
}
inline int __all_sync(unsigned mask, int p, CUEMU_SITE) {
  return cuemu::warpBallot(mask, p == 0, CUEMU_AT) == 0;
}
inline unsigned __activemask() {
  return cuemu::activeMask();
}

int atomicAdd(int* p, int v);
unsigned atomicAdd(unsigned* p, unsigned v);
unsigned long long atomicAdd(unsigned long long* p, unsigned long long v);
float atomicAdd(float* p, float v);
double atomicAdd(double* p, double v);
int atomicMin(int* p, int v);
int atomicMax(int* p, int v);
unsigned atomicMin(unsigned* p, unsigned v);
unsigned atomicMax(unsigned* p, unsigned v);
long long atomicMin(long long* p, long long v);
long long atomicMax(long long* p, long long v);
unsigned atomicOr(unsigned* p, unsigned v);
unsigned atomicAnd(unsigned* p, unsigned v);
int atomicExch(int* p, int v);
unsigned atomicExch(unsigned* p, unsigned v);
int atomicCAS(int* p, int expected, int v);
unsigned atomicCAS(unsigned* p, unsigned expected, unsigned v);
unsigned long long atomicCAS(unsigned long long* p, unsigned long long expected,
                             unsigned long long v);

inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline float __int_as_float(int x) {
  return cuemu::bitsFloat(static_cast<uint32_t>(x));
}
inline int __float_as_int(float f) {
  return static_cast<int>(cuemu::floatBits(f));
}
inline float __uint_as_float(unsigned x) {
  return cuemu::bitsFloat(x);
}
inline unsigned __float_as_uint(float f) {
  return cuemu::floatBits(f);
}
inline double __longlong_as_double(long long x) {
  return cuemu::unpackBits<double>(static_cast<uint64_t>(x));
}
inline long long __double_as_longlong(double d) {
  return static_cast<long long>(cuemu::packBits(d));
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
  return c;
}
template <class T> inline T __ldg(const T* p) {
  return *p;
}

#endif
