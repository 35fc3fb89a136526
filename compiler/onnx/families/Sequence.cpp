// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals. Their lengths are known while compiling, so that they vanish here: what
// goes on is their tensors.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// A position in a sequence of `length`, negative ones from the end; `end` is allowed for
/// insertion.
static int64_t position(NodeBuilder& n, Tensor t, int64_t length, bool end) {
  std::vector<int64_t> v = n.requireInts(t, "position");
  if (v.size() != 1) n.error("'position' must have one element");
  int64_t p = v[0] < 0 ? v[0] + length : v[0];
  if (p < 0 || p > length - !end)
    n.error("'position' is {}, but the sequence has {} elements", v[0], length);
  return p;
}

/// All elements of a stacked sequence as one tensor.
static Tensor plain(Tensor s) {
  s.form = Tensor::Form::Plain;
  return s;
}

/// Element p of tensors along the first dim of `rows`; positions that are data stay inside.
static Tensor rowAt(NodeBuilder& n, Tensor rows, Tensor position) {
  std::vector<Size> starts(rows.rank(), n.size(0)), sizes = n.sizes(rows),
                                                    shape(sizes.begin() + 1, sizes.end());
  Size length = sizes[0], p = n.asSize(position, "position");
  p = selectSize(n, n.index(p) < 0.0, p + length, p);
  starts[0] = min(nonNegative(p), length - n.size(1)), sizes[0] = n.size(1);
  return n.reshape(n.slice(rows, starts, sizes), shape);
}

ORTC_ONNX_OP("SequenceEmpty", since(11)) {
  auto type = dtypeFromOnnx(n.intAttr("dtype", 1));
  if (!type) n.error("'dtype' is {}, which is no element type", n.intAttr("dtype"));
  n.output(0, NodeBuilder::sequence({}, *type));
}

ORTC_ONNX_OP("SequenceConstruct", since(11)) {
  std::vector<Tensor> all;
  for (size_t i = 0; i < std::max<size_t>(n.numInputs(), 1); ++i)
    all.push_back(n.input(i, "inputs"));
  for (const Tensor& t : all)
    if (t.dtype != all[0].dtype)
      n.error("elements of types {} and {} in one sequence", dtypeName(all[0].dtype),
              dtypeName(t.dtype));
  DType type = all[0].dtype;
  n.output(0, NodeBuilder::sequence(std::move(all), type));
}

ORTC_ONNX_OP("SequenceInsert", since(11)) {
  // In a loop that puts tensors behind a sequence, they are rows of the loop.
  if (Tensor s = n.anyInput(0, "input_sequence"); s.form == Tensor::Form::Growing) {
    if (n.hasInput(2)) throw SequenceError();
    std::vector<Tensor> more = *s.elements;
    more.push_back(n.input(1, "tensor"));
    s.dtype = more.back().dtype;
    s.elements = std::make_shared<const std::vector<Tensor>>(std::move(more));
    return n.output(0, s);
  }
  std::vector<Tensor> all = n.sequenceInput(0, "input_sequence");
  Tensor t = n.input(1, "tensor"), at = n.optionalInput(2, "position", indexInteger);
  auto length = static_cast<int64_t>(all.size());
  all.insert(all.begin() + (at ? position(n, at, length, /*end=*/true) : length), t);
  n.output(0, NodeBuilder::sequence(std::move(all), t.dtype));
}

ORTC_ONNX_OP("SequenceErase", since(11)) {
  std::vector<Tensor> all = n.sequenceInput(0, "input_sequence");
  Tensor at = n.optionalInput(1, "position", indexInteger);
  auto length = static_cast<int64_t>(all.size());
  if (!length) n.error("the sequence is empty");
  DType type = all[0].dtype;
  all.erase(all.begin() + (at ? position(n, at, length, /*end=*/false) : length - 1));
  n.output(0, NodeBuilder::sequence(std::move(all), type));
}

ORTC_ONNX_OP("SequenceLength", since(11)) {
  if (Tensor s = n.anyInput(0, "input_sequence"); s.form == Tensor::Form::Stacked)
    return n.output(0, n.scalarOf(n.size(plain(s), 0)));
  n.output(0,
           n.scalarOf(n.size(static_cast<int64_t>(n.sequenceInput(0, "input_sequence").size()))));
}

/// All elements behind each other along a new first axis.
static Tensor stacked(NodeBuilder& n, ArrayRef<Tensor> all, int64_t axis) {
  std::vector<Tensor> rows;
  for (Tensor t : all) {
    std::vector<Size> shape = n.sizes(t);
    shape.insert(shape.begin() + axis, n.size(1));
    rows.push_back(n.reshape(t, shape));
  }
  return n.concat(rows, axis);
}

ORTC_ONNX_OP("SequenceAt", since(11)) {
  if (Tensor s = n.anyInput(0, "input_sequence"); s.form == Tensor::Form::Stacked)
    return n.output(0, rowAt(n, plain(s), n.input(1, "position", indexInteger)));
  const std::vector<Tensor>& all = n.sequenceInput(0, "input_sequence");
  Tensor at = n.input(1, "position", indexInteger);
  auto length = static_cast<int64_t>(all.size());
  if (n.constantInts(at)) return n.output(0, all[position(n, at, length, /*end=*/false)]);
  if (all.empty()) n.error("the sequence is empty");
  // The position is data: one of equal tensors.
  for (const Tensor& t : all)
    if (t.value.getType() != all[0].value.getType())
      n.error("'position' is not known while compiling, and the elements differ: {} and {}",
              n.typeText(all[0]), n.typeText(t));
  n.output(0, rowAt(n, stacked(n, all, 0), at));
}

