// SPDX-License-Identifier: Apache-2.0
// Floats of 4 bits (f4e2m1) and powers of two in 8 (f8e8m0), which the IR has no types for: codes
// in integers, and the arithmetic to and from f32.
#include "compiler/onnx/NodeBuilder.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
constexpr double kOne = 1 << 23; // of an f32's exponent among its bits
}

static Scalar bitcast(NodeBuilder& n, Scalar v, Type to) {
  return {&n, n.b.create<arith::BitcastOp>(n.loc, to, v.v), false};
}
static Scalar orZero(NodeBuilder& n, Scalar condition) {
  return n.cast(condition, DType::I32);
}

Scalar NodeBuilder::decoded(Scalar code, DType from) {
  Type i32 = b.getI32Type();
  Scalar c{this, b.create<arith::ExtUIOp>(loc, i32, code.v), false};
  if (from == DType::F8E8M0) {
    Scalar bits = select(equal(c, 0.0), literal(kOne / 2, i32), c * kOne);
    return select(equal(c, 255.0), NAN, bitcast(*this, bits, b.getF32Type()));
  }
  // 0, 1/2, 1, 3/2, 2, 3, 4, 6: half as much again in each pair of two powers
  Scalar sign = c / 8.0, magnitude = rem(c, 8.0), pair = magnitude / 2.0, odd = rem(magnitude, 2.0);
  Scalar power = select(equal(pair, 3.0), 4.0, select(equal(pair, 2.0), literal(2, i32), 1.0));
  Scalar halves = select(equal(pair, 0.0), odd, (odd + 2.0) * power);
  Scalar v = cast(halves, DType::F32) * 0.5;
  return select(equal(sign, 0.0), v, -v);
}

Scalar NodeBuilder::encoded(Scalar v, DType to, bool saturate, Rounding rounding) {
  Scalar x = cast(v, DType::F32);
  Type i32 = b.getI32Type();
  Scalar bits = bitcast(*this, x, i32);
  if (to == DType::F4E2M1) { // how many of the middles between neighbours it is above, or at
    Scalar a = abs(x);
    Scalar code = orZero(*this, a > 0.25) + orZero(*this, a >= 0.75) + orZero(*this, a > 1.25) +
                  orZero(*this, a >= 1.75) + orZero(*this, a > 2.5) + orZero(*this, a >= 3.5) +
                  orZero(*this, a > 5.0);
    code = code + select(bits < 0.0, literal(8, code), 0.0);
    // There is no NaN. The standard's text makes it 6, its tests -0, which is what others do.
    code = select(isNaN(x), 8.0, code);
    return {this, b.create<arith::TruncIOp>(loc, typeOf(to), code.v), true};
  }
  // The exponent, and one more where the rest of the significand rounds up; the sign is left out.
  Scalar a = select(bits < 0.0, bits + 2147483648.0, bits);
  Scalar exponent = a / kOne, rest = a - exponent * kOne;
  Scalar denormal = equal(exponent, 0.0); // 2^-127 (1 + f)
  rest = select(denormal, (rest - kOne / 2) * 2.0, rest);
  Scalar up = rounding == Rounding::Up        ? rest > 0.0
              : rounding == Rounding::Nearest ? rest >= kOne / 2
                                              : rest < 0.0;
  Scalar code = exponent + orZero(*this, up);
  code = select(code > 254.0, saturate ? 254.0 : 255.0, code);
  code = select(a < kOne / 2, saturate ? literal(0, code) : literal(255, code), code);
  code = select(isNaN(x), 255.0, code);
  return {this, b.create<arith::TruncIOp>(loc, typeOf(to), code.v), true};
}

} // namespace ortc::opdef
