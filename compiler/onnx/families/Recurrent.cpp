// SPDX-License-Identifier: Apache-2.0
// LSTM (also on 8-bit weights), GRU and RNN. What the inputs contribute is one matrix product over
// all steps; the loop over time carries the hidden state and multiplies only that. A single step
// needs no loop.
#include "compiler/onnx/ControlFlow.h"
#include "compiler/onnx/families/Quantize.h"

using namespace mlir;

namespace ortc::opdef {

namespace {

/// An activation function of a gate.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

/// What all three operators read alike. Layout 1 has been transposed to layout 0.
struct Recurrent {
  Tensor x, w, r, bias, lengths, initialH;
  int64_t directions = 1, hidden = 0, layout = 0;
  bool firstIsReverse = false;
  double clip = 0;
  std::vector<Activation> activations;
  Size steps, batch;
};

} // namespace

static Scalar apply(const Activation& f, double clip, Scalar v) {
  if (clip > 0) v = clamp(v, -clip, clip);
  if (f.name == "sigmoid") return sigmoid(v);
  if (f.name == "tanh") return tanh(v);
  if (f.name == "relu") return max(v, 0.0);
  if (f.name == "affine") return v * f.alpha + f.beta;
  if (f.name == "leakyrelu") return select(v < 0.0, v * f.alpha, v);
  if (f.name == "thresholdedrelu") return select(v >= f.alpha, v, 0.0);
  if (f.name == "scaledtanh") return f.alpha * tanh(v * f.beta);
  if (f.name == "hardsigmoid") return clamp(v * f.alpha + f.beta, 0, 1);
  if (f.name == "elu") return select(v < 0.0, f.alpha * expm1(v), v);
  if (f.name == "softsign") return v / (1.0 + abs(v));
  return max(v, 0.0) + log1p(exp(-abs(v))); // softplus
}

/// The functions of all directions. Those that take alpha or beta take the next of the list, or
/// their default.
static std::vector<Activation> readActivations(NodeBuilder& n, ArrayRef<StringRef> perDirection,
                                               int64_t directions) {
  struct Known {
    StringRef name;
    bool hasAlpha, hasBeta;
    double alpha, beta;
  };
  static const Known known[] = {
      {"sigmoid", false, false, 0, 0},     {"tanh", false, false, 0, 0},
      {"relu", false, false, 0, 0},        {"affine", true, true, 1, 0},
      {"leakyrelu", true, false, 0.01, 0}, {"thresholdedrelu", true, false, 1, 0},
      {"scaledtanh", true, true, 1, 1},    {"hardsigmoid", true, true, 0.2, 0.5},
      {"elu", true, false, 1, 0},          {"softsign", false, false, 0, 0},
      {"softplus", false, false, 0, 0}};
  std::vector<std::string> defaults;
  for (int64_t d = 0; d < directions; ++d)
    defaults.insert(defaults.end(), perDirection.begin(), perDirection.end());
  std::vector<std::string> names = n.stringsAttr("activations", defaults);
  if (names.size() != defaults.size())
    n.error("'activations' has {} names; expected {}", names.size(), defaults.size());
  std::vector<float> alphas = n.floatsAttr("activation_alpha", std::vector<float>{}),
                     betas = n.floatsAttr("activation_beta", std::vector<float>{});
  std::vector<Activation> r;
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string& name : names) {
    const Known* k =
        llvm::find_if(known, [&](const Known& k) { return k.name == StringRef(name).lower(); });
    if (k == std::end(known))
      n.error("'activations' holds '{}', which is no activation function", name);
    Activation a{k->name.str(), k->alpha, k->beta};
    if (k->hasAlpha && nextAlpha < alphas.size()) a.alpha = alphas[nextAlpha++];
    if (k->hasBeta && nextBeta < betas.size()) a.beta = betas[nextBeta++];
    r.push_back(a);
  }
  return r;
}

