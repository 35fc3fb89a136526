// SPDX-License-Identifier: Apache-2.0
//
// Speed of convolutions of 8-bit numbers on layers of ResNet-50. "Peak" is that of f32.
#include "targets/cpu/kernels/BenchSupport.h"
#include "targets/cpu/kernels/conv8/conv8.h"
#include "targets/cpu/kernels/conv8/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

template <int MR, int NV, int Bytes, int Group>
void add(Bench& bench, int64_t size, int64_t IC, int64_t OC, int64_t kernel, int64_t stride) {
  constexpr int NR = NV * Bytes / 4;
  const auto bytes = [](int64_t n) { return reinterpret_cast<int8_t*>(allocate(n / 4 + 16)); };
  const int64_t taps = kernel * kernel, pad = kernel / 2, out = (size - 1) / stride + 1;
  Conv8Args<int32_t> a{};
  a.images = 1, a.IC = IC, a.OC = OC, a.groups = 1;
  a.height = a.width = {size, out, kernel, stride, 1, pad};
  a.xPixel = IC, a.xRow = size * IC, a.xPlane = a.xImage = size * size * IC, a.yPixel = OC;
  const PanelLayout layout{NR, Group};
  int8_t* packed = bytes(packedConv8Bytes(OC, IC, taps, 1, layout));
  packConv8(std::vector<int16_t>(size_t(OC * IC * taps), 3).data(), OC, IC, taps, 1, layout,
            packed);
  a.x = bytes(size * size * IC), a.w = packed;
  a.y = reinterpret_cast<int32_t*>(allocate(out * out * OC));
  a.workspace = allocate(conv8WorkspaceBytes(taps * IC) / 4);
  char name[100];
  std::snprintf(name, sizeof name, "%lldx%lld/%lld @%lld, %lld>%lld tile %dx%d, group %d",
                (long long)kernel, (long long)kernel, (long long)stride, (long long)size,
                (long long)IC, (long long)OC, MR, NR, Group);
  bench.add(name, 2.0 * double(out * out) * double(OC) * double(IC * taps),
            [=] { conv8<MR, NV, Bytes, Group, true, false>(a, Identity{}, serial()); });
}

} // namespace

int main() {
  Bench bench;
  constexpr int Bytes = ORTC_VEC_BYTES;
#if defined(__AVX512VNNI__)
  constexpr int MR = 6, NV = 4, Group = 4;
#elif defined(__AVX512F__)
  constexpr int MR = 6, NV = 4, Group = 2;
#else
  constexpr int MR = 4, NV = 2, Group = 2;
#endif
  for (auto [size, channels] : {std::array<int64_t, 2>{56, 64}, {28, 128}, {14, 256}, {7, 512}}) {
    add<MR, NV, Bytes, Group>(bench, size, channels, channels, 3, 1);
    add<MR, NV, Bytes, Group>(bench, size, channels, 4 * channels, 1, 1);
  }
  add<MR, NV, Bytes, Group>(bench, 224, 3, 64, 7, 2);
  bench.run();
}
