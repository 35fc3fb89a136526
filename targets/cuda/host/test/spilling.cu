// SPDX-License-Identifier: 0BSD
//
// A kernel that cannot but spill: 64 live values per thread where the launch bounds leave 32
// registers. check_spills.py has to say so.
#include "ortc_cuda.cuh"

__global__ void __launch_bounds__(1024, 2) spilling(const float* x, float* y) {
  float value[64];
  for (int i = 0; i < 64; ++i)
    value[i] = x[i * 1024 + threadIdx.x];
#pragma unroll
  for (int round = 0; round < 8; ++round)
#pragma unroll
    for (int i = 0; i < 64; ++i)
      value[i] = value[i] * value[(i * 7 + 1) & 63] + value[(i + 1) & 63];
  for (int i = 0; i < 64; ++i)
    y[i * 1024 + threadIdx.x] = value[i];
}
