// SPDX-License-Identifier: Apache-2.0
// 1-D vectors in C++: the compilers' vector extensions, through runtime_min/rt/simd.h. Arithmetic
// and comparisons are the plain operators; a splat operand is written as its scalar wherever
// operators and functions take one.
#include "codegen/cxx/CxxPrinter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::cxx {

std::string CxxPrinter::vectorName(Type element, int64_t lanes) {
  headers.insert("rt/simd.h");
  if (lanes == 1) return typeName(element);
  if ((element.isF32() || element.isInteger(32)) && (lanes == 4 || lanes == 8 || lanes == 16))
    return (element.isF32() ? "f32x" : "i32x") + std::to_string(lanes);
  return "vec<" + typeName(element) + ", " + std::to_string(lanes) + ">";
}

Expr CxxPrinter::splat(VectorType type, const Expr& lane) {
  if (type.getNumElements() == 1) return lane;
  std::string value = lane.text;
  return {"splat<" + typeName(type) + ">(" + value + ")", Prec::Primary,
          lane.prec == Prec::Conditional ? "(" + value + ")" : value};
}

static int64_t lanesOf(Type t) {
  return cast<VectorType>(t).getNumElements();
}

unsigned CxxPrinter::maskBits(Value mask, unsigned depth) {
  Operation* op = mask.getDefiningOp();
  if (!op || depth > 16) return 32;
  if (isa<arith::CmpFOp, arith::CmpIOp>(op)) {
    Type e = elementOf(op->getOperand(0).getType());
    if (e.isInteger(1)) return maskBits(op->getOperand(0), depth + 1);
    return e.isIndex() ? 64 : e.getIntOrFloatBitWidth();
  }
  if (auto trunc = dyn_cast<arith::TruncIOp>(op))
    return elementOf(trunc.getIn().getType()).getIntOrFloatBitWidth();
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::AddIOp>(op)) {
    for (Value v : op->getOperands())
      if (!matchPattern(v, m_Constant())) return maskBits(v, depth + 1);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return maskBits(select.getTrueValue(), depth + 1);
  return 32;
}

Expr CxxPrinter::maskOf(Value mask, unsigned bits) {
  Expr e = expr(mask);
  if (!isa<VectorType>(mask.getType()) || lanesOf(mask.getType()) == 1) return e;
  auto intType = IntegerType::get(mask.getContext(), bits);
  if (!e.lane.empty()) { // true or false everywhere
    return splat(VectorType::get({lanesOf(mask.getType())}, intType),
                 {e.lane == "true"    ? "-1"
                  : e.lane == "false" ? "0"
                                      : "-int32_t(" + e.lane + ")"});
  }
  if (maskBits(mask) == bits) return e;
  return call("convert<" + typeName(intType) + ">", {e.text});
}

