// SPDX-License-Identifier: Apache-2.0
// From a pattern to rows, in one pass and without recursion: each part of the pattern is a fragment
// whose rows name each other by distance, so that joining, repeating and copying them is appending.
#include "compiler/regex/CharSet.h"
#include "compiler/regex/Regex.h"
#include <algorithm>
#include <map>

#include "compiler/support/Diagnostics.h"
#include <fmt/format.h>

namespace ortc::regex {

namespace {

constexpr int kMostRepeats = 1000; // RE2's: also of repetitions in repetitions

/// Entered at its first row, left behind its last.
struct Fragment {
  std::vector<Row> rows; // targets are distances; a class is the number of its set
  int repeats = 1;       // copies of its innermost part that counted repetitions made
};

struct Flags {
  bool fold = false, dotAll = false, multiLine = false;
};

/// What is open at a place of the pattern: a group, or all of it.
struct Group {
  size_t at; // of its parenthesis
  Flags outer;
  std::vector<Fragment> alternatives; // those that are complete
  Fragment sequence;
  // The last part of the sequence, to which a repetition applies.
  std::optional<size_t> last;
  int lastRepeats = 1;
};

/// Thrown and caught in this file.
struct Fault {
  Error error;
};

class Parser {
public:
  explicit Parser(std::string_view pattern) : pattern(pattern) {}

  std::vector<Row> run() {
    for (size_t i = 0; i < pattern.size();) {
      Character c = decode(pattern, i);
      if (c.code < 0) fail(i, "it is not valid UTF-8 here");
      i += c.bytes;
    }
    groups.push_back({0, {}, {}, {}, {}});
    while (at < pattern.size())
      next();
    if (groups.size() > 1) fail(groups.back().at, "this '(' has no ')'");
    return finish(alternation(groups.back()));
  }

private:
  std::string_view pattern;
  size_t at = 0;
  Flags flags;
  std::vector<Group> groups;
  std::vector<std::vector<Range>> sets;
  std::map<std::vector<Range>, int32_t> numberOf;
  size_t setRows = 0;
  // The repetition just read, after which another is a fault.
  std::optional<size_t> repetition;

  [[noreturn]] static void fail(size_t where, std::string message) {
    throw Fault{{where, std::move(message)}};
  }
  std::string from(size_t where) const { return quoteName(pattern.substr(where, at - where)); }

  bool done() const { return at >= pattern.size(); }
  bool follows(std::string_view text) const { return pattern.substr(at, text.size()) == text; }
  bool take(std::string_view text) {
    if (!follows(text)) return false;
    at += text.size();
    return true;
  }
  int32_t takeCharacter() {
    Character c = decode(pattern, at);
    at += c.bytes;
    return c.code;
  }

  // ---- fragments ----

  void requireRoom(size_t rows, size_t where) const {
    if (rows + setRows + 2 > kMostRows)
      fail(where, fmt::format("the pattern becomes more than {} states here", kMostRows));
  }
  static void append(Fragment& to, const Fragment& part) {
    to.rows.insert(to.rows.end(), part.rows.begin(), part.rows.end());
    to.repeats = std::max(to.repeats, part.repeats);
  }
  void add(Fragment part, size_t where) {
    Group& g = groups.back();
    requireRoom(g.sequence.rows.size() + part.rows.size(), where);
    g.last = g.sequence.rows.size();
    g.lastRepeats = part.repeats;
    if (g.sequence.rows.empty() && g.sequence.repeats == 1)
      g.sequence = std::move(part);
    else
      append(g.sequence, part);
    repetition.reset();
  }
  void addRow(Row row, size_t where) { add({{row}, 1}, where); }
  void addPlace(Place place, size_t where) {
    addRow({Op::Check, static_cast<int32_t>(place), 0}, where);
  }
  void addSet(CharSet& set, size_t where) {
    const std::vector<Range>& r = set.ranges();
    if (r.size() == 1) return addRow({Op::Range, r[0].first, r[0].second}, where);
    auto [it, isNew] = numberOf.try_emplace(r, static_cast<int32_t>(sets.size()));
    if (isNew) {
      sets.push_back(r);
      setRows += r.size();
    }
    addRow({Op::Class, it->second, static_cast<int32_t>(r.size())}, where);
  }
  void addCharacter(int32_t c, size_t where) {
    CharSet set;
    set.add(c, c, flags.fold);
    addSet(set, where);
  }

