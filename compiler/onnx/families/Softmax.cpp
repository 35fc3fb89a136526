// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax, Hardmax. Before opset 13 the tensor was taken as a matrix whose rows begin
// at `axis`.
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

static std::vector<int64_t> softmaxAxes(NodeBuilder& n, Tensor x) {
  if (n.opset >= 13) return {n.axis(n.intAttr("axis", -1), x.rank())};
  int64_t axis = n.intAttr("axis", 1);
  if (axis == x.rank()) return {}; // rows of one element
  return axesFrom(n.axis(axis, x.rank()), x.rank());
}

static void softmax(NodeBuilder& n, bool logarithm) {
  Tensor x = n.input(0, "input", floating);
  n.output(0, softmaxOver(n, x, softmaxAxes(n, x), logarithm));
}
ORTC_ONNX_OP("Softmax", since(1, 11, 13)) {
  softmax(n, false);
}
ORTC_ONNX_OP("LogSoftmax", since(1, 11, 13)) {
  softmax(n, true);
}

// softmax(data + bias) of what is at `axis` and behind it. The bias has the dims before the axis as
// they are, or 1 of them.
ORTC_ONNX_OP_IN("com.microsoft", "BiasSoftmax", since(1)) {
  Tensor x = n.input(0, "data", floating), bias = n.input(1, "bias", oneOf({x.dtype}));
  n.intAttr("is_inner_broadcast"); // how the dims that broadcast lie, which they say themselves
  int64_t axis = n.axis(n.intAttr("axis", 1), x.rank());
  n.requireBroadcast(bias, n.sizes(x), "bias");
  n.output(0, throughWide(n, x, [&](Tensor w) {
             Tensor all = n.map(w, widened(n, bias), [](Scalar v, Scalar b) { return v + b; });
             return softmaxOver(n, all, axesFrom(axis, x.rank()), /*logarithm=*/false);
           }));
}

// 1 at the first of the largest, else 0
ORTC_ONNX_OP("Hardmax", since(1, 11, 13)) {
  Tensor x = n.input(0, "input", floating);
  std::vector<int64_t> axes = softmaxAxes(n, x);
  // One axis: the others that belong to a row are flattened into it.
  std::vector<Size> in = n.sizes(x), flat;
  int64_t axis = axes.empty() ? x.rank() : axes.front();
  Tensor y = x;
  if (axes.size() != 1) {
    llvm::ArrayRef<Size> all(in);
    flat = {product(n, all.take_front(axis)), product(n, all.drop_front(axis))};
    y = n.reshape(x, flat);
    axis = 1;
  }
  Tensor top = n.reduce(y, axis, true, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
  Size extent = n.size(y, axis);
  std::vector<Size> shape = n.sizes(y), outer = shape;
  outer[axis] = n.size(1);
  Tensor first = n.generateReduce(
      outer, extent, DType::I64, INFINITY, [&](llvm::ArrayRef<Scalar> i, Scalar carried) {
        llvm::SmallVector<Scalar> at(i.drop_back());
        at[axis] = i.back();
        Scalar hit = equal(n.at(y, at), n.at(top, i.drop_back()));
        return select(hit, min(carried, n.fromIndex(i.back(), DType::I64)), carried);
      });
  Tensor hot = n.map({y, first}, x.dtype, [&](llvm::ArrayRef<Scalar> s) {
    Scalar here = equal(n.fromIndex(loopIndex(n, axis), DType::I64), s[1]);
    return select(here, n.literal(1, s[0]), 0.0);
  });
  n.output(0, n.reshape(hot, in));
}

} // namespace ortc::opdef
