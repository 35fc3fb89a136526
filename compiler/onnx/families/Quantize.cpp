// SPDX-License-Identifier: Apache-2.0
// Quantised numbers: to and from them, and products of them. Zero points are taken off as i32
// before a product, and nothing is taken off where they are known to be 0, so that the product sees
// 8-bit operands.
#include "compiler/onnx/families/Quantize.h"

using namespace mlir;

namespace ortc::opdef {

static constexpr uint64_t bit(DType t) {
  return uint64_t(1) << static_cast<unsigned>(t);
}
static const TypeSet eightBit{bit(DType::I8) | bit(DType::U8), "int8 or uint8"};

/// A scale or zero point, so that it broadcasts to x: one for all, one per place on `axis`, or one
/// per block of it.
static Tensor placed(NodeBuilder& n, Tensor t, Tensor x, int64_t axis, int64_t block,
                     StringRef name) {
  if (t.rank() == 0) return t;
  if (t.rank() == 1 && n.size(t, 0).is(1)) return n.reshape(t, {});
  if (t.rank() == 1 && !block) {
    Size have = n.size(t, 0), want = n.size(x, axis);
    if (have.constant() && want.constant() && *have.constant() != *want.constant())
      n.error("'{}' has {} values, but axis {} of the input is {}", name.str(), *have.constant(),
              axis, *want.constant());
    std::vector<Size> shape(x.rank(), n.size(1));
    shape[axis] = have;
    return n.reshape(t, shape);
  }
  if (t.rank() != x.rank())
    n.error("'{}' has rank {}; expected 0, 1 or {}", name.str(), t.rank(), x.rank());
  Size have = n.size(t, axis), want = n.size(x, axis);
  if (!block) {
    if (!have.constant() || !want.constant()) n.error("'block_size' is missing");
    block = (*want.constant() + *have.constant() - 1) / std::max<int64_t>(*have.constant(), 1);
  }
  return n.generate(n.sizes(x), t.dtype, [&](ArrayRef<Scalar> i) {
    SmallVector<Scalar> at(i);
    at[axis] = safeIndex(n, i[axis] / static_cast<double>(block), have);
    return n.at(t, at);
  });
}

static int64_t quantAxis(NodeBuilder& n, Tensor x) {
  int64_t axis = n.opset < 13 && n.node.domain.empty() ? 0 : n.intAttr("axis", 1);
  // with one scale for all, the axis says nothing
  if (axis >= x.rank() || axis < -x.rank()) return 0;
  return axis < 0 ? axis + x.rank() : axis;
}

/// The range of an integer type.
static std::pair<double, double> rangeOf(DType t) {
  unsigned width = bitWidth(t);
  if (!isSignedInteger(t)) return {0, std::ldexp(1.0, width) - 1};
  return {-std::ldexp(1.0, width - 1), std::ldexp(1.0, width - 1) - 1};
}
/// round(v) + zero, saturated; v is a float.
Scalar quantized(NodeBuilder& n, Scalar v, Scalar zero, DType to) {
  Scalar q = n.cast(roundEven(v), DType::F32);
  if (zero.v) q = q + n.cast(zero, DType::F32);
  auto [low, high] = rangeOf(to);
  q = clamp(q, low, high);
  return bitWidth(to) < 8 ? n.cast(n.cast(q, DType::I32), to) : n.cast(q, to);
}

static double largestF8(DType t) {
  return t == DType::F8E4M3FN ? 448 : t == DType::F8E4M3FNUZ ? 240 : 57344;
}

/// A scale, which may be a power of two in 8 bits.
static Tensor scaleInput(NodeBuilder& n, StringRef name) {
  static const TypeSet scales{floating.bits | bit(DType::F8E8M0), floating.text};
  Tensor t = n.input(1, name, scales);
  return t.dtype == DType::F8E8M0 ? n.castTo(t, DType::F32) : t;
}

static void quantize(NodeBuilder& n) {
  Tensor x = n.input(0, "x"), scale = scaleInput(n, "y_scale"),
         zero = n.optionalInput(2, "y_zero_point");
  if (!floating.has(x.dtype) && x.dtype != DType::I32)
    n.error("input 'x' is {}; expected a floating-point type or int32", dtypeName(x.dtype));
  DType to = zero ? zero.dtype : DType::U8;
  if (int64_t t = n.intAttr("output_dtype", 0)) {
    auto type = dtypeFromOnnx(t);
    if (!type) n.error("'output_dtype' is {}, which is no element type", t);
    if (zero && *type != zero.dtype)
      n.error("'output_dtype' is {}, but the zero point is {}", dtypeName(*type),
              dtypeName(zero.dtype));
    to = *type;
  }
  DType type = scale.dtype;
  if (int64_t p = n.intAttr("precision", 0)) {
    auto t = dtypeFromOnnx(p);
    if (!t || !floating.has(*t)) n.error("'precision' is {}, which is no floating-point type", p);
    type = *t;
  }
  int64_t axis = quantAxis(n, x), block = n.intAttr("block_size", 0);
  std::vector<Tensor> in{x, placed(n, scale, x, axis, block, "y_scale")};
  if (zero && NodeBuilder::isCoded(zero.dtype)) zero = n.castTo(zero, DType::F32);
  if (zero) in.push_back(placed(n, zero, x, axis, block, "y_zero_point"));
  bool saturate = n.flagAttr("saturate", true);
  n.output(0, n.map(in, to, [&](ArrayRef<Scalar> s) {
    Scalar v = n.cast(s[0], type) / n.cast(s[1], type), z = zero ? s[2] : Scalar();
    if (isInteger(to)) return quantized(n, v, z, to);
    v = n.cast(v, wideType(type));
    if (z.v) v = v + n.cast(z, wideType(type));
    if (NodeBuilder::isCoded(to)) return n.encoded(v, to);
    return n.cast(saturate ? clamp(v, -largestF8(to), largestF8(to)) : v, to);
  }));
}

ORTC_ONNX_OP("QuantizeLinear", since(10, 13, 19, 21, 23, 24, 25, 28)) {
  quantize(n);
}
// The same with types that the standard took up later.
ORTC_ONNX_OP_IN("com.microsoft", "QuantizeLinear", since(1)) {
  quantize(n);
}

static void dequantize(NodeBuilder& n) {
  static const TypeSet types{plainType.bits | bit(DType::F4E2M1), plainType.text};
  Tensor x = n.input(0, "x", types), scale = scaleInput(n, "x_scale"),
         zero = n.optionalInput(2, "x_zero_point", oneOf({x.dtype}));
  if (NodeBuilder::isCoded(x.dtype)) {
    x = n.castTo(x, DType::F32);
    if (zero) zero = n.castTo(zero, DType::F32);
  }
  DType to = scale.dtype;
  if (int64_t t = n.intAttr("output_dtype", 0)) {
    auto type = dtypeFromOnnx(t);
    if (!type || !floating.has(*type))
      n.error("'output_dtype' is {}, which is no floating-point type", t);
    to = *type;
  }
  int64_t axis = quantAxis(n, x), block = n.intAttr("block_size", 0);
  // A zero point that is 0 everywhere is none.
  if (zero)
    if (auto c = n.constantTensor(zero); c && isInteger(x.dtype)) {
      bool any = false;
      for (int64_t i = 0; i < c->size() && !any; ++i)
        any = c->getInt(i) != 0;
      if (!any) zero = {};
    }
  std::vector<Tensor> in{x, placed(n, scale, x, axis, block, "x_scale")};
  if (zero) in.push_back(placed(n, zero, x, axis, block, "x_zero_point"));
  DType type = to == DType::F64 ? DType::F64 : DType::F32;
  n.output(0, n.map(in, to, [&](ArrayRef<Scalar> s) {
    Scalar v;
    if (isInteger(x.dtype)) {
      v = n.cast(s[0], DType::I32);
      if (zero) v = v - n.cast(s[2], DType::I32);
      v = n.cast(v, type);
    } else {
      v = n.cast(s[0], type);
      if (zero) v = v - n.cast(s[2], type);
    }
    return n.cast(v * n.cast(s[1], type), to);
  }));
}

ORTC_ONNX_OP("DequantizeLinear", since(10, 13, 19, 21, 23, 24, 25, 28)) {
  dequantize(n);
}
ORTC_ONNX_OP_IN("com.microsoft", "DequantizeLinear", since(1)) {
  dequantize(n);
}

Dynamic dynamicallyQuantised(NodeBuilder& n, Tensor x) {
  std::vector<int64_t> all = axesFrom(0, x.rank());
  // reductions that start at 0 include it
  Tensor low = n.reduce(x, all, false, 0, [](Scalar c, Scalar v) { return min(c, v); });
  Tensor high = n.reduce(x, all, false, 0, [](Scalar c, Scalar v) { return max(c, v); });
  Tensor scale = n.map(low, high, [](Scalar l, Scalar h) {
    Scalar range = (h - l) / 255.0;
    return select(equal(range, 0.0), 1.0, range); // all of x is 0
  });
  Tensor zero = n.map(low, scale, DType::U8,
                      [&](Scalar l, Scalar s) { return quantized(n, -l / s, {}, DType::U8); });
  Tensor q = n.map({x, scale, zero}, DType::U8,
                   [&](ArrayRef<Scalar> s) { return quantized(n, s[0] / s[1], s[2], DType::U8); });
  return {q, scale, zero};
}

// The scale and zero point of x itself; 0 is always representable.
ORTC_ONNX_OP("DynamicQuantizeLinear", since(11)) {
  Dynamic q = dynamicallyQuantised(n, n.input(0, "x", oneOf({DType::F32})));
  n.output(0, q.x);
  n.output(1, q.scale);
  n.output(2, q.zero);
}

static bool isZero(NodeBuilder& n, Tensor t) {
  if (!t) return true;
  auto c = n.constantTensor(t);
  if (!c || !c->data) return false;
  for (int64_t i = 0; i < c->size(); ++i)
    if (c->getInt(i) != 0) return false;
  return true;
}
/// t - zero as i32, or t itself when there is nothing to take off.
Tensor shifted(NodeBuilder& n, Tensor t, Tensor zero) {
  if (isZero(n, zero)) return t;
  return n.map(t, zero, DType::I32,
               [&](Scalar v, Scalar z) { return n.cast(v, DType::I32) - n.cast(z, DType::I32); });
}
/// A parameter per row of a left operand, [M], as [M, 1].
Tensor perRow(NodeBuilder& n, Tensor t) {
  if (!t || t.rank() != 1) return t;
  if (n.size(t, 0).is(1)) return n.reshape(t, {});
  return n.reshape(t, {n.size(t, 0), n.size(1)});
}
Tensor perColumn(NodeBuilder& n, Tensor t) {
  return t && t.rank() == 1 && n.size(t, 0).is(1) ? n.reshape(t, {}) : t;
}
/// Both operands of a product of one type, when one of them was shifted.
Tensor productOf(NodeBuilder& n, Tensor a, Tensor b) {
  if (a.dtype == DType::I32 || b.dtype == DType::I32)
    a = n.castTo(a, DType::I32), b = n.castTo(b, DType::I32);
  return n.matmul(a, b, DType::I32);
}

ORTC_ONNX_OP("MatMulInteger", since(10)) {
  Tensor a = n.input(0, "A", eightBit), b = n.input(1, "B", eightBit);
  Tensor az = n.optionalInput(2, "a_zero_point", oneOf({a.dtype})),
         bz = n.optionalInput(3, "b_zero_point", oneOf({b.dtype}));
  n.output(0, productOf(n, shifted(n, a, perRow(n, az)), shifted(n, b, perColumn(n, bz))));
}

/// One per output channel, [M], as [M, 1, 1, ...].
static Tensor perOutput(NodeBuilder& n, Tensor t, int64_t rank) {
  if (!t || t.rank() == 0) return t;
  if (n.size(t, 0).is(1)) return n.reshape(t, {});
  std::vector<Size> shape(rank, n.size(1));
  shape[0] = n.size(t, 0);
  return n.reshape(t, shape);
}
Tensor scalarOrSelf(NodeBuilder& n, Tensor t) {
  return t && t.rank() == 1 && n.size(t, 0).is(1) ? n.reshape(t, {}) : t;
}

static Tensor integerConv(NodeBuilder& n, Tensor x, Tensor xz, Tensor w, Tensor wz) {
  Tensor a = shifted(n, x, scalarOrSelf(n, xz)), b = shifted(n, w, perOutput(n, wz, w.rank()));
  if (a.dtype == DType::I32 || b.dtype == DType::I32)
    a = n.castTo(a, DType::I32), b = n.castTo(b, DType::I32);
  return convolution(n, a, b, DType::I32);
}

ORTC_ONNX_OP("ConvInteger", since(10)) {
  Tensor x = n.input(0, "x", eightBit), w = n.input(1, "w", eightBit);
  n.output(0, integerConv(n, x, n.optionalInput(2, "x_zero_point", oneOf({x.dtype})), w,
                          n.optionalInput(3, "w_zero_point", oneOf({w.dtype}))));
}

/// An accumulator times a_scale * b_scale / y_scale, rounded, plus the zero point, saturated.
Tensor requantized(NodeBuilder& n, Tensor acc, Tensor aScale, Tensor bScale, Tensor yScale,
                   Tensor yZero) {
  return n.map({acc, aScale, bScale, yScale, yZero}, yZero.dtype, [&](ArrayRef<Scalar> s) {
    auto f = [&](Scalar v) { return n.cast(v, DType::F32); };
    return quantized(n, f(s[0]) * (f(s[1]) * f(s[2]) / f(s[3])), s[4], yZero.dtype);
  });
}

ORTC_ONNX_OP("QLinearMatMul", since(10, 21)) {
  Tensor a = n.input(0, "a", eightBit), aScale = n.input(1, "a_scale", floating),
         az = n.input(2, "a_zero_point", oneOf({a.dtype}));
  Tensor b = n.input(3, "b", eightBit), bScale = n.input(4, "b_scale", floating),
         bz = n.input(5, "b_zero_point", oneOf({b.dtype}));
  Tensor yScale = n.input(6, "y_scale", floating), yz = n.input(7, "y_zero_point", eightBit);
  Tensor acc = productOf(n, shifted(n, a, perRow(n, az)), shifted(n, b, perColumn(n, bz)));
  n.output(0, requantized(n, acc, perRow(n, aScale), perColumn(n, bScale), scalarOrSelf(n, yScale),
                          scalarOrSelf(n, yz)));
}

/// `last`: x and the result have their channels last; weights lie as ONNX says in any case.
static void qlinearConv(NodeBuilder& n, bool last) {
  Tensor x = n.input(0, "x", eightBit), xScale = n.input(1, "x_scale", floating),
         xz = n.input(2, "x_zero_point", oneOf({x.dtype}));
  last &= x.rank() >= 3; // others are refused below
  if (last) x = channelsFirst(n, x);
  Tensor w = n.input(3, "w", eightBit), wScale = n.input(4, "w_scale", floating),
         wz = n.input(5, "w_zero_point", oneOf({w.dtype}));
  Tensor yScale = n.input(6, "y_scale", floating), yz = n.input(7, "y_zero_point", eightBit),
         bias = n.optionalInput(8, "B", oneOf({DType::I32}));
  Tensor acc = integerConv(n, x, xz, w, wz);
  if (bias) n.requireShape(bias, n.size(acc, 1), "B");
  if (bias)
    acc = n.map(acc, alongChannels(n, bias, acc.rank()), [](Scalar v, Scalar s) { return v + s; });
  Tensor scale = scalarOrSelf(n, wScale);
  if (scale.rank() != 0) n.requireShape(scale, n.size(acc, 1), "w_scale");
  if (scale.rank() == 1) scale = alongChannels(n, scale, acc.rank());
  Tensor y = requantized(n, acc, scalarOrSelf(n, xScale), scale, scalarOrSelf(n, yScale),
                         scalarOrSelf(n, yz));
  n.output(0, last ? channelsLast(n, y) : y);
}

ORTC_ONNX_OP("QLinearConv", since(10)) {
  qlinearConv(n, false);
}
ORTC_ONNX_OP_IN("com.microsoft", "QLinearConv", since(1)) {
  qlinearConv(n, n.flagAttr("channels_last", false));
}

} // namespace ortc::opdef
