// SPDX-License-Identifier: Apache-2.0
// A device binds so many bytes at once (128 MiB by default): the weights become several buffers,
// and the program says which one a tensor lies in.
#pragma once
#include "compiler/plan/Weights.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace ortc::webgpu {

constexpr uint64_t kBindingBytes = uint64_t(128) << 20; ///< what every device binds

/// A part of the weights file.
struct WeightSegment {
  uint64_t offset, bytes;
};

/// Cuts between tensors, so that no segment is larger than `limit`; a tensor that is larger has one
/// of its own. In the program, the number of a buffer of the weights becomes that of its segment,
/// and its offset counts from there. Failure comes with a diagnostic.
mlir::FailureOr<std::vector<WeightSegment>>
splitWeights(mlir::ModuleOp program, const Weights& weights, uint64_t limit = kBindingBytes);

} // namespace ortc::webgpu
