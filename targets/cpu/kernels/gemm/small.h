// SPDX-License-Identifier: 0BSD
//
// The matrix product of tiny layers, where the way to the first multiply-add costs more than all of
// them: a few rows, all sizes known when the model was compiled, everything inlined into the
// layer's function. One thread.
//
//   gemm_small_f32<M, N, K, NV, Bytes>(args, epilogue, threads)
//
// B is packed as for gemm.h with NR = NV * Bytes / 4. The result equals that of gemm.h up to the
// order of sums.
#ifndef ORTC_KERNELS_GEMM_SMALL_H
#define ORTC_KERNELS_GEMM_SMALL_H

#include "targets/cpu/kernels/gemm/gemm.h"

ORTC_RT_ISA_BEGIN

template <int M, int N, int K, int NV, int Bytes, class Epilogue>
ORTC_INLINE void gemm_small_f32(const GemmArgs& g, const Epilogue& epilogue, const executor&) {
  using V = vec<float, Bytes / 4>;
  constexpr int lanes = lanes_of<V>, NR = NV * lanes;
  // A multiply-add takes four cycles, and two begin in each: fewer than eight sums wait for each
  // other (mlp_16_32_8: 4 % over four sums, as tile.h has them, whose loads are the limit).
  constexpr int wanted = M * NV < 8 ? 8 / (M * NV) : 1, chains = wanted < K ? wanted : 1;
  const float* b = g.b;
#pragma GCC unroll 1
  for (int n0 = 0; n0 < N; n0 += NR) {
    V acc[chains][M][NV] = {};
    const auto step = [&](int k, int chain) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
        const V w = load<V>(b + k * NR + j * lanes);
#pragma GCC unroll 4
        for (int r = 0; r < M; ++r)
          acc[chain][r][j] = fma(splat<V>(g.a[r * g.lda + k]), w, acc[chain][r][j]);
      }
    };
    int k = 0;
#pragma GCC unroll 2
    for (; k + chains <= K; k += chains)
#pragma GCC unroll 8
      for (int chain = 0; chain < chains; ++chain)
        step(k + chain, chain);
#pragma GCC unroll 8
    for (; k < K; ++k)
      step(k, 0);
    b += int64_t(K) * NR;
#pragma GCC unroll 4
    for (int r = 0; r < M; ++r)
#pragma GCC unroll 8
      for (int j = 0; j < NV; ++j) {
#pragma GCC unroll 8
        for (int chain = 1; chain < chains; ++chain)
          acc[0][r][j] += acc[chain][r][j];
        const int n = n0 + j * lanes, rest = N - n;
        float* const c = g.c + r * g.ldc + n;
        if (rest >= lanes)
          store<V>(c, epilogue(acc[0][r][j], r, n, lanes));
        else if (rest > 0)
          store_n<V>(c, epilogue(acc[0][r][j], r, n, rest), rest);
      }
  }
}

ORTC_RT_ISA_END

#endif
