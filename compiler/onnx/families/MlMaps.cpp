// SPDX-License-Identifier: Apache-2.0
// Maps between labels, numbers and columns. Lists of maps and the search for strings are steps of
// the host.
#include "compiler/onnx/families/Ml.h"
#include "compiler/onnx/families/Strings.h"

using namespace mlir;

namespace ortc::opdef {

// Scores [N, K] to a list of N maps from label to score.
ORTC_ONNX_OP_IN("ai.onnx.ml", "ZipMap", since(1)) {
  Tensor x = n.input(0, "X", oneOf({DType::F32}));
  if (x.rank() == 1) x = n.reshape(x, {n.size(1), n.size(x, 0)});
  if (x.rank() != 2) n.error("the input has rank {}; expected 2", x.rank());
  auto ints = n.intsAttr("classlabels_int64s", std::vector<int64_t>{});
  auto strings = n.stringsAttr("classlabels_strings", std::vector<std::string>{});
  if (ints.empty() == strings.empty())
    n.error("needs either 'classlabels_int64s' or 'classlabels_strings'");
  int64_t count = ints.empty() ? strings.size() : ints.size();
  if (n.size(x, 1).constant() && !n.size(x, 1).is(count))
    n.error("there are {} labels for {} columns", count, *n.size(x, 1).constant());
  Type key = n.typeOf(ints.empty() ? DType::String : DType::I64);
  SmallVector<StringRef> texts(strings.begin(), strings.end());
  mlir::Attribute keys = ints.empty() ? mlir::Attribute(n.b.getStrArrayAttr(texts))
                                      : mlir::Attribute(n.b.getDenseI64ArrayAttr(ints));
  Type list =
      ListType::get(n.b.getContext(), MapType::get(n.b.getContext(), key, n.b.getF32Type()));
  auto op = n.b.create<HostStepOp>(n.loc, TypeRange{list}, n.b.getStringAttr("zip_map"),
                                   ValueRange{x.value},
                                   n.b.getDictionaryAttr(n.b.getNamedAttr("keys", keys)));
  n.output(0, {op.getResult(0), DType::F32});
}

/// Where each number stands in `keys`, or -1: a search in the list.
static Tensor numberIndex(NodeBuilder& n, Tensor x, Tensor keys) {
  return n.generateReduce(
      n.sizes(x), n.size(keys, 0), DType::I64, -1, [&](ArrayRef<Scalar> i, Scalar carried) {
        Scalar v = n.at(x, i.drop_back()), k = n.at(keys, i.back());
        Scalar hit = equal(v, k);
        if (isFloat(x.dtype)) hit = bitOr(hit, bitAnd(isNaN(v), isNaN(k)));
        return select(bitAnd(hit, carried < 0.0), n.fromIndex(i.back(), DType::I64), carried);
      });
}

namespace {
/// A list of keys or values, of one of the types that attributes have.
struct Entries {
  Tensor table; ///< [count]
  std::vector<std::string> strings;
  int64_t count = 0;
};
} // namespace

static std::optional<Entries> entries(NodeBuilder& n, StringRef prefix) {
  Entries e;
  std::string p = prefix.str();
  if (n.hasAttr(p + "_tensor")) {
    e.table = n.constant(n.tensorAttr(p + "_tensor"));
    auto t = n.constantTensor(e.table);
    e.count = t->size();
    if (t->strings) e.strings = *t->strings;
    if (e.table.rank() != 1) e.table = n.reshape(e.table, n.size(e.count));
  } else if (n.hasAttr(p + "_strings")) {
    e.strings = n.stringsAttr(p + "_strings");
    e.count = e.strings.size();
    HostTensor t(n.typeOf(DType::String), {e.count});
    *t.strings = e.strings;
    e.table = n.constant(t, DType::String);
  } else if (n.hasAttr(p + "_int64s")) {
    auto v = n.intsAttr(p + "_int64s");
    e.count = v.size();
    e.table = n.ints(v);
  } else if (n.hasAttr(p + "_floats")) {
    auto v = n.floatsAttr(p + "_floats");
    e.count = v.size();
    e.table = floats(n, doubles(v), {e.count});
  } else
    return std::nullopt;
  return e;
}

static Tensor indexOf(NodeBuilder& n, Tensor x, const Entries& keys) {
  if ((x.dtype == DType::String) != (keys.table.dtype == DType::String))
    n.error("the input is {}, and the keys are {}", dtypeName(x.dtype),
            dtypeName(keys.table.dtype));
  if (x.dtype == DType::String) return stringIndex(n, x, keys.strings);
  return numberIndex(n, x, n.castTo(keys.table, x.dtype));
}
/// values[index], or `otherwise` (a constant of rank 0) for -1.
static Tensor valueAt(NodeBuilder& n, Tensor index, const Entries& values, Tensor otherwise) {
  if (values.table.dtype == DType::String) {
    // One table whose last element is the default: a choice between strings would be one between
    // constants, which scalars of this type cannot be.
    HostTensor t(n.typeOf(DType::String), {values.count + 1});
    std::copy(values.strings.begin(), values.strings.end(), t.strings->begin());
    t.strings->back() = n.constantTensor(otherwise)->strings->front();
    Tensor table = n.constant(t, DType::String);
    Size extent = n.size(values.count);
    return n.generate(n.sizes(index), DType::String, [&](ArrayRef<Scalar> i) {
      Scalar at = n.toIndex(n.at(index, i));
      return n.at(table, select(at >= 0.0, min(at, n.index(extent)), n.index(extent)));
    });
  }
  if (values.count == 0) return n.broadcastTo(otherwise, n.sizes(index));
  return n.generate(n.sizes(index), values.table.dtype, [&](ArrayRef<Scalar> i) {
    Scalar at = n.at(index, i);
    return select(at >= 0.0, n.at(values.table, safeIndex(n, max(at, 0.0), n.size(values.count))),
                  n.at(otherwise, {}));
  });
}
static Tensor stringConstant(NodeBuilder& n, std::string text) {
  HostTensor t(n.typeOf(DType::String), {});
  (*t.strings)[0] = std::move(text);
  return n.constant(t, DType::String);
}
/// What keys that are not found become.
static Tensor defaultOf(NodeBuilder& n, DType type) {
  if (n.hasAttr("default_tensor")) {
    Tensor t = n.constant(n.tensorAttr("default_tensor"));
    if (t.dtype != type)
      n.error("'default_tensor' is {}, and the values are {}", dtypeName(t.dtype), dtypeName(type));
    return n.reshape(t, {});
  }
  if (type == DType::String) return stringConstant(n, n.stringAttr("default_string", "_Unused"));
  if (isFloat(type))
    return n.castTo(n.scalarOf(n.floatAttr("default_float", -0.0), DType::F32), type);
  return n.scalarOf(static_cast<double>(n.intAttr("default_int64", -1)), type);
}

// Version 1 maps between strings and their places in one list.
ORTC_ONNX_OP_IN("ai.onnx.ml", "LabelEncoder", since(1, 2, 4)) {
  Tensor x = n.input(0, "X");
  if (n.opset < 2) {
    Entries classes;
    classes.strings = n.stringsAttr("classes_strings", std::vector<std::string>{});
    classes.count = classes.strings.size();
    HostTensor t(n.typeOf(DType::String), {classes.count});
    *t.strings = classes.strings;
    classes.table = n.constant(t, DType::String);
    if (x.dtype == DType::String) {
      double otherwise = static_cast<double>(n.intAttr("default_int64", -1));
      return n.output(0, n.map(stringIndex(n, x, classes.strings),
                               [&](Scalar v) { return select(v >= 0.0, v, otherwise); }));
    }
    Size count = n.size(classes.count);
    Tensor index = n.map(x, DType::I64, [&](Scalar v) {
      return select(bitAnd(v >= 0.0, n.toIndex(v) < n.index(count)), n.cast(v, DType::I64), -1.0);
    });
    return n.output(0, valueAt(n, index, classes,
                               stringConstant(n, n.stringAttr("default_string", "_Unused"))));
  }
  auto keys = entries(n, "keys"), values = entries(n, "values");
  if (!keys || !values) n.error("has no keys, or no values");
  if (keys->count != values->count)
    n.error("there are {} keys and {} values", keys->count, values->count);
  n.output(0, valueAt(n, indexOf(n, x, *keys), *values, defaultOf(n, values->table.dtype)));
}

// Between strings and integers, both ways.
ORTC_ONNX_OP_IN("ai.onnx.ml", "CategoryMapper", since(1)) {
  Tensor x = n.input(0, "X", oneOf({DType::String, DType::I64}));
  auto strings = entries(n, "cats"), ints = entries(n, "cats");
  if (!n.hasAttr("cats_strings") || !n.hasAttr("cats_int64s"))
    n.error("needs 'cats_strings' and 'cats_int64s'");
  auto v = n.intsAttr("cats_int64s");
  ints->strings.clear(), ints->table = n.ints(v), ints->count = v.size();
  if (strings->count != ints->count)
    n.error("there are {} strings and {} integers", strings->count, ints->count);
  bool fromString = x.dtype == DType::String;
  n.output(0,
           valueAt(n, indexOf(n, x, fromString ? *strings : *ints), fromString ? *ints : *strings,
                   defaultOf(n, fromString ? DType::I64 : DType::String)));
}

// One column per category, after the input's dims; zeros for what is none (or, without 'zeros',
// undefined: zeros, too).
ORTC_ONNX_OP_IN("ai.onnx.ml", "OneHotEncoder", since(1)) {
  Tensor x = n.input(0, "X");
  auto cats = entries(n, "cats");
  if (!cats || cats->count == 0) n.error("has no categories");
  if (x.dtype != DType::String) x = n.castTo(x, DType::I64);
  Tensor index = indexOf(n, x, *cats);
  std::vector<Size> shape = n.sizes(index);
  shape.push_back(n.size(cats->count));
  n.output(0, n.generate(shape, DType::F32, [&](ArrayRef<Scalar> i) {
    return n.cast(equal(n.at(index, i.drop_back()), n.fromIndex(i.back(), DType::I64)), DType::F32);
  }));
}

} // namespace ortc::opdef
