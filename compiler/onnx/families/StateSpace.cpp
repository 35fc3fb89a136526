// SPDX-License-Identifier: Apache-2.0
// Layers that carry a state along a sequence instead of attending to all of it.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
/// What ONNX Runtime's operators do besides those of the standard.
struct StateOptions {
  int64_t dilation = 1;
  int64_t window = 0; ///< how many of the last states there are, along a first dim; 0: one, without
};
} // namespace

/// The last of the states that a window holds.
static Tensor lastState(NodeBuilder& n, Tensor past, int64_t window) {
  if (!past || !window) return past;
  std::vector<Size> in = n.sizes(past), from(in.size(), n.size(0)), count = in;
  if (in.empty()) n.error("'past_state' is a scalar");
  n.requireEqual(in[0], n.size(window), "'past_state' does not hold as many states as the window");
  from[0] = n.size(window - 1), count[0] = n.size(1);
  return n.reshape(n.slice(past, from, count), ArrayRef<Size>(in).drop_front());
}

static std::string activationOf(NodeBuilder& n) {
  std::string activation = n.stringAttr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    n.error("'activation' is '{}'; expected silu, swish or none", activation);
  return activation;
}
static Tensor siluOf(NodeBuilder& n, Tensor y) {
  return throughWide(n, y,
                     [&](Tensor t) { return n.map(t, [](Scalar v) { return v * sigmoid(v); }); });
}

/// A convolution of each channel of x, [B, C, L], with what came before; the last inputs are handed
/// to the next call. Gives the result and the state, [B, C, before] or [window, B, C, before].
static std::pair<Tensor, Tensor> causalConvolution(NodeBuilder& n, Tensor x, Tensor w, Tensor bias,
                                                   Tensor past, StateOptions options) {
  std::string activation = activationOf(n);
  if (x.rank() != 3 || w.rank() != 3 || (past && past.rank() != 3))
    n.error("'input', 'weight' and 'past_state' must have rank 3");
  if (options.dilation < 1) n.error("'dilation' is {}; expected at least 1", options.dilation);
  std::vector<Size> in = n.sizes(x);
  Size taps = n.size(w, 2);
  if (!in[1].constant() || !taps.constant())
    n.error("the channels and the sizes of 'weight' must be known while compiling");
  Size before = (taps - n.size(1)) * n.size(options.dilation);
  n.requireShape(w, {in[1], n.size(1), taps}, "weight");
  if (bias) n.requireShape(bias, in[1], "bias");
  if (past) n.requireShape(past, {in[0], in[1], before}, "past_state");
  if (!past) past = n.broadcastTo(n.scalarOf(0.0, x.dtype), {in[0], in[1], before});
  Tensor all = n.concat({past, x}, 2);
  Tensor y = n.conv(all, w, {1}, {options.dilation}, {0, 0}, *in[1].constant());
  if (bias) y = n.map(y, alongChannels(n, bias, 3), [](Scalar v, Scalar b) { return v + b; });
  if (activation != "none") y = siluOf(n, y);
  if (!options.window)
    return {y, n.slice(all, {n.size(0), n.size(0), in[2]}, {in[0], in[1], before})};
  // State j is that after token L - window + j; there is none before the first.
  Size first = in[2] - n.size(options.window) + n.size(1);
  Tensor states =
      n.generate({n.size(options.window), in[0], in[1], before}, x.dtype, [&](ArrayRef<Scalar> o) {
        Scalar tokens = o[0] + n.index(first);
        return n.atOr(all, {o[1], o[2], tokens + o[3]}, tokens > 0.0, 0);
      });
  return {y, states};
}

ORTC_ONNX_OP("CausalConvWithState", since(27)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weight", same), bias = n.optionalInput(2, "bias", same),
         past = n.optionalInput(3, "past_state", same);
  auto [y, state] = causalConvolution(n, x, w, bias, past, {});
  n.output(0, y);
  n.output(1, state);
}

