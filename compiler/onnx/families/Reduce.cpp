// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, and where the extremes are. The axes were an attribute before opset 18
// (ReduceSum: 13).
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Reduction {
  Tensor x;
  std::vector<int64_t> axes;
  RuntimeAxes atRun; ///< instead of `axes`
  bool keep = true;
  bool none = false; ///< an empty list of axes that means: nothing is reduced
  std::vector<Size> window,
      kept; ///< extents that are folded and that remain (1 for the others), when atRun
};
} // namespace

static Reduction readReduction(NodeBuilder& n, TypeSet types, int64_t axesAreInputSince = 18) {
  Reduction r;
  r.x = n.input(0, "data", types);
  r.keep = n.flagAttr("keepdims", true);
  std::vector<int64_t> given;
  if (n.opset < axesAreInputSince)
    given = n.intsAttr("axes", std::vector<int64_t>{});
  else if (Tensor axes = n.optionalInput(1, "axes", indexInteger)) {
    auto known = n.constantInts(axes);
    if (known)
      given = *known;
    else if (!n.size(axes, 0).is(0)) {
      r.atRun = runtimeAxes(n, axes, r.x.rank(), "axes");
      for (auto [d, s] : llvm::enumerate(n.sizes(r.x))) {
        r.window.push_back(selectSize(n, r.atRun.has[d], s, n.size(1)));
        r.kept.push_back(selectSize(n, r.atRun.has[d], n.size(1), s));
      }
      return r;
    }
  }
  if (given.empty()) {
    r.none = n.opset >= axesAreInputSince && n.intAttr("noop_with_empty_axes", 0);
    if (!r.none) r.axes = axesFrom(0, r.x.rank());
  } else
    r.axes = n.axes(given, r.x.rank());
  return r;
}

/// Folds a tensor of x's shape; dims are kept as 1.
static Tensor foldKeeping(NodeBuilder& n, const Reduction& r, Tensor w, double init,
                          llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  if (!r.atRun) return n.reduce(w, r.axes, true, init, body);
  // each dim is either an output's or the window's; the other index is 0
  return n.generateReduce(r.kept, r.window, w.dtype, init, [&](ArrayRef<Scalar> i, Scalar carried) {
    SmallVector<Scalar> at;
    for (int64_t d = 0; d < w.rank(); ++d)
      at.push_back(i[d] + i[w.rank() + d]);
    return body(carried, n.at(w, at));
  });
}
/// Removes the dims that were kept as 1, when they are not wanted.
static Tensor dropped(NodeBuilder& n, const Reduction& r, Tensor y) {
  if (r.keep || r.none) return y;
  std::vector<Size> in = n.sizes(r.x), out;
  if (r.atRun)
    out = withoutAxes(n, in, r.atRun);
  else
    for (int64_t d = 0; d < r.x.rank(); ++d)
      if (!llvm::is_contained(r.axes, d)) out.push_back(in[d]);
  return n.reshape(y, out);
}
static Tensor foldPlain(NodeBuilder& n, const Reduction& r, Tensor w, double init,
                        llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  if (r.none) return w;
  if (!r.atRun) return n.reduce(w, r.axes, r.keep, init, body);
  return dropped(n, r, foldKeeping(n, r, w, init, body));
}
/// How many elements each result folds.
static Scalar countOf(NodeBuilder& n, const Reduction& r, DType type) {
  if (!r.atRun) return countOver(n, r.x, r.axes, type);
  return n.fromIndex(n.index(product(n, r.window)), type);
}

