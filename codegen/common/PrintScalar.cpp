// SPDX-License-Identifier: Apache-2.0
// Arithmetic: constants, comparisons, integers, casts, and everything that the op table spells.
#include "codegen/common/Printer.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen {

LogicalResult Printer::printOp(Operation* op) {
  if (auto special = printSpecial(op)) return *special;
  bool handled = true;
  if (LogicalResult r = printMemRefOp(op, handled); handled) return r;

  if (op->getNumResults() == 1 && op->getNumRegions() == 0) {
    if (op->getResult(0).use_empty() && isMemoryEffectFree(op)) return success();
    if (const OpRow* row = findOpRow(op->getName().getStringRef())) {
      if (language.spelling(*row).empty()) return unsupported(op);
      define(op, tableOp(op, *row));
      return success();
    }
  }
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](arith::ConstantOp c) {
        Attribute value = c.getValue();
        if (auto b = dyn_cast<IntegerAttr>(value))
          bind(c, integerLiteral(c.getType(), b.getValue()));
        else if (auto f = dyn_cast<FloatAttr>(value))
          bind(c, floatLiteral(cast<FloatType>(c.getType()), f.getValue()));
        else
          return unsupported(op, "a constant of this type");
        return success();
      })
      .Case([&](arith::CmpFOp c) { return define(op, compareFloats(c)), success(); })
      .Case([&](arith::CmpIOp c) { return define(op, compareIntegers(c)), success(); })
      .Case([&](arith::SelectOp s) {
        define(op, selectExpr(s.getType(), expr(s.getCondition()), expr(s.getTrueValue()),
                              expr(s.getFalseValue())));
        return success();
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp,
            arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
            arith::FloorDivSIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
            arith::ShRSIOp, arith::ShRUIOp, arith::MaxUIOp, arith::MinUIOp>([&](Operation*) {
        Expr e = integerOp(op);
        if (e.text.empty()) return unsupported(op);
        return define(op, std::move(e)), success();
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
            arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp,
            arith::IndexCastOp, arith::IndexCastUIOp>([&](Operation*) {
        Expr e = castOp(op);
        if (e.text.empty()) return unsupported(op);
        // A cast to the same spelling is no code.
        if (e.text == text(op->getOperand(0))) return forward(op, std::move(e)), success();
        return define(op, std::move(e)), success();
      })
      .Case([&](scf::ForOp o) { return printFor(o); })
      .Case([&](scf::IfOp o) { return printIf(o); })
      .Case([&](scf::WhileOp o) { return printWhile(o); })
      .Case([&](scf::IndexSwitchOp o) { return printSwitch(o); })
      .Case([&](scf::ParallelOp o) { return printParallel(o); })
      .Case([&](scf::ReduceOp r) {
        return r.getNumOperands() ? unsupported(op, "parallel reductions") : success();
      })
      .Case([&](scf::YieldOp y) {
        if (y.getNumOperands()) assign(yieldTargets.back(), y.getOperands());
        return success();
      })
      .Case([&](func::ReturnOp r) {
        return r.getNumOperands() ? unsupported(op, "kernels return nothing") : success();
      })
      .Default([&](Operation*) { return unsupported(op); });
}

Expr Printer::tableOp(Operation* op, const OpRow& row) {
  StringRef s = language.spelling(row);
  if (*row.header) headers.insert(std::string("rt/") + row.header);
  if (!llvm::isAlpha(s[0])) {
    if (op->getNumOperands() == 1) return unary(s, expr(op->getOperand(0)));
    return binary(s, expr(op->getOperand(0)), expr(op->getOperand(1)));
  }
  SmallVector<std::string> args;
  for (Value v : op->getOperands())
    args.push_back(text(v));
  return call(s, args);
}

Expr Printer::compareFloats(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  Expr a = floatOperand(op.getLhs()), b = floatOperand(op.getRhs());
  auto notOf = [](Expr e) { return unary("!", e); };
  switch (op.getPredicate()) {
  case P::AlwaysFalse: return {"false"};
  case P::AlwaysTrue: return {"true"};
  case P::OEQ: return binary("==", a, b);
  case P::OGT: return binary(">", a, b);
  case P::OGE: return binary(">=", a, b);
  case P::OLT: return binary("<", a, b);
  case P::OLE: return binary("<=", a, b);
  case P::UNE: return binary("!=", a, b);
  case P::UGT: return notOf(binary("<=", a, b));
  case P::UGE: return notOf(binary("<", a, b));
  case P::ULT: return notOf(binary(">=", a, b));
  case P::ULE: return notOf(binary(">", a, b));
  case P::ONE: return binary("||", binary("<", a, b), binary(">", a, b));
  case P::UEQ: return notOf(binary("||", binary("<", a, b), binary(">", a, b)));
  case P::ORD:
    if (op.getLhs() == op.getRhs()) return binary("==", a, a);
    return binary("&&", binary("==", a, a), binary("==", b, b));
  case P::UNO:
    if (op.getLhs() == op.getRhs()) return binary("!=", a, a);
    return binary("||", binary("!=", a, a), binary("!=", b, b));
  }
  return {};
}

Expr Printer::compareIntegers(arith::CmpIOp op) {
  static const char* const spelling[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  auto p = static_cast<unsigned>(op.getPredicate());
  Expr a = expr(op.getLhs()), b = expr(op.getRhs());
  Type type = op.getLhs().getType();
  // i1: as signed numbers true is -1; unsigned it is 1, which is also how C++ compares bools.
  if (elementOf(type).isInteger(1) && p >= 2 && p <= 5) std::swap(a, b);
  if (p >= 6 && !(isNonNegative(op.getLhs()) && isNonNegative(op.getRhs())) &&
      !elementOf(type).isInteger(1))
    a = unsignedCast(type, a), b = unsignedCast(type, b);
  return binary(spelling[p], a, b);
}

Expr Printer::integerOp(Operation* op) {
  Type type = op->getResult(0).getType();
  Expr a = expr(op->getOperand(0)), b = expr(op->getOperand(1));
  if (isScalarBool(type)) {
    if (isa<arith::AndIOp, arith::MulIOp, arith::MinUIOp>(op)) return binary("&&", a, b);
    if (isa<arith::OrIOp, arith::MaxUIOp>(op)) return binary("||", a, b);
    if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op)) {
      if (b.text == "true") return unary("!", a);
      return binary("!=", a, b);
    }
    return {""};
  }
  bool plain = isNonNegative(op->getOperand(0)) && isNonNegative(op->getOperand(1));
  if (isa<arith::AddIOp>(op)) return sum(a, b);
  if (isa<arith::SubIOp>(op)) return binary("-", a, b);
  if (isa<arith::MulIOp>(op)) return product(a, b);
  if (isa<arith::DivSIOp>(op) || (isa<arith::DivUIOp, arith::FloorDivSIOp>(op) && plain))
    return binary("/", a, b);
  if (isa<arith::RemSIOp>(op) || (isa<arith::RemUIOp>(op) && plain)) return binary("%", a, b);
  if (isa<arith::AndIOp>(op)) return binary("&", a, b);
  if (isa<arith::OrIOp>(op)) return binary("|", a, b);
  if (isa<arith::XOrIOp>(op)) return binary("^", a, b);
  return {""};
}

Expr Printer::castOp(Operation* op) {
  Type to = op->getResult(0).getType(), from = op->getOperand(0).getType();
  Expr e = expr(op->getOperand(0));
  bool fromBool = elementOf(from).isInteger(1);
  return llvm::TypeSwitch<Operation*, Expr>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation*) { return castTo(to, e); })
      .Case<arith::SIToFPOp, arith::ExtSIOp, arith::IndexCastOp>([&](Operation*) {
        if (typeName(to) == typeName(from)) return e;
        Expr r = castTo(to, e);
        return fromBool ? unary("-", r) : r; // true is -1
      })
      .Case<arith::UIToFPOp, arith::ExtUIOp, arith::IndexCastUIOp>([&](Operation*) {
        if (typeName(to) == typeName(from)) return e;
        return castTo(to, fromBool || isNonNegative(op->getOperand(0)) ? e : unsignedCast(from, e));
      })
      .Case([&](arith::TruncIOp) {
        if (isScalarBool(to)) return binary("!=", binary("&", e, integer(1)), integer(0));
        return castTo(to, e);
      })
      .Case([&](arith::BitcastOp) { return bitcastTo(to, e); })
      .Default([&](Operation*) { return castTo(to, e); });
}

} // namespace ortc::codegen
