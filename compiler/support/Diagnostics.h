// SPDX-License-Identifier: Apache-2.0
// Messages to the user: collected where they arise, printed by the driver. No exceptions: a
// function that can fail takes a Diagnostics&, reports there, and returns false, null or an empty
// optional.
//
//   resnet50.onnx: node '/layer1/Conv_3' (Conv, opset 11): error: 'group' is 3 but input 'x' has 64
//   channels
//     note: 'x' is f32[1,64,56,56], produced by node '/layer1/Relu_2' (Relu)
//     help: ...
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ortc {

/// What the process exits with when an error stops it.
enum class ExitCode : int { Ok = 0, BadModel = 1, Usage = 2, MissingTool = 3 };

enum class Severity : uint8_t { Error, Warning, Remark };

/// A name as it appears inside a message: 'name', with control and bidirectional characters
/// escaped, and cut when very long.
std::string quoteName(std::string_view name);

struct Diagnostic {
  struct Line {
    bool isHelp; // else a note
    std::string text;
  };
  Severity severity = Severity::Error;
  std::string file;     // as the user named it; may be empty
  std::string location; // "node '/fc/Gemm' (Gemm, opset 13)"; may be empty
  std::string message;  // lower case, no full stop
  std::vector<Line> lines;

  template <typename... T> Diagnostic& note(fmt::format_string<T...> format, T&&... args) {
    lines.push_back({false, fmt::format(format, std::forward<T>(args)...)});
    return *this;
  }
  template <typename... T> Diagnostic& help(fmt::format_string<T...> format, T&&... args) {
    lines.push_back({true, fmt::format(format, std::forward<T>(args)...)});
    return *this;
  }
  /// The fault is not the model's: it needs what ortc lacks. Such messages say "not supported", or
  /// "fault of ortc".
  bool isLimitOfOrtc() const;
  /// As printed, with a final newline; whatever names were put in, the result holds no control
  /// characters.
  std::string str() const;
};

class Diagnostics {
public:
  explicit Diagnostics(std::string file = {}) : currentFile(std::move(file)) {}

  /// The file that later reports are about.
  void setFile(std::string file) { currentFile = std::move(file); }
  const std::string& file() const { return currentFile; }
  /// Reports within its lifetime are about another file.
  class FileScope {
  public:
    FileScope(Diagnostics& diagnostics, std::string file)
        : diagnostics(diagnostics), before(std::move(diagnostics.currentFile)) {
      diagnostics.currentFile = std::move(file);
    }
    ~FileScope() { diagnostics.currentFile = std::move(before); }
    FileScope(const FileScope&) = delete;

  private:
    Diagnostics& diagnostics;
    std::string before;
  };

  /// The reference stays valid until clear(); add notes to it.
  Diagnostic& report(Severity severity, std::string_view location, std::string message);
  Diagnostic& report(Diagnostic diagnostic);

  template <typename... T>
  Diagnostic& error(std::string_view location, fmt::format_string<T...> format, T&&... args) {
    return report(Severity::Error, location, fmt::format(format, std::forward<T>(args)...));
  }
  template <typename... T>
  Diagnostic& warning(std::string_view location, fmt::format_string<T...> format, T&&... args) {
    return report(Severity::Warning, location, fmt::format(format, std::forward<T>(args)...));
  }
  template <typename... T>
  Diagnostic& remark(std::string_view location, fmt::format_string<T...> format, T&&... args) {
    return report(Severity::Remark, location, fmt::format(format, std::forward<T>(args)...));
  }

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  /// True once so many errors were reported that further ones would only bury the first.
  bool tooManyErrors() const { return errors >= kMaxErrors; }
  const std::deque<Diagnostic>& all() const { return list; }
  std::string str() const;
  void print(std::FILE* out) const;
  void clear();

private:
  static constexpr size_t kMaxErrors = 20;
  std::string currentFile;
  std::deque<Diagnostic> list; // references into it stay valid
  size_t errors = 0;
};

} // namespace ortc
