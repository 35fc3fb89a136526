// SPDX-License-Identifier: Apache-2.0
// The polynomials are those of runtime_min/rt, which are measured there over all of f32.
#include "codegen/gpu/Math.h"
#include "llvm/ADT/StringMap.h"
using namespace mlir;
using FP = mlir::arith::CmpFPredicate;
using IP = mlir::arith::CmpIPredicate;

namespace ortc::codegen::gpu {

S S::lit(double x) const {
  return {*b, loc, b->create<arith::ConstantOp>(loc, b->getF32FloatAttr(static_cast<float>(x)))};
}
S S::num(int64_t x) const {
  Type t = isa<IntegerType>(v.getType()) ? v.getType() : b->getI32Type();
  return {
      *b, loc,
      b->create<arith::ConstantOp>(
          loc,
          b->getIntegerAttr(
              t, APInt(t.getIntOrFloatBitWidth(), static_cast<uint64_t>(x), true).getSExtValue()))};
}
S S::bits() const {
  return {*b, loc, b->create<arith::BitcastOp>(loc, b->getI32Type(), v)};
}
S S::asFloat() const {
  return {*b, loc, b->create<arith::BitcastOp>(loc, b->getF32Type(), v)};
}
S S::toFloat() const {
  return {*b, loc, b->create<arith::SIToFPOp>(loc, b->getF32Type(), v)};
}
S S::toInt() const {
  return {*b, loc, b->create<arith::FPToSIOp>(loc, b->getI32Type(), v)};
}
S S::cmpf(FP p, S o) const {
  return {*b, loc, b->create<arith::CmpFOp>(loc, p, v, o.v)};
}
S S::cmpi(IP p, S o) const {
  return {*b, loc, b->create<arith::CmpIOp>(loc, p, v, o.v)};
}
S S::select(S yes, S no) const {
  return {*b, loc, b->create<arith::SelectOp>(loc, v, yes.v, no.v)};
}
S S::fma(S m, S a) const {
  return {*b, loc, b->create<math::FmaOp>(loc, v, m.v, a.v)};
}
S S::isNaN() const {
  return (bits() & bits().num(0x7fffffff)).cmpi(IP::sgt, bits().num(0x7f800000));
}
static bool isFloat(S x) {
  return isa<FloatType>(x.v.getType());
}
S operator+(S x, S y) {
  return isFloat(x) ? x.bin<arith::AddFOp>(y) : x.bin<arith::AddIOp>(y);
}
S operator-(S x, S y) {
  return isFloat(x) ? x.bin<arith::SubFOp>(y) : x.bin<arith::SubIOp>(y);
}
S operator*(S x, S y) {
  return isFloat(x) ? x.bin<arith::MulFOp>(y) : x.bin<arith::MulIOp>(y);
}
S operator/(S x, S y) {
  return isFloat(x) ? x.bin<arith::DivFOp>(y) : x.bin<arith::DivSIOp>(y);
}
S operator&(S x, S y) {
  return x.bin<arith::AndIOp>(y);
}
S operator|(S x, S y) {
  return x.bin<arith::OrIOp>(y);
}
static S operator^(S x, S y) {
  return x.bin<arith::XOrIOp>(y);
}
S operator<<(S x, int y) {
  return x.bin<arith::ShLIOp>(x.num(y));
}
S lshr(S x, int y) {
  return x.bin<arith::ShRUIOp>(x.num(y));
}
static S ashr(S x, int y) {
  return x.bin<arith::ShRSIOp>(x.num(y));
}

namespace {

using Args = ArrayRef<S>;
using Body = S (*)(Args);

S poly(S x, std::initializer_list<double> coefficients) { // highest first
  auto it = coefficients.begin();
  S p = x.lit(*it);
  for (++it; it != coefficients.end(); ++it)
    p = p.fma(x, x.lit(*it));
  return p;
}
S fabs(S x) {
  return x.un<math::AbsFOp>();
}
S expOf(S x) {
  return x.un<math::ExpOp>();
}
S sqrtOf(S x) {
  return x.un<math::SqrtOp>();
}
S copysign(S magnitude, S sign) {
  S m = magnitude.bits(), s = sign.bits();
  return ((m & m.num(0x7fffffff)) | (s & s.num(INT32_MIN))).asFloat();
}
S keepNaN(S x, S y) {
  return x.isNaN().select(x, y);
}
S atMost(S x, double hi) {
  return x.cmpf(FP::OGT, x.lit(hi)).select(x.lit(hi), x);
}
S truncOf(S x) {
  return copysign(fabs(x).un<math::FloorOp>(), x);
}
S powerOfTwo(S n) {
  return ((n + n.num(127)) << 23).asFloat();
} // -126 <= n <= 127
S ln2(S x) {
  return x.lit(0.693147180559945);
}

S erf(Args a) {
  S x = a[0], t = fabs(x), s = x * x;
  S p = poly(s, {7.99504851e-05, -0.000804951473, 0.00519239251, -0.0268557295, 0.112836257,
                 -0.376126289, 0.128379166});
  S near = t.fma(p, t), c = atMost(t, 4.0);
  S q = poly(c, {4.93703465e-06, -4.55716436e-05, -4.96217253e-05, 0.00293023442, -0.022674242,
                 0.105262779, 0.635625243, 0.128551751});
  S far = x.lit(1) - expOf(x.lit(0) - c.fma(q, c));
  return keepNaN(x, copysign(t.cmpf(FP::OGT, x.lit(0.925)).select(far, near), x));
}
S tanh(Args a) {
  S x = a[0], t = fabs(x), s = x * x;
  S near = (t * s).fma(
      poly(s, {-0.00569229666, 0.0206281673, -0.0537365153, 0.133314058, -0.333332807}), t);
  S e = expOf(x.lit(2) * atMost(t, 10.0));
  S far = x.lit(1) - x.lit(2) / (e + x.lit(1));
  return keepNaN(x, copysign(t.cmpf(FP::OGT, x.lit(0.625)).select(far, near), x));
}
S sinh(Args a) {
  S x = a[0], t = fabs(x), s = x * x;
  S near = (t * s).fma(poly(s, {2.78221319e-06, 0.000198428956, 0.00833331048, 0.166666672}), t);
  S h = expOf(t - ln2(x));
  return copysign(t.cmpf(FP::OGT, x.lit(1)).select(h - x.lit(0.25) / h, near), x);
}
S cosh(Args a) {
  S x = a[0], h = expOf(fabs(x) - ln2(x));
  return h + x.lit(0.25) / h;
}
S logRest(S f, S more) {
  S p = poly(f, {-0.0761891156, 0.127496243, -0.131562218, 0.14200893, -0.16623348, 0.200012609,
                 -0.250008225, 0.333333313});
  S z = f * f;
  return z.fma(f.lit(-0.5), (f * z).fma(p, more));
}
S log1pOf(S x) {
  S u = x + x.lit(1), i = u.bits() - u.bits().num(0x3f3504f3), e = ashr(i, 23);
  S s = ((e.num(127) - e) << 23).asFloat();
  S m = ((i & i.num(0x007fffff)) + i.num(0x3f3504f3)).asFloat();
  S f = x.cmpf(FP::OLT, x.lit(16777216.0)).select(x.fma(s, s - x.lit(1)), m - x.lit(1));
  S ef = e.toFloat();
  S y = ef.fma(x.lit(0.693359375), f + logRest(f, ef * x.lit(-2.12194440e-4)));
  S pole = x.num(static_cast<int32_t>(0xff800000u)).asFloat(), bad = x.num(0x7fc00000).asFloat();
  y = x.cmpf(FP::OLE, x.lit(-1)).select(x.cmpf(FP::OEQ, x.lit(-1)).select(pole, bad), y);
  y = x.bits().cmpi(IP::eq, x.num(0x7f800000)).select(x, y);
  return x.cmpf(FP::OEQ, x.lit(0)).select(x, keepNaN(x, y));
}
S log1p(Args a) {
  return log1pOf(a[0]);
}
S expm1(Args a) {
  S x = a[0];
  S near = poly(x, {0.00138367189, 0.00836914033, 0.0416681059, 0.166665167, 0.49999994});
  near = (x * x).fma(near, x); // |x| <= ln2 / 2
  S small = fabs(x).cmpf(FP::OLT, x.lit(0.34));
  // (e^(x/2) - 1) (e^(x/2) + 1) keeps what a difference would lose
  S h = x * x.lit(0.5), e = expOf(x);
  S hm = (h * h).fma(poly(h, {0.00138367189, 0.00836914033, 0.0416681059, 0.166665167, 0.49999994}),
                     h);
  S mid = hm * (hm + x.lit(2));
  S y = fabs(x).cmpf(FP::OLT, x.lit(0.68)).select(mid, e - x.lit(1));
  return keepNaN(x, small.select(near, y));
}
S exp2(Args a) {
  S x = a[0], c = atMost(x, 129.0);
  c = c.cmpf(FP::OLT, c.lit(-150)).select(c.lit(-150), c);
  S n = c.un<math::RoundEvenOp>(), k = n.toInt(), half = ashr(k, 1);
  S p = expOf((c - n) * ln2(x));
  return keepNaN(x, p * powerOfTwo(half) * powerOfTwo(k - half));
}
S log2Of(S x) {
  return x.un<math::LogOp>() * x.lit(1.44269504088896);
}
S log2(Args a) {
  return log2Of(a[0]);
}
S log10(Args a) {
  return a[0].un<math::LogOp>() * a[0].lit(0.434294481903252);
}
S asinh(Args a) {
  S x = a[0], t = fabs(x), s = x * x;
  S near = (t * s).fma(poly(s, {0.00925663859, -0.0200495869, 0.0300335698, -0.0446160957,
                                0.0749990717, -0.166666657}),
                       t);
  S huge = t.cmpf(FP::OGT, x.lit(1e9));
  S w = t + s / (x.lit(1) + sqrtOf(x.lit(1) + s));
  S far = log1pOf(huge.select(t, w)) + huge.select(ln2(x), x.lit(0));
  return keepNaN(x, copysign(t.cmpf(FP::OGT, x.lit(0.5)).select(far, near), x));
}
S acosh(Args a) {
  S x = a[0], t = x - x.lit(1), huge = x.cmpf(FP::OGT, x.lit(1e9));
  S w = t + sqrtOf(t * (t + x.lit(2)));
  S y = log1pOf(huge.select(t, w)) + huge.select(ln2(x), x.lit(0));
  return keepNaN(x, x.cmpf(FP::OLT, x.lit(1)).select(x.num(0x7fc00000).asFloat(), y));
}
S atanh(Args a) {
  S x = a[0], t = fabs(x), s = x * x;
  S near = (t * s).fma(
      poly(s, {0.17638056, 0.051603131, 0.1181641, 0.142237842, 0.20002453, 0.333333015}), t);
  S far = x.lit(0.5) * log1pOf(x.lit(2) * t / (x.lit(1) - t));
  return keepNaN(x, copysign(t.cmpf(FP::OGT, x.lit(0.5)).select(far, near), x));
}
S ult(S x, S y) { // x < y, both without sign
  return x.cmpi(IP::ult, y);
}
/// An integer without sign of 64 bits.
struct Wide {
  S high, low;
};
Wide operator+(Wide x, Wide y) {
  S low = x.low + y.low;
  S carry = ult(low, y.low).select(low.num(1), low.num(0));
  return {x.high + y.high + carry, low};
}
/// 32 bits times 24 bits.
Wide product(S x, S m) {
  S a = lshr(x, 16), b = x & x.num(0xffff), c = lshr(m, 12), d = m & m.num(0xfff), zero = x.num(0);
  S ac = a * c, ad = a * d, bc = b * c; // 28 bits each
  return Wide{zero, b * d} + Wide{lshr(bc, 20), bc << 12} + Wide{lshr(ad, 16), ad << 16} +
         Wide{lshr(ac, 4), ac << 28};
}

/// x = n pi/2 + r.
struct Angle {
  S r, n;
};
/// The 24 bits of x times those bits of 2/pi that matter (Payne and Hanek, 1983), as reduce_large
/// of runtime_min/rt/trig.h. The top two bits of the product are n, the others the fraction of a
/// quarter turn. Integers, also for small x: compilers of shaders may make one factor of the parts
/// that pi/2 is split into for floats (Mesa does), whose error is then 1e-7 times n.
Angle reduce(S x) {
  constexpr uint32_t twoOverPi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                    0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
  S bits = x.bits() & x.bits().num(0x7fffffff), zero = bits.num(0), one = bits.num(1);
  S m = (bits & bits.num(0x007fffff)) | bits.num(0x00800000);
  S position = lshr(bits, 23) - bits.num(150 - 30), word = lshr(position, 5),
    shift = position & bits.num(31);
  auto wordAt = [&](int i) { // word + i; there are five
    S r = bits.num(twoOverPi[i + 4]);
    for (int w = 3; w >= 0; --w)
      r = word.cmpi(IP::eq, bits.num(w)).select(bits.num(twoOverPi[i + w]), r);
    return r;
  };
  S words[] = {wordAt(0), wordAt(1), wordAt(2), wordAt(3)};
  auto window = [&](int i) {
    S rest = lshr(words[i + 1], 1).bin<arith::ShRUIOp>(bits.num(31) - shift);
    return words[i].bin<arith::ShLIOp>(shift) | rest;
  };
  Wide turns =
      Wide{window(0) * m, zero} + product(window(1), m) + Wide{zero, product(window(2), m).high};
  S n = lshr(turns.high + bits.num(1 << 29), 30);
  Wide fraction{turns.high - (n << 30), turns.low};
  S isNegative = fraction.high.cmpi(IP::slt, zero);
  Wide minus = Wide{fraction.high ^ bits.num(-1), fraction.low ^ bits.num(-1)} + Wide{zero, one};
  S high = isNegative.select(minus.high, fraction.high),
    low = isNegative.select(minus.low, fraction.low);
  S magnitude = high.toFloat() + lshr(low, 8).toFloat() * x.lit(0x1p-24);
  S r = magnitude * x.lit(1.5707963267948966 * 0x1p-30);
  S turnedBack = x.cmpf(FP::OLT, x.lit(0));
  S negate = isNegative.bin<arith::XOrIOp>(turnedBack);
  S isSmall = fabs(x).cmpf(FP::OLT, x.lit(0.75)); // and NaN is large
  return {isSmall.select(x, negate.select(x.lit(0) - r, r)),
          isSmall.select(zero, turnedBack.select(zero - n, n))};
}
S sinOf(S r, S n) {
  S s = r * r;
  S even = (r * s).fma(poly(s, {2.83251006e-06, -0.000198530644, 0.0083333794, -0.166666672}), r);
  S odd = (s * s).fma(poly(s, {2.44306702e-05, -0.00138873013, 0.0416666456}),
                      s.fma(s.lit(-0.5), s.lit(1)));
  S y = (n & n.num(1)).cmpi(IP::ne, n.num(0)).select(odd, even);
  return (y.bits() ^ ((n & n.num(2)) << 30)).asFloat();
}
S unlessFinite(S x, S y) { // infinity and NaN give NaN
  S b = x.bits() & x.bits().num(0x7fffffff);
  return b.cmpi(IP::sge, b.num(0x7f800000)).select(x.num(0x7fc00000).asFloat(), y);
}
S sin(Args a) {
  auto [r, n] = reduce(a[0]);
  S y = sinOf(r, n);
  return unlessFinite(a[0], a[0].cmpf(FP::OEQ, a[0].lit(0)).select(a[0], y));
}
S cos(Args a) {
  auto [r, n] = reduce(a[0]);
  return unlessFinite(a[0], sinOf(r, n + n.num(1)));
}
S tan(Args a) {
  S x = a[0];
  auto [r, n] = reduce(x);
  S s = r * r;
  S t = (r * s).fma(
      poly(s, {0.00940340944, 0.00309081469, 0.0244472586, 0.0534068644, 0.13338846, 0.333331555}),
      r);
  S y = (n & n.num(1)).cmpi(IP::ne, n.num(0)).select(x.lit(-1) / t, t);
  return unlessFinite(x, x.cmpf(FP::OEQ, x.lit(0)).select(x, y));
}
S asinCore(S x, S s) {
  return (x * s).fma(poly(s, {0.0421582982, 0.0241847802, 0.0454691499, 0.0749530941, 0.166667521}),
                     x);
}
S asin(Args a) {
  S x = a[0], t = fabs(x), large = t.cmpf(FP::OGT, x.lit(0.5)), z = (x.lit(1) - t) * x.lit(0.5);
  S p = asinCore(large.select(sqrtOf(z), t), large.select(z, t * t));
  S y = copysign(large.select(x.lit(1.57079637) - (x.lit(2) * p + x.lit(4.37113883e-08)), p), x);
  return t.cmpf(FP::OLE, x.lit(1)).select(y, x.num(0x7fc00000).asFloat());
}
S acos(Args a) {
  S x = a[0], t = fabs(x), large = t.cmpf(FP::OGT, x.lit(0.5)), z = (x.lit(1) - t) * x.lit(0.5);
  S p = asinCore(large.select(sqrtOf(z), t), large.select(z, t * t));
  S twice = x.lit(2) * p;
  S outer =
      x.cmpf(FP::OLT, x.lit(0)).select(x.lit(3.14159274) - (twice + x.lit(8.74227766e-08)), twice);
  S y = large.select(outer, x.lit(1.57079637) - (copysign(p, x) + x.lit(4.37113883e-08)));
  return t.cmpf(FP::OLE, x.lit(1)).select(y, x.num(0x7fc00000).asFloat());
}
S atanCore(S x) {
  S s = x * x;
  return (x * s).fma(poly(s, {0.00292112445, -0.01636995, 0.0432139523, -0.0755218491, 0.106658824,
                              -0.14211008, 0.199937671, -0.333331525}),
                     x);
}
S atan(Args a) {
  S x = a[0], t = fabs(x), large = t.cmpf(FP::OGT, x.lit(1));
  S p = atanCore(large.select(x.lit(1) / t, t));
  return keepNaN(x, copysign(large.select(x.lit(1.57079637) - (p + x.lit(4.37113883e-08)), p), x));
}
S atan2(Args args) {
  S y = args[0], x = args[1], a = fabs(y), b = fabs(x), steep = a.cmpf(FP::OGT, b);
  S low = steep.select(b, a), high = steep.select(a, b);
  S q = high.cmpf(FP::OEQ, x.lit(0)).select(x.lit(0), low / high);
  q = (low.bits()).cmpi(IP::eq, low.bits().num(0x7f800000)).select(x.lit(1), q);
  S p = atanCore(q);
  p = steep.select(x.lit(1.57079637) - (p + x.lit(4.37113883e-08)), p);
  p = x.bits().cmpi(IP::slt, x.num(0)).select(x.lit(3.14159274) - (p + x.lit(8.74227766e-08)), p);
  p = copysign(p, y);
  return keepNaN(x, keepNaN(y, p));
}
S powOf(Args args) {
  S x = args[0], y = args[1], a = fabs(x), zero = x.lit(0), one = x.lit(1),
    bad = x.num(0x7fc00000).asFloat(), inf = x.num(0x7f800000).asFloat();
  // log2 |x| in two parts, so that the product with y keeps its fraction
  S i = a.bits() - a.bits().num(0x3f3504f3), e = ashr(i, 23).toFloat();
  S f = ((i & i.num(0x007fffff)) + i.num(0x3f3504f3)).asFloat() - one;
  S rest = logRest(f, zero);
  S l = (f + rest) * x.lit(1.44269504088896); // log2 of the mantissa
  // A larger y makes an infinity or 0 of all but 1, and its product would be no number.
  S t = atMost(y, 0x1p34);
  t = t.cmpf(FP::OLT, t.lit(-0x1p34)).select(t.lit(-0x1p34), t);
  S whole = (t * e).un<math::RoundEvenOp>();
  S fraction = t.fma(e, zero - whole) + t * l; // t (e + l) = whole + fraction
  S n = fraction.un<math::RoundEvenOp>();
  S exponent = whole + n;
  S c = atMost(exponent, 260.0);
  c = c.cmpf(FP::OLT, c.lit(-300)).select(c.lit(-300), c);
  c = c.isNaN().select(zero, c);
  S k = c.toInt(), half = ashr(k, 1), quarter = ashr(half, 1), last = k - half,
    lastHalf = ashr(last, 1);
  S part = fraction - n;
  part = fabs(part).cmpf(FP::OLE, one).select(part, zero);
  S r = expOf(part * ln2(x)) * powerOfTwo(quarter) * powerOfTwo(half - quarter) *
        powerOfTwo(lastHalf) * powerOfTwo(last - lastHalf);
  S yUp = y.cmpf(FP::OGT, zero);
  r = a.cmpf(FP::OEQ, zero).select(yUp.select(zero, inf), r);
  r = a.bits().cmpi(IP::eq, a.bits().num(0x7f800000)).select(yUp.select(inf, zero), r);
  S infiniteY = (y.bits() & y.num(0x7fffffff)).cmpi(IP::eq, x.num(0x7f800000));
  r = infiniteY.select((a.cmpf(FP::OGT, one) ^ yUp).select(zero, inf), r);
  r = (infiniteY & a.cmpf(FP::OEQ, one)).select(one, r);
  S isWhole = y.un<math::FloorOp>().cmpf(FP::OEQ, y), h = y * x.lit(0.5),
    isEven = h.un<math::FloorOp>().cmpf(FP::OEQ, h);
  S negative = x.bits().cmpi(IP::slt, x.num(0));
  r = (negative & isWhole).select(isEven.select(r, zero - r), r);
  r = (x.cmpf(FP::OLT, zero) & isWhole.select(x.num(0), x.num(1)).cmpi(IP::ne, x.num(0)))
          .select(
              infiniteY.select(r, a.bits().cmpi(IP::eq, a.bits().num(0x7f800000)).select(r, bad)),
              r);
  r = keepNaN(x, keepNaN(y, r));
  r = x.cmpf(FP::OEQ, one).select(one, r);
  return y.cmpf(FP::OEQ, zero).select(one, r);
}
S maximum(Args a) {
  S m = a[1].cmpf(FP::OGT, a[0]).select(a[1], a[0]);
  return keepNaN(a[0], keepNaN(a[1], m));
}
S minimum(Args a) {
  S m = a[1].cmpf(FP::OLT, a[0]).select(a[1], a[0]);
  return keepNaN(a[0], keepNaN(a[1], m));
}
S maxNumber(Args a) {
  S m = a[1].cmpf(FP::OGT, a[0]).select(a[1], a[0]);
  return a[0].isNaN().select(a[1], a[1].isNaN().select(a[0], m));
}
S minNumber(Args a) {
  S m = a[1].cmpf(FP::OLT, a[0]).select(a[1], a[0]);
  return a[0].isNaN().select(a[1], a[1].isNaN().select(a[0], m));
}
S fmod(Args args) {
  // Long division on the bits, one bit of the quotient at a time: exact.
  S a = args[0], y = args[1], zero = a.num(0);
  S ma = a.bits() & a.num(0x7fffffff), mb = y.bits() & y.num(0x7fffffff);
  S ea = lshr(ma, 23), eb = lshr(mb, 23);
  auto mantissa = [&](S m, S e) {
    return e.cmpi(IP::ne, zero).select((m & m.num(0x7fffff)) | m.num(0x800000), m);
  };
  S x = mantissa(ma, ea), d = mantissa(mb, eb);
  S one = a.num(1);
  ea = ea.cmpi(IP::eq, zero).select(one, ea), eb = eb.cmpi(IP::eq, zero).select(one, eb);
  S safe = d.cmpi(IP::eq, zero).select(one, d);
  OpBuilder& b = *a.b;
  S steps = ea - eb;
  steps = steps.cmpi(IP::slt, zero).select(zero, steps);
  auto index = [&](S v) { return b.create<arith::IndexCastOp>(a.loc, b.getIndexType(), v.v); };
  auto loop = b.create<scf::ForOp>(a.loc, index(zero), index(steps), index(one), ValueRange{x.v});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    S r(b, a.loc, loop.getRegionIterArg(0));
    S next = r.cmpi(IP::sge, safe).select(r - safe, r) << 1;
    b.create<scf::YieldOp>(a.loc, next.v);
  }
  S r(b, a.loc, loop.getResult(0));
  r = r.cmpi(IP::sge, safe).select(r - safe, r);
  S k = eb - eb.num(150), half = ashr(k, 1);
  S result = copysign(r.toFloat() * powerOfTwo(half) * powerOfTwo(k - half), a);
  result = ma.cmpi(IP::slt, mb).select(a, result);
  S bad = ma.cmpi(IP::sge, a.num(0x7f800000)) | mb.cmpi(IP::sgt, a.num(0x7f800000)) |
          mb.cmpi(IP::eq, zero);
  return bad.select(a.num(0x7fc00000).asFloat(), result);
}
S roundAway(Args a) {
  S x = a[0], t = truncOf(x), up = fabs(x - t).cmpf(FP::OGE, x.lit(0.5)).select(x.lit(1), x.lit(0));
  S big = fabs(x).cmpf(FP::OGE, x.lit(8388608.0));
  return big.select(x, keepNaN(x, copysign(fabs(t) + up, x)));
}
S trunc(Args a) {
  return truncOf(a[0]);
}
S copysignOf(Args a) {
  return copysign(a[0], a[1]);
}
S toI32(Args a) {
  S x = a[0];
  S inside = x.cmpf(FP::OGE, x.lit(-2147483648.0)).select(x, x.lit(-2147483648.0));
  S over = x.cmpf(FP::OGE, x.lit(2147483648.0));
  S r = over.select(x.lit(0), inside).toInt();
  return x.isNaN().select(x.num(0), over.select(x.num(INT32_MAX), r));
}
S toU32(Args a) { // the bits
  S x = a[0], high = x.cmpf(FP::OGE, x.lit(2147483648.0)),
    over = x.cmpf(FP::OGE, x.lit(4294967296.0));
  S low = x.cmpf(FP::OGT, x.lit(0)).select(x, x.lit(0));
  S part = over.select(x.lit(0), high.select(low - x.lit(2147483648.0), low)).toInt();
  S r = over.select(x.num(-1), high.select(part ^ x.num(INT32_MIN), part));
  return x.isNaN().select(x.num(0), r);
}
S f16Value(Args a) { // i32 with the bits, to f32
  S h = a[0], m = h & h.num(0x7fff), sign = (h & h.num(0x8000)) << 16;
  S normal = ((m << 13) + h.num(112 << 23));
  S tiny = (m.toFloat() * h.lit(5.9604644775390625e-08)).bits();
  S special = (m << 13) | h.num(0x7f800000);
  S r = m.cmpi(IP::slt, h.num(0x400))
            .select(tiny, m.cmpi(IP::sge, h.num(0x7c00)).select(special, normal));
  return (r | sign).asFloat();
}
S f16Bits(Args args) {
  S x = args[0], u = x.bits(), a = u & u.num(0x7fffffff);
  S denormal = (a.asFloat() + x.lit(0.5)).bits() - u.num(0x3f000000);
  S normal = lshr(a - u.num(0x38000000) + u.num(0xfff) + (lshr(a, 13) & u.num(1)), 13);
  S r = a.cmpi(IP::slt, u.num(0x38800000)).select(denormal, normal);
  r = a.cmpi(IP::sge, u.num(0x477ff000)).select(u.num(0x7c00), r);
  r = a.cmpi(IP::sgt, u.num(0x7f800000)).select((lshr(a, 13) & u.num(0x3ff)) | u.num(0x7e00), r);
  return r | (lshr(u, 16) & u.num(0x8000));
}
S bf16Bits(Args args) {
  S x = args[0], u = x.bits();
  S r = lshr(u + u.num(0x7fff) + (lshr(u, 16) & u.num(1)), 16);
  return x.isNaN().select(lshr(u, 16) | u.num(0x40), r);
}
S countOnes(Args a) {
  S x = a[0];
  x = x - (lshr(x, 1) & x.num(0x55555555));
  x = (x & x.num(0x33333333)) + (lshr(x, 2) & x.num(0x33333333));
  x = (x + lshr(x, 4)) & x.num(0x0f0f0f0f);
  return lshr(x * x.num(0x01010101), 24);
}
S leadingZeros(Args a) {
  S x = a[0];
  for (int s : {1, 2, 4, 8, 16})
    x = x | lshr(x, s);
  S n = x.num(-1) ^ x;
  S r[] = {n};
  return countOnes(r);
}
S trailingZeros(Args a) {
  S x = a[0];
  S r[] = {(x & (x.num(0) - x)) - x.num(1)};
  return countOnes(r);
}
S ipow(Args args) {
  S a = args[0], n = args[1], zero = a.num(0), one = a.num(1);
  OpBuilder& b = *a.b;
  auto index = [&](int64_t v) { return b.create<arith::ConstantIndexOp>(a.loc, v); };
  S start = n.cmpi(IP::slt, zero).select(zero, n);
  auto loop =
      b.create<scf::ForOp>(a.loc, index(0), index(32), index(1), ValueRange{one.v, a.v, start.v});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    S r(b, a.loc, loop.getRegionIterArg(0)), base(b, a.loc, loop.getRegionIterArg(1)),
        rest(b, a.loc, loop.getRegionIterArg(2));
    S next = (rest & rest.num(1)).cmpi(IP::ne, rest.num(0)).select(r * base, r);
    b.create<scf::YieldOp>(a.loc, ValueRange{next.v, (base * base).v, lshr(rest, 1).v});
  }
  S r(b, a.loc, loop.getResult(0));
  S odd = (n & one).cmpi(IP::ne, zero);
  S inverse = a.cmpi(IP::eq, one)
                  .select(one, a.cmpi(IP::eq, a.num(-1)).select(odd.select(a.num(-1), one), zero));
  return n.cmpi(IP::slt, zero).select(inverse, r);
}

