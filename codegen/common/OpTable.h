// SPDX-License-Identifier: Apache-2.0
// How ops with one result are spelled: the rows, as C++ has them, are in OpTable.inc; a language
// says what it spells otherwise.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ortc::codegen {

struct OpRow {
  const char* op;
  /// In C++: an infix or prefix operator ("+", "-"), the name of a function ("exp"), or "" for "not
  /// in this language".
  const char* text;
  const char* hint;   ///< what a temporary with this value is called
  const char* header; ///< of runtime_min/rt, that has the function
};

/// Where a language differs from C++. A constant of its folder.
struct Language {
  struct Spelling {
    const char *op, *text;
  };
  const char* name; ///< in messages
  llvm::ArrayRef<Spelling> spellings = {};
  bool onlyThese = false; ///< ops that are not among them are not in this language
  const char* endlessLoop = "for (;;)";
  bool casesFallThrough = true; ///< an arm of a switch has a colon, and ends with break
  llvm::StringRef spelling(const OpRow& row) const;
};
inline constexpr Language kCxx = {.name = "C++"};

/// Null when the op has no row.
const OpRow* findOpRow(llvm::StringRef op);

} // namespace ortc::codegen
