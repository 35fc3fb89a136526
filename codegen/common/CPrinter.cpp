// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/CPrinter.h"
#include "compiler/ops/AllOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstdlib>
using namespace mlir;

namespace ortc::codegen {

bool mentions(StringRef text, StringRef word) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1))
    if (!(at > 0 && (isWord(text[at - 1]) || text[at - 1] == '.')) && // a field is another word
        !(at + word.size() < text.size() && isWord(text[at + word.size()])))
      return true;
  return false;
}

bool isSmallFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

std::string shortestDecimal(const APFloat& value) {
  APFloat d = value;
  bool lossy;
  bool isDouble = &value.getSemantics() == &APFloat::IEEEdouble();
  d.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  double x = d.convertToDouble();
  char buffer[64];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, x);
    double back = strtod(buffer, nullptr);
    if (isDouble ? back == x : static_cast<float>(back) == static_cast<float>(x)) break;
  }
  std::string s = buffer;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string CPrinter::typeName(Type type) {
  if (isa<StringType>(type)) return "ortc_string";
  if (isa<ListType, MapType>(type)) return "ortc_tensor";
  if (type.isIndex()) return indexName();
  if (auto i = dyn_cast<IntegerType>(type)) {
    unsigned width = i.getWidth();
    if (width == 1) return "bool";
    if (width == 8 || width == 16 || width == 32 || width == 64)
      return "int" + std::to_string(width) + "_t";
    if (width == 4 || width == 2) return "int8_t"; // a whole byte each, of which the low bits count
  }
  if (type.isF32()) return "float";
  if (type.isF64()) return "double";
  if (isSmallFloat(type)) {
    headers.insert(type.getIntOrFloatBitWidth() == 8 ? "rt/float8.h" : "rt/half.h");
    return llvm::TypeSwitch<Type, std::string>(type)
        .Case([](Float16Type) { return "f16"; })
        .Case([](BFloat16Type) { return "bf16"; })
        .Case([](Float8E4M3FNType) { return "f8e4m3fn"; })
        .Case([](Float8E4M3FNUZType) { return "f8e4m3fnuz"; })
        .Case([](Float8E5M2Type) { return "f8e5m2"; })
        .Case([](Float8E5M2FNUZType) { return "f8e5m2fnuz"; })
        .Default([&](Type) { return hasFailed = true, "<<unsupported type>>"; });
  }
  hasFailed = true;
  return "<<unsupported type>>";
}

std::string CPrinter::unsignedName(Type type) {
  std::string name = typeName(type);
  return name == "bool" || name == "int" ? (name == "int" ? "unsigned" : name) : "u" + name;
}

std::string CPrinter::constDecl(Type type, StringRef name, StringRef init) {
  return "const " + typeName(type) + " " + name.str() + " = " + init.str() + ";";
}
std::string CPrinter::varDecl(Type type, StringRef name, StringRef init) {
  return typeName(type) + " " + name.str() + (init.empty() ? ";" : " = " + init.str() + ";");
}

Expr CPrinter::floatLiteral(FloatType type, const APFloat& value) {
  bool isDouble = type.isF64();
  Expr e;
  if (value.isInfinity())
    e = {isDouble ? "__builtin_inf()" : "__builtin_inff()"};
  else if (value.isNaN())
    e = {isDouble ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")"};
  else {
    APFloat positive = value;
    if (value.isNegative()) positive.changeSign();
    e = {shortestDecimal(positive) + (isDouble ? "" : "f")};
  }
  if (value.isNegative() && !value.isNaN()) e = {"-" + e.text, Prec::Unary};
  return isSmallFloat(type) ? toSmallFloat(type, e) : e;
}

Expr CPrinter::toSmallFloat(Type type, const Expr& e, bool saturating) {
  SmallVector<std::string> args = {e.text};
  if (type.getIntOrFloatBitWidth() == 8) args.push_back(saturating ? "true" : "false");
  return call("to_" + typeName(type), args);
}

Expr CPrinter::floatOperand(Value value) {
  Type type = value.getType();
  if (!isSmallFloat(type)) return expr(value);
  typeName(type); // its header
  APFloat c(0.0f);
  if (matchPattern(value, m_ConstantFloat(&c))) {
    bool lossy;
    c.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
    return floatLiteral(Float32Type::get(value.getContext()), c);
  }
  return call("to_f32", {expr(value).text});
}

