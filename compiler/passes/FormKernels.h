// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compiler/ops/AllOps.h"

namespace ortc {
/// Groups the tensor ops of a function into `ortc.kernel` regions; see FormKernels.cpp for what
/// goes together.
void formKernels(mlir::func::FuncOp function);
} // namespace ortc
