// SPDX-License-Identifier: Apache-2.0
// Loop and Scan: one loop whose body is built once, also when what it carries grows
// (GrowingLoop.h). What cannot be one loop (sequences, tensors that change otherwise) is written
// turn by turn when the number of turns is known; so are few turns of what grows.
#include "compiler/onnx/ControlFlow.h"
#include "compiler/onnx/families/Common.h"
#include "compiler/onnx/families/GrowingLoop.h"

using namespace mlir;

namespace ortc::opdef {

/// Nodes that one loop may be written out as.
constexpr int64_t unrollBudget = 20000;

/// What a body's graph says of the sizes of its outputs from number `first` on.
static std::vector<std::vector<std::optional<int64_t>>> declaredRows(const Graph& body,
                                                                     size_t first) {
  std::vector<std::vector<std::optional<int64_t>>> all;
  for (size_t i = first; i < body.outputs.size(); ++i) {
    all.emplace_back();
    if (body.outputs[i].type.shape)
      for (const onnx::Dim& d : *body.outputs[i].type.shape)
        all.back().push_back(d.value);
  }
  return all;
}

static int64_t nodesOf(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes) {
    ++count;
    for (const onnx::Attribute& a : node.attributes)
      for (const auto& g : a.graphs)
        count += nodesOf(*g);
  }
  return std::max<int64_t>(count, 1);
}

/// Turns of a loop whose values grow that are always written out: sizes are constants then.
constexpr int64_t fewTurns = 16;

/// A loop, or its turns one after the other.
static LoopResult loopOrTurns(NodeBuilder& n, const Graph& graph, const LoopLimits& limits,
                              ArrayRef<Tensor> inits,
                              llvm::function_ref<Turn(Size, ArrayRef<Tensor>)> body) {
  try {
    return buildLoop(n, limits, inits, body);
  } catch (LoopShapeError& e) {
    auto turns = limits.turns ? limits.turns->constant() : std::nullopt;
    bool many = limits.turns && (!turns || (*turns > fewTurns && *turns <= INT32_MAX));
    if (!e.growth.empty() && many) {
      try {
        return buildGrowingLoop(n, limits, inits, e.growth, body);
      } catch (LoopShapeError& other) {
        e.detail = other.detail;
      }
    }
    if (!turns)
      n.fail(e.detail + ", and the number of turns is not known while compiling",
             {{true, "make the trip count a constant, or fix the sizes it is computed from with "
                     "--shape"}});
    if (*turns > unrollBudget / nodesOf(graph))
      n.error("{}, and {} turns of {} nodes are too many to be written out", e.detail, *turns,
              nodesOf(graph));
    return unrollLoop(n, *turns, limits, inits, body);
  }
}

/// The only element of a tensor of one element, as a scalar.
static Scalar onlyElement(NodeBuilder& n, Tensor t) {
  for (Size s : n.sizes(t))
    if (s.constant() && !s.is(1)) n.error("{} where one element is expected", n.typeText(t));
  if (auto c = n.constantTensor(t); c && c->size() == 1)
    return n.literal(c->getDouble(0), t.elementType(), t.dtype == DType::Bool);
  if (auto elements = t.value.getDefiningOp<tensor::FromElementsOp>())
    return {&n, elements.getElements()[0], t.dtype == DType::Bool};
  SmallVector<Scalar> at(t.rank(), n.index(0));
  return n.at(t, at);
}

