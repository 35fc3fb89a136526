// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two or more tensors: Add, Sub, Mul, Div, Mod, Pow, Sum, Mean, Max, Min, and on the
// bits of integers.
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

using Binary = llvm::function_ref<Scalar(Scalar, Scalar)>;

/// Two operands of one type; the result has it too.
static void binary(NodeBuilder& n, TypeSet types, Binary body) {
  Tensor x = n.input(0, "A", types), y = n.input(1, "B", types);
  if (x.dtype != y.dtype)
    n.error("operands are of types {} and {}; they must be of one type", dtypeName(x.dtype),
            dtypeName(y.dtype));
  n.output(0, n.map(x, alignedForOldBroadcast(n, x, y), body));
}

ORTC_ONNX_OP("Add", since(1, 6, 7, 13, 14)) {
  binary(n, numeric, [](Scalar x, Scalar y) { return x + y; });
}
ORTC_ONNX_OP("Sub", since(1, 6, 7, 13, 14)) {
  binary(n, numeric, [](Scalar x, Scalar y) { return x - y; });
}
ORTC_ONNX_OP("Mul", since(1, 6, 7, 13, 14)) {
  binary(n, numeric, [](Scalar x, Scalar y) { return x * y; });
}

/// An integer divided by a constant 0 is no number in any run.
static void requireNoZero(NodeBuilder& n, Tensor y) {
  auto c = n.constantTensor(y);
  if (!isInteger(y.dtype) || !c || !c->data) return;
  for (int64_t i = 0; i < c->size(); ++i)
    if (c->getInt(i) == 0) n.error("the divisor is a constant, and element {} of it is 0", i);
}
/// Does a constant divisor rule out the cases that processors trap on?
static bool isSafeDivisor(NodeBuilder& n, Tensor y) {
  auto c = n.constantTensor(y);
  if (!c || c->size() > 4096) return false;
  for (int64_t i = 0; i < c->size(); ++i)
    if (int64_t v = c->getInt(i); v == 0 || v == -1) return false;
  return true;
}
/// Integer division and remainder are defined for every operand: x / 0 = 0, x % 0 = 0, and division
/// of the smallest number by -1 wraps, as negation does.
static Scalar guardedDivide(Scalar x, Scalar y) {
  Scalar zero = equal(y, 0.0);
  if (x.isUnsigned) return select(zero, 0.0, x / select(zero, 1.0, y));
  Scalar minusOne = equal(y, -1.0);
  Scalar q = x / select(bitOr(zero, minusOne), 1.0, y);
  return select(zero, 0.0, select(minusOne, -x, q));
}
static Scalar guardedRemainder(Scalar x, Scalar y, llvm::function_ref<Scalar(Scalar, Scalar)> op) {
  Scalar unsafe = equal(y, 0.0);
  if (!x.isUnsigned) unsafe = bitOr(unsafe, equal(y, -1.0));
  return select(unsafe, 0.0, op(x, select(unsafe, 1.0, y)));
}

ORTC_ONNX_OP("Div", since(1, 6, 7, 13, 14)) {
  Tensor y = n.input(1, "B", numeric);
  requireNoZero(n, y);
  bool safe = isFloat(y.dtype) || isSafeDivisor(n, y);
  binary(n, numeric, [&](Scalar a, Scalar b) { return safe ? a / b : guardedDivide(a, b); });
}

// fmod = 0: the sign of the divisor (Python's %); 1: of the dividend (C's fmod)
ORTC_ONNX_OP("Mod", since(10, 13, 28)) {
  Tensor x = n.input(0, "A", numeric), y = n.input(1, "B", numeric);
  bool fmod = n.flagAttr("fmod", false);
  if (isFloat(y.dtype)) {
    if (!fmod && n.opset < 28)
      n.error("'fmod' must be 1 for operands of type {}", dtypeName(x.dtype));
    if (fmod) return binary(n, numeric, [](Scalar a, Scalar b) { return rem(a, b); });
    // the remainder of a finite number by an infinite one of the other sign is that infinity, and
    // zeros take b's sign
    return binary(n, numeric, [](Scalar a, Scalar b) {
      Scalar r = rem(a, b);
      Scalar zero = select(b < 0.0, -0.0, b.n->literal(0, b));
      return select(equal(r, 0.0), zero, select(bitXor(r < 0.0, b < 0.0), r + b, r));
    });
  }
  requireNoZero(n, y);
  bool safe = isSafeDivisor(n, y);
  binary(n, numeric, [&](Scalar a, Scalar b) {
    auto op = [&](Scalar p, Scalar q) { return fmod ? rem(p, q) : floorMod(p, q); };
    return safe ? op(a, b) : guardedRemainder(a, b, op);
  });
}

/// x^e for a constant e that is a short product or a root.
static Tensor powConstant(NodeBuilder& n, Tensor x, double e) {
  if (e == 1) return x;
  if (e == 2) return n.map(x, [](Scalar v) { return v * v; });
  if (e == 3) return n.map(x, [](Scalar v) { return v * v * v; });
  if (e == 0.5 && isFloat(x.dtype)) return n.map(x, [](Scalar v) { return sqrt(v); });
  return {};
}

