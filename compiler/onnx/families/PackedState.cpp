// SPDX-License-Identifier: Apache-2.0
// Layers that carry a state (com.microsoft), on the tokens of several sequences behind each other.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

// A convolution of each channel with what came before in its own sequence.
ORTC_ONNX_OP_IN("com.microsoft", "VarlenCausalConvWithState", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weight", same),
         begins = n.input(2, "cumulative_sequence_length", oneOf({DType::I32})),
         bias = n.optionalInput(3, "bias", same), past = n.input(4, "initial_state", same),
         counts = n.optionalInput(5, "capture_count", oneOf({DType::I32}));
  if (n.hasInput(6) || n.hasInput(7)) n.error("'kernel_delta' is not supported");
  std::string activation = n.stringAttr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    n.error("'activation' is '{}'; expected silu, swish or none", activation);
  int64_t dilation = n.intAttr("dilation", 1), capacity = n.intAttr("state_update_capacity", 0);
  if (dilation < 1) n.error("'dilation' is {}; expected at least 1", dilation);
  if (capacity < 0 || capacity > 8 || (capacity > 0) != bool(counts))
    n.error("'state_update_capacity' is {}, {} 'capture_count'", capacity,
            counts ? "with" : "without");
  if (x.rank() != 2 || w.rank() != 3 || begins.rank() != 1)
    n.error("'input' is {}, 'weight' {} and 'cumulative_sequence_length' {}; expected ranks 2, 3 "
            "and 1",
            n.typeText(x), n.typeText(w), n.typeText(begins));
  Size tokens = n.size(x, 0), C = n.size(x, 1), taps = n.size(w, 2),
       B = n.size(begins, 0) - n.size(1), history = (taps - n.size(1)) * n.size(dilation);
  n.requireShape(w, {C, n.size(1), taps}, "weight");
  n.requireShape(past, {B, C, history}, "initial_state");
  if (bias) n.requireShape(bias, C, "bias");
  if (counts) n.requireShape(counts, B, "capture_count");
  auto begin = [&](Scalar b) { return n.toIndex(n.at(begins, b)); };
  // Which sequence a token is of.
  Tensor owner = n.generateReduce(tokens, B, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    return select(i[0] >= begin(i[1] + 1.0), c + 1.0, c);
  });
  // Sample `place` of a sequence; negative ones are of its state.
  auto sample = [&](Scalar b, Scalar place, Scalar channel) {
    return n.ifElse(
        place >= 0.0, [&] { return n.at(x, {safeIndex(n, begin(b) + place, tokens), channel}); },
        [&] {
          Scalar i = safeIndex(n, place + n.index(history), history);
          return n.at(past, {b, channel, i});
        });
  };
  DType wide = wideType(x.dtype);
  Tensor y = n.generateReduce({tokens, C}, taps, wide, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    Scalar b = safeIndex(n, n.at(owner, i[0]), B);
    Scalar back = (n.index(taps - n.size(1)) - i[2]) * static_cast<double>(dilation);
    Scalar v = sample(b, i[0] - begin(b) - back, i[1]);
    return c + n.cast(v, wide) * n.cast(n.at(w, {i[1], n.index(0), i[2]}), wide);
  });
  if (bias) y = n.map(y, n.castTo(bias, wide), [](Scalar v, Scalar c) { return v + c; });
  n.output(0, n.map(y, x.dtype, [&](Scalar v) {
    return n.cast(activation == "none" ? v : v * sigmoid(v), x.dtype);
  }));
  auto length = [&](Scalar b) { return begin(b + 1.0) - begin(b); };
  n.output(1, n.generate({B, C, history}, x.dtype, [&](ArrayRef<Scalar> o) {
    return sample(o[0], length(o[0]) - n.index(history) + o[2], o[1]);
  }));
  if (!capacity) return;
  n.output(2, n.generate({B, n.size(capacity), C}, x.dtype, [&](ArrayRef<Scalar> o) {
    Scalar kept = min(n.toIndex(n.at(counts, o[0])), length(o[0]));
    return n.ifElse(
        o[1] < kept, [&] { return sample(o[0], o[1], o[2]); },
        [&] { return n.literal(0, n.typeOf(x.dtype)); });
  }));
}

