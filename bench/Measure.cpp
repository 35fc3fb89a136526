// SPDX-License-Identifier: Apache-2.0
#include "bench/Measure.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/resource.h>
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

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

double threadMilliseconds() {
  return now(CLOCK_THREAD_CPUTIME_ID);
}

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

Answer inChild(const std::function<std::string()>& work) {
  int pipes[2];
  if (pipe(pipes)) return {"", "no pipe"};
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    std::string answer;
    try {
      answer = "+" + work();
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
    return {"", "the process ended without an answer (status " + std::to_string(status) + ")"};
  if (answer[0] == '-') return {"", answer.substr(1)};
  return {answer.substr(1), ""};
}

Peak peakOf(const std::function<void()>& work) {
  const Answer answer = inChild([&] {
    // A new count of the peak, from what the child has now.
    if (FILE* f = fopen("/proc/self/clear_refs", "w")) fputs("5", f), fclose(f);
    const int64_t before = statusField("VmRSS");
    work();
    return std::to_string(statusField("VmHWM") - before);
  });
  return {answer.error.empty() ? std::stoll(answer.text) : 0, answer.error};
}

double cpuSecondsOf(const std::vector<std::string>& command, const std::string& log) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    std::vector<char*> argv;
    for (const std::string& word : command)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, 1), dup2(file, 2);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (status != 0) {
    std::ifstream f(log);
    std::string text{std::istreambuf_iterator<char>(f), {}};
    throw std::runtime_error("failed: " + command[0] + ": " +
                             text.substr(text.size() > 1000 ? text.size() - 1000 : 0));
  }
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string processorText() {
  std::ifstream f("/proc/cpuinfo");
  std::string line, name, family, model;
  int cores = 0;
  while (std::getline(f, line)) {
    const size_t colon = line.find(": ");
    const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
    if (line.rfind("model name", 0) == 0)
      name = value, ++cores;
    else if (line.rfind("cpu family", 0) == 0)
      family = value;
    else if (line.rfind("model", 0) == 0)
      model = value;
  }
  return name + " (family " + family + " model " + model + "), " + std::to_string(cores) + " cores";
}

} // namespace ortc::bench
