// SPDX-License-Identifier: Apache-2.0
// Tensors that come from attributes, sizes or ranges: Constant, ConstantOfShape, Range, EyeLike,
// Trilu.
#include "compiler/onnx/families/Common.h"
#include "compiler/support/NumberFormats.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace ortc::opdef {

static Tensor dense(NodeBuilder& n, const onnx::SparseTensor& sparse) {
  Tensor values = n.constant(sparse.values);
  HostTensor from = *n.constantTensor(values);
  SmallVector<int64_t> dims(sparse.dims.begin(), sparse.dims.end());
  HostTensor r(from.elementType, dims);
  if (!r.data) n.error("a sparse constant must hold numbers");
  auto* index = reinterpret_cast<const char*>(sparse.indices.bytes.data());
  auto at = [&](int64_t i) {
    int64_t v;
    std::memcpy(&v, index + 8 * i, 8);
    return v;
  };
  bool flat = sparse.indices.dims.size() == 1;
  int64_t rank = r.rank(), width = storageBytes(r.elementType);
  for (int64_t i = 0; i < from.size(); ++i) {
    int64_t place = 0;
    if (flat)
      place = at(i);
    else
      for (int64_t d = 0; d < rank; ++d)
        place = place * dims[d] + at(i * rank + d);
    if (place < 0 || place >= r.size()) n.error("index {} of a sparse constant is out of range", i);
    std::memcpy(r.data.get() + place * width, from.data.get() + i * width, width);
  }
  return n.constant(r, sparse.values.dtype);
}

ORTC_ONNX_OP("Constant", since(1, 9, 11, 12, 13, 19, 21, 23, 24, 25)) {
  auto floats = [&](ArrayRef<float> values, ArrayRef<int64_t> dims) {
    HostTensor t(n.b.getF32Type(), dims);
    for (auto [i, v] : llvm::enumerate(values))
      t.setDouble(i, v);
    return n.constant(t, DType::F32);
  };
  auto ints = [&](ArrayRef<int64_t> values, ArrayRef<int64_t> dims) {
    HostTensor t(n.b.getI64Type(), dims);
    for (auto [i, v] : llvm::enumerate(values))
      t.setInt(i, v);
    return n.constant(t, DType::I64);
  };
  auto strings = [&](std::vector<std::string> values, ArrayRef<int64_t> dims) {
    HostTensor t(n.typeOf(DType::String), dims);
    *t.strings = std::move(values);
    return n.constant(t, DType::String);
  };
  if (n.hasAttr("value")) return n.output(0, n.constant(n.tensorAttr("value")));
  if (const Attribute* a = n.node.attribute("sparse_value");
      a && a->type == AttributeType::SparseTensor)
    return n.output(0, dense(n, a->sparseTensors.at(0)));
  if (n.hasAttr("value_int")) return n.output(0, ints(n.intAttr("value_int"), {}));
  if (n.hasAttr("value_float"))
    return n.output(0, floats(static_cast<float>(n.floatAttr("value_float")), {}));
  if (n.hasAttr("value_string")) return n.output(0, strings({n.stringAttr("value_string")}, {}));
  if (n.hasAttr("value_ints")) {
    auto v = n.intsAttr("value_ints");
    return n.output(0, ints(v, static_cast<int64_t>(v.size())));
  }
  if (n.hasAttr("value_floats")) {
    auto v = n.floatsAttr("value_floats");
    return n.output(0, floats(v, static_cast<int64_t>(v.size())));
  }
  if (n.hasAttr("value_strings")) {
    auto v = n.stringsAttr("value_strings");
    int64_t count = v.size();
    return n.output(0, strings(std::move(v), count));
  }
  n.error("has no value");
}

ORTC_ONNX_OP("ConstantOfShape", since(9, 20, 21, 23, 24, 25)) {
  std::vector<Size> shape = n.asSizes(n.input(0, "input", indexInteger), "input");
  for (Size s : shape)
    if (s.constant() && *s.constant() < 0) n.error("a size is {}", *s.constant());
  Tensor value;
  if (n.hasAttr("value")) {
    value = n.constant(n.tensorAttr("value"));
    if (n.tensorAttr("value").elementCount() != 1) n.error("'value' must have one element");
    value = n.reshape(value, {});
  } else
    value = n.scalarOf(0, DType::F32);
  n.output(0, n.broadcastTo(value, shape));
}

/// The one element of a scalar (or [1]) input as a scalar outside of any body: read back at run
/// time when not known.
static Scalar elementOf(NodeBuilder& n, Tensor t, StringRef name) {
  for (int64_t d = 0; d < t.rank(); ++d)
    if (!n.size(t, d).is(1)) n.error("input '{}' must be a scalar", name.str());
  SmallVector<Scalar> at(t.rank(), n.index(0));
  return n.at(t, at);
}