Expr CxxPrinter::vectorOperand(Value value, bool laneAllowed) {
  Expr e = expr(value);
  if (laneAllowed && !e.lane.empty()) {
    // Integers must have the type of the lanes, or fit without doubt.
    bool simple =
        llvm::all_of(e.lane, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    return {e.lane, simple                               ? Prec::Primary
                    : StringRef(e.lane).starts_with("-") ? Prec::Unary
                                                         : Prec::Additive};
  }
  return {e.text, e.prec};
}

Expr CxxPrinter::vectorTableOp(Operation* op, const OpRow& row) {
  StringRef s = language.spelling(row);
  if (*row.header) headers.insert(std::string("rt/") + row.header);
  auto isLane = [&](Value v) { return !expr(v).lane.empty(); };
  unsigned n = op->getNumOperands();
  if (!llvm::isAlpha(s[0])) {
    if (n == 1) return unary(s, vectorOperand(op->getOperand(0), false));
    bool both = isLane(op->getOperand(0)) && isLane(op->getOperand(1));
    return binary(s, vectorOperand(op->getOperand(0), !both),
                  vectorOperand(op->getOperand(1), true));
  }
  if (s == "fma") {
    Value a = op->getOperand(0), b = op->getOperand(1), c = op->getOperand(2);
    if (isLane(a) && !isLane(b)) std::swap(a, b);
    return call(s, {vectorOperand(a, false).text, vectorOperand(b, true).text,
                    vectorOperand(c, true).text});
  }
  // Scalar only in the runtime.
  if ((s == "count_ones" || s == "leading_zeros" || s == "trailing_zeros" ||
       isa<math::IPowIOp>(op)) &&
      lanesOf(op->getResult(0).getType()) > 1) {
    std::string t = typeName(elementOf(op->getResult(0).getType())),
                a = vectorOperand(op->getOperand(0), false).text;
    if (n == 1)
      return call("detail::per_lane<" + t + ">",
                  {a, "[](" + t + " v) { return " + s.str() + "(v); }"});
    return call("detail::per_lane",
                {a, vectorOperand(op->getOperand(1), false).text,
                 "[](" + t + " u, " + t + " v) { return " + s.str() + "(u, v); }"});
  }
  bool second = (s == "maximum" || s == "minimum") && n == 2;
  SmallVector<std::string> args;
  for (auto [i, v] : llvm::enumerate(op->getOperands()))
    args.push_back(vectorOperand(v, second && i == 1).text);
  return call(s, args);
}

Expr CxxPrinter::vectorIntegerOp(Operation* op) {
  Type type = op->getResult(0).getType(), element = elementOf(type);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (element.isInteger(1)) {
    unsigned bits = maskBits(op->getResult(0));
    Expr a = maskOf(lhs, bits);
    if (isa<arith::XOrIOp, arith::AddIOp>(op) && expr(rhs).lane == "true") return unary("~", a);
    Expr b = maskOf(rhs, bits);
    if (isa<arith::AndIOp, arith::MulIOp>(op)) return binary("&", a, b);
    if (isa<arith::OrIOp>(op)) return binary("|", a, b);
    if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op)) return binary("^", a, b);
    return {""};
  }
  auto both = [&](StringRef callee) {
    headers.insert("rt/ops.h");
    return call(callee, {vectorOperand(lhs, false).text, vectorOperand(rhs, false).text});
  };
  std::string u = lanesOf(type) == 1 ? unsignedName(element) : "uint_of<" + typeName(type) + ">";
  auto asUnsigned = [&](StringRef callee) {
    headers.insert("rt/ops.h");
    auto bits = [&](Value v) { return "bits_as<" + u + ">(" + vectorOperand(v, false).text + ")"; };
    return call("bits_as<" + typeName(type) + ">", {call(callee, {bits(lhs), bits(rhs)}).text});
  };
  bool isIndex = element.isIndex();
  return llvm::TypeSwitch<Operation*, Expr>(op)
      .Case([&](arith::AddIOp) {
        return isIndex ? binary("+", vectorOperand(lhs, false), vectorOperand(rhs, false))
                       : both("add");
      })
      .Case([&](arith::SubIOp) {
        return isIndex ? binary("-", vectorOperand(lhs, false), vectorOperand(rhs, false))
                       : both("sub");
      })
      .Case([&](arith::MulIOp) {
        return isIndex ? binary("*", vectorOperand(lhs, false), vectorOperand(rhs, false))
                       : both("mul");
      })
      .Case([&](arith::DivSIOp) { return both("div"); })
      .Case([&](arith::RemSIOp) { return both("rem"); })
      .Case([&](arith::FloorDivSIOp) { return both("floor_div"); })
      .Case([&](arith::CeilDivSIOp) { return both("ceil_div"); })
      .Case([&](arith::DivUIOp) { return asUnsigned("div"); })
      .Case([&](arith::RemUIOp) { return asUnsigned("rem"); })
      .Case([&](arith::MaxUIOp) { return asUnsigned("maximum"); })
      .Case([&](arith::MinUIOp) { return asUnsigned("minimum"); })
      .Case([&](arith::AndIOp) {
        return binary("&", vectorOperand(lhs, false), vectorOperand(rhs, false));
      })
      .Case([&](arith::OrIOp) {
        return binary("|", vectorOperand(lhs, false), vectorOperand(rhs, false));
      })
      .Case([&](arith::XOrIOp) {
        return binary("^", vectorOperand(lhs, false), vectorOperand(rhs, false));
      })
      .Case([&](arith::ShLIOp) { return both("shl"); })
      .Case([&](arith::ShRSIOp) { return both("shr_arithmetic"); })
      .Case([&](arith::ShRUIOp) { return both("shr_logical"); })
      .Default([&](Operation*) { return Expr{""}; });
}

