// SPDX-License-Identifier: Apache-2.0
// Strings, lists and maps are values of the host program. A target without one that knows them
// refuses a model before any work is put into it, and says where the model could be cut instead.
#pragma once
#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"

namespace ortc {

/// False after one error at the first node that works on such values. `graph` is the model's: it
/// tells the names of the values around that node.
bool refuseHostValues(mlir::ModuleOp module, const onnx::Graph& graph, llvm::StringRef target,
                      Diagnostics& diagnostics);

} // namespace ortc