/// `quantised`: W and R are 8-bit numbers, and stored as what multiplies from the right, [D, I,
/// gates * H] and [D, H, gates * H].
static Recurrent readRecurrent(NodeBuilder& n, int64_t gates, ArrayRef<StringRef> defaults,
                               bool quantised = false) {
  Recurrent c;
  c.x = n.input(0, "X", floating);
  TypeSet same = oneOf({c.x.dtype}), weights = quantised ? oneOf({DType::I8, DType::U8}) : same;
  c.w = n.input(1, "W", weights), c.r = n.input(2, "R", weights),
  c.bias = n.optionalInput(3, "B", same);
  c.lengths = n.optionalInput(4, "sequence_lens", indexInteger),
  c.initialH = n.optionalInput(5, "initial_h", same);
  if (c.x.rank() != 3 || c.w.rank() != 3 || c.r.rank() != 3)
    n.error("'X', 'W' and 'R' have ranks {}, {} and {}; expected 3", c.x.rank(), c.w.rank(),
            c.r.rank());
  std::string direction = n.stringAttr("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    n.error("'direction' is '{}'", direction);
  c.directions = direction == "bidirectional" ? 2 : 1, c.firstIsReverse = direction == "reverse";
  Size hidden = n.size(c.r, quantised ? 1 : 2), wide = n.size(c.w, quantised ? 2 : 1),
       have = n.size(c.w, 0);
  if (!hidden.constant()) n.error("the sizes of 'R' must be known while compiling");
  c.hidden = *hidden.constant();
  if (n.intAttr("hidden_size", c.hidden) != c.hidden)
    n.error("'hidden_size' is {}, but 'R' is {}", n.intAttr("hidden_size"), n.typeText(c.r));
  if (!wide.is(gates * c.hidden))
    n.error("'W' is {}; expected {} {}", n.typeText(c.w), gates * c.hidden,
            quantised ? "columns" : "rows");
  if (!have.is(c.directions))
    n.error("'W' is {}, which does not fit direction '{}'", n.typeText(c.w), direction);
  Size directions = n.size(c.directions), rows = n.size(gates * c.hidden);
  auto requireWeights = [&](Tensor t, Size from, StringRef name) {
    if (quantised)
      n.requireShape(t, {directions, from, rows}, name);
    else
      n.requireShape(t, {directions, rows, from}, name);
  };
  requireWeights(c.r, hidden, "R");
  requireWeights(c.w, n.size(c.x, 2), "W");
  if (c.bias) n.requireShape(c.bias, {directions, n.size(2 * gates * c.hidden)}, "B");
  c.layout = n.flagAttr("layout", false), c.clip = n.floatAttr("clip", 0.0);
  if (c.layout) {
    c.x = n.transpose(c.x, {1, 0, 2});
    if (c.initialH && c.initialH.rank() == 3) c.initialH = n.transpose(c.initialH, {1, 0, 2});
  }
  c.activations = readActivations(n, defaults, c.directions);
  c.steps = n.size(c.x, 0), c.batch = n.size(c.x, 1);
  if (c.initialH) n.requireShape(c.initialH, {directions, c.batch, hidden}, "initial_h");
  if (c.lengths) n.requireShape(c.lengths, c.batch, "sequence_lens");
  return c;
}

/// t[d] of a tensor whose first dim is the direction.
static Tensor ofDirection(NodeBuilder& n, Tensor t, int64_t d) {
  if (t.rank() < 1 || (n.size(t, 0).constant() && *n.size(t, 0).constant() <= d))
    n.error(
        "an input is {}; expected its first size to be the number of directions, here at least {}",
        n.typeText(t), d + 1);
  std::vector<Size> sizes = n.sizes(t), starts(sizes.size(), n.size(0)),
                    rest(sizes.begin() + 1, sizes.end());
  starts[0] = n.size(d), sizes[0] = n.size(1);
  return n.reshape(n.slice(t, starts, sizes), rest);
}
/// Columns [k * width, (k + count) * width) of the last dim.
static Tensor columns(NodeBuilder& n, Tensor t, int64_t k, int64_t count, int64_t width) {
  std::vector<Size> sizes = n.sizes(t), starts(sizes.size(), n.size(0));
  starts.back() = n.size(k * width), sizes.back() = n.size(count * width);
  return n.slice(t, starts, sizes);
}
static Tensor stateOf(NodeBuilder& n, const Recurrent& c, Tensor initial, int64_t d) {
  if (initial) return ofDirection(n, initial, d);
  return n.broadcastTo(n.scalarOf(0, c.x.dtype), {c.batch, n.size(c.hidden)});
}
static Tensor sum(NodeBuilder& n, Tensor x, Tensor y) {
  return n.map(x, y, [](Scalar v, Scalar w) { return v + w; });
}

namespace {
struct DirectionResult {
  Tensor y; ///< [T, B, H]; no value when nobody wants it
  std::vector<Tensor> states;
};
} // namespace

using Step = llvm::function_ref<std::vector<Tensor>(Tensor projected, ArrayRef<Tensor> states)>;

/// Steps through time. `projected` is what the inputs contribute, [T, B, gates * H]; the first
/// state is the output. With lengths, a sequence keeps its state beyond its end (in both
/// directions), and its output is 0 there.
static DirectionResult run(NodeBuilder& n, const Recurrent& c, Tensor projected, bool reverse,
                           std::vector<Tensor> states, bool wantsY, Step step) {
  OpBuilder& b = n.b;
  Location loc = n.loc;
  Size width = n.size(projected, 2), H = n.size(c.hidden);
  Tensor lengths;
  if (c.lengths) lengths = n.reshape(c.lengths, {c.batch, n.size(1)});
  /// One step at time t: new states, and the output.
  auto at = [&](Size t, ArrayRef<Tensor> old) {
    Tensor now =
        n.reshape(n.slice(projected, {t, n.size(0), n.size(0)}, {n.size(1), c.batch, width}),
                  {c.batch, width});
    std::vector<Tensor> next = step(now, old);
    Tensor y = next[0];
    if (lengths) {
      auto alive = [&](Scalar length) { return n.index(t) < n.toIndex(length); };
      y = n.map(y, lengths, [&](Scalar v, Scalar l) { return select(alive(l), v, 0.0); });
      for (auto [fresh, before] : llvm::zip(next, old))
        fresh = n.map({fresh, before, lengths}, fresh.dtype,
                      [&](ArrayRef<Scalar> s) { return select(alive(s[2]), s[0], s[1]); });
    }
    return std::pair(next, y);
  };
  if (c.steps.is(1)) {
    auto [next, y] = at(n.size(0), states);
    return {n.reshape(y, {n.size(1), c.batch, H}), next};
  }
  std::vector<Tensor> carried = states;
  if (wantsY) carried.push_back({n.empty({c.steps, c.batch, H}, c.x.elementType()), c.x.dtype});
  SmallVector<Value> inits = withSizes(b, carried);
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0),
        one = b.create<arith::ConstantIndexOp>(loc, 1);
  auto loop = b.create<scf::ForOp>(loc, zero, sizeValue(b, loc, c.steps.v), one, inits);
  loop->setAttr("ortc.fixed_sizes", b.getUnitAttr());
  auto unpack = [&](ValueRange values) { // tensors, each followed by its free sizes
    std::vector<Tensor> r;
    unsigned next = 0;
    for (Tensor t : carried) {
      r.push_back({values[next++], t.dtype});
      next += cast<RankedTensorType>(t.value.getType()).getNumDynamicDims();
    }
    return r;
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    std::vector<Tensor> old = unpack(loop.getRegionIterArgs());
    Size i = n.size(OpFoldResult(loop.getInductionVar()));
    Size t = reverse ? c.steps - n.size(1) - i : i;
    auto [next, y] = at(t, ArrayRef<Tensor>(old).take_front(states.size()));
    if (wantsY) {
      Tensor row = n.reshape(y, {n.size(1), c.batch, H});
      SmallVector<OpFoldResult> offsets{t.v, b.getIndexAttr(0), b.getIndexAttr(0)},
          sizes{b.getIndexAttr(1), c.batch.v, H.v}, strides(3, b.getIndexAttr(1));
      next.push_back({b.create<tensor::InsertSliceOp>(loc, row.value, old.back().value, offsets,
                                                      sizes, strides),
                      y.dtype});
    }
    for (auto [t, init] : llvm::zip(next, carried))
      t.value = castTo(b, loc, t.value, init.value.getType());
    b.create<scf::YieldOp>(loc, withSizes(b, next));
  }
  std::vector<Tensor> results = unpack(loop.getResults());
  DirectionResult r;
  if (wantsY) r.y = results.back(), results.pop_back();
  r.states = std::move(results);
  return r;
}

