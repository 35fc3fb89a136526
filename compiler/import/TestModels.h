// SPDX-License-Identifier: Apache-2.0
// For unit tests: small models made through protobuf, written as any exporter would.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/import/OnnxFile.h"
#include "compiler/import/onnx.pb.h"

namespace ortc::test {

namespace pb = ortc::onnx_proto;

/// A folder that goes away with the object.
class TempFolder {
public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ortc-test-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string operator/(const std::string& name) const { return (folder / name).string(); }
  std::string path() const { return folder.string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return *this / name;
  }

private:
  std::filesystem::path folder;
};

inline pb::ValueInfoProto* addValue(pb::ValueInfoProto* info, const std::string& name, int type = 1,
                                    std::vector<int64_t> dims = {2}) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t d : dims)
    tensor->mutable_shape()->add_dim()->set_dim_value(d);
  return info;
}

inline pb::NodeProto* addNode(pb::NodeProto* node, const std::string& op,
                              std::vector<std::string> inputs, std::vector<std::string> outputs,
                              const std::string& name = {}) {
  node->set_op_type(op);
  for (const std::string& input : inputs)
    node->add_input(input);
  for (const std::string& output : outputs)
    node->add_output(output);
  if (!name.empty()) node->set_name(name);
  return node;
}

template <typename T>
pb::TensorProto* setRaw(pb::TensorProto* tensor, const std::string& name, int type,
                        const std::vector<int64_t>& dims, const std::vector<T>& values) {
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t d : dims)
    tensor->add_dims(d);
  tensor->set_raw_data(values.data(), values.size() * sizeof(T));
  return tensor;
}

inline pb::AttributeProto* addAttribute(pb::NodeProto* node, const std::string& name, int type) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

/// An If on `condition`; gives its first branch. The second one is empty.
inline pb::GraphProto* addIf(pb::GraphProto* graph, const std::string& condition,
                             const std::string& output, const std::string& name = {}) {
  auto* node = addNode(graph->add_node(), "If", {condition}, {output}, name);
  addAttribute(node, "else_branch", 5)->mutable_g()->set_name("else");
  return addAttribute(node, "then_branch", 5)->mutable_g();
}

/// y = Relu(x + w), with w an initializer.
inline pb::ModelProto smallModel() {
  pb::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  auto* graph = model.mutable_graph();
  graph->set_name("g");
  addValue(graph->add_input(), "x");
  addValue(graph->add_output(), "y");
  setRaw<float>(graph->add_initializer(), "w", 1, {2}, {1.5f, -2.0f});
  addNode(graph->add_node(), "Add", {"x", "w"}, {"sum"}, "add");
  addNode(graph->add_node(), "Relu", {"sum"}, {"y"}, "relu");
  return model;
}

/// A model as loaded from memory; keeps the bytes.
struct Loaded {
  explicit Loaded(std::string fileBytes, const std::string& folder = {})
      : bytes(std::move(fileBytes)), diagnostics("m.onnx") {
    file = onnx::OnnxFile::fromMemory(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, diagnostics, folder);
  }
  explicit Loaded(const pb::ModelProto& model, const std::string& folder = {})
      : Loaded(model.SerializeAsString(), folder) {}
  const onnx::Model& model() const { return file->model(); }
  bool ok() const { return file != nullptr; }
  std::string messages() const { return diagnostics.str(); }
  bool says(const std::string& text) const { return messages().find(text) != std::string::npos; }

  std::string bytes;
  Diagnostics diagnostics;
  std::unique_ptr<onnx::OnnxFile> file;
};

} // namespace ortc::test