// The channels may be the last dims, of which there may be several.
ORTC_ONNX_OP_IN("com.microsoft", "CausalConvWithState", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weight", same), bias = n.optionalInput(2, "bias", same),
         past = n.optionalInput(3, "past_state", same);
  if (n.intAttr("ndim", 1) != 1) n.error("'ndim' is {}; only 1 is supported", n.intAttr("ndim"));
  for (const char* name :
       {"state_update_capacity", "state_length", "input_channel_offset", "input_channels"})
    if (n.intAttr(name, 0)) n.error("'{}' is not supported", name);
  if (n.intAttr("state_channels_last", -1) != -1) n.error("'state_channels_last' is not supported");
  StateOptions options{n.intAttr("dilation", 1), n.intAttr("state_window", 0)};
  if (options.window < 0) n.error("'state_window' is {}", options.window);
  past = lastState(n, past, options.window);
  bool last = n.flagAttr("channels_last", false);
  std::vector<Size> in = n.sizes(x);
  if (!last) {
    auto [y, state] = causalConvolution(n, x, w, bias, past, options);
    n.output(0, y);
    return n.output(1, state);
  }
  if (in.size() < 3) n.error("'input' is {}; expected at least rank 3", n.typeText(x));
  ArrayRef<Size> channels = ArrayRef<Size>(in).drop_front(2);
  Size all = product(n, channels);
  auto first = [&](Tensor t) { // [B, C, L]
    return n.transpose(n.reshape(t, {n.size(t, 0), n.size(t, 1), all}), {0, 2, 1});
  };
  if (past && past.rank() != x.rank())
    n.error("'past_state' is {} for 'input' of {}", n.typeText(past), n.typeText(x));
  auto [y, state] = causalConvolution(n, first(x), w, bias, past ? first(past) : past, options);
  auto back = [&](Tensor t, std::vector<Size> lead, std::vector<int64_t> order) {
    Tensor moved = n.transpose(t, order);
    lead.push_back(n.size(moved, moved.rank() - 2));
    lead.insert(lead.end(), channels.begin(), channels.end());
    return n.reshape(moved, lead);
  };
  n.output(0, back(y, {in[0]}, {0, 2, 1}));
  n.output(1, options.window ? back(state, {n.size(options.window), in[0]}, {0, 1, 3, 2})
                             : back(state, {in[0]}, {0, 2, 1}));
}

