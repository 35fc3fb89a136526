// SPDX-License-Identifier: Apache-2.0
#include "bench/Measure.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace ortc::bench {
namespace {

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

int64_t statusField(const char* name) {
  int64_t kilobytes = 0;
  if (FILE* f = fopen("/proc/self/status", "r")) {
    char line[256];
    while (fgets(line, sizeof line, f))
      if (!strncmp(line, name, strlen(name))) sscanf(line + strlen(name), ": %ld", &kilobytes);
    fclose(f);
  }
  return kilobytes * 1024;
}

} // namespace

Times timeInterleaved(const std::function<void()>& first, const std::function<void()>& second,
                      bool ownThread, double seconds) {
  const clockid_t clock = ownThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  auto timed = [&](const std::function<void()>& f, int64_t runs) {
    double start = now(clock);
    for (int64_t i = 0; i < runs; ++i)
      f();
    return (now(clock) - start) / static_cast<double>(runs);
  };
  // Short runs are timed many at a time: a sample takes at least 2 ms.
  auto runsOf = [&](const std::function<void()>& f) {
    timed(f, 2);
    double one = timed(f, 3);
    if (one < 0.1) one = timed(f, 100);
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(2.0 / std::max(one, 1e-6))));
  };
  const int64_t a = runsOf(first), b = runsOf(second);
  std::vector<double> x, y, ratios;
  const double end = now(CLOCK_MONOTONIC) + seconds * 1e3;
  while (x.size() < 5 || (now(CLOCK_MONOTONIC) < end && x.size() < 1000)) {
    x.push_back(timed(first, a));
    y.push_back(timed(second, b));
    ratios.push_back(x.back() / y.back());
  }
  return {median(x), median(y), median(ratios), static_cast<int>(x.size())};
}

Peak peakOf(const std::function<void()>& work) {
  int pipes[2];
  if (pipe(pipes)) return {0, "no pipe"};
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    // A new count of the peak, from what the child has now.
    if (FILE* f = fopen("/proc/self/clear_refs", "w")) fputs("5", f), fclose(f);
    const int64_t before = statusField("VmRSS");
    std::string answer;
    try {
      work();
      answer = "+" + std::to_string(statusField("VmHWM") - before);
    } catch (const std::exception& e) {
      answer = std::string("-") + e.what();
    }
    ssize_t written = write(pipes[1], answer.data(), answer.size());
    _exit(written < 0);
  }
  close(pipes[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = read(pipes[0], buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (answer.empty())
    return {0, "the process ended without an answer (status " + std::to_string(status) + ")"};
  if (answer[0] == '-') return {0, answer.substr(1)};
  return {std::stoll(answer.substr(1)), ""};
}

} // namespace ortc::bench
