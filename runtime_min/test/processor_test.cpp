// SPDX-License-Identifier: 0BSD
// What the runtime finds out about the processor beside what the compiler's own library finds out.
#include "rt/processor.h"

#include <catch2/catch.hpp>

using namespace ortc_rt;

TEST_CASE("a level is there only with those below it") {
  const uint64_t found = processor_features();
  if (found & x86_64_v3) CHECK(found & x86_64_v2);
  if (found & x86_64_v4) CHECK(found & x86_64_v3);
  if (found & (avx512vnni | avx512bf16)) CHECK(found & x86_64_v4);
}

#if defined(__x86_64__)
TEST_CASE("levels are as the compiler's library says") {
  const uint64_t found = processor_features();
  const auto has = [&](processor_feature f) { return (found & f) != 0; };
  CHECK(has(x86_64_v2) == (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")));
  CHECK(has(x86_64_v3) == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                           __builtin_cpu_supports("bmi2")));
  CHECK(has(x86_64_v4) ==
        (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")));
  CHECK(has(avx512vnni) == (has(x86_64_v4) && __builtin_cpu_supports("avx512vnni")));
}
#else
TEST_CASE("no levels are known elsewhere") {
  CHECK(processor_features() == 0);
}
#endif
