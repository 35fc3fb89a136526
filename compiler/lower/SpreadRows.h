// SPDX-License-Identifier: Apache-2.0
// A row of a kernel to a block of threads.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ortc {
/// Rewrites the body of the kernel's scf.parallel so that `threads` threads share each of its
/// iterations: loops of independent turns and sums are dealt out, sums then added over the block
/// (gpu.all_reduce), and what remains is done by all threads alike. Notes the number as
/// `ortc.row_threads`. False, and nothing is changed, where no loop can be shared.
bool spreadRows(mlir::func::FuncOp function, int64_t threads);
} // namespace ortc
