// SPDX-License-Identifier: Apache-2.0
// Dropout in inference: the identity, with a mask that keeps everything.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// An error when elements are dropped: 'ratio' and 'training_mode' are inputs i and i + 1.
static void requireInference(NodeBuilder& n, size_t i) {
  Tensor ratio = n.optionalInput(i, "ratio"),
         training = n.optionalInput(i + 1, "training_mode", boolean);
  if (ratio && ratio.rank() != 0) n.requireShape(ratio, n.size(1), "ratio");
  if (!training) return;
  auto mode = n.constantInts(training);
  auto r = ratio ? n.constantTensor(ratio) : std::nullopt;
  bool drops = !r || r->size() != 1 || r->getDouble(0) != 0;
  if (!mode || (mode->size() == 1 && mode->front() && drops))
    n.fail("'training_mode' is not false: random dropping is for training only",
           {{true, "export the model for inference"}});
}

ORTC_ONNX_OP("Dropout", since(1, 6, 7, 10, 12, 13, 22)) {
  Tensor x = n.input(0, "data");
  if (n.opset >= 12)
    requireInference(n, 1);
  else if (n.opset < 7 && n.hasAttr("is_test") && !n.flagAttr("is_test", false))
    n.fail("'is_test' is 0: random dropping is for training only",
           {{true, "export the model for inference"}});
  n.output(0, x);
  if (!n.wantsOutput(1)) return;
  // the mask was of the data's type before opset 10
  DType mask = n.opset < 10 ? x.dtype : DType::Bool;
  n.output(1, n.broadcastTo(n.scalarOf(1, mask), n.sizes(x)));
}

/// A mask that keeps everything, a bit for each element: the first in the lowest, 0 behind the
/// last.
static Tensor allBits(NodeBuilder& n, ArrayRef<Size> shape) {
  Size count = product(n, shape);
  return n.generate(ceilDiv(count, n.size(32)), DType::U32, [&](ArrayRef<Scalar> i) {
    Scalar left = min(n.index(count) - i[0] * 32.0, 32.0);
    Scalar bits = n.repeat(
        n.index(0), left, {n.literal(0, n.b.getI64Type())},
        [&](Scalar, ArrayRef<Scalar> c) -> NodeBuilder::Scalars { return {c[0] * 2.0 + 1.0}; })[0];
    return n.cast(bits, DType::U32);
  });
}
ORTC_ONNX_OP_IN("com.microsoft", "BitmaskDropout", since(1)) {
  Tensor x = n.input(0, "data", floating);
  requireInference(n, 1);
  n.output(0, x);
  if (n.wantsOutput(1)) n.output(1, allBits(n, n.sizes(x)));
}

/// data + bias + residual
static Tensor biased(NodeBuilder& n) {
  Tensor x = n.input(0, "data", floating), bias = n.input(1, "bias", oneOf({x.dtype})),
         residual = n.optionalInput(2, "residual", oneOf({x.dtype}));
  requireInference(n, 3);
  n.requireBroadcast(bias, n.sizes(x), "bias");
  auto sum = [](Scalar v, Scalar w) { return v + w; };
  Tensor y = n.map(x, bias, sum);
  if (!residual) return y;
  n.requireShape(residual, n.sizes(x), "residual");
  return n.map(y, residual, sum);
}
ORTC_ONNX_OP_IN("com.microsoft", "BiasDropout", since(1)) {
  Tensor y = biased(n);
  n.output(0, y);
  if (n.wantsOutput(1)) n.output(1, n.broadcastTo(n.scalarOf(1, DType::Bool), n.sizes(y)));
}
ORTC_ONNX_OP_IN("com.microsoft", "BitmaskBiasDropout", since(1)) {
  Tensor y = biased(n);
  n.output(0, y);
  if (n.wantsOutput(1)) n.output(1, allBits(n, n.sizes(y)));
}

} // namespace ortc::opdef
