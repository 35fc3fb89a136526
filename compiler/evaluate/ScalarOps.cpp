// SPDX-License-Identifier: Apache-2.0
#include "compiler/evaluate/ScalarOps.h"
#include <cmath>
#include <cstring>

namespace ortc {

namespace {
int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrappingSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? wrappingSub(0, a) : a / b;
}
int64_t remainder(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

double maximum(double a, double b) {
  double m = b > a ? b : a;
  return b != b ? b : m;
}
double minimum(double a, double b) {
  double m = b < a ? b : a;
  return b != b ? b : m;
}

int64_t power(int64_t a, int64_t n) {
  if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 ? -1 : 1) : 0;
  int64_t r = 1;
  for (; n; n >>= 1) {
    if (n & 1) r = wrappingMul(r, a);
    a = wrappingMul(a, a);
  }
  return r;
}

int64_t toSigned(double x, unsigned width) {
  if (width == 1) return x != 0;
  double end = std::ldexp(1.0, static_cast<int>(width) - 1);
  if (x != x) return 0;
  if (x < -end) return static_cast<int64_t>(~uint64_t(0) << (width - 1));
  if (x >= end) return static_cast<int64_t>((uint64_t(1) << (width - 1)) - 1);
  return static_cast<int64_t>(x);
}
int64_t toUnsigned(double x, unsigned width) {
  if (width == 1) return x != 0;
  double end = std::ldexp(1.0, static_cast<int>(width));
  if (!(x > 0)) return 0;
  if (x >= end) return -1; // all ones; wrapped to the width later
  return static_cast<int64_t>(static_cast<uint64_t>(x));
}
/// One rounding, not two, from integers that a double does not hold.
template <typename T> double toFloat(T v, CellType type) {
  return type.kind == CellType::f32 ? static_cast<double>(static_cast<float>(v))
                                    : static_cast<double>(v);
}

int64_t high(int64_t a, int64_t b, unsigned width, bool isSigned) {
  if (isSigned) return static_cast<int64_t>((static_cast<__int128>(a) * b) >> width);
  return static_cast<int64_t>(
      (static_cast<unsigned __int128>(static_cast<uint64_t>(a)) * static_cast<uint64_t>(b)) >>
      width);
}

bool compare(unsigned predicate, double a, double b) {
  bool unordered = a != a || b != b;
  switch (predicate) { // arith::CmpFPredicate
  case 0: return false;
  case 1: return a == b;
  case 2: return a > b;
  case 3: return a >= b;
  case 4: return a < b;
  case 5: return a <= b;
  case 6: return !unordered && a != b;
  case 7: return !unordered;
  case 8: return unordered || a == b;
  case 9: return unordered || a > b;
  case 10: return unordered || a >= b;
  case 11: return unordered || a < b;
  case 12: return unordered || a <= b;
  case 13: return unordered || a != b;
  case 14: return unordered;
  default: return true;
  }
}
} // namespace

// One loop per operation, so that the compiler can use vectors.
#define LANES(result, field, expression)                                                           \
  for (int64_t l = 0; l < n; ++l)                                                                  \
    out[l].field = (expression);                                                                   \
  return result
#define INTEGER(name, expression)                                                                  \
  case ScalarCode::name: {                                                                         \
    LANES(finishInteger(), i, expression);                                                         \
  }
#define FLOAT(name, expression)                                                                    \
  case ScalarCode::name: {                                                                         \
    LANES(finishFloat(), f, expression);                                                           \
  }
#define COMPARE(number, expression)                                                                \
  case number: {                                                                                   \
    LANES(void(), i, expression);                                                                  \
  }