/// Folds with `body` from `init`; narrow floats in f32. Each element is first mapped by `before`,
/// the result by `after`.
static Tensor fold(NodeBuilder& n, const Reduction& r, double init,
                   llvm::function_ref<Scalar(Scalar, Scalar)> body,
                   llvm::function_ref<Scalar(Scalar)> before = nullptr,
                   llvm::function_ref<Scalar(Scalar)> after = nullptr) {
  return throughWide(n, r.x, [&](Tensor w) {
    Tensor y = w;
    if (!r.none)
      y = foldPlain(n, r, w, init,
                    [&](Scalar c, Scalar v) { return body(c, before ? before(v) : v); });
    else if (before)
      y = n.map(w, before);
    return after ? n.map(y, after) : y;
  });
}
static Scalar add(Scalar c, Scalar v) {
  return c + v;
}
/// sqrt or log of an integer goes through f64.
static Scalar inFloat(NodeBuilder& n, Scalar v, DType type, llvm::function_ref<Scalar(Scalar)> f) {
  if (isa<FloatType>(v.type())) return f(v);
  return n.cast(f(n.cast(v, DType::F64)), type);
}

static const TypeSet numericOrBool{numeric.bits | uint64_t(1) << static_cast<unsigned>(DType::Bool),
                                   "a numeric type or bool"};

