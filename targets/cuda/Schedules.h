// SPDX-License-Identifier: Apache-2.0
// How loops that are no catalogue kernel are spread over threads.
#pragma once
#include "compiler/select/TargetInfo.h"
#include "targets/cuda/Device.h"

namespace ortc::cuda {

/// One thread per element; a thread, a warp or a block per row where sums belong to rows.
Schedule schedule(KernelOp kernel);
double loopsCost(KernelOp kernel, const Device& device);

} // namespace ortc::cuda
