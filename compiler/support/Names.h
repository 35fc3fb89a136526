// SPDX-License-Identifier: Apache-2.0
// Names come from files that anyone may have written. Nothing of them reaches emitted text or a
// terminal before it went through one of these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ortc {

/// Takes one code point off the front of `text`. Invalid UTF-8 yields -1 and takes one byte.
int32_t takeCodePoint(std::string_view& text);
void appendUtf8(std::string& text, uint32_t codePoint);
/// C0 and C1 controls, bidirectional controls, line and paragraph separators, zero-width and other
/// invisible format characters: what can hide or reorder text.
bool isUnsafeToPrint(int32_t codePoint);

/// `text` with unsafe characters written as \n, \x1b or \u{202e}, and invalid UTF-8 as \xNN. Leaves
/// backslashes, so that applying it twice changes nothing.
std::string escapeControls(std::string_view text);

/// Safe inside // and /* */ comments of C++, CUDA, WGSL and JavaScript: one line, no comment marks,
/// no backslash at the end (which would join lines), no unsafe characters.
std::string escapeForComment(std::string_view text);

/// The inside of a C or C++ string literal (without the quotes); also valid C for JSON-free use.
/// Octal escapes, as they cannot swallow the characters after them.
std::string escapeForString(std::string_view text);

/// A legal identifier that resembles `name` in C, C++, CUDA, WGSL and JavaScript: ASCII letters,
/// digits and single underscores, no keyword and no name of the standard library that emitted code
/// calls. "/fc1/Gemm" gives "fc1_Gemm"; characters outside ASCII give their number, "é" "ue9".
/// `fallback` is used when nothing is left, and put in front of a digit.
std::string legaliseIdentifier(std::string_view name, std::string_view fallback = "v");
bool isReservedIdentifier(std::string_view identifier);

/// Hands out identifiers that are unique within one scope of emitted text. The same sequence of
/// calls gives the same identifiers, always.
class NameTable {
public:
  /// Keeps `identifier` from being handed out.
  void reserve(std::string_view identifier);
  /// The identifier of `name`: legal, and different for different names. Asked again, it answers
  /// the same.
  const std::string& identifier(std::string_view name, std::string_view fallback = "v");
  /// A new identifier that resembles `hint`; each call gives another one.
  std::string fresh(std::string_view hint, std::string_view fallback = "v");

private:
  std::unordered_map<std::string, std::string> byName;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, unsigned> nextSuffix;
};

} // namespace ortc
