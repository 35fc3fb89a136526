// SPDX-License-Identifier: Apache-2.0
// What several families of op definitions share (Common.h).
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

static constexpr uint64_t bitOf(DType t) {
  return uint64_t(1) << static_cast<unsigned>(t);
}
const TypeSet plainType{~(bitOf(DType::String) | bitOf(DType::C64) | bitOf(DType::C128) |
                          bitOf(DType::F4E2M1) | bitOf(DType::F8E8M0)),
                        "a numeric type or bool"};

DType wideType(DType t) {
  return t == DType::F16 || t == DType::BF16 ? DType::F32 : t;
}
Tensor widened(NodeBuilder& n, Tensor x) {
  return n.castTo(x, wideType(x.dtype));
}
Tensor throughWide(NodeBuilder& n, Tensor x, llvm::function_ref<Tensor(Tensor)> body) {
  return n.castTo(body(widened(n, x)), x.dtype);
}

Scalar safeIndex(NodeBuilder& n, Scalar i, Size extent) {
  Scalar index = n.toIndex(i), size = n.index(extent);
  if (!i.isUnsigned) index = select(index < 0.0, index + size, index);
  return max(min(index, size - 1.0), 0.0);
}

void requireTuples(NodeBuilder& n, Tensor indices, ArrayRef<Size> extents, StringRef name) {
  if (llvm::all_of(extents, [&](Size s) { return same(s, extents[0]); }))
    return n.requireIndices(indices, extents[0], name);
  std::vector<Size> from(indices.rank(), n.size(0)), column = n.sizes(indices);
  column.back() = n.size(1);
  for (auto [d, extent] : llvm::enumerate(extents)) {
    from.back() = n.size(static_cast<int64_t>(d));
    n.requireIndices(n.slice(indices, from, column), extent, name);
  }
}

Tensor alignedForOldBroadcast(NodeBuilder& n, Tensor x, Tensor y) {
  if (n.opset >= 7) return y;
  if (!n.flagAttr("broadcast", false)) {
    if (x.rank() != y.rank())
      n.error("operands have ranks {} and {}, and 'broadcast' is not set", x.rank(), y.rank());
    return y;
  }
  if (!n.hasAttr("axis")) return y;
  int64_t axis = n.axis(n.intAttr("axis"), x.rank());
  if (axis + y.rank() > x.rank())
    n.error("an operand of rank {} does not fit at 'axis' {} of one of rank {}", y.rank(), axis,
            x.rank());
  std::vector<Size> shape = n.sizes(y);
  while (axis + static_cast<int64_t>(shape.size()) < x.rank())
    shape.push_back(n.size(1));
  return n.reshape(y, shape);
}

Size nonNegative(Size s) {
  if (indexRange(s.v).first >= 0) return s;
  return max(s, s.n->size(0));
}
Size atMost(Size s, Size limit) {
  if (indexRange(s.v).first >= indexRange(limit.v).second) return limit;
  if (indexRange(s.v).second <= indexRange(limit.v).first) return s;
  // A constant beyond any size that memory can hold is how "to the end" is written.
  if (s.constant() && *s.constant() >= INT32_MAX) return limit;
  return min(s, limit);
}
Size selectSize(NodeBuilder& n, Scalar condition, Size x, Size y) {
  if (auto c = getConstantIntValue(condition.v)) return *c ? x : y;
  return {&n, select(condition, n.index(x), n.index(y)).v};
}

/// Splits a product into a constant and symbolic factors.
static void collectFactors(Size s, int64_t& constant, SmallVectorImpl<Value>& symbols) {
  if (auto c = s.constant()) {
    constant *= *c;
    return;
  }
  Value v = cast<Value>(s.v);
  constexpr size_t kMost = 64; // of squares of squares there would be any number
  if (auto mul = v.getDefiningOp<arith::MulIOp>(); mul && symbols.size() < kMost) {
    collectFactors({s.n, mul.getLhs()}, constant, symbols);
    collectFactors({s.n, mul.getRhs()}, constant, symbols);
    return;
  }
  symbols.push_back(v);
}

Size product(NodeBuilder& n, ArrayRef<Size> factors) {
  Size r = n.size(1);
  for (Size f : factors)
    r = r * f;
  return r;
}

Size exactQuotient(NodeBuilder& n, ArrayRef<Size> numerator, ArrayRef<Size> denominator) {
  int64_t top = 1, bottom = 1;
  SmallVector<Value> topSymbols, bottomSymbols;
  for (Size s : numerator)
    collectFactors(s, top, topSymbols);
  for (Size s : denominator)
    collectFactors(s, bottom, bottomSymbols);
  for (Value& v : bottomSymbols) {
    auto it = llvm::find_if(topSymbols, [&](Value t) { return sameSize(t, v); });
    if (it == topSymbols.end()) continue;
    topSymbols.erase(it);
    v = {};
  }
  llvm::erase_if(bottomSymbols, [](Value v) { return !v; });
  if (bottom && top % bottom == 0) top /= bottom, bottom = 1;
  Size r = n.size(top), d = n.size(bottom);
  for (Value v : topSymbols)
    r = r * n.size(v);
  for (Value v : bottomSymbols)
    d = d * n.size(v);
  if (d.is(1)) return r;
  if (d.is(0)) return n.size(0);
  // A size may be zero at run time, and then so is the numerator.
  return r / max(d, n.size(1));
}