namespace {
/// Queries, keys and values of GatedDeltaNet, token after token: [tokens, heads, size].
struct DeltaInputs {
  Tensor q, k, v;
  std::vector<Size> lead; ///< the dims of the tokens
  Size tokens, Hq, Hv, Dk, Dv;
};
} // namespace

static DeltaInputs deltaInputs(NodeBuilder& n, Tensor state) {
  Tensor q = n.input(0, "query", floating);
  Tensor k = n.optionalInput(1, "key", oneOf({q.dtype})),
         v = n.optionalInput(2, "value", oneOf({q.dtype}));
  if (!k != !v) n.error("'key' and 'value' must be given together");
  DeltaInputs d;
  std::vector<Size> in = n.sizes(q);
  size_t own = k ? 2 : 1; // dims behind those of the tokens
  if (in.size() != own + 1 && in.size() != own + 2)
    n.error("'query' is {}; expected rank {} or {}", n.typeText(q), own + 1, own + 2);
  d.lead.assign(in.begin(), in.end() - static_cast<int64_t>(own));
  d.tokens = product(n, d.lead);
  if (k) {
    if (k.rank() != q.rank() || v.rank() != q.rank())
      n.error("'key' is {} and 'value' {} for a query of {}", n.typeText(k), n.typeText(v),
              n.typeText(q));
    d.Hq = in[own == 2 ? in.size() - 2 : 0], d.Dk = in.back();
    d.Hv = n.size(v, v.rank() - 2), d.Dv = n.size(v, v.rank() - 1);
    n.requireShape(k, in, "key");
    std::vector<Size> want = d.lead;
    want.push_back(d.Hv), want.push_back(d.Dv);
    n.requireShape(v, want, "value");
    auto flat = [&](Tensor t, Size heads, Size size) {
      return n.reshape(t, {d.tokens, heads, size});
    };
    d.q = flat(q, d.Hq, d.Dk), d.k = flat(k, d.Hq, d.Dk), d.v = flat(v, d.Hv, d.Dv);
  } else {
    if (!state) n.error("a packed query needs 'initial_state'");
    d.Hv = n.size(state, 1), d.Dv = n.size(state, 2), d.Dk = n.size(state, 3);
    Size values = d.Hv * d.Dv, keys = (in.back() - values) / n.size(2);
    n.requireEqual(keys * n.size(2) + values, in.back(), "'query' does not hold all three parts");
    d.Hq = keys / d.Dk;
    n.requireEqual(d.Hq * d.Dk, keys, "'query' does not hold whole heads");
    Tensor rows = n.reshape(q, {d.tokens, in.back()});
    auto cut = [&](Size from, Size heads, Size size) {
      Tensor part = n.slice(rows, {n.size(0), from}, {d.tokens, heads * size});
      return n.reshape(part, {d.tokens, heads, size});
    };
    d.q = cut(n.size(0), d.Hq, d.Dk), d.k = cut(keys, d.Hq, d.Dk);
    d.v = cut(keys * n.size(2), d.Hv, d.Dv);
  }
  for (Size s : {d.Hq, d.Hv, d.Dk, d.Dv})
    if (!s.constant())
      n.error("the numbers of heads and their sizes must be known while compiling");
  if (*d.Hq.constant() < 1 || *d.Hv.constant() % *d.Hq.constant())
    n.error("{} heads of values cannot share {} of keys", *d.Hv.constant(), *d.Hq.constant());
  return d;
}

