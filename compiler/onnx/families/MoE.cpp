// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts (com.microsoft): a router chooses a few networks for each token, and only the
// weights of those are read.
#include "compiler/onnx/families/BlockQuantized.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

/// In the code of NodeBuilder::serial: visits the `count` largest of value(0 .. extent - 1) from
/// the largest on, of equal ones the first. The search goes on behind the last one found.
static void visitLargest(NodeBuilder& n, Scalar count, Scalar extent, Type type,
                         llvm::function_ref<Scalar(Scalar i)> value,
                         llvm::function_ref<void(Scalar rank, Scalar i, Scalar v)> visit) {
  Scalar none = n.index(-1);
  n.repeat(n.index(0), count, {n.literal(INFINITY, type), none},
           [&](Scalar rank, ArrayRef<Scalar> last) {
             NodeBuilder::Scalars best =
                 n.repeat(n.index(0), extent, {n.literal(-INFINITY, type), none},
                          [&](Scalar i, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
                            Scalar v = value(i);
                            Scalar left =
                                bitOr(v < last[0], bitAnd(equal(v, last[0]), i > last[1]));
                            Scalar better = bitAnd(left, bitOr(c[1]<0.0, v> c[0]));
                            return {select(better, v, c[0]), select(better, i, c[1])};
                          });
             // What compares with nothing (NaN) is never found.
             n.ifThen(best[1] >= 0.0, [&] { visit(rank, best[1], best[0]); });
             return best;
           });
}

namespace {
/// A layer of all experts: [E, rows, columns].
struct Layer {
  Size rows, columns;
  std::function<Scalar(Scalar expert, Scalar row, Scalar column)> weight; ///< as f32 or f64
  Tensor bias; ///< [E, rows]; may be absent
};
struct Experts {
  Layer in, out, linear; ///< `linear` has no weights where gate and linear half are in `in`
};
struct Choice {
  Tensor experts; ///< [tokens, k], i64
  Tensor share;   ///< [tokens, k]
};
} // namespace

/// The k best experts of each token by their logits, and how much each counts: its probability
/// among all, or among the chosen. `mixing` gives other numbers for that.
static Choice choose(NodeBuilder& n, Tensor logits, Tensor mixing, int64_t k, bool normalise) {
  DType wide = wideType(logits.dtype);
  Size tokens = n.size(logits, 0), experts = n.size(logits, 1);
  if (k < 1) n.error("'k' is {}", k);
  n.requireNonNegative(experts - n.size(k), "'k' is larger than the number of experts");
  Tensor share = mixing ? n.castTo(mixing, wide)
                        : softmaxOver(n, n.castTo(logits, wide), 1, /*logarithm=*/false);
  std::vector<Size> shape{tokens, n.size(k)};
  Type type = n.typeOf(wide);
  auto code = [&](ArrayRef<Scalar> t, ArrayRef<Out> out) {
    n.repeat(n.index(0), n.index(k), [&](Scalar i) { // for logits that compare with nothing
      out[0].store({t[0], i}, n.fromIndex(n.index(0), DType::I64));
      out[1].store({t[0], i}, n.literal(0, type));
    });
    visitLargest(
        n, n.index(k), n.index(experts), type,
        [&](Scalar e) { return n.cast(n.at(logits, {t[0], e}), wide); },
        [&](Scalar rank, Scalar e, Scalar) {
          out[0].store({t[0], rank}, n.fromIndex(e, DType::I64));
          out[1].store({t[0], rank}, n.at(share, {t[0], e}));
        });
  };
  std::vector<Tensor> r = n.serial(tokens, {{shape, DType::I64}, {shape, wide}}, code);
  if (normalise) {
    Tensor sum = n.reduce(r[1], 1, true, 0, [](Scalar c, Scalar v) { return c + v; });
    r[1] = n.map(r[1], sum, [](Scalar v, Scalar s) { return v / select(equal(s, 0.0), 1.0, s); });
  }
  return {r[0], r[1]};
}

