// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, and where the extremes are. The axes were an attribute before opset 18 (ReduceSum: 13).
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Reduction {
  Tensor x;
  std::vector<int64_t> axes;
  bool keep = true;
  bool none = false; ///< an empty list of axes that means: nothing is reduced
};
} // namespace

static Reduction readReduction(NodeBuilder& n, TypeSet types, int64_t axesAreInputSince = 18) {
  Reduction r;
  r.x = n.input(0, "data", types);
  r.axes = reductionAxes(n, r.x, axesAreInputSince, r.none);
  r.keep = n.intAttr("keepdims", 1) != 0;
  return r;
}

/// Folds with `body` from `init`; narrow floats in f32. Each element is first mapped by `before`, the result by `after`.
static Tensor fold(NodeBuilder& n, const Reduction& r, double init, llvm::function_ref<Scalar(Scalar, Scalar)> body,
                   llvm::function_ref<Scalar(Scalar)> before = nullptr, llvm::function_ref<Scalar(Scalar)> after = nullptr) {
  return throughWide(n, r.x, [&](Tensor w) {
    Tensor y = w;
    if (!r.none) y = n.reduce(w, r.axes, r.keep, init, [&](Scalar c, Scalar v) { return body(c, before ? before(v) : v); });
    else if (before) y = n.map(w, before);
    return after ? n.map(y, after) : y;
  });
}
static Scalar add(Scalar c, Scalar v) { return c + v; }
/// sqrt or log of an integer goes through f64.
static Scalar inFloat(NodeBuilder& n, Scalar v, DType type, llvm::function_ref<Scalar(Scalar)> f) {
  if (isa<FloatType>(v.type())) return f(v);
  return n.cast(f(n.cast(v, DType::F64)), type);
}

static const TypeSet numericOrBool{numeric.bits | uint64_t(1) << static_cast<unsigned>(DType::Bool), "a numeric type or bool"};

