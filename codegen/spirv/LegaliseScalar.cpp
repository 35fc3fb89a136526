// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Legalise.h"
#include "codegen/gpu/Math.h"
#include "codegen/spirv/Legalise.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using FP = mlir::arith::CmpFPredicate;
using IP = mlir::arith::CmpIPredicate;

namespace ortc::codegen::spirv_text {

using gpu::S;

bool isNarrowInt(Type t) {
  return t.isInteger(4) || t.isInteger(8) || t.isInteger(16);
}
bool isSmallFloatType(Type t) {
  return t.isF16() || t.isBF16();
}

Type valueType(Type t) {
  if (t.isIndex() || t.isInteger(1) || t.isInteger(32) || t.isInteger(64) || t.isF32() || t.isF64())
    return t;
  if (isNarrowInt(t)) return IntegerType::get(t.getContext(), 32);
  if (isSmallFloatType(t)) return Float32Type::get(t.getContext());
  return {};
}

Type storageType(Type t) {
  MLIRContext* c = t.getContext();
  if (t.isInteger(1) || t.isInteger(4) || t.isInteger(8)) return IntegerType::get(c, 8);
  if (t.isInteger(16) || isSmallFloatType(t)) return IntegerType::get(c, 16);
  if (t.isIndex()) return IntegerType::get(c, 64);
  return valueType(t);
}

Value ScalarLegaliser::fail(Operation* op, const Twine& why) {
  op->emitError() << "cannot be written for Vulkan: '" << op->getName() << "': " << why;
  return {};
}

Value ScalarLegaliser::number(Location loc, Type type, int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value));
}
Value ScalarLegaliser::floatNumber(Location loc, Type type, double value) {
  return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
}

Value ScalarLegaliser::signExtended(Type type, Value v) {
  if (!isNarrowInt(type)) return v;
  Value by =
      number(v.getLoc(), b.getI32Type(), 32 - static_cast<int>(type.getIntOrFloatBitWidth()));
  return b.create<arith::ShRSIOp>(v.getLoc(), b.create<arith::ShLIOp>(v.getLoc(), v, by), by);
}
Value ScalarLegaliser::zeroExtended(Type type, Value v) {
  if (!isNarrowInt(type)) return v;
  return b.create<arith::AndIOp>(
      v.getLoc(), v, number(v.getLoc(), b.getI32Type(), (1 << type.getIntOrFloatBitWidth()) - 1));
}
Value ScalarLegaliser::encode(Type type, Value v) {
  return gpu::callHelper(functions, b, v.getLoc(), type.isF16() ? "f16_bits" : "bf16_bits", v);
}
Value ScalarLegaliser::decode(Type type, Value v) {
  if (type.isF16()) return gpu::callHelper(functions, b, v.getLoc(), "f16_value", v);
  return (S(b, v.getLoc(), v) << 16).asFloat().v;
}
Value ScalarLegaliser::rounded(Type type, Value v) {
  return isSmallFloatType(type) ? decode(type, encode(type, v)) : v;
}

Value ScalarLegaliser::constant(arith::ConstantOp op) {
  Type type = op.getType(), to = valueType(type);
  if (!to) return fail(op, "there is no such type");
  if (auto f = dyn_cast<FloatAttr>(op.getValue())) {
    APFloat v = f.getValue();
    bool lossy;
    v.convert(to.isF64() ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
              APFloat::rmNearestTiesToEven, &lossy);
    return b.create<arith::ConstantOp>(op.getLoc(), b.getFloatAttr(to, v));
  }
  auto i = dyn_cast<IntegerAttr>(op.getValue());
  if (!i) return fail(op, "a constant of this type");
  if (type.isInteger(1))
    return b.create<arith::ConstantOp>(op.getLoc(), b.getBoolAttr(!i.getValue().isZero()));
  int64_t v = i.getValue().getSExtValue();
  if (type.isIndex() && (v > INT32_MAX || v < INT32_MIN)) {
    if (!gpu::isOnlyBound(op)) return fail(op, "sizes have 32 bits there, and this is " + Twine(v));
    v = v < 0 ? INT32_MIN : INT32_MAX;
  }
  return number(op.getLoc(), to, v);
}

