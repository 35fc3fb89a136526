// SPDX-License-Identifier: Apache-2.0
// What optimisers of ONNX Runtime put several nodes of the standard together as (com.microsoft):
// products with an activation, norms of sums, variants of Gelu, attention of transformers.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

static Tensor sum(NodeBuilder& n, Tensor a, Tensor b) {
  return n.map(a, b, [](Scalar v, Scalar w) { return v + w; });
}

// ---- activations ----

static Scalar gelu(Scalar v) {
  return v * 0.5 * (erf(v * (1 / std::sqrt(2.0))) + 1.0);
}
ORTC_ONNX_OP_IN("com.microsoft", "Gelu", since(1)) {
  Tensor x = n.input(0, "X", floating);
  n.output(0, throughWide(n, x, [&](Tensor w) { return n.map(w, gelu); }));
}
ORTC_ONNX_OP_IN("com.microsoft", "BiasGelu", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype}));
  n.output(0, throughWide(n, a, [&](Tensor w) { return n.map(sum(n, w, widened(n, b)), gelu); }));
}
static Tensor fastGelu(NodeBuilder& n, Tensor x, Tensor bias) {
  return throughWide(n, x, [&](Tensor w) {
    if (bias) w = sum(n, w, widened(n, bias));
    return n.map(w, [](Scalar v) {
      Scalar inner = v * (v * v * 0.035677408136300125 + 0.7978845608028654);
      return v * 0.5 * (tanh(inner) + 1.0);
    });
  });
}
ORTC_ONNX_OP_IN("com.microsoft", "FastGelu", since(1)) {
  Tensor x = n.input(0, "X", floating), bias = n.optionalInput(1, "bias", oneOf({x.dtype}));
  n.output(0, fastGelu(n, x, bias));
}
ORTC_ONNX_OP_IN("com.microsoft", "GemmFastGelu", since(1)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         bias = n.optionalInput(2, "bias", oneOf({x.dtype}));
  n.output(0, fastGelu(n, n.matmul(x, w), bias));
}
ORTC_ONNX_OP_IN("com.microsoft", "QuickGelu", since(1)) {
  double alpha = n.floatAttr("alpha", 1.702);
  Tensor x = n.input(0, "X", floating);
  n.output(0, throughWide(n, x, [&](Tensor w) {
             return n.map(w, [&](Scalar v) { return v * sigmoid(v * alpha); });
           }));
}
// x1 * gelu(x2) of the two halves of x + bias
ORTC_ONNX_OP_IN("com.microsoft", "BiasSplitGelu", since(1)) {
  Tensor x = n.input(0, "X", floating), bias = n.input(1, "bias", oneOf({x.dtype}));
  if (bias.rank() != 1) n.error("'bias' has rank {}; expected 1", bias.rank());
  Tensor all = sum(n, widened(n, x), widened(n, bias));
  std::vector<Size> shape = n.sizes(x);
  Size half = shape.back() / n.size(2);
  shape.back() = half;
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> at(o);
    at.back() = o.back() + n.index(half);
    return n.cast(n.at(all, o) * gelu(n.at(all, at)), x.dtype);
  }));
}

/// The activation that a fused product names, with its parameters.
static Tensor activated(NodeBuilder& n, Tensor y, ArrayRef<float> given) {
  std::string name = n.stringAttr("activation", "");
  auto parameter = [&](size_t i, double otherwise) {
    return i < given.size() ? static_cast<double>(given[i]) : otherwise;
  };
  if (name.empty()) return y;
  double a = parameter(0, name == "HardSigmoid" ? 0.2 : 0.01), b = parameter(1, 0.5);
  return n.map(y, [&](Scalar v) {
    if (name == "Relu") return max(v, 0.0);
    if (name == "Sigmoid") return sigmoid(v);
    if (name == "Tanh") return tanh(v);
    if (name == "LeakyRelu") return select(v < 0.0, v * a, v);
    if (name == "Clip") return max(min(v, parameter(1, INFINITY)), parameter(0, -INFINITY));
    if (name == "HardSigmoid") return clamp(v * a + b, 0, 1);
    n.error("'activation' is '{}'; expected Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid",
            name);
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "FusedConv", since(1)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         bias = n.optionalInput(2, "B", oneOf({x.dtype})),
         z = n.optionalInput(3, "Z", oneOf({x.dtype}));
  Tensor y = convolution(n, x, w, std::nullopt);
  if (bias) {
    n.requireShape(bias, n.size(y, 1), "B");
    y = sum(n, y, alongChannels(n, bias, y.rank()));
  }
  if (z) y = sum(n, y, z);
  n.output(0, activated(n, y, n.floatsAttr("activation_params", std::vector<float>{})));
}
ORTC_ONNX_OP_IN("com.microsoft", "FusedGemm", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype})),
         c = n.optionalInput(2, "C", oneOf({a.dtype}));
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (n.hasAttr(name)) parameters.push_back(static_cast<float>(n.floatAttr(name)));
  n.output(0, activated(n, gemm(n, a, b, c), parameters));
}

