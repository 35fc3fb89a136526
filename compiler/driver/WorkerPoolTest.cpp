// SPDX-License-Identifier: Apache-2.0
// Tasks in processes of their own: what one of them does to itself touches nothing else.
#include <catch2/catch.hpp>

#include "compiler/driver/Command.h"
#include "compiler/driver/WorkerPool.h"
#include <csignal>
#include <new>
#include <stdexcept>
#include <unistd.h>
#include <vector>

using namespace ortc::driver;

namespace {

std::vector<WorkerResult> results(const std::vector<std::function<std::string()>>& tasks,
                                  unsigned jobs) {
  std::vector<WorkerResult> all;
  runInWorkers(
      tasks.size(), jobs, {20, 0}, [&](size_t i) { return tasks[i](); },
      [&](size_t i, WorkerResult r) {
        CHECK(i == all.size());
        all.push_back(std::move(r));
      });
  return all;
}

} // namespace

TEST_CASE("a task that fails takes nothing with it") {
  for (unsigned jobs : {1u, 3u}) {
    const auto all =
        results({[] { return std::string("one"); }, []() -> std::string { throw std::bad_alloc(); },
                 []() -> std::string { throw std::runtime_error("a reason"); },
                 []() -> std::string { throw UsageError{"no such thing", ""}; },
                 []() -> std::string {
                   raise(SIGABRT);
                   return {};
                 },
                 []() -> std::string { _exit(7); }, [] { return std::string("two"); }},
                jobs);
    REQUIRE(all.size() == 7);
    CHECK(all[0].output == "one");
    CHECK(all[0].failure.empty());
    CHECK(all[1].failure == "ran out of memory");
    CHECK(all[2].failure == "ended with exit code 1: a reason");
    CHECK(all[3].failure == "ended with exit code 1: no such thing");
    CHECK(all[4].failure.starts_with("crashed (SIGABRT)"));
    CHECK(all[5].failure == "ended with exit code 7");
    CHECK(all[6].output == "two");
  }
}
