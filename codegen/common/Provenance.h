// SPDX-License-Identifier: Apache-2.0
// The comment above each kernel: which nodes of the model it computes, on what, and why it is this
// kernel.
#pragma once
#include "codegen/common/Text.h"
#include "compiler/ir/Dialect.h"

namespace ortc::codegen {

/// From the attributes ortc.nodes, ortc.tensors, ortc.choice of a kernel (docs/spine.md).
void printProvenance(mlir::func::FuncOp kernel, Writer& w);
/// The first line of every emitted file: who made it, from what.
std::string fileHeader(mlir::ModuleOp module);

} // namespace ortc::codegen
