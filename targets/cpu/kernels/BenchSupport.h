// SPDX-License-Identifier: Apache-2.0
//
// Timing for the benchmarks of the kernels: thread CPU time, rounds interleaved over all items so
// that a change of the clock or of what else runs hits all alike, medians, and the machine's own
// peak measured beside them.
#pragma once

#include "targets/cpu/kernels/TestSupport.h"

#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

namespace ortc::cpu::testing {

inline double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// 64-byte aligned, like an arena.
inline float* allocate(int64_t floats) {
  float* p = static_cast<float*>(aligned_alloc(64, size_t(floats * 4 + 4096) / 64 * 64));
  uint32_t seed = uint32_t(floats);
  for (int64_t i = 0; i < floats; ++i) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = float(int32_t(seed >> 8) - (1 << 23)) / float(1 << 23);
  }
  return p;
}

// Independent multiply-adds in registers: the most that this compiler's vectors can do here.
inline void burnPeak(int64_t steps) {
  using V = native<float>;
  constexpr int kChains = 12;
  V acc[kChains] = {};
  const V a = splat<V>(1.0f), b = splat<V>(0.5f);
  for (int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) {
      acc[j] = fma(acc[j], b, a);
      __asm__ volatile("" : "+v"(acc[j]));
    }
}
inline double peakFlops(int64_t steps) {
  return double(steps) * 12 * 2 * native_lanes<float>;
}

class Bench {
public:
  void add(std::string name, double flops, std::function<void()> run) {
    items.push_back({std::move(name), flops, std::move(run), 1, {}});
  }
  void run(int rounds = 15) {
    add("peak of multiply-adds", peakFlops(100000), [] { burnPeak(100000); });
    for (Item& item : items) {
      item.run();
      const double t = threadSeconds();
      item.run();
      item.repeat = std::max(1, int(0.01 / (threadSeconds() - t + 1e-9)));
    }
    for (int r = 0; r < rounds; ++r)
      for (Item& item : items) {
        const double t = threadSeconds();
        for (int i = 0; i < item.repeat; ++i)
          item.run();
        item.seconds.push_back((threadSeconds() - t) / item.repeat);
      }
    for (Item& item : items)
      std::sort(item.seconds.begin(), item.seconds.end());
    const double peak = items.back().flops / items.back().seconds.front();
    std::printf("%-44s %10s %10s %8s %6s\n", "", "median us", "best us", "GFLOP/s", "peak");
    for (const Item& item : items) {
      const double median = item.seconds[item.seconds.size() / 2];
      std::printf("%-44s %10.2f %10.2f %8.1f %5.0f%%\n", item.name.c_str(), median * 1e6,
                  item.seconds.front() * 1e6, item.flops / median * 1e-9,
                  100 * item.flops / median / peak);
    }
  }

private:
  struct Item {
    std::string name;
    double flops;
    std::function<void()> run;
    int repeat;
    std::vector<double> seconds;
  };
  std::vector<Item> items;
};

} // namespace ortc::cpu::testing
