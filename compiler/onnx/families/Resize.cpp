// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Every axis says, for each output place, which input places it reads and with
// what weights. With known sizes these are tables, made here; else the same formulas become scalar
// code. The formulas are written once, for both kinds of number.
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

[[maybe_unused]] static double select(bool c, double x, double y) {
  return c ? x : y;
}
[[maybe_unused]] static bool bitAnd(bool x, bool y) {
  return x && y;
}
[[maybe_unused]] static bool equal(double x, double y) {
  return x == y;
}

namespace {

/// What is known of one resized axis, as numbers of the compiler (double) or of the run (Scalar,
/// f32).
template <typename T> struct AxisNumbers {
  T in, out, scale;
  T stretched; ///< in * scale, before rounding to a size
  T roiBegin, roiEnd;
};

struct Method {
  std::string mode;        // nearest, linear, cubic
  std::string transform;   // coordinate_transformation_mode
  std::string nearestMode; // "simple" before opset 11
  double cubicA = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

struct Axis {
  int64_t dim;
  Size in, out;
  std::optional<double> scale; ///< none: out / in, or `scaleAt`
  std::optional<double> roiBegin, roiEnd;
  Scalar scaleAt, roiBeginAt, roiEndAt; ///< the same, when running
  /// Is a table of its places made while compiling? Not of more than this.
  static constexpr int64_t mostInTable = 1 << 22;
  bool isStatic() const {
    return in.constant() && out.constant() && *out.constant() <= mostInTable && !scaleAt.v &&
           !roiBeginAt.v;
  }
};

template <typename T> struct Taps {
  SmallVector<T> places, weights; // no weights: nearest
};

} // namespace

/// The place in the input that output place `x` looks at.
template <typename T> static T original(const Method& m, T x, const AxisNumbers<T>& a) {
  if (m.transform == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (m.transform == "pytorch_half_pixel")
    return select(a.out > 1.0, (x + 0.5) / a.scale - 0.5, x * 0.0);
  if (m.transform == "align_corners")
    return select(equal(a.stretched, 1.0), x * 0.0, x * (a.in - 1.0) / (a.stretched - 1.0));
  if (m.transform == "asymmetric") return x / a.scale;
  if (m.transform == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (m.transform == "half_pixel_symmetric") {
    // the part of the image that rounding the size cut off is taken from both ends
    T adjustment = a.out / a.stretched;
    return a.in * 0.5 * (1.0 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  // tf_crop_and_resize
  T steps = (a.roiEnd - a.roiBegin) * (a.in - 1.0) / (a.out - 1.0);
  return select(a.out > 1.0, a.roiBegin * (a.in - 1.0) + x * steps,
                (a.roiBegin + a.roiEnd) * 0.5 * (a.in - 1.0));
}

template <typename T> static T nearest(const Method& m, T x, const AxisNumbers<T>& a) {
  using std::ceil;
  using std::floor;
  if (m.nearestMode == "round_prefer_floor") return ceil(x - 0.5);
  if (m.nearestMode == "round_prefer_ceil") return floor(x + 0.5);
  if (m.nearestMode == "ceil") return ceil(x);
  if (m.nearestMode == "simple") return select(a.scale < 1.0, ceil(x), floor(x));
  return floor(x);
}

/// Places and weights around `x`. [Keys 1981, cubic convolution]
template <typename T> static Taps<T> tapsAt(const Method& m, T x, const AxisNumbers<T>& a) {
  using std::floor;
  using std::max;
  using std::min;
  Taps<T> r;
  if (m.mode == "nearest")
    r.places = {nearest(m, x, a)};
  else {
    T base = floor(x), t = x - base;
    if (m.mode == "linear") {
      r.places = {base, base + 1.0};
      r.weights = {1.0 - t, t};
    } else {
      double A = m.cubicA;
      T u = t + 1.0, v = 1.0 - t, w = 2.0 - t;
      r.places = {base - 1.0, base, base + 1.0, base + 2.0};
      r.weights = {((A * u - 5 * A) * u + 8 * A) * u - 4 * A, ((A + 2) * t - (A + 3)) * t * t + 1.0,
                   ((A + 2) * v - (A + 3)) * v * v + 1.0,
                   ((A * w - 5 * A) * w + 8 * A) * w - 4 * A};
    }
    if (m.excludeOutside) {
      T sum = t * 0.0;
      for (auto [p, w] : llvm::zip(r.places, r.weights)) {
        w = select(bitAnd(p >= 0.0, p <= a.in - 1.0), w, t * 0.0);
        sum = sum + w;
      }
      for (T& w : r.weights)
        w = w / sum;
    }
  }
  for (T& p : r.places)
    p = max(min(p, a.in - 1.0), 0.0);
  return r;
}

/// Places and weights with a filter as wide as one output element, when the image becomes smaller.
static Taps<double> antialiasedTaps(const Method& m, double x, const AxisNumbers<double>& a) {
  double scale = std::min(a.scale, 1.0), reach = m.mode == "linear" ? 1 : 2, A = m.cubicA;
  double base = std::ceil(x) - 1, ratio = x - base; // in (0, 1]
  int64_t first = static_cast<int64_t>(std::floor(-reach / scale)) + 1;
  Taps<double> r;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    double d = std::abs((static_cast<double>(i) - ratio) * scale), w = 0;
    if (m.mode == "linear")
      w = std::max(1 - d, 0.0);
    else if (d <= 1)
      w = ((A + 2) * d - (A + 3)) * d * d + 1;
    else if (d < 2)
      w = ((A * d - 5 * A) * d + 8 * A) * d - 4 * A;
    double place = base + static_cast<double>(i);
    if (m.excludeOutside && (place < 0 || place >= a.in)) w = 0;
    r.places.push_back(std::clamp(place, 0.0, a.in - 1));
    r.weights.push_back(w);
    sum += w;
  }
  for (double& w : r.weights)
    w /= sum;
  return r;
}

static AxisNumbers<double> numbersOf(const Axis& a) {
  double in = static_cast<double>(*a.in.constant()), out = static_cast<double>(*a.out.constant());
  double scale = a.scale.value_or(in == 0 ? 1 : out / in);
  return {in, out, scale, a.scale ? in * scale : out, a.roiBegin.value_or(0), a.roiEnd.value_or(1)};
}
static AxisNumbers<Scalar> scalarsOf(NodeBuilder& n, const Axis& a) {
  auto number = [&](double v) { return n.literal(v, n.b.getF32Type()); };
  Scalar in = n.fromIndex(n.index(a.in), DType::F32), out = n.fromIndex(n.index(a.out), DType::F32);
  Scalar scale = a.scaleAt.v ? a.scaleAt : a.scale ? number(*a.scale) : out / in;
  bool given = a.scaleAt.v || a.scale;
  return {in,
          out,
          scale,
          given ? in * scale : out,
          a.roiBeginAt.v ? a.roiBeginAt : number(a.roiBegin.value_or(0)),
          a.roiEndAt.v ? a.roiEndAt : number(a.roiEnd.value_or(1))};
}

namespace {
/// Constant tables of an axis: [out, taps].
struct Table {
  Tensor places, weights;
  int64_t taps = 1;
};
} // namespace

static Table makeTable(NodeBuilder& n, const Method& m, const Axis& axis, DType weightType) {
  AxisNumbers<double> a = numbersOf(axis);
  int64_t out = *axis.out.constant();
  std::vector<Taps<double>> rows;
  Table t;
  for (int64_t o = 0; o < out; ++o) {
    double x = original(m, static_cast<double>(o), a);
    rows.push_back(m.antialias && m.mode != "nearest" ? antialiasedTaps(m, x, a) : tapsAt(m, x, a));
    t.taps = std::max<int64_t>(t.taps, rows.back().places.size());
  }
  HostTensor places(n.b.getI32Type(), {out, t.taps}), weights(n.typeOf(weightType), {out, t.taps});
  for (auto [o, row] : llvm::enumerate(rows))
    for (auto [k, p] : llvm::enumerate(row.places)) {
      places.setInt(o * t.taps + k, static_cast<int64_t>(p));
      if (!row.weights.empty()) weights.setDouble(o * t.taps + k, row.weights[k]);
    }
  t.places = n.constant(places, DType::I32);
  if (m.mode != "nearest") t.weights = n.constant(weights, weightType);
  return t;
}

/// k when output place o is a copy of input place o / k.
static std::optional<int64_t> wholeFactor(const Method& m, const Axis& a) {
  if (m.mode != "nearest" || a.scaleAt.v) return std::nullopt;
  std::optional<double> scale = a.scale;
  if (!scale && a.in.constant() && a.out.constant() && *a.in.constant())
    scale = static_cast<double>(*a.out.constant()) / static_cast<double>(*a.in.constant());
  if (!scale || *scale != std::floor(*scale) || *scale < 1) return std::nullopt;
  bool floors = m.nearestMode == "floor" || m.nearestMode == "simple";
  bool copies = (m.transform == "asymmetric" && floors) ||
                (m.transform == "tf_half_pixel_for_nn" && floors) ||
                ((m.transform == "half_pixel" || m.transform == "pytorch_half_pixel") &&
                 m.nearestMode.rfind("round", 0) == 0);
  if (!copies) return std::nullopt;
  return static_cast<int64_t>(*scale);
}

/// antialiasedTaps of one axis whose sizes only the run knows: the sum over taps of x times weight,
/// by the sum of weights.
static Tensor antialiasedAtRun(NodeBuilder& n, Tensor x, const Axis& axis, const Method& m) {
  AxisNumbers<Scalar> a = scalarsOf(n, axis);
  double reach = m.mode == "linear" ? 1 : 2, A = m.cubicA;
  Scalar scale = min(a.scale, 1.0), first = floor(-reach / scale) + 1.0;
  Size taps = n.size(OpFoldResult(n.toIndex(n.cast(2.0 - 2.0 * first, DType::I64)).v));
  auto tap = [&](Scalar o, Scalar k) { // place and weight
    Scalar from = original(m, n.fromIndex(o, DType::F32), a), base = ceil(from) - 1.0,
           i = n.fromIndex(k, DType::F32) + first;
    Scalar d = abs((i - (from - base)) * scale), place = base + i, w;
    if (m.mode == "linear")
      w = max(1.0 - d, 0.0);
    else
      w = select(d <= 1.0, ((A + 2) * d - (A + 3)) * d * d + 1.0,
                 select(d < 2.0, ((A * d - 5 * A) * d + 8 * A) * d - 4 * A, 0.0));
    if (m.excludeOutside) w = select(bitAnd(place >= 0.0, place < a.in), w, 0.0);
    return std::pair(n.toIndex(n.cast(max(min(place, a.in - 1.0), 0.0), DType::I32)),
                     n.cast(w, x.dtype));
  };
  Tensor total = n.generateReduce(axis.out, taps, x.dtype, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    return c + tap(i[0], i[1]).second;
  });
  std::vector<Size> shape = n.sizes(x);
  shape[axis.dim] = axis.out;
  Tensor sum = n.generateReduce(shape, taps, x.dtype, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    SmallVector<Scalar> at(i.drop_back());
    auto [place, w] = tap(at[axis.dim], i.back());
    at[axis.dim] = place;
    return c + n.at(x, at) * w;
  });
  std::vector<Size> along(x.rank(), n.size(1));
  along[axis.dim] = axis.out;
  return n.map(sum, n.reshape(total, along), [](Scalar v, Scalar t) { return v / t; });
}

/// One axis after the other, each a weighted sum over its taps: for filters of many taps.
static Tensor separable(NodeBuilder& n, Tensor x, ArrayRef<Axis> axes, const Method& m,
                        DType wide) {
  Tensor y = n.castTo(x, wide);
  for (const Axis& a : axes) {
    if (!a.isStatic()) {
      y = antialiasedAtRun(n, y, a, m);
      continue;
    }
    Table t = makeTable(n, m, a, wide);
    std::vector<Size> shape = n.sizes(y);
    shape[a.dim] = a.out;
    y = n.generateReduce(shape, n.size(t.taps), wide, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
      SmallVector<Scalar> at(i.drop_back());
      Scalar o = at[a.dim];
      at[a.dim] = n.at(t.places, {o, i.back()});
      return carried + n.at(y, at) * n.at(t.weights, {o, i.back()});
    });
  }
  return n.castTo(y, x.dtype);
}

static Tensor resize(NodeBuilder& n, Tensor x, std::vector<Axis> axes, const Method& m) {
  bool crop = m.transform == "tf_crop_and_resize";
  // An axis that keeps its size, place by place, is no work.
  llvm::erase_if(axes, [&](const Axis& a) {
    if (!same(a.in, a.out) || crop || a.scaleAt.v || (a.scale && *a.scale != 1)) return false;
    return m.transform != "tf_half_pixel_for_nn" || m.nearestMode == "floor";
  });
  std::vector<Size> shape = n.sizes(x);
  for (const Axis& a : axes)
    shape[a.dim] = a.out;
  n.requirePossible(shape);
  if (axes.empty()) return x;
  bool allStatic = llvm::all_of(axes, [](const Axis& a) { return a.isStatic(); });
  DType wide = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  if (m.antialias && m.mode != "nearest") {
    if (crop) n.error("'antialias' cannot be combined with 'tf_crop_and_resize'");
    return separable(n, x, axes, m, wide);
  }
  std::vector<Table> tables(axes.size());
  if (allStatic && !crop)
    for (auto [a, t] : llvm::zip(axes, tables))
      if (!wholeFactor(m, a)) t = makeTable(n, m, a, wide);
  return n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<SmallVector<Scalar>> places(axes.size()), weights(axes.size());
    Scalar inside;
    for (auto [i, a] : llvm::enumerate(axes)) {
      Scalar at = o[a.dim];
      if (auto k = wholeFactor(m, a)) {
        places[i].push_back(*k == 1 ? at : at / static_cast<double>(*k));
        continue;
      }
      if (const Table& t = tables[i]; t.places) {
        for (int64_t k = 0; k < t.taps; ++k) {
          places[i].push_back(n.toIndex(n.at(t.places, {at, n.index(k)})));
          if (t.weights) weights[i].push_back(n.at(t.weights, {at, n.index(k)}));
        }
        continue;
      }
      AxisNumbers<Scalar> numbers = scalarsOf(n, a);
      Scalar from = original(m, n.fromIndex(at, DType::F32), numbers);
      if (crop) {
        Scalar in = bitAnd(from >= 0.0, from <= numbers.in - 1.0);
        inside = inside.v ? bitAnd(inside, in) : in;
      }
      Taps<Scalar> taps = tapsAt(m, from, numbers);
      for (Scalar p : taps.places)
        places[i].push_back(n.toIndex(n.cast(p, DType::I32)));
      for (Scalar w : taps.weights)
        weights[i].push_back(n.cast(w, wide));
    }
    SmallVector<Scalar> idx(o);
    std::function<Scalar(size_t)> blend = [&](size_t i) -> Scalar {
      if (i == axes.size()) return m.mode == "nearest" ? n.at(x, idx) : n.cast(n.at(x, idx), wide);
      Scalar sum;
      for (size_t k = 0; k < places[i].size(); ++k) {
        idx[axes[i].dim] = places[i][k];
        Scalar v = blend(i + 1);
        if (!weights[i].empty()) v = v * weights[i][k];
        sum = sum.v ? sum + v : v;
      }
      return sum;
    };
    auto value = [&] { return n.cast(blend(0), x.dtype); };
    if (!inside.v) return value();
    return n.ifElse(inside, value, [&] { return n.literal(m.extrapolation, n.typeOf(x.dtype)); });
  });
}