/// Puts the directions' results together: Y [T, D, B, H], and each state [D, B, H] (layout 1: batch
/// first).
static void outputs(NodeBuilder& n, const Recurrent& c, ArrayRef<DirectionResult> results) {
  Size H = n.size(c.hidden);
  if (n.wantsOutput(0)) {
    std::vector<Tensor> ys;
    for (const DirectionResult& r : results)
      ys.push_back(n.reshape(r.y, {c.steps, n.size(1), c.batch, H}));
    Tensor y = ys.size() == 1 ? ys[0] : n.concat(ys, 1);
    n.output(0, c.layout ? n.transpose(y, {2, 0, 1, 3}) : y);
  }
  for (size_t s = 0; s < results[0].states.size(); ++s) {
    if (!n.wantsOutput(1 + s)) continue;
    std::vector<Tensor> parts;
    for (const DirectionResult& r : results)
      parts.push_back(n.reshape(r.states[s], {n.size(1), c.batch, H}));
    Tensor y = parts.size() == 1 ? parts[0] : n.concat(parts, 0);
    n.output(1 + s, c.layout ? n.transpose(y, {1, 0, 2}) : y);
  }
}

/// Multiplies by the weights of a direction, over the last dim: [.., I] or [.., H] to [.., gates *
/// H].
using Product = std::function<Tensor(Tensor)>;
static Product timesInput(NodeBuilder& n, const Recurrent& c, int64_t d) {
  Tensor w = ofDirection(n, c.w, d);
  return [&n, w](Tensor x) { return n.contract(x, w, "tbi,gi->tbg"); };
}
static Product timesState(NodeBuilder& n, const Recurrent& c, int64_t d) {
  Tensor r = ofDirection(n, c.r, d);
  return [&n, r](Tensor h) { return n.contract(h, r, "bh,gh->bg"); };
}

