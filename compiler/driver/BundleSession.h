// SPDX-License-Identifier: Apache-2.0
// Runs a bundle in this process through the C interface that all bundles share.
#pragma once
#include "compiler/driver/Session.h"
#include "runtime_min/include/ortc/ortc.h"

namespace ortc::driver {

/// `types`: of the model file, for what the interface does not tell (elements of lists and maps).
/// `keep` is held as long as the session lives (the library). Null on error.
std::unique_ptr<Session> openBundle(const ortc_model* model, const onnx::Graph& types, int threads,
                                    const std::string& weightsPath, std::shared_ptr<void> keep,
                                    Diagnostics& diagnostics);

} // namespace ortc::driver