// The exponent may be of another type (from opset 12 on); the result has the type of the base.
ORTC_ONNX_OP("Pow", since(1, 7, 12, 13, 15)) {
  Tensor x = n.input(0, "X", numeric), y = n.input(1, "Y", numeric);
  y = alignedForOldBroadcast(n, x, y);
  if (auto c = n.constantTensor(y); c && c->size() == 1 && y.rank() <= x.rank())
    if (Tensor r = powConstant(n, x, c->getDouble(0))) return n.output(0, r);
  // An integer to a floating power is computed in f64, as C's pow does.
  DType in = isFloat(x.dtype) ? x.dtype : isFloat(y.dtype) ? DType::F64 : x.dtype;
  n.output(0, n.map(x, y, x.dtype, [&](Scalar a, Scalar b) {
    return n.cast(pow(n.cast(a, in), n.cast(b, in)), x.dtype);
  }));
}

// ---- any number of operands ----

static std::vector<Tensor> allInputs(NodeBuilder& n, TypeSet types) {
  std::vector<Tensor> xs;
  for (size_t i = 0; i < std::max<size_t>(n.numInputs(), 1); ++i) {
    xs.push_back(n.input(i, "data_" + std::to_string(i), types));
    if (xs.back().dtype != xs[0].dtype)
      n.error("input {} is {}, and input 0 {}; they must be of one type", i,
              dtypeName(xs.back().dtype), dtypeName(xs[0].dtype));
    if (n.opset < 8) // no broadcasting yet
      n.requireShape(xs.back(), n.sizes(xs[0]), "data_" + std::to_string(i));
  }
  return xs;
}
static Tensor foldAll(NodeBuilder& n, llvm::ArrayRef<Tensor> xs, Binary body) {
  if (xs.size() == 1) return xs[0];
  return n.map(xs, xs[0].dtype, [&](llvm::ArrayRef<Scalar> v) {
    Scalar r = v[0];
    for (Scalar next : v.drop_front())
      r = body(r, next);
    return r;
  });
}

ORTC_ONNX_OP("Sum", since(1, 6, 8, 13)) {
  n.output(0, foldAll(n, allInputs(n, floating), [](Scalar x, Scalar y) { return x + y; }));
}
ORTC_ONNX_OP("Max", since(1, 6, 8, 12, 13)) {
  n.output(0, foldAll(n, allInputs(n, numeric), [](Scalar x, Scalar y) { return max(x, y); }));
}
ORTC_ONNX_OP("Min", since(1, 6, 8, 12, 13)) {
  n.output(0, foldAll(n, allInputs(n, numeric), [](Scalar x, Scalar y) { return min(x, y); }));
}
ORTC_ONNX_OP("Mean", since(1, 6, 8, 13)) {
  std::vector<Tensor> xs = allInputs(n, floating);
  Tensor sum = foldAll(n, xs, [](Scalar x, Scalar y) { return x + y; });
  n.output(0, n.map(sum, [&](Scalar s) { return s / static_cast<double>(xs.size()); }));
}

// ---- bits ----

ORTC_ONNX_OP("BitwiseAnd", since(18)) {
  binary(n, integer, [](Scalar x, Scalar y) { return bitAnd(x, y); });
}
ORTC_ONNX_OP("BitwiseOr", since(18)) {
  binary(n, integer, [](Scalar x, Scalar y) { return bitOr(x, y); });
}
ORTC_ONNX_OP("BitwiseXor", since(18)) {
  binary(n, integer, [](Scalar x, Scalar y) { return bitXor(x, y); });
}
ORTC_ONNX_OP("BitwiseNot", since(18)) {
  n.output(0, n.map(n.input(0, "X", integer), [](Scalar x) { return bitXor(x, -1.0); }));
}

// Shifts by as many bits as there are, or more (or by negative numbers), leave only copies of the
// fill bit.
ORTC_ONNX_OP("BitShift", since(11, 28)) {
  std::string direction = n.stringAttr("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    n.error("'direction' is '{}'; expected LEFT or RIGHT", direction);
  binary(n, integer, [&](Scalar x, Scalar y) -> Scalar {
    auto& b = n.b;
    double width = x.type().getIntOrFloatBitWidth();
    // unsigned comparison: a negative amount is a large one
    Scalar unsignedAmount{&n, y.v, true};
    Scalar inside = unsignedAmount < width, amount = select(inside, y, 0.0);
    if (direction == "LEFT")
      return select(inside,
                    Scalar{&n, b.create<mlir::arith::ShLIOp>(n.loc, x.v, amount.v), x.isUnsigned},
                    0.0);
    if (x.isUnsigned)
      return select(inside, Scalar{&n, b.create<mlir::arith::ShRUIOp>(n.loc, x.v, amount.v), true},
                    0.0);
    amount = select(inside, y, width - 1);
    return {&n, b.create<mlir::arith::ShRSIOp>(n.loc, x.v, amount.v), false};
  });
}

} // namespace ortc::opdef
