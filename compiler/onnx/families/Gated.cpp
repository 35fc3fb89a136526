// SPDX-License-Identifier: Apache-2.0
// What gated networks put between their products (com.microsoft): activations that multiply, and
// norms of parts of a row.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

static Tensor sum(NodeBuilder& n, Tensor a, Tensor b) {
  return n.map(a, b, [](Scalar v, Scalar w) { return v + w; });
}
static void requireSameShape(NodeBuilder& n, Tensor x, Tensor y, StringRef what) {
  if (x.rank() != y.rank()) n.error("{}: {} and {}", what.str(), n.typeText(x), n.typeText(y));
  for (int64_t d = 0; d < x.rank(); ++d)
    n.requireEqual(n.size(x, d), n.size(y, d), what);
}

// x + y * gate, which is one number for each row
ORTC_ONNX_OP_IN("com.microsoft", "GatedAdd", since(1)) {
  Tensor x = n.input(0, "X", floating), y = n.input(1, "Y", oneOf({x.dtype})),
         gate = n.input(2, "gate", oneOf({x.dtype}));
  if (n.hasInput(3)) n.error("'gate_weight' is not supported");
  if (gate.rank() != x.rank() || y.rank() != x.rank() || !n.size(gate, x.rank() - 1).is(1))
    n.error("'X' is {}, 'Y' {} and 'gate' {}; expected equal ranks, and a last size of 1 of 'gate'",
            n.typeText(x), n.typeText(y), n.typeText(gate));
  for (int64_t d = 0; d < x.rank(); ++d) {
    n.requireEqual(n.size(y, d), n.size(x, d), "the sizes of 'X' and 'Y' differ");
    if (d + 1 < x.rank())
      n.requireEqual(n.size(gate, d), n.size(x, d), "the rows of 'X' and 'gate' differ");
  }
  n.output(0, sum(n, x, n.map(y, gate, [](Scalar v, Scalar g) { return v * g; })));
}

// Rounded to x's type after the scale, after the sigmoid and at the end.
ORTC_ONNX_OP_IN("com.microsoft", "ScaledSiLU", since(1)) {
  Tensor x = n.input(0, "X", floating), scale = n.optionalInput(1, "scale", floating);
  if (scale && scale.rank() != 0) n.error("'scale' is {}; expected a scalar", n.typeText(scale));
  if (!scale) scale = n.scalarOf(n.floatAttr("alpha", 1.0), DType::F32);
  DType wide = wideType(x.dtype);
  n.output(0, n.map(x, scale, x.dtype, [&](Scalar v, Scalar s) {
    auto rounded = [&](Scalar w) { return n.cast(n.cast(w, x.dtype), wide); };
    Scalar z = rounded(n.cast(v, wide) * n.cast(s, wide));
    return n.cast(z * rounded(sigmoid(z)), x.dtype);
  }));
}

// g * sigmoid(alpha g) * (l + beta), where both may be limited. Without 'up' it is the second half
// of what 'gate' holds.
ORTC_ONNX_OP_IN("com.microsoft", "SwiGLU", since(1)) {
  Tensor gate = n.input(0, "gate", floating), up = n.optionalInput(1, "up", oneOf({gate.dtype}));
  double alpha = n.floatAttr("activation_alpha", 1.0), beta = n.floatAttr("activation_beta", 0.0),
         limit = n.floatAttr("limit", 0.0);
  bool rounds = n.intAttr("round_activation", 0) != 0;
  if (up)
    requireSameShape(n, gate, up, "the shapes of 'gate' and 'up' differ");
  else {
    if (gate.rank() < 1) n.error("'gate' is {}; expected at least rank 1", n.typeText(gate));
    std::vector<Size> sizes = n.sizes(gate), from(sizes.size(), n.size(0)), both = sizes;
    Size half = sizes.back() / n.size(2);
    n.requireEqual(half * n.size(2), sizes.back(), "the last size of 'gate' is odd");
    sizes.back() = half;
    Tensor all = gate;
    gate = n.slice(all, from, sizes);
    from.back() = half;
    up = n.slice(all, from, sizes);
  }
  DType wide = wideType(gate.dtype);
  n.output(0, n.map(gate, up, [&](Scalar v, Scalar w) {
    Scalar g = n.cast(v, wide), l = n.cast(w, wide);
    if (limit > 0) g = min(g, limit), l = clamp(l, -limit, limit);
    Scalar active = g * sigmoid(g * alpha);
    if (rounds) active = n.cast(n.cast(active, gate.dtype), wide);
    return n.cast(active * (beta == 0 ? l : l + beta), gate.dtype);
  }));
}

