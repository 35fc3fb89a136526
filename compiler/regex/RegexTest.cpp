// SPDX-License-Identifier: Apache-2.0
// Patterns against RE2 (results noted from it), and the two matchers against each other: that of
// the evaluator and that of the runtime, which has its own memory.
#include "compiler/regex/Regex.h"
#include "runtime_min/rt/regex.h"
#include <catch2/catch.hpp>
#include <random>

#include <fmt/format.h>

using namespace ortc::regex;

namespace {

/// Runs the steps of the runtime on one text.
struct Runtime {
  std::vector<ortc_rt::regex_row> rows;
  std::vector<char> memory = std::vector<char>(1 << 20);
  ortc_rt::context context;

  explicit Runtime(const std::vector<std::vector<Row>>& patterns) {
    for (const std::vector<Row>& p : patterns)
      for (const Row& r : p)
        rows.push_back({static_cast<ortc_rt::regex_op>(r.op), r.a, r.b});
    context.results.data = memory.data();
    context.results.size = memory.size();
  }
  auto size() const { return static_cast<int64_t>(rows.size()); }
  bool matchesAll(std::string_view text) {
    ortc_string t{text.data(), text.size()};
    bool result = false;
    REQUIRE(regex_full_match(context, rows.data(), size(), &t, 1, &result, 1) == ORTC_OK);
    REQUIRE(context.results.used == 0);
    return result;
  }
  std::vector<std::string> tokens(std::string_view text, bool separators, int64_t least = 1) {
    ortc_string t{text.data(), text.size()};
    int64_t count = 0;
    REQUIRE(token_count(context, least, rows.data(), size(), separators, &t, 1, &count, 1) ==
            ORTC_OK);
    std::vector<ortc_string> out(static_cast<size_t>(count) + 1);
    REQUIRE(tokenize(context, least, false, {"", 0}, rows.data(), size(), separators, &t, 1,
                     out.data(), 1, count) == ORTC_OK);
    REQUIRE(context.results.used == 0);
    std::vector<std::string> r;
    for (int64_t i = 0; i < count; ++i)
      r.emplace_back(out[static_cast<size_t>(i)].data, out[static_cast<size_t>(i)].size);
    return r;
  }
};

std::vector<Row> rowsOf(std::string_view pattern) {
  INFO(pattern);
  Compiled c = compile(pattern);
  REQUIRE_FALSE(c.error);
  return c.rows;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::vector<Row> rows = rowsOf(pattern);
  bool result = matchesAll(rows, text);
  CHECK(Runtime({rows}).matchesAll(text) == result);
  return result;
}

std::vector<std::string> found(std::string_view pattern, std::string_view text) {
  return Runtime({rowsOf(pattern)}).tokens(text, false);
}

std::string errorOf(std::string_view pattern) {
  Compiled c = compile(pattern);
  REQUIRE(c.error);
  REQUIRE(c.rows.empty());
  return fmt::format("{}: {}", c.error->at, c.error->message);
}

using Strings = std::vector<std::string>;

} // namespace

