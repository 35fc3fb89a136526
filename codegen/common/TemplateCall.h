// SPDX-License-Identifier: Apache-2.0
// What the languages that have catalogue templates share in spelling a call of one.
#pragma once
#include "compiler/ops/AllOps.h"
#include <string>
#include <vector>

namespace ortc::codegen {

/// A name for the struct of an epilogue, from what its ops are: ScaleAddRelu.
std::string epilogueName(mlir::Region& epilogue);
/// "gemm_f32<4, 3, 32>": the callee with its compile-time arguments. Empty when one of them cannot
/// be spelled.
std::string templateCallee(CallTemplateOp call);
/// The struct of its run-time arguments: "GemmArgs".
std::string argsTypeOf(CallTemplateOp call);

} // namespace ortc::codegen
