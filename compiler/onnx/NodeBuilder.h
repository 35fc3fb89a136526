// SPDX-License-Identifier: Apache-2.0
// The language that op definitions are written in: reads one ONNX node, checks it, and builds
// tensor IR for it.
//
//   // HardSwish: x * max(0, min(1, x/6 + 1/2))
//   ORTC_ONNX_OP("HardSwish", since(14, 22)) {
//     Tensor x = n.input(0, "X", floating);
//     n.output(0, n.map(x, [](Scalar v) { return v * clamp(v / 6.0 + 0.5, 0.0, 1.0); }));
//   }
//
// Nothing here, and nothing in a definition, mentions a target. Errors are thrown as NodeError and
// become a diagnostic at the node; definitions need not clean up. Callbacks never run inside of
// MLIR's own frames.
#pragma once
#include "compiler/import/Model.h"
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include "compiler/support/DType.h"
#include "compiler/support/Diagnostics.h"
#include <initializer_list>

namespace ortc::opdef {

using onnx::Attribute;
using onnx::AttributeType;
using onnx::Graph;
using onnx::Node;
using onnx::TensorData;

class NodeBuilder;

/// A set of element types, for checking inputs.
struct TypeSet {
  uint64_t bits;
  const char* text;   // "a floating-point type"
  bool lists = false; // lists and maps, too
  bool has(DType t) const { return bits >> static_cast<unsigned>(t) & 1; }
};
extern const TypeSet anyType /* any tensor */, anyValue /* lists and maps, too */, floating,
    integer, signedInteger, numeric, boolean, indexInteger /* i32, i64 */, stringType;
TypeSet oneOf(std::initializer_list<DType> types);

/// A value with its ONNX element type (MLIR's integers have no sign). `value` may also be of a list
/// or map type. Sequences whose length is known while compiling are no values at all, but a list of
/// tensors.
struct Tensor {
  mlir::Value value;
  DType dtype = DType::Undefined;
  std::shared_ptr<const std::vector<Tensor>> elements = nullptr;
  enum class Form : uint8_t {
    Plain,
    Absent,  ///< an optional without a value
    Growing, ///< inside of a loop: what this turn has put behind a sequence (`elements`)
    Stacked, ///< a sequence of tensors of one shape, `value` is all of them along a new first dim
  } form = Form::Plain;
  explicit operator bool() const { return value || elements || absent(); }
  bool absent() const { return form == Form::Absent; }
  bool isSequence() const { return elements || form == Form::Stacked; }
  bool isTensor() const {
    return value && form == Form::Plain && mlir::isa<mlir::RankedTensorType>(value.getType());
  }
  int64_t rank() const { return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank(); }
  mlir::Type elementType() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  }
};

/// A size: a constant, or an index value. Arithmetic folds; what exceeds 64 bits is an error at the
/// node.
struct Size {
  NodeBuilder* n = nullptr;
  mlir::OpFoldResult v;
  std::optional<int64_t> constant() const { return constantSize(v); }
  bool is(int64_t c) const { return constant() == c; }
};
Size operator+(Size, Size);
Size operator-(Size, Size);
Size operator*(Size, Size);
Size operator/(Size, Size); // floor
Size ceilDiv(Size, Size);
Size max(Size, Size);
Size min(Size, Size);
bool same(Size, Size); // proven equal

/// A scalar in the body of a map, with its sign. Literals take the type of the other operand;
/// comparisons give bool.
struct Scalar {
  NodeBuilder* n = nullptr;
  mlir::Value v;
  bool isUnsigned = false;
  mlir::Type type() const { return v.getType(); }
};
#define ORTC_SCALAR_BINARY(name)                                                                   \
  Scalar name(Scalar, Scalar);                                                                     \
  Scalar name(Scalar, double);                                                                     \
  Scalar name(double, Scalar);
