// SPDX-License-Identifier: 0BSD
// The thread pool: every piece runs exactly once whatever the number of threads, nested and
// concurrent loops included.
#include "rt/pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

namespace rt = ortc_rt;

namespace {
struct pool_of {
  rt::pool* p;
  explicit pool_of(int threads) {
    bool ok = false;
    p = rt::pool_acquire(threads, &ok);
    REQUIRE(ok);
  }
  ~pool_of() { rt::pool_release(p); }
  rt::executor executor() const {
    return p ? rt::executor{rt::pool_run, p} : rt::executor{nullptr, nullptr};
  }
};

double processorSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
} // namespace

TEST_CASE("every piece runs exactly once") {
  for (int threads : {1, 2, 3, 8}) {
    pool_of pool(threads);
    CHECK(rt::pool_threads(pool.p) == threads);
    rt::pool_begin(pool.p);
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<int> seen(size_t(count), 0);
        rt::parallel_for(pool.executor(), count, [&](int64_t i) { ++seen[size_t(i)]; });
        CHECK(std::count(seen.begin(), seen.end(), 1) == count);
      }
    }
    rt::pool_end(pool.p);
  }
}

TEST_CASE("loops also run outside of a run, when the workers sleep") {
  pool_of pool(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int64_t> sum{0};
    rt::parallel_for(pool.executor(), 100, [&](int64_t i) { sum += i; });
    CHECK(sum == 4950);
  }
}

TEST_CASE("workers help") {
  pool_of pool(2);
  rt::pool_begin(pool.p);
  // Two pieces that wait for each other: done by one thread, this would never end.
  std::atomic<int> arrived{0};
  rt::parallel_for(pool.executor(), 2, [&](int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  CHECK(arrived == 2);
  rt::pool_end(pool.p);
}

TEST_CASE("a nested loop runs within its piece") {
  pool_of pool(3);
  std::vector<int> seen(64, 0);
  rt::parallel_for(pool.executor(), 8, [&](int64_t i) {
    const pthread_t outer = pthread_self();
    rt::parallel_for(pool.executor(), 8, [&](int64_t j) {
      if (pthread_equal(outer, pthread_self())) ++seen[size_t(8 * i + j)];
    });
  });
  CHECK(std::count(seen.begin(), seen.end(), 1) == 64);
}

TEST_CASE("contexts in several threads share a pool") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&wrong] {
      bool ok = false;
      rt::pool* p = rt::pool_acquire(3, &ok);
      for (int repeat = 0; repeat < 200; ++repeat) {
        rt::pool_begin(p);
        std::atomic<int64_t> sum{0};
        rt::parallel_for(rt::executor{rt::pool_run, p}, 50, [&](int64_t i) { sum += i; });
        wrong += sum != 1225;
        rt::pool_end(p);
      }
      rt::pool_release(p);
    });
  for (std::thread& c : callers)
    c.join();
  CHECK(wrong == 0);
}

TEST_CASE("a pool of one size is made once and outlives its first user") {
  bool ok = false;
  rt::pool* a = rt::pool_acquire(5, &ok);
  rt::pool* b = rt::pool_acquire(5, &ok);
  rt::pool* c = rt::pool_acquire(6, &ok);
  CHECK(a == b);
  CHECK(a != c);
  rt::pool_release(a);
  std::atomic<int> n{0};
  rt::parallel_for(rt::executor{rt::pool_run, b}, 10, [&](int64_t) { ++n; });
  CHECK(n == 10);
  rt::pool_release(b);
  rt::pool_release(c);
}

TEST_CASE("between runs the workers use no processor time") {
  pool_of pool(4);
  rt::pool_begin(pool.p);
  rt::parallel_for(pool.executor(), 16, [](int64_t) {});
  rt::pool_end(pool.p);
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // they notice the end
  const double before = processorSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(processorSeconds() - before < 0.1); // three spinning workers would use 0.6 on two cores
}

TEST_CASE("the caller's own pool can be used") {
  struct own {
    int calls = 0;
    static void run(void* self, int64_t count, void (*body)(int64_t, void*), void* arg) {
      ++static_cast<own*>(self)->calls;
      for (int64_t i = count; i-- > 0;) // any order
        body(i, arg);
    }
  } mine;
  int64_t sum = 0;
  rt::parallel_for(rt::executor{own::run, &mine}, 10, [&](int64_t i) { sum += i; });
  CHECK(sum == 45);
  CHECK(mine.calls == 1);
}

TEST_CASE("ranges cover all items") {
  pool_of pool(2);
  std::vector<int> seen(1003, 0);
  rt::parallel_ranges(pool.executor(), 1003, 100, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++seen[size_t(i)];
  });
  CHECK(std::count(seen.begin(), seen.end(), 1) == 1003);
  CHECK(rt::pieces(0, 100) == 0);
  CHECK(rt::piece(1003, 100, 10).end == 1003);
}
