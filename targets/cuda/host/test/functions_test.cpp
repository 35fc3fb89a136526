// SPDX-License-Identifier: 0BSD
//
// The scalar functions of CUDA kernels answer as those of CPU kernels do: to the bit, but for
// elementary functions.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include <cmath>

#include "functions_result.h"

TEST_CASE("a kernel computes the same on CUDA as on a CPU") {
  const std::vector<FunctionResult> cpu = answersOfRuntime(), cuda = answersOfCuda();
  REQUIRE(cpu.size() == cuda.size());
  REQUIRE(cpu.size() > 20000);
  int wrong = 0;
  for (size_t i = 0; i < cpu.size(); ++i) {
    const FunctionResult &a = cpu[i], &b = cuda[i];
    const bool same = a.value == b.value ? std::signbit(a.value) == std::signbit(b.value)
                                         : std::isnan(a.value) && std::isnan(b.value);
    if (same || std::fabs(a.value - b.value) <= a.tolerance * std::max(std::fabs(a.value), 1e-37))
      continue;
    UNSCOPED_INFO(a.name << "(" << a.x << ", " << a.y << "): cpu " << a.value << ", cuda "
                         << b.value);
    ++wrong;
  }
  REQUIRE(wrong == 0);
}