/// X W' + b for all steps: [T, B, gates * H].
static Tensor project(NodeBuilder& n, const Recurrent& c, const Product& times, Tensor bias) {
  Tensor p = times(c.x);
  return bias ? sum(n, p, bias) : p;
}
static bool isReverse(const Recurrent& c, int64_t d) {
  return d == 1 || c.firstIsReverse;
}

ORTC_ONNX_OP("RNN", since(1, 7, 14, 22)) {
  Recurrent c = readRecurrent(n, 1, {"Tanh"});
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < c.directions; ++d) {
    Tensor bias, R = ofDirection(n, c.r, d);
    if (c.bias) {
      Tensor b = ofDirection(n, c.bias, d);
      bias = sum(n, columns(n, b, 0, 1, c.hidden), columns(n, b, 1, 1, c.hidden));
    }
    results.push_back(run(n, c, project(n, c, timesInput(n, c, d), bias), isReverse(c, d),
                          {stateOf(n, c, c.initialH, d)}, n.wantsOutput(0),
                          [&](Tensor p, ArrayRef<Tensor> s) -> std::vector<Tensor> {
                            Tensor h = n.contract(s[0], R, "bh,gh->bg");
                            return {n.map(p, h, [&](Scalar v, Scalar w) {
                              return apply(c.activations[d], c.clip, v + w);
                            })};
                          }));
  }
  outputs(n, c, results);
}

