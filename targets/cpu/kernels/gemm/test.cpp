// SPDX-License-Identifier: Apache-2.0
//
// Every tile of the table against a reference summed in double, with edges in both directions,
// pitches, batches and memory that ends in an unmapped page.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/gemm/gemm.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/gemm/small.h"
#include "targets/cpu/kernels/gemm/unpacked.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Shape {
  int64_t M, N, K, batch = 1;
  bool sharedB = false;
  int64_t ldaExtra = 0, ldcExtra = 0;
};

// Runs one product with bias, residual and ReLU, and returns the largest error in units of K *
// epsilon.
template <int MR, int NV, int Bytes, Rows R>
void check(const Shape& s, const executor& pool, std::vector<float>* result = nullptr) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t lda = s.K + s.ldaExtra, ldc = s.N + s.ldcExtra;
  const int64_t batchB = s.sharedB ? 1 : s.batch;
  Guarded a(s.batch * s.M * lda), b(batchB * s.K * s.N), c(s.batch * s.M * ldc - s.ldcExtra);
  Guarded bias(s.N), residual(s.batch * s.M * s.N), packed(batchB * packedGemmFloats(s.K, s.N, NR));
  a.randomise(1), b.randomise(2), bias.randomise(3), residual.randomise(4), c.fill(77.0f);
  for (int64_t i = 0; i < batchB; ++i)
    packGemm(b.data() + i * s.K * s.N, s.K, s.N, s.N, 1, NR,
             packed.data() + i * packedGemmFloats(s.K, s.N, NR));

  GemmArgs g{a.data(), lda, packed.data(), c.data(), ldc, s.M, s.N, s.K};
  GemmBatch& batch = s.batch % 2 ? g.inner : g.outer; // both axes get tested
  batch.count = s.batch;
  batch.a = s.M * lda;
  batch.b = s.sharedB ? 0 : packedGemmFloats(s.K, s.N, NR);
  batch.c = s.M * ldc;
  g.prefetchBytes = 4096;
  gemm_f32<MR, NV, Bytes, R>(g, BiasAddRelu{bias.data(), residual.data(), s.N}, pool);

  INFO("tile " << MR << "x" << NR << ", " << Bytes << " bytes: M=" << s.M << " N=" << s.N
               << " K=" << s.K << " batch=" << s.batch);
  double worst = 0;
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t m = 0; m < s.M; ++m)
      for (int64_t n = 0; n < s.N; ++n) {
        double sum = bias[n], size = 1;
        for (int64_t k = 0; k < s.K; ++k) {
          const double term =
              double(a[(i * s.M + m) * lda + k]) * b[((s.sharedB ? 0 : i) * s.K + k) * s.N + n];
          sum += term;
          size += std::fabs(term);
        }
        const double expected = std::max(0.0, sum + residual[(i * s.M + m) * s.N + n]);
        worst = std::max(worst, std::fabs(c[(i * s.M + m) * ldc + n] - expected) / size);
      }
  CHECK(worst < 3e-7 * (1 + std::sqrt(double(s.K))));
  for (int64_t m = 0; m + 1 < s.batch * s.M; ++m) // what lies between rows stays as it was
    for (int64_t n = s.N; n < ldc; ++n)
      REQUIRE(c[m * ldc + n] == 77.0f);
  if (result) result->assign(c.begin(), c.end());
}

template <int MR, int NV, int Bytes> void checkTile() {
  const executor pool = serial();
  constexpr int64_t NR = NV * Bytes / 4;
  for (int64_t M : {1, 2, 3, 5, 7, 8, 13, 15, 29, 44})
    for (int64_t N : {int64_t(1), NR - 1, NR, NR + 1, 2 * NR + 3})
      check<MR, NV, Bytes, Rows::Any>({M, N, 19}, pool);
  check<MR, NV, Bytes, Rows::Any>({2 * MR + 1, NR + 5, 200, 3, false, 3, 7}, pool);
  check<MR, NV, Bytes, Rows::Any>({MR, NR, 64, 5, true, 0, 1}, pool);
  check<MR, NV, Bytes, Rows::Any>({MR, NR, 1}, pool);
  check<MR, NV, Bytes, Rows::Exact>({4 * MR, 3 * NR, 100}, pool);
  for (int64_t M = 1; M < 8 * MR; M += 3)
    if (rowsAreEven(M, MR)) check<MR, NV, Bytes, Rows::Even>({M, NR + 4, 33}, pool);
}

