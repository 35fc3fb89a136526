// SPDX-License-Identifier: Apache-2.0
// Reading a node: attributes, inputs, and what is known of their values.
#include "compiler/onnx/NodeBuilder.h"
#include "compiler/ir/HostTensor.h"
#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;

namespace ortc::opdef {

static constexpr uint64_t bit(DType t) {
  return uint64_t(1) << static_cast<unsigned>(t);
}
static constexpr uint64_t floats =
    bit(DType::F32) | bit(DType::F64) | bit(DType::F16) | bit(DType::BF16);
static constexpr uint64_t signedInts =
    bit(DType::I8) | bit(DType::I16) | bit(DType::I32) | bit(DType::I64);
static constexpr uint64_t unsignedInts =
    bit(DType::U8) | bit(DType::U16) | bit(DType::U32) | bit(DType::U64);
const TypeSet anyType{~uint64_t(0), "a tensor"};
const TypeSet anyValue{~uint64_t(0), "any type", /*lists=*/true};
const TypeSet floating{floats, "a floating-point type"};
const TypeSet integer{signedInts | unsignedInts, "an integer type"};
const TypeSet signedInteger{signedInts, "a signed integer type"};
const TypeSet numeric{floats | signedInts | unsignedInts, "a numeric type"};
const TypeSet boolean{bit(DType::Bool), "bool"};
const TypeSet indexInteger{bit(DType::I32) | bit(DType::I64), "int32 or int64"};
const TypeSet stringType{bit(DType::String), "string"};
TypeSet oneOf(std::initializer_list<DType> types) {
  uint64_t bits = 0;
  for (DType t : types)
    bits |= bit(t);
  return {bits, "another type"};
}

NodeBuilder::NodeBuilder(const Node& node, OpBuilder& b, Location loc, GraphImporter& graph,
                         std::vector<Tensor> inputs)
    : node(node), b(b), loc(loc), graph(graph), opset(node.opset), inputs(std::move(inputs)),
      outputs(node.outputs.size()) {}

void NodeBuilder::fail(std::string message, std::vector<Diagnostic::Line> lines) {
  // The types of what went in explain most errors.
  for (auto [i, t] : llvm::enumerate(inputs))
    if (t && i < node.inputs.size())
      lines.push_back({false, fmt::format("input {} is {}, of type {}", i,
                                          quoteName(node.inputs[i]), typeText(t))});
  throw NodeError{std::move(message), std::move(lines)};
}

// ---- attributes ----

static const Attribute* find(NodeBuilder& n, StringRef name, AttributeType want, bool required) {
  const Attribute* a = n.node.attribute(std::string_view(name));
  if (!a) {
    if (required) n.error("required attribute '{}' is missing", name.str());
    return nullptr;
  }
  if (a->type != want)
    n.error("attribute '{}' is of type {}; expected {}", name.str(), attributeTypeName(a->type),
            attributeTypeName(want));
  return a;
}
int64_t NodeBuilder::intAttr(StringRef name, std::optional<int64_t> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::Int, !otherwise);
  return a ? a->i() : *otherwise;
}
bool NodeBuilder::flagAttr(StringRef name, bool otherwise) {
  int64_t value = intAttr(name, otherwise);
  if (value != 0 && value != 1) error("'{}' is {}; expected 0 or 1", name.str(), value);
  return value != 0;
}
double NodeBuilder::floatAttr(StringRef name, std::optional<double> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::Float, !otherwise);
  return a ? a->f() : *otherwise;
}
std::string NodeBuilder::stringAttr(StringRef name, std::optional<std::string> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::String, !otherwise);
  return a ? a->s() : *otherwise;
}
std::vector<int64_t> NodeBuilder::intsAttr(StringRef name,
                                           std::optional<std::vector<int64_t>> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::Ints, !otherwise);
  return a ? a->ints : *otherwise;
}
std::vector<float> NodeBuilder::floatsAttr(StringRef name,
                                           std::optional<std::vector<float>> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::Floats, !otherwise);
  return a ? a->floats : *otherwise;
}
std::vector<std::string>
NodeBuilder::stringsAttr(StringRef name, std::optional<std::vector<std::string>> otherwise) {
  const Attribute* a = find(*this, name, AttributeType::Strings, !otherwise);
  return a ? a->strings : *otherwise;
}
const TensorData& NodeBuilder::tensorAttr(StringRef name) {
  return find(*this, name, AttributeType::Tensor, true)->tensor();
}
const Graph& NodeBuilder::graphAttr(StringRef name) {
  return find(*this, name, AttributeType::Graph, true)->graph();
}

