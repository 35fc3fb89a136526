// SPDX-License-Identifier: Apache-2.0
// Activation functions: a formula of one element each.
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

static void unary(NodeBuilder& n, TypeSet types, llvm::function_ref<Scalar(Scalar)> body) {
  n.output(0, n.map(n.input(0, "X", types), body));
}

/// log(1 + exp(x)), without overflow
static Scalar softplus(Scalar x) {
  return max(x, 0.0) + log1p(exp(-abs(x)));
}

ORTC_ONNX_OP("Relu", since(1, 6, 13, 14)) {
  unary(n, numeric, [](Scalar x) { return max(x, 0.0); });
}
ORTC_ONNX_OP("Sigmoid", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return sigmoid(x); });
}
ORTC_ONNX_OP("HardSigmoid", since(1, 6, 22)) {
  double alpha = n.floatAttr("alpha", 0.2), beta = n.floatAttr("beta", 0.5);
  unary(n, floating, [&](Scalar x) { return clamp(x * alpha + beta, 0, 1); });
}
// x * max(0, min(1, x / 6 + 1 / 2))
ORTC_ONNX_OP("HardSwish", since(14, 22)) {
  unary(n, floating, [](Scalar x) { return x * clamp(x * (1.0 / 6) + 0.5, 0, 1); });
}
ORTC_ONNX_OP("Swish", since(24)) {
  double alpha = n.floatAttr("alpha", 1.0);
  unary(n, floating, [&](Scalar x) { return x * sigmoid(alpha == 1 ? x : x * alpha); });
}
ORTC_ONNX_OP("Gelu", since(20)) {
  std::string approximate = n.stringAttr("approximate", "none");
  if (approximate == "tanh")
    unary(n, floating, [](Scalar x) {
      // sqrt(2 / pi)
      return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))));
    });
  else if (approximate == "none")
    unary(n, floating, [](Scalar x) { return 0.5 * x * (1.0 + erf(x * 0.7071067811865476)); });
  else
    n.error("'approximate' is '{}'; expected none or tanh", approximate);
}
ORTC_ONNX_OP("Mish", since(18, 22)) {
  unary(n, floating, [](Scalar x) { return x * tanh(softplus(x)); });
}
ORTC_ONNX_OP("Softplus", since(1, 22)) {
  unary(n, floating, [](Scalar x) { return softplus(x); });
}
ORTC_ONNX_OP("Softsign", since(1, 22)) {
  unary(n, floating, [](Scalar x) { return x / (1.0 + abs(x)); });
}
ORTC_ONNX_OP("Elu", since(1, 6, 22)) {
  double alpha = n.floatAttr("alpha", 1.0);
  unary(n, floating, [&](Scalar x) { return select(x < 0.0, alpha * expm1(x), x); });
}
ORTC_ONNX_OP("Celu", since(12, 28)) {
  double alpha = n.floatAttr("alpha", 1.0);
  if (alpha == 0) n.error("'alpha' is 0");
  unary(n, floating, [&](Scalar x) { return max(x, 0.0) + min(alpha * expm1(x / alpha), 0.0); });
}
ORTC_ONNX_OP("Selu", since(1, 6, 22)) {
  bool old = n.opset < 6; // the constants had fewer digits
  double alpha = n.floatAttr("alpha", old ? 1.6732 : 1.67326319217681884765625);
  double gamma = n.floatAttr("gamma", old ? 1.0507 : 1.05070102214813232421875);
  unary(n, floating,
        [&](Scalar x) { return select(x > 0.0, gamma * x, gamma * alpha * expm1(x)); });
}
ORTC_ONNX_OP("LeakyRelu", since(1, 6, 16)) {
  double alpha = n.floatAttr("alpha", 0.01);
  unary(n, floating, [&](Scalar x) { return select(x < 0.0, x * alpha, x); });
}
ORTC_ONNX_OP("ThresholdedRelu", since(10, 22)) {
  double alpha = n.floatAttr("alpha", 1.0);
  unary(n, floating, [&](Scalar x) { return select(x > alpha, x, 0.0); });
}
ORTC_ONNX_OP("Shrink", since(9)) {
  double lambda = n.floatAttr("lambd", 0.5), bias = n.floatAttr("bias", 0.0);
  Tensor x = n.input(0, "input", numeric);
  DType in = isFloat(x.dtype) ? x.dtype : DType::F64;
  n.output(0, n.map(x, [&](Scalar raw) {
    Scalar v = n.cast(raw, in);
    Scalar r = select(v < -lambda, v + bias, select(v > lambda, v - bias, 0.0));
    return n.cast(r, x.dtype);
  }));
}

// Before opset 7 the slope was one number, or one per channel; since then it broadcasts to X.
ORTC_ONNX_OP("PRelu", since(1, 6, 7, 9, 16)) {
  Tensor x = n.input(0, "X", numeric), slope = n.input(1, "slope", numeric);
  if (n.opset < 7 && slope.rank() == 1 && x.rank() > 1 && !n.size(slope, 0).is(1))
    slope = alongChannels(n, slope, x.rank());
  n.requireBroadcast(slope, n.sizes(x), "slope");
  n.output(0, n.map(x, slope, [](Scalar v, Scalar s) { return select(v < 0.0, v * s, v); }));
}

// Bounds were attributes before opset 11. When they cross, the upper one wins.
ORTC_ONNX_OP("Clip", since(1, 6, 11, 12, 13)) {
  Tensor x = n.input(0, "input", numeric);
  if (n.opset < 11) {
    if (n.hasAttr("min")) x = n.map(x, [&](Scalar v) { return max(v, n.floatAttr("min")); });
    if (n.hasAttr("max")) x = n.map(x, [&](Scalar v) { return min(v, n.floatAttr("max")); });
    return n.output(0, x);
  }
  TypeSet same = oneOf({x.dtype});
  Tensor low = n.optionalInput(1, "min", same), high = n.optionalInput(2, "max", same);
  auto asScalar = [&](Tensor t, llvm::StringRef name) {
    if (t.rank() == 0) return t;
    for (int64_t d = 0; d < t.rank(); ++d)
      if (!n.size(t, d).is(1)) n.error("input '{}' must be a scalar", name.str());
    return n.reshape(t, {});
  };
  if (low && high)
    x = n.map({x, asScalar(low, "min"), asScalar(high, "max")}, x.dtype,
              [](llvm::ArrayRef<Scalar> v) { return min(max(v[0], v[1]), v[2]); });
  else if (low)
    x = n.map(x, asScalar(low, "min"), [](Scalar v, Scalar l) { return max(v, l); });
  else if (high)
    x = n.map(x, asScalar(high, "max"), [](Scalar v, Scalar h) { return min(v, h); });
  n.output(0, x);
}

} // namespace ortc::opdef