Expr CxxPrinter::vectorCast(Operation* op) {
  Type to = op->getResult(0).getType(), from = op->getOperand(0).getType(), toE = elementOf(to),
       fromE = elementOf(from);
  Value in = op->getOperand(0);
  // Vectors of small floats are f32 until they are stored: load_as and store_as convert.
  if (isSmallFloat(fromE)) return isa<arith::ExtFOp>(op) && toE.isF32() ? expr(in) : Expr{""};
  if (isSmallFloat(toE)) {
    bool onlyStored =
        llvm::all_of(op->getUsers(), [](Operation* u) { return isa<vector::StoreOp>(u); });
    return isa<arith::TruncFOp>(op) && fromE.isF32() && onlyStored &&
                   toE.getIntOrFloatBitWidth() == 16
               ? expr(in)
               : Expr{""};
  }
  Expr e = vectorOperand(in, false);
  auto convertTo = [&](const Expr& x) { return call("convert<" + typeName(toE) + ">", {x.text}); };
  auto bits = [&](Type element, bool isUnsigned, const Expr& x) {
    std::string scalar = isUnsigned ? unsignedName(element) : typeName(element);
    return call("bits_as<vec<" + scalar + ", " + std::to_string(lanesOf(to)) + ">>", {x.text});
  };
  if (fromE.isInteger(1)) {
    Expr mask = maskOf(in, maskBits(in));
    bool isSigned = isa<arith::SIToFPOp, arith::ExtSIOp, arith::IndexCastOp>(op);
    return convertTo(isSigned ? mask : binary("&", mask, integer(1)));
  }
  return llvm::TypeSwitch<Operation*, Expr>(op)
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp>(
          [&](Operation*) { return convertTo(e); })
      .Case<arith::UIToFPOp, arith::ExtUIOp, arith::IndexCastUIOp>([&](Operation*) {
        return typeName(toE) == typeName(fromE) ? e : convertTo(bits(fromE, true, e));
      })
      .Case<arith::IndexCastOp>(
          [&](Operation*) { return typeName(toE) == typeName(fromE) ? e : convertTo(e); })
      .Case<arith::TruncIOp>([&](Operation*) {
        return toE.isInteger(1) ? binary("!=", binary("&", e, integer(1)), integer(0))
                                : convertTo(e);
      })
      .Case<arith::FPToSIOp>([&](Operation*) {
        headers.insert("rt/ops.h");
        if (toE.isInteger(1)) return binary("!=", e, {"0"});
        return call("cast<" + typeName(toE) + ">", {e.text});
      })
      .Case<arith::FPToUIOp>([&](Operation*) {
        headers.insert("rt/ops.h");
        if (toE.isInteger(1)) return binary("!=", e, {"0"});
        return bits(toE, false, call("cast<" + unsignedName(toE) + ">", {e.text}));
      })
      .Case<arith::BitcastOp>(
          [&](Operation*) { return call("bits_as<" + typeName(to) + ">", {e.text}); })
      .Default([&](Operation*) { return Expr{""}; });
}

