// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan host side with hand-written kernels in place of emitted ones, checked against plain
// C++. Each test is a subcommand, run by the script beside this file; some expect to find no
// device.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "ortc_vulkan.h"

namespace rt = ortc_rt;
using rt::vk_arena;
using rt::vk_weights;

static const uint32_t axpy_words[] = {
#include "axpy.inc"
};
static const uint32_t matmul_words[] = {
#include "matmul.inc"
};
static const uint32_t int64_words[] = {
#include "int64.inc"
};

#define WORDS(name) name##_words, uint32_t(sizeof name##_words / 4)
enum { kAxpy, kMatmul };
static const rt::vulkan_kernel kernels[] = {{"axpy", "main", WORDS(axpy), 2, 2u, 8},
                                            {"matmul", "main", WORDS(matmul), 3, 4u, 12}};
static const rt::vulkan_kernel int64_kernels[] = {{"int64", "main", WORDS(int64), 2, 2u, 0}};

static std::vector<float> randoms(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values)
    value = uniform(engine);
  return values;
}

static int wrong(const char* what) {
  std::printf("wrong: %s\n", what);
  return 1;
}

// Heap use of this thread between begin() and finish(). Drivers compile kernels on threads of their
// own.
static thread_local long news = 0;
void* operator new(size_t bytes) {
  ++news;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, size_t) noexcept {
  std::free(p);
}

constexpr uint32_t M = 37, N = 50, K = 70; // no multiples of the tile
constexpr uint64_t kA = 0, kC = 16384, kD = 32768;

// c = a * w; d = 0; d += 2 c; d += 2 c: with w from the weights, and an order that only barriers
// keep.
static ortc_status program(rt::vulkan_context& vk, const float* a, float* d) {
  if (!vk.begin()) return vk.status();
  vk.upload(vk_arena(kA, M * K * 4), a);
  const uint32_t sizes[] = {M, N, K};
  const rt::vulkan_range mm[] = {vk_arena(kA, M * K * 4), vk_weights(256, K * N * 4),
                                 vk_arena(kC, M * N * 4)};
  vk.dispatch(kMatmul, mm, 3, sizes, sizeof sizes, (N + 15) / 16, (M + 15) / 16, 1);
  vk.fill(vk_arena(kD, M * N * 4), 0);
  const struct {
    uint32_t n;
    float a;
  } scalars = {M * N, 2};
  const rt::vulkan_range ax[] = {vk_arena(kC, M * N * 4), vk_arena(kD, M * N * 4)};
  for (int i = 0; i < 2; ++i)
    vk.dispatch(kAxpy, ax, 2, &scalars, sizeof scalars, (M * N + 63) / 64, 1, 1);
  vk.download(d, vk_arena(kD, M * N * 4));
  return vk.finish();
}

static bool matches(const std::vector<float>& a, const std::vector<float>& w,
                    const std::vector<float>& d) {
  for (uint32_t m = 0; m < M; ++m)
    for (uint32_t n = 0; n < N; ++n) {
      double sum = 0;
      for (uint32_t k = 0; k < K; ++k)
        sum += double(a[m * K + k]) * w[64 + k * N + n];
      if (!(std::fabs(4 * sum - d[m * N + n]) < 1e-4)) return false;
    }
  return true;
}

static rt::vulkan_model model(uint64_t weights_bytes) {
  return {"host_test", kernels, 2, 0, 2048, 256, weights_bytes};
}

static int run(uint64_t staging, bool count_news) {
  const std::vector<float> a = randoms(M * K, 1), w = randoms(64 + K * N, 2);
  const rt::vulkan_model m = model(w.size() * 4);
  rt::vulkan_context vk;
  if (vk.create(m, w.data(), -1) || vk.reserve(65536, staging)) return wrong(vk.error());
  std::printf("device: %s\n", vk.device_name());
  std::vector<float> d(M * N);
  for (int turn = 0; turn < 3; ++turn) {
    std::fill(d.begin(), d.end(), NAN);
    const long before = news;
    if (program(vk, a.data(), d.data())) return wrong(vk.error());
    if (count_news && news != before) return wrong("a run took memory from the heap");
    if (!matches(a, w, d)) return wrong("numbers");
  }
  // Per run: uploads before the product, the product before the sum, one sum before the other, the
  // sum before the download; the fill may go beside the product.
  std::printf("%llu dispatches, %llu barriers\n", (unsigned long long)vk.num_dispatches(),
              (unsigned long long)vk.num_barriers());
  if (vk.num_dispatches() != 9) return wrong("count of dispatches");
  if (staging >= 65536 && vk.num_barriers() != 12) return wrong("count of barriers");
  return 0;
}