/// Towards zero, saturating, NaN is 0: OpConvertFToS says nothing of numbers that do not fit.
Value ScalarLegaliser::floatToInt(Location loc, Value x, Type to, bool isSigned) {
  unsigned width = to.getIntOrFloatBitWidth();
  Type f = x.getType();
  // What fits into the type's signed half is converted; the rest is moved there.
  double half = std::ldexp(1.0, static_cast<int>(width) - 1);
  int64_t low = width == 64 ? INT64_MIN : -(int64_t(1) << (width - 1)),
          high = width == 64 ? INT64_MAX : (int64_t(1) << (width - 1)) - 1;
  auto cmp = [&](FP p, Value a, double c) {
    return b.create<arith::CmpFOp>(loc, p, a, floatNumber(loc, f, c)).getResult();
  };
  auto pick = [&](Value c, Value y, Value n) {
    return b.create<arith::SelectOp>(loc, c, y, n).getResult();
  };
  Value zero = floatNumber(loc, f, 0), r;
  Value nan =
      f.isF32() ? S(b, loc, x).isNaN().v : b.create<arith::CmpFOp>(loc, FP::UNO, x, x).getResult();
  if (isSigned) {
    Value over = cmp(FP::OGE, x, half), under = cmp(FP::OLT, x, -half);
    Value inside =
        pick(b.create<arith::OrIOp>(loc, nan, b.create<arith::OrIOp>(loc, over, under)), zero, x);
    r = b.create<arith::FPToSIOp>(loc, to, inside);
    r = pick(over, number(loc, to, high), pick(under, number(loc, to, low), r));
  } else {
    Value over = cmp(FP::OGE, x, 2 * half), under = cmp(FP::OLT, x, 0),
          upper = cmp(FP::OGE, x, half);
    Value moved = pick(upper, b.create<arith::SubFOp>(loc, x, floatNumber(loc, f, half)), x);
    Value inside = pick(b.create<arith::OrIOp>(loc, nan, b.create<arith::OrIOp>(loc, over, under)),
                        zero, moved);
    r = b.create<arith::FPToSIOp>(loc, to, inside);
    r = pick(upper, b.create<arith::XOrIOp>(loc, r, number(loc, to, low)), r);
    r = pick(over, number(loc, to, -1), pick(under, number(loc, to, 0), r));
  }
  return pick(nan, number(loc, to, 0), r);
}

/// x / 0 is 0, x % 0 is 0, and the smallest number / -1 is itself.
Value ScalarLegaliser::divide(Operation* op, ArrayRef<Value> v) {
  Location loc = op->getLoc();
  Type t = v[0].getType();
  Value x = v[0], y = v[1];
  auto constant = getConstantIntValue(y);
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  bool isSafe = t.isIndex() || (constant && *constant != 0 &&
                                *constant != -1); // loops do not run over sizes of zero
  Value zero = number(loc, t, 0), one = number(loc, t, 1), bad, d = y;
  if (!isSafe) {
    bad = b.create<arith::CmpIOp>(loc, IP::eq, y, zero);
    Value use = bad;
    if (isSigned) {
      unsigned width = t.getIntOrFloatBitWidth();
      Value least = b.create<arith::CmpIOp>(
          loc, IP::eq, x, number(loc, t, width == 64 ? INT64_MIN : -(int64_t(1) << (width - 1))));
      Value minus = b.create<arith::CmpIOp>(loc, IP::eq, y, number(loc, t, -1));
      use = b.create<arith::OrIOp>(loc, bad, b.create<arith::AndIOp>(loc, least, minus));
    }
    d = b.create<arith::SelectOp>(loc, use, one, y);
  }
  auto guarded = [&](Value r) {
    return isSafe ? r : b.create<arith::SelectOp>(loc, bad, zero, r).getResult();
  };
  auto quotient = [&]() -> Value {
    return isSigned ? b.create<arith::DivSIOp>(loc, x, d).getResult()
                    : b.create<arith::DivUIOp>(loc, x, d).getResult();
  };
  // The remainder from the quotient: OpSRem of negative numbers is another thing that devices
  // differ in.
  auto rest = [&](Value q) {
    return b.create<arith::SubIOp>(loc, x, b.create<arith::MulIOp>(loc, q, d)).getResult();
  };
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) return guarded(quotient());
  if (isa<arith::RemSIOp>(op)) return guarded(rest(quotient()));
  if (isa<arith::RemUIOp>(op)) return guarded(b.create<arith::RemUIOp>(loc, x, d));
  if (isa<arith::CeilDivUIOp>(op)) {
    Value q = quotient(), r = rest(q);
    return guarded(b.create<arith::AddIOp>(
        loc, q,
        b.create<arith::SelectOp>(loc, b.create<arith::CmpIOp>(loc, IP::ne, r, zero), one, zero)));
  }
  Value q = quotient(), r = rest(q);
  Value inexact = b.create<arith::CmpIOp>(loc, IP::ne, r, zero);
  Value negative = b.create<arith::CmpIOp>(loc, IP::slt, b.create<arith::XOrIOp>(loc, x, d), zero);
  bool floor = isa<arith::FloorDivSIOp>(op);
  if (!floor)
    negative = b.create<arith::XOrIOp>(loc, negative,
                                       b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)));
  Value by =
      b.create<arith::SelectOp>(loc, b.create<arith::AndIOp>(loc, inexact, negative), one, zero);
  return guarded(floor ? b.create<arith::SubIOp>(loc, q, by).getResult()
                       : b.create<arith::AddIOp>(loc, q, by).getResult());
}

