// SPDX-License-Identifier: Apache-2.0
// A bundle as a user gets it: `ortc compile`, then the CMake package that it is, as a shared
// library, called through ortc/ortc.h.
#pragma once
#include "compiler/cases/CaseValue.h"
#include "runtime_min/include/ortc/ortc.h"
#include <string>
#include <vector>

namespace ortc::bench {

struct BuildRequest {
  std::string ortc;               // the compiler
  std::string model;              // ONNX file
  std::vector<std::string> flags; // of `ortc compile`
  std::string folder; // for all that is made; a build that is there and current is taken
};
/// The shared library. Throws std::runtime_error with the output of the tool that failed.
std::string buildBundle(const BuildRequest& request);

/// A CMake project that makes the bundle in FOLDER/bundle a shared library, build/libmodel_run.so.
void writeBundleProject(const std::string& folder);

/// Bytes of .text and .rodata (and .eh_frame and the like not), without embedded weights.
struct CodeSize {
  uint64_t text = 0, rodata = 0;
};
CodeSize codeSize(const std::string& library);

class Bundle {
public:
  /// Throws std::runtime_error.
  Bundle(const std::string& library, const std::string& weights, int threads);
  ~Bundle();
  Bundle(const Bundle&) = delete;

  /// Fixes inputs and makes room for outputs.
  void prepare(const std::vector<CaseValue>& inputs);
  /// Also runs once.
  void bind(const std::vector<CaseValue>& inputs) {
    prepare(inputs);
    run();
  }
  void run() {
    if (ortc_status s = model->run(context, in.data(), out.data())) fail(s);
  }
  std::vector<CaseValue> outputs() const;
  const ortc_model& description() const { return *model; }
  const std::vector<ortc_tensor>& rawOutputs() const { return out; }

private:
  const ortc_model* model = nullptr;
  ortc_context* context = nullptr;
  std::vector<ortc_tensor> in, out;
  std::vector<std::vector<int64_t>> dims;
  std::vector<void*> memory;
  void* allocate(size_t bytes);
  [[noreturn]] void fail(ortc_status status) const;
};

} // namespace ortc::bench
