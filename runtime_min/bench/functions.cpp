// SPDX-License-Identifier: 0BSD
// Speed of the elementary functions: nanoseconds per element of an array that fits the L2 cache,
// one thread, against a loop over libm. Interleaved, medians. Nothing here decides a test.
#include "rt/elementary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <time.h>
#include <vector>

namespace rt = ortc_rt;

namespace {

constexpr int64_t kCount = 32768;

double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct row {
  const char* name;
  float low, high; // arguments
  void (*ours)(const float* x, float* y);
  void (*libm)(const float* x, float* y);
};

// As emitted code has it: whole vectors, four at a time.
template <class F>
ORTC_INLINE void loop(const float* ORTC_RESTRICT x, float* ORTC_RESTRICT y, F f) {
  constexpr int n = rt::lanes_of<rt::f32v>;
  for (int64_t i = 0; i < kCount; i += 4 * n)
    for (int k = 0; k < 4; ++k)
      rt::store(y + i + k * n, f(rt::load<rt::f32v>(x + i + k * n)));
}

#define ORTC_ROW(name, low, high, libm)                                                            \
  {#name, low, high,                                                                               \
   [](const float* x, float* y) { loop(x, y, [](rt::f32v v) { return rt::name(v); }); },           \
   [](const float* x, float* y) {                                                                  \
     for (int64_t i = 0; i < kCount; ++i)                                                          \
       y[i] = libm(x[i]);                                                                          \
   }}

float sigmoidf(float x) {
  return 1 / (1 + std::exp(-x));
}

const row rows[] = {
    ORTC_ROW(exp, -20, 20, std::exp),   ORTC_ROW(log, 0.01f, 100, std::log),
    ORTC_ROW(tanh, -4, 4, std::tanh),   ORTC_ROW(erf, -3, 3, std::erf),
    ORTC_ROW(sigmoid, -9, 9, sigmoidf), ORTC_ROW(sin, -50, 50, std::sin),
    ORTC_ROW(sqrt, 0, 100, std::sqrt),  ORTC_ROW(floor, -100, 100, std::floor),
};

} // namespace

int main() {
  std::vector<float> x(kCount), y(kCount);
  std::printf("%d lanes; ns per element, and cycles per 16 at 3.7 GHz\n", rt::lanes_of<rt::f32v>);
  for (const row& r : rows) {
    for (int64_t i = 0; i < kCount; ++i)
      x[size_t(i)] = r.low + (r.high - r.low) * float((i * 7919) % kCount) / float(kCount);
    std::vector<double> ours, libm;
    for (int round = 0; round < 31; ++round) {
      const double t0 = seconds();
      r.ours(x.data(), y.data());
      const double t1 = seconds();
      r.libm(x.data(), y.data());
      const double t2 = seconds();
      ours.push_back(t1 - t0);
      libm.push_back(t2 - t1);
    }
    std::sort(ours.begin(), ours.end());
    std::sort(libm.begin(), libm.end());
    const double a = ours[15] / kCount * 1e9, b = libm[15] / kCount * 1e9;
    std::printf("%-8s %7.3f ns (%5.1f cycles)   libm %7.3f ns   %.1fx\n", r.name, a, a * 16 * 3.7,
                b, b / a);
  }
}