  Fragment alternation(Group& g) {
    if (g.alternatives.empty()) return std::move(g.sequence);
    g.alternatives.push_back(std::move(g.sequence));
    size_t total = 2 * (g.alternatives.size() - 1);
    for (const Fragment& a : g.alternatives)
      total += a.rows.size();
    requireRoom(total, g.at);
    Fragment all;
    for (size_t i = 0; i < g.alternatives.size(); ++i) {
      const Fragment& a = g.alternatives[i];
      bool isLast = i + 1 == g.alternatives.size();
      auto rows = static_cast<int32_t>(a.rows.size());
      if (!isLast) all.rows.push_back({Op::Split, 1, rows + 2});
      append(all, a);
      if (!isLast) all.rows.push_back({Op::Jump, static_cast<int32_t>(total - all.rows.size()), 0});
    }
    return all;
  }

  /// The last part `least` to `most` times; -1: any number of times.
  void repeat(int least, int most, size_t where) {
    if (repetition)
      fail(where, fmt::format("{} repeats the repetition before it; put that into parentheses",
                              from(where)));
    Group& g = groups.back();
    if (!g.last) fail(where, fmt::format("there is nothing that {} could repeat", from(where)));
    int counted = most < 0 ? least : most;
    if (least > kMostRepeats || counted > kMostRepeats || (most >= 0 && most < least))
      fail(where,
           fmt::format("{} is no count; expected {{least,most}} of at most {}, in this order",
                       from(where), kMostRepeats));
    g.lastRepeats *= std::max(counted, 1);
    if (g.lastRepeats > kMostRepeats)
      fail(where, fmt::format("{} makes more than {} copies of what repeats inside of it",
                              from(where), kMostRepeats));
    auto begin = g.sequence.rows.begin() + static_cast<ptrdiff_t>(*g.last);
    std::vector<Row> part(begin, g.sequence.rows.end());
    size_t copies = most < 0 ? std::max(least, 1) : most;
    requireRoom(*g.last + copies * (part.size() + 1) + 2, where);
    g.sequence.rows.erase(begin, g.sequence.rows.end());
    g.sequence.repeats = std::max(g.sequence.repeats, g.lastRepeats);
    std::vector<Row>& rows = g.sequence.rows;
    auto size = static_cast<int32_t>(part.size());
    auto copy = [&] { rows.insert(rows.end(), part.begin(), part.end()); };
    for (int i = 0; i < least; ++i)
      copy();
    if (most < 0 && least == 0) {
      rows.push_back({Op::Split, 1, size + 2});
      copy();
      rows.push_back({Op::Jump, -size - 1, 0});
    } else if (most < 0) {
      rows.push_back({Op::Split, -size, 1});
    }
    for (int left = most - least; left > 0; --left) {
      rows.push_back({Op::Split, 1, left * (size + 1)});
      copy();
    }
    repetition = where;
  }

  /// Distances become numbers, and sets their ranges behind the states.
  std::vector<Row> finish(const Fragment& all) const {
    size_t states = all.rows.size() + 2;
    std::vector<int32_t> firstRange;
    auto total = static_cast<int32_t>(states);
    for (const std::vector<Range>& set : sets) {
      firstRange.push_back(total);
      total += static_cast<int32_t>(set.size());
    }
    std::vector<Row> rows;
    rows.push_back({Op::Begin, total, static_cast<int32_t>(states)});
    for (Row r : all.rows) {
      auto here = static_cast<int32_t>(rows.size());
      if (r.op == Op::Split || r.op == Op::Jump) r.a += here;
      if (r.op == Op::Split) r.b += here;
      if (r.op == Op::Class) r.a = firstRange[r.a];
      rows.push_back(r);
    }
    rows.push_back({Op::Match});
    for (const std::vector<Range>& set : sets)
      for (const Range& r : set)
        rows.push_back({Op::Range, r.first, r.second});
    return rows;
  }

