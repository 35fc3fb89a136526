// SPDX-License-Identifier: 0BSD
// The thread pool, on POSIX threads: no std::thread, since that throws and allocates.
//
// A loop is published by opening a gate; a worker joins through the open gate, takes pieces, and
// leaves. The caller takes pieces too, then closes the gate and waits for those who joined, and for
// nobody else: a worker that never got to run does not hold the loop up.
#include "pool.h"

#include "arena.h"

#ifdef ORTC_NO_THREADS

ORTC_RT_BEGIN
int available_cores() {
  return 1;
}
pool* pool_acquire(int, bool* ok) {
  return *ok = true, nullptr;
}
void pool_release(pool*) {}
int pool_threads(const pool*) {
  return 1;
}
void pool_begin(pool*) {}
void pool_end(pool*) {}
void pool_run(void*, int64_t count, void (*body)(int64_t, void*), void* arg) {
  for (int64_t i = 0; i < count; ++i)
    body(i, arg);
}
ORTC_RT_END

#else

#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#if defined(_WIN32)
#include <windows.h>
#elif defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

ORTC_RT_BEGIN

namespace {

constexpr int kSpins = 4000; // pauses before the core is offered to others (measured: 36 against
                             // 300 ms on a busy machine)
constexpr int kYields =
    2000; // offers before a worker parks although the run goes on: a long serial stretch
constexpr int kMaxThreads = 256;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

} // namespace

namespace detail {

// A word to sleep on.
struct bell {
  std::atomic<uint32_t> count{0};
#if defined(__linux__)
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "the kernel reads it as a plain word");
  void wait(uint32_t seen) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&count), FUTEX_WAIT_PRIVATE, seen, nullptr,
            nullptr, 0);
  }
  void ring() {
    count.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&count), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
            nullptr, 0);
  }
#else
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  void wait(uint32_t seen) {
    pthread_mutex_lock(&mutex);
    while (count.load(std::memory_order_seq_cst) == seen)
      pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  void ring() {
    pthread_mutex_lock(&mutex);
    count.fetch_add(1, std::memory_order_seq_cst);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
#endif
};

} // namespace detail

namespace {

thread_local bool in_piece = false; // nested loops run serially

// The gate is one word: [number of the loop : 32][open : 1][workers inside : 31].
constexpr uint64_t kOpen = uint64_t(1) << 31;
constexpr uint64_t kInside = kOpen - 1;

} // namespace

struct pool {
  static void* operator new(size_t, void* p) noexcept { return p; } // without <new>
  static void operator delete(void*, void*) noexcept {}

  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<int> runs{0}; // contexts between pool_begin and pool_end
  std::atomic<bool> quit{false};
  detail::bell wake;
  // the loop; written only while the gate is closed and nobody is inside
  alignas(64) int64_t count = 0;
  void (*body)(int64_t, void*) = nullptr;
  void* arg = nullptr;
  std::atomic<bool> taken{false}; // by the thread that runs a loop
  // under the mutex of all pools
  int users = 0;
  int threads = 1;
  int started = 0;
  pool* next_pool = nullptr;
  pthread_t ids[kMaxThreads];

