// SPDX-License-Identifier: 0BSD
// Two bundles, each with its own copy of the runtime, in one program: that it links is half of the
// test.
#include "rt/pool.h"

#include <catch2/catch.hpp>

const void* bundle_a_pool();
const void* bundle_b_pool();
void bundle_a_release(const void* p);
void bundle_b_release(const void* p);

TEST_CASE("bundles with their own runtimes share a program, and no state") {
  bool ok = false;
  const void* a = bundle_a_pool();
  const void* b = bundle_b_pool();
  ortc_rt::pool* ours = ortc_rt::pool_acquire(2, &ok);
  CHECK(a != b);
  CHECK(a != ours);
  bundle_a_release(a);
  bundle_b_release(b);
  ortc_rt::pool_release(ours);
}