Expr CPrinter::integerLiteral(Type type, const APInt& value) {
  if (type.isInteger(1)) return {value.isZero() ? "false" : "true"};
  if (value.getBitWidth() > 64) return {"<<unsupported literal>>"};
  int64_t v = value.getSExtValue();
  if (v == INT64_MIN) return {"INT64_MIN"};
  if (type.isInteger(32) && v == INT32_MIN) return {"INT32_MIN"};
  return integer(v);
}

Expr CPrinter::castTo(Type type, const Expr& e) {
  return call(typeName(type), {e.text});
}
Expr CPrinter::unsignedCast(Type type, const Expr& e) {
  return call(unsignedName(type), {e.text});
}
Expr CPrinter::bitcastTo(Type type, const Expr& e) {
  headers.insert("rt/simd.h");
  return call("bits_as<" + typeName(type) + ">", {e.text});
}

std::string CPrinter::forHeader(Type type, StringRef name, const Expr& lower, const Expr& upper,
                                const Expr& step) {
  std::string n = name.str(), t = type ? typeName(type) : indexName();
  std::string next = isInteger(step, 1) ? "++" + n : n + " += " + step.text;
  return "for (" + t + " " + n + " = " + lower.text + "; " + binary("<", {n}, upper).text + "; " +
         next + ") {";
}

std::string CPrinter::argument(Value value) {
  Expr e = expr(value);
  Type type = value.getType();
  if (e.isInteger && !type.isInteger(32)) return typeName(type) + "(" + e.text + ")";
  // C computes with narrow integers as int, and the type of `c ? 1 : 0` is int, too.
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned bits = integer.getWidth();
    if ((bits > 1 && bits < 32 && e.prec != Prec::Primary) ||
        (bits == 64 && e.prec == Prec::Conditional))
      return castTo(type, e).text;
  }
  return e.text;
}

Expr CPrinter::runtimeCall(StringRef callee, ValueRange operands, StringRef header) {
  if (!header.empty()) headers.insert(header.str());
  SmallVector<std::string> args;
  for (Value v : operands)
    args.push_back(argument(v));
  return call(callee, args);
}

