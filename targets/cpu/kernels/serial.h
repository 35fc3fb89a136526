// SPDX-License-Identifier: 0BSD
//
// The pool that is none: kernels ask a pool for threads() and parallel_for(count, body), and this one runs everything
// in the calling thread. For bundles compiled without threads, and for tests.
#ifndef ORTC_KERNELS_SERIAL_H
#define ORTC_KERNELS_SERIAL_H

#include "targets/cpu/kernels/vec.h"

namespace ORTC_NAMESPACE {

struct SerialPool {
  int threads() const { return 1; }
  template <class Body> void parallel_for(int64_t count, const Body& body) {
    for (int64_t i = 0; i < count; ++i)
      body(i);
  }
};

} // namespace ORTC_NAMESPACE

#endif
