// SPDX-License-Identifier: 0BSD
//
// Sums and the like over the threads of a block, for kernels whose blocks share a row: every thread
// hands in its part and gets the whole.
#ifndef ORTC_ROWS_CUH
#define ORTC_ROWS_CUH

#include "ortc_cuda.cuh"

#if defined(ORTC_CUEMU) || defined(__CUDACC__)
namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

namespace detail {
// All threads of the block call; their number is a multiple of 32. The result is the same in all of
// them to the bit: in each step two lanes combine the same two values, and all threads combine the
// warps in the same order.
template <class T, class Combine> ORTC_DEV T block_reduce(T part, Combine combine) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    part = combine(part, shuffle_xor(part, lanes));
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return part;
  ORTC_SHARED(T, parts, 32);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = parts[0];
  for (int warp = 1; warp < warps; ++warp)
    part = combine(part, parts[warp]);
  __syncthreads(); // the next reduction writes there again
  return part;
}
} // namespace detail

template <class T> ORTC_DEV T block_sum(T part) {
  return detail::block_reduce(part, [](T a, T b) { return a + b; });
}
template <class T> ORTC_DEV T block_product(T part) {
  return detail::block_reduce(part, [](T a, T b) { return a * b; });
}
template <class T> ORTC_DEV T block_maximum(T part) {
  return detail::block_reduce(part, [](T a, T b) { return maximum(a, b); });
}
template <class T> ORTC_DEV T block_minimum(T part) {
  return detail::block_reduce(part, [](T a, T b) { return minimum(a, b); });
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif
#endif