/// floor(in * scale)
static Size scaledSize(NodeBuilder& n, Size in, double scale) {
  if (in.constant())
    return n.size(static_cast<int64_t>(std::floor(static_cast<double>(*in.constant()) *
                                                  static_cast<double>(static_cast<float>(scale)))));
  if (scale == std::floor(scale)) return in * n.size(static_cast<int64_t>(scale));
  if (double back = 1 / scale; back == std::floor(back))
    return in / n.size(static_cast<int64_t>(back));
  Scalar f = floor(n.fromIndex(n.index(in), DType::F32) * scale);
  return n.size(OpFoldResult(n.toIndex(n.cast(f, DType::I64)).v));
}

static void setScales(NodeBuilder& n, std::vector<Axis>& axes, ArrayRef<double> scales) {
  if (scales.size() != axes.size())
    n.error("'scales' has {} values; expected {}", scales.size(), axes.size());
  for (auto [a, s] : llvm::zip(axes, scales)) {
    if (!(s > 0) || !std::isfinite(s)) n.error("'scales' holds {}", s);
    a.scale = s, a.out = scaledSize(n, a.in, s);
  }
}
static void setScales(NodeBuilder& n, std::vector<Axis>& axes, Tensor scales) {
  if (auto c = n.constantTensor(scales)) {
    SmallVector<double> values;
    for (int64_t i = 0; i < c->size(); ++i)
      values.push_back(c->getDouble(i));
    return setScales(n, axes, values);
  }
  Size count = n.size(scales, 0);
  if (!count.is(axes.size())) n.error("'scales' must have {} values", axes.size());
  for (auto [i, a] : llvm::enumerate(axes)) {
    a.scaleAt = n.cast(n.at(scales, n.index(i)), DType::F32);
    Scalar f = floor(n.fromIndex(n.index(a.in), DType::F32) * a.scaleAt);
    a.out = n.size(OpFoldResult(n.toIndex(n.cast(max(f, 0.0), DType::I64)).v));
  }
}