LogicalResult CxxPrinter::printReduction(vector::ReductionOp op) {
  using K = vector::CombiningKind;
  VectorType type = op.getSourceVectorType();
  bool isMask = type.getElementType().isInteger(1);
  StringRef fold, join;
  switch (op.getKind()) {
  case K::ADD: fold = "sum_lanes", join = "+"; break;
  case K::MUL: fold = "product_lanes", join = "*"; break;
  case K::MAXIMUMF:
  case K::MAXSI: fold = "max_lanes", join = "maximum"; break;
  case K::MINIMUMF:
  case K::MINSI: fold = "min_lanes", join = "minimum"; break;
  case K::OR: fold = "any", join = "||"; break;
  case K::AND: fold = "all", join = "&&"; break;
  default: return unsupported(op, "this kind of reduction");
  }
  if ((fold == "any" || fold == "all") != isMask)
    return unsupported(op, "this kind of reduction on these elements");
  headers.insert(StringRef(fold).starts_with("m") ? "rt/ops.h" : "rt/simd.h");
  Expr e = lanesOf(type) == 1
               ? expr(op.getVector())
               : call(fold, {isMask ? maskOf(op.getVector(), maskBits(op.getVector())).text
                                    : vectorOperand(op.getVector(), false).text});
  if (Value acc = op.getAcc()) {
    if (join == "maximum" || join == "minimum")
      e = call(join, {argument(acc), e.text});
    else if ((join == "+" || join == "*") && isa<IntegerType>(type.getElementType()))
      headers.insert("rt/ops.h"), e = call(join == "+" ? "add" : "mul", {argument(acc), e.text});
    else
      e = binary(join, expr(acc), e);
  }
  define(op, e);
  return success();
}

