// SPDX-License-Identifier: Apache-2.0
// Operators on 8-bit numbers that ONNX Runtime's quantiser writes (com.microsoft): each is the
// operator on what the numbers stand for, rounded to the output's scale.
#include "compiler/onnx/families/Quantize.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
/// A quantised operand: x, scale and zero point at inputs i, i + 1 and i + 2.
struct Quantised {
  Tensor x, scale, zero;
};
} // namespace

static void requireScalar(NodeBuilder& n, Tensor t, StringRef name) {
  if (t && t.rank() != 0) n.error("'{}' is {}; expected a scalar", name.str(), n.typeText(t));
}

static Quantised operand(NodeBuilder& n, size_t i, StringRef name) {
  static const TypeSet eight = oneOf({DType::I8, DType::U8});
  Quantised q{
      n.input(i, name, eight), n.input(i + 1, name.str() + "_scale", oneOf({DType::F32})), {}};
  q.zero = n.optionalInput(i + 2, name.str() + "_zero_point", oneOf({q.x.dtype}));
  requireScalar(n, q.scale, name.str() + "_scale");
  requireScalar(n, q.zero, name.str() + "_zero_point");
  return q;
}

/// What the numbers stand for.
static Tensor real(NodeBuilder& n, const Quantised& q) {
  std::vector<Tensor> in{q.x, q.scale};
  if (q.zero) in.push_back(q.zero);
  return n.map(in, DType::F32, [&](ArrayRef<Scalar> s) {
    Scalar v = n.cast(s[0], DType::I32);
    if (q.zero) v = v - n.cast(s[2], DType::I32);
    return n.cast(v, DType::F32) * s[1];
  });
}

/// y as numbers of a scale (input i) and zero point (input i + 1).
static Tensor quantisedAs(NodeBuilder& n, Tensor y, size_t i, DType otherwise) {
  static const TypeSet eight = oneOf({DType::I8, DType::U8});
  Tensor scale = n.input(i, "y_scale", oneOf({DType::F32})),
         zero = n.optionalInput(i + 1, "y_zero_point", eight);
  requireScalar(n, scale, "y_scale");
  requireScalar(n, zero, "y_zero_point");
  DType to = zero ? zero.dtype : otherwise;
  std::vector<Tensor> in{y, scale};
  if (zero) in.push_back(zero);
  return n.map(in, to, [&](ArrayRef<Scalar> s) {
    return quantized(n, s[0] / s[1], zero ? s[2] : Scalar(), to);
  });
}

static void binary(NodeBuilder& n, llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  Quantised a = operand(n, 0, "A"), b = operand(n, 3, "B");
  n.output(0, quantisedAs(n, n.map(real(n, a), real(n, b), body), 6, a.x.dtype));
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearAdd", since(1)) {
  binary(n, [](Scalar a, Scalar b) { return a + b; });
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearMul", since(1)) {
  binary(n, [](Scalar a, Scalar b) { return a * b; });
}