// Each build tests the vectors of its instruction set: there is a build for each.
TEST_CASE("tiles") {
#if defined(__AVX512F__)
  checkTile<14, 2, 64>();
  checkTile<9, 3, 64>();
  checkTile<6, 4, 64>();
  checkTile<1, 8, 64>();
  checkTile<14, 1, 32>();
#elif defined(__AVX__)
  checkTile<4, 3, 32>();
  checkTile<6, 2, 32>();
  checkTile<1, 8, 32>();
#else
  checkTile<4, 2, 16>();
  checkTile<4, 3, 16>();
  checkTile<1, 8, 16>();
#endif
}

// All sizes are part of the type; rows of A and C have room behind them.
template <int M, int N, int K, int NV> void checkSmall() {
  constexpr int Bytes = ORTC_VEC_BYTES, NR = NV * Bytes / 4, lda = K + 3, ldc = N + 2;
  Guarded a(M * lda - 3), b(K * N), c(M * ldc - 2), bias(N), residual(M * N),
      packed(packedGemmFloats(K, N, NR));
  a.randomise(1), b.randomise(2), bias.randomise(3), residual.randomise(4), c.fill(77.0f);
  packGemm(b.data(), K, N, N, 1, NR, packed.data());
  gemm_small_f32<M, N, K, NV, Bytes>(GemmArgs{a.data(), lda, packed.data(), c.data(), ldc, M, N, K},
                                     BiasAddRelu{bias.data(), residual.data(), N}, serial());
  INFO("M=" << M << " N=" << N << " K=" << K << " NV=" << NV);
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      double sum = bias[n] + residual[m * N + n];
      for (int k = 0; k < K; ++k)
        sum += double(a[m * lda + k]) * b[k * N + n];
      CHECK(c[m * ldc + n] == Approx(std::max(0.0, sum)).margin(1e-5));
    }
    for (int n = N; n < ldc && m + 1 < M; ++n)
      REQUIRE(c[m * ldc + n] == 77.0f);
  }
}

TEST_CASE("small products") {
  checkSmall<1, 1, 1, 1>();
  checkSmall<1, 8, 32, 1>();
  checkSmall<1, 32, 16, 2>();
  checkSmall<1, 64, 64, 4>();
  checkSmall<1, 100, 17, 8>();
  checkSmall<3, 37, 3, 2>();
  checkSmall<4, 5, 2, 1>();
  checkSmall<2, 130, 10, 3>();
}

template <int MR, int NV, int Bytes, bool Transposed>
void checkUnpacked(int64_t M, int64_t N, int64_t K, int64_t outer, int64_t inner, bool sharedB,
                   int64_t ldbExtra, const executor& threads = serial(),
                   std::vector<float>* result = nullptr) {
  constexpr int NR = NV * Bytes / 4;
  // As attention lays them out: [outer][row][inner][column]
  const int64_t bRows = Transposed ? N : K, bColumns = Transposed ? K : N;
  const int64_t innerB = sharedB ? 1 : inner, ldb = innerB * bColumns + ldbExtra;
  Guarded a(outer * M * inner * K), b(outer * bRows * ldb - ldbExtra), c(outer * M * inner * N);
  Guarded bias(N), workspace(unpackedWorkspaceFloats(K, NR));
  a.randomise(1), b.randomise(2), bias.randomise(3), c.fill(77.0f), workspace.fill(55.0f);
  UnpackedArgs g;
  g.a = a.data(), g.lda = inner * K, g.b = b.data(), g.ldb = ldb, g.c = c.data();
  g.ldc = inner * N, g.M = M, g.N = N, g.K = K, g.workspace = workspace.data();
  g.outer = {outer, M * inner * K, bRows * ldb, M * inner * N};
  g.inner = {inner, K, sharedB ? 0 : bColumns, N};
  gemm_unpacked_f32<MR, NV, Bytes, Transposed>(g, BiasRelu{bias.data()}, threads);

  INFO("tile " << MR << "x" << NR << (Transposed ? " transposed" : "") << ": " << M << "x" << N
               << "x" << K << " batch " << outer << "x" << inner);
  double worst = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t m = 0; m < M; ++m)
        for (int64_t n = 0; n < N; ++n) {
          double sum = bias[n], size = 1;
          for (int64_t k = 0; k < K; ++k) {
            const int64_t row = Transposed ? n : k, column = Transposed ? k : n;
            const double term = double(a[((o * M + m) * inner + i) * K + k]) *
                                b[(o * bRows + row) * ldb + (sharedB ? 0 : i) * bColumns + column];
            sum += term;
            size += std::fabs(term);
          }
          const double error = c[((o * M + m) * inner + i) * N + n] - std::max(0.0, sum);
          worst = std::max(worst, std::fabs(error) / size);
        }
  CHECK(worst < 3e-7 * (1 + std::sqrt(double(K))));
  if (result) result->assign(c.begin(), c.end());
}