// Two contexts of one bundle, used from two threads: shared weights, one queue.
static int threads() {
  const std::vector<float> w = randoms(64 + K * N, 2);
  const rt::vulkan_model m = model(w.size() * 4);
  std::atomic<int> bad{0};
  const auto body = [&](unsigned seed) {
    const std::vector<float> a = randoms(M * K, seed);
    rt::vulkan_context vk;
    if (vk.create(m, w.data(), -1) || vk.reserve(65536, 65536)) {
      std::printf("wrong: %s\n", vk.error());
      ++bad;
      return;
    }
    std::vector<float> d(M * N);
    for (int turn = 0; turn < 20; ++turn)
      if (program(vk, a.data(), d.data()) || !matches(a, w, d)) ++bad;
  };
  std::thread one(body, 11), two(body, 12);
  one.join();
  two.join();
  return bad ? wrong("some run of the two threads") : 0;
}

// More dispatches than fit into one submit, and a read-back in the middle that decides how it goes
// on.
static int many() {
  const rt::vulkan_model m = model(0);
  rt::vulkan_context vk;
  if (vk.create(m, nullptr, -1) || vk.reserve(4096, 4096) || !vk.begin()) return wrong(vk.error());
  const float one = 1;
  float y = 0;
  const struct {
    uint32_t n;
    float a;
  } scalars = {1, 1};
  const rt::vulkan_range b[] = {vk_arena(0, 4), vk_arena(256, 4)};
  vk.upload(b[0], &one);
  vk.upload(b[1], &y);
  int turns = 0;
  while (y < 1500 && turns < 100) {
    for (int i = 0; i < 700; ++i)
      vk.dispatch(kAxpy, b, 2, &scalars, sizeof scalars, 1, 1, 1);
    vk.download(&y, b[1]);
    if (!vk.flush()) return wrong(vk.error());
    ++turns;
  }
  if (vk.finish()) return wrong(vk.error());
  std::printf("y = %g after %d turns\n", double(y), turns);
  return y == 2100 && turns == 3 ? 0 : wrong("count");
}

static int int64() {
  const rt::vulkan_model m = {"int64", int64_kernels, 1, rt::VULKAN_INT64, 0, 32, 0};
  rt::vulkan_context vk;
  if (vk.create(m, nullptr, -1)) {
    std::printf("status: %s: %s\n", ortc_status_name(vk.status()), vk.error());
    return 3;
  }
  if (vk.reserve(4096, 4096) || !vk.begin()) return wrong(vk.error());
  int64_t x[32], y[32];
  for (int i = 0; i < 32; ++i)
    x[i] = (i % 2 ? -1 : 1) * (int64_t(1) << 31) - i;
  const rt::vulkan_range b[] = {vk_arena(0, sizeof x), vk_arena(256, sizeof y)};
  vk.upload(b[0], x);
  vk.dispatch(0, b, 2, nullptr, 0, 1, 1, 1);
  vk.download(y, b[1]);
  if (vk.finish()) return wrong(vk.error());
  for (int i = 0; i < 32; ++i)
    if (y[i] != x[i] * x[i]) return wrong("numbers");
  return 0;
}

