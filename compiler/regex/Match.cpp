// SPDX-License-Identifier: Apache-2.0
// The rows followed on all paths at once, for the evaluator. runtime_min/rt/regex.cpp does the same
// in fixed memory.
#include "compiler/regex/Regex.h"
#include <algorithm>

#include "compiler/support/Names.h"

namespace ortc::regex {

Character decode(std::string_view text, size_t at) {
  std::string_view rest = text.substr(at);
  int32_t code = takeCodePoint(rest);
  return {code, text.size() - at - rest.size()};
}

std::optional<size_t> countCharacters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    Character c = decode(text, at);
    if (c.code < 0) return std::nullopt;
    at += c.bytes;
  }
  return count;
}

namespace {

bool isPlace(Place place, std::string_view text, size_t at) {
  auto isWord = [&](size_t i) {
    if (i >= text.size()) return false; // i is -1 before the text
    char c = text[i];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  bool first = at == 0, last = at == text.size();
  switch (place) {
  case Place::TextBegin: return first;
  case Place::TextEnd: return last;
  case Place::LineBegin: return first || text[at - 1] == '\n';
  case Place::LineEnd: return last || text[at] == '\n';
  case Place::WordEdge: return isWord(at - 1) != isWord(at);
  case Place::NoWordEdge: return isWord(at - 1) == isWord(at);
  }
  return false;
}

bool consumes(const std::vector<Row>& rows, const Row& row, int32_t c) {
  if (row.op == Op::Range) return row.a <= c && c <= row.b;
  return std::any_of(rows.begin() + row.a, rows.begin() + row.a + row.b,
                     [&](const Row& range) { return range.a <= c && c <= range.b; });
}

/// A path: the row that it is at, and where in the text it began.
struct Path {
  size_t row, begin;
};

/// Paths in the order of where they began, with all rows that they reach without a character. Of
/// those that meet in a row, the first goes on.
std::vector<Path> spread(const std::vector<Row>& rows, const std::vector<Path>& paths,
                         std::string_view text, size_t at) {
  std::vector<Path> reached;
  std::vector<bool> seen(rows.size());
  for (const Path& p : paths)
    for (std::vector<size_t> open = {p.row}; !open.empty();) {
      size_t number = open.back();
      open.pop_back();
      if (seen[number]) continue;
      seen[number] = true;
      const Row& r = rows[number];
      if (r.op == Op::Split) open.push_back(r.b);
      if (r.op == Op::Split || r.op == Op::Jump) {
        open.push_back(r.a);
      } else if (r.op == Op::Check) {
        if (isPlace(static_cast<Place>(r.a), text, at)) open.push_back(number + 1);
      } else {
        reached.push_back({number, p.begin});
      }
    }
  return reached;
}

std::optional<Span> find(const std::vector<Row>& rows, std::string_view text, size_t from,
                         bool whole) {
  std::optional<Span> found;
  std::vector<Path> paths;
  for (size_t at = from;;) {
    if (!found && (!whole || at == from)) paths.push_back({1, at});
    paths = spread(rows, paths, text, at);
    for (const Path& p : paths)
      if (rows[p.row].op == Op::Match && (!whole || at == text.size())) {
        if (!found || p.begin <= found->begin) found = Span{p.begin, at};
        break;
      }
    // What began behind the match cannot matter any more.
    if (found)
      paths.erase(std::find_if(paths.begin(), paths.end(),
                               [&](const Path& p) { return p.begin > found->begin; }),
                  paths.end());
    if (at == text.size() || (paths.empty() && (found || whole))) return found;
    Character c = decode(text, at);
    std::vector<Path> moved;
    for (const Path& p : paths)
      if (rows[p.row].op != Op::Match && consumes(rows, rows[p.row], c.code))
        moved.push_back({p.row + 1, p.begin});
    paths = std::move(moved);
    at += c.bytes;
  }
}

} // namespace

std::optional<Span> search(const std::vector<Row>& rows, std::string_view text, size_t from) {
  return find(rows, text, from, false);
}
bool matchesAll(const std::vector<Row>& rows, std::string_view text) {
  return find(rows, text, 0, true).has_value();
}

} // namespace ortc::regex
