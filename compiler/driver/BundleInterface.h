// SPDX-License-Identifier: Apache-2.0
// What the manifest of a bundle says of its inputs, outputs and files, for runners that are not
// linked with it.
#pragma once
#include "compiler/import/Model.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ortc::driver {

struct BundleInterface {
  onnx::Graph graph;                   // inputs and outputs with their types
  std::map<std::string, int64_t> most; // upper ends of dims
  std::vector<std::string> sources, options, includes;
  int64_t bytes = 0; // of all inputs and outputs at their largest
};
/// None when the manifest cannot be read.
std::optional<BundleInterface> readBundleInterface(const std::string& folder);

/// The content of a file, empty when there is none.
std::string readBytes(const std::string& path);

} // namespace ortc::driver