TEST_CASE("patterns match whole texts as RE2 has it") {
  struct {
    const char* pattern;
    Strings yes, no;
  } cases[] = {
      {"", {""}, {"a"}},
      {"a|", {"a", ""}, {"b"}},
      {"(|a)+", {"", "aaa"}, {"b"}},
      {"((a*)*)*b", {"b", "aab"}, {"a"}},
      {"a{2}", {"aa"}, {"a", "aaa"}},
      {"a{2,}", {"aa", "aaaa"}, {"a"}},
      {"(?:ab){1,3}", {"ab", "ababab"}, {"", "abababab"}},
      {"x{0}", {""}, {"x"}},
      {"a{,2}", {"a{,2}"}, {"a"}},
      {"a{01}", {"a{01}"}, {"a"}},
      {"a{1, 2}", {"a{1, 2}"}, {"a"}},
      {"a{", {"a{"}, {"a"}},
      {"^*", {""}, {"a"}},
      {".", {"a", "\xC3\xA9", "\xF0\x9F\x98\x80"}, {"\n", "", "ab"}},
      {"(?s).", {"\n"}, {""}},
      {"(?s:.).", {"\na"}, {"a\n"}},
      {"[^a]", {"\n", "b", "\xC3\xA9"}, {"a"}},
      {"a$", {"a"}, {"a\n"}},
      {"(?m)a$\\n^b", {"a\nb"}, {"ab"}},
      {"\\Aab\\z", {"ab"}, {"a"}},
      {"a\\bb", {}, {"ab"}},
      {"a\\b-\\Bb?", {"a-"}, {"a-b"}},
      {"\\B", {""}, {"a"}},
      {"\\b", {}, {""}},
      {"\\d\\D", {"1a", "2\xC3\xA9"}, {"11"}},
      {"\\w\\W", {"_ ", "a\xC3\xA9"}, {"aa"}},
      {"\\s", {"\t", " ", "\r"}, {"\v", "\xC2\xA0"}},
      {"[[:space:]]", {"\v"}, {"a"}},
      {"[[:^alpha:]]", {"1"}, {"a"}},
      {"[[:alpha]", {":", "a", "["}, {"b"}},
      {"[]a]", {"]", "a"}, {"b"}},
      {"[^]a]", {"b"}, {"]", "a"}},
      {"[a-]", {"a", "-"}, {"b"}},
      {"[-a]", {"a", "-"}, {"b"}},
      {"[\\d-z]", {"5", "-", "z"}, {"a"}},
      {"[a-b-c]", {"a", "b", "-", "c"}, {"d"}},
      {"[a\\]\\n]", {"]", "\n"}, {"\\"}},
      {"[^\\x00-\\x{10FFFF}]", {}, {"a", ""}},
      {"[\xC3\xA9-\xC3\xBF]", {"\xC3\xAA"}, {"e", "\xC3\xA8"}},
      {"(?i)k", {"k", "K", "\xE2\x84\xAA"}, {"l"}},
      {"(?i)[^k]", {"l"}, {"k", "K", "\xE2\x84\xAA"}},
      {"(?i)\xCF\x83", {"\xCF\x82", "\xCE\xA3"}, {"s"}},
      {"(?i)\\Qk.\\E", {"K."}, {"kk"}},
      {"((?i)a)b", {"Ab"}, {"AB"}},
      {"a(?i)b|c", {"aB", "C"}, {"A"}},
      {"(?i)(?-i:a)b", {"aB"}, {"AB"}},
      {"(?U)a+?b", {"aab"}, {"b"}},
      {"(?P<name>a)(?<other>b)", {"ab"}, {"a"}},
      {"\\pL\\p{Lu}",
       {"\xC3\xA9"
        "A",
        "\xE4\xB8\xAD"
        "A"},
       {"aa", "1A"}},
      {"\\PL", {"1"}, {"\xC3\xA9"}},
      {"\\p{^L}[\\pN]", {"11"}, {"a1"}},
      {"(?i)\\p{Lu}", {"a", "A"}, {"1"}},
      {"\\Qa.b\\E+", {"a.bb"}, {"axb"}},
      {"a\\Q\\E*", {"", "aa"}, {"b"}},
      {"\\Q(", {"("}, {"a"}},
      {"\\x41\\x{e9}\\101\\_\\-",
       {"A\xC3\xA9"
        "A_-"},
       {"A"}},
      {"\\a\\f\\n\\r\\t\\v", {"\a\f\n\r\t\v"}, {""}},
  };
  for (auto& [pattern, yes, no] : cases) {
    for (const std::string& t : yes) {
      INFO(pattern << " on '" << t << "'");
      CHECK(matches(pattern, t));
    }
    for (const std::string& t : no) {
      INFO(pattern << " on '" << t << "'");
      CHECK_FALSE(matches(pattern, t));
    }
  }
}

