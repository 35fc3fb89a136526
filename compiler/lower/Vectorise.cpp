// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Vectorise.h"
namespace ortc {
void vectoriseLoops(mlir::func::FuncOp, int64_t) {}
} // namespace ortc
