// SPDX-License-Identifier: Apache-2.0
// Time and memory of two ways to do the same.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ortc::bench {

struct Times {
  double first = 0, second = 0; // ms of one run, medians over the rounds
  double ratio = 0;             // first / second, median over the rounds
  int rounds = 0;
};
/// Both in turn, in this process, warm, for about `seconds`. With `ownThread` the clock is the CPU
/// time of the calling thread, which other programs on the machine do not lengthen; else the
/// wall's.
Times timeInterleaved(const std::function<void()>& first, const std::function<void()>& second,
                      bool ownThread, double seconds);

/// What `work` adds to the resident memory of a child process at its peak, and the error text when
/// it throws.
struct Peak {
  int64_t bytes = 0;
  std::string error;
};
Peak peakOf(const std::function<void()>& work);

/// What `work` gives in a child process, so that it begins with nothing of what was done before,
/// and the error text when it throws.
struct Answer {
  std::string text, error;
};
Answer inChild(const std::function<std::string()>& work);

/// CPU time, user and system, of a command with all that it starts, in seconds. Throws
/// std::runtime_error with the end of its output when it fails.
double cpuSecondsOf(const std::vector<std::string>& command, const std::string& log);

/// CPU time of the calling thread in ms.
double threadMilliseconds();
double median(std::vector<double> values);

/// "AMD EPYC 9R14 (family 25 model 17), 2 cores".
std::string processorText();

} // namespace ortc::bench
