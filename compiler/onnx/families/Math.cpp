// SPDX-License-Identifier: Apache-2.0
// Functions of one number.
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

static void unary(NodeBuilder& n, TypeSet types, llvm::function_ref<Scalar(Scalar)> body) {
  n.output(0, n.map(n.input(0, "X", types), body));
}

ORTC_ONNX_OP("Abs", since(1, 6, 13)) {
  unary(n, numeric, [](Scalar x) { return abs(x); });
}
ORTC_ONNX_OP("Neg", since(1, 6, 13)) {
  unary(n, numeric, [](Scalar x) { return -x; });
}
ORTC_ONNX_OP("Sign", since(9, 13)) {
  unary(n, numeric, [](Scalar x) {
    Scalar positive = select(x > 0.0, 1.0, x); // zero and NaN stay what they are
    return x.isUnsigned ? positive : select(x < 0.0, -1.0, positive);
  });
}
ORTC_ONNX_OP("Reciprocal", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return 1.0 / x; });
}
ORTC_ONNX_OP("Sqrt", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return sqrt(x); });
}
ORTC_ONNX_OP("Exp", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return exp(x); });
}
ORTC_ONNX_OP("Log", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return log(x); });
}
ORTC_ONNX_OP("Erf", since(9, 13)) {
  unary(n, floating, [](Scalar x) { return erf(x); });
}
ORTC_ONNX_OP("Ceil", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return ceil(x); });
}
ORTC_ONNX_OP("Floor", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return floor(x); });
}
ORTC_ONNX_OP("Round", since(11, 22)) {
  unary(n, floating, [](Scalar x) { return roundEven(x); });
}

ORTC_ONNX_OP("Sin", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return sin(x); });
}
ORTC_ONNX_OP("Cos", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return cos(x); });
}
ORTC_ONNX_OP("Tan", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return tan(x); });
}
ORTC_ONNX_OP("Asin", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return asin(x); });
}
ORTC_ONNX_OP("Acos", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return acos(x); });
}
ORTC_ONNX_OP("Atan", since(7, 22)) {
  unary(n, floating, [](Scalar x) { return atan(x); });
}
ORTC_ONNX_OP("Sinh", since(9, 22)) {
  unary(n, floating, [](Scalar x) { return sinh(x); });
}
ORTC_ONNX_OP("Cosh", since(9, 22)) {
  unary(n, floating, [](Scalar x) { return cosh(x); });
}
ORTC_ONNX_OP("Tanh", since(1, 6, 13)) {
  unary(n, floating, [](Scalar x) { return tanh(x); });
}
ORTC_ONNX_OP("Asinh", since(9, 22)) {
  unary(n, floating, [](Scalar x) { return asinh(x); });
}
ORTC_ONNX_OP("Acosh", since(9, 22)) {
  unary(n, floating, [](Scalar x) { return acosh(x); });
}
ORTC_ONNX_OP("Atanh", since(9, 22)) {
  unary(n, floating, [](Scalar x) { return atanh(x); });
}

} // namespace ortc::opdef
