// SPDX-License-Identifier: Apache-2.0
// See the header: the one place where foreign names become harmless.
#include "compiler/support/Names.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace ortc {

int32_t takeCodePoint(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto invalid = [&] {
    text.remove_prefix(1);
    return -1;
  };
  unsigned char first = byte(0);
  if (first < 0x80) {
    text.remove_prefix(1);
    return first;
  }
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return invalid();
  int32_t codePoint = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid();
    codePoint = codePoint << 6 | (byte(i) & 0x3F);
  }
  constexpr int32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (codePoint < smallest[length] || codePoint > 0x10FFFF ||
      (codePoint >= 0xD800 && codePoint <= 0xDFFF))
    return invalid();
  text.remove_prefix(length);
  return codePoint;
}

void appendUtf8(std::string& text, uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    text += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool isUnsafeToPrint(int32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F) || (c & 0xFFFE) == 0xFFFE;
}

std::string escapeControls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char buffer[16];
  while (!text.empty()) {
    std::string_view rest = text;
    int32_t c = takeCodePoint(rest);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 0 || (isUnsafeToPrint(c) && c < 0x80)) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned char>(text[0]));
      out += buffer;
    } else if (isUnsafeToPrint(c)) {
      std::snprintf(buffer, sizeof buffer, "\\u{%x}", static_cast<unsigned>(c));
      out += buffer;
    } else {
      out.append(text.substr(0, text.size() - rest.size()));
    }
    text = rest;
  }
  return out;
}

std::string escapeForComment(std::string_view text) {
  std::string out;
  for (char c : escapeControls(text)) {
    // "*/" ends a comment, "/*" inside one is a warning, and "??/" is a backslash to a compiler
    // that knows trigraphs.
    if (!out.empty() && ((out.back() == '*' && c == '/') || (out.back() == '/' && c == '*') ||
                         (out.back() == '?' && c == '?')))
      out += ' ';
    out += c;
  }
  // A backslash joins the next line to the comment, even with blanks after it.
  size_t last = out.find_last_not_of(' ');
  if (last != std::string::npos && out[last] == '\\') out.replace(last, 1, "\\x5c");
  return out;
}

std::string escapeForString(std::string_view text) {
  std::string out;
  char buffer[8];
  while (!text.empty()) {
    std::string_view rest = text;
    int32_t c = takeCodePoint(rest);
    std::string_view bytes = text.substr(0, text.size() - rest.size());
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '?') {
      out += !out.empty() && out.back() == '?' ? "\\?" : "?"; // no trigraphs
    } else if (c < 0 || isUnsafeToPrint(c)) {
      for (char b : bytes) {
        std::snprintf(buffer, sizeof buffer, "\\%03o", static_cast<unsigned char>(b));
        out += buffer;
      }
    } else {
      out.append(bytes);
    }
    text = rest;
  }
  return out;
}

// Keywords of C, C++ (to C++23), CUDA, WGSL and JavaScript, macros of the headers that emitted code
// includes, and functions and types it uses unqualified. Sorted.
static constexpr std::string_view kReserved[] = {
#include "compiler/support/ReservedNames.inc"
};

bool isReservedIdentifier(std::string_view identifier) {
  return std::binary_search(std::begin(kReserved), std::end(kReserved), identifier);
}

static bool isAsciiLetter(int32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool isAsciiDigit(int32_t c) {
  return c >= '0' && c <= '9';
}

std::string legaliseIdentifier(std::string_view name, std::string_view fallback) {
  constexpr size_t kLongest = 64; // MSVC and nvcc mangle longer ones into unreadable symbols
  std::string out;
  char buffer[16];
  while (!name.empty() && out.size() < kLongest) {
    int32_t c = takeCodePoint(name);
    if (isAsciiLetter(c) || isAsciiDigit(c)) {
      out += static_cast<char>(c);
    } else if (c >= 0xA0 && !isUnsafeToPrint(c)) {
      std::snprintf(buffer, sizeof buffer, "u%x", static_cast<unsigned>(c));
      out += buffer;
    } else if (!out.empty() && out.back() != '_') {
      out += '_'; // one for any run: two in a row are reserved in C++
    }
  }
  while (!out.empty() && out.back() == '_')
    out.pop_back();
  if (out.empty())
    out = fallback;
  else if (isAsciiDigit(out[0]))
    out.insert(0, fallback);
  // Macros, types and functions of ours begin with it, in one case or the other.
  std::string_view mine = "ortc";
  if (out.size() >= mine.size() && std::equal(mine.begin(), mine.end(), out.begin(),
                                              [](char m, char c) { return m == (c | 0x20); }))
    out = std::string(fallback) + "_" + out;
  if (isReservedIdentifier(out)) out += '_';
  return out;
}

void NameTable::reserve(std::string_view identifier) {
  taken.emplace(identifier);
}

const std::string& NameTable::identifier(std::string_view name, std::string_view fallback) {
  auto [it, isNew] = byName.try_emplace(std::string(name));
  if (isNew) it->second = fresh(name, fallback);
  return it->second;
}

std::string NameTable::fresh(std::string_view hint, std::string_view fallback) {
  std::string base = legaliseIdentifier(hint, fallback);
  if (taken.insert(base).second) return base;
  // "x_" + "2" and not "x__2"; "fc_1" + "_2".
  std::string stem = base.back() == '_' ? base : base + "_";
  for (unsigned& next = nextSuffix.try_emplace(base, 2).first->second;; ++next) {
    std::string candidate = stem + std::to_string(next);
    if (taken.insert(candidate).second) {
      ++next;
      return candidate;
    }
  }
}

} // namespace ortc
