// SPDX-License-Identifier: Apache-2.0
// Loops whose carried tensors become longer from turn to turn, as those of decoders that collect
// their tokens.
#pragma once
#include "compiler/onnx/ControlFlow.h"

namespace ortc::opdef {

/// buildLoop where carried values grow: each is a tensor of the size that it has after all turns,
/// of which a turn sees the first part and writes the next. There must be a limit of turns. Throws
/// LoopShapeError when they grow in another way.
LoopResult
buildGrowingLoop(NodeBuilder& n, const LoopLimits& limits, llvm::ArrayRef<Tensor> inits,
                 llvm::ArrayRef<LoopShapeError::Growth> growth,
                 llvm::function_ref<Turn(Size turn, llvm::ArrayRef<Tensor> carried)> body);

} // namespace ortc::opdef