static void range(NodeBuilder& n, Tensor start, Tensor limit, Tensor delta) {
  if (start.dtype != limit.dtype || start.dtype != delta.dtype)
    n.error("'start', 'limit' and 'delta' must be of one type");
  DType type = start.dtype;
  if (isInteger(type)) {
    auto one = [&](Tensor t, StringRef name) {
      std::vector<Size> v = n.asSizes(t, name);
      if (v.size() != 1) n.error("input '{}' must be a scalar", name.str());
      return v[0];
    };
    Size from = one(start, "start"), to = one(limit, "limit"), step = one(delta, "delta");
    if (step.is(0)) n.error("'delta' is 0");
    Size divisor = step;
    if (!step.constant()) divisor = selectSize(n, equal(n.index(step), 0.0), n.size(1), step);
    Size count = nonNegative(ceilDiv(to - from, divisor));
    if (from.constant() && step.constant() && count.constant() && *count.constant() <= 1024) {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < *count.constant(); ++i)
        values.push_back(*from.constant() + i * *step.constant());
      return n.output(0, n.ints(values, type));
    }
    Scalar first = n.fromIndex(n.index(from), type), by = n.fromIndex(n.index(step), type);
    return n.output(0, n.generate(count, type, [&](ArrayRef<Scalar> i) {
      return first + n.fromIndex(i[0], type) * by;
    }));
  }
  DType wide = wideType(type);
  auto s = n.constantTensor(start), l = n.constantTensor(limit), d = n.constantTensor(delta);
  Size count = n.size(0);
  Scalar first, by;
  if (s && l && d && s->size() == 1 && l->size() == 1 && d->size() == 1) {
    double step = d->getDouble(0);
    if (step == 0) n.error("'delta' is 0");
    // the quotient is rounded as the element type does
    double q = (l->getDouble(0) - s->getDouble(0)) / step;
    if (wide == DType::F32)
      q = (static_cast<float>(l->getDouble(0)) - static_cast<float>(s->getDouble(0))) /
          static_cast<float>(step);
    q = std::ceil(q);
    if (!(q <= 1e12)) n.error("the range has {} elements", q);
    count = n.size(q > 0 ? static_cast<int64_t>(q) : 0);
    first = n.literal(s->getDouble(0), n.typeOf(wide)), by = n.literal(step, n.typeOf(wide));
  } else {
    first = n.cast(elementOf(n, start, "start"), wide),
    by = n.cast(elementOf(n, delta, "delta"), wide);
    Scalar q = ceil((n.cast(elementOf(n, limit, "limit"), wide) - first) / by);
    count = n.size(OpFoldResult(n.toIndex(n.cast(max(q, 0.0), DType::I64)).v));
  }
  n.output(0, n.generate(count, type, [&](ArrayRef<Scalar> i) {
    return n.cast(first + n.fromIndex(i[0], wide) * by, type);
  }));
}
ORTC_ONNX_OP("Range", since(11, 27)) {
  Tensor start = n.input(0, "start", numeric), limit = n.input(1, "limit", numeric);
  range(n, start, limit, n.input(2, "delta", numeric));
}
// Each may be a list of one element, too, and without 'delta' it is 1.
ORTC_ONNX_OP_IN("com.microsoft", "Range", since(1)) {
  Tensor start = n.input(0, "start", numeric), limit = n.input(1, "limit", numeric),
         delta = n.optionalInput(2, "delta", numeric);
  if (!delta) delta = n.scalarOf(1.0, start.dtype);
  auto scalar = [&](Tensor t, StringRef name) {
    if (t.rank() > 1) n.error("'{}' is {}; expected a scalar", name.str(), n.typeText(t));
    return n.reshape(t, {});
  };
  range(n, scalar(start, "start"), scalar(limit, "limit"), scalar(delta, "delta"));
}

ORTC_ONNX_OP("EyeLike", since(9, 22)) {
  Tensor x = n.input(0, "input");
  if (x.rank() != 2) n.error("the input has rank {}; expected 2", x.rank());
  DType type = x.dtype;
  if (n.hasAttr("dtype")) {
    auto t = dtypeFromOnnx(n.intAttr("dtype"));
    if (!t || isComplex(*t) || *t == DType::String)
      n.error("'dtype' is {}, which is no numeric type", n.intAttr("dtype"));
    type = *t;
  }
  int64_t k = n.intAttr("k", 0);
  n.output(0, n.generate(n.sizes(x), type, [&](ArrayRef<Scalar> i) {
    return n.cast(equal(i[1] - i[0], static_cast<double>(k)), type);
  }));
}

static void trilu(NodeBuilder& n) {
  Tensor x = n.input(0, "input", plainType);
  if (x.rank() < 2) n.error("the input has rank {}; expected at least 2", x.rank());
  bool upper = n.flagAttr("upper", true);
  Size k = n.size(0);
  if (Tensor t = n.optionalInput(1, "k", indexInteger)) {
    std::vector<Size> v = n.asSizes(t, "k");
    if (v.size() != 1) n.error("input 'k' must be a scalar");
    k = v[0];
  }
  n.output(0, n.map(x, [&](Scalar v) {
    Scalar distance = loopIndex(n, x.rank() - 1) - loopIndex(n, x.rank() - 2);
    Scalar kept = upper ? distance >= n.index(k) : distance <= n.index(k);
    return select(kept, v, 0.0);
  }));
}
ORTC_ONNX_OP("Trilu", since(14)) {
  trilu(n);
}
ORTC_ONNX_OP_IN("com.microsoft", "Trilu", since(1)) {
  trilu(n);
}

} // namespace ortc::opdef