static std::vector<Axis> allAxes(NodeBuilder& n, Tensor x, ArrayRef<int64_t> dims) {
  std::vector<Axis> axes;
  for (int64_t d : dims) {
    Axis a;
    a.dim = d, a.in = a.out = n.size(x, d);
    axes.push_back(a);
  }
  return axes;
}

static std::string modeOf(NodeBuilder& n) {
  std::string mode = n.stringAttr("mode", "nearest");
  if (mode == "bilinear") mode = "linear"; // opset 1
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    n.error("'mode' is '{}'; expected nearest, linear or cubic", mode);
  return mode;
}

ORTC_ONNX_OP("Upsample", since(1, 7, 9, 10)) {
  Tensor x = n.input(0, "X");
  Method m;
  m.mode = modeOf(n), m.transform = "asymmetric", m.nearestMode = "floor";
  if (m.mode != "nearest") n.input(0, "X", numeric);
  std::vector<Axis> axes = allAxes(n, x, axesFrom(0, x.rank()));
  if (n.opset < 7) {
    if (x.rank() != 4) n.error("the input has rank {}; expected 4", x.rank());
    setScales(n, axes, {1, 1, n.floatAttr("height_scale"), n.floatAttr("width_scale")});
  } else if (n.opset < 9) {
    SmallVector<double> scales;
    for (float s : n.floatsAttr("scales"))
      scales.push_back(s);
    setScales(n, axes, scales);
  } else
    setScales(n, axes, n.input(1, "scales", oneOf({DType::F32})));
  n.output(0, resize(n, x, axes, m));
}