  // ---- syntax ----

  void next() {
    size_t where = at;
    int32_t c = takeCharacter();
    switch (c) {
    case '(': return open(where);
    case ')': return close(where);
    case '|': {
      Group& g = groups.back();
      g.alternatives.push_back(std::move(g.sequence));
      g.sequence = {};
      g.last.reset();
      repetition.reset();
      return;
    }
    case '[': return bracket(where);
    case '.': {
      CharSet any;
      if (!flags.dotAll) any.add('\n', '\n', false);
      any.negate();
      return addSet(any, where);
    }
    case '^': return addPlace(flags.multiLine ? Place::LineBegin : Place::TextBegin, where);
    case '$': return addPlace(flags.multiLine ? Place::LineEnd : Place::TextEnd, where);
    case '*': return take("?"), repeat(0, -1, where);
    case '+': return take("?"), repeat(1, -1, where);
    case '?': return take("?"), repeat(0, 1, where);
    case '{': {
      int least = 0, most = 0;
      if (!takeCounts(least, most)) break;
      take("?");
      return repeat(least, most, where);
    }
    case '\\': return escape(where);
    default: break;
    }
    addCharacter(c, where);
  }

  /// A number without needless zeros, as RE2 has it. Too large ones are cut off.
  bool takeNumber(int& value) {
    size_t begin = at;
    value = 0;
    for (; !done() && pattern[at] >= '0' && pattern[at] <= '9'; ++at)
      value = std::min(value * 10 + (pattern[at] - '0'), kMostRepeats + 1);
    return at > begin && (pattern[begin] != '0' || at == begin + 1);
  }
  /// "2}", "2,}" and "2,5}"; anything else after '{' is text.
  bool takeCounts(int& least, int& most) {
    size_t begin = at;
    if (takeNumber(least)) {
      most = least;
      bool range = take(",");
      if (range && follows("}")) most = -1;
      if ((!range || most < 0 || takeNumber(most)) && take("}")) return true;
    }
    at = begin;
    return false;
  }

  void open(size_t where) {
    Flags outer = flags;
    if (take("?")) {
      if (take("P<") || (!follows("<=") && !follows("<!") && take("<"))) {
        size_t name = at;
        while (!done() && (isWord(pattern[at]) || (pattern[at] & 0x80)))
          ++at;
        if (at == name || !take(">"))
          fail(where, fmt::format("{} is no name of a group; expected (?P<name>...)", from(where)));
      } else if (!takeFlags(where)) {
        // Flags alone: they hold up to the end of the group that is open.
        repetition.reset();
        return;
      }
    }
    groups.push_back({where, outer, {}, {}, {}});
    repetition.reset();
  }

  /// "i)", "m-s:"; whether a group begins.
  bool takeFlags(size_t where) {
    Flags wanted = flags;
    bool value = true, any = false;
    while (!done()) {
      char c = pattern[at++];
      if (c == ':' || c == ')') {
        if (!value && !any) break;
        flags = wanted;
        return c == ':';
      }
      if (c == 'i')
        wanted.fold = value;
      else if (c == 's')
        wanted.dotAll = value;
      else if (c == 'm')
        wanted.multiLine = value;
      else if (c == '-' && value) {
        value = any = false;
        continue;
      } else if (c != 'U') // who is greedy does not matter: the longest match counts
        break;
      any = true;
    }
    for (std::string_view look : {"(?=", "(?!", "(?<=", "(?<!"})
      if (pattern.substr(where, look.size()) == look)
        fail(where, "looking around ((?=...), (?!...) and the like) is not in RE2's syntax");
    fail(where, fmt::format("{} is no group and no flags; expected (?:...), (?P<name>...) or "
                            "flags of imsU, such as (?i)",
                            from(where)));
  }

