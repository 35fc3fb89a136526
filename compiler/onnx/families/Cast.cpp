// SPDX-License-Identifier: Apache-2.0
// Changes of the element type: Cast, CastLike, and what they mean for 8-bit floats and strings.
#include "compiler/onnx/families/Common.h"
#include <cmath>

namespace ortc::opdef {

/// Largest finite number of the 8-bit floats.
static double largest(DType t) {
  switch (t) {
  case DType::F8E4M3FN: return 448;
  case DType::F8E4M3FNUZ: return 240;
  default: return 57344; // e5m2 and e5m2fnuz
  }
}
static bool isF8(DType t) {
  return t == DType::F8E4M3FN || t == DType::F8E4M3FNUZ || t == DType::F8E5M2 ||
         t == DType::F8E5M2FNUZ;
}

/// A number in text as ONNX writes it: plain digits, or INF, -INF and NaN in any case.
static std::optional<double> parseNumber(std::string text) {
  std::string lower = llvm::StringRef(text).trim().lower();
  if (lower == "inf" || lower == "+inf") return INFINITY;
  if (lower == "-inf") return -INFINITY;
  if (lower == "nan") return NAN;
  double v;
  if (llvm::StringRef(lower).getAsDouble(v)) return std::nullopt;
  return v;
}

static Tensor constantFromStrings(NodeBuilder& n, const HostTensor& from, DType to) {
  HostTensor r(n.typeOf(to), from.dims);
  for (auto [i, text] : llvm::enumerate(*from.strings)) {
    int64_t whole;
    if (isInteger(to) && !llvm::StringRef(text).trim().getAsInteger(10, whole)) {
      r.setInt(i, whole);
      continue;
    }
    auto v = parseNumber(text);
    if (!v) n.error("element {} is \"{}\", which is no number", i, text.substr(0, 40));
    if (to == DType::Bool)
      r.setInt(i, *v != 0);
    else if (isInteger(to))
      r.setInt(i, static_cast<int64_t>(*v));
    else
      r.setDouble(i, *v);
  }
  return n.constant(r, to);
}

static Tensor constantToStrings(NodeBuilder& n, const HostTensor& from, DType dtype) {
  HostTensor r(n.typeOf(DType::String), from.dims);
  for (int64_t i = 0; i < from.size(); ++i) {
    std::string& text = (*r.strings)[i];
    if (dtype == DType::Bool)
      text = from.getInt(i, true) ? "True" : "False";
    else if (isInteger(dtype))
      text = isSignedInteger(dtype)
                 ? fmt::format("{}", from.getInt(i))
                 : fmt::format("{}", static_cast<uint64_t>(from.getInt(i, true)));
    else {
      double v = from.getDouble(i);
      if (std::isnan(v))
        text = "NaN";
      else if (std::isinf(v))
        text = v < 0 ? "-INF" : "INF";
      else
        text = dtype == DType::F64 ? fmt::format("{:.17g}", v) : fmt::format("{:.8g}", v);
    }
  }
  return n.constant(r, DType::String);
}

static Tensor convert(NodeBuilder& n, Tensor x, DType to) {
  if (x.dtype == to) return x;
  if (isComplex(x.dtype) || isComplex(to)) n.error("complex numbers cannot be cast");
  if (x.dtype == DType::String || to == DType::String) {
    auto c = n.constantTensor(x);
    if (!c) n.error("casting between strings and numbers is only supported for constants");
    return to == DType::String ? constantToStrings(n, *c, x.dtype) : constantFromStrings(n, *c, to);
  }
  if (to == DType::F8E8M0) {
    std::string mode = n.stringAttr("round_mode", "up");
    if (mode != "up" && mode != "down" && mode != "nearest")
      n.error("'round_mode' is '{}'; expected up, down or nearest", mode);
    using R = NodeBuilder::Rounding;
    R rounding = mode == "up" ? R::Up : mode == "down" ? R::Down : R::Nearest;
    bool saturate = n.flagAttr("saturate", true);
    Tensor wide = n.castTo(x, DType::F32);
    return n.map(wide, to, [&](Scalar v) { return n.encoded(v, to, saturate, rounding); });
  }
  if (NodeBuilder::isCoded(x.dtype)) x = n.castTo(x, DType::F32);
  if (x.dtype == to) return x;
  // Integers of 4 and 2 bits keep the low bits of the integer part.
  if (isFloat(x.dtype) && isInteger(to) && bitWidth(to) < 8)
    return n.map(x, to, [&](Scalar v) { return n.cast(n.cast(v, DType::I32), to); });
  // Numbers beyond the range of an 8-bit float become its largest number, or (saturate = 0) NaN or
  // infinity.
  bool saturate = n.flagAttr("saturate", true);
  if (!isF8(to) || !saturate) return n.castTo(x, to);
  double limit = largest(to);
  return n.map(x, to, [&](Scalar v) {
    Scalar wide = isFloat(x.dtype) && bitWidth(x.dtype) > 8 ? v : n.cast(v, DType::F32);
    return n.cast(clamp(wide, -limit, limit), to);
  });
}

ORTC_ONNX_OP("Cast", since(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)) {
  Tensor x = n.input(0, "input");
  std::optional<DType> to;
  if (n.opset < 6) { // by name
    std::string name = n.stringAttr("to");
    static const std::pair<const char*, DType> names[] = {
        {"FLOAT", DType::F32},   {"UINT8", DType::U8},      {"INT8", DType::I8},
        {"UINT16", DType::U16},  {"INT16", DType::I16},     {"INT32", DType::I32},
        {"INT64", DType::I64},   {"STRING", DType::String}, {"BOOL", DType::Bool},
        {"FLOAT16", DType::F16}, {"DOUBLE", DType::F64},    {"UINT32", DType::U32},
        {"UINT64", DType::U64}};
    for (auto [text, t] : names)
      if (llvm::StringRef(name).upper() == text) to = t;
    if (!to) n.error("'to' is '{}', which is no element type", name);
  } else {
    to = dtypeFromOnnx(n.intAttr("to"));
    if (!to) n.error("'to' is {}, which is no element type", n.intAttr("to"));
  }
  n.output(0, convert(n, x, *to));
}

ORTC_ONNX_OP("CastLike", since(15, 19, 21, 23, 24, 25)) {
  n.output(0, convert(n, n.input(0, "input"), n.input(1, "target_type").dtype));
}

// The same bits as another type of the same width.
ORTC_ONNX_OP("BitCast", since(26)) {
  Tensor x = n.input(0, "input", plainType);
  auto to = dtypeFromOnnx(n.intAttr("to"));
  if (!to || !plainType.has(*to)) n.error("'to' is {}, which is no such type", n.intAttr("to"));
  auto width = [](DType t) { return t == DType::Bool ? 8u : bitWidth(t); };
  if (width(x.dtype) != width(*to))
    n.error("'to' is {} and the input {}; their widths differ", dtypeName(*to), dtypeName(x.dtype));
  auto plain = [](DType t) { return isInteger(t) || t == DType::Bool; };
  if (plain(x.dtype) && plain(*to)) return n.output(0, n.castTo(x, *to));
  mlir::Type type = n.typeOf(*to);
  DType bits = width(*to) == 8 ? DType::U8 : *to;
  if (x.dtype == DType::Bool) x = n.castTo(x, bits);
  bool toBool = *to == DType::Bool;
  n.output(0, n.map(x, *to, [&](Scalar v) -> Scalar {
    mlir::Type same = toBool ? n.typeOf(DType::U8) : type;
    Scalar r{&n, n.b.create<mlir::arith::BitcastOp>(n.loc, same, v.v),
             isInteger(*to) && !isSignedInteger(*to)};
    return toBool ? notEqual(r, 0.0) : r;
  }));
}

} // namespace ortc::opdef
