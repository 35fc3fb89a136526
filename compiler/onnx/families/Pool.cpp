// SPDX-License-Identifier: Apache-2.0
// Pooling over windows and over all of an image.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Pool {
  Tensor x;
  std::vector<Size> in, out, window;
  std::vector<WindowDim> dims;
};
} // namespace

static Pool readPool(NodeBuilder& n, Tensor x) {
  Pool p;
  p.x = x;
  if (p.x.rank() < 3) n.error("the input has rank {}; expected at least 3", p.x.rank());
  p.in = n.sizes(p.x);
  std::vector<int64_t> kernel = n.intsAttr("kernel_shape");
  p.dims = readWindow(n, ArrayRef<Size>(p.in).drop_front(2), kernel);
  p.out = {p.in[0], p.in[1]};
  for (auto [k, d] : llvm::zip(kernel, p.dims))
    p.out.push_back(d.out), p.window.push_back(n.size(k));
  return p;
}

/// The element of x under place `i` (output indices, then window indices), and whether there is
/// one; `inside` has no value when windows never reach outside.
static SmallVector<Scalar> elementUnder(NodeBuilder& n, const Pool& p, ArrayRef<Scalar> i,
                                        Scalar& inside) {
  SmallVector<Scalar> at{i[0], i[1]};
  for (auto [s, d] : llvm::enumerate(p.dims)) {
    Scalar o = i[s + 2], k = i[p.out.size() + s];
    Scalar v = (d.stride == 1 ? o : o * static_cast<double>(d.stride)) +
               (d.dilation == 1 ? k : k * static_cast<double>(d.dilation));
    if (!d.padBegin.is(0)) v = v - n.index(d.padBegin);
    at.push_back(v);
    if (!d.padded) continue;
    Scalar in = v < n.index(p.in[s + 2]);
    if (!d.padBegin.is(0)) in = bitAnd(v >= 0.0, in);
    inside = inside.v ? bitAnd(inside, in) : in;
  }
  return at;
}

/// Folds each window; `body` sees the elements that exist.
static Tensor foldWindows(NodeBuilder& n, const Pool& p, DType type, double init,
                          llvm::function_ref<Scalar(Scalar carried, Scalar element)> body) {
  return n.generateReduce(p.out, p.window, type, init, [&](ArrayRef<Scalar> i, Scalar carried) {
    Scalar inside;
    SmallVector<Scalar> at = elementUnder(n, p, i, inside);
    auto fold = [&] { return body(carried, n.cast(n.at(p.x, at), type)); };
    return inside.v ? n.ifElse(inside, fold, [&] { return carried; }) : fold();
  });
}

