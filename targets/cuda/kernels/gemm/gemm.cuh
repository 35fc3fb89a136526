// SPDX-License-Identifier: 0BSD
//
// Matrix product in f32, batched, with operands in any layout:
//
//   ORTC_LAUNCH((gemm_f32<Tile<BM, BN, BK, TM, TN>, AlongA, AlongB, Epilogue>), grid, block, 0,
//               stream, args, epilogue)
//
//   C[m][n] = epilogue(sum over k of A[m][k] * B[k][n], m, n)
//
// Along says along which dim an operand is read four at a time, so that rows that are stored one
// after the other and transposed matrices are both read in whole lines. The grid is
// (ceil(M / BM), ceil(N / BN), batches); less of it in y and z is made up by loops. The block is
// Tile::threads threads.
#ifndef ORTC_CUDA_KERNELS_GEMM_CUH
#define ORTC_CUDA_KERNELS_GEMM_CUH

#include "../tile/tile.cuh"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

// Matrices beside each other: their number, and the distance in floats; 0 shares one.
struct GemmBatch {
  int64_t count = 1, a = 0, b = 0, c = 0;
};

struct GemmArgs {
  const float *a, *b;
  float* c;
  int64_t M, N, K;
  int64_t aRow, aK;    // distances in A of neighbours along m and k
  int64_t bK, bColumn; // in B along k and n
  int64_t cRow;        // in C along m; those along n lie side by side
  GemmBatch outer, inner;
};

// The epilogue's m counts over all batches: (outer * inner.count + inner) * M + row.
template <class T, Along A, Along B, class Epilogue>
__global__ void __launch_bounds__(T::threads) gemm_f32(const GemmArgs g, const Epilogue epilogue) {
  const int64_t m0 = static_cast<int64_t>(blockIdx.x) * T::BM;
  const int64_t batches = g.outer.count * g.inner.count;
  if (m0 >= g.M) return;
  for (int64_t batch = blockIdx.z; batch < batches; batch += gridDim.z) {
    const int64_t outer = batch / g.inner.count, inner = batch % g.inner.count;
    const MatrixSource<A> a(g.a + outer * g.outer.a + inner * g.inner.a, g.M, g.K, g.aRow, g.aK);
    const MatrixSource<B> b(g.b + outer * g.outer.b + inner * g.inner.b, g.N, g.K, g.bColumn, g.bK);
    const TileResult to{
        g.c + outer * g.outer.c + inner * g.inner.c, g.cRow, g.M, g.N, batch * g.M, 0};
    for (int64_t n0 = static_cast<int64_t>(blockIdx.y) * T::BN; n0 < g.N;
         n0 += static_cast<int64_t>(gridDim.y) * T::BN)
      compute_tile<T>(a, b, g.K, to, m0, n0, epilogue);
  }
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif
