// SPDX-License-Identifier: Apache-2.0
// Small questions to the structs of Model.h, and how they are named in messages.
#include "compiler/import/Model.h"

#include "compiler/support/Diagnostics.h"

#include <unordered_set>

namespace ortc::onnx {

std::string typeText(const Type& type) {
  const auto element = [&] { return type.element ? typeText(*type.element) : std::string("?"); };
  switch (type.kind) {
  case Type::Kind::None: return "?";
  case Type::Kind::Sequence: return "seq(" + element() + ")";
  case Type::Kind::Optional: return "optional(" + element() + ")";
  case Type::Kind::Map: return "map(" + std::string(dtypeName(type.dtype)) + "," + element() + ")";
  case Type::Kind::Opaque: return "opaque(" + type.opaqueDomain + "," + type.opaqueName + ")";
  case Type::Kind::Tensor:
  case Type::Kind::SparseTensor: break;
  }
  std::string text(type.kind == Type::Kind::SparseTensor ? "sparse " : "");
  text += dtypeName(type.dtype);
  if (!type.shape) return text + "[*]";
  text += '[';
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    text += i ? "," : "";
    text += dim.value ? std::to_string(*dim.value) : dim.param.empty() ? "?" : dim.param;
  }
  return text + ']';
}

std::string_view attributeTypeName(AttributeType type) {
  switch (type) {
  case AttributeType::Undefined: return "nothing";
  case AttributeType::Float: return "float";
  case AttributeType::Int: return "int";
  case AttributeType::String: return "string";
  case AttributeType::Tensor: return "tensor";
  case AttributeType::Graph: return "graph";
  case AttributeType::Floats: return "list of floats";
  case AttributeType::Ints: return "list of ints";
  case AttributeType::Strings: return "list of strings";
  case AttributeType::Tensors: return "list of tensors";
  case AttributeType::Graphs: return "list of graphs";
  case AttributeType::SparseTensor: return "sparse tensor";
  case AttributeType::SparseTensors: return "list of sparse tensors";
  case AttributeType::Type: return "type";
  case AttributeType::Types: return "list of types";
  }
  return "?";
}

const Attribute* Node::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

std::string Node::describe() const {
  std::string text;
  if (!name.empty()) {
    text = "node " + quoteName(name);
  } else {
    text = "node #" + std::to_string(index);
    for (const std::string& output : outputs)
      if (!output.empty()) {
        text += " producing " + quoteName(output);
        break;
      }
  }
  text += " (";
  if (!domain.empty()) text += domain + ".";
  text += opType.empty() ? "?" : opType;
  if (opset > 0) text += ", opset " + std::to_string(opset);
  return text + ")";
}

const TensorData* Graph::initializer(std::string_view name) const {
  for (const TensorData& tensor : initializers)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

std::vector<const ValueInfo*> Graph::dataInputs() const {
  std::unordered_set<std::string_view> withDefault;
  for (const TensorData& tensor : initializers)
    withDefault.insert(tensor.name);
  for (const SparseTensor& tensor : sparseInitializers)
    withDefault.insert(tensor.values.name);
  std::vector<const ValueInfo*> result;
  for (const ValueInfo& input : inputs)
    if (!withDefault.count(input.name)) result.push_back(&input);
  return result;
}

int64_t Model::opsetVersion(std::string_view domain) const {
  for (const OpsetImport& opset : opsets)
    if (opset.domain == domain) return opset.version;
  return 0;
}

} // namespace ortc::onnx