/// The layer of each token's experts on x, [tokens, k, columns] or [tokens, columns]; [tokens, k,
/// rows].
static Tensor through(NodeBuilder& n, const Layer& layer, Tensor x, Tensor experts, DType wide,
                      Size count) {
  std::vector<Size> shape = n.sizes(experts);
  shape.push_back(layer.rows);
  auto expert = [&](ArrayRef<Scalar> i) {
    return safeIndex(n, n.at(experts, {i[0], i[1]}), count);
  };
  bool each = x.rank() == 3;
  Tensor y = n.generateReduce(shape, layer.columns, wide, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    SmallVector<Scalar> at{i[0]};
    if (each) at.push_back(i[1]);
    at.push_back(i[3]);
    return c + n.cast(n.at(x, at), wide) * layer.weight(expert(i), i[2], i[3]);
  });
  if (!layer.bias) return y;
  return n.map(y, [&](Scalar v) {
    Scalar i[] = {loopIndex(n, 0), loopIndex(n, 1)};
    return v + n.cast(n.at(layer.bias, {expert(i), loopIndex(n, 2)}), wide);
  });
}

static Scalar tanhGelu(Scalar v) {
  return v * 0.5 * (tanh(v * (v * v * 0.035677408136300125 + 0.7978845608028654)) + 1.0);
}

/// The node's activation of what the first layer gives, [tokens, k, width]; gated ones take pairs.
static Tensor activated(NodeBuilder& n, Tensor h, Tensor linear, Size width, int64_t fusion) {
  std::string name = n.stringAttr("activation_type", "relu");
  bool gated = name == "swiglu" || name == "geglu";
  if (!gated)
    return n.map(h, [&](Scalar v) {
      if (name == "relu") return max(v, 0.0);
      if (name == "relu2") return max(v, 0.0) * max(v, 0.0);
      if (name == "gelu") return tanhGelu(v);
      if (name == "silu") return v * sigmoid(v);
      if (name == "identity") return v;
      n.error("'activation_type' is '{}'; expected relu, relu2, gelu, silu, swiglu, geglu or "
              "identity",
              name);
    });
  double alpha = n.floatAttr("activation_alpha", 1.0), beta = n.floatAttr("activation_beta", 0.0),
         limit = n.floatAttr("swiglu_limit", INFINITY);
  bool after = n.flagAttr("swiglu_limit_after_activation", false);
  auto pair = [&](Scalar g, Scalar l) {
    if (name == "geglu") return tanhGelu(g) * l;
    if (!after) g = min(g, limit);
    l = clamp(l, -limit, limit);
    g = g * sigmoid(g * alpha);
    if (after) g = min(g, limit);
    return g * (l + beta);
  };
  if (linear) return n.map(h, linear, pair);
  std::vector<Size> shape = n.sizes(h);
  shape[2] = width;
  return n.generate(shape, h.dtype, [&](ArrayRef<Scalar> o) {
    Scalar first = fusion == 1 ? o[2] * 2.0 : o[2];
    Scalar second = fusion == 1 ? first + 1.0 : first + n.index(width);
    return pair(n.at(h, {o[0], o[1], first}), n.at(h, {o[0], o[1], second}));
  });
}

static int64_t fusionOf(NodeBuilder& n) {
  std::string name = n.stringAttr("activation_type", "relu");
  int64_t fusion = n.intAttr("swiglu_fusion", 0);
  if (fusion < 0 || fusion > 2) n.error("'swiglu_fusion' is {}; expected 0, 1 or 2", fusion);
  if (name == "geglu" && !fusion) n.error("'activation_type' geglu needs 'swiglu_fusion' 1 or 2");
  return name == "swiglu" || name == "geglu" ? fusion : 0;
}

/// x and the logits of the router, checked: x as [tokens, hidden].
static Tensor tokensOf(NodeBuilder& n, Tensor x, Tensor logits, Size experts) {
  if ((x.rank() != 2 && x.rank() != 3) || logits.rank() != 2)
    n.error("'input' is {} and 'router_probs' {}; expected rank 2 or 3, and 2", n.typeText(x),
            n.typeText(logits));
  if (n.intAttr("use_sparse_mixer", 0)) n.error("'use_sparse_mixer' is not supported");
  std::vector<Size> in = n.sizes(x);
  Size tokens = x.rank() == 2 ? in[0] : in[0] * in[1];
  n.requireShape(logits, {tokens, experts}, "router_probs");
  return n.reshape(x, {tokens, in.back()});
}

