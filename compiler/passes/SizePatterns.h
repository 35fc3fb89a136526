// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace ortc {
/// Arithmetic on sizes that their bounds settle, and reads that turn out to be plain once sizes are
/// known to be equal.
void populateSizePatterns(mlir::RewritePatternSet& patterns);
} // namespace ortc