std::optional<LogicalResult> CxxPrinter::printVectorOp(Operation* op) {
  Type result = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
  auto vt = dyn_cast_or_null<VectorType>(result);
  if (vt && (vt.getRank() > 1 || vt.isScalable()))
    return unsupported(op, "vectors have one dimension and a fixed length");
  if (vt && isSmallFloat(vt.getElementType()) && !isa<vector::LoadOp, arith::TruncFOp>(op))
    return unsupported(op, "vectors of f16 and bf16 can only be loaded, converted and stored");
  if (vt && op->use_empty() && isMemoryEffectFree(op)) return success();

  // How many lanes a mask leaves, when it is "the first n".
  auto firstLanes = [&](Value mask, int64_t lanes, std::string& n) {
    if (auto create = mask.getDefiningOp<vector::CreateMaskOp>()) {
      Value count = create.getOperand(0);
      n = text(count);
      bool bounded = false;
      if (auto min = count.getDefiningOp<arith::MinSIOp>())
        for (Value v : min->getOperands())
          if (auto c = getConstantIntValue(v); c && *c <= lanes) bounded = true;
      if (!bounded)
        headers.insert("rt/ops.h"),
            n = "clamp(" + argument(count) + ", 0, " + std::to_string(lanes) + ")";
      return true;
    }
    if (auto constant = mask.getDefiningOp<vector::ConstantMaskOp>()) {
      n = std::to_string(cast<IntegerAttr>(constant.getMaskDimSizes()[0]).getInt());
      return true;
    }
    DenseElementsAttr splat;
    if (matchPattern(mask, m_Constant(&splat)) && splat.isSplat() && splat.getSplatValue<bool>()) {
      n = "";
      return true;
    }
    return false;
  };
  auto isZero = [](Value v) {
    return matchPattern(v, m_AnyZeroFloat()) || matchPattern(v, m_Zero());
  };
  auto place = [&](Value base, ValueRange indices) {
    const Layout& l = layoutOf(base);
    return address(l, linearIndex(l, indices));
  };
  auto unitStride = [&](Value base) {
    const Layout& l = layoutOf(base);
    return l.strides.empty() || isInteger(l.strides.back(), 1);
  };
  auto loadText = [&](VectorType type, const std::string& at, const std::string& n) -> Expr {
    headers.insert("rt/simd.h");
    if (isSmallFloat(type.getElementType())) {
      headers.insert("rt/half.h");
      return call("load_as<" +
                      vectorName(Float32Type::get(op->getContext()), type.getNumElements()) + ">",
                  {at});
    }
    std::string name =
        typeName(type.getElementType().isInteger(1)
                     ? VectorType::get(type.getShape(), IntegerType::get(op->getContext(), 8))
                     : type);
    std::string p =
        type.getElementType().isInteger(1) ? "reinterpret_cast<const int8_t*>(" + at + ")" : at;
    Expr e = n.empty() ? call("load<" + name + ">", {p}) : call("load_n<" + name + ">", {p, n});
    // bools are bytes
    return type.getElementType().isInteger(1)
               ? binary("!=", call("convert<int32_t>", {e.text}), integer(0))
               : e;
  };
  auto storeText = [&](Value value, const std::string& at, const std::string& n) {
    headers.insert("rt/simd.h");
    bool isBool = elementOf(value.getType()).isInteger(1);
    std::string p = isBool ? "reinterpret_cast<int8_t*>(" + at + ")" : at,
                v = vectorOperand(value, false).text;
    if (isBool)
      v = call("convert<int8_t>", {binary("&", maskOf(value, maskBits(value)), integer(1)).text})
              .text;
    if (isSmallFloat(elementOf(value.getType()))) {
      headers.insert("rt/half.h");
      w.line(call("store_as", {p, v}).text + ";");
      return;
    }
    w.line((n.empty() ? call("store", {p, v}) : call("store_n", {p, v, n})).text + ";");
  };

  return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
      .Case([&](vector::LoadOp load) -> std::optional<LogicalResult> {
        if (!unitStride(load.getBase())) {
          if (isSmallFloat(vt.getElementType())) return unsupported(op, "strided f16");
          Layout l = layoutOf(load.getBase());
          headers.insert("rt/simd.h");
          define(op, call("load_strided<" + typeName(vt) + ">",
                          {place(load.getBase(), load.getIndices()), l.strides.back().text}));
          return success();
        }
        define(op, loadText(vt, place(load.getBase(), load.getIndices()), ""));
        return success();
      })
      .Case([&](vector::StoreOp store) -> std::optional<LogicalResult> {
        std::string at = place(store.getBase(), store.getIndices());
        if (!unitStride(store.getBase())) {
          headers.insert("rt/simd.h");
          w.line(call("store_strided", {at, layoutOf(store.getBase()).strides.back().text,
                                        vectorOperand(store.getValueToStore(), false).text})
                     .text +
                 ";");
          return success();
        }
        storeText(store.getValueToStore(), at, "");
        return success();
      })
      .Case([&](vector::MaskedLoadOp load) -> std::optional<LogicalResult> {
        std::string n;
        if (!unitStride(load.getBase()) || !firstLanes(load.getMask(), lanesOf(vt), n))
          return unsupported(op, "the mask must be the first lanes");
        Expr e = loadText(vt, place(load.getBase(), load.getIndices()), n);
        if (!isZero(load.getPassThru()) && !n.empty()) {
          unsigned bits = vt.getElementTypeBitWidth();
          e = call("select", {maskOf(load.getMask(), bits).text, e.text,
                              vectorOperand(load.getPassThru(), false).text});
        }
        define(op, e);
        return success();
      })
      .Case([&](vector::MaskedStoreOp store) -> std::optional<LogicalResult> {
        std::string n;
        if (!unitStride(store.getBase()) ||
            !firstLanes(store.getMask(), lanesOf(store.getValueToStore().getType()), n))
          return unsupported(op, "the mask must be the first lanes");
        storeText(store.getValueToStore(), place(store.getBase(), store.getIndices()), n);
        return success();
      })
      .Case<vector::TransferReadOp, vector::TransferWriteOp>(
          [&](auto t) -> std::optional<LogicalResult> {
            if (t.hasOutOfBoundsDim() || t.getMask() || !t.getPermutationMap().isMinorIdentity() ||
                !unitStride(t.getSource()) || t.getTransferRank() != 1)
              return unsupported(op, "only transfers within bounds, along the last dimension");
            std::string at = place(t.getSource(), t.getIndices());
            if constexpr (std::is_same_v<decltype(t), vector::TransferReadOp>)
              define(op, loadText(vt, at, ""));
            else
              storeText(t.getVector(), at, "");
            return success();
          })
      .Case([&](vector::GatherOp gather) -> std::optional<LogicalResult> {
        if (!isa<MemRefType>(gather.getBase().getType()) || !unitStride(gather.getBase()))
          return unsupported(op);
        std::string n;
        bool all = firstLanes(gather.getMask(), lanesOf(vt), n) && n.empty();
        Type index = elementOf(gather.getIndexVec().getType());
        unsigned bits = index.isIndex() ? 64 : index.getIntOrFloatBitWidth();
        std::string at = place(gather.getBase(), gather.getIndices()),
                    places = vectorOperand(gather.getIndexVec(), false).text;
        headers.insert("rt/simd.h");
        if (!all)
          places = call("select", {maskOf(gather.getMask(), bits).text, places,
                                   typeName(gather.getIndexVec().getType()) + "{}"})
                       .text;
        Expr e = call("gather", {at, places});
        if (!all)
          e = call("select", {maskOf(gather.getMask(), elementOf(vt).getIntOrFloatBitWidth()).text,
                              e.text, vectorOperand(gather.getPassThru(), false).text});
        define(op, e);
        return success();
      })
      .Case<vector::BroadcastOp, vector::SplatOp>([&](Operation*) -> std::optional<LogicalResult> {
        Value source = op->getOperand(0);
        if (isa<VectorType>(source.getType())) {
          if (lanesOf(source.getType()) == lanesOf(vt)) return forward(op, expr(source)), success();
          if (lanesOf(source.getType()) != 1) return unsupported(op);
        }
        Expr lane = expr(source);
        bool simple = lane.prec == Prec::Primary && lane.text.find('(') == std::string::npos;
        // A name or a literal goes wherever it is used; more is computed once.
        if (simple)
          bind(op->getResult(0),
               splat(vt, {vt.getElementType().isInteger() && !vt.getElementType().isInteger(1) &&
                                  !vt.getElementType().isInteger(32)
                              ? castTo(vt.getElementType(), lane).text
                              : lane.text}));
        else
          define(op, splat(vt, lane));
        return success();
      })
      .Case([&](vector::StepOp) -> std::optional<LogicalResult> {
        headers.insert("rt/simd.h");
        return define(op, call("iota<" + typeName(vt) + ">", {})), success();
      })
      .Case<vector::CreateMaskOp, vector::ConstantMaskOp>(
          [&](Operation*) -> std::optional<LogicalResult> {
            std::string v = "vec<int32_t, " + std::to_string(lanesOf(vt)) + ">";
            std::string n =
                isa<vector::CreateMaskOp>(op)
                    ? text(op->getOperand(0))
                    : std::to_string(
                          cast<IntegerAttr>(cast<vector::ConstantMaskOp>(op).getMaskDimSizes()[0])
                              .getInt());
            // Used as "the first n lanes" by loads and stores, which print n themselves.
            if (llvm::all_of(op->getUses(), [](OpOperand& u) {
                  if (auto load = dyn_cast<vector::MaskedLoadOp>(u.getOwner()))
                    return matchPattern(load.getPassThru(), m_AnyZeroFloat()) ||
                           matchPattern(load.getPassThru(), m_Zero());
                  return isa<vector::MaskedStoreOp>(u.getOwner());
                }))
              return success();
            headers.insert("rt/simd.h");
            return define(op, binary("<", call("iota<" + v + ">", {}), {"int32_t(" + n + ")"})),
                   success();
          })
      .Case([&](vector::ExtractOp extract) -> std::optional<LogicalResult> {
        if (extract.getNumIndices() != 1) return unsupported(op);
        if (lanesOf(extract.getVector().getType()) == 1)
          return forward(op, expr(extract.getVector())), success();
        OpFoldResult at = extract.getMixedPosition()[0];
        auto c = getConstantIntValue(at);
        Expr e = {primary(expr(extract.getVector())) + "[" +
                  (c ? std::to_string(*c) : text(cast<Value>(at))) + "]"};
        if (elementOf(result).isInteger(1)) e = binary("!=", e, integer(0));
        return define(op, e), success();
      })
      .Case([&](vector::ExtractElementOp extract) -> std::optional<LogicalResult> {
        Expr e = {primary(expr(extract.getVector())) + "[" + text(extract.getPosition()) + "]"};
        if (elementOf(result).isInteger(1)) e = binary("!=", e, integer(0));
        return define(op, e), success();
      })
      .Case<vector::InsertOp, vector::InsertElementOp>(
          [&](Operation*) -> std::optional<LogicalResult> {
            std::string at;
            if (auto insert = dyn_cast<vector::InsertOp>(op)) {
              if (insert.getNumIndices() != 1) return unsupported(op);
              OpFoldResult p = insert.getMixedPosition()[0];
              auto c = getConstantIntValue(p);
              at = c ? std::to_string(*c) : text(cast<Value>(p));
            } else
              at = text(cast<vector::InsertElementOp>(op).getPosition());
            if (vt.getElementType().isInteger(1)) return unsupported(op, "a lane of a mask");
            std::string name = freshName(op->getResult(0), "lanes");
            w.line(varDecl(vt, name, vectorOperand(op->getOperand(1), false).text));
            w.line(name + "[" + at + "] = " + text(op->getOperand(0)) + ";");
            return bind(op->getResult(0), {name}), success();
          })
      .Case([&](vector::FromElementsOp from) -> std::optional<LogicalResult> {
        SmallVector<std::string> parts;
        for (Value v : from.getElements())
          parts.push_back(text(v));
        return define(op, {typeName(vt) + "{" + llvm::join(parts, ", ") + "}"}), success();
      })
      .Case([&](vector::ShuffleOp shuffle) -> std::optional<LogicalResult> {
        std::string args = vectorOperand(shuffle.getV1(), false).text + ", " +
                           vectorOperand(shuffle.getV2(), false).text;
        for (Attribute a : shuffle.getMask())
          args += ", " + std::to_string(cast<IntegerAttr>(a).getInt());
        return define(op, {"__builtin_shufflevector(" + args + ")"}), success();
      })
      .Case<vector::ShapeCastOp, vector::BitCastOp>(
          [&](Operation*) -> std::optional<LogicalResult> {
            if (op->getOperand(0).getType() == result)
              return forward(op, expr(op->getOperand(0))), success();
            if (isa<vector::ShapeCastOp>(op)) return unsupported(op);
            return define(op, call("bits_as<" + typeName(vt) + ">",
                                   {vectorOperand(op->getOperand(0), false).text})),
                   success();
          })
      .Case(
          [&](vector::ReductionOp r) -> std::optional<LogicalResult> { return printReduction(r); })
      .Default([&](Operation*) -> std::optional<LogicalResult> {
        if (!vt) return std::nullopt;
        if (auto c = dyn_cast<arith::ConstantOp>(op)) {
          auto dense = dyn_cast<DenseElementsAttr>(c.getValue());
          if (!dense) return unsupported(op);
          auto lane = [&](Attribute a) {
            if (auto f = dyn_cast<FloatAttr>(a))
              return floatLiteral(cast<FloatType>(f.getType()), f.getValue());
            return integerLiteral(vt.getElementType(), cast<IntegerAttr>(a).getValue());
          };
          if (dense.isSplat()) {
            bind(c, splat(vt, lane(dense.getSplatValue<Attribute>())));
            return success();
          }
          SmallVector<std::string> parts;
          for (Attribute a : dense.getValues<Attribute>())
            parts.push_back(vt.getElementType().isInteger(1)
                                ? (cast<BoolAttr>(a).getValue() ? "-1" : "0")
                                : lane(a).text);
          Expr e = {typeName(vt) + "{" + llvm::join(parts, ", ") + "}"};
          std::string name = names.fresh("table");
          w.line(constDecl(vt, name, e.text));
          return bind(c, {name}), success();
        }
        if (const OpRow* row = findOpRow(op->getName().getStringRef())) {
          if (language.spelling(*row).empty()) return unsupported(op);
          return define(op, vectorTableOp(op, *row)), success();
        }
        if (auto cmp = dyn_cast<arith::CmpFOp>(op)) {
          using P = arith::CmpFPredicate;
          bool both = !expr(cmp.getLhs()).lane.empty() && !expr(cmp.getRhs()).lane.empty();
          Expr a = vectorOperand(cmp.getLhs(), !both), b = vectorOperand(cmp.getRhs(), true),
               av = vectorOperand(cmp.getLhs(), false), bv = vectorOperand(cmp.getRhs(), false);
          auto no = [](Expr e) { return unary("~", e); };
          Expr e;
          switch (cmp.getPredicate()) {
          case P::OEQ: e = binary("==", a, b); break;
          case P::OGT: e = binary(">", a, b); break;
          case P::OGE: e = binary(">=", a, b); break;
          case P::OLT: e = binary("<", a, b); break;
          case P::OLE: e = binary("<=", a, b); break;
          case P::UNE: e = binary("!=", a, b); break;
          case P::UGT: e = no(binary("<=", a, b)); break;
          case P::UGE: e = no(binary("<", a, b)); break;
          case P::ULT: e = no(binary(">=", a, b)); break;
          case P::ULE: e = no(binary(">", a, b)); break;
          case P::ONE: e = binary("|", binary("<", a, b), binary(">", a, b)); break;
          case P::UEQ: e = no(binary("|", binary("<", a, b), binary(">", a, b))); break;
          case P::ORD:
            e = cmp.getLhs() == cmp.getRhs()
                    ? binary("==", av, av)
                    : binary("&", binary("==", av, av), binary("==", bv, bv));
            break;
          case P::UNO:
            e = cmp.getLhs() == cmp.getRhs()
                    ? binary("!=", av, av)
                    : binary("|", binary("!=", av, av), binary("!=", bv, bv));
            break;
          default: return unsupported(op, "a comparison that is constant");
          }
          return define(op, e), success();
        }
        if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
          static const char* const spelling[] = {"==", "!=", "<",  "<=", ">",
                                                 ">=", "<",  "<=", ">",  ">="};
          auto p = static_cast<unsigned>(cmp.getPredicate());
          Type type = cmp.getLhs().getType();
          if (elementOf(type).isInteger(1)) {
            unsigned bits = maskBits(cmp.getLhs());
            if (p > 1) return unsupported(op, "an order of masks");
            Expr x = binary("^", maskOf(cmp.getLhs(), bits), maskOf(cmp.getRhs(), bits));
            return define(op, p == 1 ? x : unary("~", x)), success();
          }
          Expr a = vectorOperand(cmp.getLhs(), false), b = vectorOperand(cmp.getRhs(), p < 6);
          if (p >= 6) {
            std::string u = "bits_as<uint_of<" + typeName(type) + ">>";
            a = call(u, {a.text}), b = call(u, {b.text});
          }
          return define(op, binary(spelling[p], a, b)), success();
        }
        if (auto select = dyn_cast<arith::SelectOp>(op)) {
          Expr yes = vectorOperand(select.getTrueValue(), false),
               no = vectorOperand(select.getFalseValue(), false);
          if (vt.getElementType().isInteger(1)) {
            unsigned bits = maskBits(select);
            yes = maskOf(select.getTrueValue(), bits), no = maskOf(select.getFalseValue(), bits);
            if (isa<VectorType>(select.getCondition().getType()))
              return define(op, call("select", {maskOf(select.getCondition(), bits).text, yes.text,
                                                no.text})),
                     success();
            return define(op, conditional(expr(select.getCondition()), yes, no)), success();
          }
          if (!isa<VectorType>(select.getCondition().getType()))
            return define(op, conditional(expr(select.getCondition()), yes, no)), success();
          headers.insert("rt/simd.h");
          unsigned bits = vt.getElementType().isIndex() ? 64 : vt.getElementTypeBitWidth();
          return define(op, call("select",
                                 {maskOf(select.getCondition(), bits).text, yes.text, no.text})),
                 success();
        }
        if (isa<CastOpInterface>(op) && op->getNumOperands() == 1) {
          Expr e = vectorCast(op);
          if (e.text.empty()) return unsupported(op);
          return define(op, e), success();
        }
        if (op->getNumOperands() == 2 && op->getNumRegions() == 0 &&
            op->getDialect()->getNamespace() == "arith") {
          Expr e = vectorIntegerOp(op);
          if (e.text.empty()) return unsupported(op);
          return define(op, e), success();
        }
        return std::nullopt;
      });
}

} // namespace ortc::codegen::cxx
