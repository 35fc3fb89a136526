// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of 8-bit numbers against a plain loop: equal to the last bit, for both signs of the
// input, weights of 8 bits and of 9, with strides, dilations, padding by a zero point, groups and
// pitches.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/conv8/conv8.h"
#include "targets/cpu/kernels/conv8/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

struct AddChannel {
  const int32_t* bias;
  template <class V> ORTC_INLINE V operator()(V acc, int64_t m, int64_t n, int lanes) const {
    return acc + load_lanes<V>(bias + n, lanes) + int32_t(m);
  }
};

struct Shape {
  int64_t IC, OC, groups = 1, images = 1;
  ConvAxis depth, height, width;
  int64_t xExtra = 0, yExtra = 0;
  bool pads = true; // by a number that is not 0
  bool depthwise = false;
};
ConvAxis axis(int64_t in, int64_t kernel, int64_t stride = 1, int64_t dilation = 1,
              int64_t pad = 0) {
  return {in, (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation,
          pad};
}

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets = false>
void check(const Shape& s, const executor& pool = serial()) {
  const PanelLayout layout{NV * Bytes / 4, Group, Group == 4 && !Unsigned, Offsets};
  const int64_t taps = s.depth.kernel * s.height.kernel * s.width.kernel, K = taps * s.IC;
  Conv8Args<int32_t> a; // as bundles do it: what has no default is set
  a.images = s.images, a.IC = s.IC, a.OC = s.OC, a.groups = s.groups;
  a.depth = s.depth, a.height = s.height, a.width = s.width;
  a.xPixel = s.groups * s.IC + s.xExtra, a.xRow = a.xPixel * s.width.in;
  a.xPlane = a.xRow * s.height.in, a.xImage = a.xPlane * s.depth.in;
  a.yPixel = s.groups * s.OC + s.yExtra;
  const int64_t pixels = s.images * s.depth.out * s.height.out * s.width.out;
  std::vector<int8_t> x(s.images * a.xImage),
      packed(packedConv8Bytes(s.OC, s.IC, taps, s.groups, layout));
  std::vector<int16_t> w(s.groups * s.OC * K);
  std::vector<float> workspace(conv8WorkspaceBytes(K) / 4);
  std::vector<int32_t> y(pixels * a.yPixel, 77), bias(s.groups * s.OC);
  uint32_t seed = 5;
  const auto next = [&] { return seed = seed * 1664525u + 1013904223u, int8_t(seed >> 20); };
  for (int8_t& i : x)
    i = next();
  for (size_t i = 0; i < w.size(); ++i) { // u8 less a zero point for each channel, or s8
    const int8_t number = next();
    w[i] = int16_t(Offsets ? int(uint8_t(number)) - int(int64_t(i) / K * 53 % 256) : number);
  }
  for (size_t i = 0; i < bias.size(); ++i)
    bias[i] = int32_t(100 * i);
  const auto padding = int8_t(s.pads ? (Unsigned ? 200 : -5) : 0);
  packConv8(w.data(), s.OC, s.IC, taps, s.groups, layout, packed.data());
  a.x = x.data(), a.w = packed.data(), a.y = y.data();
  if (s.pads) a.padding = &padding;
  a.workspace = workspace.data();
  if (s.depthwise) {
    using Weight = std::conditional_t<Offsets, int16_t, int8_t>;
    packed.resize(size_t(s.groups * taps) * sizeof(Weight));
    packDepthwise8(w.data(), s.groups, taps, reinterpret_cast<Weight*>(packed.data()));
    a.w = packed.data();
    workspace.resize((s.groups + 3) / 4);
    a.workspace = workspace.data();
    conv8_depthwise<Bytes, Unsigned, Weight>(a, AddChannel{bias.data()}, pool);
  } else {
    conv8<MR, NV, Bytes, Group, Unsigned, Offsets>(a, AddChannel{bias.data()}, pool);
  }

  INFO("IC " << s.IC << ", OC " << s.OC << ", groups " << s.groups << ", taps " << taps
             << ", group " << Group << (Unsigned ? ", u8" : ", s8")
             << (Offsets ? ", offsets" : ""));
  const auto number = [](int8_t v) { return Unsigned ? int32_t(uint8_t(v)) : int32_t(v); };
  int64_t wrong = 0, m = 0;
  for (int64_t image = 0; image < s.images; ++image)
    for (int64_t od = 0; od < s.depth.out; ++od)
      for (int64_t oh = 0; oh < s.height.out; ++oh)
        for (int64_t ow = 0; ow < s.width.out; ++ow, ++m)
          for (int64_t o = 0; o < s.groups * s.OC; ++o) {
            int32_t sum = bias[o] + int32_t(m);
            for (int64_t c = 0; c < s.IC; ++c)
              for (int64_t t = 0; t < taps; ++t) {
                const int64_t kw = t % s.width.kernel, kh = t / s.width.kernel % s.height.kernel,
                              kd = t / s.width.kernel / s.height.kernel;
                const int64_t d = od * s.depth.stride - s.depth.pad + kd * s.depth.dilation;
                const int64_t h = oh * s.height.stride - s.height.pad + kh * s.height.dilation;
                const int64_t v = ow * s.width.stride - s.width.pad + kw * s.width.dilation;
                const bool inside = d >= 0 && d < s.depth.in && h >= 0 && h < s.height.in &&
                                    v >= 0 && v < s.width.in;
                const int8_t from = inside ? x[image * a.xImage + d * a.xPlane + h * a.xRow +
                                               v * a.xPixel + o / s.OC * s.IC + c]
                                           : padding;
                sum += number(from) * w[(o * s.IC + c) * taps + t];
              }
            wrong += y[m * a.yPixel + o] != sum;
          }
  CHECK(wrong == 0);
  for (m = 0; m < pixels; ++m)
    for (int64_t o = s.groups * s.OC; o < a.yPixel; ++o)
      REQUIRE(y[m * a.yPixel + o] == 77);
}

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets> void checkShapes() {
  const ConvAxis one;
  for (int64_t IC : {1, 3, 8, 33})
    check<MR, NV, Bytes, Group, Unsigned, Offsets>(
        {IC, 19, 1, 2, one, axis(7, 3, 1, 1, 1), axis(9, 3, 2, 1, 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({16, 40, 1, 1, one, axis(6, 1), axis(5, 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {5, 9, 1, 1, one, axis(6, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 0, 0, false});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {16, 8, 1, 1, one, axis(6, 1, 2, 1, 1), axis(5, 1), 3, 2});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {4, 5, 3, 2, one, axis(8, 3, 1, 2, 2), axis(8, 2, 1, 3, 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {1, 1, 10, 1, one, axis(6, 3, 1, 1, 1), axis(6, 3, 1, 1, 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {5, 7, 1, 1, axis(4, 2, 1, 1, 1), axis(5, 3), axis(4, 3, 1, 1, 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {6, 9, 1, 3, one, one, axis(30, 5, 2, 1, 2), 1, 4});
}

TEST_CASE("depthwise") {
  constexpr int Bytes = ORTC_VEC_BYTES;
  const ConvAxis one, around = axis(7, 3, 1, 1, 1), strided = axis(9, 5, 2, 1, 2);
  for (int64_t C : {1, 3, 8, 16, 21, 40}) {
    check<4, 2, Bytes, 2, true>({1, 1, C, 2, one, around, strided, 0, 0, true, true});
    check<4, 2, Bytes, 2, false>({1, 1, C, 2, one, around, strided, 3, 5, false, true});
    check<4, 2, Bytes, 2, true, true>({1, 1, C, 2, one, around, strided, 1, 2, true, true});
    check<4, 2, Bytes, 2, false, true>({1, 1, C, 1, one, strided, around, 0, 0, true, true});
  }
  check<4, 2, Bytes, 2, true>(
      {1, 1, 9, 1, axis(4, 2), axis(6, 3, 1, 2, 2), axis(5, 2, 1, 3, 1), 0, 0, true, true});
  ThreadedPool five{5};
  check<4, 2, Bytes, 2, false>({1, 1, 12, 3, one, around, around, 0, 0, true, true}, five.get());
}

TEST_CASE("shapes") {
  constexpr int Bytes = ORTC_VEC_BYTES;
  checkShapes<4, 2, Bytes, 2, true, false>();
  checkShapes<4, 2, Bytes, 2, false, true>();
  checkShapes<6, 4, Bytes, 4, true, true>();
  checkShapes<6, 4, Bytes, 4, false, false>();
  checkShapes<8, 1, Bytes, 4, false, true>();
}

TEST_CASE("any number of threads gives the same") {
  ThreadedPool five{5};
  check<4, 2, 16, 2, true>({32, 48, 1, 2, ConvAxis{}, axis(20, 3, 1, 1, 1), axis(20, 3, 1, 1, 1)},
                           five.get());
  check<4, 2, 16, 4, false, true>(
      {16, 24, 2, 2, ConvAxis{}, axis(20, 3, 1, 1, 1), axis(20, 3, 1, 1, 1)}, five.get());
}

} // namespace
