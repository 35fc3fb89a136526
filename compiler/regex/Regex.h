// SPDX-License-Identifier: Apache-2.0
// Regular expressions in the syntax of RE2 (its wiki page "Syntax"), which ONNX and com.microsoft
// name for their patterns. A pattern becomes a table of rows: a nondeterministic automaton that a
// bundle's runtime follows on all of its paths at once (runtime_min/rt/regex.h), so that a match
// takes rows times characters at most, whatever the pattern [Thompson 1968].
//
// Of several matches the leftmost is meant and of those the longest, so that `a+?` finds what `a+`
// does. Whether a whole string matches is the same under every rule.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ortc::regex {

/// In the order of runtime_min's regex_op, whose names are these with `regex_` before them.
enum class Op : uint8_t {
  Begin, // a: rows of this pattern, b: rows that are states; the others are ranges of classes
  Range, // a character in [a, b], then the next row
  Class, // a character in one of the b ranges from row a on, then the next row
  Split, // row a or row b
  Jump,  // row a
  Check, // the next row if the place is one (a: of Place)
  Match,
};
enum class Place : uint8_t { TextBegin, TextEnd, LineBegin, LineEnd, WordEdge, NoWordEdge };

/// Rows that are named by others are counted from Begin.
struct Row {
  Op op;
  int32_t a = 0, b = 0;
};

struct Error {
  size_t at = 0; // byte of the pattern
  std::string message;
};

struct Compiled {
  std::vector<Row> rows;
  std::optional<Error> error;
};

/// A pattern may become this many rows: counted repetitions are written out.
constexpr size_t kMostRows = 10000;

Compiled compile(std::string_view pattern);

/// "a-z", "to 4 or 7", "at the end of the text": for the table of a bundle.
std::string describe(const std::vector<Row>& rows, size_t number);

struct Span {
  size_t begin, end;
};
/// The leftmost longest match that begins at `from` or later. What is before `from` is seen by \b
/// and (?m)^.
std::optional<Span> search(const std::vector<Row>& rows, std::string_view text, size_t from);
bool matchesAll(const std::vector<Row>& rows, std::string_view text);

/// One character, decoded: -1 and one byte where the text is not UTF-8.
struct Character {
  int32_t code;
  size_t bytes;
};
Character decode(std::string_view text, size_t at);
/// How many characters; nothing when the text is not UTF-8.
std::optional<size_t> countCharacters(std::string_view text);

} // namespace ortc::regex