TEST_CASE("what is not UTF-8 in a text matches nothing") {
  for (const char* bad :
       {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE4\xB8"}) {
    INFO(bad);
    CHECK_FALSE(matches("(?s).*", bad));
    CHECK_FALSE(matches("[^a]+", bad));
  }
}

TEST_CASE("the leftmost match is found, and of those the longest") {
  CHECK(found("a|ab", "xaby") == Strings{"ab"});
  CHECK(found("a+?", "aaa") == Strings{"aaa"});
  CHECK(found("ab|b+", "abbb") == Strings{"ab", "bb"});
  CHECK(found("a*", "baac") == Strings{"aa"});
  CHECK(found("^ab", "abab") == Strings{"ab"});
  CHECK(found("\\ba", "aab a") == Strings{"a", "a"});
  CHECK(found("(?m)^.", "ab\ncd") == Strings{"a", "c"});
  CHECK(found("[^ ]+", "\xC3\xA9 \xE4\xB8\xAD") == Strings{"\xC3\xA9", "\xE4\xB8\xAD"});
  CHECK(found("b|abc+d|bc", "abccc") == Strings{"bc"});
}

TEST_CASE("separators cut texts, one after another") {
  Runtime both({rowsOf(","), rowsOf("^ ")});
  CHECK(both.tokens("a, b,,c", true) == Strings{"a", "b", "c"});
  CHECK(both.tokens("", true).empty());
  Runtime edge({rowsOf("\\b")}); // an empty match takes the character behind it along
  CHECK(edge.tokens("ab cd", true) == Strings{"b", "d"});
  CHECK(Runtime({rowsOf("$")}).tokens("ab", true) == Strings{"ab"});
  CHECK(Runtime({rowsOf(" ")}).tokens("ab c \xC3\xA9 \xC3\xA9\xC3\xA9", true, 2) ==
        Strings{"ab", "\xC3\xA9\xC3\xA9"});
  CHECK(Runtime({rowsOf("xy|yab")}).tokens("xyab", false, 3) == Strings{"yab"});
}

TEST_CASE("faults of patterns have a place and say what is wrong") {
  CHECK(errorOf("a(b") == "1: this '(' has no ')'");
  CHECK(errorOf("ab)") == "2: this ')' has no '('");
  CHECK(errorOf("a[b") == "1: this '[' has no ']'");
  CHECK(errorOf("[]") == "0: this '[' has no ']'");
  CHECK(errorOf("a|*") == "2: there is nothing that '*' could repeat");
  CHECK(errorOf("a**") == "2: '*' repeats the repetition before it; put that into parentheses");
  CHECK(errorOf("a{3,2}") ==
        "1: '{3,2}' is no count; expected {least,most} of at most 1000, in this order");
  CHECK(errorOf("a{1001}").substr(0, 20) == "1: '{1001}' is no co");
  CHECK(errorOf("(a{100}){11}") ==
        "8: '{11}' makes more than 1000 copies of what repeats inside of it");
  CHECK(errorOf("a{1000}{1000}").substr(0, 25) == "7: '{1000}' repeats the r");
  CHECK(errorOf("(a{1000}){1000}").substr(0, 25) == "9: '{1000}' makes more th");
  CHECK(errorOf("[b-a]") == "1: the range 'b-a' ends before it begins");
  CHECK(errorOf("[[:foo:]]") ==
        "1: '[:foo:]' is no class of characters; expected one such as [:alpha:]");
  CHECK(errorOf("(a)\\1") ==
        "3: '\\1' refers to what a group has matched, which is not in RE2's syntax");
  CHECK(errorOf("a(?=b)") ==
        "1: looking around ((?=...), (?!...) and the like) is not in RE2's syntax");
  CHECK(errorOf("(?x)a").substr(0, 25) == "0: '(?x' is no group and ");
  CHECK(errorOf("(?P<>a)") == "0: '(?P<' is no name of a group; expected (?P<name>...)");
  CHECK(errorOf("\\q") == "0: '\\q' is no escape sequence");
  CHECK(errorOf("a\\") == "1: it ends with a backslash");
  CHECK(errorOf("\\x{110000}").substr(0, 32) == "0: '\\x{110000}' is no character;");
  CHECK(errorOf("\\p{Greek}").find("is not supported") != std::string::npos);
  CHECK(errorOf("\\C").find("is not supported") != std::string::npos);
  CHECK(errorOf("a\xFF") == "1: it is not valid UTF-8 here");
}

TEST_CASE("large patterns are refused or small, in little time") {
  auto repeated = [](std::string_view part, size_t times) {
    std::string r;
    for (size_t i = 0; i < times; ++i)
      r += part;
    return r;
  };
  CHECK(errorOf(repeated("a", 100000)) == "9998: the pattern becomes more than 10000 states here");
  CHECK(errorOf("(?:" + repeated("a", 50) + "|" + repeated("b", 50) + "){1000}").substr(0, 27) ==
        "105: the pattern becomes mo");
  CHECK(errorOf(repeated("\\pL[^a]", 50000)).find("more than 10000") != std::string::npos);
  CHECK(errorOf(repeated("(", 100000)) == "99999: this '(' has no ')'");
  CHECK(errorOf(repeated("[[:", 33333)).find("has no ']'") != std::string::npos);
  CHECK(rowsOf(repeated("(", 50000) + "a" + repeated(")", 50000)).size() == 3);
  CHECK(rowsOf(repeated("(", 30000) + "a" + repeated(")?", 3000) + repeated(")", 27000)).size() ==
        3003);
  CHECK(rowsOf("\\pL{100}").size() < 1000); // equal classes are one
  CHECK(matches("(a?){500}a{500}", repeated("a", 500)));
  std::string text = repeated("a", 100000);
  CHECK_FALSE(matches("(a*)*b", text));
  CHECK_FALSE(matches("(a|a|aa)+(a|aa)*b", text));
  CHECK(found("(x+x+)+y", repeated("x", 100000)).empty());
}

TEST_CASE("random patterns match alike by the evaluator and by the runtime") {
  std::mt19937 random(GENERATE(1u, 2u, 3u, 4u));
  auto below = [&](size_t n) { return random() % n; };
  auto any = [&](std::initializer_list<const char*> of) { return of.begin()[below(of.size())]; };
  auto pattern = [&](auto& self, int depth) -> std::string {
    std::string r;
    for (size_t alternatives = 1 + below(3); alternatives-- > 0; r += alternatives ? "|" : "")
      for (size_t parts = below(4); parts-- > 0;) {
        if (depth && below(3) == 0)
          r += any({"(", "(?:", "(?i:", "(?s:", "(?m:"}) + self(self, depth - 1) + ")";
        else
          r += any(
              {"a", "b", "\xC3\xA9", "[ab]", "[^a]", ".", "\\b", "\\B", "^", "$", "\\d", "\\W"});
        r += any({"", "", "", "*", "+", "?", "{2}", "{1,2}", "*?"});
      }
    return r;
  };
  for (int i = 0; i < 500; ++i) {
    std::string p = pattern(pattern, 3);
    std::vector<Row> rows = rowsOf(p);
    Runtime runtime({rows});
    for (int k = 0; k < 4; ++k) {
      std::string text;
      for (size_t n = below(12); n-- > 0;)
        text += any({"a", "a", "b", "A", "1", " ", "\n", "\xC3\xA9", "\xC3\x89"});
      INFO(p << " on '" << text << "'");
      CHECK(runtime.matchesAll(text) == matchesAll(rows, text));
      Strings expected;
      for (size_t at = 0; at < text.size();) {
        auto s = search(rows, text, at);
        if (!s || s->begin == text.size()) break;
        if (s->end > s->begin) expected.push_back(text.substr(s->begin, s->end - s->begin));
        at = s->end > s->begin ? s->end : s->begin + decode(text, s->begin).bytes;
      }
      CHECK(runtime.tokens(text, false) == expected);
    }
  }
}
