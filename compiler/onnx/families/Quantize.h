// SPDX-License-Identifier: Apache-2.0
// What the operators on quantised numbers share, those of the standard and those of ONNX Runtime.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

/// round(v) + zero, saturated; v is a float, `zero` may have no value.
Scalar quantized(NodeBuilder& n, Scalar v, Scalar zero, DType to);
/// t - zero as i32, or t itself when there is nothing to take off.
Tensor shifted(NodeBuilder& n, Tensor t, Tensor zero);
/// A parameter per row of a left operand, [M], as [M, 1]; one per column of a right one; one for
/// all of what has one element.
Tensor perRow(NodeBuilder& n, Tensor t);
Tensor perColumn(NodeBuilder& n, Tensor t);
Tensor scalarOrSelf(NodeBuilder& n, Tensor t);
/// The product as i32; both operands are brought to one type when one of them was shifted.
Tensor productOf(NodeBuilder& n, Tensor a, Tensor b);
/// An accumulator times a_scale * b_scale / y_scale, rounded, plus the zero point, saturated.
Tensor requantized(NodeBuilder& n, Tensor acc, Tensor aScale, Tensor bScale, Tensor yScale,
                   Tensor yZero);

/// Floats as uint8, with the scale and zero point of their own range (0 is always in it).
struct Dynamic {
  Tensor x, scale, zero;
};
Dynamic dynamicallyQuantised(NodeBuilder& n, Tensor x);
/// a b + bias as floats, where `a` is quantised as it is there and b is stored so, with a scale
/// (and zero point) of its own or of each column. `bZero` and `bias` may be absent.
Tensor dynamicProduct(NodeBuilder& n, Tensor a, Tensor b, Tensor bScale, Tensor bZero, Tensor bias);

} // namespace ortc::opdef