void applyScalar(const ScalarOp& op, Lane* out, const Lane* a, const Lane* b, const Lane* c,
                 int64_t n) {
  unsigned width = op.in.width ? op.in.width : 64;
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  // i1 is kept as 0 or 1; where an op takes it for a signed number, it is 0 or -1.
  int64_t flip = width == 1 ? -1 : 0;
  auto s = [flip](Lane v) { return (v.i ^ flip) - flip; };
  auto u = [mask](Lane v) { return static_cast<uint64_t>(v.i) & mask; };
  auto finishInteger = [&] { wrapIntegers(op.out, &out[0].i, n); };
  auto finishFloat = [&] { roundDoubles(op.out, &out[0].f, n); };
  switch (op.code) {
    INTEGER(addi, wrappingAdd(a[l].i, b[l].i))
    INTEGER(subi, wrappingSub(a[l].i, b[l].i))
    INTEGER(muli, wrappingMul(a[l].i, b[l].i))
    INTEGER(divsi, divide(s(a[l]), s(b[l])))
    INTEGER(divui, u(b[l]) ? static_cast<int64_t>(u(a[l]) / u(b[l])) : 0)
    INTEGER(remsi, remainder(s(a[l]), s(b[l])))
    INTEGER(remui, u(b[l]) ? static_cast<int64_t>(u(a[l]) % u(b[l])) : 0)
  case ScalarCode::floordivsi:
    for (int64_t l = 0; l < n; ++l) {
      int64_t x = s(a[l]), y = s(b[l]), r = remainder(x, y);
      out[l].i = divide(x, y) - (r != 0 && (r < 0) != (y < 0));
    }
    return finishInteger();
  case ScalarCode::ceildivsi:
    for (int64_t l = 0; l < n; ++l) {
      int64_t x = s(a[l]), y = s(b[l]), r = remainder(x, y);
      out[l].i = divide(x, y) + (r != 0 && (r < 0) == (y < 0));
    }
    return finishInteger();
    INTEGER(ceildivui,
            u(b[l]) ? static_cast<int64_t>(u(a[l]) / u(b[l]) + (u(a[l]) % u(b[l]) != 0)) : 0)
    INTEGER(andi, a[l].i & b[l].i)
    INTEGER(ori, a[l].i | b[l].i)
    INTEGER(xori, a[l].i ^ b[l].i)
    INTEGER(shli,
            u(b[l]) < width ? static_cast<int64_t>(static_cast<uint64_t>(a[l].i) << u(b[l])) : 0)
    INTEGER(shrsi, s(a[l]) >> (u(b[l]) < width ? u(b[l]) : width - 1))
    INTEGER(shrui, u(b[l]) < width ? static_cast<int64_t>(u(a[l]) >> u(b[l])) : 0)
    INTEGER(maxsi, s(a[l]) > s(b[l]) ? a[l].i : b[l].i)
    INTEGER(minsi, s(a[l]) < s(b[l]) ? a[l].i : b[l].i)
    INTEGER(maxui, u(a[l]) > u(b[l]) ? a[l].i : b[l].i)
    INTEGER(minui, u(a[l]) < u(b[l]) ? a[l].i : b[l].i)
    INTEGER(mulsiHigh, high(s(a[l]), s(b[l]), width, true))
    INTEGER(muluiHigh,
            high(static_cast<int64_t>(u(a[l])), static_cast<int64_t>(u(b[l])), width, false))
    INTEGER(carry, ((u(a[l]) + u(b[l])) & mask) < u(a[l]))
    INTEGER(absi, s(a[l]) < 0 ? wrappingSub(0, s(a[l])) : s(a[l]))
    INTEGER(ctlz, u(a[l]) ? __builtin_clzll(u(a[l])) - (64 - static_cast<int>(width))
                          : static_cast<int>(width))
    INTEGER(cttz, u(a[l]) ? __builtin_ctzll(u(a[l])) : static_cast<int>(width))
    INTEGER(ctpop, __builtin_popcountll(u(a[l])))
    INTEGER(ipowi, power(s(a[l]), s(b[l])))
  case ScalarCode::cmpi:
    switch (op.predicate) { // arith::CmpIPredicate
      COMPARE(0, a[l].i == b[l].i)
      COMPARE(1, a[l].i != b[l].i)
      COMPARE(2, s(a[l]) < s(b[l]))
      COMPARE(3, s(a[l]) <= s(b[l]))
      COMPARE(4, s(a[l]) > s(b[l]))
      COMPARE(5, s(a[l]) >= s(b[l]))
      COMPARE(6, u(a[l]) < u(b[l]))
      COMPARE(7, u(a[l]) <= u(b[l]))
      COMPARE(8, u(a[l]) > u(b[l]))
    default: LANES(void(), i, u(a[l]) >= u(b[l]));
    }
    FLOAT(addf, a[l].f + b[l].f)
    FLOAT(subf, a[l].f - b[l].f)
    FLOAT(mulf, a[l].f * b[l].f)
    FLOAT(divf, a[l].f / b[l].f)
    FLOAT(remf, std::fmod(a[l].f, b[l].f))
    FLOAT(negf, -a[l].f)
    FLOAT(maximumf, maximum(a[l].f, b[l].f))
    FLOAT(minimumf, minimum(a[l].f, b[l].f))
    FLOAT(maxnumf, a[l].f != a[l].f ? b[l].f : b[l].f > a[l].f ? b[l].f : a[l].f)
    FLOAT(minnumf, a[l].f != a[l].f ? b[l].f : b[l].f < a[l].f ? b[l].f : a[l].f)
    FLOAT(fma, std::fma(a[l].f, b[l].f, c[l].f))
    FLOAT(fpowi, std::pow(a[l].f, static_cast<double>(b[l].i)))
    FLOAT(copysign, std::copysign(a[l].f, b[l].f))
    FLOAT(atan2, std::atan2(a[l].f, b[l].f))
    FLOAT(powf, std::pow(a[l].f, b[l].f))
    FLOAT(absf, std::fabs(a[l].f))
    FLOAT(acos, std::acos(a[l].f))
    FLOAT(acosh, std::acosh(a[l].f))
    FLOAT(asin, std::asin(a[l].f))
    FLOAT(asinh, std::asinh(a[l].f))
    FLOAT(atan, std::atan(a[l].f))
    FLOAT(atanh, std::atanh(a[l].f))
    FLOAT(cbrt, std::cbrt(a[l].f))
    FLOAT(ceil, std::ceil(a[l].f))
    FLOAT(cos, std::cos(a[l].f))
    FLOAT(cosh, std::cosh(a[l].f))
    FLOAT(erf, std::erf(a[l].f))
    FLOAT(exp, std::exp(a[l].f))
    FLOAT(exp2, std::exp2(a[l].f))
    FLOAT(expm1, std::expm1(a[l].f))
    FLOAT(floor, std::floor(a[l].f))
    FLOAT(log, std::log(a[l].f))
    FLOAT(log10, std::log10(a[l].f))
    FLOAT(log1p, std::log1p(a[l].f))
    FLOAT(log2, std::log2(a[l].f))
    FLOAT(round, std::round(a[l].f))
    FLOAT(roundeven, std::nearbyint(a[l].f))
    FLOAT(rsqrt, 1 / std::sqrt(a[l].f))
    FLOAT(sin, std::sin(a[l].f))
    FLOAT(sinh, std::sinh(a[l].f))
    FLOAT(sqrt, std::sqrt(a[l].f))
    FLOAT(tan, std::tan(a[l].f))
    FLOAT(tanh, std::tanh(a[l].f))
    FLOAT(trunc, std::trunc(a[l].f))
  case ScalarCode::cmpf:
    switch (op.predicate) { // the frequent ones as loops of their own
      COMPARE(1, a[l].f == b[l].f)
      COMPARE(2, a[l].f > b[l].f)
      COMPARE(3, a[l].f >= b[l].f)
      COMPARE(4, a[l].f < b[l].f)
      COMPARE(5, a[l].f <= b[l].f)
      COMPARE(13, a[l].f != b[l].f)
    default: LANES(void(), i, compare(op.predicate, a[l].f, b[l].f));
    }
  case ScalarCode::selectInteger: LANES(void(), i, a[l].i ? b[l].i : c[l].i);
  case ScalarCode::selectFloat:
    LANES(void(), f, a[l].i ? b[l].f : c[l].f);
    INTEGER(extsi, s(a[l]))
    INTEGER(extui, static_cast<int64_t>(u(a[l])))
    INTEGER(trunci, a[l].i)
    INTEGER(indexCast, s(a[l]))
  case ScalarCode::bitcast:
    if (op.in.isFloat() == op.out.isFloat()) {
      if (!op.in.isFloat() || op.in == op.out) {
        std::memmove(out, a, n * sizeof(Lane));
        return;
      }
      LANES(void(), f, decodeDouble(op.out, encodeDouble(op.in, a[l].f)));
    }
    if (op.out.isFloat()) {
      LANES(void(), f, decodeDouble(op.out, u(a[l])));
    }
    LANES(finishInteger(), i, static_cast<int64_t>(encodeDouble(op.in, a[l].f)));
    FLOAT(convertFloat, a[l].f)
    FLOAT(sitofp, toFloat(s(a[l]), op.out))
    FLOAT(uitofp, toFloat(u(a[l]), op.out))
    INTEGER(fptosi, toSigned(a[l].f, op.out.width))
    INTEGER(fptoui, toUnsigned(a[l].f, op.out.width))
  }
}

