// SPDX-License-Identifier: Apache-2.0
// Assumes simplified tensor IR. Guarantees that no transpose is left that a contraction, an
// elementwise op, a reduction or another transpose could take in. Comes before kernels are formed,
// which take transposes for work of their own; what becomes a transpose of a constant is left to
// FoldConstants.
#include "compiler/passes/Passes.h"
#include "compiler/passes/Transposes.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_FOLDTRANSPOSE
#include "compiler/passes/Passes.h.inc"

namespace {
struct FoldTransposePass : impl::FoldTransposeBase<FoldTransposePass> {
  void runOnOperation() override { moveTransposes(getOperation()); }
};
} // namespace
} // namespace ortc
