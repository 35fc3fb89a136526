// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/OpTable.h"
#include "llvm/ADT/StringMap.h"

namespace ortc::codegen {

static const OpRow kRows[] = {
#define ROW(op, cxx, hint, header) {op, cxx, hint, header},
#include "codegen/common/OpTable.inc"
#undef ROW
};

const OpRow* findOpRow(llvm::StringRef op) {
  static const llvm::StringMap<const OpRow*> rows = [] {
    llvm::StringMap<const OpRow*> m;
    for (const OpRow& row : kRows)
      m[row.op] = &row;
    return m;
  }();
  return rows.lookup(op);
}

llvm::StringRef Language::spelling(const OpRow& row) const {
  for (const Spelling& s : spellings)
    if (llvm::StringRef(row.op) == s.op) return s.text;
  return onlyThese ? "" : row.text;
}

} // namespace ortc::codegen