bool canFold(ScalarCode code) {
  switch (code) {
  case ScalarCode::addi:
  case ScalarCode::muli:
  case ScalarCode::andi:
  case ScalarCode::ori:
  case ScalarCode::xori:
  case ScalarCode::maxsi:
  case ScalarCode::maxui:
  case ScalarCode::minsi:
  case ScalarCode::minui:
  case ScalarCode::addf:
  case ScalarCode::mulf:
  case ScalarCode::maximumf:
  case ScalarCode::minimumf:
  case ScalarCode::maxnumf:
  case ScalarCode::minnumf: return true;
  default: return false;
  }
}

void foldLanes(const ScalarOp& op, Lane& accumulator, const Lane* x, int64_t n) {
  if (op.code == ScalarCode::addf) {
    double sum = accumulator.f;
    for (int64_t l = 0; l < n; ++l)
      sum += x[l].f;
    accumulator.f = sum;
    return;
  }
  if (op.code == ScalarCode::mulf) {
    double product = accumulator.f;
    for (int64_t l = 0; l < n; ++l)
      product *= x[l].f;
    accumulator.f = product;
    return;
  }
  if (op.code == ScalarCode::maximumf) {
    double m = accumulator.f;
    for (int64_t l = 0; l < n; ++l)
      m = maximum(m, x[l].f);
    accumulator.f = m;
    return;
  }
  for (int64_t l = 0; l < n; ++l)
    applyScalar(op, &accumulator, &accumulator, x + l, nullptr, 1);
}

} // namespace ortc