  void work() {
    in_piece = true;
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) break;
      body(i, arg);
    }
    in_piece = false;
  }

  // Whether a loop other than `done` is open; then we are inside it.
  bool join(uint32_t& done) {
    uint64_t g = gate.load(std::memory_order_seq_cst);
    while ((g & kOpen) && uint32_t(g >> 32) != done) {
      if (gate.compare_exchange_weak(g, g + 1, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        done = uint32_t(g >> 32);
        return true;
      }
    }
    return false;
  }

  void park(uint32_t& done, bool between_runs) {
    const uint32_t seen = wake.count.load(std::memory_order_seq_cst);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    // A run or loop is published first, and then its thread looks for sleepers;
    // we do it the other way round, so one of the two sees the other.
    const uint64_t g = gate.load(std::memory_order_seq_cst);
    const bool loop = (g & kOpen) && uint32_t(g >> 32) != done;
    const bool run = between_runs && runs.load(std::memory_order_seq_cst) != 0;
    if (!loop && !run && !quit.load(std::memory_order_seq_cst)) wake.wait(seen);
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

  void worker() {
    uint32_t done = 0;
    int spins = 0, yields = 0;
    while (!quit.load(std::memory_order_relaxed)) {
      if (join(done)) {
        work();
        gate.fetch_sub(1, std::memory_order_release);
        spins = yields = 0;
      } else if (runs.load(std::memory_order_relaxed) == 0 || yields > kYields) {
        park(done, yields <= kYields);
        spins = yields = 0;
      } else if (spins < kSpins) {
        pause();
        ++spins;
      } else {
        sched_yield();
        ++yields;
      }
    }
  }

  void run(int64_t n, void (*f)(int64_t, void*), void* a) {
    count = n;
    body = f;
    arg = a;
    next.store(0, std::memory_order_relaxed);
    const uint64_t number = (gate.load(std::memory_order_relaxed) >> 32) + 1;
    // 0 is what a new worker has "done", so no loop has that number
    gate.store(((number & 0xffffffffu ? number : 1) << 32) | kOpen, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) wake.ring();
    work();
    uint64_t g = gate.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; g & kInside; g = gate.load(std::memory_order_acquire)) {
      if (++spins < kSpins)
        pause();
      else
        sched_yield();
    }
  }
};

namespace {

pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
pool* all_pools = nullptr;

void* thread_main(void* p) {
  static_cast<pool*>(p)->worker();
  return nullptr;
}

void stop(pool* p) {
  p->quit.store(true, std::memory_order_seq_cst);
  p->wake.ring();
  for (int i = 0; i < p->started; ++i)
    pthread_join(p->ids[i], nullptr);
  p->~pool();
  memory_free(p, sizeof(pool));
}

} // namespace

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
#endif
#if defined(_WIN32)
  DWORD_PTR mine = 0, all = 0;
  const bool known = GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) && mine != 0;
  return known ? __builtin_popcountll(mine) : 1;
#elif defined(_SC_NPROCESSORS_ONLN)
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? int(n) : 1;
#else
  return 1;
#endif
}

pool* pool_acquire(int threads, bool* ok) {
  if (threads <= 0) threads = available_cores();
  if (threads > kMaxThreads) threads = kMaxThreads;
  *ok = true;
  if (threads == 1) return nullptr;
  pthread_mutex_lock(&all_mutex);
  pool* p = all_pools;
  while (p && p->threads != threads)
    p = p->next_pool;
  if (p) {
    ++p->users;
  } else if (void* memory = memory_alloc(sizeof(pool))) {
    p = new (memory) pool;
    p->threads = threads;
    p->users = 1;
    while (p->started < threads - 1 &&
           pthread_create(&p->ids[p->started], nullptr, thread_main, p) == 0)
      ++p->started;
    if (p->started == threads - 1) {
      p->next_pool = all_pools;
      all_pools = p;
    } else {
      stop(p);
      p = nullptr;
    }
  }
  pthread_mutex_unlock(&all_mutex);
  *ok = p != nullptr;
  return p;
}

void pool_release(pool* p) {
  if (!p) return;
  pthread_mutex_lock(&all_mutex);
  const bool last = --p->users == 0;
  if (last) {
    pool** link = &all_pools;
    while (*link != p)
      link = &(*link)->next_pool;
    *link = p->next_pool;
  }
  pthread_mutex_unlock(&all_mutex);
  if (last) stop(p);
}

int pool_threads(const pool* p) {
  return p ? p->threads : 1;
}

void pool_begin(pool* p) {
  if (!p) return;
  p->runs.fetch_add(1, std::memory_order_seq_cst);
  if (p->sleepers.load(std::memory_order_seq_cst) > 0) p->wake.ring();
}

void pool_end(pool* p) {
  if (p) p->runs.fetch_sub(1, std::memory_order_seq_cst);
}

void pool_run(void* pool_or_null, int64_t count, void (*body)(int64_t, void*), void* arg) {
  pool* p = static_cast<pool*>(pool_or_null);
  if (p && count > 1 && !in_piece && !p->taken.exchange(true, std::memory_order_acquire)) {
    p->run(count, body, arg);
    p->taken.store(false, std::memory_order_release);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    body(i, arg);
}

ORTC_RT_END
#endif
