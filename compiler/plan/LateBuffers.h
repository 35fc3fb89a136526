// SPDX-License-Identifier: Apache-2.0
// Memory for tensors whose sizes are data without a bound: a run learns them on its way.
#pragma once
#include "compiler/plan/Places.h"

namespace ortc {

/// Sets the offsets of the buffers that are made late, behind the first `base` bytes of the arena,
/// and puts ops into @main that check their sizes and ask for the memory (`ortc.require_arena
/// late`). Buffers whose sizes become known at one place are planned together, as those of a whole
/// program are at its start; the memory of later ones comes behind that of the earlier ones which
/// may still be needed.
void placeLateBuffers(mlir::func::FuncOp main, llvm::MutableArrayRef<PlannedBuffer> buffers,
                      mlir::OpFoldResult base, int64_t alignment);

} // namespace ortc
