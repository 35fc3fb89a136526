// SPDX-License-Identifier: Apache-2.0
// Does an operator exist at all? See KnownOperators.cpp.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace ortc {

/// `domain` is empty for ai.onnx.
bool isKnownOperator(llvm::StringRef domain, llvm::StringRef name);

} // namespace ortc