/// x / sqrt(mean of squares + epsilon) over parts of the last dim, as [.., parts, width], in f32 at
/// least.
static Tensor normOfParts(NodeBuilder& n, Tensor x, Size width, double epsilon) {
  std::vector<Size> shape = n.sizes(x);
  Size last = shape.back(), parts = last / max(width, n.size(1));
  n.requireEqual(parts * width, last, "the parts do not fill the last dim");
  shape.back() = parts, shape.push_back(width);
  Tensor wide = n.reshape(widened(n, x), shape);
  Tensor ones = n.broadcastTo(n.scalarOf(1.0, wide.dtype), width);
  return normalised(n, wide, ones, {}, epsilon, /*withMean=*/false);
}

ORTC_ONNX_OP_IN("com.microsoft", "GatedRMSNorm", since(1)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "scale", oneOf({x.dtype})),
         gate = n.input(2, "gate", oneOf({x.dtype}));
  std::string activation = n.stringAttr("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    n.error("'activation' is '{}'; expected silu, swish or sigmoid", activation);
  if (scale.rank() != 1 || x.rank() < 1 || n.size(scale, 0).is(0))
    n.error("'X' is {} and 'scale' {}; expected a list that is not empty", n.typeText(x),
            n.typeText(scale));
  requireSameShape(n, x, gate, "the shapes of 'X' and 'gate' differ");
  Tensor y = normOfParts(n, x, n.size(scale, 0), n.floatAttr("epsilon", 1e-5));
  Tensor scaled = n.map(y, widened(n, scale), [](Scalar v, Scalar s) { return v * s; });
  n.output(
      0, n.map({n.reshape(scaled, n.sizes(x)), widened(n, gate)}, x.dtype, [&](ArrayRef<Scalar> s) {
        Scalar open = sigmoid(s[1]);
        return n.cast(s[0] * (activation == "sigmoid" ? open : s[1] * open), x.dtype);
      }));
}

// Each branch has a norm of its own: the rows of [.., C, H], or the C parts of a last dim C * H.
ORTC_ONNX_OP_IN("com.microsoft", "BranchwiseRMSNorm", since(1)) {
  Tensor x = n.input(0, "X", floating), scale = n.optionalInput(1, "scale", floating);
  int64_t given = n.intAttr("num_branches", 0);
  if (given < 0 || x.rank() < (given ? 1 : 2))
    n.error("'X' is {} and 'num_branches' {}", n.typeText(x), given);
  Size last = n.size(x, x.rank() - 1), C = given ? n.size(given) : n.size(x, x.rank() - 2),
       H = given ? last / C : last;
  if (given) n.requireEqual(H * C, last, "'num_branches' does not divide the last size");
  Tensor y = normOfParts(n, x, H, n.floatAttr("epsilon", 1e-5));
  std::vector<Size> shape = n.sizes(x), parts(shape.begin(), shape.end() - (given ? 1 : 2));
  parts.push_back(C), parts.push_back(H);
  y = n.reshape(y, parts);
  if (scale) {
    Size count = n.size(1);
    for (Size s : n.sizes(scale))
      count = count * s;
    const bool shared = scale.rank() == 1 && same(count, H);
    if (scale.rank() < 1 || scale.rank() > 2 ||
        (!shared && count.constant() && (C * H).constant() && !same(count, C * H)))
      n.error("'scale' is {}; expected {}", n.typeText(scale), "(H), (C * H) or (C, H)");
    Tensor s = widened(n, scale);
    if (!shared) s = n.reshape(s, {C, H});
    y = n.map(y, s, [](Scalar v, Scalar w) { return v * w; });
  }
  n.output(0, n.castTo(n.reshape(y, shape), x.dtype));
}

ORTC_ONNX_OP_IN("com.microsoft", "BiasAdd", since(1)) {
  Tensor x = n.input(0, "X", floating), bias = n.input(1, "bias", oneOf({x.dtype})),
         skip = n.input(2, "skip", oneOf({x.dtype}));
  if (bias.rank() != 1) n.error("'bias' is {}; expected rank 1", n.typeText(bias));
  requireSameShape(n, x, skip, "the shapes of 'X' and 'skip' differ");
  n.output(0, sum(n, sum(n, x, bias), skip));
}

// One answer for all inputs.
ORTC_ONNX_OP_IN("com.microsoft", "IsAllFinite", since(1)) {
  bool infinities = n.intAttr("isnan_only", 0) == 0, nans = n.intAttr("isinf_only", 0) == 0;
  if (!infinities && !nans) n.error("'isinf_only' and 'isnan_only' are both 1");
  Tensor all;
  for (size_t i = 0; i < n.numInputs(); ++i) {
    Tensor x = n.input(i, "input", floating);
    Tensor flags = n.map(x, DType::Bool, [&](Scalar v) {
      Scalar nan = isNaN(v), infinite = isInf(v);
      return !(infinities && nans ? bitOr(nan, infinite) : nans ? nan : infinite);
    });
    Tensor one = n.reduce(flags, axesFrom(0, x.rank()), false, 1,
                          [](Scalar c, Scalar v) { return bitAnd(c, v); });
    all = all ? n.map(all, one, [](Scalar v, Scalar w) { return bitAnd(v, w); }) : one;
  }
  if (!all) n.error("there is no input");
  n.output(0, all);
}

