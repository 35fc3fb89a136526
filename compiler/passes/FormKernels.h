// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compiler/ops/AllOps.h"

namespace ortc {
/// Groups the tensor ops of a function into `ortc.kernel` regions; see FormKernels.cpp for what
/// goes together.
void formKernels(mlir::func::FuncOp function);

/// May the op be in the epilogue of a contraction or convolution whose sums are `element`? Scalar
/// arithmetic, for all kernels of catalogues: on floats in their own type; on sums in i32 also in
/// f32 and from and to 8 bits, as scales and zero points of quantised numbers need it.
bool fitsEpilogue(mlir::Operation* op, mlir::Type element);
} // namespace ortc
