// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/WorkerPool.h"
#include "compiler/driver/Command.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ortc::driver {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  size_t index;
  pid_t pid;
  int result, errors; // pipes that we read
  Clock::time_point deadline;
  std::string output, text;
  bool killed = false;
};

/// Appends what is there; false at the end of the file.
bool readSome(int fd, std::string& into, size_t keep) {
  char buffer[65536];
  ssize_t n = read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  into.append(buffer, static_cast<size_t>(n));
  if (into.size() > 2 * keep) into.erase(0, into.size() - keep);
  return true;
}

void writeAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) at += static_cast<size_t>(n);
  }
}

/// In the child: its exit code. No exception may leave it.
int runTask(const std::function<std::string(size_t)>& task, size_t index, int result) {
  try {
    writeAll(result, task(index));
    return 0;
  } catch (const UsageError& e) {
    fmt::print(stderr, "{}\n", e.message);
  } catch (const MissingTool& e) {
    fmt::print(stderr, "{}\n", e.message);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what()); // "std::bad_alloc" among them
  }
  return 1;
}

/// The line of a crash report that says most: an assertion or an exception, else the last one.
std::string tellingLine(const std::string& text) {
  std::string best, last;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    last = line;
    for (const char* sign : {"Assertion", "what():", "terminate called", "LLVM ERROR",
                             "ERROR: AddressSanitizer", "runtime error"})
      if (best.empty() && line.find(sign) != std::string::npos) best = line;
  }
  std::string chosen = best.empty() ? last : best;
  return chosen.size() > 300 ? chosen.substr(0, 300) + "..." : chosen;
}

std::string failureText(const Child& child, int status, const WorkerLimits& limits) {
  if (child.killed) return fmt::format("took longer than {:.0f} s", limits.seconds);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string how = WIFSIGNALED(status)
                        ? fmt::format("crashed (SIG{})", sigabbrev_np(WTERMSIG(status)))
                        : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  if (child.text.find("bad_alloc") != std::string::npos) return "ran out of memory";
  const std::string line = tellingLine(child.text);
  return line.empty() ? how : how + ": " + line;
}

uint64_t machineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

} // namespace

void runInWorkers(size_t count, unsigned jobs, const WorkerLimits& limits,
                  const std::function<std::string(size_t)>& task,
                  const std::function<void(size_t, WorkerResult)>& done) {
  std::vector<Child> running;
  std::map<size_t, WorkerResult> finished; // waiting for earlier ones
  size_t next = 0, reported = 0;
  fflush(stdout);
  fflush(stderr);
  while (reported < count) {
    while (next < count && running.size() < std::max(1u, jobs)) {
      int result[2], errors[2];
      if (pipe2(result, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) {
        finished[next++] = {"", "could not be started: no pipes left"};
        break;
      }
      pid_t pid = fork();
      if (pid == 0) {
        setpgid(0, 0); // so that what it starts ends with it
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(errors[1], STDERR_FILENO);
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        const uint64_t bytes = limits.addressSpace ? limits.addressSpace : machineMemory() / 4 * 3;
        rlimit memory{bytes, bytes}, none{0, 0};
        setrlimit(RLIMIT_AS, &memory);
        setrlimit(RLIMIT_CORE, &none);
        // No destructors: the memory is given back at once, and what the parent's frames own (the
        // folder that all tasks work in) is not the child's to clean up.
        _exit(runTask(task, next, result[1]));
      }
      close(result[1]);
      close(errors[1]);
      if (pid < 0) {
        close(result[0]);
        close(errors[0]);
        finished[next++] = {"", fmt::format("could not be started: {}", strerror(errno))};
        break;
      }
      auto limit = std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(limits.seconds));
      running.push_back({next++, pid, result[0], errors[0], Clock::now() + limit, {}, {}});
    }

    std::vector<pollfd> fds;
    for (const Child& child : running) {
      fds.push_back({child.result, POLLIN, 0});
      fds.push_back({child.errors, POLLIN, 0});
    }
    if (!fds.empty()) poll(fds.data(), fds.size(), 200);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      bool open = true;
      if (fds[2 * i + 1].revents) {
        if (!readSome(child.errors, child.text, 16384)) fds[2 * i + 1].revents = 0;
      }
      if (fds[2 * i].revents) open = readSome(child.result, child.output, SIZE_MAX / 4);
      if (!child.killed && Clock::now() > child.deadline) {
        kill(-child.pid, SIGKILL);
        kill(child.pid, SIGKILL);
        child.killed = true;
      }
      if (open && !child.killed) continue;
      int status = 0;
      while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
      }
      kill(-child.pid, SIGKILL); // what it left behind
      fcntl(child.errors, F_SETFL, O_NONBLOCK);
      for (size_t before = SIZE_MAX; before != child.text.size();) {
        before = child.text.size();
        if (!readSome(child.errors, child.text, 16384)) break;
      }
      close(child.result);
      close(child.errors);
      finished[child.index] = {child.output, failureText(child, status, limits)};
      running.erase(running.begin() + static_cast<long>(i));
    }
    while (!finished.empty() && finished.begin()->first == reported) {
      done(reported++, std::move(finished.begin()->second));
      finished.erase(finished.begin());
    }
  }
}

} // namespace ortc::driver