// How much of a memory's value each stream takes: a gate by how its key and the query agree.
ORTC_ONNX_OP_IN("com.microsoft", "EngramGate", since(1)) {
  Tensor key = n.input(0, "key", floating);
  TypeSet same = oneOf({key.dtype});
  Tensor query = n.input(1, "query", same), value = n.input(2, "value", same),
         keyScale = n.input(3, "key_norm_scale", same),
         queryScale = n.input(4, "query_norm_scale", same),
         outScale = n.optionalInput(5, "conv_norm_scale", same);
  if (key.rank() != 4) n.error("'key' is {}; expected rank 4", n.typeText(key));
  std::vector<Size> in = n.sizes(key), table{in[2], in[3]};
  n.requireShape(query, in, "query");
  n.requireShape(value, {in[0], in[1], in[3]}, "value");
  n.requireShape(keyScale, table, "key_norm_scale");
  n.requireShape(queryScale, table, "query_norm_scale");
  double epsilon = n.floatAttr("epsilon", 1e-5);
  DType wide = wideType(key.dtype);
  Tensor ones = n.broadcastTo(n.scalarOf(1.0, wide), in[3]);
  auto norm = [&](Tensor x, Tensor scale) {
    Tensor y = normalised(n, widened(n, x), ones, {}, epsilon, /*withMean=*/false);
    return n.map(y, widened(n, scale), [](Scalar v, Scalar s) { return v * s; });
  };
  Tensor both =
      n.map(norm(key, keyScale), norm(query, queryScale), [](Scalar v, Scalar w) { return v * w; });
  Tensor dot = n.reduce(both, 3, true, 0, [](Scalar c, Scalar v) { return c + v; });
  Tensor gate = n.map(dot, [&](Scalar v) {
    v = v / sqrt(n.cast(n.fromIndex(n.index(in[3]), DType::I64), wide));
    Scalar root = sqrt(max(abs(v), 1e-6));
    return sigmoid(select(v < 0.0, -root, select(equal(v, 0.0), 0.0, root)));
  });
  Tensor gated = n.map(gate, n.reshape(widened(n, value), {in[0], in[1], n.size(1), in[3]}),
                       [](Scalar g, Scalar v) { return g * v; });
  n.output(0, n.castTo(gated, key.dtype));
  if (!n.wantsOutput(1)) return;
  if (!outScale) n.error("'gated_value_normed' needs 'conv_norm_scale'");
  n.requireShape(outScale, table, "conv_norm_scale");
  n.output(1, n.castTo(norm(gated, outScale), key.dtype));
}

// The first product of a mixture of experts: logits of the router, and a gated pair.
ORTC_ONNX_OP_IN("com.microsoft", "RouterGateUpProj", since(1)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype}));
  int64_t router = n.intAttr("router_size");
  std::string activation = n.stringAttr("activation", "swiglu");
  if (activation != "swiglu") n.error("'activation' is '{}'; only swiglu is defined", activation);
  double alpha = n.floatAttr("activation_alpha", 1.0), beta = n.floatAttr("activation_beta", 0.0),
         limit = n.floatAttr("limit", 0.0);
  if (w.rank() != 2 || x.rank() < 1 || !n.size(w, 1).constant())
    n.error("'X' is {} and 'W' {}; expected rank 1 at least, and 2", n.typeText(x), n.typeText(w));
  int64_t rest = *n.size(w, 1).constant() - router;
  if (router < 1 || rest < 0 || rest % 2)
    n.error("'router_size' is {} of {} columns", router, *n.size(w, 1).constant());
  Tensor y = n.matmul(x, w);
  auto cut = [&](int64_t from, int64_t count) {
    std::vector<Size> starts(y.rank(), n.size(0)), sizes = n.sizes(y);
    starts.back() = n.size(from), sizes.back() = n.size(count);
    return n.slice(y, starts, sizes);
  };
  n.output(0, cut(0, router));
  DType wide = wideType(x.dtype);
  n.output(1,
           n.map(cut(router, rest / 2), cut(router + rest / 2, rest / 2), [&](Scalar v, Scalar u) {
             Scalar g = n.cast(v, wide), l = n.cast(u, wide);
             if (limit > 0) g = min(g, limit), l = clamp(l, -limit, limit);
             return n.cast(g * sigmoid(g * alpha) * (l + beta), x.dtype);
           }));
}

} // namespace ortc::opdef