// ---- inputs and outputs ----

Tensor NodeBuilder::optionalInput(size_t i, StringRef name, TypeSet types) {
  if (!hasInput(i)) return {};
  if (inputs[i].absent()) error("input '{}' is an optional without a value", name.str());
  if (inputs[i].isSequence()) error("input '{}' is a sequence; expected a tensor", name.str());
  const bool isTensor = inputs[i].isTensor();
  if (isTensor ? !types.has(inputs[i].dtype) : !types.lists)
    error("input '{}' is {}; expected {}", name.str(),
          isTensor ? std::string(dtypeName(inputs[i].dtype)) : typeText(inputs[i]), types.text);
  return inputs[i];
}
Tensor NodeBuilder::input(size_t i, StringRef name, TypeSet types) {
  if (!hasInput(i)) error("required input {} ('{}') is missing", i, name.str());
  return optionalInput(i, name, types);
}
Tensor NodeBuilder::anyInput(size_t i, StringRef name) {
  if (!hasInput(i)) error("required input {} ('{}') is missing", i, name.str());
  return inputs[i];
}
const std::vector<Tensor>& NodeBuilder::sequenceInput(size_t i, StringRef name) {
  Tensor t = anyInput(i, name);
  if (t.form == Tensor::Form::Growing) throw SequenceError();
  if (t.elements) return *inputs[i].elements;
  if (t.absent()) error("input '{}' is an optional without a value", name.str());
  if (t.isTensor()) error("input '{}' is {}; expected a sequence", name.str(), typeText(t));
  fail(fmt::format("the length of sequence '{}' is not known while compiling", name.str()),
       {{true, "where it is an input, say how many elements it has by their sizes: --shape "
               "'x[0]=3x4' --shape 'x[1]=3x4'"}});
}
void NodeBuilder::output(size_t i, Tensor value) {
  if (i < outputs.size()) outputs[i] = value;
}

std::string NodeBuilder::typeText(Tensor t) {
  if (t.elements) return fmt::format("a sequence of {} {}", t.elements->size(), dtypeName(t.dtype));
  if (t.form != Tensor::Form::Plain && t.form != Tensor::Form::Absent)
    return fmt::format("a sequence of {}", dtypeName(t.dtype));
  if (t.absent()) return "absent";
  auto type = dyn_cast<RankedTensorType>(t.value.getType());
  if (!type) {
    std::string s;
    llvm::raw_string_ostream os(s);
    os << t.value.getType();
    return s;
  }
  std::string s = std::string(dtypeName(t.dtype)) + "[";
  for (auto [i, d] : llvm::enumerate(type.getShape())) {
    if (i) s += ",";
    if (!ShapedType::isDynamic(d)) {
      s += std::to_string(d);
      continue;
    }
    Value v = dyn_cast<Value>(getSize(b, t.value, i));
    auto dim = v ? v.getDefiningOp<DimOp>() : DimOp();
    s += dim ? dim.getName().str() : "?";
  }
  return s + "]";
}

// ---- sizes and known values ----

std::vector<Size> NodeBuilder::sizes(Tensor t) {
  std::vector<Size> r;
  for (OpFoldResult s : getSizes(b, t.value))
    r.push_back({this, s});
  return r;
}
Size NodeBuilder::size(Tensor t, int64_t dim) {
  if (dim < 0 || dim >= t.rank())
    error("an input has rank {}; expected at least {}", t.rank(), std::max<int64_t>(dim, 0) + 1);
  return {this, getSize(b, t.value, dim)};
}
int64_t NodeBuilder::axis(int64_t value, int64_t rank, StringRef name) {
  if (value < -rank || value >= rank)
    error("'{}' is {}, out of range for rank {}", name.str(), value, rank);
  return value < 0 ? value + rank : value;
}
std::vector<int64_t> NodeBuilder::axes(ArrayRef<int64_t> values, int64_t rank, StringRef name) {
  std::vector<int64_t> r;
  for (int64_t v : values) {
    int64_t a = axis(v, rank, name);
    if (llvm::is_contained(r, a)) error("'{}' names axis {} twice", name.str(), a);
    r.push_back(a);
  }
  return r;
}