ORTC_SCALAR_BINARY(operator+)
ORTC_SCALAR_BINARY(operator-)
ORTC_SCALAR_BINARY(operator*)
ORTC_SCALAR_BINARY(operator/) // integers: towards zero
ORTC_SCALAR_BINARY(rem)       // sign of the dividend, as C
ORTC_SCALAR_BINARY(floorMod)  // sign of the divisor, as Python
ORTC_SCALAR_BINARY(max)       // a NaN wins
ORTC_SCALAR_BINARY(min)
ORTC_SCALAR_BINARY(pow)
ORTC_SCALAR_BINARY(operator<)
ORTC_SCALAR_BINARY(operator<=)
ORTC_SCALAR_BINARY(operator>)
ORTC_SCALAR_BINARY(operator>=)
ORTC_SCALAR_BINARY(equal) // false for NaN
ORTC_SCALAR_BINARY(notEqual)
ORTC_SCALAR_BINARY(bitAnd)
ORTC_SCALAR_BINARY(bitOr)
ORTC_SCALAR_BINARY(bitXor)
#undef ORTC_SCALAR_BINARY
Scalar operator-(Scalar);
Scalar operator!(Scalar); // bool
Scalar select(Scalar condition, Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar a, double b);
Scalar select(Scalar condition, double a, Scalar b);
Scalar clamp(Scalar v, double low, double high); // NaN stays NaN
Scalar exp(Scalar), log(Scalar), log1p(Scalar), expm1(Scalar), sqrt(Scalar), tanh(Scalar),
    erf(Scalar), abs(Scalar), floor(Scalar), ceil(Scalar), roundEven(Scalar), sin(Scalar),
    cos(Scalar), tan(Scalar), asin(Scalar), acos(Scalar), atan(Scalar), sinh(Scalar), cosh(Scalar),
    asinh(Scalar), acosh(Scalar), atanh(Scalar), trunc(Scalar);
Scalar isNaN(Scalar), isInf(Scalar);
Scalar sigmoid(Scalar); // 1 / (1 + exp(-x)), without overflow

/// A sequence that a loop makes longer is used for something else, too. Thrown inside of the body.
struct SequenceError {};

/// Thrown by definitions, caught by the importer.
struct NodeError {
  std::string message;
  std::vector<Diagnostic::Line> lines;
};

/// What a definition needs of the importer.
class GraphImporter {
public:
  virtual ~GraphImporter() = default;
  /// Imports a subgraph (of If, Loop, Scan) at the builder's insertion point; names of the outer
  /// graph are visible.
  virtual std::vector<Tensor> importSubgraph(const Graph& graph,
                                             llvm::ArrayRef<Tensor> arguments) = 0;
  /// The branches of an If. One that is an error of the model is left out: the run checks that it
  /// is not taken. May throw BranchRankError.
  virtual std::vector<Tensor> importBranches(const Node& node, mlir::Value condition) = 0;
  /// A simpler value for what was just built: constants folded, small integer tensors made scalar.
  virtual mlir::Value simplify(mlir::Value built) = 0;
  /// Tells the user something of a node that is right and may surprise.
  virtual void warn(const Node& node, const std::string& message) = 0;
};

/// A result of NodeBuilder::serial while its code is written.
struct Out {
  NodeBuilder* n = nullptr;
  mlir::Value memory;
  DType dtype = DType::Undefined;
  Scalar load(llvm::ArrayRef<Scalar> indices) const;
  void store(llvm::ArrayRef<Scalar> indices, Scalar value) const;
};

class NodeBuilder {
public:
  NodeBuilder(const Node& node, mlir::OpBuilder& b, mlir::Location loc, GraphImporter& graph,
              std::vector<Tensor> inputs);

  const Node& node;
  mlir::OpBuilder& b;
  mlir::Location loc;
  GraphImporter& graph;
  int64_t opset; // version of the node's domain

  // ---- attributes; wrong types are reported ----
  bool hasAttr(llvm::StringRef name) const {
    return node.attribute(std::string_view(name)) != nullptr;
  }
  int64_t intAttr(llvm::StringRef name, std::optional<int64_t> otherwise = std::nullopt);
  /// An int that means no or yes: 0 or 1, others are an error.
  bool flagAttr(llvm::StringRef name, bool otherwise);
  double floatAttr(llvm::StringRef name, std::optional<double> otherwise = std::nullopt);
  std::string stringAttr(llvm::StringRef name, std::optional<std::string> otherwise = std::nullopt);
  std::vector<int64_t> intsAttr(llvm::StringRef name,
                                std::optional<std::vector<int64_t>> otherwise = std::nullopt);
  std::vector<float> floatsAttr(llvm::StringRef name,
                                std::optional<std::vector<float>> otherwise = std::nullopt);
  std::vector<std::string>
  stringsAttr(llvm::StringRef name,
              std::optional<std::vector<std::string>> otherwise = std::nullopt);
  const TensorData& tensorAttr(llvm::StringRef name);
  const Graph& graphAttr(llvm::StringRef name);

  // ---- inputs and outputs ----
  size_t numInputs() const { return inputs.size(); }
  size_t numOutputs() const { return node.outputs.size(); }
  bool hasInput(size_t i) const { return i < inputs.size() && inputs[i]; }
  bool wantsOutput(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  /// Input i, which the specification calls `name`; an error when it is absent or of another type.
  Tensor input(size_t i, llvm::StringRef name, TypeSet types = anyType);
  /// The same for an optional input: no value when absent.
  Tensor optionalInput(size_t i, llvm::StringRef name, TypeSet types = anyType);
  /// Input i of any kind: a sequence, an optional, a map.
  Tensor anyInput(size_t i, llvm::StringRef name);
  /// The elements of a sequence whose length is known while compiling.
  const std::vector<Tensor>& sequenceInput(size_t i, llvm::StringRef name);
  static Tensor sequence(std::vector<Tensor> elements, DType dtype) {
    return {{}, dtype, std::make_shared<const std::vector<Tensor>>(std::move(elements))};
  }
  void output(size_t i, Tensor value);
  std::vector<Tensor> takeOutputs() { return std::move(outputs); }

  // ---- errors ----
  [[noreturn]] void fail(std::string message, std::vector<Diagnostic::Line> lines = {});
  template <typename... T> [[noreturn]] void error(fmt::format_string<T...> format, T&&... args) {
    fail(fmt::format(format, std::forward<T>(args)...));
  }
  void check(bool ok, llvm::StringRef message) {
    if (!ok) fail(message.str());
  }
  /// "f32[batch,3,224,224]"
  std::string typeText(Tensor t);

  // ---- sizes ----
  Size size(int64_t constant) { return {this, b.getIndexAttr(constant)}; }
  Size size(mlir::OpFoldResult v) { return {this, v}; }
  std::vector<Size> sizes(Tensor t);
  Size size(Tensor t, int64_t dim); // an error when the rank is too small
  /// An axis attribute made non-negative; an error when it is out of range of [-rank, rank).
  int64_t axis(int64_t value, int64_t rank, llvm::StringRef name = "axis");
  std::vector<int64_t> axes(llvm::ArrayRef<int64_t> values, int64_t rank,
                            llvm::StringRef name = "axes");

  // What sizes must be, for what is built to make sense: an error when they are known not to be, a
  // check of the run when that is not known. `what` says what the model has done: "the inputs
  // differ on axis 1".
  void requireEqual(Size x, Size y, llvm::StringRef what);
  void requireNonNegative(Size x, llvm::StringRef what);
  /// No size is negative, and all together are no more than a machine can have. What is built has
  /// been checked; a table of as many elements is made after it.
  void requirePossible(llvm::ArrayRef<Size> shape);
  /// Input `name` has this shape.
  void requireShape(Tensor t, llvm::ArrayRef<Size> shape, llvm::StringRef name);
  /// It broadcasts to this shape, and not the shape to it. [ONNX unidirectional broadcasting]
  void requireBroadcast(Tensor t, llvm::ArrayRef<Size> shape, llvm::StringRef name);
  /// Indices into a dim of `extent` elements, which may count from the end (`negative`): the same
  /// for all elements of a tensor. `name` is that of the input.
  void requireIndices(Tensor indices, Size extent, llvm::StringRef name, bool negative = true);

  // ---- values that are known while compiling ----
  /// The elements of a small constant integer tensor.
  std::optional<std::vector<int64_t>> constantInts(Tensor t);
  /// The same; when it is not constant, an error that says so for the input called `name`.
  std::vector<int64_t> requireInts(Tensor t, llvm::StringRef name);
  /// A list, or a scalar that stands for a list of one.
  void requireList(Tensor t, llvm::StringRef name);
  std::optional<HostTensor> constantTensor(Tensor t);
  /// The elements of a 1-D integer tensor of static length as sizes: constants, sums of dims, or
  /// read at run time.
  std::vector<Size> asSizes(Tensor t, llvm::StringRef name);
  /// The one element of a tensor, which may be a scalar or a list; any other count is an error.
  Size asSize(Tensor t, llvm::StringRef name);
  int64_t requireInt(Tensor t, llvm::StringRef name);

  // ---- building: constants ----
  Tensor constant(const HostTensor& value, DType dtype);
  Tensor constant(const TensorData& data);
  Tensor ints(llvm::ArrayRef<int64_t> values, DType dtype = DType::I64); // 1-D
  Tensor fromSizes(llvm::ArrayRef<Size> sizes,
                   DType dtype = DType::I64); // 1-D, tensor.from_elements
  Tensor scalarOf(double value, DType dtype); // rank 0
  Tensor scalarOf(Size size, DType dtype = DType::I64);
  mlir::Type typeOf(DType dtype); // element type

  // ---- building: maps ----
  using Body = llvm::function_ref<Scalar(llvm::ArrayRef<Scalar>)>;
  /// Elementwise over tensors that are broadcast to each other as numpy does. [ONNX Broadcasting]
  Tensor map(llvm::ArrayRef<Tensor> xs, DType result, Body body);
  Tensor map(Tensor x, llvm::function_ref<Scalar(Scalar)> body); // same type
  Tensor map(Tensor x, DType result, llvm::function_ref<Scalar(Scalar)> body);
  Tensor map(Tensor x, Tensor y, llvm::function_ref<Scalar(Scalar, Scalar)> body); // type of x
  Tensor map(Tensor x, Tensor y, DType result, llvm::function_ref<Scalar(Scalar, Scalar)> body);
  /// Element by element from its indices (of type index); the body reads other tensors with `at`.
  Tensor generate(llvm::ArrayRef<Size> shape, DType result, Body body);
  /// The same with a sum or another fold over `window`: body(indices of the output and then of the
  /// window, carried).
  Tensor
  generateReduce(llvm::ArrayRef<Size> shape, llvm::ArrayRef<Size> window, DType result, double init,
                 llvm::function_ref<Scalar(llvm::ArrayRef<Scalar> indices, Scalar carried)> body);
  /// Folds `axes` of x (removed, or kept as 1): body(carried, element). `init` may be an infinity.
  Tensor reduce(Tensor x, llvm::ArrayRef<int64_t> axes, bool keepDims, double init,
                llvm::function_ref<Scalar(Scalar carried, Scalar element)> body);

  // ---- building: inside a body ----
  /// t[indices]. Where an index is a counter of the loops around, and is read with in any case, t
  /// must be as large as it counts: an error when it is known not to be, else a check of the run.
  Scalar at(Tensor t, llvm::ArrayRef<Scalar> indices);
  /// t[indices] where `inside` holds, else `otherwise`; t is not read there.
  Scalar atOr(Tensor t, llvm::ArrayRef<Scalar> indices, Scalar inside, double otherwise);
  Scalar literal(double value, mlir::Type type, bool isUnsigned = false);
  Scalar literal(double value, Scalar like) { return literal(value, like.type(), like.isUnsigned); }
  Scalar index(int64_t value) { return literal(static_cast<double>(value), b.getIndexType()); }
  Scalar index(Size s) { return {this, sizeValue(b, loc, s.v), false}; }
  /// Converts as ONNX Cast does: floats to integers towards zero, saturating, NaN to 0; to bool: is
  /// not zero.
  Scalar cast(Scalar v, DType to);
  /// Floats that the IR has no type for are kept as codes, integers of their width: what such a
  /// code stands for, in f32, and the code of a number (beyond the largest one that, or, unless
  /// `saturate`, NaN where there is one). `Rounding` is that of f8e8m0.
  enum class Rounding : uint8_t { Up, Down, Nearest };
  static bool isCoded(DType t) { return t == DType::F4E2M1 || t == DType::F8E8M0; }
  Scalar decoded(Scalar code, DType from);
  Scalar encoded(Scalar v, DType to, bool saturate = true, Rounding rounding = Rounding::Up);
  Scalar toIndex(Scalar v); // from any integer
  Scalar fromIndex(Scalar v, DType to);
  Scalar ifElse(Scalar condition, llvm::function_ref<Scalar()> then,
                llvm::function_ref<Scalar()> otherwise);

  // ---- building: code that writes (Serial.cpp) ----
  struct OutType {
    std::vector<Size> shape;
    DType dtype;
  };
  /// Scalar code that stores its results at places that it computes: it runs once for each index
  /// of `outer`, in no order, and each index writes and loads elements of its own (ortc.serial).
  std::vector<Tensor>
  serial(llvm::ArrayRef<Size> outer, llvm::ArrayRef<OutType> results,
         llvm::function_ref<void(llvm::ArrayRef<Scalar> indices, llvm::ArrayRef<Out> out)> body);
  using Scalars = std::vector<Scalar>;
  /// body(i) for i in [from, to), in order.
  void repeat(Scalar from, Scalar to, llvm::function_ref<void(Scalar)> body);
  /// The same with carried values, of which it gives the last.
  Scalars repeat(Scalar from, Scalar to, Scalars carried,
                 llvm::function_ref<Scalars(Scalar, llvm::ArrayRef<Scalar>)> body);
  /// carried = body(carried) while condition(carried).
  Scalars whileTrue(Scalars carried, llvm::function_ref<Scalar(llvm::ArrayRef<Scalar>)> condition,
                    llvm::function_ref<Scalars(llvm::ArrayRef<Scalar>)> body);
  void ifThen(Scalar condition, llvm::function_ref<void()> body);

  // ---- building: structure ----
  Tensor reshape(Tensor x, llvm::ArrayRef<Size> shape);
  Tensor transpose(Tensor x, llvm::ArrayRef<int64_t> permutation);
  Tensor broadcastTo(Tensor x, llvm::ArrayRef<Size> shape);
  Tensor concat(llvm::ArrayRef<Tensor> xs, int64_t axis);
  Tensor slice(Tensor x, llvm::ArrayRef<Size> starts, llvm::ArrayRef<Size> sizes,
               llvm::ArrayRef<int64_t> steps = {}); // steps > 0
  Tensor castTo(Tensor x, DType to);
  /// y = sum over the loops that only lhs and rhs have: "mk,kn->mn".
  Tensor contract(Tensor lhs, Tensor rhs, llvm::StringRef equation,
                  std::optional<DType> result = std::nullopt);
  /// ONNX MatMul: numpy's, batch dims broadcast.
  Tensor matmul(Tensor a, Tensor b, std::optional<DType> result = std::nullopt);
  /// NCHW convolution with explicit pads (begins, then ends).
  Tensor conv(Tensor x, Tensor w, llvm::ArrayRef<int64_t> strides,
              llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> pads, int64_t group,
              std::optional<DType> result = std::nullopt);
  /// Common shape by numpy's rules; an error naming both shapes when there is none.
  std::vector<Size> broadcastShapes(llvm::ArrayRef<Tensor> xs);
  Size broadcastSize(Size x, Size y);
  mlir::Value empty(llvm::ArrayRef<Size> shape, mlir::Type elementType);
  /// Wraps what was built, simplified.
  Tensor made(mlir::Value value, DType dtype);

private:
  void requireSameCount(llvm::ArrayRef<Size> from, llvm::ArrayRef<Size> to);
  void requireSizeOrOne(Size have, Size want, llvm::StringRef what);
  void requireWithin(Tensor t, int64_t dim, mlir::Value index);
  void requireThat(Scalar condition, llvm::StringRef what, bool ofData = false);
  std::string inputsText();
  std::vector<Tensor> inputs, outputs;
};

/// Marks the versions in which an operator's definition changed, all of which the definition
/// serves.
struct Since {
  std::vector<int64_t> versions;
};
template <typename... T> Since since(T... versions) {
  return {{static_cast<int64_t>(versions)...}};
}

struct OpDefinition {
  std::string domain, name;
  std::vector<int64_t> versions; // ascending
  void (*build)(NodeBuilder&);
};
/// All definitions that are linked in, by domain and name.
class OpRegistry {
public:
  static const OpDefinition* find(llvm::StringRef domain, llvm::StringRef name);
  static std::vector<const OpDefinition*> all();
  static bool add(OpDefinition definition);
};

#define ORTC_ONNX_CONCAT_(a, b) a##b
#define ORTC_ONNX_CONCAT(a, b) ORTC_ONNX_CONCAT_(a, b)
#define ORTC_ONNX_OP_IN_(domain, name, changes, id)                                                \
  static void ORTC_ONNX_CONCAT(build, id)(::ortc::opdef::NodeBuilder&);                            \
  [[maybe_unused]] static const bool ORTC_ONNX_CONCAT(registered, id) =                            \
      ::ortc::opdef::OpRegistry::add(                                                              \
          {domain, name, ::ortc::opdef::changes.versions, ORTC_ONNX_CONCAT(build, id)});           \
  static void ORTC_ONNX_CONCAT(build, id)(::ortc::opdef::NodeBuilder & n)
/// Defines an operator of ai.onnx: `ORTC_ONNX_OP("Relu", since(1, 6, 13, 14)) { ... n ... }`.
#define ORTC_ONNX_OP(name, versions) ORTC_ONNX_OP_IN_("", name, versions, __COUNTER__)
#define ORTC_ONNX_OP_IN(domain, name, versions)                                                    \
  ORTC_ONNX_OP_IN_(domain, name, versions, __COUNTER__)

} // namespace ortc::opdef
