// SPDX-License-Identifier: 0BSD
// The runtime as a bundle `bundle_a` compiles it.
#define ORTC_RT_PREFIX bundle_a
#include "rt/arena.cpp"
#include "rt/context.cpp"
#include "rt/pool.cpp"
#include "rt/tensors.cpp"
#include "rt/weights.cpp"

const void* bundle_a_pool() {
  bool ok = false;
  return ortc_rt::pool_acquire(2, &ok);
}
void bundle_a_release(const void* p) {
  ortc_rt::pool_release(static_cast<ortc_rt::pool*>(const_cast<void*>(p)));
}
