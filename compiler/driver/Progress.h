// SPDX-License-Identifier: Apache-2.0
// One line on stderr that tells how far a long command is; nothing when stderr is no terminal.
#pragma once
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

namespace ortc::driver {

class Progress {
public:
  Progress() : shown(isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }

  void show(const std::string& text) {
    auto now = std::chrono::steady_clock::now();
    if (!shown || now - last < std::chrono::milliseconds(100)) return;
    last = now;
    fmt::print(stderr, "\r\033[K{}", text.substr(0, 120));
    fflush(stderr);
    dirty = true;
  }
  /// Before anything else is printed.
  void clear() {
    if (dirty) fmt::print(stderr, "\r\033[K");
    dirty = false;
  }

private:
  bool shown, dirty = false;
  std::chrono::steady_clock::time_point last{};
};

} // namespace ortc::driver
