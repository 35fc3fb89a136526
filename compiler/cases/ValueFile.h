// SPDX-License-Identifier: Apache-2.0
// One value in ONNX's own form: the .pb files of test data.
#pragma once

#include <optional>
#include <string>

#include "compiler/cases/CaseValue.h"
#include "compiler/import/Model.h"
#include "compiler/support/Diagnostics.h"

namespace ortc {

/// Reads a TensorProto, SequenceProto, MapProto or OptionalProto, whichever `kind` calls for (None:
/// a tensor). Optionals are transparent: their value, or an absent CaseValue. Sparse tensors become
/// dense.
std::optional<CaseValue> readValueFile(const std::string& path, onnx::Type::Kind kind,
                                       Diagnostics& diagnostics);

/// Writes the message that readValueFile reads back for `kind`.
bool writeValueFile(const std::string& path, const CaseValue& value, onnx::Type::Kind kind,
                    Diagnostics& diagnostics);

} // namespace ortc
