// SPDX-License-Identifier: Apache-2.0
// From protobuf messages to the structs of Model.h. Checks what can be said of one element alone;
// how elements fit together is checked afterwards, by checkModel.
#pragma once

#include "compiler/import/Model.h"
#include "compiler/import/TensorReader.h"

namespace ortc::onnx_proto {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TypeProto;
class ValueInfoProto;
} // namespace ortc::onnx_proto

namespace ortc::onnx {

class ModelReader {
public:
  ModelReader(TensorReader& tensors, Diagnostics& diagnostics)
      : tensors(tensors), diagnostics(diagnostics) {}

  /// Moves what it can out of `proto`. False when an error was reported.
  bool read(onnx_proto::ModelProto& proto, Model& model);

private:
  void readGraph(onnx_proto::GraphProto& proto, Graph& graph);
  void readFunction(onnx_proto::FunctionProto& proto, Function& function);
  void readNode(onnx_proto::NodeProto& proto, size_t index, Node& node);
  void readAttribute(onnx_proto::AttributeProto& proto, const std::string& where,
                     Attribute& attribute);
  void readValueInfo(onnx_proto::ValueInfoProto& proto, const char* what, ValueInfo& info);
  Type readType(onnx_proto::TypeProto& proto, const std::string& where);
  template <typename Opsets> std::vector<OpsetImport> readOpsets(const Opsets& protos);

  TensorReader& tensors;
  Diagnostics& diagnostics;
  const std::vector<OpsetImport>* opsets = nullptr; // in force where the reader is
  bool insideFunction = false;
};

/// Version checks, names, order. Sorts the nodes of each graph; sets Node::function.
bool checkModel(Model& model, Diagnostics& diagnostics);

} // namespace ortc::onnx