// A matrix per head that each token decays and adds to: S = e^g S + k (v - e^g S'k) b, o = S'q. Its
// columns are independent of each other.
static void linearAttention(NodeBuilder& n, int64_t window) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.input(1, "key", same), v = n.input(2, "value", same),
         past = lastState(n, n.optionalInput(3, "past_state", floating), window),
         decay = n.optionalInput(4, "decay", same), beta = n.optionalInput(5, "beta", same);
  std::string rule = n.stringAttr("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta",
       delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    n.error("'update_rule' is '{}'; expected linear, gated, delta or gated_delta", rule);
  if (gated && !decay) n.error("'update_rule' is '{}', but there is no 'decay'", rule);
  if (delta && !beta) n.error("'update_rule' is '{}', but there is no 'beta'", rule);
  int64_t qHeads = n.intAttr("q_num_heads"), heads = n.intAttr("kv_num_heads");
  if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3)
    n.error("'query', 'key' and 'value' must have rank 3");
  std::vector<Size> in = n.sizes(q);
  Size keyWidth = n.size(k, 2), valueWidth = n.size(v, 2);
  bool fits = heads > 0 && qHeads > 0 && (qHeads % heads == 0 || heads % qHeads == 0);
  if (!fits || !keyWidth.constant() || !valueWidth.constant() || *keyWidth.constant() % heads ||
      *valueWidth.constant() % heads)
    n.error("{} heads of the query and {} of keys and values do not fit {} and {}", qHeads, heads,
            n.typeText(k), n.typeText(v));
  int64_t dk = *keyWidth.constant() / heads, dv = *valueWidth.constant() / heads,
          shared = std::max<int64_t>(qHeads / heads, 1); // queries of a key
  auto keysOfQuery = static_cast<double>(std::max<int64_t>(heads / qHeads, 1));
  n.requireShape(q, {in[0], in[1], n.size(qHeads * dk)}, "query");
  n.requireShape(k, {in[0], in[1], keyWidth}, "key");
  n.requireShape(v, {in[0], in[1], valueWidth}, "value");
  if (past) n.requireShape(past, {in[0], n.size(heads), n.size(dk), n.size(dv)}, "past_state");
  for (auto [t, name] : {std::pair(decay, "decay"), std::pair(beta, "beta")}) {
    if (!t) continue;
    if (t.rank() != 3) n.error("'{}' is {}; expected rank 3", name, n.typeText(t));
    Size width = n.size(t, 2);
    bool each = width.is(1) || width.is(heads) || (name[0] == 'd' && width.is(heads * dk));
    if (!each) n.error("'{}' is {}; expected 1 or {} columns", name, n.typeText(t), heads);
    n.requireShape(t, {in[0], in[1], width}, name);
  }
  auto wide1 = [&](Tensor t) { return t && n.size(t, 2).is(1); };
  bool perKey = decay && n.size(decay, 2).is(heads * dk) && dk != 1;
  double scale = n.floatAttr("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(dk));
  DType wide = wideType(q.dtype), stateType = past ? past.dtype : q.dtype;
  std::vector<Size> stateShape{in[0], n.size(heads), n.size(dk), n.size(dv)};
  std::vector<Size> states = stateShape;
  if (window) states.insert(states.begin(), n.size(window));
  NodeBuilder::OutType result{{in[0], in[1], n.size(std::max(qHeads, heads) * dv)}, q.dtype},
      state{states, stateType}, room{stateShape, wide};
  auto code = [&](ArrayRef<Scalar> index, ArrayRef<Out> out) {
    Scalar b = index[0], h = index[1], column = index[2];
    Scalar keys = n.index(dk), zero = n.literal(0, n.typeOf(wide));
    auto at = [&](Scalar i) { return out[2].load({b, h, i, column}); };
    auto set = [&](Scalar i, Scalar s) { out[2].store({b, h, i, column}, s); };
    auto key = [&](Scalar t, Scalar i) {
      return n.cast(n.at(k, {b, t, h * static_cast<double>(dk) + i}), wide);
    };
    n.repeat(n.index(0), keys,
             [&](Scalar i) { set(i, past ? n.cast(n.at(past, {b, h, i, column}), wide) : zero); });
    // The state goes to place `slot` of the window, or to where there is only one.
    auto give = [&](std::optional<Scalar> slot) {
      n.repeat(n.index(0), keys, [&](Scalar i) {
        SmallVector<Scalar> place{b, h, i, column};
        if (slot) place.insert(place.begin(), *slot);
        out[1].store(place, n.cast(at(i), stateType));
      });
    };
    if (window)
      n.repeat(n.index(0), n.index(window), [&](Scalar slot) {
        n.repeat(n.index(0), keys, [&](Scalar i) {
          out[1].store({slot, b, h, i, column}, n.literal(0, n.typeOf(stateType)));
        });
      });
    n.repeat(n.index(0), n.index(in[1]), [&](Scalar t) {
      Scalar known = n.repeat(n.index(0), keys, {zero},
                              [&](Scalar i, ArrayRef<Scalar> sum) -> NodeBuilder::Scalars {
                                Scalar s = at(i);
                                if (gated) {
                                  Scalar place = wide1(decay) ? n.index(0)
                                                 : perKey     ? h * static_cast<double>(dk) + i
                                                              : h;
                                  s = s * exp(n.cast(n.at(decay, {b, t, place}), wide));
                                  set(i, s);
                                }
                                return {delta ? sum[0] + s * key(t, i) : sum[0]};
                              })[0];
      Scalar add = n.cast(n.at(v, {b, t, h * static_cast<double>(dv) + column}), wide);
      if (delta)
        add = (add - known) * n.cast(n.at(beta, {b, t, wide1(beta) ? n.index(0) : h}), wide);
      n.repeat(n.index(0), keys, [&](Scalar i) { set(i, at(i) + key(t, i) * add); });
      n.repeat(n.index(0), n.index(shared), [&](Scalar j) {
        Scalar head = h * static_cast<double>(shared) + j;
        Scalar o = n.repeat(
            n.index(0), keys, {zero}, [&](Scalar i, ArrayRef<Scalar> sum) -> NodeBuilder::Scalars {
              Scalar query = n.at(q, {b, t, head / keysOfQuery * static_cast<double>(dk) + i});
              return {sum[0] + n.cast(query, wide) * at(i)};
            })[0];
        out[0].store({b, t, head * static_cast<double>(dv) + column}, n.cast(o * scale, q.dtype));
      });
      if (!window) return;
      Scalar slot = t - n.index(in[1]) + static_cast<double>(window);
      n.ifThen(slot >= 0.0, [&] { give(slot); });
    });
    if (!window) give(std::nullopt);
  };
  std::vector<Tensor> r = n.serial({in[0], n.size(heads), n.size(dv)}, {result, state, room}, code);
  n.output(0, r[0]);
  n.output(1, r[1]);
}
ORTC_ONNX_OP("LinearAttention", since(27)) {
  linearAttention(n, 0);
}
// There may be more keys than queries, and a window of the last states.
ORTC_ONNX_OP_IN("com.microsoft", "LinearAttention", since(1)) {
  int64_t window = n.intAttr("state_window", 0);
  if (window < 0) n.error("'state_window' is {}", window);
  linearAttention(n, window);
}

// decay_scale * softplus(a + dt_bias), and sigmoid(b).
ORTC_ONNX_OP_IN("com.microsoft", "LinearAttentionGate", since(1)) {
  Tensor a = n.input(0, "a", floating), bias = n.input(1, "dt_bias", oneOf({DType::F32})),
         scale = n.input(2, "decay_scale", oneOf({DType::F32})),
         b = n.optionalInput(3, "b", oneOf({a.dtype}));
  if (a.rank() != 3) n.error("'a' is {}; expected rank 3", n.typeText(a));
  n.requireShape(bias, n.size(a, 2), "dt_bias");
  n.requireShape(scale, n.size(a, 2), "decay_scale");
  if (b) n.requireShape(b, n.sizes(a), "b");
  n.output(0, n.map({a, bias, scale}, a.dtype, [&](ArrayRef<Scalar> s) {
    Scalar v = n.cast(s[0], DType::F32) + s[1];
    return n.cast(s[2] * (max(v, 0.0) + log1p(exp(-abs(v)))), a.dtype);
  }));
  if (b)
    n.output(1, throughWide(
                    n, b, [&](Tensor w) { return n.map(w, [](Scalar v) { return sigmoid(v); }); }));
}

} // namespace ortc::opdef