static void unary(NodeBuilder& n, llvm::function_ref<Tensor(Tensor)> body) {
  Quantised x = operand(n, 0, "X");
  n.output(0, quantisedAs(n, body(real(n, x)), 3, x.x.dtype));
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearLeakyRelu", since(1)) {
  double alpha = n.floatAttr("alpha", 0.01);
  unary(n, [&](Tensor x) {
    return n.map(x, [&](Scalar v) { return select(v < 0.0, v * alpha, v); });
  });
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearSigmoid", since(1)) {
  unary(n, [&](Tensor x) { return n.map(x, [](Scalar v) { return sigmoid(v); }); });
}
// `opset` is that of the Softmax it came from: before 13 the axis begins all that is summed over.
ORTC_ONNX_OP_IN("com.microsoft", "QLinearSoftmax", since(1)) {
  int64_t opset = n.intAttr("opset"), given = n.intAttr("axis", opset < 13 ? 1 : -1);
  unary(n, [&](Tensor x) {
    int64_t axis = n.axis(given, x.rank());
    return softmaxOver(n, x, opset < 13 ? axesFrom(axis, x.rank()) : std::vector<int64_t>{axis},
                       false);
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "QLinearGlobalAveragePool", since(1)) {
  bool last = n.flagAttr("channels_last", false);
  unary(n, [&](Tensor x) {
    if (x.rank() < 3) n.error("the input has rank {}; expected at least 3", x.rank());
    std::vector<int64_t> axes;
    for (int64_t d = 1; d < x.rank(); ++d)
      if (d != (last ? x.rank() - 1 : 1)) axes.push_back(d);
    return meanOver(n, x, axes);
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "QLinearAveragePool", since(1)) {
  bool last = n.flagAttr("channels_last", false);
  unary(n, [&](Tensor x) {
    if (last) x = channelsFirst(n, x);
    Tensor y = averagePool(n, x);
    return last ? channelsLast(n, y) : y;
  });
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearReduceMean", since(1)) {
  Quantised x = operand(n, 0, "data");
  std::vector<int64_t> axes = n.axes(n.intsAttr("axes"), x.x.rank());
  Tensor mean = meanOver(n, real(n, x), axes);
  if (!n.flagAttr("keepdims", true)) {
    std::vector<Size> all = n.sizes(mean), kept;
    for (auto [d, s] : llvm::enumerate(all))
      if (!llvm::is_contained(axes, static_cast<int64_t>(d))) kept.push_back(s);
    mean = n.reshape(mean, kept);
  }
  n.output(0, quantisedAs(n, mean, 3, x.x.dtype));
}

ORTC_ONNX_OP_IN("com.microsoft", "NhwcMaxPool", since(1)) {
  Tensor x = channelsFirst(n, n.input(0, "x", oneOf({DType::I8, DType::U8})));
  n.output(0, channelsLast(n, maxPool(n, x)));
}

// Inputs are a scale and a zero point for the result, then three for each part.
ORTC_ONNX_OP_IN("com.microsoft", "QLinearConcat", since(1)) {
  std::vector<Tensor> parts;
  for (size_t i = 2; i + 1 < n.numInputs(); i += 3)
    parts.push_back(real(n, operand(n, i, "inputs")));
  if (parts.empty()) n.error("there is nothing to concatenate");
  Tensor all = n.concat(parts, n.axis(n.intAttr("axis"), parts[0].rank()));
  n.output(0, quantisedAs(n, all, 0, DType::U8));
}

ORTC_ONNX_OP_IN("com.microsoft", "QLinearWhere", since(1)) {
  Tensor condition = n.input(0, "condition", boolean);
  Quantised x = operand(n, 1, "X"), y = operand(n, 4, "Y");
  Tensor chosen = n.map({condition, real(n, x), real(n, y)}, DType::F32,
                        [](ArrayRef<Scalar> s) { return select(s[0], s[1], s[2]); });
  n.output(0, quantisedAs(n, chosen, 7, x.x.dtype));
}

/// (a - a zero) (b - b zero) as i32.
static Tensor product(NodeBuilder& n, Tensor a, Tensor az, Tensor b, Tensor bz) {
  return productOf(n, shifted(n, a, perRow(n, az)), shifted(n, b, perColumn(n, bz)));
}

// Without a scale for the result this is a float.
ORTC_ONNX_OP_IN("com.microsoft", "QGemm", since(1)) {
  TypeSet eight = oneOf({DType::I8, DType::U8});
  Tensor a = n.input(0, "A", eight), aScale = scalarOrSelf(n, n.input(1, "a_scale", floating)),
         az = scalarOrSelf(n, n.optionalInput(2, "a_zero_point", oneOf({a.dtype})));
  Tensor b = n.input(3, "B", eight), bScale = perColumn(n, n.input(4, "b_scale", floating)),
         bz = perColumn(n, n.optionalInput(5, "b_zero_point", oneOf({b.dtype})));
  Tensor c = n.optionalInput(6, "C", oneOf({DType::I32})),
         yScale = scalarOrSelf(n, n.optionalInput(7, "y_scale", oneOf({DType::F32}))),
         yz = scalarOrSelf(n, n.optionalInput(8, "y_zero_point", eight));
  if (a.rank() != 2 || b.rank() != 2)
    n.error("'A' and 'B' have ranks {} and {}; expected 2", a.rank(), b.rank());
  if (c && c.rank() > 2) n.error("'C' has rank {}; expected at most 2", c.rank());
  double alpha = n.floatAttr("alpha", 1.0);
  if (n.flagAttr("transA", false)) a = n.transpose(a, {1, 0});
  if (n.flagAttr("transB", false)) b = n.transpose(b, {1, 0});
  Tensor acc = product(n, a, az, b, bz);
  if (c) acc = n.map(acc, c, [](Scalar v, Scalar w) { return v + w; });
  std::vector<Tensor> in{acc, aScale, bScale};
  if (yScale) in.push_back(yScale);
  if (yScale && yz) in.push_back(yz);
  DType to = !yScale ? DType::F32 : yz ? yz.dtype : DType::U8;
  n.output(0, n.map(in, to, [&](ArrayRef<Scalar> s) {
    Scalar v = n.cast(s[0], DType::F32) * (s[1] * s[2] * alpha);
    if (!yScale) return v;
    return quantized(n, v / s[3], yz ? s[4] : Scalar(), to);
  }));
}

/// The product of quantised numbers as a float, plus a bias.
static Tensor scaledProduct(NodeBuilder& n, Tensor acc, Tensor aScale, Tensor bScale, Tensor bias) {
  std::vector<Tensor> in{acc, aScale, bScale};
  if (bias) in.push_back(bias);
  return n.map(in, aScale.dtype, [&](ArrayRef<Scalar> s) {
    Scalar v = n.cast(s[0], aScale.dtype) * (s[1] * s[2]);
    return bias ? v + s[3] : v;
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "MatMulIntegerToFloat", since(1)) {
  TypeSet eight = oneOf({DType::I8, DType::U8});
  Tensor a = n.input(0, "A", eight), b = n.input(1, "B", eight);
  Tensor aScale = perRow(n, n.input(2, "a_scale", floating)),
         bScale = perColumn(n, n.input(3, "b_scale", oneOf({aScale.dtype})));
  Tensor az = n.optionalInput(4, "a_zero_point", oneOf({a.dtype})),
         bz = n.optionalInput(5, "b_zero_point", oneOf({b.dtype})),
         bias = n.optionalInput(6, "bias", oneOf({aScale.dtype}));
  n.output(0, scaledProduct(n, product(n, a, az, b, bz), aScale, bScale, bias));
}

Tensor dynamicProduct(NodeBuilder& n, Tensor a, Tensor b, Tensor bScale, Tensor bZero,
                      Tensor bias) {
  Dynamic q = dynamicallyQuantised(n, a);
  return scaledProduct(n, product(n, q.x, q.zero, b, bZero), q.scale, perColumn(n, bScale), bias);
}

// The left operand is quantised to 8 bits when it is there.
ORTC_ONNX_OP_IN("com.microsoft", "DynamicQuantizeMatMul", since(1)) {
  Tensor a = n.input(0, "A", oneOf({DType::F32})),
         b = n.input(1, "B", oneOf({DType::I8, DType::U8}));
  Tensor bScale = n.input(2, "b_scale", oneOf({DType::F32})),
         bz = n.optionalInput(3, "b_zero_point", oneOf({b.dtype})),
         bias = n.optionalInput(4, "bias", oneOf({DType::F32}));
  n.output(0, dynamicProduct(n, a, b, bScale, bz, bias));
}

} // namespace ortc::opdef
