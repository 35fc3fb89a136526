// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cuda/Device.h"

namespace ortc::cuda {

/// The product that a convolution is, whether or not a row fits it; for the cost of loops.
std::optional<double> convLoopsMicros(KernelOp kernel, const Device& device);

} // namespace ortc::cuda