ORTC_ONNX_OP("ReduceSum", since(1, 11, 13)) {
  n.output(0, fold(n, readReduction(n, numeric, 13), 0, add));
}
ORTC_ONNX_OP("ReduceMean", since(1, 11, 13, 18)) {
  Reduction r = readReduction(n, numeric);
  DType type = wideType(r.x.dtype);
  n.output(0, fold(n, r, 0, add, nullptr, [&](Scalar s) { return r.none ? s : s / countOver(n, r.x, r.axes, type); }));
}
ORTC_ONNX_OP("ReduceProd", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 1, [](Scalar c, Scalar v) { return c * v; }));
}
ORTC_ONNX_OP("ReduceMax", since(1, 11, 12, 13, 18, 20)) {
  Reduction r = readReduction(n, numericOrBool);
  n.output(0, r.none ? r.x : n.reduce(r.x, r.axes, r.keep, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); }));
}
ORTC_ONNX_OP("ReduceMin", since(1, 11, 12, 13, 18, 20)) {
  Reduction r = readReduction(n, numericOrBool);
  n.output(0, r.none ? r.x : n.reduce(r.x, r.axes, r.keep, INFINITY, [](Scalar c, Scalar v) { return min(c, v); }));
}
ORTC_ONNX_OP("ReduceL1", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 0, add, [](Scalar v) { return abs(v); }));
}
static Scalar square(Scalar v) { return v * v; }
ORTC_ONNX_OP("ReduceL2", since(1, 11, 13, 18)) {
  Reduction r = readReduction(n, numeric);
  n.output(0, fold(n, r, 0, add, square, [&](Scalar s) { return inFloat(n, s, r.x.dtype, [](Scalar v) { return sqrt(v); }); }));
}
ORTC_ONNX_OP("ReduceSumSquare", since(1, 11, 13, 18)) {
  n.output(0, fold(n, readReduction(n, numeric), 0, add, square));
}
ORTC_ONNX_OP("ReduceLogSum", since(1, 11, 13, 18, 28)) {
  Reduction r = readReduction(n, numeric);
  n.output(0, fold(n, r, 0, add, nullptr, [&](Scalar s) { return inFloat(n, s, r.x.dtype, [](Scalar v) { return log(v); }); }));
}
// max + log(sum(exp(x - max))): exp cannot overflow
ORTC_ONNX_OP("ReduceLogSumExp", since(1, 11, 13, 18, 28)) {
  Reduction r = readReduction(n, numeric);
  if (r.none) return n.output(0, r.x);
  DType type = isFloat(r.x.dtype) ? wideType(r.x.dtype) : DType::F64;
  Tensor w = n.castTo(r.x, type);
  Tensor top = n.reduce(w, r.axes, true, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
  // an infinite maximum stays out of the differences, where it would make NaN
  top = n.map(top, [](Scalar v) { return select(isInf(v), 0.0, v); });
  Tensor e = n.map(w, top, [](Scalar v, Scalar m) { return exp(v - m); });
  Tensor sum = n.reduce(e, r.axes, true, 0, add);
  Tensor y = n.castTo(n.map(sum, top, [](Scalar s, Scalar m) { return log(s) + m; }), r.x.dtype);
  if (!r.keep) {
    std::vector<Size> kept;
    for (int64_t d = 0; d < r.x.rank(); ++d)
      if (!llvm::is_contained(r.axes, d)) kept.push_back(n.size(r.x, d));
    y = n.reshape(y, kept);
  }
  n.output(0, y);
}

/// Finds the extreme first, then the first (or last) place that equals it.
static void argExtreme(NodeBuilder& n, bool largest) {
  Tensor x = n.input(0, "data", numeric);
  int64_t axis = n.axis(n.intAttr("axis", 0), x.rank());
  bool keep = n.intAttr("keepdims", 1) != 0, last = n.intAttr("select_last_index", 0) != 0;
  Tensor top = n.reduce(x, axis, true, largest ? -INFINITY : INFINITY, [&](Scalar c, Scalar v) { return largest ? max(c, v) : min(c, v); });
  std::vector<Size> outer = n.sizes(top), kept = outer;
  kept.erase(kept.begin() + axis);
  Tensor at = n.generateReduce(outer, n.size(x, axis), DType::I64, last ? 0 : INFINITY, [&](ArrayRef<Scalar> i, Scalar carried) {
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
ORTC_ONNX_OP("ArgMax", since(1, 11, 12, 13)) { argExtreme(n, true); }
ORTC_ONNX_OP("ArgMin", since(1, 11, 12, 13)) { argExtreme(n, false); }

// Running sums (or products) along an axis. Every element folds what comes before it.
static void running(NodeBuilder& n, double init, llvm::function_ref<Scalar(Scalar, Scalar)> body) {
  Tensor x = n.input(0, "x", numeric), a = n.input(1, "axis", indexInteger);
  std::vector<int64_t> given = n.requireInts(a, "axis");
  if (given.size() != 1) n.error("input 'axis' must be a scalar");
  int64_t axis = n.axis(given[0], x.rank());
  bool exclusive = n.intAttr("exclusive", 0) != 0, reverse = n.intAttr("reverse", 0) != 0;
  DType type = wideType(x.dtype);
  Tensor y = n.generateReduce(n.sizes(x), n.size(x, axis), type, init, [&](ArrayRef<Scalar> i, Scalar carried) {
    SmallVector<Scalar> at(i.drop_back());
    Scalar o = at[axis], k = i.back();
    at[axis] = k;
    Scalar before = reverse ? (exclusive ? k > o : k >= o) : (exclusive ? k < o : k <= o);
    return n.ifElse(before, [&] { return body(carried, n.cast(n.at(x, at), type)); }, [&] { return carried; });
  });
  n.output(0, n.castTo(y, x.dtype));
}
ORTC_ONNX_OP("CumSum", since(11, 14)) { running(n, 0, add); }
ORTC_ONNX_OP("CumProd", since(26)) {
  running(n, 1, [](Scalar c, Scalar v) { return c * v; });
}

} // namespace ortc::opdef