struct Function {
  const char* name;
  Body body;
  bool intArgs = false, intResult = false;
};

const Function* find(StringRef key) {
  static const llvm::StringMap<Function> table = {
      {"math.erf", {"o_erf", erf}},
      {"math.tanh", {"o_tanh", tanh}},
      {"math.sinh", {"o_sinh", sinh}},
      {"math.cosh", {"o_cosh", cosh}},
      {"math.asinh", {"o_asinh", asinh}},
      {"math.acosh", {"o_acosh", acosh}},
      {"math.atanh", {"o_atanh", atanh}},
      {"math.sin", {"o_sin", sin}},
      {"math.cos", {"o_cos", cos}},
      {"math.tan", {"o_tan", tan}},
      {"math.asin", {"o_asin", asin}},
      {"math.acos", {"o_acos", acos}},
      {"math.atan", {"o_atan", atan}},
      {"math.atan2", {"o_atan2", atan2}},
      {"math.log1p", {"o_log1p", log1p}},
      {"math.expm1", {"o_expm1", expm1}},
      {"math.exp2", {"o_exp2", exp2}},
      {"math.log2", {"o_log2", log2}},
      {"math.log10", {"o_log10", log10}},
      {"math.powf", {"o_pow", powOf}},
      {"math.trunc", {"o_trunc", trunc}},
      {"math.round", {"o_round_away", roundAway}},
      {"math.copysign", {"o_copysign", copysignOf}},
      {"math.ctpop", {"o_count_ones", countOnes, true, true}},
      {"math.ctlz", {"o_leading_zeros", leadingZeros, true, true}},
      {"math.cttz", {"o_trailing_zeros", trailingZeros, true, true}},
      {"math.ipowi", {"o_ipow", ipow, true, true}},
      {"arith.maximumf", {"o_maximum", maximum}},
      {"arith.minimumf", {"o_minimum", minimum}},
      {"arith.maxnumf", {"o_max_number", maxNumber}},
      {"arith.minnumf", {"o_min_number", minNumber}},
      {"arith.remf", {"o_fmod", fmod}},
      {"f32_to_i32", {"o_to_i32", toI32, false, true}},
      {"f32_to_u32", {"o_to_u32", toU32, false, true}},
      {"f16_value", {"o_f16_value", f16Value, true, false}},
      {"f16_bits", {"o_f16_bits", f16Bits, false, true}},
      {"bf16_bits", {"o_bf16_bits", bf16Bits, false, true}},
  };
  auto it = table.find(key);
  return it == table.end() ? nullptr : &it->second;
}

