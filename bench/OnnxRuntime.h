// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through its C API, loaded at run time: the wheel has the library but no headers.
// Tensors only; inputs and outputs are wrapped once, so that a run is one call.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ortc::bench {

/// A dense tensor of numbers in memory of the caller.
struct TensorView {
  std::string name; // as in the model
  int32_t dtype;    // ONNX's number
  std::vector<int64_t> dims;
  void* data;
  size_t bytes;
};

class OnnxRuntime {
public:
  /// Throws std::runtime_error with ONNX Runtime's words.
  OnnxRuntime(const std::string& library, const std::string& model, int threads,
              const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs);
  ~OnnxRuntime();
  void run();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// --ort, else ORTC_ONNXRUNTIME, else that of the virtual environment in use or in the source tree;
/// empty when none is there.
std::string findOnnxRuntime(const std::string& given);

} // namespace ortc::bench
