// SPDX-License-Identifier: Apache-2.0
// Elements of host tensors in bulk: a "cell" is what every element becomes for computing, a double
// for floats (rounded to the element's own format) or a 64-bit integer (sign-extended; i1 is 0 or
// 1). Plain loops over arrays of cells are what makes the evaluator fast, so this header knows no
// MLIR and its source is compiled with full optimisation.
#pragma once
#include <cstdint>

namespace ortc {

/// How an element is stored, and how a number is rounded to it.
struct CellType {
  enum Kind : uint8_t { none, integer, f64, f32, smallFloat, string } kind = none;
  uint8_t width = 0; ///< bits of the value
  uint8_t bytes = 0; ///< bytes in memory
  // smallFloat (at most 16 bits)
  uint8_t exponentBits = 0, mantissaBits = 0;
  int16_t bias = 0;
  enum Special : uint8_t {
    ieee,
    finite,
    unsignedZero
  } special = ieee; ///< which codes are infinities and NaN

  bool isFloat() const { return kind == f64 || kind == f32 || kind == smallFloat; }
  bool operator==(const CellType&) const = default;
};

/// `n` elements from `offset` on, `stride` elements apart, as doubles / as integers. Strings give
/// their addresses.
void loadDoubles(CellType type, const void* data, int64_t offset, int64_t stride, int64_t n,
                 double* out);
void loadIntegers(CellType type, const void* data, int64_t offset, int64_t stride, int64_t n,
                  int64_t* out);
/// The other way; values are rounded to nearest even, integers wrapped.
void storeDoubles(CellType type, void* data, int64_t offset, int64_t stride, int64_t n,
                  const double* in);
void storeIntegers(CellType type, void* data, int64_t offset, int64_t stride, int64_t n,
                   const int64_t* in);

/// Rounds to what the format can hold (then kept as doubles); overflow is an infinity, or NaN where
/// there is none.
void roundDoubles(CellType type, double* values, int64_t n);
/// Keeps the lower bits and extends the sign.
void wrapIntegers(CellType type, int64_t* values, int64_t n);

/// Bits of one value in its own format, and back.
uint64_t encodeDouble(CellType type, double value);
double decodeDouble(CellType type, uint64_t bits);

} // namespace ortc