static void mixture(NodeBuilder& n, Tensor x, Tensor tokens, const Choice& choice,
                    const Experts& all, Size count, int64_t fusion) {
  DType wide = wideType(x.dtype);
  Tensor h = through(n, all.in, tokens, choice.experts, wide, count), linear;
  if (all.linear.weight) linear = through(n, all.linear, tokens, choice.experts, wide, count);
  h = activated(n, h, linear, all.out.columns, fusion);
  Tensor y = through(n, all.out, h, choice.experts, wide, count);
  std::vector<Size> shape = n.sizes(choice.share);
  shape.push_back(n.size(1));
  y = n.map(y, n.reshape(choice.share, shape), [](Scalar v, Scalar s) { return v * s; });
  y = n.reduce(y, 1, false, 0, [](Scalar c, Scalar v) { return c + v; });
  n.output(0, n.castTo(n.reshape(y, n.sizes(x)), x.dtype));
}

ORTC_ONNX_OP_IN("com.microsoft", "MoE", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor logits = n.input(1, "router_probs", same), w1 = n.input(2, "fc1_experts_weights", same),
         b1 = n.optionalInput(3, "fc1_experts_bias", same),
         w2 = n.input(4, "fc2_experts_weights", same),
         b2 = n.optionalInput(5, "fc2_experts_bias", same),
         w3 = n.optionalInput(6, "fc3_experts_weights", same),
         b3 = n.optionalInput(7, "fc3_experts_bias", same);
  if (w1.rank() != 3 || w2.rank() != 3)
    n.error("the weights are {} and {}; expected rank 3", n.typeText(w1), n.typeText(w2));
  Size experts = n.size(w1, 0), inner = n.size(w2, 2), hidden = n.size(x, x.rank() - 1);
  Tensor tokens = tokensOf(n, x, logits, experts);
  int64_t fusion = fusionOf(n);
  DType wide = wideType(x.dtype);
  auto layer = [&](Tensor w, Tensor bias, Size rows, Size columns, StringRef name) -> Layer {
    n.requireShape(w, {experts, rows, columns}, name.str() + "_experts_weights");
    if (bias) n.requireShape(bias, {experts, rows}, name.str() + "_experts_bias");
    auto at = [&n, w, wide](Scalar e, Scalar r, Scalar c) {
      return n.cast(n.at(w, {e, r, c}), wide);
    };
    return {rows, columns, at, bias};
  };
  bool apart = n.stringAttr("activation_type", "relu") == "swiglu" && !fusion;
  if (apart != bool(w3)) n.error("'fc3_experts_weights' and 'swiglu_fusion' do not fit each other");
  Experts all{layer(w1, b1, fusion ? inner * n.size(2) : inner, hidden, "fc1"),
              layer(w2, b2, hidden, inner, "fc2"),
              {}};
  if (w3) all.linear = layer(w3, b3, inner, hidden, "fc3");
  Choice choice =
      choose(n, logits, {}, n.intAttr("k", 1), n.flagAttr("normalize_routing_weights", false));
  mixture(n, x, tokens, choice, all, experts, fusion);
}

