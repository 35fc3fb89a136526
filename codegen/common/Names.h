// SPDX-License-Identifier: Apache-2.0
// Names in emitted text: legal identifiers, unique within a scope, never a keyword or a function of
// the runtime.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace ortc::codegen {

/// An identifier made from any text: letters, digits and single underscores, no leading digit; "v"
/// when nothing is left.
std::string legalIdentifier(llvm::StringRef text);
/// Words that no emitted name may be, in any of the languages: keywords, types, and functions that
/// kernels call.
bool isReservedWord(llvm::StringRef name);

/// Hands out names: the wish itself when it is free, else with the first free number.
class Names {
public:
  std::string fresh(llvm::StringRef wish);
  void reserve(llvm::StringRef name) { used.insert(name); }
  bool isFree(llvm::StringRef name) const { return !used.contains(name) && !isReservedWord(name); }
  /// Scopes: names given after mark() are free again after release(mark).
  size_t mark() const { return given.size(); }
  void release(size_t mark) {
    for (; given.size() > mark; given.pop_back())
      used.erase(given.back());
  }

private:
  llvm::StringSet<> used;
  std::vector<std::string> given;
};

} // namespace ortc::codegen
