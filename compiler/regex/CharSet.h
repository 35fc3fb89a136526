// SPDX-License-Identifier: Apache-2.0
// Sets of characters: those of brackets, of \d and [:alpha:], and of Unicode's categories.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ortc::regex {

constexpr int32_t kLastCharacter = 0x10FFFF;
using Range = std::pair<int32_t, int32_t>; // both inclusive

class CharSet {
public:
  /// `fold`: the same letters in other cases, too.
  void add(int32_t first, int32_t last, bool fold);
  void add(const CharSet& other);
  void negate();
  /// Sorted, with a gap between any two.
  const std::vector<Range>& ranges();

private:
  std::vector<Range> parts;
  bool tidy = true;
};

/// [:NAME:] with ASCII's characters; false: there is none.
bool addPosixClass(CharSet& set, std::string_view name, bool fold);
/// \pNAME: "L", "Lu", "Any"; false: there is none.
bool addCategory(CharSet& set, std::string_view name, bool fold);

} // namespace ortc::regex
