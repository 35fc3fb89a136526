// SPDX-License-Identifier: Apache-2.0
// Scalar loops to loops over vectors, where neighbours in memory are read and written together.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ortc {
/// Rewrites the loops of a kernel function so that `lanes` elements are done at a time. Which loop
/// of a nest: the outermost along which every access is to neighbours or to one place. Loops that
/// cannot be are left as they are.
void vectoriseLoops(mlir::func::FuncOp function, int64_t lanes);
} // namespace ortc