template <int MR, int NV, int Bytes> void checkUnpackedTile() {
  constexpr int64_t NR = NV * Bytes / 4;
  for (int64_t M : {1, 3, 4, 5, 29, 60})
    for (int64_t N : {int64_t(1), NR - 1, NR, 2 * NR + 5})
      for (int64_t K : {1, 4, 37}) {
        checkUnpacked<MR, NV, Bytes, false>(M, N, K, 1, 1, false, 0);
        checkUnpacked<MR, NV, Bytes, true>(M, N, K, 1, 1, false, 3);
      }
  checkUnpacked<MR, NV, Bytes, false>(2 * MR, NR + 1, 20, 2, 3, false, 0);
  checkUnpacked<MR, NV, Bytes, true>(2 * MR, NR + 1, 20, 2, 3, false, 0);
  checkUnpacked<MR, NV, Bytes, false>(40 * MR, NR + 1, 20, 3, 2, true, 2);
  checkUnpacked<MR, NV, Bytes, true>(1, NR + 1, 20, 3, 2, true, 2);
}

TEST_CASE("matrices that are not packed") {
#if defined(__AVX512F__)
  checkUnpackedTile<6, 4, 64>();
#elif defined(__AVX__)
  checkUnpackedTile<6, 2, 32>();
#else
  checkUnpackedTile<4, 3, 16>();
#endif
  std::vector<float> one, many;
  for (const auto& [M, N, K] : {std::array<int64_t, 3>{300, 90, 50}, {1, 900, 50}, {90, 4, 200}}) {
    checkUnpacked<6, 2, 16, true>(M, N, K, 2, 3, false, 0, serial(), &one);
    for (int threads : {2, 5}) {
      ThreadedPool pool{threads};
      checkUnpacked<6, 2, 16, true>(M, N, K, 2, 3, false, 0, pool.get(), &many);
      REQUIRE(std::memcmp(one.data(), many.data(), one.size() * 4) == 0);
    }
  }
}

TEST_CASE("the result has the same bits for any number of threads") {
  for (const Shape& s :
       {Shape{100, 200, 170}, Shape{3, 3000, 400}, Shape{2000, 8, 170}, Shape{40, 24, 400, 6}}) {
    std::vector<float> one, many;
    const executor one_thread = serial();
    check<6, 2, 16, Rows::Any>(s, one_thread, &one);
    for (int threads : {2, 3, 7}) {
      ThreadedPool pool{threads};
      check<6, 2, 16, Rows::Any>(s, pool.get(), &many);
      REQUIRE(std::memcmp(one.data(), many.data(), one.size() * 4) == 0);
    }
  }
}

TEST_CASE("the residual may lie in the output") {
  constexpr int MR = 4, NV = 2, NR = NV * 4;
  const int64_t M = 23, N = 27, K = 31;
  Guarded a(M * K), b(K * N), bias(N), inPlace(M * N), apart(M * N), residual(M * N);
  Guarded packed(packedGemmFloats(K, N, NR));
  a.randomise(1), b.randomise(2), bias.randomise(3), inPlace.randomise(4), residual.randomise(4);
  packGemm(b.data(), K, N, N, 1, NR, packed.data());
  const executor pool = serial();
  gemm_f32<MR, NV, 16>({a.data(), K, packed.data(), apart.data(), N, M, N, K},
                       BiasAddRelu{bias.data(), residual.data(), N}, pool);
  gemm_f32<MR, NV, 16>({a.data(), K, packed.data(), inPlace.data(), N, M, N, K},
                       BiasAddRelu{bias.data(), inPlace.data(), N}, pool);
  CHECK(std::equal(apart.begin(), apart.end(), inPlace.begin()));
}

TEST_CASE("empty sizes write nothing") {
  const executor pool = serial();
  float c = 77.0f;
  gemm_f32<4, 2, 16>({nullptr, 0, nullptr, &c, 1, 0, 1, 1}, Identity{}, pool);
  gemm_f32<4, 2, 16>({nullptr, 0, nullptr, &c, 1, 1, 0, 1}, Identity{}, pool);
  CHECK(c == 77.0f);
  gemm_f32<4, 2, 16>({nullptr, 0, nullptr, &c, 1, 1, 1, 0}, Identity{}, pool);
  CHECK(c == 0.0f); // an empty sum
}

} // namespace