/// `batch`: the first dim goes before the last two are taken as a matrix.
static Tensor matrixOf(NodeBuilder& n, Tensor t, bool transposed, bool batch) {
  int64_t rank = t.rank();
  if (rank < 2) return t;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    order.push_back(d);
  if (batch) { // [M, batch.., K] to [batch.., M, K]
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (transposed) std::swap(order[rank - 2], order[rank - 1]);
  return n.transpose(t, order);
}
static void fusedMatMul(NodeBuilder& n) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype}));
  double alpha = n.floatAttr("alpha", 1.0);
  a = matrixOf(n, a, n.flagAttr("transA", false), n.flagAttr("transBatchA", false));
  b = matrixOf(n, b, n.flagAttr("transB", false), n.flagAttr("transBatchB", false));
  Tensor y = n.matmul(a, b);
  n.output(0, alpha == 1 ? y : n.map(y, [&](Scalar v) { return v * alpha; }));
}
ORTC_ONNX_OP_IN("com.microsoft", "FusedMatMul", since(1)) {
  fusedMatMul(n);
}
ORTC_ONNX_OP_IN("com.microsoft", "TransposeMatMul", since(1)) {
  fusedMatMul(n);
}

// ---- norms ----

static void skipNorm(NodeBuilder& n, bool simple) {
  Tensor x = n.input(0, "input", floating), skip = n.input(1, "skip", oneOf({x.dtype})),
         gamma = n.input(2, "gamma", oneOf({x.dtype}));
  Tensor beta = simple ? Tensor() : n.optionalInput(3, "beta", oneOf({x.dtype})),
         bias = n.optionalInput(simple ? 3 : 4, "bias", oneOf({x.dtype}));
  Tensor all = sum(n, x, skip);
  if (bias) all = sum(n, all, bias);
  n.output(0, normalised(n, all, gamma, beta, n.floatAttr("epsilon", 1e-12), !simple));
  n.output(3, all);
}
ORTC_ONNX_OP_IN("com.microsoft", "SkipLayerNormalization", since(1)) {
  skipNorm(n, false);
}
ORTC_ONNX_OP_IN("com.microsoft", "SkipSimplifiedLayerNormalization", since(1)) {
  skipNorm(n, true);
}
// ONNX Runtime's own operator in the standard's domain.
ORTC_ONNX_OP("SimplifiedLayerNormalization", since(1)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "scale", oneOf({x.dtype}));
  if (n.axis(n.intAttr("axis", -1), x.rank()) != x.rank() - 1)
    n.error("'axis' is {}; only the last axis is supported", n.intAttr("axis", -1));
  n.output(0, normalised(n, x, scale, {}, n.floatAttr("epsilon", 1e-5), false));
}

ORTC_ONNX_OP_IN("com.microsoft", "EmbedLayerNormalization", since(1)) {
  Tensor ids = n.input(0, "input_ids", indexInteger),
         segments = n.optionalInput(1, "segment_ids", indexInteger),
         words = n.input(2, "word_embedding", floating),
         places = n.input(3, "position_embedding", oneOf({words.dtype})),
         kinds = n.optionalInput(4, "segment_embedding", oneOf({words.dtype})),
         gamma = n.input(5, "gamma", oneOf({words.dtype})),
         beta = n.input(6, "beta", oneOf({words.dtype})),
         mask = n.optionalInput(7, "mask", indexInteger),
         positions = n.optionalInput(8, "position_ids", indexInteger);
  if (ids.rank() != 2 || words.rank() != 2 || places.rank() != 2)
    n.error("'input_ids' and the tables must have rank 2");
  if (gamma.rank() != 1 || beta.rank() != 1)
    n.error("'gamma' and 'beta' have ranks {} and {}; expected 1", gamma.rank(), beta.rank());
  std::vector<Size> s = n.sizes(ids), shape{s[0], s[1], n.size(words, 1)};
  n.requireIndices(ids, n.size(words, 0), "input_ids", /*negative=*/false);
  if (positions) n.requireIndices(positions, n.size(places, 0), "position_ids", false);
  if (segments && kinds) n.requireIndices(segments, n.size(kinds, 0), "segment_ids", false);
  Tensor all = n.generate(shape, words.dtype, [&](ArrayRef<Scalar> o) {
    Scalar v = n.at(words, {safeIndex(n, n.at(ids, {o[0], o[1]}), n.size(words, 0)), o[2]});
    Scalar p = o[1];
    if (positions)
      p = n.toIndex(n.at(positions, {n.size(positions, 0).is(1) ? n.index(0) : o[0], o[1]}));
    v = v + n.at(places, {safeIndex(n, p, n.size(places, 0)), o[2]});
    if (segments && kinds)
      v = v + n.at(kinds, {safeIndex(n, n.at(segments, {o[0], o[1]}), n.size(kinds, 0)), o[2]});
    return v;
  });
  n.output(0, normalised(n, all, gamma, beta, n.floatAttr("epsilon", 1e-12), true));
  if (mask) // how many words each row has
    n.output(1, n.reduce(n.castTo(mask, DType::I32), 1, false, 0,
                         [](Scalar c, Scalar v) { return c + v; }));
  else
    n.output(1, n.broadcastTo(n.scalarOf(0.0, DType::I32), s[0]));
  n.output(2, all);
}

