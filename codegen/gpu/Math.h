// SPDX-License-Identifier: Apache-2.0
// Scalar math of our own, as functions of simple ops, for devices whose own is absent or too coarse
// (WGSL's sin and cos are only good to 2e-4; SPIR-V has no erf). Accuracy: a few units in the last
// place of f32 in the usual range.
#pragma once
#include "compiler/ir/Dialect.h"

namespace ortc::codegen::gpu {

/// Arithmetic that reads like arithmetic.
struct S {
  mlir::OpBuilder* b;
  mlir::Location loc;
  mlir::Value v;
  S(mlir::OpBuilder& b, mlir::Location loc, mlir::Value v) : b(&b), loc(loc), v(v) {}
  S lit(double x) const;  ///< f32
  S num(int64_t x) const; ///< of this value's integer type, or i32
  S bits() const;         ///< f32 as i32
  S asFloat() const;      ///< i32 bits as f32
  S toFloat() const;      ///< number
  S toInt() const;        ///< towards zero; must fit
  S cmpf(mlir::arith::CmpFPredicate p, S o) const;
  S cmpi(mlir::arith::CmpIPredicate p, S o) const;
  S select(S yes, S no) const; ///< of an i1
  S fma(S m, S a) const;       ///< this * m + a, in one or two roundings
  S isNaN() const;             ///< on bits: comparisons may be compiled as if there were no NaN
  template <class Op> S un() const { return {*b, loc, b->create<Op>(loc, v)}; }
  template <class Op> S bin(S o) const { return {*b, loc, b->create<Op>(loc, v, o.v)}; }
};
S operator+(S x, S y);
S operator-(S x, S y);
S operator*(S x, S y);
S operator/(S x, S y);
S operator&(S x, S y);
S operator|(S x, S y);
S operator<<(S x, int y);
S lshr(S x, int y);

/// Calls the function for a math op (made in the module when it is first needed); null when there
/// is none, because the op itself is fine or nothing is known.
mlir::Value callMath(mlir::ModuleOp module, mlir::OpBuilder& b, mlir::Operation* op,
                     mlir::ValueRange operands);
/// The same by name: "maximum", "minimum", "max_number", "min_number", "f32_to_i32", "f32_to_u32",
/// "f16_bits", "f16_value", "bf16_bits", "div", "rem", ...
mlir::Value callHelper(mlir::ModuleOp module, mlir::OpBuilder& b, mlir::Location loc,
                       llvm::StringRef name, mlir::ValueRange operands);

} // namespace ortc::codegen::gpu