/// By the width or more: all bits are shifted out.
Value ScalarLegaliser::shift(Operation* op, Type from, ArrayRef<Value> v) {
  Location loc = op->getLoc();
  Type t = v[0].getType();
  int64_t width = t.isIndex() ? 32 : t.getIntOrFloatBitWidth();
  auto constant = getConstantIntValue(v[1]);
  if (constant && *constant >= 0 && *constant < width) return plain(op, v, t);
  Value inside = b.create<arith::CmpIOp>(loc, IP::ult, v[1], number(loc, t, width));
  Value by = b.create<arith::SelectOp>(loc, inside, v[1],
                                       number(loc, t, isa<arith::ShRSIOp>(op) ? width - 1 : 0));
  Value r = plain(op, {v[0], by}, t);
  return isa<arith::ShRSIOp>(op)
             ? r
             : b.create<arith::SelectOp>(loc, inside, r, number(loc, t, 0)).getResult();
}

Value ScalarLegaliser::plain(Operation* op, ValueRange v, Type to) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(v);
  state.addTypes(to);
  return b.create(state)->getResult(
      0); // without flags: they speak of the wide type, or allow what must not be
}

Value ScalarLegaliser::cast(Operation* op, Type from, Type type, Value v) {
  Location loc = op->getLoc();
  Type to = valueType(type);
  auto chosen = [&](Value one, Value zero) {
    return b.create<arith::SelectOp>(loc, v, one, zero).getResult();
  };
  auto floats = [&](double one) {
    return chosen(floatNumber(loc, to, one), floatNumber(loc, to, 0));
  };
  auto resize = [&](Value x, bool isSigned) -> Value {
    if (x.getType() == to) return x;
    unsigned have = x.getType().getIntOrFloatBitWidth(), want = to.getIntOrFloatBitWidth();
    if (have > want) return b.create<arith::TruncIOp>(loc, to, x);
    return isSigned ? b.create<arith::ExtSIOp>(loc, to, x).getResult()
                    : b.create<arith::ExtUIOp>(loc, to, x).getResult();
  };
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation*) {
        Value x = v;
        if (x.getType().isF64() && isSmallFloatType(type)) {
          // Through f32 with the bits that were lost kept in its last one, so that the second
          // rounding is the only one.
          Value narrow = b.create<arith::TruncFOp>(loc, b.getF32Type(), x);
          Value back = b.create<arith::ExtFOp>(loc, x.getType(), narrow);
          Value inexact = b.create<arith::CmpFOp>(loc, FP::ONE, back, x);
          Value away = b.create<arith::CmpFOp>(loc, FP::OGT, b.create<math::AbsFOp>(loc, back),
                                               b.create<math::AbsFOp>(loc, x));
          Value bits = b.create<arith::BitcastOp>(loc, b.getI32Type(), narrow);
          Value down = b.create<arith::SelectOp>(
              loc, away, b.create<arith::SubIOp>(loc, bits, number(loc, b.getI32Type(), 1)), bits);
          Value odd = b.create<arith::SelectOp>(
              loc, inexact, b.create<arith::OrIOp>(loc, down, number(loc, b.getI32Type(), 1)),
              bits);
          return rounded(type, b.create<arith::BitcastOp>(loc, b.getF32Type(), odd));
        }
        if (x.getType() != to)
          x = x.getType().isF64() ? b.create<arith::TruncFOp>(loc, to, x).getResult()
                                  : b.create<arith::ExtFOp>(loc, to, x).getResult();
        return isa<arith::TruncFOp>(op) ? rounded(type, x) : x;
      })
      .Case([&](arith::SIToFPOp) {
        return from.isInteger(1) ? floats(-1)
                                 : rounded(type, b.create<arith::SIToFPOp>(loc, to, v));
      })
      .Case([&](arith::UIToFPOp) -> Value {
        if (from.isInteger(1)) return floats(1);
        if (isNarrowInt(from))
          return rounded(type, b.create<arith::SIToFPOp>(loc, to, zeroExtended(from, v)));
        return rounded(type, b.create<arith::UIToFPOp>(loc, to, v));
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](Operation*) -> Value {
        bool isSigned = isa<arith::FPToSIOp>(op);
        if (type.isInteger(1))
          return b.create<arith::CmpFOp>(loc, FP::UNE, v, floatNumber(loc, v.getType(), 0));
        if (!isNarrowInt(type)) return floatToInt(loc, v, to, isSigned);
        int64_t width = type.getIntOrFloatBitWidth();
        Value x = floatToInt(loc, v, to, true);
        x = b.create<arith::MaxSIOp>(loc, x, number(loc, to, isSigned ? -(1 << (width - 1)) : 0));
        x = b.create<arith::MinSIOp>(
            loc, x, number(loc, to, isSigned ? (1 << (width - 1)) - 1 : (1 << width) - 1));
        return signExtended(type, x);
      })
      .Case([&](arith::ExtSIOp) {
        return from.isInteger(1) ? chosen(number(loc, to, -1), number(loc, to, 0))
                                 : resize(v, true);
      })
      .Case([&](arith::ExtUIOp) {
        return from.isInteger(1) ? chosen(number(loc, to, 1), number(loc, to, 0))
                                 : signExtended(type, resize(zeroExtended(from, v), false));
      })
      .Case([&](arith::TruncIOp) -> Value {
        if (!type.isInteger(1)) return signExtended(type, resize(v, true));
        return b.create<arith::CmpIOp>(loc, IP::ne,
                                       b.create<arith::AndIOp>(loc, v, number(loc, v.getType(), 1)),
                                       number(loc, v.getType(), 0));
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](Operation*) -> Value {
        bool isUnsigned = isa<arith::IndexCastUIOp>(op);
        Value x = isUnsigned ? zeroExtended(from, v) : v;
        if (from.isInteger(1))
          return chosen(number(loc, to, isUnsigned ? 1 : -1), number(loc, to, 0));
        if (type.isInteger(1))
          return b.create<arith::CmpIOp>(loc, IP::ne, x, number(loc, x.getType(), 0));
        if (x.getType() == to) return signExtended(type, x);
        x = isUnsigned ? b.create<arith::IndexCastUIOp>(loc, to, x).getResult()
                       : b.create<arith::IndexCastOp>(loc, to, x).getResult();
        return signExtended(type, x);
      })
      .Case([&](arith::BitcastOp) -> Value {
        if (isSmallFloatType(type)) return decode(type, zeroExtended(from, v));
        if (isSmallFloatType(from)) return signExtended(type, encode(from, v));
        return v.getType() == to ? v : b.create<arith::BitcastOp>(loc, to, v).getResult();
      })
      .Default([&](Operation*) { return Value(); });
}

