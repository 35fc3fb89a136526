// SPDX-License-Identifier: Apache-2.0
// Values of cases as values of the evaluator and back; and what a compiled model takes and gives.
#pragma once
#include "compiler/cases/CaseValue.h"
#include "compiler/evaluate/HostValue.h"
#include "compiler/import/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>

namespace ortc::driver {

/// None when `value` is not of `type`; `error` says why.
std::optional<HostValue> toHostValue(const CaseValue& value, mlir::Type type, std::string& error);

/// `declared` tells the sign of integers inside of lists and maps; the type of a tensor is `dtype`
/// (Undefined: as declared, else from the element type).
CaseValue toCaseValue(const HostValue& value, DType dtype, const onnx::Type* declared);

/// Inputs and outputs of tensor IR as a graph without nodes, so that data sets and random inputs
/// can be made for it: sizes that were fixed are fixed there, and with cut values those are the
/// inputs.
onnx::Graph signatureOf(mlir::func::FuncOp function, const onnx::Graph& graph);

} // namespace ortc::driver
