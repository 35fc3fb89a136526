// SPDX-License-Identifier: Apache-2.0
// The library beside our own kernel, for the rates in targets/cpu/Gemm.cpp. One thread.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/onednn/onednn.h"

#include <string>

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

int main() {
  Bench bench;
  constexpr int64_t shapes[][3] = {
      {1, 768, 768},    {4, 768, 768},   {16, 768, 768},  {128, 768, 768},  {128, 3072, 768},
      {128, 768, 3072}, {197, 768, 768}, {784, 128, 512}, {196, 1024, 256}, {1024, 1024, 1024}};
  constexpr int NV = 4, Bytes = ORTC_VEC_BYTES, NR = NV * Bytes / 4;
  for (const auto& [M, N, K] : shapes) {
    const double flops = 2.0 * double(M) * double(N) * double(K);
    const std::string name = std::to_string(M) + "," + std::to_string(N) + "," + std::to_string(K);
    float *a = allocate(M * K), *b = allocate(K * N), *c = allocate(M * N);
    float* packed = allocate(packedGemmFloats(K, N, NR));
    packGemm(b, K, N, N, 1, NR, packed);
    GemmArgs ours{a, K, packed, c, N, M, N, K};
    ours.prefetchBytes = 384 << 10;
    OneDnnArgs theirs{a, K, b, N, c, N, M, N, K};
    bench.add(name + " ours", flops, [=] {
      if (ours.M == 1)
        gemm_f32<1, NV, Bytes>(ours, Identity{}, serial());
      else if (ours.M == 4)
        gemm_f32<4, NV, Bytes>(ours, Identity{}, serial());
      else
        gemm_f32<6, NV, Bytes>(ours, Identity{}, serial());
    });
    bench.add(name + " onednn", flops,
              [=] { onednn_gemm_f32<false>(theirs, Identity{}, serial()); });
  }
  bench.run();
}