/// e^x of an f64, to about one unit in the last place: 2^n e^r with |r| <= ln 2 / 2, e^r by its
/// series.
Value ScalarLegaliser::exp64(Location loc, Value x) {
  Type f64 = b.getF64Type(), i32 = b.getI32Type(), i64 = b.getI64Type();
  auto lit = [&](double v) { return floatNumber(loc, f64, v); };
  auto mul = [&](Value y, Value z) { return b.create<arith::MulFOp>(loc, y, z).getResult(); };
  auto pick = [&](FP p, double limit, Value y) {
    return b
        .create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, p, y, lit(limit)), lit(limit), y)
        .getResult();
  };
  // Beyond these the result is 0 or infinity anyway, and n would not fit.
  Value inside = pick(FP::OLT, -750, pick(FP::OGT, 720, x));
  Value n = b.create<math::RoundEvenOp>(loc, mul(inside, lit(1.4426950408889634)));
  // ln 2 in two parts, the first short enough for n times it to be exact.
  Value r = b.create<arith::SubFOp>(loc, inside, mul(n, lit(0.69314718036912382)));
  r = b.create<arith::SubFOp>(loc, r, mul(n, lit(1.9082149292705877e-10)));
  double factorial = 6227020800.0; // 13!
  Value p = lit(1 / factorial);
  for (int k = 13; k > 0; --k) {
    factorial /= k;
    p = b.create<arith::AddFOp>(loc, mul(p, r), lit(1 / factorial));
  }
  Value isNaN = b.create<arith::CmpFOp>(loc, FP::UNO, x, x);
  Value whole =
      b.create<arith::FPToSIOp>(loc, i32, b.create<arith::SelectOp>(loc, isNaN, lit(0), n));
  // 2^n in two factors: n may be past what an exponent holds.
  Value half = b.create<arith::ShRSIOp>(loc, whole, number(loc, i32, 1));
  for (Value part : {half, b.create<arith::SubIOp>(loc, whole, half).getResult()}) {
    Value biased = b.create<arith::AddIOp>(loc, part, number(loc, i32, 1023));
    Value bits = b.create<arith::ShLIOp>(loc, b.create<arith::ExtSIOp>(loc, i64, biased),
                                         number(loc, i64, 52));
    p = mul(p, b.create<arith::BitcastOp>(loc, f64, bits));
  }
  return b.create<arith::SelectOp>(loc, isNaN, x, p);
}

