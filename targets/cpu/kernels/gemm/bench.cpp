// SPDX-License-Identifier: Apache-2.0
//
// Speed of the matrix product on shapes of BERT, ResNet-50 and single rows, as a share of the
// measured peak.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/gemm/gemm.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/gemm/unpacked.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

template <int MR, int NV, int Bytes, Rows R>
void add(Bench& bench, int64_t M, int64_t N, int64_t K, int64_t ldaExtra = 0) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t lda = K + ldaExtra;
  float* a = allocate(M * lda);
  float* b = allocate(K * N);
  float* packed = allocate(packedGemmFloats(K, N, NR));
  float* bias = allocate(N);
  float* c = allocate(M * N);
  packGemm(b, K, N, N, 1, NR, packed);
  char name[100];
  std::snprintf(name, sizeof name, "%lldx%lldx%lld tile %dx%d (%d bytes)", (long long)M,
                (long long)N, (long long)K, MR, NR, Bytes);
  bench.add(name, 2.0 * double(M) * double(N) * double(K), [=] {
    gemm_f32<MR, NV, Bytes, R>({a, lda, packed, c, N, M, N, K}, BiasRelu{bias}, serial());
  });
}

// Q K^T (Transposed) and P V of attention, laid out [row][head][64].
template <int MR, int NV, int Bytes, bool Transposed>
void addAttention(Bench& bench, int64_t M, int64_t S, int64_t heads) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t D = 64, N = Transposed ? S : D, K = Transposed ? D : S;
  UnpackedArgs g;
  g.M = M, g.N = N, g.K = K;
  g.a = allocate(heads * M * K), g.b = allocate(S * heads * D), g.c = allocate(heads * M * N);
  g.ldb = heads * D;
  g.lda = Transposed ? heads * D : K;
  g.ldc = Transposed ? N : heads * D;
  g.inner = {heads, Transposed ? D : M * K, D, Transposed ? M * N : D};
  g.workspace = allocate(unpackedWorkspaceFloats(K, NR));
  float* bias = allocate(N);
  char name[100];
  std::snprintf(name, sizeof name, "%s %lld heads, %lldx%lld tile %dx%d",
                Transposed ? "Q K^T" : "P V", (long long)heads, (long long)M, (long long)S, MR, NR);
  bench.add(name, 2.0 * double(heads) * double(M) * double(N) * double(K),
            [=] { gemm_unpacked_f32<MR, NV, Bytes, Transposed>(g, BiasRelu{bias}, serial()); });
}

} // namespace

int main() {
  Bench bench;
#if defined(__AVX512F__)
  for (auto [M, N, K] :
       {std::array<int64_t, 3>{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}}) {
    add<14, 2, 64, Rows::Any>(bench, M, N, K);
    add<13, 2, 64, Rows::Even>(bench, M, N, K);
    add<9, 3, 64, Rows::Even>(bench, M, N, K);
    add<8, 3, 64, Rows::Exact>(bench, M, N, K);
    add<6, 4, 64, Rows::Any>(bench, M, N, K);
  }
  for (auto [M, N, K] : {std::array<int64_t, 3>{3136, 64, 576},
                         {3136, 256, 64},
                         {784, 512, 128},
                         {196, 1024, 256},
                         {196, 256, 1024},
                         {196, 512, 2304}}) {
    const int64_t extra = K % 1024 == 0 ? 16 : 0;
    add<14, 2, 64, Rows::Exact>(bench, M, N, K, extra);
    add<6, 4, 64, Rows::Any>(bench, M, N, K, extra);
  }
  add<6, 4, 64, Rows::Even>(bench, 49, 2048, 512);
  add<13, 2, 64, Rows::Even>(bench, 49, 2048, 512);
  add<16, 2, 64, Rows::Any>(bench, 16, 768, 768);
  add<8, 3, 64, Rows::Any>(bench, 16, 768, 768);
  add<8, 3, 64, Rows::Any>(bench, 8, 768, 768);
  add<4, 4, 64, Rows::Any>(bench, 4, 768, 768);
  add<2, 4, 64, Rows::Any>(bench, 2, 768, 768);
  add<1, 8, 64, Rows::Any>(bench, 1, 768, 768);
  add<14, 2, 64, Rows::Any>(bench, 1, 768, 768);
  for (int64_t S : {128, 512}) {
    addAttention<6, 4, 64, true>(bench, S, S, 12);
    addAttention<6, 4, 64, false>(bench, S, S, 12);
  }
  addAttention<6, 4, 64, true>(bench, 1, 512, 12);
  addAttention<6, 4, 64, false>(bench, 1, 512, 12);
#endif
#if defined(__AVX__)
  add<4, 3, 32, Rows::Exact>(bench, 128, 768, 768);
  add<6, 2, 32, Rows::Any>(bench, 128, 768, 768);
  add<6, 2, 32, Rows::Any>(bench, 3136, 64, 576);
  add<1, 8, 32, Rows::Any>(bench, 1, 768, 768);
#endif
  add<4, 2, 16, Rows::Exact>(bench, 128, 768, 768);
  add<4, 3, 16, Rows::Exact>(bench, 128, 768, 768);
  add<6, 2, 16, Rows::Any>(bench, 128, 768, 768);
  bench.run();
}
