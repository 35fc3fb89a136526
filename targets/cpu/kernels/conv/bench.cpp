// SPDX-License-Identifier: Apache-2.0
//
// Speed of the direct convolution on the layers of ResNet-50 and some of other nets, as a share of
// the measured peak.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/conv/conv.h"
#include "targets/cpu/kernels/conv/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct Layer {
  int64_t IC, OC, size, kernel, stride, groups = 1; // channels of one group
};

template <int MR, int NV, int Bytes, Rows R> void add(Bench& bench, const Layer& l) {
  constexpr int NR = NV * Bytes / 4;
  const int64_t pad = l.kernel / 2, out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
  const int64_t taps = l.kernel * l.kernel;
  const auto pitch = [](int64_t channels) { return channels % 1024 ? channels : channels + 16; };
  ConvArgs a = {};
  a.images = 1, a.IC = l.IC, a.OC = l.OC, a.groups = l.groups;
  a.height = a.width = {l.size, out, l.kernel, l.stride, 1, pad};
  a.xPixel = pitch(l.IC * l.groups), a.xRow = l.size * a.xPixel,
  a.xPlane = a.xImage = l.size * a.xRow;
  a.yPixel = pitch(l.OC * l.groups);
  a.x = allocate(a.xImage);
  a.w = allocate(packedConvFloats(l.OC, l.IC, taps, l.groups, NR));
  a.y = allocate(out * out * a.yPixel);
  a.workspace = allocate(convWorkspaceFloats(a, MR));
  float* bias = allocate(l.OC * l.groups);
  char name[100];
  std::snprintf(name, sizeof name, "%lldx%lld %lld>%lld@%lld s%lld g%lld tile %dx%d",
                (long long)l.kernel, (long long)l.kernel, (long long)l.IC, (long long)l.OC,
                (long long)l.size, (long long)l.stride, (long long)l.groups, MR, NR);
  bench.add(name, 2.0 * double(out * out * l.OC * l.groups * l.IC * taps),
            [=] { conv_f32<MR, NV, Bytes, R>(a, BiasRelu{bias}, serial()); });
}

} // namespace

int main() {
  Bench bench;
#if defined(__AVX512F__)
  constexpr Rows Exact = Rows::Exact, Even = Rows::Even, Any = Rows::Any;
  add<14, 2, 64, Exact>(bench, {3, 64, 224, 7, 2});
  add<6, 4, 64, Any>(bench, {3, 64, 224, 7, 2});
  add<14, 2, 64, Exact>(bench, {64, 64, 56, 3, 1});
  add<6, 4, 64, Any>(bench, {64, 64, 56, 3, 1});
  add<14, 2, 64, Exact>(bench, {128, 128, 28, 3, 1});
  add<14, 2, 64, Exact>(bench, {256, 256, 14, 3, 1});
  add<13, 2, 64, Even>(bench, {512, 512, 7, 3, 1});
  add<14, 2, 64, Exact>(bench, {128, 128, 56, 3, 2});
  add<14, 2, 64, Exact>(bench, {256, 256, 28, 3, 2});
  add<13, 2, 64, Even>(bench, {512, 512, 14, 3, 2});
  add<14, 2, 64, Exact>(bench, {64, 256, 56, 1, 1});
  add<6, 4, 64, Any>(bench, {64, 256, 56, 1, 1});
  add<14, 2, 64, Exact>(bench, {256, 64, 56, 1, 1});
  add<14, 2, 64, Exact>(bench, {128, 512, 28, 1, 1});
  add<14, 2, 64, Exact>(bench, {512, 128, 28, 1, 1});
  add<14, 2, 64, Exact>(bench, {256, 1024, 14, 1, 1});
  add<14, 2, 64, Exact>(bench, {1024, 256, 14, 1, 1});
  add<13, 2, 64, Even>(bench, {512, 2048, 7, 1, 1});
  add<13, 2, 64, Even>(bench, {2048, 512, 7, 1, 1});
  add<14, 2, 64, Exact>(bench, {256, 512, 56, 1, 2});
  add<13, 2, 64, Even>(bench, {1024, 2048, 14, 1, 2});
  add<14, 2, 64, Exact>(bench, {3, 32, 224, 3, 2}); // MobileNet
  add<14, 2, 64, Exact>(bench, {16, 96, 112, 1, 1});
  add<8, 3, 64, Exact>(bench, {16, 96, 112, 1, 1});
  add<6, 4, 64, Any>(bench, {24, 144, 56, 1, 1});
  add<9, 3, 64, Any>(bench, {24, 144, 56, 1, 1});
  add<14, 1, 32, Exact>(bench, {8, 8, 56, 3, 1, 26}); // RegNet
  add<14, 1, 64, Exact>(bench, {8, 8, 56, 3, 1, 26});
#elif defined(__AVX__)
  constexpr Rows Exact = Rows::Exact;
  add<6, 2, 32, Rows::Any>(bench, {3, 64, 224, 7, 2});
  add<6, 2, 32, Rows::Any>(bench, {64, 64, 56, 3, 1});
  add<4, 3, 32, Exact>(bench, {64, 96, 56, 3, 1});
  add<6, 2, 32, Rows::Any>(bench, {256, 64, 56, 1, 1});
  add<4, 3, 32, Exact>(bench, {64, 264, 56, 1, 1});
#endif
  bench.run();
}