/// tanh of an f64: (1 - e) / (1 + e) with e = exp(-2 |x|), and x - x^3 / 3 where that would cancel.
Value ScalarLegaliser::tanh64(Location loc, Value x) {
  auto lit = [&](double v) { return floatNumber(loc, b.getF64Type(), v); };
  Value size = b.create<math::AbsFOp>(loc, x);
  Value e = exp64(loc, b.create<arith::MulFOp>(loc, size, lit(-2)));
  Value t = b.create<arith::DivFOp>(loc, b.create<arith::SubFOp>(loc, lit(1), e),
                                    b.create<arith::AddFOp>(loc, lit(1), e));
  Value cube = b.create<arith::MulFOp>(loc, b.create<arith::MulFOp>(loc, x, x), x);
  Value small = b.create<arith::SubFOp>(loc, x, b.create<arith::MulFOp>(loc, cube, lit(1.0 / 3)));
  Value negative = b.create<arith::CmpFOp>(loc, FP::OLT, x, lit(0));
  t = b.create<arith::SelectOp>(loc, negative, b.create<arith::NegFOp>(loc, t), t);
  Value isSmall = b.create<arith::CmpFOp>(loc, FP::OLT, size, lit(1.0 / 1024));
  return b.create<arith::SelectOp>(loc, isSmall, small, t);
}

/// What f64 and i64 have no instruction for is built from what they have; the rest is an error.
Value ScalarLegaliser::math64(Operation* op, ArrayRef<Value> v) {
  Location loc = op->getLoc();
  auto isNaN = [&](Value x) { return b.create<arith::CmpFOp>(loc, FP::UNO, x, x).getResult(); };
  auto pick = [&](Value c, Value y, Value n) {
    return b.create<arith::SelectOp>(loc, c, y, n).getResult();
  };
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op)) {
    bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(op),
         keepsNaN = isa<arith::MaximumFOp, arith::MinimumFOp>(op);
    Value r = pick(b.create<arith::CmpFOp>(loc, isMax ? FP::OGT : FP::OLT, v[1], v[0]), v[1], v[0]);
    return keepsNaN ? pick(isNaN(v[1]), v[1], r) : pick(isNaN(v[0]), v[1], r);
  }
  if (isa<math::TruncOp>(op)) {
    Value down = b.create<math::FloorOp>(loc, b.create<math::AbsFOp>(loc, v[0]));
    return pick(b.create<arith::CmpFOp>(loc, FP::OLT, v[0], floatNumber(loc, v[0].getType(), 0)),
                b.create<arith::NegFOp>(loc, down), down);
  }
  if (isa<math::ExpOp>(op) && v[0].getType().isF64()) return exp64(loc, v[0]);
  if (isa<math::TanhOp>(op) && v[0].getType().isF64()) return tanh64(loc, v[0]);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, math::SqrtOp,
          math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::FmaOp>(op))
    return plain(op, v, v[0].getType());
  return fail(op, v[0].getType().isF64() ? "devices have no f64 form of it"
                                         : "there is no form of it for 64-bit integers");
}