Scalar loopIndex(NodeBuilder& n, int64_t d) {
  return {&n, n.b.create<linalg::IndexOp>(n.loc, d), false};
}

// ---- windows ----

static std::vector<int64_t> perDim(NodeBuilder& n, StringRef name, size_t count, int64_t otherwise,
                                   int64_t least) {
  std::vector<int64_t> v = n.intsAttr(name, std::vector<int64_t>(count, otherwise));
  if (v.size() != count) n.error("'{}' has {} values; expected {}", name.str(), v.size(), count);
  for (int64_t x : v)
    if (x < least || x > INT32_MAX)
      n.error("'{}' holds {}; expected {} to {}", name.str(), x, least, INT32_MAX);
  return v;
}

std::vector<WindowDim> readWindow(NodeBuilder& n, ArrayRef<Size> in, ArrayRef<int64_t> kernel) {
  size_t count = in.size();
  if (kernel.size() != count)
    n.error("'kernel_shape' has {} values for {} spatial dims", kernel.size(), count);
  for (int64_t k : kernel)
    if (k < 1 || k > INT32_MAX) n.error("'kernel_shape' holds {}; expected 1 to {}", k, INT32_MAX);
  std::vector<int64_t> strides = perDim(n, "strides", count, 1, 1),
                       dilations = perDim(n, "dilations", count, 1, 1);
  std::vector<int64_t> pads = perDim(n, "pads", 2 * count, 0, 0);
  std::string mode = n.stringAttr("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID" && !mode.empty())
    n.error("'auto_pad' is '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode);
  if (mode == "VALID") std::fill(pads.begin(), pads.end(), 0);
  bool ceil = n.flagAttr("ceil_mode", false) && mode != "VALID"; // VALID keeps whole windows only
  std::vector<WindowDim> dims(count);
  for (size_t i = 0; i < count; ++i) {
    WindowDim& d = dims[i];
    d.kernel = kernel[i], d.stride = strides[i], d.dilation = dilations[i];
    Size stride = n.size(d.stride);
    if (same) {
      d.out = ceilDiv(in[i], stride);
      // with stride 1 the sum of pads does not depend on the size
      Size total = d.stride == 1
                       ? n.size(d.extent() - 1)
                       : nonNegative((d.out - n.size(1)) * stride + n.size(d.extent()) - in[i]);
      Size half = total / n.size(2);
      d.padBegin = mode == "SAME_UPPER" ? half : total - half;
      d.padEnd = total - d.padBegin;
      d.padded = !total.is(0);
      continue;
    }
    d.padBegin = n.size(pads[i]), d.padEnd = n.size(pads[count + i]);
    Size span = in[i] + n.size(pads[i] + pads[count + i] - d.extent());
    if (span.constant() && *span.constant() < 0)
      n.error("the window does not fit: spatial dim {} is {} smaller than the window", i,
              -*span.constant());
    n.requireNonNegative(span,
                         fmt::format("the window does not fit: spatial dim {} is smaller", i));
    d.padded = pads[i] || pads[count + i];
    if (!ceil || d.stride == 1) {
      d.out = span / stride + n.size(1);
      continue;
    }
    // Rounded up, but the last window must begin inside of the input or the padding before it.
    Size up = ceilDiv(span, stride) + n.size(1);
    Size limit =
        ceilDiv(in[i] + d.padBegin, stride); // windows that begin before the end of the input
    d.out = min(up, limit);
    Size reach = (d.out - n.size(1)) * stride + n.size(d.extent()) - d.padBegin - in[i];
    d.padded |= indexRange(reach.v).second > 0;
  }
  return dims;
}

Tensor padded(NodeBuilder& n, Tensor x, ArrayRef<Size> begin, ArrayRef<Size> end, double value) {
  std::vector<Size> in = n.sizes(x), out;
  bool any = false;
  for (size_t d = 0; d < in.size(); ++d) {
    out.push_back(in[d] + begin[d] + end[d]);
    any |= !begin[d].is(0) || !end[d].is(0);
  }
  if (!any) return x;
  return n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> idx(o);
    Scalar inside;
    for (size_t d = 0; d < in.size(); ++d) {
      if (begin[d].is(0) && end[d].is(0)) continue;
      auto also = [&](Scalar c) { inside = inside.v ? bitAnd(inside, c) : c; };
      if (!begin[d].is(0)) {
        idx[d] = o[d] - n.index(begin[d]);
        also(idx[d] >= 0.0);
      }
      if (!end[d].is(0)) also(idx[d] < n.index(in[d]));
    }
    return n.atOr(x, idx, inside, value);
  });
}

