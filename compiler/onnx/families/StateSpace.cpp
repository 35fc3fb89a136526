// SPDX-License-Identifier: Apache-2.0
// Layers that carry a state along a sequence instead of attending to all of it.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

// A convolution of each channel with what came before; the last inputs are handed to the next call.
ORTC_ONNX_OP("CausalConvWithState", since(27)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weight", same), bias = n.optionalInput(2, "bias", same),
         past = n.optionalInput(3, "past_state", same);
  std::string activation = n.stringAttr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    n.error("'activation' is '{}'; expected silu, swish or none", activation);
  if (x.rank() != 3 || w.rank() != 3 || (past && past.rank() != 3))
    n.error("'input', 'weight' and 'past_state' must have rank 3");
  std::vector<Size> in = n.sizes(x);
  Size taps = n.size(w, 2);
  if (!in[1].constant() || !taps.constant())
    n.error("the channels and the sizes of 'weight' must be known while compiling");
  Size before = taps - n.size(1);
  n.requireShape(w, {in[1], n.size(1), taps}, "weight");
  if (bias) n.requireShape(bias, in[1], "bias");
  if (past) n.requireShape(past, {in[0], in[1], before}, "past_state");
  if (!past) past = n.broadcastTo(n.scalarOf(0.0, x.dtype), {in[0], in[1], before});
  Tensor all = n.concat({past, x}, 2);
  Tensor y = n.conv(all, w, {1}, {1}, {0, 0}, *in[1].constant());
  if (bias) y = n.map(y, alongChannels(n, bias, 3), [](Scalar v, Scalar b) { return v + b; });
  if (activation != "none")
    y = throughWide(n, y,
                    [&](Tensor t) { return n.map(t, [](Scalar v) { return v * sigmoid(v); }); });
  n.output(0, y);
  n.output(1, n.slice(all, {n.size(0), n.size(0), in[2]}, {in[0], in[1], before}));
}

// A matrix per head that each token decays and adds to: S = e^g S + k (v - e^g S'k) b, o = S'q. Its
// columns are independent of each other.
ORTC_ONNX_OP("LinearAttention", since(27)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.input(1, "key", same), v = n.input(2, "value", same),
         past = n.optionalInput(3, "past_state", floating),
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
  if (heads < 1 || qHeads < 1 || qHeads % heads || !keyWidth.constant() || !valueWidth.constant() ||
      *keyWidth.constant() % heads || *valueWidth.constant() % heads)
    n.error("{} heads of the query and {} of keys and values do not fit {} and {}", qHeads, heads,
            n.typeText(k), n.typeText(v));
  int64_t dk = *keyWidth.constant() / heads, dv = *valueWidth.constant() / heads,
          shared = qHeads / heads;
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
  NodeBuilder::OutType result{{in[0], in[1], n.size(qHeads * dv)}, q.dtype},
      state{stateShape, stateType}, room{stateShape, wide};
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
        Scalar o = n.repeat(n.index(0), keys, {zero},
                            [&](Scalar i, ArrayRef<Scalar> sum) -> NodeBuilder::Scalars {
                              Scalar query = n.at(q, {b, t, head * static_cast<double>(dk) + i});
                              return {sum[0] + n.cast(query, wide) * at(i)};
                            })[0];
        out[0].store({b, t, head * static_cast<double>(dv) + column}, n.cast(o * scale, q.dtype));
      });
    });
    n.repeat(n.index(0), keys,
             [&](Scalar i) { out[1].store({b, h, i, column}, n.cast(at(i), stateType)); });
  };
  std::vector<Tensor> r = n.serial({in[0], n.size(heads), n.size(dv)}, {result, state, room}, code);
  n.output(0, r[0]);
  n.output(1, r[1]);
}

} // namespace ortc::opdef
