// SPDX-License-Identifier: Apache-2.0
// Convolutions over channels-last tensors: which kernels of kernels/conv and kernels/depthwise fit,
// and the call of one.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cpu/Processor.h"

namespace ortc::cpu {

/// `winograd`: less exact ways to compute are allowed.
void convCandidates(KernelOp kernel, const Processor& processor, bool winograd,
                    std::vector<Candidate>& rows);
mlir::FailureOr<LoweredKernel> writeConv(KernelOp kernel, mlir::ModuleOp module, StridesOf strides);
std::optional<mlir::OpFoldResult> convWorkspace(KernelOp kernel, mlir::OpBuilder& b);

} // namespace ortc::cpu
