// SPDX-License-Identifier: Apache-2.0
// Any bytes as a model: loading must end, in bounded memory, with a model or with an error. When a
// model comes out, all it promises to be readable is read.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target fuzz_onnx_file
//   build-fuzz/test/fuzz/fuzz_onnx_file -max_total_time=60 -rss_limit_mb=1024 -timeout=10 CORPUS...
#include <cstdlib>

#include "compiler/import/OnnxFile.h"

using namespace ortc;

namespace {

volatile size_t sink;

void readAll(const onnx::TensorData& tensor) {
  if (tensor.dtype == DType::String) {
    if (static_cast<int64_t>(tensor.strings.size()) != tensor.elementCount()) std::abort();
  } else if (static_cast<int64_t>(tensor.bytes.size()) !=
             byteSize(tensor.dtype, tensor.elementCount())) {
    std::abort();
  }
  for (uint8_t byte : tensor.bytes)
    sink = sink + byte;
}

void readAll(const onnx::Graph& graph);

void readAll(const std::vector<onnx::Node>& nodes) {
  for (const onnx::Node& node : nodes) {
    sink = sink + node.describe().size();
    for (const onnx::Attribute& attribute : node.attributes) {
      for (const onnx::TensorData& tensor : attribute.tensors)
        readAll(tensor);
      for (const onnx::SparseTensor& tensor : attribute.sparseTensors)
        readAll(tensor.values);
      for (const std::shared_ptr<onnx::Graph>& inner : attribute.graphs)
        readAll(*inner);
      for (const onnx::Type& type : attribute.types)
        sink = sink + onnx::typeText(type).size();
    }
  }
}

void readAll(const onnx::Graph& graph) {
  for (const onnx::TensorData& tensor : graph.initializers)
    readAll(tensor);
  for (const onnx::SparseTensor& tensor : graph.sparseInitializers)
    readAll(tensor.indices);
  for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.valueInfos})
    for (const onnx::ValueInfo& info : *infos)
      sink = sink + onnx::typeText(info.type).size();
  readAll(graph.nodes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Diagnostics diagnostics("fuzz.onnx");
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::fromMemory({data, size}, diagnostics);
  sink = sink + diagnostics.str().size();
  if (!file) {
    if (!diagnostics.hasErrors()) std::abort(); // refused without a word
    return 0;
  }
  readAll(file->model().graph);
  for (const onnx::Function& function : file->model().functions)
    readAll(function.nodes);
  return 0;
}
