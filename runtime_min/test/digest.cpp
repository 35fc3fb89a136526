// SPDX-License-Identifier: 0BSD
// Digests of what the functions give on a sample of all f32, without any library: compiled for
// other machines, they must be those of this one. A machine without fma has other bits than one
// with it; all of either kind agree.
#include "rt/elementary.h"
#include "rt/float8.h"
#include "rt/half.h"

namespace rt = ortc_rt;

#if defined(__wasm__)
#define ORTC_EXPORT(name) extern "C" __attribute__((export_name(#name)))
#else
#define ORTC_EXPORT(name) extern "C"
#endif

namespace {

template <class F> uint64_t digest(uint32_t stride, F f) {
  constexpr int n = rt::lanes_of<rt::f32v>;
  uint64_t h = 1469598103934665603u;
  uint32_t bits = 0;
  // 2^16 steps whatever the number of lanes
  for (int i = 0; i < 65536; i += n) {
    rt::f32v x = rt::f32v();
    for (int k = 0; k < n; ++k, bits += stride)
      rt::set_lane(x, k, rt::bits_as<float>(bits));
    const rt::f32v y = f(x);
    for (int k = 0; k < n; ++k) {
      const float r = rt::lane(y, k);
      h = (h ^ (r != r ? 0x7fc00000u : rt::bits_as<uint32_t>(r))) * 1099511628211u;
    }
  }
  return h;
}

} // namespace

ORTC_EXPORT(digest_of) uint64_t digest_of(int function, uint32_t stride) {
  using V = rt::f32v;
  switch (function) {
#define ORTC_CASE(n, expression)                                                                   \
  case n: return digest(stride, [](V x) -> V { return expression; });
    ORTC_CASE(0, rt::exp(x))
    ORTC_CASE(1, rt::exp2(x))
    ORTC_CASE(2, rt::expm1(x))
    ORTC_CASE(3, rt::sigmoid(x))
    ORTC_CASE(4, rt::log(x))
    ORTC_CASE(5, rt::log2(x))
    ORTC_CASE(6, rt::log10(x))
    ORTC_CASE(7, rt::log1p(x))
    ORTC_CASE(8, rt::sin(x))
    ORTC_CASE(9, rt::cos(x))
    ORTC_CASE(10, rt::tan(x))
    ORTC_CASE(11, rt::asin(x))
    ORTC_CASE(12, rt::acos(x))
    ORTC_CASE(13, rt::atan(x))
    ORTC_CASE(14, rt::sinh(x))
    ORTC_CASE(15, rt::cosh(x))
    ORTC_CASE(16, rt::tanh(x))
    ORTC_CASE(17, rt::asinh(x))
    ORTC_CASE(18, rt::acosh(x))
    ORTC_CASE(19, rt::atanh(x))
    ORTC_CASE(20, rt::erf(x))
    ORTC_CASE(21, rt::sqrt(x))
    ORTC_CASE(22, rt::floor(x))
    ORTC_CASE(23, rt::round_even(x))
    ORTC_CASE(24, rt::round_away(x))
    ORTC_CASE(25, rt::convert<float>(rt::cast<int32_t>(x)))
    ORTC_CASE(26, rt::convert<float>(rt::cast<uint32_t>(x)))
    ORTC_CASE(27, rt::convert<float>(rt::cast<int8_t>(x)))
    ORTC_CASE(28, rt::pow(rt::abs(x), rt::splat<V>(0.37f)))
    ORTC_CASE(29, rt::atan2(x, rt::splat<V>(-1.5f)))
    ORTC_CASE(30, rt::fmod(x, rt::splat<V>(0.7f)))
    ORTC_CASE(31, rt::maximum(rt::minimum(x, 3.0f), -2.0f))
  case 32: {
    uint64_t h = 1;
    for (uint32_t i = 0; i < 4096; ++i) {
      const float x = rt::bits_as<float>(i * stride);
      h = (h ^ rt::to_f16(x).bits ^ uint64_t(rt::to_bf16(x).bits) << 16 ^
           uint64_t(rt::to_f8e4m3fn(x, true).bits) << 32 ^
           uint64_t(rt::to_f8e5m2fnuz(x, false).bits) << 40) *
          1099511628211u;
    }
    return h;
  }
#undef ORTC_CASE
  default: return 0;
  }
}

#if defined(ORTC_DIGEST_MAIN)
#include <stdio.h>
int main() {
  for (int f = 0; f <= 32; ++f)
    printf("%d %016llx\n", f, (unsigned long long)digest_of(f, 65521u));
}
#endif
