// SPDX-License-Identifier: Apache-2.0
// How ops with one result are spelled, per language: the rows are in OpTable.inc.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace ortc::codegen {

enum class Language { Cxx, Cuda, Wgsl, Js };

struct OpRow {
  const char* op;
  /// Per language: an infix or prefix operator ("+", "-"), the name of a function ("exp"), or ""
  /// for "not in this language". A null entry is the C++ one. JavaScript (host programs only) has
  /// no column.
  const char* text[3];
  const char* hint;   ///< what a temporary with this value is called
  const char* header; ///< of runtime_min/rt, that has the function
  const char* spelling(Language language) const {
    if (language == Language::Js) return "";
    const char* t = text[static_cast<int>(language)];
    return t ? t : text[0];
  }
};

/// Null when the op has no row.
const OpRow* findOpRow(llvm::StringRef op);

} // namespace ortc::codegen
