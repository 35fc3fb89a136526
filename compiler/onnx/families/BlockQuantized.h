// SPDX-License-Identifier: Apache-2.0
// Numbers of a few bits, several of which share a byte.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

/// Number `i` of those of `bits` that a byte holds, the first in the lowest bits; i32.
Scalar unpackedBits(NodeBuilder& n, Scalar byte, Scalar i, int64_t bits);
/// Number `i` of a row of bytes, of which `byte(k)` is one.
Scalar numberAt(NodeBuilder& n, Scalar i, int64_t bits, llvm::function_ref<Scalar(Scalar k)> byte);

} // namespace ortc::opdef
