// SPDX-License-Identifier: Apache-2.0
// The scalar operations of arith and math on arrays of cells ("lanes"). This is where the meaning
// of each is settled: nothing traps, everything that the dialects leave open has one answer, the
// same as in emitted code (runtime_min).
//   x / 0 = 0, x % 0 = 0, MIN / -1 = MIN; shifts by the width or more shift everything out; float
//   to integer saturates, and NaN gives 0; maximumf and minimumf give NaN if either is NaN and the
//   first of two equal zeros.
#pragma once
#include "compiler/ir/Cells.h"
#include <array>

namespace ortc {

enum class ScalarCode : uint8_t {
  // integers
  addi,
  subi,
  muli,
  divsi,
  divui,
  remsi,
  remui,
  floordivsi,
  ceildivsi,
  ceildivui,
  andi,
  ori,
  xori,
  shli,
  shrsi,
  shrui,
  maxsi,
  maxui,
  minsi,
  minui,
  mulsiHigh,
  muluiHigh,
  carry,
  absi,
  ctlz,
  cttz,
  ctpop,
  ipowi,
  cmpi,
  // floats
  addf,
  subf,
  mulf,
  divf,
  remf,
  negf,
  maximumf,
  minimumf,
  maxnumf,
  minnumf,
  fma,
  fpowi,
  copysign,
  atan2,
  powf,
  absf,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  cbrt,
  ceil,
  cos,
  cosh,
  erf,
  exp,
  exp2,
  expm1,
  floor,
  log,
  log10,
  log1p,
  log2,
  round,
  roundeven,
  rsqrt,
  sin,
  sinh,
  sqrt,
  tan,
  tanh,
  trunc,
  cmpf,
  // between types
  selectInteger,
  selectFloat,
  extsi,
  extui,
  trunci,
  indexCast,
  bitcast,
  convertFloat,
  sitofp,
  uitofp,
  fptosi,
  fptoui,
};

struct ScalarOp {
  ScalarCode code;
  uint8_t predicate = 0; ///< of comparisons, numbered as in arith
  CellType in, out;      ///< types of the (last) operand and of the result
};

/// A lane array holds doubles or integers, as its type says.
union Lane {
  double f;
  int64_t i;
};

/// `out[l] = op(a[l], b[l], c[l])`; operands that the op does not have are ignored. `out` may be an
/// operand.
void applyScalar(const ScalarOp& op, Lane* out, const Lane* a, const Lane* b, const Lane* c,
                 int64_t n);

/// `acc = op(acc, x)` over the lanes in order, for sums, products, maxima and the like. Sums and
/// products of floats are not rounded to the type.
void foldLanes(const ScalarOp& op, Lane& accumulator, const Lane* x, int64_t n);
bool canFold(ScalarCode code);

} // namespace ortc