/// The sizes that keep the aspect ratio: the smallest or largest of the scales, for all axes.
static void keepAspectRatio(NodeBuilder& n, std::vector<Axis>& axes, StringRef policy) {
  bool smallest = policy == "not_larger";
  if (llvm::all_of(axes, [](const Axis& a) { return a.in.constant() && a.out.constant(); })) {
    double scale = smallest ? INFINITY : 0;
    for (const Axis& a : axes) {
      double s = static_cast<double>(*a.out.constant()) / static_cast<double>(*a.in.constant());
      scale = smallest ? std::min(scale, s) : std::max(scale, s);
    }
    for (Axis& a : axes) {
      a.scale = scale;
      a.out = n.size(
          static_cast<int64_t>(std::floor(scale * static_cast<double>(*a.in.constant()) + 0.5)));
    }
    return;
  }
  Scalar scale;
  for (const Axis& a : axes) {
    Scalar s = n.fromIndex(n.index(a.out), DType::F32) / n.fromIndex(n.index(a.in), DType::F32);
    scale = !scale.v ? s : smallest ? min(scale, s) : max(scale, s);
  }
  for (Axis& a : axes) {
    a.scaleAt = scale;
    Scalar rounded = floor(n.fromIndex(n.index(a.in), DType::F32) * scale + 0.5);
    a.out = n.size(OpFoldResult(n.toIndex(n.cast(rounded, DType::I64)).v));
  }
}

