// SPDX-License-Identifier: Apache-2.0
// How the loop nests of kernels without a catalogue row are spread over threads and vectors.
#pragma once
#include "compiler/lower/LowerKernel.h"
#include "targets/cpu/Processor.h"

namespace ortc::cpu {

Schedule schedule(KernelOp kernel, const Processor& processor);
/// Estimated time in microseconds.
double loopsCost(KernelOp kernel, const Processor& processor);

} // namespace ortc::cpu
