// SPDX-License-Identifier: Apache-2.0
// Window functions, and sequences that are turned around.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

/// a - b cos(2 pi i / N) + c cos(4 pi i / N), where N is one less than the size when the window is
/// symmetric
static void window(NodeBuilder& n, double a, double b, double c) {
  std::vector<Size> size = n.asSizes(n.input(0, "size", indexInteger), "size");
  if (size.size() != 1) n.error("'size' must be a scalar");
  auto type = dtypeFromOnnx(n.intAttr("output_datatype", 1));
  if (!type || !numeric.has(*type))
    n.error("'output_datatype' is {}, which is no numeric type", n.intAttr("output_datatype", 1));
  bool periodic = n.flagAttr("periodic", true);
  DType wide = *type == DType::F64 ? DType::F64 : DType::F32;
  n.requireNonNegative(size[0], "'size' is negative");
  Size length = nonNegative(size[0]);
  n.output(0, n.generate(length, *type, [&](ArrayRef<Scalar> i) {
    Scalar period = n.fromIndex(n.index(length), wide);
    if (!periodic) period = max(period - 1.0, 1.0);
    Scalar angle = n.fromIndex(i[0], wide) * (2 * M_PI) / period;
    Scalar v = a - b * cos(angle);
    if (c != 0) v = v + c * cos(angle * 2.0);
    return n.cast(v, *type);
  }));
}
ORTC_ONNX_OP("HannWindow", since(17)) {
  window(n, 0.5, 0.5, 0);
}
ORTC_ONNX_OP("HammingWindow", since(17)) {
  window(n, 25.0 / 46, 21.0 / 46, 0);
}
ORTC_ONNX_OP("BlackmanWindow", since(17)) {
  window(n, 0.42, 0.5, 0.08);
}

// The first lengths[b] elements of each sequence backwards, the rest as it is.
ORTC_ONNX_OP("ReverseSequence", since(10, 28)) {
  Tensor x = n.input(0, "input"), lengths = n.input(1, "sequence_lens", oneOf({DType::I64}));
  if (x.rank() < 2 || lengths.rank() != 1)
    n.error("the input has rank {} and 'sequence_lens' {}; expected at least 2, and 1", x.rank(),
            lengths.rank());
  int64_t batch = n.axis(n.intAttr("batch_axis", 1), x.rank(), "batch_axis"),
          time = n.axis(n.intAttr("time_axis", 0), x.rank(), "time_axis");
  if (batch == time) n.error("'batch_axis' and 'time_axis' are both {}", batch);
  n.output(0, n.generate(n.sizes(x), x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    Scalar length = min(n.toIndex(n.at(lengths, o[batch])), n.index(n.size(x, time)));
    i[time] = select(o[time] < length, length - 1.0 - o[time], o[time]);
    return n.at(x, i);
  }));
}

ORTC_ONNX_OP("SwiGLU", since(28)) {
  double alpha = n.floatAttr("alpha", 1.0);
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype}));
  n.requireShape(b, n.sizes(a), "B");
  n.output(0, n.map(a, b, [&](Scalar v, Scalar w) {
    return v * sigmoid(alpha == 1 ? v : v * alpha) * w;
  }));
}

} // namespace ortc::opdef