ORTC_ONNX_OP("Loop", since(1, 11, 13, 16, 19, 21, 23, 24, 25)) {
  const Graph& body = n.graphAttr("body");
  LoopLimits limits;
  if (Tensor m = n.optionalInput(0, "M", oneOf({DType::I64}))) {
    std::vector<Size> v = n.asSizes(m, "M");
    if (v.size() != 1) n.error("'M' must have one element");
    // Exporters write the largest number where there is no limit.
    if (!v[0].constant() || *v[0].constant() < INT64_MAX) limits.turns = nonNegative(v[0]);
  }
  if (Tensor cond = n.optionalInput(1, "cond", boolean)) {
    Scalar c = onlyElement(n, cond);
    auto known = getConstantIntValue(c.v);
    if (known && !*known) limits.turns = n.size(0);
    if (!known && limits.turns) limits.turns = selectSize(n, c, *limits.turns, n.size(0));
    if (!known && !limits.turns) limits.enters = c.v;
  }
  std::vector<Tensor> inits;
  for (size_t i = 2; i < n.numInputs(); ++i)
    inits.push_back(n.anyInput(i, "v_initial"));
  size_t carried = inits.size();
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    n.error("the body has {} inputs and {} outputs; expected {}, and at least {}",
            body.inputs.size(), body.outputs.size(), carried + 2, carried + 1);
  limits.declared = declaredRows(body, carried + 1);
  auto turn = [&](Size i, ArrayRef<Tensor> now) {
    // While the body runs its condition holds.
    std::vector<Tensor> arguments{n.scalarOf(i), n.scalarOf(1.0, DType::Bool)};
    arguments.insert(arguments.end(), now.begin(), now.end());
    std::vector<Tensor> out = n.graph.importSubgraph(body, arguments);
    Turn t;
    t.again = onlyElement(n, out[0]).v;
    if (getConstantIntValue(t.again).value_or(0) != 0) t.again = {};
    t.carried.assign(out.begin() + 1, out.begin() + 1 + static_cast<long>(carried));
    t.rows.assign(out.begin() + 1 + static_cast<long>(carried), out.end());
    return t;
  };
  // Sequences that begin empty, and get one tensor more behind their end in each turn, are rows.
  std::vector<bool> grows;
  std::vector<Tensor> tensors;
  for (const Tensor& t : inits) {
    grows.push_back(t.elements && t.elements->empty());
    if (!grows.back()) tensors.push_back(t);
  }
  auto growingTurn = [&](Size i, ArrayRef<Tensor> now) {
    std::vector<Tensor> all;
    size_t next = 0;
    for (size_t k = 0; k < carried; ++k) {
      all.push_back(grows[k] ? inits[k] : now[next++]);
      if (grows[k]) all.back().form = Tensor::Form::Growing;
    }
    Turn whole = turn(i, all), t;
    t.again = whole.again;
    std::vector<Tensor> rows;
    for (size_t k = 0; k < carried; ++k) {
      const Tensor& v = whole.carried[k];
      if (!grows[k]) {
        t.carried.push_back(v);
      } else if (v.form != Tensor::Form::Growing || v.elements->size() != 1) {
        throw SequenceError();
      } else {
        rows.push_back(v.elements->front());
      }
    }
    t.rows = std::move(rows);
    t.rows.insert(t.rows.end(), whole.rows.begin(), whole.rows.end());
    return t;
  };
  bool anyGrows = llvm::is_contained(grows, true),
       known = limits.turns && limits.turns->constant() &&
               *limits.turns->constant() <= unrollBudget / nodesOf(body);
  LoopResult r;
  if (anyGrows && !known) {
    LoopLimits rows = limits;
    auto count = static_cast<size_t>(llvm::count(grows, true));
    rows.declared.insert(rows.declared.begin(), count, {});
    try {
      LoopResult one = loopOrTurns(n, body, rows, tensors, growingTurn);
      size_t next = 0, row = 0;
      for (size_t k = 0; k < carried; ++k) {
        if (!grows[k]) {
          r.carried.push_back(one.carried[next++]);
          continue;
        }
        r.carried.push_back(one.stacked[row++]);
        r.carried.back().form = Tensor::Form::Stacked;
      }
      r.stacked.assign(one.stacked.begin() + static_cast<long>(count), one.stacked.end());
    } catch (SequenceError&) {
      n.fail("a sequence that the loop carries is used for more than to put one tensor behind it "
             "in each turn, and the number of turns is not known while compiling",
             {{true, "make the trip count a constant, or fix the sizes it is computed from with "
                     "--shape"}});
    }
  } else {
    r = loopOrTurns(n, body, limits, inits, turn);
  }
  for (size_t i = 0; i < n.numOutputs(); ++i)
    if (i < carried)
      n.output(i, r.carried[i]);
    else if (i - carried < r.stacked.size())
      n.output(i, r.stacked[i - carried]);
    else
      n.error("there are {} outputs, but the body gives {}", n.numOutputs(),
              carried + r.stacked.size());
}

/// Moves the first dim to `axis`.
static Tensor firstDimTo(NodeBuilder& n, Tensor t, int64_t axis) {
  std::vector<int64_t> order;
  for (int64_t d = 1; d < t.rank(); ++d)
    order.push_back(d);
  order.insert(order.begin() + axis, 0);
  return n.transpose(t, order);
}

/// t[i] along the first dim.
static Tensor rowOf(NodeBuilder& n, Tensor t, Size i) {
  std::vector<Size> starts(t.rank(), n.size(0)), sizes = n.sizes(t),
                                                 shape(sizes.begin() + 1, sizes.end());
  starts[0] = i, sizes[0] = n.size(1);
  return n.reshape(n.slice(t, starts, sizes), shape);
}

namespace {
/// What the attributes of a Scan say; scanned inputs have their axis first.
struct ScanForm {
  const Graph& body;
  size_t states, scanned, outputs;
  std::vector<int64_t> inputDirections, outputDirections;
};
} // namespace

