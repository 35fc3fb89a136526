// SPDX-License-Identifier: Apache-2.0
#include "compiler/regex/CharSet.h"
#include <algorithm>
#include <map>

#include "llvm/Support/Unicode.h"

namespace ortc::regex {

namespace {

/// Characters that are one letter in several cases, by the case folding of one character to one
/// [Unicode CaseFolding, C and S].
struct Cases {
  std::vector<std::vector<int32_t>> groups;
  std::map<int32_t, size_t> groupOf;
  Cases() {
    constexpr int32_t lastWithCase = 0x1E943;
    std::map<int32_t, std::vector<int32_t>> folded;
    for (int32_t c = 0; c <= lastWithCase; ++c)
      if (int32_t f = llvm::sys::unicode::foldCharSimple(c); f != c) folded[f].push_back(c);
    for (auto& [f, others] : folded) {
      others.push_back(f);
      for (int32_t c : others)
        groupOf[c] = groups.size();
      groups.push_back(std::move(others));
    }
  }
};

} // namespace

void CharSet::add(int32_t first, int32_t last, bool fold) {
  parts.emplace_back(first, last);
  tidy = false;
  if (!fold) return;
  static const Cases cases;
  for (auto it = cases.groupOf.lower_bound(first); it != cases.groupOf.end() && it->first <= last;
       ++it)
    for (int32_t c : cases.groups[it->second])
      if (c < first || c > last) parts.emplace_back(c, c);
}

void CharSet::add(const CharSet& other) {
  parts.insert(parts.end(), other.parts.begin(), other.parts.end());
  tidy = false;
}

const std::vector<Range>& CharSet::ranges() {
  if (tidy) return parts;
  std::sort(parts.begin(), parts.end());
  std::vector<Range> joined;
  for (const Range& p : parts)
    if (!joined.empty() && p.first <= joined.back().second + 1)
      joined.back().second = std::max(joined.back().second, p.second);
    else
      joined.push_back(p);
  parts = std::move(joined);
  tidy = true;
  return parts;
}

void CharSet::negate() {
  std::vector<Range> others;
  int32_t next = 0;
  for (const Range& p : ranges()) {
    if (p.first > next) others.emplace_back(next, p.first - 1);
    next = p.second + 1;
  }
  if (next <= kLastCharacter) others.emplace_back(next, kLastCharacter);
  parts = std::move(others);
}

bool addPosixClass(CharSet& set, std::string_view name, bool fold) {
  static const std::map<std::string_view, std::vector<Range>> classes = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 127}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 31}, {127, 127}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  auto it = classes.find(name);
  if (it == classes.end()) return false;
  for (const Range& r : it->second)
    set.add(r.first, r.second, fold);
  return true;
}

namespace {
/// Characters from `first` up to the next of the table are of this category; "Cn": of none.
struct CategoryBegin {
  int32_t first;
  char name[3];
};
constexpr CategoryBegin kCategories[] = {
#include "compiler/regex/UnicodeCategories.inc"
};
} // namespace

bool addCategory(CharSet& set, std::string_view name, bool fold) {
  if (name == "Any") return set.add(0, kLastCharacter, false), true;
  bool found = false;
  for (const CategoryBegin *c = std::begin(kCategories), *end = std::end(kCategories); c != end;
       ++c) {
    std::string_view category = c->name;
    if (name.empty() || name.size() > 2 || category.substr(0, name.size()) != name ||
        category == "Cn")
      continue;
    found = true;
    set.add(c->first, c + 1 == end ? kLastCharacter : c[1].first - 1, fold);
  }
  return found;
}

} // namespace ortc::regex
