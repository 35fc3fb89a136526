// SPDX-License-Identifier: Apache-2.0
// The model as plain structs: what ONNX says, checked for structure, without protobuf and without
// MLIR. Values are named by strings as in the file; nodes are sorted so that each comes after what
// it reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/import/Tensor.h"

namespace ortc::onnx {

struct Graph;
struct Function;

/// The newest versions whose meaning is known.
inline constexpr int64_t kNewestIrVersion = 14;
inline constexpr int64_t kNewestOpset = 28;  // ai.onnx, written "" below
inline constexpr int64_t kNewestMlOpset = 6; // ai.onnx.ml

struct Dim {
  /// Neither value nor param: unknown.
  std::optional<int64_t> value; // >= 0
  std::string param;            // "batch"; equal names are equal sizes, within one model
  std::string denotation;

  bool isStatic() const { return value.has_value(); }
  bool operator==(const Dim&) const = default;
};

struct Type {
  enum class Kind : uint8_t { None, Tensor, SparseTensor, Sequence, Map, Optional, Opaque };
  Kind kind = Kind::None;                // None: the file does not say
  DType dtype = DType::Undefined;        // Tensor, SparseTensor; key type of Map
  std::optional<std::vector<Dim>> shape; // Tensor, SparseTensor; absent: rank unknown
  std::shared_ptr<const Type> element;   // Sequence, Optional; value type of Map
  std::string opaqueDomain, opaqueName;
  std::string denotation;

  bool isTensor() const { return kind == Kind::Tensor; }
};
/// "f32[batch,3,224,?]", "seq(i64[?])", "map(str,f32[])", "optional(f32[*])" (* is: rank unknown).
std::string typeText(const Type& type);

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct ValueInfo {
  std::string name;
  Type type;
  std::string docString;
  Metadata metadata;
};

/// Numbers as in the file.
enum class AttributeType : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  Type = 13,
  Types = 14,
};
std::string_view attributeTypeName(AttributeType type); // "float", "list of ints", "tensor", ...

/// Singular values are the only element of their list, so that reading is one way for both.
struct Attribute {
  std::string name;
  AttributeType type =
      AttributeType::Undefined; // never Undefined after loading, unless refName is set
  std::string refName;          // inside a function: the function's attribute that gives the value
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorData> tensors;
  std::vector<SparseTensor> sparseTensors;
  std::vector<std::shared_ptr<Graph>> graphs;
  std::vector<Type> types;

  float f() const { return floats.at(0); }
  int64_t i() const { return ints.at(0); }
  const std::string& s() const { return strings.at(0); }
  const TensorData& tensor() const { return tensors.at(0); }
  const Graph& graph() const { return *graphs.at(0); }
};

struct Node {
  std::string name;   // often empty, need not be unique
  std::string domain; // "" for ai.onnx
  std::string opType;
  std::string overload;
  std::vector<std::string> inputs, outputs; // "": absent
  std::vector<Attribute> attributes;
  Metadata metadata;
  std::string docString;
  size_t index = 0;  // in the file's order
  int64_t opset = 0; // version of `domain` in force here
  /// Index into Model::functions when the node calls one.
  std::optional<size_t> function;

  /// Null when not there.
  const Attribute* attribute(std::string_view name) const;
  /// "node '/fc/Gemm' (Gemm, opset 13)", or "node #17 producing 'idx' (NonZero, opset 13)"; other
  /// domains than ai.onnx are named: (com.microsoft.Gelu, opset 1). The location of diagnostics.
  std::string describe() const;
};

/// Scales and zero points that a file attaches to a value.
struct QuantizationAnnotation {
  std::string tensorName;
  Metadata parameters; // SCALE_TENSOR, ZERO_POINT_TENSOR -> name of an initializer
};

struct Graph {
  std::string name;
  std::vector<Node> nodes; // sorted
  /// As declared. An input that also has an initializer has a default and may be left out by the
  /// caller.
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> valueInfos; // types of inner values, where the file has them
  std::vector<TensorData> initializers;
  std::vector<SparseTensor> sparseInitializers; // named by values.name
  std::vector<QuantizationAnnotation> quantization;
  Metadata metadata;
  std::string docString;

  const TensorData* initializer(std::string_view name) const; // linear; build a map for many
  /// Inputs that the caller must or may give: all without an initializer. Test data counts these.
  std::vector<const ValueInfo*> dataInputs() const;
};

struct OpsetImport {
  std::string domain; // "" for ai.onnx
  int64_t version = 0;
};

struct Function {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;      // without a default
  std::vector<Attribute> attributeDefaults; // with one
  std::vector<Node> nodes;                  // sorted
  std::vector<ValueInfo> valueInfos;
  std::vector<OpsetImport> opsets;
  Metadata metadata;
  std::string docString;
};

struct Model {
  int64_t irVersion = 0;
  std::vector<OpsetImport> opsets;
  std::string producerName, producerVersion, domain, docString;
  int64_t modelVersion = 0;
  Graph graph;
  std::vector<Function> functions; // no recursion; calls at most kMaxFunctionDepth deep
  Metadata metadata;
  bool hasTrainingInfo = false; // not kept: the inference graph is what is compiled

  /// 0 when the domain is not imported.
  int64_t opsetVersion(std::string_view domain) const;
};

/// How deep functions may call each other, and how many nodes all calls together may expand to.
inline constexpr unsigned kMaxFunctionDepth = 64;
inline constexpr uint64_t kMaxExpandedNodes = 10'000'000;

} // namespace ortc::onnx