// Gates in the order update (z), reset (r), candidate (h).
ORTC_ONNX_OP("GRU", since(1, 3, 7, 14, 22)) {
  Recurrent c = readRecurrent(n, 3, {"Sigmoid", "Tanh"});
  bool resetAfter = n.flagAttr("linear_before_reset", false);
  int64_t H = c.hidden;
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < c.directions; ++d) {
    const Activation &f = c.activations[2 * d], &g = c.activations[2 * d + 1];
    Tensor bias, recurrentBias, R = ofDirection(n, c.r, d);
    auto rows = [&](int64_t k, int64_t count) {
      return n.slice(R, {n.size(k * H), n.size(0)}, {n.size(count * H), n.size(H)});
    };
    if (c.bias) {
      Tensor b = ofDirection(n, c.bias, d);
      Tensor gates = sum(n, columns(n, b, 0, 2, H), columns(n, b, 3, 2, H)),
             candidate = columns(n, b, 2, 1, H);
      recurrentBias = columns(n, b, 5, 1, H);
      if (!resetAfter) candidate = sum(n, candidate, recurrentBias);
      bias = n.concat({gates, candidate}, 0);
    }
    Tensor Rzr = rows(0, 2), Rh = rows(2, 1);
    auto step = [&](Tensor p, ArrayRef<Tensor> s) -> std::vector<Tensor> {
      Tensor h = s[0], zr, candidate;
      auto gate = [&](Scalar v) { return apply(f, c.clip, v); };
      if (resetAfter) {
        Tensor all = n.contract(h, R, "bh,gh->bg");
        zr = n.map(columns(n, p, 0, 2, H), columns(n, all, 0, 2, H),
                   [&](Scalar v, Scalar w) { return gate(v + w); });
        Tensor inner = columns(n, all, 2, 1, H);
        if (recurrentBias) inner = sum(n, inner, recurrentBias);
        candidate = n.map({columns(n, p, 2, 1, H), columns(n, zr, 1, 1, H), inner}, h.dtype,
                          [&](ArrayRef<Scalar> v) { return apply(g, c.clip, v[0] + v[1] * v[2]); });
      } else {
        zr = n.map(columns(n, p, 0, 2, H), n.contract(h, Rzr, "bh,gh->bg"),
                   [&](Scalar v, Scalar w) { return gate(v + w); });
        Tensor reset = n.map(columns(n, zr, 1, 1, H), h, [](Scalar r, Scalar v) { return r * v; });
        candidate = n.map(columns(n, p, 2, 1, H), n.contract(reset, Rh, "bh,gh->bg"),
                          [&](Scalar v, Scalar w) { return apply(g, c.clip, v + w); });
      }
      return {n.map({columns(n, zr, 0, 1, H), candidate, h}, h.dtype,
                    [](ArrayRef<Scalar> v) { return (1.0 - v[0]) * v[1] + v[0] * v[2]; })};
    };
    results.push_back(run(n, c, project(n, c, timesInput(n, c, d), bias), isReverse(c, d),
                          {stateOf(n, c, c.initialH, d)}, n.wantsOutput(0), step));
  }
  outputs(n, c, results);
}