static Tensor largest(NodeBuilder& n, const Pool& p) {
  return foldWindows(n, p, p.x.dtype, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
}
Tensor maxPool(NodeBuilder& n, Tensor x) {
  return largest(n, readPool(n, x));
}

ORTC_ONNX_OP("MaxPool", since(1, 8, 10, 11, 12, 22)) {
  Pool p = readPool(n, n.input(0, "X", numeric));
  Tensor y = largest(n, p);
  n.output(0, y);
  if (!n.wantsOutput(1)) return;
  // Where the largest element is: its place in the flattened input, or with columns outermost in
  // each image.
  bool columns = n.flagAttr("storage_order", false);
  size_t rank = p.in.size();
  Tensor at =
      n.generateReduce(p.out, p.window, DType::I64, -1, [&](ArrayRef<Scalar> i, Scalar carried) {
        Scalar inside;
        SmallVector<Scalar> from = elementUnder(n, p, i, inside);
        auto compare = [&] {
          Scalar best = n.at(y, i.take_front(rank)), flat = from[0] * n.index(p.in[1]) + from[1];
          for (size_t k = 2; k < rank; ++k) {
            size_t d = columns ? rank + 1 - k : k;
            flat = flat * n.index(p.in[d]) + from[d];
          }
          Scalar first = bitAnd(equal(n.at(p.x, from), best), carried < 0.0);
          return select(first, n.fromIndex(flat, DType::I64), carried);
        };
        return inside.v ? n.ifElse(inside, compare, [&] { return carried; }) : compare();
      });
  n.output(1, at);
}

// A window is read row by row, and a row of it (along the last dim) ends at its first element whose
// mask is 0. A window without any element gives the lowest number.   [measured: ONNX Runtime 1.32,
// images of one channel]
ORTC_ONNX_OP_IN("com.microsoft", "MaxpoolWithMask", since(1)) {
  Pool p = readPool(n, n.input(0, "X", oneOf({DType::F32})));
  Tensor mask = n.input(1, "M", oneOf({DType::I32}));
  std::vector<Size> have = n.sizes(mask);
  if (have.size() != p.in.size())
    n.error("'M' is {}; expected the shape of {}", n.typeText(mask), n.typeText(p.x));
  for (auto [m, x] : llvm::zip(have, p.in))
    n.requireEqual(m, x, "the sizes of the input and of its mask differ");
  const double lowest = -3.4028234663852886e38;
  ArrayRef<Size> rows = ArrayRef<Size>(p.window).drop_back();
  Tensor y =
      n.generateReduce(p.out, rows, DType::F32, lowest, [&](ArrayRef<Scalar> i, Scalar best) {
        Scalar open = n.literal(1, n.b.getI1Type(), true);
        auto step = [&](Scalar k, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
          SmallVector<Scalar> place(i);
          place.push_back(k);
          Scalar inside;
          SmallVector<Scalar> at = elementUnder(n, p, place, inside);
          auto unmasked = [&] { return notEqual(n.at(mask, at), 0.0); };
          auto yes = [&] { return n.literal(1, n.b.getI1Type(), true); };
          Scalar goesOn = bitAnd(c[1], inside.v ? n.ifElse(inside, unmasked, yes) : unmasked());
          Scalar taken = inside.v ? bitAnd(goesOn, inside) : goesOn;
          return {n.ifElse(
                      taken, [&] { return max(c[0], n.at(p.x, at)); }, [&] { return c[0]; }),
                  goesOn};
        };
        return n.repeat(n.index(0), n.index(p.window.back()), {best, open}, step)[0];
      });
  n.output(0, y);
}

/// How many elements of its window an output has, along one dim.
static Scalar tapCount(NodeBuilder& n, const WindowDim& d, Size in, Scalar o, bool withPads) {
  Scalar start = o * static_cast<double>(d.stride) - n.index(d.padBegin);
  Scalar limit =
      n.index(withPads ? in + d.padEnd : in); // the padded image is what a window is cut off at
  auto taps = [&](Scalar span) { // places start + t * dilation that lie before start + span
    if (d.dilation == 1) return span;
    return (span + static_cast<double>(d.dilation - 1)) / static_cast<double>(d.dilation);
  };
  Scalar last = min(taps(max(limit - start, 0.0)), static_cast<double>(d.kernel));
  if (withPads || d.padBegin.is(0)) return last;
  return last - taps(max(-start, 0.0));
}

Tensor averagePool(NodeBuilder& n, Tensor x) {
  Pool p = readPool(n, x);
  bool withPads = n.flagAttr("count_include_pad", false);
  DType wide = wideType(p.x.dtype);
  Tensor sum = foldWindows(n, p, wide, 0, [](Scalar c, Scalar v) { return c + v; });
  double all = 1;
  bool constant = true; // all windows have equally many elements
  for (auto [d, in] : llvm::zip(p.dims, ArrayRef<Size>(p.in).drop_front(2))) {
    all *= static_cast<double>(d.kernel);
    Size reach =
        (d.out - n.size(1)) * n.size(d.stride) + n.size(d.extent()) - d.padBegin - in - d.padEnd;
    constant &= !d.padded || (withPads && indexRange(reach.v).second <= 0);
  }
  return n.map(sum, p.x.dtype, [&](Scalar s) {
    if (constant) return n.cast(s / all, p.x.dtype);
    Scalar count;
    for (auto [i, d] : llvm::enumerate(p.dims)) {
      Scalar c =
          d.padded ? tapCount(n, d, p.in[i + 2], loopIndex(n, i + 2), withPads) : n.index(d.kernel);
      count = count.v ? count * c : c;
    }
    return n.cast(s / n.fromIndex(count, wide), p.x.dtype);
  });
}
ORTC_ONNX_OP("AveragePool", since(1, 7, 10, 11, 19, 22)) {
  n.output(0, averagePool(n, n.input(0, "X", floating)));
}

/// |v|^p, and the p-th root
static Scalar powerOf(Scalar v, double p) {
  return p == 1 ? abs(v) : p == 2 ? v * v : pow(abs(v), p);
}
static Scalar rootOf(Scalar v, double p) {
  return p == 1 ? v : p == 2 ? sqrt(v) : pow(v, 1 / p);
}

/// p was a float in opset 1.
static double norm(NodeBuilder& n) {
  double p = n.opset < 2 ? n.floatAttr("p", 2.0) : static_cast<double>(n.intAttr("p", 2));
  if (p <= 0) n.error("'p' is {}", p);
  return p;
}

ORTC_ONNX_OP("LpPool", since(1, 2, 11, 18, 22)) {
  Pool p = readPool(n, n.input(0, "X", floating));
  double order = norm(n);
  Tensor sum = foldWindows(n, p, wideType(p.x.dtype), 0,
                           [&](Scalar c, Scalar v) { return c + powerOf(v, order); });
  n.output(0, n.map(sum, p.x.dtype, [&](Scalar s) { return n.cast(rootOf(s, order), p.x.dtype); }));
}

static std::vector<int64_t> spatialAxes(NodeBuilder& n, Tensor x) {
  if (x.rank() < 3) n.error("the input has rank {}; expected at least 3", x.rank());
  return axesFrom(2, x.rank());
}

ORTC_ONNX_OP("GlobalAveragePool", since(1, 22)) {
  Tensor x = n.input(0, "X", floating);
  n.output(0, throughWide(n, x, [&](Tensor w) { return meanOver(n, w, spatialAxes(n, x)); }));
}
ORTC_ONNX_OP("GlobalMaxPool", since(1, 22)) {
  Tensor x = n.input(0, "X", floating);
  n.output(0, n.reduce(x, spatialAxes(n, x), true, -INFINITY,
                       [](Scalar c, Scalar v) { return max(c, v); }));
}
ORTC_ONNX_OP("GlobalLpPool", since(1, 2, 22)) {
  Tensor x = n.input(0, "X", floating);
  double p = norm(n);
  n.output(0, throughWide(n, x, [&](Tensor w) {
             Tensor sum = n.reduce(w, spatialAxes(n, x), true, 0,
                                   [&](Scalar c, Scalar v) { return c + powerOf(v, p); });
             return n.map(sum, [&](Scalar s) { return rootOf(s, p); });
           }));
}

} // namespace ortc::opdef
