// SPDX-License-Identifier: 0BSD
//
// Kernels as they are emitted, each also with planted bugs: a checker that finds nothing has to be
// shown to find something. The same text is compiled by nvcc (see check_spills.py) and by g++ and
// clang for the emulator.
#ifndef ORTC_TEST_KERNELS_CUH
#define ORTC_TEST_KERNELS_CUH

#include "bugs.h"
#include "ortc_cuda.cuh"

// c[m][n] = a[m][k] b[k][n]; tiles of 64 x 64, 16 deep, 256 threads with 4 x 4 results each. Sizes
// are multiples of that.
template <Bug bug>
__global__ void __launch_bounds__(256)
    gemmTiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
              int N, int K) {
  constexpr int Pitch = 68; // keeps columns off each other's banks
  ORTC_SHARED(float, tileA, 16 * Pitch);
  ORTC_SHARED(float, tileB, 16 * 64);
  const int t = static_cast<int>(threadIdx.x), column = (t & 15) * 4, row = (t >> 4) * 4;
  const int m0 = static_cast<int>(blockIdx.y) * 64, n0 = static_cast<int>(blockIdx.x) * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    const int m = t >> 2, k = (t & 3) * 4;
    const float4 va = ortc_rt::load_vector<float4>(a + static_cast<int64_t>(m0 + m) * K + k0 + k);
    tileA[k * Pitch + m] = va.x;
    tileA[(k + 1) * Pitch + m] = va.y;
    tileA[(k + 2) * Pitch + m] = va.z;
    tileA[(k + 3) * Pitch + m + (bug == Bug::SharedOverrun ? 8 : 0)] = va.w;
    const float4 vb =
        ortc_rt::load_vector<float4>(b + static_cast<int64_t>(k0 + (t >> 4)) * N + n0 + column);
    ortc_rt::store_vector(&tileB[(t >> 4) * 64 + column], vb);
    if (bug != Bug::NoBarrierBeforeRead) __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      const float4 x = ortc_rt::load_vector<float4>(&tileA[kk * Pitch + row]);
      const float4 y = ortc_rt::load_vector<float4>(&tileB[kk * 64 + column]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sum[i][j] = ortc_rt::fma(xs[i], ys[j], sum[i][j]);
    }
    if (bug != Bug::NoBarrierBeforeOverwrite) __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t m = m0 + row + i + (bug == Bug::GlobalOverrun ? 4 : 0);
    ortc_rt::store_vector(c + m * N + n0 + column,
                          make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]));
  }
}

// One warp per row.
__global__ void __launch_bounds__(128)
    softmaxRows(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * 4 + threadIdx.x / 32),
            lane = static_cast<int>(threadIdx.x % 32);
  if (row >= rows) return;
  const float* in = x + static_cast<int64_t>(row) * columns;
  float* out = y + static_cast<int64_t>(row) * columns;
  float largest = -INFINITY;
  for (int i = lane; i < columns; i += 32)
    largest = ortc_rt::maximum(largest, in[i]);
  for (int lanes = 16; lanes > 0; lanes /= 2)
    largest = ortc_rt::maximum(largest, ortc_rt::shuffle_xor(largest, lanes));
  float sum = 0.0f;
  for (int i = lane; i < columns; i += 32)
    sum += ortc_rt::exp(in[i] - largest);
  for (int lanes = 16; lanes > 0; lanes /= 2)
    sum += ortc_rt::shuffle_xor(sum, lanes);
  for (int i = lane; i < columns; i += 32)
    out[i] = ortc_rt::exp(in[i] - largest) / sum;
}