// Gates in the order input (i), output (o), forget (f), cell (c); peepholes in the order i, o, f.
static void
lstm(NodeBuilder& n, const Recurrent& c,
     llvm::function_ref<Product(NodeBuilder& n, const Recurrent& c, int64_t direction)> byInput,
     llvm::function_ref<Product(NodeBuilder& n, const Recurrent& c, int64_t direction)> byState) {
  int64_t H = c.hidden;
  Tensor initialC = n.optionalInput(6, "initial_c", oneOf({c.x.dtype})),
         peepholes = n.optionalInput(7, "P", oneOf({c.x.dtype}));
  if (c.layout && initialC && initialC.rank() == 3) initialC = n.transpose(initialC, {1, 0, 2});
  Size directions = n.size(c.directions);
  if (initialC) n.requireShape(initialC, {directions, c.batch, n.size(H)}, "initial_c");
  if (peepholes) n.requireShape(peepholes, {directions, n.size(3 * H)}, "P");
  bool coupled = n.flagAttr("input_forget", false);
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < c.directions; ++d) {
    const Activation *f = &c.activations[3 * d], *g = f + 1, *h = f + 2;
    Tensor bias, P = peepholes ? ofDirection(n, peepholes, d) : Tensor();
    Product timesR = byState(n, c, d);
    if (c.bias) {
      Tensor b = ofDirection(n, c.bias, d);
      bias = sum(n, columns(n, b, 0, 4, H), columns(n, b, 4, 4, H));
    }
    auto step = [&](Tensor p, ArrayRef<Tensor> s) -> std::vector<Tensor> {
      Tensor gates = sum(n, p, timesR(s[0])), old = s[1];
      auto gate = [&](int64_t k) { return columns(n, gates, k, 1, H); };
      std::vector<Tensor> in{gate(0), gate(2), gate(3), old};
      if (P) in.push_back(columns(n, P, 0, 1, H)), in.push_back(columns(n, P, 2, 1, H));
      Tensor cell = n.map(in, old.dtype, [&](ArrayRef<Scalar> v) {
        Scalar i = apply(*f, c.clip, P ? v[0] + v[4] * v[3] : v[0]);
        Scalar forget = coupled ? 1.0 - i : apply(*f, c.clip, P ? v[1] + v[5] * v[3] : v[1]);
        return forget * v[3] + i * apply(*g, c.clip, v[2]);
      });
      std::vector<Tensor> out{gate(1), cell};
      if (P) out.push_back(columns(n, P, 1, 1, H));
      Tensor hidden = n.map(out, old.dtype, [&](ArrayRef<Scalar> v) {
        Scalar o = apply(*f, c.clip, P ? v[0] + v[2] * v[1] : v[0]);
        return o * apply(*h, 0, v[1]);
      });
      return {hidden, cell};
    };
    results.push_back(run(n, c, project(n, c, byInput(n, c, d), bias), isReverse(c, d),
                          {stateOf(n, c, c.initialH, d), stateOf(n, c, initialC, d)},
                          n.wantsOutput(0), step));
  }
  outputs(n, c, results);
}

ORTC_ONNX_OP("LSTM", since(1, 7, 14, 22)) {
  lstm(n, readRecurrent(n, 4, {"Sigmoid", "Tanh", "Tanh"}), timesInput, timesState);
}

// Weights of 8 bits; what they multiply is quantised when it is there: the inputs of all steps at
// once, the state in each.
ORTC_ONNX_OP_IN("com.microsoft", "DynamicQuantizeLSTM", since(1)) {
  Recurrent c = readRecurrent(n, 4, {"Sigmoid", "Tanh", "Tanh"}, /*quantised=*/true);
  auto byWeights = [&](Tensor weights, size_t i, StringRef name) {
    Tensor scale = n.input(i, name.str() + "_scale", oneOf({c.x.dtype})),
           zero = n.input(i + 1, name.str() + "_zero_point", oneOf({weights.dtype}));
    return [&n, weights, scale, zero](NodeBuilder&, const Recurrent&, int64_t d) -> Product {
      Tensor w = ofDirection(n, weights, d), s = ofDirection(n, scale, d),
             z = ofDirection(n, zero, d);
      return [&n, w, s, z](Tensor x) { return dynamicProduct(n, x, w, s, z, {}); };
    };
  };
  lstm(n, c, byWeights(c.w, 8, "W"), byWeights(c.r, 10, "R"));
}

} // namespace ortc::opdef
