// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/ModelReader.h"

#include "compiler/import/onnx.pb.h"

#include <algorithm>

namespace ortc::onnx {
namespace {

template <typename Protos> Metadata takeMetadata(Protos* protos) {
  Metadata metadata;
  for (auto& entry : *protos)
    metadata.emplace_back(std::move(*entry.mutable_key()), std::move(*entry.mutable_value()));
  return metadata;
}

template <typename Protos> std::vector<std::string> takeStrings(Protos* protos) {
  std::vector<std::string> strings;
  strings.reserve(protos->size());
  for (std::string& text : *protos)
    strings.push_back(std::move(text));
  return strings;
}

std::string canonicalDomain(std::string domain) {
  return domain == "ai.onnx" ? "" : domain;
}

int64_t versionOf(const std::vector<OpsetImport>& opsets, std::string_view domain) {
  for (const OpsetImport& opset : opsets)
    if (opset.domain == domain) return opset.version;
  return 0;
}

/// The value field that is filled, for files that leave `type` out and for those where the two
/// disagree.
AttributeType filledField(const onnx_proto::AttributeProto& proto) {
  if (proto.has_f()) return AttributeType::Float;
  if (proto.has_i()) return AttributeType::Int;
  if (proto.has_s()) return AttributeType::String;
  if (proto.has_t()) return AttributeType::Tensor;
  if (proto.has_g()) return AttributeType::Graph;
  if (proto.has_sparse_tensor()) return AttributeType::SparseTensor;
  if (proto.has_tp()) return AttributeType::Type;
  if (proto.floats_size()) return AttributeType::Floats;
  if (proto.ints_size()) return AttributeType::Ints;
  if (proto.strings_size()) return AttributeType::Strings;
  if (proto.tensors_size()) return AttributeType::Tensors;
  if (proto.graphs_size()) return AttributeType::Graphs;
  if (proto.sparse_tensors_size()) return AttributeType::SparseTensors;
  if (proto.type_protos_size()) return AttributeType::Types;
  return AttributeType::Undefined;
}

bool isList(AttributeType type) {
  switch (type) {
  case AttributeType::Floats:
  case AttributeType::Ints:
  case AttributeType::Strings:
  case AttributeType::Tensors:
  case AttributeType::Graphs:
  case AttributeType::SparseTensors:
  case AttributeType::Types: return true;
  default: return false;
  }
}

} // namespace

bool ModelReader::read(onnx_proto::ModelProto& proto, Model& model) {
  const size_t errorsBefore = diagnostics.errorCount();
  model.irVersion = proto.ir_version();
  model.producerName = std::move(*proto.mutable_producer_name());
  model.producerVersion = std::move(*proto.mutable_producer_version());
  model.domain = std::move(*proto.mutable_domain());
  model.docString = std::move(*proto.mutable_doc_string());
  model.modelVersion = proto.model_version();
  model.metadata = takeMetadata(proto.mutable_metadata_props());
  model.hasTrainingInfo = proto.training_info_size() > 0;
  if (!proto.has_ir_version() || !proto.has_graph()) {
    diagnostics.error({}, "not an ONNX model: it has no {}",
                      proto.has_ir_version() ? "graph" : "IR version");
    return false;
  }
  model.opsets = readOpsets(proto.opset_import());
  if (model.opsets.empty() && model.irVersion < 3)
    model.opsets.push_back({"", 1}); // before IR version 3 there were no opset imports
  opsets = &model.opsets;
  readGraph(*proto.mutable_graph(), model.graph);
  insideFunction = true;
  model.functions.resize(proto.functions_size());
  for (int i = 0; i < proto.functions_size(); ++i)
    readFunction(*proto.mutable_functions(i), model.functions[i]);
  return diagnostics.errorCount() == errorsBefore;
}

template <typename Opsets> std::vector<OpsetImport> ModelReader::readOpsets(const Opsets& protos) {
  std::vector<OpsetImport> result;
  for (const auto& proto : protos)
    result.push_back({canonicalDomain(proto.domain()), proto.version()});
  return result;
}

void ModelReader::readGraph(onnx_proto::GraphProto& proto, Graph& graph) {
  graph.name = std::move(*proto.mutable_name());
  graph.docString = std::move(*proto.mutable_doc_string());
  graph.metadata = takeMetadata(proto.mutable_metadata_props());
  const auto readInfos = [&](auto* protos, const char* what, std::vector<ValueInfo>& infos) {
    infos.resize(protos->size());
    for (int i = 0; i < protos->size(); ++i)
      readValueInfo((*protos)[i], what, infos[i]);
  };
  readInfos(proto.mutable_input(), "input", graph.inputs);
  readInfos(proto.mutable_output(), "output", graph.outputs);
  readInfos(proto.mutable_value_info(), "value", graph.valueInfos);
  for (auto& initializer : *proto.mutable_initializer()) {
    if (diagnostics.tooManyErrors())
      return; // without its weights every one of a model's thousand tensors would be reported
    if (auto tensor = tensors.read(initializer, "initializer " + quoteName(initializer.name())))
      graph.initializers.push_back(std::move(*tensor));
  }
  for (auto& sparse : *proto.mutable_sparse_initializer())
    if (auto tensor = tensors.read(sparse, "initializer " + quoteName(sparse.values().name())))
      graph.sparseInitializers.push_back(std::move(*tensor));
  for (auto& annotation : *proto.mutable_quantization_annotation())
    graph.quantization.push_back({std::move(*annotation.mutable_tensor_name()),
                                  takeMetadata(annotation.mutable_quant_parameter_tensor_names())});
  graph.nodes.resize(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    readNode(*proto.mutable_node(i), i, graph.nodes[i]);
}

void ModelReader::readFunction(onnx_proto::FunctionProto& proto, Function& function) {
  function.domain = canonicalDomain(std::move(*proto.mutable_domain()));
  function.name = std::move(*proto.mutable_name());
  function.overload = std::move(*proto.mutable_overload());
  function.docString = std::move(*proto.mutable_doc_string());
  function.inputs = takeStrings(proto.mutable_input());
  function.outputs = takeStrings(proto.mutable_output());
  function.attributes = takeStrings(proto.mutable_attribute());
  function.metadata = takeMetadata(proto.mutable_metadata_props());
  function.opsets = readOpsets(proto.opset_import());
  opsets = &function.opsets;
  const std::string where = "function " + quoteName(function.name);
  function.attributeDefaults.resize(proto.attribute_proto_size());
  for (int i = 0; i < proto.attribute_proto_size(); ++i)
    readAttribute(*proto.mutable_attribute_proto(i), where, function.attributeDefaults[i]);
  function.valueInfos.resize(proto.value_info_size());
  for (int i = 0; i < proto.value_info_size(); ++i)
    readValueInfo(*proto.mutable_value_info(i), "value", function.valueInfos[i]);
  function.nodes.resize(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    readNode(*proto.mutable_node(i), i, function.nodes[i]);
}

void ModelReader::readNode(onnx_proto::NodeProto& proto, size_t index, Node& node) {
  node.name = std::move(*proto.mutable_name());
  node.domain = canonicalDomain(std::move(*proto.mutable_domain()));
  node.opType = std::move(*proto.mutable_op_type());
  node.overload = std::move(*proto.mutable_overload());
  node.docString = std::move(*proto.mutable_doc_string());
  node.inputs = takeStrings(proto.mutable_input());
  node.outputs = takeStrings(proto.mutable_output());
  node.metadata = takeMetadata(proto.mutable_metadata_props());
  node.index = index;
  node.opset = versionOf(*opsets, node.domain);
  const std::string where = node.describe();
  if (node.opType.empty()) diagnostics.error(where, "the node has no operator");
  node.attributes.resize(proto.attribute_size());
  for (int i = 0; i < proto.attribute_size(); ++i) {
    readAttribute(*proto.mutable_attribute(i), where, node.attributes[i]);
    for (int k = 0; k < i; ++k)
      if (node.attributes[k].name == node.attributes[i].name)
        diagnostics.error(where, "attribute {} is given twice", quoteName(node.attributes[i].name));
  }
}

void ModelReader::readAttribute(onnx_proto::AttributeProto& proto, const std::string& where,
                                Attribute& attribute) {
  attribute.name = std::move(*proto.mutable_name());
  attribute.refName = std::move(*proto.mutable_ref_attr_name());
  const std::string name = quoteName(attribute.name);
  if (attribute.name.empty()) diagnostics.error(where, "an attribute has no name");
  if (proto.type() < 0 || proto.type() > static_cast<int>(AttributeType::Types)) {
    diagnostics.error(where, "attribute {} has the unknown type {}", name, proto.type());
    return;
  }
  attribute.type = static_cast<AttributeType>(proto.type());
  if (!attribute.refName.empty()) {
    if (!insideFunction)
      diagnostics.error(where,
                        "attribute {} refers to {}, which only the body of a function may do", name,
                        quoteName(attribute.refName));
    return;
  }
  const AttributeType filled = filledField(proto);
  if (attribute.type == AttributeType::Undefined) attribute.type = filled;
  if (attribute.type == AttributeType::Undefined) {
    diagnostics.error(where, "attribute {} has neither type nor value", name);
    return;
  }
  // Writers of proto3 leave zeros and empty strings out; a tensor, graph or type cannot be left
  // out.
  const bool mayBeAbsent = isList(attribute.type) || attribute.type == AttributeType::Float ||
                           attribute.type == AttributeType::Int ||
                           attribute.type == AttributeType::String;
  if (filled != attribute.type && !(filled == AttributeType::Undefined && mayBeAbsent)) {
    // Some writers fill several fields with defaults; what counts is whether the declared one is
    // there.
    bool present = false;
    switch (attribute.type) {
    case AttributeType::Float: present = proto.has_f(); break;
    case AttributeType::Int: present = proto.has_i(); break;
    case AttributeType::String: present = proto.has_s(); break;
    case AttributeType::Tensor: present = proto.has_t(); break;
    case AttributeType::Graph: present = proto.has_g(); break;
    case AttributeType::SparseTensor: present = proto.has_sparse_tensor(); break;
    case AttributeType::Type: present = proto.has_tp(); break;
    case AttributeType::Floats: present = proto.floats_size(); break;
    case AttributeType::Ints: present = proto.ints_size(); break;
    case AttributeType::Strings: present = proto.strings_size(); break;
    case AttributeType::Tensors: present = proto.tensors_size(); break;
    case AttributeType::Graphs: present = proto.graphs_size(); break;
    case AttributeType::SparseTensors: present = proto.sparse_tensors_size(); break;
    case AttributeType::Types: present = proto.type_protos_size(); break;
    case AttributeType::Undefined: break;
    }
    if (!present) {
      diagnostics.error(where, "attribute {} is declared as {} but holds {}", name,
                        attributeTypeName(attribute.type),
                        filled == AttributeType::Undefined ? "nothing" : attributeTypeName(filled));
      return;
    }
  }
  const std::string inside = where + ", attribute " + name;
  const auto addGraph = [&](onnx_proto::GraphProto& graph) {
    attribute.graphs.push_back(std::make_shared<Graph>());
    readGraph(graph, *attribute.graphs.back());
  };
  const auto addTensor = [&](onnx_proto::TensorProto& tensor) {
    if (auto data = tensors.read(tensor, inside)) attribute.tensors.push_back(std::move(*data));
  };
  const auto addSparse = [&](onnx_proto::SparseTensorProto& tensor) {
    if (auto data = tensors.read(tensor, inside))
      attribute.sparseTensors.push_back(std::move(*data));
  };
  switch (attribute.type) {
  case AttributeType::Float: attribute.floats = {proto.f()}; break;
  case AttributeType::Int: attribute.ints = {proto.i()}; break;
  case AttributeType::String: attribute.strings = {std::move(*proto.mutable_s())}; break;
  case AttributeType::Tensor: addTensor(*proto.mutable_t()); break;
  case AttributeType::Graph: addGraph(*proto.mutable_g()); break;
  case AttributeType::SparseTensor: addSparse(*proto.mutable_sparse_tensor()); break;
  case AttributeType::Type: attribute.types = {readType(*proto.mutable_tp(), inside)}; break;
  case AttributeType::Floats:
    attribute.floats.assign(proto.floats().begin(), proto.floats().end());
    break;
  case AttributeType::Ints: attribute.ints.assign(proto.ints().begin(), proto.ints().end()); break;
  case AttributeType::Strings: attribute.strings = takeStrings(proto.mutable_strings()); break;
  case AttributeType::Tensors:
    for (auto& tensor : *proto.mutable_tensors())
      addTensor(tensor);
    break;
  case AttributeType::Graphs:
    for (auto& graph : *proto.mutable_graphs())
      addGraph(graph);
    break;
  case AttributeType::SparseTensors:
    for (auto& tensor : *proto.mutable_sparse_tensors())
      addSparse(tensor);
    break;
  case AttributeType::Types:
    for (auto& type : *proto.mutable_type_protos())
      attribute.types.push_back(readType(type, inside));
    break;
  case AttributeType::Undefined: break;
  }
}

void ModelReader::readValueInfo(onnx_proto::ValueInfoProto& proto, const char* what,
                                ValueInfo& info) {
  info.name = std::move(*proto.mutable_name());
  info.docString = std::move(*proto.mutable_doc_string());
  info.metadata = takeMetadata(proto.mutable_metadata_props());
  if (proto.has_type())
    info.type = readType(*proto.mutable_type(), std::string(what) + " " + quoteName(info.name));
}

Type ModelReader::readType(onnx_proto::TypeProto& proto, const std::string& where) {
  Type type;
  type.denotation = std::move(*proto.mutable_denotation());
  const auto readElementType = [&](int number) {
    if (number == 0) return DType::Undefined;
    std::optional<DType> dtype = dtypeFromOnnx(number);
    if (!dtype)
      diagnostics.error(where, "unknown element type {}", number)
          .note("the newest one known is {} ({})", kLastDType, dtypeName(DType(kLastDType)));
    return dtype.value_or(DType::Undefined);
  };
  const auto readTensor = [&](auto& tensor, Type::Kind kind) {
    type.kind = kind;
    type.dtype = readElementType(tensor.elem_type());
    if (!tensor.has_shape()) return;
    type.shape.emplace();
    for (auto& d : *tensor.mutable_shape()->mutable_dim()) {
      Dim dim;
      dim.denotation = std::move(*d.mutable_denotation());
      // Some exporters write -1 for "not known".
      if (d.has_dim_value() && d.dim_value() >= 0)
        dim.value = d.dim_value();
      else if (d.has_dim_param())
        dim.param = std::move(*d.mutable_dim_param());
      type.shape->push_back(std::move(dim));
    }
  };
  using Proto = onnx_proto::TypeProto;
  switch (proto.value_case()) {
  case Proto::kTensorType: readTensor(*proto.mutable_tensor_type(), Type::Kind::Tensor); break;
  case Proto::kSparseTensorType:
    readTensor(*proto.mutable_sparse_tensor_type(), Type::Kind::SparseTensor);
    break;
  case Proto::kSequenceType:
    type.kind = Type::Kind::Sequence;
    type.element = std::make_shared<Type>(
        readType(*proto.mutable_sequence_type()->mutable_elem_type(), where));
    break;
  case Proto::kOptionalType:
    type.kind = Type::Kind::Optional;
    type.element = std::make_shared<Type>(
        readType(*proto.mutable_optional_type()->mutable_elem_type(), where));
    break;
  case Proto::kMapType:
    type.kind = Type::Kind::Map;
    type.dtype = readElementType(proto.map_type().key_type());
    type.element =
        std::make_shared<Type>(readType(*proto.mutable_map_type()->mutable_value_type(), where));
    break;
  case Proto::kOpaqueType:
    type.kind = Type::Kind::Opaque;
    type.opaqueDomain = proto.opaque_type().domain();
    type.opaqueName = proto.opaque_type().name();
    break;
  case Proto::VALUE_NOT_SET: break;
  }
  return type;
}

} // namespace ortc::onnx
