// SPDX-License-Identifier: Apache-2.0
// Programs of others that ortc uses: where they are, and what they say of themselves.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace ortc::driver {

/// Full path of a program on the PATH (or the path itself when it holds a slash). Empty when there
/// is none.
std::string findProgram(const std::string& name);

struct ProcessResult {
  int exitCode =
      -1; // 128 + signal when it was ended by one; -1: could not be started, or took too long
  std::string output; // stdout and stderr
};
/// Runs a program without a shell and waits.
ProcessResult runProgram(const std::vector<std::string>& arguments, double seconds,
                         const std::string& folder = {});

/// First line that `PROGRAM --version` prints (of those with a digit).
std::string versionOf(const std::string& program,
                      const std::vector<std::string>& arguments = {"--version"});

/// The C++ compiler: `flag`, else the variable CXX, else what the PATH has. Empty when there is
/// none.
std::string findCxx(const std::string& flag);

} // namespace ortc::driver
