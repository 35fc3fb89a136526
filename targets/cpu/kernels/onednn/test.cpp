// SPDX-License-Identifier: Apache-2.0
//
// The call of the library against a reference summed in double: both layouts of B, batches,
// pitches, epilogues at every edge, and the same bits for any number of threads.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/onednn/onednn.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Shape {
  int64_t M, N, K, batch = 1, extra = 0; // extra floats of every pitch
};

template <bool Transposed>
void check(const Shape& s, const executor& threads, std::vector<float>* result = nullptr) {
  const int64_t bRows = Transposed ? s.N : s.K, bColumns = Transposed ? s.K : s.N;
  const int64_t lda = s.K + s.extra, ldb = bColumns + s.extra, ldc = s.N + s.extra;
  Guarded a(s.batch * s.M * lda), b(s.batch * bRows * ldb), c(s.batch * s.M * ldc), bias(s.N);
  a.randomise(1), b.randomise(2), bias.randomise(3), c.fill(77.0f);
  OneDnnArgs g;
  g.a = a.data(), g.lda = lda, g.b = b.data(), g.ldb = ldb, g.c = c.data(), g.ldc = ldc;
  g.M = s.M, g.N = s.N, g.K = s.K;
  g.inner = {s.batch, s.M * lda, bRows * ldb, s.M * ldc};
  onednn_gemm_f32<Transposed>(g, BiasRelu{bias.data()}, threads);

  INFO("M=" << s.M << " N=" << s.N << " K=" << s.K << " batch=" << s.batch);
  double worst = 0;
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t m = 0; m < s.M; ++m) {
      for (int64_t n = 0; n < s.N; ++n) {
        double sum = bias[n], size = 1;
        for (int64_t k = 0; k < s.K; ++k) {
          const double term = double(a[(i * s.M + m) * lda + k]) *
                              b[i * bRows * ldb + (Transposed ? n * ldb + k : k * ldb + n)];
          sum += term, size += std::fabs(term);
        }
        worst = std::max(worst, std::fabs(c[(i * s.M + m) * ldc + n] - std::max(0.0, sum)) / size);
      }
      for (int64_t n = s.N; n < ldc; ++n)
        REQUIRE(c[(i * s.M + m) * ldc + n] == 77.0f);
    }
  CHECK(worst < 3e-7 * (1 + std::sqrt(double(s.K))));
  if (result) result->assign(c.begin(), c.end());
}

template <bool Transposed> void checkAll() {
  for (int64_t M : {1, 3, 48})
    for (int64_t N : {1, 15, 16, 17, 70})
      check<Transposed>({M, N, 33}, serial());
  check<Transposed>({20, 30, 100, 3, 5}, serial());
  std::vector<float> one, many;
  check<Transposed>({1000, 40, 64, 2}, serial(), &one);
  for (int threads : {2, 5}) {
    ThreadedPool pool{threads};
    check<Transposed>({1000, 40, 64, 2}, pool.get(), &many);
    CHECK(one == many);
  }
}

TEST_CASE("B by rows") {
  checkAll<false>();
}
TEST_CASE("B by columns") {
  checkAll<true>();
}

TEST_CASE("the caller's setting of OpenMP is left as it was") {
  REQUIRE(omp_get_max_threads); // the library of the distribution is built for OpenMP
  omp_set_num_threads(3);
  check<false>({8, 8, 8}, serial());
  CHECK(omp_get_max_threads() == 3);
}

} // namespace
