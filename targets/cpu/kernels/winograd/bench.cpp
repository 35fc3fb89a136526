// SPDX-License-Identifier: Apache-2.0
//
// Winograd's convolution on 3x3 layers of ResNet-50 and others; GFLOP/s count the direct form, so
// more than the peak is possible.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/winograd/pack.h"
#include "targets/cpu/kernels/winograd/winograd.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

template <int O, int MR, int NV, Rows R>
void add(Bench& bench, int64_t IC, int64_t OC, int64_t size) {
  constexpr int Bytes = 4 * native_lanes<float>, NR = NV * Bytes / 4;
  WinogradArgs a = {};
  a.images = 1, a.IC = IC, a.OC = OC;
  a.height = a.width = {size, size, 3, 1, 1, 1};
  a.xPixel = IC, a.xRow = size * IC, a.xImage = size * a.xRow, a.yPixel = OC;
  a.x = allocate(a.xImage), a.y = allocate(size * size * OC);
  a.u = allocate(packedWinogradFloats(OC, IC, O, NR));
  a.workspace = allocate(winogradWorkspaceFloats(a, O));
  float* bias = allocate(OC);
  char name[100];
  std::snprintf(name, sizeof name, "F%d %lld>%lld@%lld tile %dx%d", O, (long long)IC, (long long)OC,
                (long long)size, MR, NR);
  bench.add(name, 2.0 * double(size * size * OC * IC * 9),
            [=] { winograd_f32<O, MR, NV, Bytes, R>(a, BiasRelu{bias}, serial()); });
}

} // namespace

int main() {
  Bench bench;
#if defined(__AVX512F__)
  constexpr int MR = 6, NV = 4;
#else
  constexpr int MR = 4, NV = 3;
#endif
  add<4, MR, NV, Rows::Even>(bench, 64, 64, 56);
  add<4, MR, NV, Rows::Even>(bench, 128, 128, 28);
  add<4, MR, NV, Rows::Even>(bench, 256, 256, 14);
  add<2, MR, NV, Rows::Even>(bench, 512, 512, 7);
  add<4, MR, NV, Rows::Any>(bench, 512, 512, 7);
  add<2, MR, NV, Rows::Even>(bench, 256, 256, 14);
  add<4, MR, NV, Rows::Even>(bench, 64, 64, 224);
  add<4, MR, NV, Rows::Even>(bench, 256, 256, 56);
  add<4, MR, NV, Rows::Even>(bench, 512, 512, 28);
  add<4, MR, NV, Rows::Even>(bench, 64, 192, 55);
#if defined(__AVX512F__)
  add<4, 14, 2, Rows::Any>(bench, 64, 64, 56);
  add<4, 8, 2, Rows::Any>(bench, 256, 256, 14);
  add<4, 14, 2, Rows::Any>(bench, 128, 32, 28);
#endif
  bench.run(9);
}
