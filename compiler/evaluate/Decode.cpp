// SPDX-License-Identifier: Apache-2.0
#include "compiler/evaluate/Decode.h"
#include "compiler/ir/HostTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace ortc {

std::optional<ScalarOp> decodeScalar(Operation* op, unsigned result) {
  using C = ScalarCode;
  // Equal names in the dialect and in ScalarCode.
  static const llvm::StringMap<C> codes = [] {
    llvm::StringMap<C> m;
#define ARITH(name) m["arith." #name] = C::name;
    // clang-format off
    ARITH(addi)
    ARITH(subi)
    ARITH(muli) ARITH(divsi) ARITH(divui) ARITH(remsi) ARITH(remui) ARITH(floordivsi)
        ARITH(ceildivsi) ARITH(ceildivui) ARITH(andi) ARITH(ori) ARITH(xori) ARITH(shli)
            ARITH(shrsi) ARITH(shrui) ARITH(maxsi) ARITH(maxui) ARITH(minsi) ARITH(minui)
                ARITH(cmpi) ARITH(addf) ARITH(subf) ARITH(mulf) ARITH(divf) ARITH(remf) ARITH(negf)
                    ARITH(maximumf) ARITH(minimumf) ARITH(maxnumf) ARITH(minnumf) ARITH(cmpf)
                        ARITH(extsi) ARITH(extui) ARITH(trunci) ARITH(bitcast) ARITH(sitofp)
                            ARITH(uitofp) ARITH(fptosi) ARITH(fptoui)
    // clang-format on
#undef ARITH
                            m["arith.select"] = C::selectInteger;
    m["arith.index_cast"] = C::indexCast;
    m["arith.index_castui"] = C::extui;
    m["arith.extf"] = m["arith.truncf"] = C::convertFloat;
    m["arith.addui_extended"] = C::addi;
    m["arith.mulsi_extended"] = m["arith.mului_extended"] = C::muli;
#define MATH(name) m["math." #name] = C::name;
    // clang-format off
    MATH(absi)
    MATH(ctlz)
    MATH(cttz) MATH(ctpop) MATH(ipowi) MATH(fma) MATH(fpowi) MATH(copysign) MATH(atan2) MATH(powf)
        MATH(absf) MATH(acos) MATH(acosh) MATH(asin) MATH(asinh) MATH(atan) MATH(atanh) MATH(cbrt)
            MATH(ceil) MATH(cos) MATH(cosh) MATH(erf) MATH(exp) MATH(exp2) MATH(expm1) MATH(floor)
                MATH(log) MATH(log10) MATH(log1p) MATH(log2) MATH(round) MATH(roundeven) MATH(rsqrt)
                    MATH(sin) MATH(sinh) MATH(sqrt) MATH(tan) MATH(tanh) MATH(trunc)
    // clang-format on
#undef MATH
                        return m;
  }();
  StringRef name = op->getName().getStringRef();
  auto it = codes.find(name);
  if (it == codes.end() || op->getNumOperands() == 0 || op->getNumOperands() > 3)
    return std::nullopt;
  ScalarOp r;
  r.code = it->second;
  r.in = cellType(op->getOperand(r.code == C::selectInteger ? 1 : 0).getType());
  r.out = cellType(op->getResult(result).getType());
  if (r.in.kind == CellType::none || r.out.kind == CellType::none) return std::nullopt;
  if (r.code == C::selectInteger) {
    if (!op->getOperand(0).getType().isInteger(1)) return std::nullopt;
    if (r.out.isFloat()) r.code = C::selectFloat;
  }
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    r.predicate = static_cast<uint8_t>(cmp.getPredicate());
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    r.predicate = static_cast<uint8_t>(cmp.getPredicate());
  if (result == 1)
    r.code = name == "arith.addui_extended"   ? C::carry
             : name == "arith.mulsi_extended" ? C::mulsiHigh
                                              : C::muluiHigh;
  return r;
}

} // namespace ortc
