// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 8- and 16-bit integers in 32 bits (com.microsoft).
#include "compiler/onnx/families/Quantize.h"

using namespace mlir;

namespace ortc::opdef {

static const TypeSet& eightBit() {
  static const TypeSet set = oneOf({DType::I8, DType::U8});
  return set;
}

// (A - zero) * (B - zero), each element as i32.
ORTC_ONNX_OP_IN("com.microsoft", "MulInteger", since(1)) {
  Tensor a = n.input(0, "A", eightBit()), b = n.input(2, "B", eightBit());
  auto operand = [&](Tensor t, size_t i, StringRef name) {
    Tensor zero = n.optionalInput(i, name, oneOf({t.dtype}));
    if (zero && zero.rank() != 0 && !(zero.rank() == 1 && n.size(zero, 0).is(1)))
      n.error("'{}' is {}; expected a scalar", name.str(), n.typeText(zero));
    return n.castTo(shifted(n, t, zero ? scalarOrSelf(n, zero) : zero), DType::I32);
  };
  Tensor x = operand(a, 1, "A_zero_point"), y = operand(b, 3, "B_zero_point");
  n.output(0, n.map(x, y, [](Scalar v, Scalar w) { return v * w; }));
}

// Sums as int32 of int8, as uint32 of uint8.
ORTC_ONNX_OP_IN("com.microsoft", "ReduceSumInteger", since(1)) {
  Tensor x = n.input(0, "data", eightBit());
  std::vector<int64_t> axes = n.axes(n.intsAttr("axes"), x.rank());
  n.output(0, n.reduce(n.castTo(x, x.dtype == DType::I8 ? DType::I32 : DType::U32), axes,
                       n.flagAttr("keepdims", true), 0, [](Scalar c, Scalar v) { return c + v; }));
}

// Sums that are too large for 32 bits wrap around.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulInteger16", since(1)) {
  static const TypeSet sixteen = oneOf({DType::I16, DType::U16});
  Tensor a = n.input(0, "A", sixteen), b = n.input(1, "B", sixteen);
  bool isUnsigned = a.dtype == DType::U16 && b.dtype == DType::U16;
  DType to = isUnsigned ? DType::U32 : DType::I32;
  n.output(0, n.matmul(n.castTo(a, to), n.castTo(b, to), to));
}

} // namespace ortc::opdef
