// SPDX-License-Identifier: Apache-2.0
// All passes of compiler/passes: `create…Pass()` for Pipeline.cpp, registration for ortc-opt.
#pragma once
#include "compiler/ops/AllOps.h"
#include "mlir/Pass/Pass.h"

namespace ortc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/passes/Passes.h.inc"

} // namespace ortc