static LoopResult scan(NodeBuilder& n, const ScanForm& f, ArrayRef<Tensor> states,
                       ArrayRef<Tensor> inputs, Size turns) {
  LoopLimits limits;
  limits.turns = turns;
  for (int64_t d : f.outputDirections)
    limits.backwards.push_back(d != 0);
  limits.declared = declaredRows(f.body, f.states);
  return loopOrTurns(n, f.body, limits, states, [&](Size i, ArrayRef<Tensor> now) {
    std::vector<Tensor> arguments(now.begin(), now.end());
    for (auto [k, t] : llvm::enumerate(inputs))
      arguments.push_back(rowOf(n, t, f.inputDirections[k] ? turns - n.size(1) - i : i));
    std::vector<Tensor> out = n.graph.importSubgraph(f.body, arguments);
    Turn t;
    t.carried.assign(out.begin(), out.begin() + static_cast<long>(f.states));
    t.rows.assign(out.begin() + static_cast<long>(f.states), out.end());
    return t;
  });
}

// In opset 8 all inputs had a batch before the axis that is scanned, which was always the second,
// and the first input said how long each sequence was.
ORTC_ONNX_OP("Scan", since(8, 9, 11, 16, 19, 21, 23, 24, 25)) {
  const Graph& body = n.graphAttr("body");
  size_t first = n.opset < 9 ? 1 : 0, given = n.numInputs() - std::min(first, n.numInputs());
  auto scanned = static_cast<size_t>(std::max<int64_t>(n.intAttr("num_scan_inputs"), 0));
  if (scanned < 1 || scanned > given || body.inputs.size() != given ||
      body.outputs.size() < given - scanned)
    n.error("'num_scan_inputs' is {}, with {} inputs and a body of {} inputs and {} outputs",
            scanned, given, body.inputs.size(), body.outputs.size());
  size_t states = given - scanned, outputs = body.outputs.size() - states;
  auto list = [&](StringRef name, size_t count) {
    std::vector<int64_t> v = n.intsAttr(name, std::vector<int64_t>(count, 0));
    if (v.size() != count) n.error("'{}' has {} values; expected {}", name.str(), v.size(), count);
    return v;
  };
  bool batched = n.opset < 9;
  ScanForm f{body,
             states,
             scanned,
             outputs,
             list(batched ? "directions" : "scan_input_directions", scanned),
             batched ? std::vector<int64_t>(outputs, 0) : list("scan_output_directions", outputs)};
  if (batched && n.hasInput(0))
    n.error("sequences of different lengths ('sequence_lens') are not supported");
  std::vector<Tensor> initial, inputs;
  for (size_t i = 0; i < given; ++i)
    (i < states ? initial : inputs).push_back(n.input(first + i, "initial_state_and_scan_inputs"));
  std::vector<int64_t> inputAxes = batched ? std::vector<int64_t>(scanned, 0)
                                           : list("scan_input_axes", scanned),
                       outputAxes = batched ? std::vector<int64_t>(outputs, 0)
                                            : list("scan_output_axes", outputs);
  if (!batched) {
    for (auto [k, t] : llvm::enumerate(inputs)) {
      if (t.rank() == 0) n.error("scan input {} is a scalar", k);
      int64_t axis = n.axis(inputAxes[k], t.rank(), "scan_input_axes");
      std::vector<int64_t> order{axis};
      for (int64_t d = 0; d < t.rank(); ++d)
        if (d != axis) order.push_back(d);
      t = n.transpose(t, order);
    }
    Size turns = n.size(inputs[0], 0);
    for (const Tensor& t : inputs) {
      Size other = n.size(t, 0);
      if (turns.constant() && other.constant() && *turns.constant() != *other.constant())
        n.error("the scanned axes have sizes {} and {}", *turns.constant(), *other.constant());
      if (other.constant()) turns = other;
    }
    LoopResult r = scan(n, f, initial, inputs, turns);
    for (auto [i, t] : llvm::enumerate(r.carried))
      n.output(i, t);
    for (auto [k, t] : llvm::enumerate(r.stacked))
      n.output(states + k, firstDimTo(n, t, n.axis(outputAxes[k], t.rank(), "scan_output_axes")));
    return;
  }
  for (ArrayRef<Tensor> all : {ArrayRef<Tensor>(initial), ArrayRef<Tensor>(inputs)})
    for (const Tensor& t : all)
      if (t.rank() < 1) n.error("an input is a scalar; expected a batch");
  if (inputs[0].rank() < 2) n.error("a scan input has no sequence axis");
  // A loop over the batch around that over the sequence.
  LoopLimits batch;
  batch.turns = n.size(inputs[0], 0);
  LoopResult r = loopOrTurns(n, body, batch, {}, [&](Size i, ArrayRef<Tensor>) {
    std::vector<Tensor> s, x;
    for (const Tensor& t : initial)
      s.push_back(rowOf(n, t, i));
    for (const Tensor& t : inputs)
      x.push_back(rowOf(n, t, i));
    LoopResult one = scan(n, f, s, x, n.size(inputs[0], 1));
    Turn t;
    t.rows = one.carried;
    t.rows.insert(t.rows.end(), one.stacked.begin(), one.stacked.end());
    return t;
  });
  for (auto [i, t] : llvm::enumerate(r.stacked))
    n.output(i, t);
}

} // namespace ortc::opdef