Expr CPrinter::integerOp(Operation* op) {
  Type type = op->getResult(0).getType();
  if (isScalarBool(type)) return Printer::integerOp(op);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Expr a = expr(lhs), b = expr(rhs);
  bool isIndex = type.isIndex(), plain = isNonNegative(lhs) && isNonNegative(rhs);
  // Sizes and places do not overflow; numbers of the model wrap around.
  auto overflow = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  bool noWrap = isIndex || (overflow && bitEnumContainsAny(overflow.getOverflowAttr().getValue(),
                                                           arith::IntegerOverflowFlags::nsw));
  // Narrower ones are computed as int and cut.
  auto cut = [&](Expr e) {
    return !isIndex && type.getIntOrFloatBitWidth() < 32 ? castTo(type, e) : e;
  };
  bool narrow = !isIndex && type.getIntOrFloatBitWidth() < 32;
  APInt c;
  bool constant = matchPattern(rhs, m_ConstantInt(&c));
  bool safeDivisor = constant && !c.isZero() && !c.isAllOnes();
  auto isUnsignedCall = [&](StringRef callee) {
    SmallVector<std::string> args = {unsignedCast(type, a).text, unsignedCast(type, b).text};
    headers.insert("rt/ops.h");
    return castTo(type, call(callee, args));
  };
  return llvm::TypeSwitch<Operation*, Expr>(op)
      .Case([&](arith::AddIOp) {
        if (isIndex) return sum(a, b);
        return noWrap || narrow ? cut(binary("+", a, b))
                                : runtimeCall("add", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::SubIOp) {
        return noWrap || narrow ? cut(binary("-", a, b))
                                : runtimeCall("sub", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::MulIOp) {
        if (isIndex) return product(a, b);
        return noWrap || narrow ? cut(binary("*", a, b))
                                : runtimeCall("mul", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::DivSIOp) {
        return safeDivisor ? cut(binary("/", a, b))
                           : runtimeCall("div", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::RemSIOp) {
        return safeDivisor ? cut(binary("%", a, b))
                           : runtimeCall("rem", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::DivUIOp) {
        if (plain && safeDivisor) return cut(binary("/", a, b));
        return plain ? runtimeCall("div", op->getOperands(), "rt/ops.h") : isUnsignedCall("div");
      })
      .Case([&](arith::RemUIOp) {
        if (plain && safeDivisor) return cut(binary("%", a, b));
        return plain ? runtimeCall("rem", op->getOperands(), "rt/ops.h") : isUnsignedCall("rem");
      })
      .Case([&](arith::CeilDivSIOp) {
        return runtimeCall("ceil_div", op->getOperands(), "rt/ops.h");
      })
      .Case([&](arith::CeilDivUIOp) {
        return plain ? runtimeCall("ceil_div", op->getOperands(), "rt/ops.h")
                     : isUnsignedCall("ceil_div");
      })
      .Case([&](arith::FloorDivSIOp) {
        return plain && safeDivisor ? cut(binary("/", a, b))
                                    : runtimeCall("floor_div", op->getOperands(), "rt/ops.h");
      })
      .Case<arith::AndIOp>([&](Operation*) { return cut(binary("&", a, b)); })
      .Case<arith::OrIOp>([&](Operation*) { return cut(binary("|", a, b)); })
      .Case<arith::XOrIOp>([&](Operation*) { return cut(binary("^", a, b)); })
      .Case([&](arith::ShLIOp) { return runtimeCall("shl", op->getOperands(), "rt/ops.h"); })
      .Case([&](arith::ShRSIOp) {
        if (constant && c.ult(c.getBitWidth())) return cut(binary(">>", a, b));
        return runtimeCall("shr_arithmetic", op->getOperands(), "rt/ops.h");
      })
      .Case(
          [&](arith::ShRUIOp) { return runtimeCall("shr_logical", op->getOperands(), "rt/ops.h"); })
      .Case([&](arith::MaxUIOp) {
        return plain ? runtimeCall("maximum", op->getOperands(), "rt/ops.h")
                     : isUnsignedCall("maximum");
      })
      .Case([&](arith::MinUIOp) {
        return plain ? runtimeCall("minimum", op->getOperands(), "rt/ops.h")
                     : isUnsignedCall("minimum");
      })
      .Default([&](Operation*) { return Expr{""}; });
}

Expr CPrinter::castOp(Operation* op) {
  Type to = op->getResult(0).getType(), from = op->getOperand(0).getType();
  Expr e = expr(op->getOperand(0));
  // Integers of 2 and 4 bits are bytes; only their low bits count.
  if (auto i = dyn_cast<IntegerType>(from);
      i && (i.getWidth() == 2 || i.getWidth() == 4) &&
      isa<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp>(op)) {
    std::string bits = std::to_string(8 - i.getWidth()),
                mask = std::to_string((1u << i.getWidth()) - 1);
    Expr number = isa<arith::ExtSIOp, arith::SIToFPOp>(op)
                      ? binary(">>", call("int8_t", {binary("<<", e, {bits}).text}), {bits})
                      : binary("&", e, {mask});
    return isSmallFloat(to) ? toSmallFloat(to, call("float", {number.text})) : castTo(to, number);
  }
  // C++ leaves casts of what does not fit undefined; the runtime saturates.
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    headers.insert("rt/ops.h");
    e = floatOperand(op->getOperand(0));
    if (to.isInteger(1)) return binary("!=", e, {"0"});
    bool isSigned = isa<arith::FPToSIOp>(op);
    Expr r = call("cast<" + (isSigned ? typeName(to) : unsignedName(to)) + ">", {e.text});
    return isSigned ? r : castTo(to, r);
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    e = floatOperand(op->getOperand(0));
    if (isSmallFloat(to)) {
      if (to.getIntOrFloatBitWidth() == 8 && from.isF64()) e = call("float", {e.text});
      return toSmallFloat(to, e, op->hasAttr("ortc.saturate"));
    }
    return isSmallFloat(from) && to.isF32() ? e : castTo(to, e);
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && isSmallFloat(to)) {
    bool isBool = from.isInteger(1), isSigned = isa<arith::SIToFPOp>(op);
    Expr number =
        isBool || isSigned || isNonNegative(op->getOperand(0)) ? e : unsignedCast(from, e);
    // Through f64, from which to_f16 rounds once.
    Expr wide = call(to.getIntOrFloatBitWidth() == 8 ? "float" : "double", {number.text});
    return toSmallFloat(to, isBool && isSigned ? unary("-", wide) : wide);
  }
  return Printer::castOp(op);
}

Expr CPrinter::tableOp(Operation* op, const OpRow& row) {
  StringRef s = language.spelling(row);
  Type type = op->getResult(0).getType();
  if (isSmallFloat(type)) { // storage only: computed in f32, rounded once
    if (*row.header) headers.insert(std::string("rt/") + row.header);
    SmallVector<Expr> wide;
    for (Value v : op->getOperands())
      wide.push_back(floatOperand(v));
    Expr e;
    if (!llvm::isAlpha(s[0]))
      e = wide.size() == 1 ? unary(s, wide[0]) : binary(s, wide[0], wide[1]);
    else {
      SmallVector<std::string> args;
      for (const Expr& x : wide)
        args.push_back(x.text);
      e = call(s, args);
    }
    return toSmallFloat(type, e);
  }
  if (llvm::isAlpha(s[0]))
    return runtimeCall(s, op->getOperands(), *row.header ? std::string("rt/") + row.header : "");
  return Printer::tableOp(op, row);
}

std::string CPrinter::address(const Layout& layout, const Expr& index) {
  if (isInteger(index, 0)) return layout.base;
  // x + (i + j) is x + i + j: pointers and 64-bit sums do not overflow.
  return index.prec == Prec::Additive ? layout.base + " + " + index.text
                                      : binary("+", {layout.base}, index).text;
}

std::string CPrinter::pointerDecl(const Layout& layout, Type element, StringRef name,
                                  StringRef init) {
  return (layout.constant ? "const " : "") + elementTypeName(element) + "* " + name.str() + " = " +
         init.str() + ";";
}

void CPrinter::declareView(Value view, Layout layout, StringRef wish) {
  if (!isInteger(layout.offset, 0) && !view.use_empty()) {
    Type element = cast<MemRefType>(view.getType()).getElementType();
    std::string name = names.fresh(wish);
    w.line(pointerDecl(layout, element, name, address(layout, layout.offset)));
    layout.base = name;
    layout.offset = integer(0);
  }
  layouts[view] = std::move(layout);
}

LogicalResult CPrinter::printCopy(memref::CopyOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getTarget());
  if (!from.identity || !to.identity) return Printer::printCopy(op);
  Type element = cast<MemRefType>(op.getTarget().getType()).getElementType();
  Expr count = integer(1);
  for (const Expr& s : to.sizes)
    count = product(count, s);
  Expr bytes = product(count, {"sizeof(" + elementTypeName(element) + ")"});
  std::string size = count.isInteger
                         ? bytes.text
                         : "size_t(" + count.text + ") * sizeof(" + elementTypeName(element) + ")";
  w.line("__builtin_memmove(" + address(to, to.offset) + ", " + address(from, from.offset) + ", " +
         size + ");");
  return success();
}

void CPrinter::bindParameters(func::FuncOp kernel, const KernelSignature& s) {
  for (const std::string& name : s.argNames)
    names.reserve(name);
  for (const KernelParam& p : s.params)
    names.reserve(p.name);
  auto spelled = [](const DynamicExtent& e) {
    return e.constant ? integer(*e.constant) : Expr{e.name};
  };
  for (const KernelParam& p : s.params) {
    BlockArgument arg = kernel.getArgument(p.arg);
    if (p.kind == KernelParam::Scalar) bind(arg, {p.name});
    if (p.kind != KernelParam::Pointer) continue;
    auto type = cast<MemRefType>(arg.getType());
    SmallVector<Expr> sizes, strides;
    for (unsigned d = 0; d < type.getRank(); ++d) {
      if (auto it = s.sizes.find({p.arg, d}); it != s.sizes.end())
        sizes.push_back(spelled(it->second));
      else if (type.isDynamicDim(d))
        sizes.push_back({});
      if (auto it = s.strides.find({p.arg, d}); it != s.strides.end())
        strides.push_back(spelled(it->second));
    }
    Layout l = sourceLayout(type, p.name, sizes, strides);
    l.constant = p.readOnly;
    layouts[arg] = std::move(l);
  }
}

SmallVector<std::string> CPrinter::parameterList(func::FuncOp kernel, const KernelSignature& s,
                                                 StringRef body) {
  SmallVector<std::string> list;
  for (const KernelParam& p : s.params) {
    Type type = kernel.getArgument(p.arg).getType();
    std::string name = mentions(body, p.name) ? p.name : "/*" + p.name + "*/";
    if (p.kind == KernelParam::Pointer) {
      bool alone = kernel.getArgAttr(p.arg, "ortc.noalias") != nullptr;
      list.push_back((p.readOnly ? "const " : "") +
                     elementTypeName(cast<MemRefType>(type).getElementType()) + "* " +
                     (alone ? "ORTC_RESTRICT " : "") + name);
    } else {
      list.push_back((p.kind == KernelParam::Scalar ? typeName(type) : indexName()) + " " + name);
    }
  }
  return list;
}

} // namespace ortc::codegen
