// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Tools.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace ortc::driver {

std::string findProgram(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* path = getenv("PATH");
  std::string all = path ? path : "";
  for (size_t at = 0; at <= all.size();) {
    size_t end = std::min(all.find(':', at), all.size());
    fs::path candidate = fs::path(all.substr(at, end - at)) / name;
    std::error_code error;
    if (end > at && fs::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
    at = end + 1;
  }
  return {};
}

ProcessResult runProgram(const std::vector<std::string>& arguments, double seconds,
                         const std::string& folder) {
  ProcessResult result;
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return result;
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // does not outlive the worker that waits for it
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    std::vector<char*> argv;
    for (const std::string& a : arguments)
      argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool late = pid < 0;
  while (!late) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    deadline - std::chrono::steady_clock::now())
                    .count();
    if (left <= 0) {
      late = true;
      break;
    }
    pollfd p{out[0], POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(std::min<long long>(left, 1000))) <= 0) continue;
    char buffer[65536];
    ssize_t n = read(out[0], buffer, sizeof buffer);
    if (n > 0)
      result.output.append(buffer, static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR)
      break;
  }
  close(out[0]);
  if (pid < 0) return result;
  if (late) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!late) result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string versionOf(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  ProcessResult r = runProgram(all, 10);
  for (size_t at = 0; at < r.output.size();) {
    size_t end = std::min(r.output.find('\n', at), r.output.size());
    std::string line = r.output.substr(at, end - at);
    if (line.find_first_of("0123456789") != std::string::npos && r.exitCode == 0) return line;
    at = end + 1;
  }
  return {};
}

std::string findCxx(const std::string& flag) {
  if (!flag.empty()) return findProgram(flag);
  if (const char* cxx = getenv("CXX"); cxx && *cxx) return findProgram(cxx);
  for (const char* name : {"g++", "clang++", "clang++-19", "c++"})
    if (std::string found = findProgram(name); !found.empty()) return found;
  return {};
}

} // namespace ortc::driver
