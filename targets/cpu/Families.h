// SPDX-License-Identifier: Apache-2.0
// What the families of catalogue kernels are told to choose by.
#pragma once
#include "targets/common/catalogue/Families.h"
#include "targets/cpu/Processor.h"

namespace ortc::cpu {

struct Machine {
  Processor processor;
  bool oneDnn = false; // may be called
  bool strict = false; // nothing whose rounding is larger than that of the plain sum
};
using Families = catalogue::Families<Machine>;

/// How M rows are cut into tiles of MR: the template argument Rows of kernels/gemm/gemm.h. M < 0:
/// not known.
inline llvm::StringRef rowsOf(int64_t M, int64_t MR) {
  if (M > 0 && M % MR == 0) return "Rows::Exact";
  return M > 0 && (M + MR - 1) / MR * (MR - 1) <= M ? "Rows::Even" : "Rows::Any";
}

} // namespace ortc::cpu