ORTC_ONNX_OP("SplitToSequence", since(11, 24)) {
  Tensor x = n.input(0, "input"), given = n.optionalInput(1, "split", indexInteger);
  int64_t axis = n.axis(n.intAttr("axis", 0), x.rank());
  Size extent = n.size(x, axis);
  std::vector<int64_t> parts;
  bool dropAxis = !given && !n.flagAttr("keepdims", true);
  if (given && given.rank() == 1)
    parts = n.requireInts(given, "split");
  else {
    if (!extent.constant())
      n.fail(fmt::format("axis {} has a size that is not known while compiling, so that the length "
                         "of the sequence is not",
                         axis),
             {{true, "fix it with --shape"}});
    int64_t each = given ? n.requireInt(given, "split") : 1;
    if (each < 1) n.error("'split' is {}", each);
    for (int64_t at = 0; at < *extent.constant(); at += each)
      parts.push_back(std::min(each, *extent.constant() - at));
  }
  std::vector<Size> starts(x.rank(), n.size(0)), sizes = n.sizes(x);
  std::vector<Tensor> all;
  int64_t at = 0;
  for (int64_t p : parts) {
    if (p < 0) n.error("'split' holds {}", p);
    starts[axis] = n.size(at), sizes[axis] = n.size(p);
    at += p;
    Tensor part = n.slice(x, starts, sizes);
    if (dropAxis) {
      std::vector<Size> shape = sizes;
      shape.erase(shape.begin() + axis);
      part = n.reshape(part, shape);
    }
    all.push_back(part);
  }
  if (extent.constant() && at != *extent.constant())
    n.error("'split' adds up to {}, but axis {} is {}", at, axis, *extent.constant());
  n.output(0, NodeBuilder::sequence(std::move(all), x.dtype));
}

ORTC_ONNX_OP("ConcatFromSequence", since(11)) {
  if (Tensor s = n.anyInput(0, "input_sequence"); s.form == Tensor::Form::Stacked) {
    Tensor rows = plain(s);
    bool isNew = n.flagAttr("new_axis", false);
    int64_t axis = n.axis(n.intAttr("axis"), rows.rank() - 1 + isNew);
    // The new dim goes to the axis, and is one with it unless it stays.
    std::vector<int64_t> order;
    for (int64_t d = 1; d < rows.rank(); ++d)
      order.push_back(d);
    order.insert(order.begin() + axis, 0);
    Tensor y = n.transpose(rows, order);
    if (!isNew) {
      std::vector<Size> shape = n.sizes(y);
      shape[axis] = shape[axis] * shape[axis + 1];
      shape.erase(shape.begin() + axis + 1);
      y = n.reshape(y, shape);
    }
    return n.output(0, y);
  }
  const std::vector<Tensor>& all = n.sequenceInput(0, "input_sequence");
  if (all.empty()) n.error("the sequence is empty");
  bool isNew = n.flagAttr("new_axis", false);
  int64_t axis = n.axis(n.intAttr("axis"), all[0].rank() + isNew);
  n.output(0, isNew ? stacked(n, all, axis) : n.concat(all, axis));
}

// The body for each element; other inputs are sequences of the same length, or tensors that every
// call sees.
ORTC_ONNX_OP("SequenceMap", since(17)) {
  const Graph& body = n.graphAttr("body");
  const std::vector<Tensor>& first = n.sequenceInput(0, "input_sequence");
  std::vector<std::vector<Tensor>> results(n.numOutputs());
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<Tensor> arguments{first[k]};
    for (size_t i = 1; i < n.numInputs(); ++i) {
      Tensor more = n.anyInput(i, "additional_inputs");
      if (more.elements && more.elements->size() != first.size())
        n.error("sequences of {} and {} elements", first.size(), more.elements->size());
      arguments.push_back(more.elements ? (*more.elements)[k] : more);
    }
    std::vector<Tensor> out = n.graph.importSubgraph(body, arguments);
    if (out.size() != results.size())
      n.error("the body has {} outputs; expected {}", out.size(), results.size());
    for (auto [list, t] : llvm::zip(results, out))
      list.push_back(t);
  }
  for (auto [i, list] : llvm::enumerate(results)) {
    DType type = list.empty() ? DType::F32 : list[0].dtype;
    n.output(i, NodeBuilder::sequence(std::move(list), type));
  }
}

// An optional that holds something is what it holds.
ORTC_ONNX_OP("Optional", since(15, 28)) {
  if (n.hasInput(0)) return n.output(0, n.anyInput(0, "input"));
  Tensor none;
  none.form = Tensor::Form::Absent;
  n.output(0, none);
}
ORTC_ONNX_OP("OptionalHasElement", since(15, 18, 28)) {
  bool has = n.hasInput(0) && !n.anyInput(0, "input").absent();
  n.output(0, n.scalarOf(has ? 1.0 : 0.0, DType::Bool));
}
ORTC_ONNX_OP("OptionalGetElement", since(15, 18, 28)) {
  Tensor t = n.anyInput(0, "input");
  if (t.absent()) n.error("the optional has no value");
  n.output(0, t);
}

} // namespace ortc::opdef
