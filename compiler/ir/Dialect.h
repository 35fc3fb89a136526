// SPDX-License-Identifier: Apache-2.0
// The `ortc` dialect: types and interfaces. Ops are in compiler/ops/; include
// "compiler/ops/AllOps.h" for all of them.
#pragma once
#include "compiler/ir/ElementEmitter.h"
#include "compiler/ir/HostTensor.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/ir/OrtcDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/OrtcInterfaces.h.inc"
#include "compiler/ir/OrtcTypes.h.inc"

namespace ortc {
/// A dense tensor, whose elements lie side by side in memory: numbers, bools, or strings (pointer
/// and length).
inline bool isDenseTensor(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && (tensor.getElementType().isIntOrIndexOrFloat() ||
                    mlir::isa<StringType>(tensor.getElementType()));
}
/// Bytes of one element in the memory of a bundle; a string takes a pointer and a 64-bit length.
inline unsigned elementBytes(mlir::Type element) {
  return mlir::isa<StringType>(element) ? 16 : storageBytes(element);
}
} // namespace ortc
