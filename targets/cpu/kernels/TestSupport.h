// SPDX-License-Identifier: Apache-2.0
//
// What tests and benchmarks of the kernels share: random data, memory whose end is guarded, two
// pools, the epilogues that compiled models use most, and the comparison with a reference summed in
// double.
#pragma once

#include "runtime_min/rt/ops.h"
#include "targets/cpu/kernels/tile/tile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace ortc::cpu::testing {

using namespace ortc_rt;

// An array that ends at the last byte of a page, with an unmapped page behind it: reading or
// writing one element too far is a crash and not a wrong number that happens to be multiplied by
// zero.
class Guarded {
public:
  explicit Guarded(int64_t floats) : size(floats) {
    const size_t bytes = size_t(floats) * 4;
    mapped = (bytes + 4095) / 4096 * 4096 + 4096;
    base = static_cast<char*>(
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + mapped - 4096, 4096, PROT_NONE);
    first = reinterpret_cast<float*>(base + mapped - 4096 - bytes);
  }
  Guarded(const Guarded&) = delete;
  ~Guarded() { munmap(base, mapped); }
  float* data() { return first; }
  float& operator[](int64_t i) { return first[i]; }
  float* begin() { return first; }
  float* end() { return first + size; }
  void fill(float value) { std::fill(begin(), end(), value); }
  // Uniform in [-1, 1), the same on every machine.
  void randomise(uint32_t seed) {
    for (float& x : *this) {
      seed = seed * 1664525u + 1013904223u;
      x = float(int32_t(seed >> 8) - (1 << 23)) / float(1 << 23);
    }
  }

  const int64_t size;

private:
  size_t mapped;
  char* base;
  float* first;
};

inline executor serial() {
  return {nullptr, nullptr};
}

// Threads that are started for each call: slow, but enough to show that results do not depend on
// their number.
struct ThreadedPool {
  int count;
  executor get() { return {run, this}; }
  static void run(void* self, int64_t n, void (*body)(int64_t, void*), void* arg) {
    const int count = static_cast<ThreadedPool*>(self)->count;
    std::vector<std::thread> workers;
    for (int t = 0; t < count; ++t)
      workers.emplace_back([=] {
        for (int64_t i = t; i < n; i += count)
          body(i, arg);
      });
    for (std::thread& worker : workers)
      worker.join();
  }
};

struct Identity {
  template <class V> ORTC_INLINE V operator()(V acc, int64_t, int64_t, int) const { return acc; }
};

struct BiasRelu {
  const float* bias;
  template <class V> ORTC_INLINE V operator()(V acc, int64_t, int64_t n, int lanes) const {
    return maximum(acc + load_lanes<V>(bias + n, lanes), V{});
  }
};

struct BiasAddRelu {
  const float* bias;
  const float* residual;
  int64_t pitch;
  template <class V> ORTC_INLINE V operator()(V acc, int64_t m, int64_t n, int lanes) const {
    acc += load_lanes<V>(bias + n, lanes);
    acc += load_lanes<V>(residual + m * pitch + n, lanes);
    return maximum(acc, V{});
  }
};

} // namespace ortc::cpu::testing
