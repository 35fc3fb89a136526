// SPDX-License-Identifier: Apache-2.0
// Strings on the host, for several families.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

/// A step of the host on flat tensors, with results of these types.
std::vector<Tensor> stringStep(NodeBuilder& n, llvm::StringRef step,
                               llvm::ArrayRef<Tensor> arguments,
                               llvm::ArrayRef<NodeBuilder::OutType> results,
                               llvm::ArrayRef<mlir::NamedAttribute> settings);
/// Where each string stands in `keys`, or -1: i64, of x's shape.
Tensor stringIndex(NodeBuilder& n, Tensor x, llvm::ArrayRef<std::string> keys);
/// Are they equal? With broadcasting.
Tensor stringEqual(NodeBuilder& n, Tensor a, Tensor b);

} // namespace ortc::opdef
