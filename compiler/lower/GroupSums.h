// SPDX-License-Identifier: Apache-2.0
// Long sums four terms at a time.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ortc {

/// Marks a loop that sums the elements of a tensor; set by LoopEmitter, removed by groupSums.
inline constexpr llvm::StringLiteral kSumAttr = "ortc.sum";

/// Rewrites marked loops `sum += term(i)` as `sum += (term(i) + term(i+1)) + (term(i+2) +
/// term(i+3))` and a loop over what is left. The chain of additions that depend on each other, and
/// with it the bound on the rounding error (Higham, Accuracy and Stability of Numerical
/// Algorithms, 4.2), is about a quarter as long; the order is fixed by the length alone. Loops that
/// are short or do more than sum stay as they are.
void groupSums(mlir::func::FuncOp function);

} // namespace ortc
