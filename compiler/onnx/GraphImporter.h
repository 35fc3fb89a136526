// SPDX-License-Identifier: Apache-2.0
// From an ONNX model to a func.func of tensor IR (docs/spine.md, section 1).
#pragma once
#include "compiler/import/OnnxFile.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace ortc {

struct ImportOptions {
  /// --shape x=1x3x224x224: sizes of an input; -1 leaves a dim as it is. An input that is a
  /// sequence of tensors is as many inputs as there are shapes for `x[0]`, `x[1]`, ...
  /// (elementName). --shape x=none, which is {kNone}: a sequence without elements, or an optional
  /// without a value.
  std::map<std::string, std::vector<int64_t>> shapes;
  static constexpr int64_t kNone = INT64_MIN;
  bool isNone(const std::string& input) const {
    auto it = shapes.find(input);
    return it != shapes.end() && it->second.size() == 1 && it->second[0] == kNone;
  }
  /// --dim batch=1..32: bounds of a named dim; equal ends fix it.
  std::map<std::string, std::pair<int64_t, int64_t>> dims;
  /// --cut-inputs, --cut-outputs: values of the graph that become its inputs and outputs; empty: as
  /// they are.
  std::vector<std::string> cutInputs, cutOutputs;
};

/// Element `i` of an input that is a sequence, as an input of its own.
std::string elementName(const std::string& input, size_t i);
/// Is it, or would its value be, a sequence of tensors? Such inputs, and optionals, are made out of
/// what --shape says.
bool isTensorSequence(const onnx::Type& type);
bool isMadeOfShapes(const onnx::Type& type);

/// Do --shape and --dim speak of inputs and free dims that `graph` has, and agree with it? Reports
/// what does not.
bool checkSizeOptions(const onnx::Graph& graph, const ImportOptions& options,
                      Diagnostics& diagnostics);

/// Null on error, with errors reported. Constants refer to the mapping of `file`, which must
/// outlive the module.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const onnx::OnnxFile& file,
                                              mlir::MLIRContext& context,
                                              const ImportOptions& options,
                                              Diagnostics& diagnostics);

} // namespace ortc