  void close(size_t where) {
    if (groups.size() == 1) fail(where, "this ')' has no '('");
    Fragment all = alternation(groups.back());
    flags = groups.back().outer;
    groups.pop_back();
    add(std::move(all), where);
  }

  // ---- escapes ----

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isWord(char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  void escape(size_t where) {
    if (take("A")) return addPlace(Place::TextBegin, where);
    if (take("z")) return addPlace(Place::TextEnd, where);
    if (take("b")) return addPlace(Place::WordEdge, where);
    if (take("B")) return addPlace(Place::NoWordEdge, where);
    if (take("Q")) {
      while (!done() && !take("\\E")) {
        size_t here = at;
        addCharacter(takeCharacter(), here);
      }
      return;
    }
    if (follows("C")) {
      ++at;
      fail(where, "'\\C' (any byte) is not supported: it would cut characters into parts");
    }
    CharSet set;
    if (takeClass(where, set)) return addSet(set, where);
    addCharacter(takeEscape(where), where);
  }

  /// \d, \pN and the like, after the backslash.
  bool takeClass(size_t where, CharSet& set) {
    if (done()) return false;
    char c = pattern[at];
    CharSet positive;
    bool negative = false;
    switch (c) {
    case 'd':
    case 'D':
      addPosixClass(positive, "digit", flags.fold);
      negative = c == 'D';
      break;
    case 'w':
    case 'W':
      addPosixClass(positive, "word", flags.fold);
      negative = c == 'W';
      break;
    case 's':
    case 'S': // without \v, which [:space:] has
      positive.add('\t', '\n', false), positive.add('\f', '\r', false);
      positive.add(' ', ' ', false);
      negative = c == 'S';
      break;
    case 'p':
    case 'P': return takeCategory(where, set);
    default: return false;
    }
    ++at;
    if (negative) positive.negate();
    set.add(positive);
    return true;
  }

  bool takeCategory(size_t where, CharSet& set) {
    bool negative = pattern[at++] == 'P';
    std::string_view name;
    if (take("{")) {
      size_t end = pattern.find('}', at);
      if (end == std::string_view::npos) fail(where, "this class of Unicode has no '}'");
      if (take("^")) negative = !negative;
      name = pattern.substr(at, end - at);
      at = end + 1;
    } else if (!done()) {
      name = pattern.substr(at, decode(pattern, at).bytes);
      at += name.size();
    }
    CharSet positive;
    if (!addCategory(positive, name, flags.fold)) {
      if (name.size() > 2)
        fail(where, fmt::format("{} is not supported: of Unicode's classes only general "
                                "categories are known, such as \\pL and \\p{{Lu}}, and no scripts",
                                from(where)));
      fail(where, fmt::format("{} is no class of Unicode; expected one such as \\pL or \\p{{Lu}}",
                              from(where)));
    }
    if (negative) positive.negate();
    set.add(positive);
    return true;
  }

  /// One character, after the backslash.
  int32_t takeEscape(size_t where) {
    if (done()) fail(where, "it ends with a backslash");
    int32_t c = takeCharacter();
    switch (c) {
    case 'a': return '\a';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case 'x': return takeHex(where);
    default: break;
    }
    if (c >= '0' && c <= '7') {
      bool second = !done() && pattern[at] >= '0' && pattern[at] <= '7';
      if (c != '0' && !second)
        fail(where, fmt::format("{} refers to what a group has matched, which is not in RE2's "
                                "syntax",
                                from(where)));
      int32_t code = c - '0';
      for (int i = 0; i < 2 && !done() && pattern[at] >= '0' && pattern[at] <= '7'; ++i)
        code = code * 8 + (pattern[at++] - '0');
      return code;
    }
    if (c < 0x80 && (c == '_' || !isWord(static_cast<char>(c)))) return c;
    fail(where, fmt::format("{} is no escape sequence", from(where)));
  }

  int32_t takeHex(size_t where) {
    auto digit = [&]() -> int {
      if (done()) return -1;
      char c = pattern[at], low = static_cast<char>(c | 0x20);
      int value = isDigit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
      if (value >= 0) ++at;
      return value;
    };
    int32_t code = 0;
    int digits = 0;
    bool braces = take("{");
    while ((braces || digits < 2) && code <= kLastCharacter) {
      int d = digit();
      if (d < 0) break;
      code = code * 16 + d;
      ++digits;
    }
    bool ok = braces ? digits > 0 && take("}") : digits == 2;
    if (!ok || code > kLastCharacter)
      fail(where, fmt::format("{} is no character; expected two hexadecimal digits, or up to "
                              "10FFFF in braces",
                              from(where)));
    return code;
  }

  // ---- brackets ----

  void bracket(size_t where) {
    CharSet set;
    bool negative = take("^");
    size_t lastPosixEnd = pattern.rfind(":]");
    auto unclosed = [&] { fail(where, "this '[' has no ']'"); };
    for (bool first = true; first || !take("]"); first = false) {
      if (done()) unclosed();
      size_t item = at;
      if (follows("[:") && lastPosixEnd != std::string_view::npos && at + 2 <= lastPosixEnd) {
        size_t end = pattern.find(":]", at + 2);
        at += 2;
        bool others = take("^");
        std::string_view name = pattern.substr(at, end - at);
        at = end + 2;
        CharSet posix;
        if (!addPosixClass(posix, name, flags.fold))
          fail(item, fmt::format("{} is no class of characters; expected one such as [:alpha:]",
                                 from(item)));
        if (others) posix.negate();
        set.add(posix);
        continue;
      }
      if (take("\\")) {
        if (takeClass(item, set)) continue;
        at = item;
      }
      int32_t low = bracketCharacter(), high = low;
      if (follows("-") && !follows("-]")) {
        ++at;
        if (done()) unclosed();
        high = bracketCharacter();
      }
      if (high < low) fail(item, fmt::format("the range {} ends before it begins", from(item)));
      set.add(low, high, flags.fold);
    }
    if (negative) set.negate();
    addSet(set, where);
  }
  int32_t bracketCharacter() {
    size_t where = at;
    return take("\\") ? takeEscape(where) : takeCharacter();
  }
};

} // namespace

Compiled compile(std::string_view pattern) {
  try {
    return {Parser(pattern).run(), std::nullopt};
  } catch (Fault& fault) {
    return {{}, std::move(fault.error)};
  }
}

static std::string characterText(int32_t c) {
  if (c <= ' ' || c == 0x7F || c > 0x7E) return fmt::format("U+{:04X}", c);
  return fmt::format("'{}'", static_cast<char>(c));
}

std::string describe(const std::vector<Row>& rows, size_t number) {
  const Row& r = rows[number];
  switch (r.op) {
  case Op::Begin: return fmt::format("{} states", r.b);
  case Op::Range:
    if (r.a == r.b) return characterText(r.a);
    return characterText(r.a) + " to " + characterText(r.b);
  case Op::Class:
    if (r.b == 0) return "no character";
    return fmt::format("a character of rows {} to {}", r.a, r.a + r.b - 1);
  case Op::Split: return fmt::format("on at {} and at {}", r.a, r.b);
  case Op::Jump: return fmt::format("on at {}", r.a);
  case Op::Check: {
    constexpr const char* places[] = {"begin of the text", "end of the text", "begin of a line",
                                      "end of a line",     "edge of a word",  "no edge of a word"};
    return places[r.a];
  }
  case Op::Match: return "match";
  }
  return {};
}

} // namespace ortc::regex