ORTC_ONNX_OP("Resize", since(10, 11, 13, 18, 19)) {
  Tensor x = n.input(0, "X");
  Method m;
  m.mode = modeOf(n);
  if (m.mode != "nearest") n.input(0, "X", numeric);
  if (n.opset < 11) {
    m.transform = "asymmetric", m.nearestMode = "simple";
    std::vector<Axis> axes = allAxes(n, x, axesFrom(0, x.rank()));
    setScales(n, axes, n.input(1, "scales", oneOf({DType::F32})));
    return n.output(0, resize(n, x, axes, m));
  }
  m.transform = n.stringAttr("coordinate_transformation_mode", "half_pixel");
  m.nearestMode = n.stringAttr("nearest_mode", "round_prefer_floor");
  m.cubicA = n.floatAttr("cubic_coeff_a", -0.75),
  m.extrapolation = n.floatAttr("extrapolation_value", 0.0);
  m.excludeOutside = n.flagAttr("exclude_outside", false) && m.mode == "cubic";
  m.antialias = n.flagAttr("antialias", false);
  if (m.antialias) m.excludeOutside = n.flagAttr("exclude_outside", false);
  static const StringRef transforms[] = {
      "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
      "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"};
  static const StringRef nearestModes[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                           "ceil"};
  if (!llvm::is_contained(transforms, m.transform))
    n.error("'coordinate_transformation_mode' is '{}', which is none", m.transform);
  if (!llvm::is_contained(nearestModes, m.nearestMode))
    n.error("'nearest_mode' is '{}', which is none", m.nearestMode);
  bool crop = m.transform == "tf_crop_and_resize";
  if (crop && !plainType.has(x.dtype)) n.error("'tf_crop_and_resize' needs numbers");
  std::vector<int64_t> dims = axesFrom(0, x.rank());
  if (n.opset >= 18 && n.hasAttr("axes")) dims = n.axes(n.intsAttr("axes"), x.rank());
  std::vector<Axis> axes = allAxes(n, x, dims);
  Tensor roi = n.optionalInput(1, "roi"),
         scales = n.optionalInput(2, "scales", oneOf({DType::F32})),
         sizes = n.optionalInput(3, "sizes", oneOf({DType::I64}));
  // An empty tensor is the way to leave an input out of opset 11 models.
  auto present = [&](Tensor t) { return t && !(t.rank() == 1 && n.size(t, 0).is(0)); };
  if (present(scales) == present(sizes)) n.error("needs either 'scales' or 'sizes'");
  if (present(scales))
    setScales(n, axes, scales);
  else {
    std::vector<Size> out = n.asSizes(sizes, "sizes");
    if (out.size() != axes.size())
      n.error("'sizes' has {} values; expected {}", out.size(), axes.size());
    for (auto [a, s] : llvm::zip(axes, out))
      a.out = s;
    std::string policy = n.stringAttr("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
      n.error("'keep_aspect_ratio_policy' is '{}', which is none", policy);
    if (policy != "stretch") keepAspectRatio(n, axes, policy);
  }
  if (crop) {
    if (!present(roi)) n.error("'tf_crop_and_resize' needs 'roi'");
    auto c = n.constantTensor(roi);
    if (c && c->size() != static_cast<int64_t>(2 * axes.size()))
      n.error("'roi' has {} values; expected {}", c->size(), 2 * axes.size());
    for (auto [i, a] : llvm::enumerate(axes)) {
      if (c)
        a.roiBegin = c->getDouble(i), a.roiEnd = c->getDouble(axes.size() + i);
      else {
        a.roiBeginAt = n.cast(n.at(roi, n.index(i)), DType::F32);
        a.roiEndAt = n.cast(n.at(roi, n.index(axes.size() + i)), DType::F32);
      }
    }
  }
  n.output(0, resize(n, x, axes, m));
}

} // namespace ortc::opdef
