// SPDX-License-Identifier: 0BSD
// Work for ThreadSanitizer: plain memory handed from loop to loop through the pool, several
// callers, pools that come and go. Only built with -fsanitize=thread; without Catch2, whose own
// code would be instrumented as well.
#include "rt/pool.h"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <vector>

namespace rt = ortc_rt;

namespace {

void* caller(void* threads) {
  bool ok = false;
  rt::pool* p = rt::pool_acquire(int(reinterpret_cast<intptr_t>(threads)), &ok);
  if (!ok) std::abort();
  const rt::executor e = {p ? rt::pool_run : nullptr, p};
  std::vector<long> a(256, 1), b(256, 0);
  for (int run = 0; run < 60; ++run) {
    rt::pool_begin(p);
    for (int layer = 0; layer < 10; ++layer) {
      rt::parallel_ranges(e, 256, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          b[size_t(i)] =
              a[size_t((i + 17) % 256)] + 1; // from another thread's piece of the loop before
      });
      a.swap(b);
    }
    rt::pool_end(p);
  }
  for (long v : a)
    if (v != 601) std::abort();
  rt::pool_release(p);
  return nullptr;
}

} // namespace

int main() {
  pthread_t threads[4];
  for (int t = 0; t < 4; ++t)
    pthread_create(&threads[t], nullptr, caller, reinterpret_cast<void*>(intptr_t(1 + t % 3)));
  for (pthread_t t : threads)
    pthread_join(t, nullptr);
  caller(reinterpret_cast<void*>(intptr_t(4)));
  std::puts("no races");
  return 0;
}
