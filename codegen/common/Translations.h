// SPDX-License-Identifier: Apache-2.0
// What `ortc-translate --to=NAME` prints: each language registers a function, for the tests of its
// printer.
#pragma once
#include "compiler/ir/Dialect.h"
#include <map>
#include <string>

namespace ortc::codegen {

/// A module of program IR as text. Failure comes with a diagnostic.
using Translation = mlir::LogicalResult (*)(mlir::ModuleOp, llvm::raw_ostream&);

inline std::map<std::string, Translation>& translations() {
  static std::map<std::string, Translation> all;
  return all;
}
inline bool addTranslation(const char* name, Translation translation) {
  return translations().emplace(name, translation).second;
}

} // namespace ortc::codegen