// ---- attention ----

namespace {
struct Heads {
  Tensor q, k, v; ///< [B, H, S, D], [B, H, T, D], [B, H, T, Dv]
};
} // namespace

/// softmax(scale q k' + what `adjust` adds) v, as [B, S, H * Dv].
static Tensor attended(
    NodeBuilder& n, const Heads& h, double scale,
    llvm::function_ref<Scalar(Scalar score, Scalar b, Scalar head, Scalar i, Scalar j)> adjust) {
  DType type = h.q.dtype;
  std::vector<Size> q = n.sizes(h.q), v = n.sizes(h.v);
  Tensor scores = n.contract(h.q, h.k, "bhsd,bhtd->bhst");
  scores = n.map(scores, wideType(type), [&](Scalar x) {
    Scalar w = n.cast(x, wideType(type)) * scale;
    return adjust(w, loopIndex(n, 0), loopIndex(n, 1), loopIndex(n, 2), loopIndex(n, 3));
  });
  Tensor p = n.castTo(softmaxOver(n, scores, 3, false), type);
  Tensor y = n.contract(p, h.v, "bhst,bhtd->bhsd");
  return n.reshape(n.transpose(y, {0, 2, 1, 3}), {q[0], q[2], q[1] * v[3]});
}

/// [B, S, H * D] as [B, H, S, D].
static Tensor perHead(NodeBuilder& n, Tensor t, int64_t heads) {
  std::vector<Size> s = n.sizes(t);
  if (t.rank() != 3) n.error("an input is {}; expected rank 3", n.typeText(t));
  if (heads < 1 || (s[2].constant() && *s[2].constant() % heads))
    n.error("'num_heads' is {}, which does not divide {}", heads, n.typeText(t));
  return n.transpose(n.reshape(t, {s[0], s[1], n.size(heads), s[2] / n.size(heads)}), {0, 2, 1, 3});
}

