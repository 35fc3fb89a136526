// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pattern and a text, with a 0xFF between them: the pattern is refused with a place
// in it, or becomes rows that refer to rows only, and both matchers give the same for the text.
//
//   scripts/build fuzz fuzz_regex
//   build-fuzz/test/fuzz/fuzz_regex -max_total_time=60 -rss_limit_mb=1024 -timeout=10 CORPUS...
#include <cstdlib>

#include "compiler/regex/Regex.h"
#include "runtime_min/rt/regex.h"

using namespace ortc::regex;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// Targets are states, and sets of ranges lie behind the states.
void checkRows(const std::vector<Row>& rows) {
  auto states = rows[0].b, all = static_cast<int32_t>(rows.size());
  require(rows[0].op == Op::Begin && rows[0].a == all && rows.size() <= kMostRows);
  require(states >= 2 && states <= all && rows[states - 1].op == Op::Match);
  auto isState = [&](int32_t r) { return r >= 1 && r < states; };
  for (int32_t i = 1; i < states; ++i) {
    const Row& r = rows[i];
    if (r.op == Op::Split) require(isState(r.a) && isState(r.b));
    if (r.op == Op::Jump) require(isState(r.a));
    if (r.op == Op::Class) require(r.a >= states && r.b >= 0 && r.a + r.b <= all);
    require(!describe(rows, i).empty());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view all(reinterpret_cast<const char*>(data), size);
  size_t cut = all.find('\xFF');
  std::string_view pattern = all.substr(0, cut),
                   text = cut == all.npos ? std::string_view() : all.substr(cut + 1);
  Compiled compiled = compile(pattern);
  if (compiled.error) {
    require(compiled.rows.empty() && compiled.error->at <= pattern.size() &&
            !compiled.error->message.empty());
    return 0;
  }
  checkRows(compiled.rows);
  text = text.substr(0, 100000 / compiled.rows.size()); // each match takes rows times characters
  std::vector<ortc_rt::regex_row> rows;
  for (const Row& r : compiled.rows)
    rows.push_back({static_cast<ortc_rt::regex_op>(r.op), r.a, r.b});
  std::vector<char> memory(1 << 20);
  ortc_rt::context context;
  context.results.data = memory.data();
  context.results.size = memory.size();
  ortc_string t{text.data(), text.size()};
  auto count = static_cast<int64_t>(rows.size());
  bool matches = false;
  require(regex_full_match(context, rows.data(), count, &t, 1, &matches, 1) == ORTC_OK);
  require(matches == matchesAll(compiled.rows, text));
  // The first token that is no empty match.
  std::optional<Span> first;
  for (size_t at = 0; at < text.size();) {
    first = search(compiled.rows, text, at);
    if (!first || first->end > first->begin || first->begin == text.size()) break;
    at = first->begin + decode(text, first->begin).bytes;
    first.reset();
  }
  int64_t tokens = 0;
  ortc_status s = token_count(context, 1, rows.data(), count, false, &t, 1, &tokens, 1);
  require((s == ORTC_OK) == countCharacters(text).has_value());
  if (s != ORTC_OK) return 0;
  std::vector<ortc_string> out(static_cast<size_t>(tokens) + 1);
  require(tokenize(context, 1, false, {"", 0}, rows.data(), count, false, &t, 1, out.data(), 1,
                   tokens) == ORTC_OK);
  bool any = first && first->end > first->begin;
  require((tokens > 0) == any);
  if (any)
    require(out[0].data == text.data() + first->begin && out[0].size == first->end - first->begin);
  int64_t pieces = 0;
  require(token_count(context, 1, rows.data(), count, true, &t, 1, &pieces, 1) == ORTC_OK);
  return 0;
}
