// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes and scalars of op definitions: which arith and math ops they become.
#include "compiler/onnx/NodeBuilder.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

/// Sizes of a model are numbers of anyone: where constants would leave 64 bits the node is at
/// fault.
template <typename Overflows> static void checkConstants(Size x, Size y, Overflows overflows) {
  auto a = x.constant(), b = y.constant();
  int64_t result;
  if (a && b && overflows(*a, *b, &result))
    x.n->error("a size computed from {} and {} does not fit into 64 bits", *a, *b);
}
static void checkDivision(Size x, Size y) {
  if (y.is(0)) x.n->error("a size would be divided by 0");
  checkConstants(x, y, [](int64_t a, int64_t b, int64_t*) { return a == INT64_MIN && b == -1; });
}

Size operator+(Size x, Size y) {
  checkConstants(x, y, [](auto... a) { return __builtin_add_overflow(a...); });
  return {x.n, addSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size operator-(Size x, Size y) {
  checkConstants(x, y, [](auto... a) { return __builtin_sub_overflow(a...); });
  return {x.n, subSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size operator*(Size x, Size y) {
  checkConstants(x, y, [](auto... a) { return __builtin_mul_overflow(a...); });
  return {x.n, mulSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size operator/(Size x, Size y) {
  checkDivision(x, y);
  return {x.n, floorDivSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size ceilDiv(Size x, Size y) {
  checkDivision(x, y);
  return {x.n, ceilDivSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size max(Size x, Size y) {
  return {x.n, maxSizes(x.n->b, x.n->loc, x.v, y.v)};
}
Size min(Size x, Size y) {
  return {x.n, minSizes(x.n->b, x.n->loc, x.v, y.v)};
}
bool same(Size x, Size y) {
  return sameSize(x.v, y.v);
}

static bool isFloat(Scalar s) {
  return isa<FloatType>(s.type());
}

template <typename Op> static Scalar unary(Scalar x) {
  return {x.n, x.n->b.createOrFold<Op>(x.n->loc, x.v), x.isUnsigned};
}
/// An operator that wants its inputs to be of one type meets a model where they are not.
static void checkTypes(Scalar x, Scalar y) {
  if (x.type() == y.type()) return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << x.type() << " and " << y.type();
  x.n->error("inputs that must be of one type are of types {}", os.str());
}
template <typename Op> static Scalar binary(Scalar x, Scalar y) {
  checkTypes(x, y);
  return {x.n, x.n->b.createOrFold<Op>(x.n->loc, x.v, y.v), x.isUnsigned};
}
template <typename F, typename S, typename U> static Scalar pick(Scalar x, Scalar y) {
  if (isFloat(x)) return binary<F>(x, y);
  return x.isUnsigned ? binary<U>(x, y) : binary<S>(x, y);
}

static Scalar compare(Scalar x, Scalar y, arith::CmpFPredicate f, arith::CmpIPredicate s,
                      arith::CmpIPredicate u) {
  OpBuilder& b = x.n->b;
  checkTypes(x, y);
  Value v = isFloat(x) ? b.createOrFold<arith::CmpFOp>(x.n->loc, f, x.v, y.v)
                       : b.createOrFold<arith::CmpIOp>(x.n->loc, x.isUnsigned ? u : s, x.v, y.v);
  return {x.n, v, true};
}

Scalar operator+(Scalar x, Scalar y) {
  return isFloat(x) ? binary<arith::AddFOp>(x, y) : binary<arith::AddIOp>(x, y);
}
Scalar operator-(Scalar x, Scalar y) {
  return isFloat(x) ? binary<arith::SubFOp>(x, y) : binary<arith::SubIOp>(x, y);
}
Scalar operator*(Scalar x, Scalar y) {
  return isFloat(x) ? binary<arith::MulFOp>(x, y) : binary<arith::MulIOp>(x, y);
}
Scalar operator/(Scalar x, Scalar y) {
  return pick<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(x, y);
}
Scalar rem(Scalar x, Scalar y) {
  return pick<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(x, y);
}
Scalar floorMod(Scalar x, Scalar y) {
  Scalar r = rem(x, y);
  if (x.isUnsigned) return r;
  // the remainder has the dividend's sign: move it to the divisor's
  Scalar signsDiffer = bitXor(r < 0.0, y < 0.0);
  return select(bitAnd(notEqual(r, 0.0), signsDiffer), r + y, r);
}
Scalar max(Scalar x, Scalar y) {
  return pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(x, y);
}
Scalar min(Scalar x, Scalar y) {
  return pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(x, y);
}
Scalar pow(Scalar x, Scalar y) {
  if (isFloat(x)) return binary<math::PowFOp>(x, y);
  return binary<math::IPowIOp>(x, y);
}
Scalar operator<(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
                 arith::CmpIPredicate::ult);
}
Scalar operator<=(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle,
                 arith::CmpIPredicate::ule);
}
Scalar operator>(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt,
                 arith::CmpIPredicate::ugt);
}
Scalar operator>=(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge,
                 arith::CmpIPredicate::uge);
}
Scalar equal(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                 arith::CmpIPredicate::eq);
}
Scalar notEqual(Scalar x, Scalar y) {
  return compare(x, y, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne,
                 arith::CmpIPredicate::ne);
}
Scalar bitAnd(Scalar x, Scalar y) {
  return binary<arith::AndIOp>(x, y);
}
Scalar bitOr(Scalar x, Scalar y) {
  return binary<arith::OrIOp>(x, y);
}
Scalar bitXor(Scalar x, Scalar y) {
  return binary<arith::XOrIOp>(x, y);
}

#define ORTC_SCALAR_LITERALS(name)                                                                 \
  Scalar name(Scalar x, double y) {                                                                \
    return name(x, x.n->literal(y, x));                                                            \
  }                                                                                                \
  Scalar name(double x, Scalar y) {                                                                \
    return name(y.n->literal(x, y), y);                                                            \
  }
ORTC_SCALAR_LITERALS(operator+)
ORTC_SCALAR_LITERALS(operator-)
ORTC_SCALAR_LITERALS(operator*)
ORTC_SCALAR_LITERALS(operator/)
ORTC_SCALAR_LITERALS(rem)
ORTC_SCALAR_LITERALS(floorMod)
ORTC_SCALAR_LITERALS(max)
ORTC_SCALAR_LITERALS(min)
ORTC_SCALAR_LITERALS(pow)
ORTC_SCALAR_LITERALS(operator<)
ORTC_SCALAR_LITERALS(operator<=)
ORTC_SCALAR_LITERALS(operator>)
ORTC_SCALAR_LITERALS(operator>=)
ORTC_SCALAR_LITERALS(equal)
ORTC_SCALAR_LITERALS(notEqual)
ORTC_SCALAR_LITERALS(bitAnd)
ORTC_SCALAR_LITERALS(bitOr)
ORTC_SCALAR_LITERALS(bitXor)
#undef ORTC_SCALAR_LITERALS

Scalar operator-(Scalar x) {
  return isFloat(x) ? unary<arith::NegFOp>(x) : x.n->literal(0, x) - x;
}
Scalar operator!(Scalar x) {
  return bitXor(x, x.n->literal(1, x));
}

Scalar select(Scalar c, Scalar x, Scalar y) {
  checkTypes(x, y);
  return {x.n, x.n->b.createOrFold<arith::SelectOp>(x.n->loc, c.v, x.v, y.v), x.isUnsigned};
}
Scalar select(Scalar c, Scalar x, double y) {
  return select(c, x, x.n->literal(y, x));
}
Scalar select(Scalar c, double x, Scalar y) {
  return select(c, y.n->literal(x, y), y);
}
Scalar clamp(Scalar v, double low, double high) {
  return min(max(v, low), high);
}

Scalar exp(Scalar x) {
  return unary<math::ExpOp>(x);
}
Scalar log(Scalar x) {
  return unary<math::LogOp>(x);
}
Scalar log1p(Scalar x) {
  return unary<math::Log1pOp>(x);
}
Scalar expm1(Scalar x) {
  return unary<math::ExpM1Op>(x);
}
Scalar sqrt(Scalar x) {
  return unary<math::SqrtOp>(x);
}
Scalar tanh(Scalar x) {
  return unary<math::TanhOp>(x);
}
Scalar erf(Scalar x) {
  return unary<math::ErfOp>(x);
}
Scalar abs(Scalar x) {
  return isFloat(x) ? unary<math::AbsFOp>(x) : x.isUnsigned ? x : unary<math::AbsIOp>(x);
}
Scalar floor(Scalar x) {
  return unary<math::FloorOp>(x);
}
Scalar ceil(Scalar x) {
  return unary<math::CeilOp>(x);
}
Scalar trunc(Scalar x) {
  return unary<math::TruncOp>(x);
}
Scalar roundEven(Scalar x) {
  return unary<math::RoundEvenOp>(x);
}
Scalar sin(Scalar x) {
  return unary<math::SinOp>(x);
}
Scalar cos(Scalar x) {
  return unary<math::CosOp>(x);
}
Scalar tan(Scalar x) {
  return unary<math::TanOp>(x);
}
Scalar asin(Scalar x) {
  return unary<math::AsinOp>(x);
}
Scalar acos(Scalar x) {
  return unary<math::AcosOp>(x);
}
Scalar atan(Scalar x) {
  return unary<math::AtanOp>(x);
}
Scalar sinh(Scalar x) {
  return unary<math::SinhOp>(x);
}
Scalar cosh(Scalar x) {
  return unary<math::CoshOp>(x);
}
Scalar asinh(Scalar x) {
  return unary<math::AsinhOp>(x);
}
Scalar acosh(Scalar x) {
  return unary<math::AcoshOp>(x);
}
Scalar atanh(Scalar x) {
  return unary<math::AtanhOp>(x);
}
Scalar isNaN(Scalar x) {
  return {x.n, x.n->b.createOrFold<arith::CmpFOp>(x.n->loc, arith::CmpFPredicate::UNO, x.v, x.v),
          true};
}
Scalar isInf(Scalar x) {
  return equal(abs(x), INFINITY);
}
Scalar sigmoid(Scalar x) {
  // exp of a non-positive number cannot overflow; the other half by symmetry
  Scalar e = exp(-abs(x));
  Scalar positive = 1.0 / (1.0 + e);
  return select(x < 0.0, e * positive, positive);
}

Scalar NodeBuilder::literal(double value, Type type, bool isUnsigned) {
  TypedAttr attr;
  if (auto f = dyn_cast<FloatType>(type)) {
    APFloat v(value);
    bool lossy;
    v.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    attr = FloatAttr::get(type, v);
  } else if (type.isInteger(1)) {
    attr = b.getBoolAttr(value != 0 && value != -INFINITY);
  } else {
    // Infinities, the neutral elements of max and min, become the ends of the type's range.
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    double top = std::ldexp(1.0, isUnsigned ? width : width - 1);
    if (std::isnan(value)) value = 0;
    if (!isUnsigned && value < -top) value = -INFINITY;
    APInt v =
        value >= top ? (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width))
        : std::isinf(value)
            ? (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width))
        : value >= 0x1p63 ? APInt(width, static_cast<uint64_t>(value))
                          : APInt(width, static_cast<uint64_t>(static_cast<int64_t>(value)), true);
    attr = b.getIntegerAttr(type, v);
  }
  return {this, b.create<arith::ConstantOp>(loc, attr), isUnsigned};
}

Scalar NodeBuilder::cast(Scalar v, DType to) {
  Type from = v.type(), type = typeOf(to);
  bool toUnsigned = isInteger(to) && !isSignedInteger(to);
  if (from == type) return {this, v.v, toUnsigned || to == DType::Bool};
  auto make = [&](auto op) -> Scalar {
    return {this, op.getResult(), toUnsigned || to == DType::Bool};
  };
  if (to == DType::Bool) {
    // IEEE: NaN is not zero
    return notEqual(v, 0.0);
  }
  if (isa<FloatType>(from)) {
    if (isa<FloatType>(type)) {
      unsigned wf = from.getIntOrFloatBitWidth(), wt = type.getIntOrFloatBitWidth();
      // between formats of one width (f16 and bf16, or two kinds of f8) go through f32
      if (wf == wt) return cast(make(b.create<arith::ExtFOp>(loc, b.getF32Type(), v.v)), to);
      if (wf < wt) return make(b.create<arith::ExtFOp>(loc, type, v.v));
      return make(b.create<arith::TruncFOp>(loc, type, v.v));
    }
    if (toUnsigned) return make(b.create<arith::FPToUIOp>(loc, type, v.v));
    return make(b.create<arith::FPToSIOp>(loc, type, v.v));
  }
  bool fromUnsigned = v.isUnsigned || from.isInteger(1);
  if (from.isIndex()) {
    Scalar wide{this, b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), v.v), false};
    return to == DType::I64 ? wide : cast(wide, to);
  }
  if (isa<FloatType>(type)) {
    if (fromUnsigned) return make(b.create<arith::UIToFPOp>(loc, type, v.v));
    return make(b.create<arith::SIToFPOp>(loc, type, v.v));
  }
  unsigned wf = from.getIntOrFloatBitWidth(), wt = type.getIntOrFloatBitWidth();
  if (wf > wt) return make(b.create<arith::TruncIOp>(loc, type, v.v));
  if (fromUnsigned) return make(b.create<arith::ExtUIOp>(loc, type, v.v));
  return make(b.create<arith::ExtSIOp>(loc, type, v.v));
}

Scalar NodeBuilder::toIndex(Scalar v) {
  if (v.type().isIndex()) return v;
  if (v.isUnsigned)
    return {this, b.createOrFold<arith::IndexCastUIOp>(loc, b.getIndexType(), v.v), false};
  return {this, sizeValue(b, loc, ortc::asSize(b, loc, v.v)), false};
}
Scalar NodeBuilder::fromIndex(Scalar v, DType to) {
  return cast(v, to);
}

Scalar NodeBuilder::ifElse(Scalar condition, llvm::function_ref<Scalar()> then,
                           llvm::function_ref<Scalar()> otherwise) {
  // The result type is only known when the branches are built.
  Region thenRegion, elseRegion;
  Scalar result;
  auto fill = [&](Region& region, llvm::function_ref<Scalar()> body) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&region);
    result = body();
    b.create<scf::YieldOp>(loc, result.v);
  };
  fill(thenRegion, then);
  fill(elseRegion, otherwise);
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition.v);
  state.addTypes(result.type());
  state.addRegion()->takeBody(thenRegion);
  state.addRegion()->takeBody(elseRegion);
  return {this, b.create(state)->getResult(0), result.isUnsigned};
}

} // namespace ortc::opdef