// The same with weights of 2, 4 or 8 bits: a scale for each row, or for each block of it.
ORTC_ONNX_OP_IN("com.microsoft", "QMoE", since(1)) {
  static const TypeSet bytes = oneOf({DType::U8});
  Tensor x = n.input(0, "input", floating);
  Tensor logits = n.input(1, "router_probs", oneOf({x.dtype})),
         mixing = n.optionalInput(14, "router_weights", oneOf({x.dtype}));
  std::string kind = n.stringAttr("quant_type", "int");
  if (kind != "int") n.error("'quant_type' is '{}'; only int is supported", kind);
  if (n.intAttr("weights_prepacked", -1) == 1) n.error("prepacked weights are not supported");
  int64_t block = n.intAttr("block_size", 0), bits = n.intAttr("expert_weight_bits", 4),
          fusion = fusionOf(n);
  if (block && block < 16) n.error("'block_size' is {}; expected at least 16", block);
  Tensor w1 = n.input(2, "fc1_experts_weights", bytes),
         w2 = n.input(5, "fc2_experts_weights", bytes);
  if (w1.rank() != 3 || w2.rank() != 3)
    n.error("the weights are {} and {}; expected rank 3", n.typeText(w1), n.typeText(w2));
  Size experts = n.size(w1, 0), hidden = n.size(x, x.rank() - 1);
  Tensor tokens = tokensOf(n, x, logits, experts);
  if (mixing) n.requireShape(mixing, n.sizes(logits), "router_weights");
  DType wide = wideType(x.dtype);
  auto bitsOf = [&](StringRef name) {
    int64_t own = n.intAttr(name.str() + "_expert_weight_bits", bits);
    if (own != 2 && own != 4 && own != 8)
      n.error("the weights of '{}' have {} bits; expected 2, 4 or 8", name.str(), own);
    return own;
  };
  Size inner = n.size(w2, 2) * n.size(8 / bitsOf("fc2"));
  // Weights, scales, bias at input i and on; zero points at `z`.
  auto layer = [&](size_t i, size_t z, Size rows, Size columns, std::string name) -> Layer {
    int64_t own = bitsOf(name);
    Size perByte = n.size(8 / own);
    Tensor w = n.input(i, name + "_experts_weights", bytes),
           scales = n.input(i + 1, name + "_scales", floating),
           bias = n.optionalInput(i + 2, name + "_experts_bias", oneOf({x.dtype})),
           zeros = n.optionalInput(z, name + "_zero_points", bytes);
    n.requireShape(w, {experts, rows, columns / perByte}, name + "_experts_weights");
    if (bias) n.requireShape(bias, {experts, rows}, name + "_experts_bias");
    Size blocks = block ? ceilDiv(columns, n.size(block)) : n.size(1);
    if (block) {
      n.requireShape(scales, {experts, rows, blocks}, name + "_scales");
      if (zeros)
        n.requireShape(zeros, {experts, rows, ceilDiv(blocks, perByte)}, name + "_zero_points");
    } else {
      n.requireShape(scales, {experts, rows}, name + "_scales");
      if (zeros) n.requireShape(zeros, {experts, ceilDiv(rows, perByte)}, name + "_zero_points");
    }
    auto at = [&n, w, scales, zeros, wide, own, block](Scalar e, Scalar r, Scalar c) {
      Scalar q = numberAt(n, c, own, [&](Scalar k) { return n.at(w, {e, r, k}); });
      SmallVector<Scalar> place{e, r};
      if (block) place.push_back(c / static_cast<double>(block));
      Scalar v;
      if (zeros) {
        Scalar zero = numberAt(n, place.back(), own, [&](Scalar k) {
          SmallVector<Scalar> i(place);
          i.back() = k;
          return n.at(zeros, i);
        });
        v = n.cast(q - zero, wide);
      } else {
        v = n.cast(q, wide) - static_cast<double>(int64_t(1) << (own - 1));
      }
      return v * n.cast(n.at(scales, place), wide);
    };
    return {rows, columns, at, bias};
  };
  bool apart = n.stringAttr("activation_type", "relu") == "swiglu" && !fusion;
  if (apart != n.hasInput(8))
    n.error("'fc3_experts_weights' and 'swiglu_fusion' do not fit each other");
  Experts all{layer(2, 11, fusion ? inner * n.size(2) : inner, hidden, "fc1"),
              layer(5, 12, hidden, inner, "fc2"),
              {}};
  if (apart) all.linear = layer(8, 13, inner, hidden, "fc3");
  Choice choice =
      choose(n, logits, mixing, n.intAttr("k", 1), n.flagAttr("normalize_routing_weights", false));
  mixture(n, x, tokens, choice, all, experts, fusion);
}