Value callFunction(ModuleOp module, OpBuilder& b, Location loc, const Function& f,
                   ValueRange operands) {
  auto function = module.lookupSymbol<func::FuncOp>(f.name);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Type in = f.intArgs ? Type(b.getI32Type()) : b.getF32Type(),
         out = f.intResult ? Type(b.getI32Type()) : b.getF32Type();
    Location at = b.getUnknownLoc();
    function = b.create<func::FuncOp>(
        at, f.name, b.getFunctionType(SmallVector<Type>(operands.size(), in), out));
    function.setPrivate();
    Block* entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    SmallVector<S> args;
    static const char* const argNames[] = {"x", "y", "z"};
    for (auto [i, a] : llvm::enumerate(entry->getArguments())) {
      function.setArgAttr(i, "ortc.name", b.getStringAttr(argNames[i]));
      args.push_back(S(b, at, a));
    }
    S result = f.body(args);
    b.create<func::ReturnOp>(at, result.v);
  }
  return b.create<func::CallOp>(loc, function, operands).getResult(0);
}

} // namespace

Value callMath(ModuleOp module, OpBuilder& b, Operation* op, ValueRange operands) {
  const Function* f = find(op->getName().getStringRef());
  return f ? callFunction(module, b, op->getLoc(), *f, operands) : Value();
}

Value callHelper(ModuleOp module, OpBuilder& b, Location loc, StringRef name, ValueRange operands) {
  const Function* f = find(name);
  assert(f && "a helper of the table");
  return callFunction(module, b, loc, *f, operands);
}

} // namespace ortc::codegen::gpu
