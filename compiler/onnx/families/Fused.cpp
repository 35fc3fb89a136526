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

/// activation(conv + bias + z); `last`: x, z and the result have their channels in the last dim.
static void fusedConv(NodeBuilder& n, bool last) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         bias = n.optionalInput(2, "B", oneOf({x.dtype})),
         z = n.optionalInput(3, "Z", oneOf({x.dtype}));
  if (x.rank() < 3) n.error("'X' is {}; expected at least rank 3", n.typeText(x));
  std::vector<int64_t> inside{0, x.rank() - 1}, outside{0};
  for (int64_t d = 1; d < x.rank(); ++d) {
    if (d + 1 < x.rank()) inside.push_back(d), outside.push_back(d + 1);
  }
  outside.push_back(1);
  Tensor y = convolution(n, last ? n.transpose(x, inside) : x, w, std::nullopt);
  if (last) y = n.transpose(y, outside);
  if (bias) {
    n.requireShape(bias, n.size(y, last ? y.rank() - 1 : 1), "B");
    y = sum(n, y, last ? bias : alongChannels(n, bias, y.rank()));
  }
  if (z && last) n.requireShape(z, n.sizes(y), "Z");
  if (z) y = sum(n, y, z);
  n.output(0, activated(n, y, n.floatsAttr("activation_params", std::vector<float>{})));
}
ORTC_ONNX_OP_IN("com.microsoft", "FusedConv", since(1)) {
  fusedConv(n, /*last=*/false);
}
ORTC_ONNX_OP_IN("com.microsoft", "NhwcFusedConv", since(1)) {
  fusedConv(n, /*last=*/true);
}
ORTC_ONNX_OP_IN("com.microsoft", "NhwcConv", since(1)) {
  fusedConv(n, /*last=*/true);
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
static Tensor fusedMatMul(NodeBuilder& n) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype}));
  double alpha = n.floatAttr("alpha", 1.0);
  a = matrixOf(n, a, n.flagAttr("transA", false), n.flagAttr("transBatchA", false));
  b = matrixOf(n, b, n.flagAttr("transB", false), n.flagAttr("transBatchB", false));
  Tensor y = n.matmul(a, b);
  return alpha == 1 ? y : n.map(y, [&](Scalar v) { return v * alpha; });
}
ORTC_ONNX_OP_IN("com.microsoft", "FusedMatMul", since(1)) {
  n.output(0, fusedMatMul(n));
}
ORTC_ONNX_OP_IN("com.microsoft", "TransposeMatMul", since(1)) {
  n.output(0, fusedMatMul(n));
}

