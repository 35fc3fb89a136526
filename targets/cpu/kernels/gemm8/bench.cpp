// SPDX-License-Identifier: Apache-2.0
//
// Speed of products of 8-bit numbers on shapes of transformers, convolutions and recurrent nets.
// "Peak" is that of f32.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/gemm8/gemm8.h"
#include "targets/cpu/kernels/gemm8/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Dequantise {
  const float* scale;
  template <class V> ORTC_INLINE auto operator()(V acc, int64_t, int64_t n, int lanes) const {
    return convert<float>(acc) * load_lanes<like<float, V>>(scale + n, lanes);
  }
};

template <int MR, int NV, int Bytes, int Group, bool Unsigned = true>
void add(Bench& bench, int64_t M, int64_t N, int64_t K) {
  constexpr int NR = NV * Bytes / 4;
  const auto* a = reinterpret_cast<int8_t*>(allocate(M * K / 4 + 1));
  const std::vector<int16_t> b(size_t(K * N), 3);
  const PanelLayout layout{NR, Group, Group == 4 && !Unsigned};
  auto* packed = reinterpret_cast<int8_t*>(allocate(packedGemm8Bytes(K, N, layout) / 4));
  const float* scale = allocate(N);
  float* c = allocate(M * N);
  packGemm8(b.data(), K, N, N, 1, layout, packed);
  char name[100];
  std::snprintf(name, sizeof name, "%lldx%lldx%lld %s tile %dx%d, group %d", (long long)M,
                (long long)N, (long long)K, Unsigned ? "u8" : "s8", MR, NR, Group);
  bench.add(name, 2.0 * double(M) * double(N) * double(K), [=] {
    gemm8<MR, NV, Bytes, Group, Unsigned, false>(Gemm8Args<float>{a, K, packed, c, N, M, N, K},
                                                 Dequantise{scale}, serial());
  });
}

} // namespace

int main() {
  Bench bench;
  for (auto [M, N, K] : {std::array<int64_t, 3>{128, 768, 768},
                         {128, 3072, 768},
                         {128, 768, 3072},
                         {196, 512, 2304},
                         {3136, 64, 576},
                         {3136, 256, 64},
                         {16, 768, 768},
                         {4, 768, 768}}) {
#if defined(__AVX512VNNI__)
    add<6, 4, 64, 4>(bench, M, N, K);
    add<8, 3, 64, 4>(bench, M, N, K);
    add<14, 2, 64, 4>(bench, M, N, K);
#elif defined(__AVX512F__)
    add<6, 4, 64, 2>(bench, M, N, K);
    add<8, 3, 64, 2>(bench, M, N, K);
#elif defined(__AVX__)
    add<6, 2, 32, 2>(bench, M, N, K);
    add<4, 3, 32, 2>(bench, M, N, K);
    add<4, 2, 32, 2>(bench, M, N, K);
#endif
    add<4, 2, 16, 2>(bench, M, N, K);
  }
  for (auto [N, K] : {std::array<int64_t, 2>{768, 768}, {2048, 512}, {4096, 4096}}) {
#if defined(__AVX512VNNI__)
    add<1, 8, 64, 4>(bench, 1, N, K);
    add<1, 8, 64, 4, false>(bench, 1, N, K);
#elif defined(__AVX512F__)
    add<1, 8, 64, 2>(bench, 1, N, K);
#elif defined(__AVX__)
    add<1, 8, 32, 2>(bench, 1, N, K);
    add<1, 4, 32, 2>(bench, 1, N, K);
    add<6, 2, 32, 2>(bench, 1, N, K);
#endif
    add<1, 8, 16, 2>(bench, 1, N, K);
  }
  bench.run();
}