// Experts by their sigmoids plus a bias: the best groups by the sum of their best, then the best of
// these groups. Chosen ones get log(sigmoid), the others a number that says that they are not.
ORTC_ONNX_OP_IN("com.microsoft", "MoEGroupRouter", since(1)) {
  Tensor x = n.input(0, "logits", floating), bias = n.input(1, "expert_bias", oneOf({DType::F32})),
         w = n.optionalInput(2, "projection_weight", oneOf({x.dtype}));
  int64_t top = n.intAttr("top_k"), groups = n.intAttr("n_group", 1),
          groupTop = n.intAttr("group_topk", 2), topGroups = n.intAttr("topk_group", 1);
  double sentinel = n.floatAttr("router_sentinel", -10000.0);
  if (top < 1 || groups < 1 || groupTop < 1 || topGroups < 1 || topGroups > groups)
    n.error("'top_k' is {}, 'n_group' {}, 'group_topk' {} and 'topk_group' {}", top, groups,
            groupTop, topGroups);
  if (x.rank() < 1) n.error("'logits' is a scalar");
  std::vector<Size> in = n.sizes(x);
  Size last = in.back(), tokens = product(n, ArrayRef<Size>(in).drop_back());
  Tensor logits = n.castTo(n.reshape(x, {tokens, last}), DType::F32);
  if (w) {
    if (w.rank() != 2) n.error("'projection_weight' is {}; expected rank 2", n.typeText(w));
    logits = n.contract(logits, n.castTo(w, DType::F32), "tk,ek->te");
  }
  Size experts = n.size(logits, 1);
  n.requireShape(bias, experts, "expert_bias");
  if (experts.constant() && (*experts.constant() % groups || top > *experts.constant()))
    n.error("{} experts in {} groups, of which {} are chosen", *experts.constant(), groups, top);
  Tensor score = n.map(logits, [](Scalar v) { return sigmoid(v); });
  Tensor ranked = n.map(score, bias, [](Scalar v, Scalar b) { return v + b; });
  n.output(1, ranked);
  n.output(2, score);
  if (!n.wantsOutput(0)) return;
  Size each = experts / n.size(groups);
  Type f32 = n.b.getF32Type();
  std::vector<Size> perGroup{tokens, n.size(groups)};
  auto code = [&](ArrayRef<Scalar> t, ArrayRef<Out> out) {
    Scalar zero = n.index(0), size = n.index(each);
    n.repeat(zero, n.index(experts),
             [&](Scalar e) { out[0].store({t[0], e}, n.literal(sentinel, f32)); });
    n.repeat(zero, n.index(groups), [&](Scalar g) {
      out[1].store({t[0], g}, n.literal(0, f32));
      out[2].store({t[0], g}, n.literal(0, f32));
      visitLargest(
          n, min(n.index(groupTop), size), size, f32,
          [&](Scalar i) { return n.at(ranked, {t[0], g * size + i}); },
          [&](Scalar, Scalar, Scalar v) { out[1].store({t[0], g}, out[1].load({t[0], g}) + v); });
    });
    visitLargest(
        n, n.index(topGroups), n.index(groups), f32,
        [&](Scalar g) { return out[1].load({t[0], g}); },
        [&](Scalar, Scalar g, Scalar) { out[2].store({t[0], g}, n.literal(1, f32)); });
    visitLargest(
        n, n.index(top), n.index(experts), f32,
        [&](Scalar e) {
          return select(equal(out[2].load({t[0], e / size}), 1.0), n.at(ranked, {t[0], e}),
                        -INFINITY);
        },
        [&](Scalar, Scalar e, Scalar) {
          out[0].store({t[0], e}, log(max(n.at(score, {t[0], e}), 1e-20)));
        });
  };
  Tensor r = n.serial(
      tokens, {{{tokens, experts}, DType::F32}, {perGroup, DType::F32}, {perGroup, DType::F32}},
      code)[0];
  n.output(0, n.castTo(r, x.dtype));
}

} // namespace ortc::opdef
