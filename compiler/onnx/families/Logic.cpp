// SPDX-License-Identifier: Apache-2.0
// Comparison, logic, and choice.
#include "compiler/onnx/families/Strings.h"

namespace ortc::opdef {

static void compare(NodeBuilder& n, TypeSet types,
                    llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  Tensor x = n.input(0, "A", types), y = n.input(1, "B", types);
  if (x.dtype != y.dtype)
    n.error("operands are of types {} and {}; they must be of one type", dtypeName(x.dtype),
            dtypeName(y.dtype));
  n.output(0, n.map(x, alignedForOldBroadcast(n, x, y), DType::Bool, body));
}

static const TypeSet numericOrBool{numeric.bits | uint64_t(1) << static_cast<unsigned>(DType::Bool),
                                   "a numeric type or bool"};

ORTC_ONNX_OP("Equal", since(1, 7, 11, 13, 19)) {
  if (Tensor a = n.input(0, "A"); a.dtype == DType::String)
    return n.output(0, stringEqual(n, a, n.input(1, "B", stringType)));
  compare(n, numericOrBool, [](Scalar x, Scalar y) { return equal(x, y); });
}
ORTC_ONNX_OP("Less", since(1, 7, 9, 13)) {
  compare(n, numeric, [](Scalar x, Scalar y) { return x < y; });
}
ORTC_ONNX_OP("LessOrEqual", since(12, 16)) {
  compare(n, numeric, [](Scalar x, Scalar y) { return x <= y; });
}
ORTC_ONNX_OP("Greater", since(1, 7, 9, 13)) {
  compare(n, numeric, [](Scalar x, Scalar y) { return x > y; });
}
ORTC_ONNX_OP("GreaterOrEqual", since(12, 16)) {
  compare(n, numeric, [](Scalar x, Scalar y) { return x >= y; });
}

ORTC_ONNX_OP("And", since(1, 7)) {
  compare(n, boolean, [](Scalar x, Scalar y) { return bitAnd(x, y); });
}
ORTC_ONNX_OP("Or", since(1, 7)) {
  compare(n, boolean, [](Scalar x, Scalar y) { return bitOr(x, y); });
}
ORTC_ONNX_OP("Xor", since(1, 7)) {
  compare(n, boolean, [](Scalar x, Scalar y) { return bitXor(x, y); });
}
ORTC_ONNX_OP("Not", since(1)) {
  n.output(0, n.map(n.input(0, "X", boolean), [](Scalar x) { return !x; }));
}

ORTC_ONNX_OP("IsNaN", since(9, 13, 20)) {
  n.output(0, n.map(n.input(0, "X", floating), DType::Bool, [](Scalar x) { return isNaN(x); }));
}
ORTC_ONNX_OP("IsInf", since(10, 20)) {
  bool negative = n.flagAttr("detect_negative", true),
       positive = n.flagAttr("detect_positive", true);
  n.output(0, n.map(n.input(0, "X", floating), DType::Bool, [&](Scalar x) {
    if (negative && positive) return isInf(x);
    if (negative) return equal(x, -INFINITY);
    if (positive) return equal(x, INFINITY);
    return Scalar{&n, n.literal(0, n.b.getI1Type()).v, true};
  }));
}

ORTC_ONNX_OP("Where", since(9, 16)) {
  Tensor condition = n.input(0, "condition", boolean), x = n.input(1, "X"), y = n.input(2, "Y");
  if (x.dtype != y.dtype)
    n.error("'X' is {} and 'Y' {}; they must be of one type", dtypeName(x.dtype),
            dtypeName(y.dtype));
  n.output(0, n.map({condition, x, y}, x.dtype,
                    [](llvm::ArrayRef<Scalar> v) { return select(v[0], v[1], v[2]); }));
}

} // namespace ortc::opdef
