// SPDX-License-Identifier: Apache-2.0
// No MLIR in here: compiled with full optimisation, once per instruction set, chosen when the
// program starts.
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#define ORTC_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define ORTC_CLONES
#endif

namespace ortc {

namespace {
typedef double Doubles __attribute__((vector_size(64), aligned(8)));
typedef uint64_t Integers __attribute__((vector_size(64), aligned(8)));
} // namespace

// Four rows of two vectors stay in registers. The product of two f32 is exact in f64, so that a
// fused multiply-add would change nothing for them.
#define ORTC_TILE(Vector)                                                                          \
  Vector sum[4][2];                                                                                \
  std::memcpy(sum, c, sizeof sum);                                                                 \
  for (int64_t i = 0; i < k; ++i, a += 4, b += 16) {                                               \
    Vector left, right;                                                                            \
    std::memcpy(&left, b, sizeof left);                                                            \
    std::memcpy(&right, b + 8, sizeof right);                                                      \
    sum[0][0] += a[0] * left, sum[0][1] += a[0] * right;                                           \
    sum[1][0] += a[1] * left, sum[1][1] += a[1] * right;                                           \
    sum[2][0] += a[2] * left, sum[2][1] += a[2] * right;                                           \
    sum[3][0] += a[3] * left, sum[3][1] += a[3] * right;                                           \
  }                                                                                                \
  std::memcpy(c, sum, sizeof sum);

ORTC_CLONES void accumulateTile(int64_t k, const double* a, const double* b,
                                double* c){ORTC_TILE(Doubles)} ORTC_CLONES
    void accumulateTile(int64_t k, const uint64_t* a, const uint64_t* b, uint64_t* c) {
  ORTC_TILE(Integers)
}

} // namespace ortc
