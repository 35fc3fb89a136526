// SPDX-License-Identifier: Apache-2.0
// One order for ops that may stand in several. In `a * b + c * d` C++ leaves open which product is
// built first, so that the order in which a definition, a pass or a legaliser makes its ops is the
// choice of whatever compiled ortc; and names, places and the emitted text follow from that order.
#pragma once
#include "mlir/IR/Operation.h"

namespace ortc {

enum class OrderRuns : uint8_t {
  Whole,     ///< ops move freely between those with effects
  SameOrigin ///< and stay among neighbours of the same location: the order of the model's nodes is
             ///< kept
};

/// Orders the ops of all blocks in `root` by their use: each one without an effect stands where the
/// first op that needs it wants it, in the order of operands, as if expressions were evaluated from
/// left to right. Reads stay between the writes that they are between, ops with effects keep their
/// order, and what nobody uses is erased.
void orderOps(mlir::Operation* root, OrderRuns runs = OrderRuns::Whole);

} // namespace ortc