// ---- reductions ----

std::vector<int64_t> axesFrom(int64_t from, int64_t rank) {
  std::vector<int64_t> r;
  for (int64_t d = from; d < rank; ++d)
    r.push_back(d);
  return r;
}

RuntimeAxes runtimeAxes(NodeBuilder& n, Tensor axes, int64_t rank, StringRef name) {
  RuntimeAxes r;
  std::vector<Size> values = n.asSizes(axes, name);
  r.count = values.size();
  if (static_cast<int64_t>(r.count) > rank)
    n.error("'{}' has {} values for rank {}", name.str(), r.count, rank);
  for (int64_t d = 0; d < rank; ++d) {
    Scalar any = n.literal(0, n.b.getI1Type(), true);
    for (Size v : values) {
      Scalar i = n.index(v);
      any = bitOr(any,
                  bitOr(equal(i, static_cast<double>(d)), equal(i, static_cast<double>(d - rank))));
    }
    r.has.push_back(any);
  }
  Size named = n.size(0);
  for (Scalar has : r.has)
    named = named + selectSize(n, has, n.size(1), n.size(0));
  n.requireEqual(named, n.size(static_cast<int64_t>(r.count)),
                 fmt::format("'{}' names an axis twice, or one that is out of range", name.str()));
  return r;
}

std::vector<Size> withoutAxes(NodeBuilder& n, ArrayRef<Size> sizes, const RuntimeAxes& axes) {
  // dim d goes to the place that as many kept dims stand before
  std::vector<Size> out(sizes.size() - axes.count, n.size(0));
  Size place = n.size(0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    for (size_t j = 0; j < out.size(); ++j) {
      Scalar here = bitAnd(!axes.has[d], equal(n.index(place), static_cast<double>(j)));
      out[j] = selectSize(n, here, sizes[d], out[j]);
    }
    place = place + selectSize(n, axes.has[d], n.size(0), n.size(1));
  }
  return out;
}

Scalar countOver(NodeBuilder& n, Tensor x, ArrayRef<int64_t> axes, DType as) {
  Size count = n.size(1);
  for (int64_t a : axes)
    count = count * n.size(x, a);
  if (count.constant()) return n.literal(static_cast<double>(*count.constant()), n.typeOf(as));
  return n.fromIndex(n.index(count), as);
}

Tensor meanOver(NodeBuilder& n, Tensor x, ArrayRef<int64_t> axes) {
  Tensor sum = n.reduce(x, axes, true, 0, [](Scalar c, Scalar v) { return c + v; });
  return n.map(sum, [&](Scalar s) { return s / countOver(n, x, axes, x.dtype); });
}

Tensor alongChannels(NodeBuilder& n, Tensor x, int64_t rank) {
  std::vector<Size> shape(rank, n.size(1));
  shape[rank == 1 ? 0 : 1] = n.size(x, 0);
  return n.reshape(x, shape);
}

Tensor softmaxOver(NodeBuilder& n, Tensor x, ArrayRef<int64_t> axes, bool logarithm) {
  return throughWide(n, x, [&](Tensor w) {
    // the largest is taken off first, so that exp cannot overflow
    Tensor top = n.reduce(w, axes, true, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
    if (logarithm) {
      Tensor shifted = n.map(w, top, [](Scalar v, Scalar m) { return v - m; });
      Tensor e = n.map(shifted, [](Scalar v) { return exp(v); });
      Tensor sum = n.reduce(e, axes, true, 0, [](Scalar c, Scalar v) { return c + v; });
      return n.map(shifted, sum, [](Scalar v, Scalar s) { return v - log(s); });
    }
    Tensor e = n.map(w, top, [](Scalar v, Scalar m) { return exp(v - m); });
    Tensor sum = n.reduce(e, axes, true, 0, [](Scalar c, Scalar v) { return c + v; });
    return n.map(e, sum, [](Scalar v, Scalar s) { return v / s; });
  });
}

Tensor channelsFirst(NodeBuilder& n, Tensor x) {
  std::vector<int64_t> order{0, x.rank() - 1};
  for (int64_t d = 1; d < x.rank() - 1; ++d)
    order.push_back(d);
  return n.transpose(x, order);
}
Tensor channelsLast(NodeBuilder& n, Tensor x) {
  std::vector<int64_t> order{0};
  for (int64_t d = 2; d < x.rank(); ++d)
    order.push_back(d);
  order.push_back(1);
  return n.transpose(x, order);
}

} // namespace ortc::opdef
