// SPDX-License-Identifier: Apache-2.0
// What the schemas of ONNX say of a node: which inputs, outputs and attributes its operator has and
// of which types, in each opset. The table is OpSchemas.inc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc::onnx {

/// Whether there is such an operator at all, in any opset. `domain` is empty for ai.onnx. In
/// domains of others any name may exist.
bool isKnownOperator(std::string_view domain, std::string_view name);

/// The operator of a known domain whose name is nearest to `name`; empty when none is near.
std::string_view nearestOperator(std::string_view domain, std::string_view name);

/// Reports what a node has that its operator does not know, and what it lacks. Operators without a
/// schema are not checked.
void checkAgainstSchema(const Node& node, Diagnostics& diagnostics);

/// What is wrong with the element types of a node's inputs (Undefined: absent, or no tensor), for
/// an error at the node; empty when nothing is.
std::string inputTypeError(const Node& node, const std::vector<DType>& given);

} // namespace ortc::onnx