/// What masks add to a score: [B] or [B, T] or [B, S, T] of 0 and 1, a bias that broadcasts, and
/// the order of tokens.
static Tensor maskedAttention(NodeBuilder& n, const Heads& h, Tensor mask, Tensor bias, Size past) {
  double filter = n.floatAttr("mask_filter_value", -10000.0);
  bool causal = n.flagAttr("unidirectional", false);
  std::vector<Size> q = n.sizes(h.q);
  Size B = q[0];
  if (!q[3].constant()) n.error("the size of a head must be known while compiling");
  double scale = n.floatAttr("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*q[3].constant()));
  if (mask && mask.rank() > 3) n.error("a mask of rank {} is not supported", mask.rank());
  bool both = mask && mask.rank() == 1 && !same(n.size(mask, 0), B);
  if (both && !(n.size(mask, 0).constant() && B.constant() &&
                *n.size(mask, 0).constant() == 2 * *B.constant()))
    n.error("a mask of {} for {} is not supported", n.typeText(mask), n.typeText(h.q));
  return attended(n, h, scale, [&](Scalar x, Scalar b, Scalar head, Scalar i, Scalar j) {
    if (mask) {
      Scalar visible;
      if (mask.rank() == 1) {
        visible = j < n.toIndex(n.at(mask, b));
        if (both) visible = bitAnd(visible, j >= n.toIndex(n.at(mask, b + n.index(B))));
      } else if (mask.rank() == 2) {
        visible = notEqual(n.at(mask, {b, j}), 0.0);
      } else {
        visible = notEqual(n.at(mask, {b, i, j}), 0.0);
      }
      x = select(visible, x, x + filter);
    }
    if (bias) {
      auto dim = [&](int64_t d, Scalar at) { return n.size(bias, d).is(1) ? n.index(0) : at; };
      x = x +
          n.cast(n.at(bias, {dim(0, b), dim(1, head), dim(2, i), dim(3, j)}), wideType(h.q.dtype));
    }
    if (causal) x = select(j <= i + n.index(past), x, -3.4028234663852886e38);
    return x;
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "MultiHeadAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         bias = n.optionalInput(3, "bias", same),
         mask = n.optionalInput(4, "key_padding_mask", indexInteger),
         extra = n.optionalInput(5, "attention_bias", same),
         pastK = n.optionalInput(6, "past_key", same),
         pastV = n.optionalInput(7, "past_value", same);
  if (!k || !v || q.rank() != 3) n.error("packed queries, keys and values are not supported");
  if (n.hasInput(8) || n.hasInput(9)) n.error("shared buffers of past keys are not supported");
  int64_t heads = n.intAttr("num_heads");
  if (bias) {
    Size from = n.size(0);
    for (Tensor* t : {&q, &k, &v}) {
      if (t->rank() != 3) continue;
      Size width = n.size(*t, 2);
      *t = sum(n, *t, n.slice(bias, from, width));
      from = from + width;
    }
  }
  Heads h{perHead(n, q, heads), k.rank() == 4 ? k : perHead(n, k, heads),
          v.rank() == 4 ? v : perHead(n, v, heads)};
  Size past = n.size(0);
  if (!pastK != !pastV) n.error("'past_key' and 'past_value' must be given together");
  if (pastK) {
    past = n.size(pastK, 2);
    h.k = n.concat({pastK, h.k}, 2), h.v = n.concat({pastV, h.v}, 2);
  }
  n.output(0, maskedAttention(n, h, mask, extra, past));
  n.output(1, h.k);
  n.output(2, h.v);
}

ORTC_ONNX_OP_IN("com.microsoft", "Attention", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weights", same), bias = n.optionalInput(2, "bias", same),
         mask = n.optionalInput(3, "mask_index", indexInteger),
         past = n.optionalInput(4, "past", same),
         extra = n.optionalInput(5, "attention_bias", same);
  if (n.flagAttr("do_rotary", false) || n.flagAttr("past_present_share_buffer", false) ||
      n.hasInput(6))
    n.error("rotary embedding and shared buffers are not supported");
  int64_t heads = n.intAttr("num_heads");
  Size all = n.size(w, 1);
  if (x.rank() != 3 || w.rank() != 2 || !all.constant())
    n.error("the input is {} and the weights {}; expected ranks 3 and 2", n.typeText(x),
            n.typeText(w));
  std::vector<int64_t> widths =
      n.intsAttr("qkv_hidden_sizes", std::vector<int64_t>(3, *all.constant() / 3));
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != *all.constant())
    n.error("'qkv_hidden_sizes' does not fit weights of {}", n.typeText(w));
  Tensor projected = n.matmul(x, w);
  if (bias) projected = sum(n, projected, bias);
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (int64_t width : widths) {
    std::vector<Size> sizes = n.sizes(projected), starts(3, n.size(0));
    starts[2] = n.size(from), sizes[2] = n.size(width);
    parts.push_back(perHead(n, n.slice(projected, starts, sizes), heads));
    from += width;
  }
  Heads h{parts[0], parts[1], parts[2]};
  Size before = n.size(0);
  if (past) {
    if (past.rank() != 5) n.error("'past' is {}; expected rank 5", n.typeText(past));
    before = n.size(past, 3);
    for (int64_t i : {0, 1}) {
      std::vector<Size> starts(5, n.size(0)), sizes = n.sizes(past),
                                              shape(sizes.begin() + 1, sizes.end());
      starts[0] = n.size(i), sizes[0] = n.size(1);
      Tensor old = n.reshape(n.slice(past, starts, sizes), shape);
      Tensor& t = i ? h.v : h.k;
      t = n.concat({old, t}, 2);
    }
  }
  n.output(0, maskedAttention(n, h, mask, extra, before));
  if (!n.wantsOutput(1)) return;
  std::vector<Tensor> present;
  for (Tensor t : {h.k, h.v}) {
    std::vector<Size> shape = n.sizes(t);
    shape.insert(shape.begin(), n.size(1));
    present.push_back(n.reshape(t, shape));
  }
  n.output(1, n.concat(present, 0));
}

} // namespace ortc::opdef
