// SPDX-License-Identifier: 0BSD
// The runtime as a bundle `bundle_b` compiles it.
#define ORTC_RT_PREFIX bundle_b
#include "rt/arena.cpp"
#include "rt/context.cpp"
#include "rt/pool.cpp"
#include "rt/tensors.cpp"
#include "rt/weights.cpp"

const void* bundle_b_pool() {
  bool ok = false;
  return ortc_rt::pool_acquire(2, &ok);
}
void bundle_b_release(const void* p) {
  ortc_rt::pool_release(static_cast<ortc_rt::pool*>(const_cast<void*>(p)));
}