// What a caller or an emitter may get wrong is a status with a text, and the context works again
// afterwards.
static int faults() {
  const std::vector<float> a = randoms(M * K, 1), w = randoms(64 + K * N, 2);
  const rt::vulkan_model m = model(w.size() * 4);
  rt::vulkan_context vk;
  std::vector<float> d(M * N);
  if (vk.begin() || vk.status() != ORTC_NEED_RESERVE) return wrong("begin before create");
  if (vk.create(m, w.data(), -1) || vk.reserve(65536, 65536)) return wrong(vk.error());
  const rt::vulkan_range outside[] = {vk_arena(0, 64), vk_arena(65536, 64)},
                         b[] = {vk_arena(0, 64), vk_arena(256, 64)},
                         odd[] = {vk_arena(0, 64), vk_arena(259, 64)};
  const uint32_t push[2] = {16, 0};
  const struct {
    const char* what;
    ortc_status status;
    void (*body)(rt::vulkan_context&, const void* const*);
  } cases[] = {
      {"outside of the arena", ORTC_INVALID_ARGUMENT,
       [](rt::vulkan_context& v, const void* const* p) {
         v.dispatch(kAxpy, static_cast<const rt::vulkan_range*>(p[0]), 2, p[3], 8, 1, 1, 1);
       }},
      {"wrong push constants", ORTC_INVALID_ARGUMENT,
       [](rt::vulkan_context& v, const void* const* p) {
         v.dispatch(kAxpy, static_cast<const rt::vulkan_range*>(p[1]), 2, p[3], 4, 1, 1, 1);
       }},
      {"no such kernel", ORTC_INVALID_ARGUMENT,
       [](rt::vulkan_context& v, const void* const* p) {
         v.dispatch(7, static_cast<const rt::vulkan_range*>(p[1]), 2, p[3], 8, 1, 1, 1);
       }},
      {"too many workgroups", ORTC_RUN_ERROR,
       [](rt::vulkan_context& v, const void* const* p) {
         v.dispatch(kAxpy, static_cast<const rt::vulkan_range*>(p[1]), 2, p[3], 8, 1, 1u << 30, 1);
       }},
      {"odd offset", ORTC_RUN_ERROR,
       [](rt::vulkan_context& v, const void* const* p) {
         v.dispatch(kAxpy, static_cast<const rt::vulkan_range*>(p[2]), 2, p[3], 8, 1, 1, 1);
       }},
      {"the program's own fault", ORTC_RUN_ERROR,
       [](rt::vulkan_context& v, const void* const*) {
         v.fail(ORTC_RUN_ERROR, "index %d is out of range", 9);
       }},
  };
  const void* const pointers[] = {outside, b, odd, push};
  for (const auto& c : cases) {
    if (!vk.begin()) return wrong(vk.error());
    c.body(vk, pointers);
    const ortc_status status = vk.finish();
    std::printf("%s: %s: %s\n", c.what, ortc_status_name(status), vk.error());
    if (status != c.status || !vk.error()[0]) return wrong(c.what);
    if (program(vk, a.data(), d.data()) || !matches(a, w, d)) return wrong("the run after a fault");
  }
  if (vk.reserve(uint64_t(1) << 45, 4096) != ORTC_OUT_OF_MEMORY) return wrong("an arena of 32 TiB");
  std::printf("huge arena: %s\n", vk.error());
  if (vk.begin()) return wrong("begin without an arena");
  if (vk.reserve(65536, 65536) || program(vk, a.data(), d.data()) || !matches(a, w, d))
    return wrong("after a failed reserve");
  rt::vulkan_model big = m;
  big.shared_bytes = 1u << 30;
  if (vk.create(big, w.data(), -1) != ORTC_NO_DEVICE) return wrong("1 GiB of workgroup memory");
  std::printf("limits: %s\n", vk.error());
  if (vk.create(m, w.data(), 99) != ORTC_NO_DEVICE) return wrong("device 99");
  std::printf("ordinal: %s\n", vk.error());
  return 0;
}

static int device() {
  const rt::vulkan_model m = model(0);
  rt::vulkan_context vk;
  const ortc_status status = vk.create(m, nullptr, -1);
  std::printf("status: %s: %s\n", ortc_status_name(status), status ? vk.error() : vk.device_name());
  return status ? 3 : 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const bool count_news = argc < 3; // a layer under the loader takes memory on the caller's thread
  if (!std::strcmp(what, "run")) return run(65536, count_news);
  if (!std::strcmp(what, "small-staging")) return run(4096, count_news);
  if (!std::strcmp(what, "threads")) return threads();
  if (!std::strcmp(what, "many")) return many();
  if (!std::strcmp(what, "int64")) return int64();
  if (!std::strcmp(what, "faults")) return faults();
  if (!std::strcmp(what, "device")) return device();
  return 2;
}