std::optional<HostTensor> NodeBuilder::constantTensor(Tensor t) {
  auto c = t.value.getDefiningOp<arith::ConstantOp>();
  if (!c || !isa<ElementsAttr>(c.getValue())) return std::nullopt;
  return toHostTensor(mlir::cast<ElementsAttr>(c.getValue()));
}

/// Elements of a tensor.from_elements or constant, as index values or constants.
static std::optional<std::vector<Size>> knownSizes(NodeBuilder& n, Tensor t) {
  std::vector<Size> r;
  if (auto c = n.constantTensor(t)) {
    if (c->size() > 4096 || !c->data) return std::nullopt;
    for (int64_t i = 0; i < c->size(); ++i)
      r.push_back(n.size(c->getInt(i, !isSignedInteger(t.dtype))));
    return r;
  }
  auto elements = t.value.getDefiningOp<tensor::FromElementsOp>();
  if (!elements) return std::nullopt;
  for (Value v : elements.getElements()) {
    if (auto c = getConstantIntValue(v)) {
      r.push_back(n.size(*c));
      continue;
    }
    r.push_back({&n, n.toIndex({&n, v, false}).v});
  }
  return r;
}

std::optional<std::vector<int64_t>> NodeBuilder::constantInts(Tensor t) {
  auto known = knownSizes(*this, t);
  if (!known) return std::nullopt;
  std::vector<int64_t> r;
  for (Size s : *known) {
    if (!s.constant()) return std::nullopt;
    r.push_back(*s.constant());
  }
  return r;
}
std::vector<int64_t> NodeBuilder::requireInts(Tensor t, StringRef name) {
  requireList(t, name);
  if (auto r = constantInts(t)) return *r;
  fail(fmt::format("input '{}' must be known while compiling", name.str()),
       {{true,
         "make it a constant of the model, or fix the sizes it is computed from with --shape"}});
}

void NodeBuilder::requireList(Tensor t, StringRef name) {
  if (t.rank() > 1) error("input '{}' is {}; expected at most rank 1", name.str(), typeText(t));
}

std::vector<Size> NodeBuilder::asSizes(Tensor t, StringRef name) {
  requireList(t, name);
  if (auto known = knownSizes(*this, t)) return *known;
  auto type = mlir::cast<RankedTensorType>(t.value.getType());
  int64_t count = 1;
  if (type.getRank() == 1) {
    if (type.isDynamicDim(0))
      fail(fmt::format("input '{}' gives a shape whose rank is not known while compiling",
                       name.str()),
           {{true, "fix its length with --shape"}});
    count = type.getDimSize(0);
  }
  // read back at run time
  std::vector<Size> r;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> at;
    if (type.getRank() == 1) at.push_back(b.create<arith::ConstantIndexOp>(loc, i));
    Value v = b.create<tensor::ExtractOp>(loc, t.value, at);
    r.push_back({this, toIndex({this, v, !isSignedInteger(t.dtype)}).v});
  }
  return r;
}

Size NodeBuilder::asSize(Tensor t, StringRef name) {
  std::vector<Size> all = asSizes(t, name);
  if (all.size() != 1) error("input '{}' has {} elements; expected 1", name.str(), all.size());
  return all[0];
}

int64_t NodeBuilder::requireInt(Tensor t, StringRef name) {
  std::vector<int64_t> all = requireInts(t, name);
  if (all.size() != 1) error("input '{}' has {} elements; expected 1", name.str(), all.size());
  return all[0];
}

// ---- registry ----

static std::map<std::pair<std::string, std::string>, OpDefinition>& table() {
  static std::map<std::pair<std::string, std::string>, OpDefinition> t;
  return t;
}
bool OpRegistry::add(OpDefinition d) {
  auto key = std::pair(d.domain, d.name);
  return table().emplace(key, std::move(d)).second;
}
const OpDefinition* OpRegistry::find(StringRef domain, StringRef name) {
  auto it = table().find({domain.str(), name.str()});
  return it == table().end() ? nullptr : &it->second;
}
std::vector<const OpDefinition*> OpRegistry::all() {
  std::vector<const OpDefinition*> r;
  for (auto& [key, d] : table())
    r.push_back(&d);
  return r;
}

} // namespace ortc::opdef
