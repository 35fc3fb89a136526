// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products: which tiles of kernels/conv fit, and the call of one.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cuda/Device.h"

namespace ortc::cuda {

void convCandidates(KernelOp kernel, const Device& device, std::vector<Candidate>& rows);
/// The product that a convolution is, whether or not a row fits it; for the cost of loops.
std::optional<double> convLoopsMicros(KernelOp kernel, const Device& device);
/// A null function when the places do not allow it after all (pixels without one pitch).
mlir::FailureOr<LoweredKernel> writeConv(KernelOp kernel, mlir::ModuleOp module, StridesOf strides);

} // namespace ortc::cuda
