// SPDX-License-Identifier: Apache-2.0
// The name that somebody meant who has misspelt one.
#pragma once

#include <string_view>
#include <utility>

#include <llvm/ADT/StringRef.h>

namespace ortc::onnx {

class NearestName {
public:
  explicit NearestName(std::string_view name)
      : name(name), farthest(static_cast<unsigned>(name.size() / 4 + 1)),
        distance(farthest + 1, 0) {}

  void offer(std::string_view candidate) {
    if (name.size() > kLongestName || candidate.size() > kLongestName) return;
    // 'relu' is 'Relu' rather than 'Celu'.
    const llvm::StringRef from(name);
    const std::pair d(from.edit_distance_insensitive(candidate, true, farthest),
                      from.edit_distance(candidate, true, farthest));
    // The order of offers, which may be that of hashes, must not decide which of two equally near
    // names is printed.
    if (d < distance || (d == distance && !nearest.empty() && candidate < nearest)) {
      nearest = candidate;
      distance = d;
    }
  }
  explicit operator bool() const { return !nearest.empty(); }
  std::string_view best() const { return nearest; }

private:
  static constexpr size_t kLongestName = 100;
  std::string_view name, nearest;
  unsigned farthest;
  std::pair<unsigned, unsigned> distance; // without regard to case, and with
};

} // namespace ortc::onnx
