// SPDX-License-Identifier: 0BSD
//
// C = epilogue(A * B) in f32 by a library: oneDNN's dnnl_sgemm, for bundles that were compiled with
// --with=onednn.
//
//   onednn_gemm_f32<Transposed>(args, epilogue, threads)
//
// B is [K][N], or [N][K] when Transposed, as it lies in memory. Rows are cut in pieces that depend
// on sizes only, each of them a call of the library on one thread, so that our pool is the only one
// at work and results do not depend on its size. The library allocates memory while it runs.
#ifndef ORTC_KERNELS_ONEDNN_H
#define ORTC_KERNELS_ONEDNN_H

#include "targets/cpu/kernels/gemm/gemm.h"

#include <oneapi/dnnl/dnnl.h>

// The library's own threads, when it is built for OpenMP. Weak: other builds have other threads.
extern "C" {
int omp_get_max_threads(void) __attribute__((weak));
void omp_set_num_threads(int) __attribute__((weak));
}

ORTC_RT_ISA_BEGIN

struct OneDnnArgs {
  const float* a; // [outer][inner][M][K], rows lda apart
  int64_t lda;
  const float* b; // [outer][inner][K][N] or [N][K], rows ldb apart
  int64_t ldb;
  float* c; // [outer][inner][M][N], rows ldc apart
  int64_t ldc;
  int64_t M, N, K;
  GemmBatch outer = {}, inner = {};
};

// One thread for the library, as long as this lives; the setting belongs to the calling thread.
struct OneDnnAlone {
  const int before;
  OneDnnAlone() : before(omp_get_max_threads ? omp_get_max_threads() : 0) {
    if (omp_set_num_threads) omp_set_num_threads(1);
  }
  ~OneDnnAlone() {
    if (omp_set_num_threads) omp_set_num_threads(before);
  }
  OneDnnAlone(const OneDnnAlone&) = delete;
  OneDnnAlone& operator=(const OneDnnAlone&) = delete;
};

// Rows of a piece: B is packed anew in each, which these are enough to pay for.
constexpr int64_t kOneDnnRows = 192;

template <bool Transposed, class Epilogue>
ORTC_NOINLINE void onednn_gemm_f32(const OneDnnArgs& g, const Epilogue& epilogueRef,
                                   const executor& threads) {
  using V = native<float>;
  constexpr int lanes = lanes_of<V>;
  if (g.M <= 0 || g.N <= 0) return;
  const int64_t pieces = g.M < 2 * kOneDnnRows ? 1 : g.M / kOneDnnRows;
  parallel_for(threads, g.outer.count * g.inner.count * pieces, [&](int64_t task) {
    const Epilogue epilogue = epilogueRef;
    const int64_t piece = task % pieces, batch = task / pieces;
    const int64_t inner = batch % g.inner.count, outer = batch / g.inner.count;
    const int64_t begin = g.M * piece / pieces, end = g.M * (piece + 1) / pieces;
    const float* a = g.a + outer * g.outer.a + inner * g.inner.a + begin * g.lda;
    const float* b = g.b + outer * g.outer.b + inner * g.inner.b;
    float* c = g.c + outer * g.outer.c + inner * g.inner.c + begin * g.ldc;
    {
      const OneDnnAlone alone;
      // The only reason to fail is a wrong argument.
      dnnl_sgemm('N', Transposed ? 'T' : 'N', end - begin, g.N, g.K, 1.0f, a, g.lda, b, g.ldb, 0.0f,
                 c, g.ldc);
    }
    for (int64_t r = begin; r < end; ++r, c += g.ldc) {
      const int64_t m = batch * g.M + r;
      int64_t n = 0;
      for (; n + lanes <= g.N; n += lanes)
        store<V>(c + n, epilogue(load<V>(c + n), m, n, lanes));
      if (n < g.N) {
        const int rest = int(g.N - n);
        store_n<V>(c + n, epilogue(load_n<V>(c + n, rest), m, n, rest), rest);
      }
    }
  });
}

ORTC_RT_ISA_END

#endif