// out[0] += sum of x; blocks of 256.
template <Bug bug>
__global__ void __launch_bounds__(256) sumAll(const float* __restrict__ x, float* out, int n) {
  ORTC_SHARED(float, part, 8);
  float sum = 0.0f;
  for (int64_t i = ortc_rt::thread_index(); i < n; i += ortc_rt::thread_count())
    sum += x[i];
  for (unsigned lanes = 16; lanes > 0; lanes /= 2)
    sum += ortc_rt::shuffle_down(sum, lanes);
  if (threadIdx.x % 32 == 0 && !(bug == Bug::SharedUnwritten && threadIdx.x == 32))
    part[threadIdx.x / 32] = sum;
  if (bug == Bug::TwoBarriersOnOneLine) {
    // clang-format off
    if (threadIdx.x < 128) __syncthreads(); else __syncthreads();
    // clang-format on
  } else if (bug == Bug::BarrierForSome) {
    if (threadIdx.x < 96) __syncthreads();
  } else if (bug == Bug::BarrierAndShuffle) {
    if (threadIdx.x % 32 < 16)
      __syncthreads();
    else
      sum = ortc_rt::shuffle_xor(sum, 1);
  } else {
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    sum = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    for (unsigned lanes = 4; lanes > 0; lanes /= 2)
      sum += ortc_rt::shuffle_down(sum, lanes);
    if (threadIdx.x == 0) {
      if (bug == Bug::PlainSumOfBlocks)
        *out += sum;
      else
        atomicAdd(out, sum);
    }
  }
}

// Neighbours within a warp exchange through shared memory; 64 threads.
template <Bug bug> __global__ void swapNeighbours(const float* x, float* y) {
  ORTC_SHARED(float, buffer, 64);
  buffer[threadIdx.x] = x[threadIdx.x];
  if (bug != Bug::NoWarpBarrier) __syncwarp();
  y[threadIdx.x] = buffer[threadIdx.x ^ 1];
  if (bug == Bug::LaneNotThere && threadIdx.x % 32 < 16)
    y[threadIdx.x] = __shfl_sync(0xffffu, y[threadIdx.x], 20);
}

struct alignas(4) HalfPair {
  ortc_rt::f16 x, y;
};

// y = max(x * x + b, 0) in half, two at a time; n2 pairs.
template <Bug bug>
__global__ void __launch_bounds__(256)
    squareBiasHalf(const ortc_rt::f16* __restrict__ x, const ortc_rt::f16* __restrict__ b,
                   ortc_rt::f16* __restrict__ y, int n2) {
  for (int64_t i = ortc_rt::thread_index(); i < n2; i += ortc_rt::thread_count()) {
    const HalfPair v = ortc_rt::load_vector<HalfPair>(x + 2 * i + (bug == Bug::Misaligned ? 1 : 0));
    const HalfPair w = ortc_rt::load_vector<HalfPair>(b + 2 * i);
    const float v0 = ortc_rt::to_f32(v.x), v1 = ortc_rt::to_f32(v.y);
    HalfPair r;
    r.x = ortc_rt::to_f16(ortc_rt::maximum(ortc_rt::fma(v0, v0, ortc_rt::to_f32(w.x)), 0.0f));
    r.y = ortc_rt::to_f16(ortc_rt::maximum(ortc_rt::fma(v1, v1, ortc_rt::to_f32(w.y)), 0.0f));
    ortc_rt::store_vector(y + 2 * i, r);
  }
}

// y[i] = table[index[i]], byte-sized: threads write neighbouring bytes of one word.
__global__ void __launch_bounds__(256)
    lookUpBytes(const uint8_t* __restrict__ table, const int64_t* __restrict__ index,
                uint8_t* __restrict__ y, int n) {
  const int64_t i = ortc_rt::thread_index();
  if (i < n) y[i] = table[ortc_rt::clamp<int64_t>(index[i], 0, 255)];
}

// Bytes through shared memory: within the word that four threads share, only a missing barrier is a
// race.
template <Bug bug> __global__ void reverseBytes(const uint8_t* x, uint8_t* y) {
  ORTC_SHARED(uint8_t, buffer, 128);
  buffer[threadIdx.x] = x[threadIdx.x];
  if (bug != Bug::NoBarrierBeforeRead) __syncthreads();
  y[threadIdx.x] = buffer[127 - threadIdx.x];
}

// Threads exit at different places, votes, dynamic shared memory, three dimensions of threads.
__global__ void countPositive(const int* x, int* counts, int n) {
  ORTC_SHARED_DYNAMIC(int, copy);
  const int t =
      static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
  const int size = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  const int i = static_cast<int>(blockIdx.x) * size + t;
  copy[t] = i < n ? x[i] : 0;
  __syncthreads();
  const int positive = __syncthreads_count(copy[size - 1 - t] > 0);
  const int any = __syncthreads_or(copy[t] < -100);
  if (t == 0) counts[blockIdx.x] = any ? -positive : positive;
}

#endif
