// SPDX-License-Identifier: Apache-2.0
// A legalised kernel (codegen/gpu/Legalise.h) as one WGSL module with the entry point `main`:
// bindings in group 0 in their order, then a uniform block `params` when there are scalars.
#pragma once
#include "codegen/gpu/Legalise.h"

namespace ortc::codegen::wgsl {

mlir::LogicalResult printKernel(const gpu::DeviceKernel& kernel, llvm::raw_ostream& os);

} // namespace ortc::codegen::wgsl
