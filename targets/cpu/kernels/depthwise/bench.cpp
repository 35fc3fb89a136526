// SPDX-License-Identifier: Apache-2.0
//
// Speed of depthwise convolution on the layers of MobileNet and EfficientNet.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/depthwise/depthwise.h"
#include "targets/cpu/kernels/depthwise/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

template <int K, int S, int TW, int Tail>
void add(Bench& bench, int64_t C, int64_t size, bool general = false) {
  constexpr int Bytes = 4 * native_lanes<float>;
  const int64_t pad = K / 2, out = (size + 2 * pad - K) / S + 1;
  DepthwiseArgs a = {};
  a.images = 1, a.C = C, a.height = a.width = {size, out, K, S, 1, pad};
  a.xPixel = a.yPixel = C, a.xRow = size * C, a.xPlane = a.xImage = size * a.xRow;
  a.x = allocate(a.xImage), a.y = allocate(out * out * C), a.workspace = allocate(C);
  a.w = allocate(packedDepthwiseFloats(C, K * K, Bytes / 4));
  float* bias = allocate(C);
  char name[100];
  std::snprintf(name, sizeof name, "%dx%d s%d %lld@%lld %s", K, K, S, (long long)C, (long long)size,
                general ? "general" : "");
  bench.add(name, 2.0 * double(out * out * C * K * K), [=] {
    if (general)
      depthwise_any_f32<Bytes>(a, BiasRelu{bias}, serial());
    else
      depthwise_f32<TW, Tail, K, S, Bytes>(a, BiasRelu{bias}, serial());
  });
}

} // namespace

int main() {
  Bench bench;
  add<3, 1, 7, 1>(bench, 32, 112);
  add<3, 2, 7, 1>(bench, 96, 112);
  add<3, 1, 7, 1>(bench, 144, 56);
  add<3, 1, 7, 1>(bench, 384, 14);
  add<3, 1, 7, 1>(bench, 960, 7);
  add<5, 2, 7, 1>(bench, 72, 56);
  add<5, 1, 7, 1>(bench, 480, 14);
  add<5, 1, 7, 1>(bench, 960, 7);
  add<3, 1, 7, 5>(bench, 256, 19);
  add<3, 1, 7, 1>(bench, 32, 112, true);
  add<3, 1, 7, 1>(bench, 384, 14, true);
  add<5, 1, 7, 1>(bench, 480, 14, true);
  bench.run();
}
