// SPDX-License-Identifier: Apache-2.0
// Contractions as matrix products: which tiles of kernels/gemm fit, and the call of one.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cuda/Device.h"

namespace ortc::cuda {

void gemmCandidates(KernelOp kernel, const Device& device, std::vector<Candidate>& rows);
/// A null function when the places do not allow it after all (a result without dense rows).
mlir::FailureOr<LoweredKernel> writeGemm(KernelOp kernel, mlir::ModuleOp module, StridesOf strides);

} // namespace ortc::cuda