/// Each row of [tokens, heads, size] divided by its length.
static Tensor unitRows(NodeBuilder& n, Tensor x) {
  Tensor sum = n.reduce(n.map(x, [](Scalar v) { return v * v; }), 2, true, 0,
                        [](Scalar c, Scalar v) { return c + v; });
  return n.map(x, sum, [](Scalar v, Scalar s) { return v / sqrt(s + 1e-6); });
}

/// The logarithm of what remains of the state, [tokens, Hv] or [tokens, Hv, Dk]. In f32.
static Tensor decays(NodeBuilder& n, Tensor decay, Tensor logA, Tensor bias, const DeltaInputs& d) {
  std::string gate = n.stringAttr("gate_activation", "none");
  bool softplus = gate == "softplus", bounded = gate == "sigmoid" || gate == "kda";
  if (gate != "none" && !softplus && !bounded)
    n.error("'gate_activation' is '{}'; expected none, softplus or sigmoid", gate);
  std::vector<Size> lead = d.lead, given = n.sizes(decay);
  bool perKey = given.size() == lead.size() + 2;
  lead.push_back(d.Hv);
  if (perKey) lead.push_back(d.Dk);
  n.requireShape(decay, lead, "decay");
  std::vector<Size> shape{d.tokens, d.Hv, perKey ? d.Dk : n.size(1)};
  Tensor g = n.reshape(n.castTo(decay, DType::F32), shape);
  if (gate == "none") return g;
  if (!logA || !bias)
    n.error("'gate_activation' is '{}', but 'a_log' or 'dt_bias' is missing", gate);
  n.requireShape(logA, d.Hv, "a_log");
  Size each = same(product(n, n.sizes(bias)), d.Hv) ? n.size(1) : d.Dk;
  n.requireEqual(product(n, n.sizes(bias)), d.Hv * each,
                 "'dt_bias' has another number of elements");
  double low = n.floatAttr("gate_lower_bound", -5.0);
  return n.map({g, n.reshape(logA, {d.Hv, n.size(1)}), n.reshape(bias, {d.Hv, each})}, DType::F32,
               [&](ArrayRef<Scalar> s) {
                 Scalar v = s[0] + s[2], a = exp(s[1]);
                 if (bounded) return sigmoid(a * v) * low;
                 return -(a * (max(v, 0.0) + log1p(exp(-abs(v)))));
               });
}