Value ScalarLegaliser::legalise(Operation* op, SmallVector<Value> v) {
  Location loc = op->getLoc();
  if (op->getNumResults() != 1 || op->getNumRegions() || v.empty())
    return fail(op, "there is no form of it");
  Type type = op->getResult(0).getType(), from = op->getOperand(0).getType();
  for (Type t : {type, from})
    if (!valueType(t)) return fail(op, "there is no such type");
  Type to = valueType(type);
  if (Value r = cast(op, from, type, v[0])) return r;
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](arith::CmpIOp c) -> Value {
        bool isUnsigned = c.getPredicate() >= IP::ult;
        if (from.isInteger(1)) {
          if (c.getPredicate() <= IP::ne)
            return b.create<arith::CmpIOp>(loc, c.getPredicate(), v[0], v[1]);
          for (Value& x : v)
            x = b.create<arith::SelectOp>(loc, x, number(loc, b.getI32Type(), isUnsigned ? 1 : -1),
                                          number(loc, b.getI32Type(), 0));
        } else if (isUnsigned) {
          for (Value& x : v)
            x = zeroExtended(from, x);
        }
        return b.create<arith::CmpIOp>(loc, c.getPredicate(), v[0], v[1]);
      })
      .Case([&](arith::CmpFOp c) -> Value {
        // Compilers of shaders may take for granted that there is no NaN: ask the bits.
        bool isSame = v[0] == v[1], f32 = v[0].getType().isF32();
        FP p = c.getPredicate();
        if (f32 && (p == FP::ORD || p == FP::UNO || (isSame && (p == FP::UNE || p == FP::OEQ)))) {
          S nan = S(b, loc, v[0]).isNaN();
          if (!isSame) nan = nan | S(b, loc, v[1]).isNaN();
          if (p == FP::UNO || p == FP::UNE) return nan.v;
          return b.create<arith::XOrIOp>(loc, nan.v,
                                         b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)));
        }
        return b.create<arith::CmpFOp>(loc, p, v[0], v[1]);
      })
      .Case<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
          [&](Operation*) { return signExtended(type, divide(op, v)); })
      .Case<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>([&](Operation*) {
        SmallVector<Value> wide = {zeroExtended(from, v[0]), zeroExtended(from, v[1])};
        return signExtended(type, divide(op, wide));
      })
      .Case<arith::MaxUIOp, arith::MinUIOp>([&](Operation*) {
        return signExtended(
            type, plain(op, ValueRange{zeroExtended(from, v[0]), zeroExtended(from, v[1])}, to));
      })
      .Case<arith::ShRUIOp, arith::ShLIOp, arith::ShRSIOp>([&](Operation*) {
        SmallVector<Value> x = {isa<arith::ShRUIOp>(op) ? zeroExtended(from, v[0]) : v[0],
                                zeroExtended(from, v[1])};
        return signExtended(type, shift(op, from, x));
      })
      .Case([&](math::AbsIOp) {
        Value zero = number(loc, to, 0),
              negative = b.create<arith::CmpIOp>(loc, IP::slt, v[0], zero);
        return signExtended(
            type, b.create<arith::SelectOp>(loc, negative, b.create<arith::SubIOp>(loc, zero, v[0]),
                                            v[0]));
      })
      .Case([&](arith::SelectOp) -> Value {
        return b.create<arith::SelectOp>(loc, v[0], v[1], v[2]);
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
            arith::MaxSIOp, arith::MinSIOp>(
          [&](Operation*) { return signExtended(type, plain(op, v, to)); })
      .Default([&](Operation*) -> Value {
        StringRef dialect = op->getDialect() ? op->getDialect()->getNamespace() : "";
        if (dialect != "arith" && dialect != "math") return fail(op, "there is no form of it");
        Type t = v[0].getType();
        if (t.isF64() || t.isInteger(64)) return math64(op, v);
        if (isNarrowInt(from) &&
            isa<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(op)) {
          // Of the bits that the type has: above them there is nothing, and below the end there is
          // a stop.
          int64_t width = from.getIntOrFloatBitWidth();
          Value x = zeroExtended(from, v[0]);
          if (isa<math::CountTrailingZerosOp>(op))
            x = b.create<arith::OrIOp>(loc, x, number(loc, to, int64_t(1) << width));
          Value r = gpu::callMath(functions, b, op, x);
          return isa<math::CountLeadingZerosOp>(op)
                     ? b.create<arith::SubIOp>(loc, r, number(loc, to, 32 - width)).getResult()
                     : r;
        }
        if (Value r = gpu::callMath(functions, b, op, v))
          return rounded(type, signExtended(type, r));
        return rounded(type, plain(op, v, to));
      });
}

} // namespace ortc::codegen::spirv_text
