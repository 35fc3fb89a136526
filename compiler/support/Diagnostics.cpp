// SPDX-License-Identifier: Apache-2.0
// How messages look. See docs on error texts in the header.
#include "compiler/support/Diagnostics.h"

#include "compiler/support/Names.h"

namespace ortc {

std::string quoteName(std::string_view name) {
  constexpr size_t kLongest = 200; // a name of megabytes would hide the message
  std::string text = "'";
  if (name.size() > kLongest) {
    size_t cut = kLongest; // not in the middle of a character
    while (cut > kLongest - 4 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80)
      --cut;
    text += escapeControls(name.substr(0, cut)) + "...";
  } else {
    text += escapeControls(name);
  }
  return text + "'";
}

bool Diagnostic::isLimitOfOrtc() const {
  return message.find("not supported") != std::string::npos ||
         message.find("fault of ortc") != std::string::npos;
}

std::string Diagnostic::str() const {
  std::string text;
  if (!file.empty()) text += escapeControls(file) + ": ";
  if (!location.empty()) text += escapeControls(location) + ": ";
  switch (severity) {
  case Severity::Error: text += "error: "; break;
  case Severity::Warning: text += "warning: "; break;
  case Severity::Remark: text += "remark: "; break;
  }
  text += escapeControls(message) + "\n";
  for (const Line& line : lines)
    text += (line.isHelp ? "  help: " : "  note: ") + escapeControls(line.text) + "\n";
  return text;
}

Diagnostic& Diagnostics::report(Severity severity, std::string_view location, std::string message) {
  return report({severity, currentFile, std::string(location), std::move(message), {}});
}

Diagnostic& Diagnostics::report(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::Error) ++errors;
  list.push_back(std::move(diagnostic));
  return list.back();
}

std::string Diagnostics::str() const {
  std::string text;
  for (const Diagnostic& diagnostic : list)
    text += diagnostic.str();
  return text;
}

void Diagnostics::print(std::FILE* out) const {
  std::string text = str();
  std::fwrite(text.data(), 1, text.size(), out);
}

void Diagnostics::clear() {
  list.clear();
  errors = 0;
}

} // namespace ortc