// As LinearAttention, with the state as [values, keys]: S = e^g S + (v - e^g S k) b k', o = S q.
ORTC_ONNX_OP_IN("com.microsoft", "GatedDeltaNet", since(1)) {
  static const TypeSet real = oneOf({DType::F32}), whole = oneOf({DType::I32});
  Tensor begins = n.optionalInput(3, "cu_seqlens", whole),
         decay = n.optionalInput(4, "decay", floating), beta = n.optionalInput(5, "beta", floating),
         past = n.optionalInput(6, "initial_state", real), logA = n.optionalInput(7, "a_log", real),
         bias = n.optionalInput(8, "dt_bias", real);
  if (n.intAttr("state_update_capacity", 0)) n.error("'state_update_capacity' is not supported");
  std::string rule = n.stringAttr("update_rule", "gated_delta"),
              activation = n.stringAttr("beta_activation", "none");
  bool gated = rule == "gated" || rule == "gated_delta",
       delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    n.error("'update_rule' is '{}'; expected linear, gated, delta or gated_delta", rule);
  if (activation != "none" && activation != "sigmoid")
    n.error("'beta_activation' is '{}'; expected none or sigmoid", activation);
  if (gated && !decay) n.error("'update_rule' is '{}', but there is no 'decay'", rule);
  if (delta && !beta) n.error("'update_rule' is '{}', but there is no 'beta'", rule);
  if (past && past.rank() != 4) n.error("'initial_state' is {}; expected rank 4", n.typeText(past));
  if (begins && begins.rank() != 1)
    n.error("'cu_seqlens' is {}; expected rank 1", n.typeText(begins));
  if (!begins && !past) n.error("without 'cu_seqlens' there must be an 'initial_state'");
  DeltaInputs d = deltaInputs(n, past);
  Size B = begins ? n.size(begins, 0) - n.size(1) : n.size(past, 0), each = d.tokens;
  if (past) n.requireShape(past, {B, d.Hv, d.Dv, d.Dk}, "initial_state");
  if (!begins) {
    each = d.tokens / max(B, n.size(1));
    n.requireEqual(each * B, d.tokens, "the sequences do not have the same number of tokens");
  }
  Tensor q = n.castTo(d.q, DType::F32), k = n.castTo(d.k, DType::F32),
         v = n.castTo(d.v, DType::F32);
  if (n.flagAttr("qk_l2_norm", false)) q = unitRows(n, q), k = unitRows(n, k);
  Tensor g = gated ? decays(n, decay, logA, bias, d) : Tensor();
  Tensor rate;
  if (delta) {
    std::vector<Size> shape = d.lead;
    shape.push_back(d.Hv);
    n.requireShape(beta, shape, "beta");
    rate = n.reshape(n.castTo(beta, DType::F32), {d.tokens, d.Hv});
    if (activation == "sigmoid") rate = n.map(rate, [](Scalar b) { return sigmoid(b); });
  }
  double scale = n.floatAttr("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*d.Dk.constant()));
  auto shared = static_cast<double>(*d.Hv.constant() / *d.Hq.constant());
  bool oneDecay = g && n.size(g, 2).is(1);
  std::vector<Size> state{B, d.Hv, d.Dv, d.Dk};
  auto code = [&](ArrayRef<Scalar> index, ArrayRef<Out> out) {
    Scalar b = index[0], h = index[1], row = index[2], keyHead = h / shared;
    Scalar zero = n.literal(0, n.b.getF32Type()), keys = n.index(d.Dk);
    auto at = [&](Scalar i) { return out[1].load({b, h, row, i}); };
    auto set = [&](Scalar i, Scalar s) { out[1].store({b, h, row, i}, s); };
    Scalar from = begins ? n.toIndex(n.at(begins, b)) : b * n.index(each);
    Scalar to = begins ? n.toIndex(n.at(begins, b + 1.0)) : from + n.index(each);
    from = max(from, 0.0), to = min(to, n.index(d.tokens));
    n.repeat(n.index(0), keys, [&](Scalar i) { set(i, past ? n.at(past, {b, h, row, i}) : zero); });
    n.repeat(from, to, [&](Scalar t) {
      Scalar known = n.repeat(n.index(0), keys, {zero},
                              [&](Scalar i, ArrayRef<Scalar> sum) -> NodeBuilder::Scalars {
                                Scalar s = at(i);
                                if (gated) {
                                  s = s * exp(n.at(g, {t, h, oneDecay ? n.index(0) : i}));
                                  set(i, s);
                                }
                                return {delta ? sum[0] + s * n.at(k, {t, keyHead, i}) : sum[0]};
                              })[0];
      Scalar add = n.at(v, {t, h, row});
      if (delta) add = (add - known) * n.at(rate, {t, h});
      Scalar o = n.repeat(n.index(0), keys, {zero},
                          [&](Scalar i, ArrayRef<Scalar> sum) -> NodeBuilder::Scalars {
                            Scalar s = at(i) + n.at(k, {t, keyHead, i}) * add;
                            set(i, s);
                            return {sum[0] + n.at(q, {t, keyHead, i}) * s};
                          })[0];
      out[0].store({t, h, row}, n.cast(o * scale, d.q.dtype));
    });
  };
  std::vector<Tensor> r =
      n.serial({B, d.Hv, d.Dv}, {{{d.tokens, d.Hv, d.Dv}, d.q.dtype}, {state, DType::F32}}, code);
  std::vector<Size> shape = d.lead;
  shape.push_back(d.Hv), shape.push_back(d.Dv);
  n.output(0, n.reshape(r[0], shape));
  n.output(1, r[1]);
}

} // namespace ortc::opdef
