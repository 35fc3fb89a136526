// SPDX-License-Identifier: Apache-2.0
// Work in processes of its own: one task, one fork, with limits of time and memory. What crashes or
// hangs takes nothing else with it. The parent must have no threads.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace ortc::driver {

struct WorkerLimits {
  double seconds = 600;
  uint64_t addressSpace = 0; // bytes; 0: three quarters of the machine's memory
};

struct WorkerResult {
  std::string output;  // what the task returned
  std::string failure; // "crashed (SIGSEGV): last line of stderr"; empty when it returned
};

/// Runs task(0..count-1), `jobs` at a time, each in a child; calls done(index, result) in the order
/// of the indices. What children write to stderr is only shown when they fail.
void runInWorkers(size_t count, unsigned jobs, const WorkerLimits& limits,
                  const std::function<std::string(size_t)>& task,
                  const std::function<void(size_t, WorkerResult)>& done);

} // namespace ortc::driver