ORTC_ONNX_OP("ReduceSum", since(1, 11, 13)) {
  n.output(0, fold(n, readReduction(n, numeric, 13), 0, add));
}
ORTC_ONNX_OP("ReduceMean", since(1, 11, 13, 18)) {
  Reduction r = readReduction(n, numeric);
  DType type = wideType(r.x.dtype);
  n.output(0, fold(n, r, 0, add, nullptr,
                   [&](Scalar s) { return r.none ? s : s / countOf(n, r, type); }));
}
ORTC_ONNX_OP("ReduceProd", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 1, [](Scalar c, Scalar v) { return c * v; }));
}
ORTC_ONNX_OP("ReduceMax", since(1, 11, 12, 13, 18, 20)) {
  Reduction r = readReduction(n, numericOrBool);
  n.output(0, foldPlain(n, r, r.x, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); }));
}
ORTC_ONNX_OP("ReduceMin", since(1, 11, 12, 13, 18, 20)) {
  Reduction r = readReduction(n, numericOrBool);
  n.output(0, foldPlain(n, r, r.x, INFINITY, [](Scalar c, Scalar v) { return min(c, v); }));
}
ORTC_ONNX_OP("ReduceL1", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 0, add, [](Scalar v) { return abs(v); }));
}
static Scalar square(Scalar v) {
  return v * v;
}
ORTC_ONNX_OP("ReduceL2", since(1, 11, 13, 18)) {
  Reduction r = readReduction(n, numeric);
  n.output(0, fold(n, r, 0, add, square, [&](Scalar s) {
             return inFloat(n, s, r.x.dtype, [](Scalar v) { return sqrt(v); });
           }));
}
ORTC_ONNX_OP("ReduceSumSquare", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 0, add, square));
}
ORTC_ONNX_OP("ReduceLogSum", since(1, 11, 13, 18, 28)) {
  Reduction r = readReduction(n, numeric);
  n.output(0, fold(n, r, 0, add, nullptr, [&](Scalar s) {
             return inFloat(n, s, r.x.dtype, [](Scalar v) { return log(v); });
           }));
}
// max + log(sum(exp(x - max))): exp cannot overflow
ORTC_ONNX_OP("ReduceLogSumExp", since(1, 11, 13, 18, 28)) {
  Reduction r = readReduction(n, numeric);
  if (r.none) return n.output(0, r.x);
  DType type = isFloat(r.x.dtype) ? wideType(r.x.dtype) : DType::F64;
  Tensor w = n.castTo(r.x, type);
  Tensor top = foldKeeping(n, r, w, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
  // an infinite maximum stays out of the differences, where it would make NaN
  top = n.map(top, [](Scalar v) { return select(isInf(v), 0.0, v); });
  Tensor e = n.map(w, top, [](Scalar v, Scalar m) { return exp(v - m); });
  Tensor sum = foldKeeping(n, r, e, 0, add);
  Tensor y = n.castTo(n.map(sum, top, [](Scalar s, Scalar m) { return log(s) + m; }), r.x.dtype);
  n.output(0, dropped(n, r, y));
}

/// Finds the extreme first, then the first (or last) place that equals it.
static void argExtreme(NodeBuilder& n, bool largest) {
  Tensor x = n.input(0, "data", numeric);
  int64_t axis = n.axis(n.intAttr("axis", 0), x.rank());
  bool keep = n.flagAttr("keepdims", true), last = n.flagAttr("select_last_index", false);
  Tensor top = n.reduce(x, axis, true, largest ? -INFINITY : INFINITY,
                        [&](Scalar c, Scalar v) { return largest ? max(c, v) : min(c, v); });
  std::vector<Size> outer = n.sizes(top), kept = outer;
  kept.erase(kept.begin() + axis);
  Tensor at = n.generateReduce(
      outer, n.size(x, axis), DType::I64, last ? 0 : INFINITY,
      [&](ArrayRef<Scalar> i, Scalar carried) {
        SmallVector<Scalar> place(i.drop_back());
        place[axis] = i.back();
        Scalar v = n.at(x, place), best = n.at(top, i.drop_back());
        // a NaN is the extreme of its row
        Scalar hit = isFloat(x.dtype) ? bitOr(equal(v, best), isNaN(v)) : equal(v, best);
        Scalar here = n.fromIndex(i.back(), DType::I64);
        return select(hit, last ? max(carried, here) : min(carried, here), carried);
      });
  n.output(0, keep ? at : n.reshape(at, kept));
}
ORTC_ONNX_OP("ArgMax", since(1, 11, 12, 13)) {
  argExtreme(n, true);
}
ORTC_ONNX_OP("ArgMin", since(1, 11, 12, 13)) {
  argExtreme(n, false);
}

// Running sums (or products) along an axis, which may be data.
static void running(NodeBuilder& n, double init, llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  Tensor x = n.input(0, "x", numeric);
  std::vector<Size> given = n.asSizes(n.input(1, "axis", indexInteger), "axis"), in = n.sizes(x);
  if (given.size() != 1) n.error("input 'axis' must be a scalar");
  bool exclusive = n.flagAttr("exclusive", false), reverse = n.flagAttr("reverse", false);
  DType type = wideType(x.dtype);
  // x as [outer, extent, inner], flat: what is before and behind an axis that is read has a size
  // that depends on it, but all of it together has not.
  Size axis = given[0], outer = n.size(1), extent = n.size(1), inner = n.size(1);
  if (axis.constant())
    axis = n.size(n.axis(*axis.constant(), x.rank()));
  else
    axis = selectSize(n, n.index(axis) < 0.0, axis + n.size(x.rank()), axis);
  for (int64_t d = 0; d < x.rank(); ++d) {
    Scalar at = n.index(axis);
    outer = outer * selectSize(n, at > static_cast<double>(d), in[d], n.size(1));
    extent = extent * selectSize(n, equal(at, static_cast<double>(d)), in[d], n.size(1));
    inner = inner * selectSize(n, at < static_cast<double>(d), in[d], n.size(1));
  }
  Size all = product(n, in);
  Tensor flat = n.reshape(x, all);
  NodeBuilder::OutType result{{all}, x.dtype};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    Scalar count = n.index(extent), step = n.index(inner);
    Scalar first = row[0] * count * step + row[1];
    n.repeat(n.index(0), count, {n.literal(init, n.typeOf(type))},
             [&](Scalar k, ArrayRef<Scalar> carried) -> NodeBuilder::Scalars {
               Scalar at = first + (reverse ? count - 1.0 - k : k) * step;
               Scalar next = body(carried[0], n.cast(n.at(flat, at), type));
               out[0].store(at, n.cast(exclusive ? carried[0] : next, x.dtype));
               return {next};
             });
  };
  n.output(0, n.reshape(n.serial({outer, inner}, result, code)[0], in));
}
ORTC_ONNX_OP("CumSum", since(11, 14)) {
  running(n, 0, add);
}
ORTC_ONNX_OP("CumProd", since(26)) {
  running(n, 1, [](Scalar c, Scalar v) { return c * v; });
}

} // namespace ortc::opdef
