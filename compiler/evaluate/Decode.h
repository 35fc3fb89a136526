// SPDX-License-Identifier: Apache-2.0
// From MLIR's types and ops to cells and scalar operations.
#pragma once
#include "compiler/evaluate/ScalarOps.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace ortc {

/// The scalar operation of arith or math that computes result `result` of `op`; its inputs are the
/// op's operands in order. None for other ops, and for types that have no cells.
std::optional<ScalarOp> decodeScalar(mlir::Operation* op, unsigned result = 0);

} // namespace ortc