ORTC_ONNX_OP_IN("com.microsoft", "FusedMatMulActivation", since(1)) {
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (n.hasAttr(name)) parameters.push_back(static_cast<float>(n.floatAttr(name)));
  n.output(0, activated(n, fusedMatMul(n), parameters));
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

namespace {
/// Numbers of a table, which may be 8 bits with a scale and a zero point.
struct Table {
  Tensor x, scale, zero;
  explicit operator bool() const { return bool(x); }
};
struct Embedding {
  Tensor ids, segments, positions, mask; ///< [B, S]; all but `ids` may be absent
  Table words, places, kinds, gamma, beta;
};
} // namespace

static Scalar numberAt(NodeBuilder& n, const Table& t, ArrayRef<Scalar> at) {
  Scalar v = n.at(t.x, at);
  if (!t.scale) return v;
  return n.cast(n.cast(v, DType::I32) - n.cast(n.at(t.zero, {}), DType::I32), DType::F32) *
         n.at(t.scale, {});
}

/// The norm of the sum of rows for words, places and kinds of segments.
static void embedded(NodeBuilder& n, const Embedding& e, DType type) {
  Tensor ids = e.ids, words = e.words.x, places = e.places.x, segments = e.segments;
  if (!e.kinds) segments = {};
  if (ids.rank() != 2 || words.rank() != 2 || places.rank() != 2)
    n.error("'input_ids' and the tables must have rank 2");
  if (e.gamma.x.rank() != 1 || e.beta.x.rank() != 1)
    n.error("'gamma' and 'beta' have ranks {} and {}; expected 1", e.gamma.x.rank(),
            e.beta.x.rank());
  std::vector<Size> s = n.sizes(ids), shape{s[0], s[1], n.size(words, 1)};
  if (e.mask) n.requireShape(e.mask, s, "mask");
  n.requireIndices(ids, n.size(words, 0), "input_ids", /*negative=*/false);
  if (e.positions) n.requireIndices(e.positions, n.size(places, 0), "position_ids", false);
  if (segments) n.requireIndices(segments, n.size(e.kinds.x, 0), "segment_ids", false);
  Tensor all = n.generate(shape, type, [&](ArrayRef<Scalar> o) {
    auto row = [&](const Table& t, Scalar i) {
      return numberAt(n, t, {safeIndex(n, i, n.size(t.x, 0)), o[2]});
    };
    Scalar v = row(e.words, n.at(ids, {o[0], o[1]})), p = o[1];
    if (e.positions) {
      Scalar b = n.size(e.positions, 0).is(1) ? n.index(0) : o[0];
      p = n.toIndex(n.at(e.positions, {b, o[1]}));
    }
    v = v + row(e.places, p);
    return segments ? v + row(e.kinds, n.at(segments, {o[0], o[1]})) : v;
  });
  auto plain = [&](const Table& t) {
    if (!t.scale) return t.x;
    return n.generate(n.sizes(t.x), type, [&](ArrayRef<Scalar> o) { return numberAt(n, t, o); });
  };
  n.output(0,
           normalised(n, all, plain(e.gamma), plain(e.beta), n.floatAttr("epsilon", 1e-12), true));
  if (e.mask) // how many words each row has
    n.output(1, n.reduce(n.castTo(e.mask, DType::I32), 1, false, 0,
                         [](Scalar c, Scalar v) { return c + v; }));
  else
    n.output(1, n.broadcastTo(n.scalarOf(0.0, DType::I32), s[0]));
  n.output(2, all);
}

ORTC_ONNX_OP_IN("com.microsoft", "EmbedLayerNormalization", since(1)) {
  Embedding e;
  e.ids = n.input(0, "input_ids", indexInteger);
  e.segments = n.optionalInput(1, "segment_ids", indexInteger);
  e.words.x = n.input(2, "word_embedding", floating);
  TypeSet same = oneOf({e.words.x.dtype});
  e.places.x = n.input(3, "position_embedding", same);
  e.kinds.x = n.optionalInput(4, "segment_embedding", same);
  e.gamma.x = n.input(5, "gamma", same), e.beta.x = n.input(6, "beta", same);
  e.mask = n.optionalInput(7, "mask", indexInteger);
  e.positions = n.optionalInput(8, "position_ids", indexInteger);
  embedded(n, e, e.words.x.dtype);
}

// The same with tables of 8-bit numbers.
ORTC_ONNX_OP_IN("com.microsoft", "QEmbedLayerNormalization", since(1)) {
  static const TypeSet eight = oneOf({DType::I8, DType::U8}), real = oneOf({DType::F32});
  Embedding e;
  e.ids = n.input(0, "input_ids", oneOf({DType::I32}));
  e.segments = n.optionalInput(1, "segment_ids", oneOf({DType::I32}));
  e.mask = n.optionalInput(7, "mask", oneOf({DType::I32}));
  auto scalar = [&](Tensor t, const std::string& name) {
    if (t.rank() > 1) n.error("'{}' is {}; expected a scalar", name, n.typeText(t));
    return n.reshape(t, {});
  };
  // Numbers at input i, scale at j, zero point at k.
  auto table = [&](size_t i, size_t j, size_t k, const std::string& name) -> Table {
    Table t{n.input(i, name + "_quant", eight), {}, {}};
    t.scale = scalar(n.input(j, name + "_scale", real), name + "_scale");
    t.zero = scalar(n.input(k, name + "_zero_point", oneOf({t.x.dtype})), name + "_zero_point");
    return t;
  };
  e.words = table(2, 8, 13, "word_embedding");
  e.places = table(3, 9, 14, "position_embedding");
  if (n.hasInput(4)) e.kinds = table(4, 10, 15, "segment_embedding");
  if (bool(e.kinds) != bool(e.segments))
    n.error("'segment_ids' and 'segment_embedding' must be given together");
  e.gamma = table(5, 11, 16, "gamma"), e.beta = table(6, 12, 17, "beta");
  embedded(n, e, DType::F32);
}

} // namespace ortc::opdef
