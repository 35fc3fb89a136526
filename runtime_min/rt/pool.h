// SPDX-License-Identifier: 0BSD
// Threads. A loop says how many independent pieces it has, and every thread takes the next piece
// until none is left: what a piece computes depends on its index only, so results are the same for
// any number of threads, and a thread that the system has put aside delays nobody but its own
// piece.
//
// Workers are made once. Within a run (pool_begin .. pool_end) they spin, since waking a parked
// thread costs as much as a whole layer of a small net (12-600 us against 0.1 us, measured);
// between runs they are parked in the kernel.
#ifndef ORTC_RT_POOL_H
#define ORTC_RT_POOL_H

#include "ortc/ortc.h"

#include "config.h"

ORTC_RT_BEGIN

struct pool;

// Cores that this process may run on.
int available_cores();

// The pool of this bundle with so many threads, the caller's included (0: one per available core).
// Contexts that ask for the same number share one. NULL: no memory or no threads left; 1 thread
// also gives NULL, with *ok set.
pool* pool_acquire(int threads, bool* ok);
void pool_release(pool* p);
int pool_threads(const pool* p); // 1 for NULL

// Around the loops of one run: workers wake at the first and go to sleep after the second. Both
// take NULL.
void pool_begin(pool* p);
void pool_end(pool* p);

// Has the signature of ortc_parallel_for. Called from within a piece, or while another context uses
// the pool, it runs the pieces in the calling thread.
void pool_run(void* p, int64_t count, void (*body)(int64_t index, void* arg), void* arg);

// Who runs the pieces: our pool, the caller's own, or nobody (run == NULL: the calling thread).
struct executor {
  ortc_parallel_for run;
  void* pool;
};

// fn(index) for index in [0, count). No heap; fn is taken by reference.
template <class F> inline void parallel_for(const executor& e, int64_t count, const F& fn) {
  if (!e.run || count <= 1) {
    for (int64_t i = 0; i < count; ++i)
      fn(i);
    return;
  }
  e.run(
      e.pool, count, [](int64_t i, void* f) { (*static_cast<const F*>(f))(i); },
      const_cast<void*>(static_cast<const void*>(&fn)));
}

// [begin, end) of piece `index` when n items are cut into pieces of `grain`.
struct range {
  int64_t begin, end;
};
inline int64_t pieces(int64_t n, int64_t grain) {
  return (n + grain - 1) / grain;
}
inline range piece(int64_t n, int64_t grain, int64_t index) {
  const int64_t begin = index * grain, end = begin + grain;
  return {begin, end < n ? end : n};
}

// Same, with the items given: fn(begin, end) for pieces of `grain` items.
template <class F>
inline void parallel_ranges(const executor& e, int64_t n, int64_t grain, const F& fn) {
  parallel_for(e, pieces(n, grain), [&](int64_t i) {
    const range r = piece(n, grain, i);
    fn(r.begin, r.end);
  });
}

ORTC_RT_END
#endif
