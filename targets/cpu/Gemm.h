// SPDX-License-Identifier: Apache-2.0
// Contractions as matrix products: which kernels of kernels/gemm fit, and the call of one.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cpu/Processor.h"

namespace ortc::cpu {

/// `oneDnn`: that library may be called.
void gemmCandidates(KernelOp kernel, const Processor& processor, bool oneDnn,
                    std::vector<Candidate>& rows);
/// A null function when the places do not allow it after all (a view without dense rows).
mlir::FailureOr<LoweredKernel> writeGemm(KernelOp kernel, mlir::ModuleOp module, StridesOf strides);
std::optional<mlir::OpFoldResult> gemmWorkspace(KernelOp kernel, mlir::OpBuilder& b);

} // namespace ortc::cpu
