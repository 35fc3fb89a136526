// SPDX-License-Identifier: Apache-2.0
// Boxes in images: RoiAlign and MaxRoiPool pool what lies in them, NonMaxSuppression chooses among
// them.
#include "compiler/onnx/families/Sort.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Rois {
  Tensor x, rois;
  std::vector<Size> in;
  Size count;
  DType wide;
};
} // namespace

static Rois readRois(NodeBuilder& n, int64_t columns) {
  Rois r;
  r.x = n.input(0, "X", floating), r.rois = n.input(1, "rois", oneOf({r.x.dtype}));
  if (r.x.rank() != 4 || r.rois.rank() != 2)
    n.error("'X' and 'rois' have ranks {} and {}; expected 4 and 2", r.x.rank(), r.rois.rank());
  n.requireShape(r.rois, {n.size(r.rois, 0), n.size(columns)}, "rois");
  r.in = n.sizes(r.x), r.count = n.size(r.rois, 0), r.wide = wideType(r.x.dtype);
  return r;
}

// Before opset 16 boxes were not moved by half a pixel.
ORTC_ONNX_OP("RoiAlign", since(10, 16, 22)) {
  Rois r = readRois(n, 4);
  Tensor batches = n.input(2, "batch_indices", oneOf({DType::I64}));
  std::string mode = n.stringAttr("mode", "avg"),
              pixel = n.opset < 16 ? std::string("output_half_pixel")
                                   : n.stringAttr("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max") n.error("'mode' is '{}'; expected avg or max", mode);
  if (pixel != "half_pixel" && pixel != "output_half_pixel")
    n.error("'coordinate_transformation_mode' is '{}'", pixel);
  int64_t height = n.intAttr("output_height", 1), width = n.intAttr("output_width", 1),
          ratio = n.intAttr("sampling_ratio", 0);
  if (height < 1 || width < 1 || ratio < 0)
    n.error("the output is {} by {} with {} samples", height, width, ratio);
  double scale = n.floatAttr("spatial_scale", 1.0);
  bool half = pixel == "half_pixel", isMax = mode == "max";
  std::vector<Size> shape{r.count, r.in[1], n.size(height), n.size(width)};
  n.requireShape(batches, r.count, "batch_indices");
  n.requireIndices(batches, r.in[0], "batch_indices", /*negative=*/false);
  n.output(0, n.generate(shape, r.x.dtype, [&](ArrayRef<Scalar> o) {
    Scalar batch = safeIndex(n, n.at(batches, o[0]), r.in[0]);
    auto corner = [&](int64_t k) {
      Scalar v = n.cast(n.at(r.rois, {o[0], n.index(k)}), r.wide) * scale;
      return half ? v - 0.5 : v;
    };
    // Along each of height and width: where the bin begins, its size, and how many samples it has.
    struct Side {
      Scalar begin, step, samples, extent;
    };
    auto side = [&](int64_t first, int64_t last, int64_t bins, Scalar at, Size extent) {
      Scalar from = corner(first), span = corner(last) - from;
      if (!half) span = max(span, 1.0);
      Scalar bin = span / static_cast<double>(bins);
      Scalar samples = ratio ? n.index(ratio) : n.toIndex(n.cast(ceil(bin), DType::I64));
      Scalar begin = from + n.fromIndex(at, r.wide) * bin;
      return Side{begin, bin / n.fromIndex(max(samples, 1.0), r.wide), samples, n.index(extent)};
    };
    Side y = side(1, 3, height, o[2], r.in[2]), x = side(0, 2, width, o[3], r.in[3]);
    auto place = [&](const Side& s, Scalar k) {
      return s.begin + (n.fromIndex(k, r.wide) + 0.5) * s.step;
    };
    // A sample: four corners and their weights; nothing beyond one pixel outside of the image.
    struct Split {
      Scalar low, high, weight, inside;
    };
    auto split = [&](const Side& s, Scalar p) {
      Scalar extent = n.fromIndex(s.extent, r.wide);
      Scalar inside = bitAnd(p >= -1.0, p <= extent);
      p = max(min(p, extent - 1.0), 0.0);
      Scalar low = n.toIndex(n.cast(p, DType::I64)), high = min(low + 1.0, s.extent - 1.0);
      return Split{low, high, p - n.fromIndex(low, r.wide), inside};
    };
    auto sample = [&](Scalar i, Scalar j, Scalar carried, Scalar isFirst) {
      Split v = split(y, place(y, i)), h = split(x, place(x, j));
      auto at = [&](Scalar row, Scalar column) {
        return n.cast(n.at(r.x, {batch, o[1], row, column}), r.wide);
      };
      return n.ifElse(
          bitAnd(v.inside, h.inside),
          [&] {
            Scalar a = (1.0 - v.weight) * (1.0 - h.weight) * at(v.low, h.low),
                   b = (1.0 - v.weight) * h.weight * at(v.low, h.high),
                   c = v.weight * (1.0 - h.weight) * at(v.high, h.low),
                   d = v.weight * h.weight * at(v.high, h.high);
            if (!isMax) return carried + a + b + c + d;
            Scalar most = max(max(a, b), max(c, d));
            return select(isFirst, most, max(carried, most));
          },
          [&] {
            if (!isMax) return carried;
            Scalar zero = n.literal(0, carried);
            return select(isFirst, zero, max(carried, zero));
          });
    };
    Scalar zero = n.literal(0, n.typeOf(r.wide));
    Scalar all =
        n.repeat(n.index(0), y.samples, {zero},
                 [&](Scalar i, ArrayRef<Scalar> rows) -> NodeBuilder::Scalars {
                   return n.repeat(n.index(0), x.samples, {rows[0]},
                                   [&](Scalar j, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
                                     Scalar isFirst = bitAnd(equal(i, 0.0), equal(j, 0.0));
                                     return {sample(i, j, c[0], isFirst)};
                                   });
                 })[0];
    if (!isMax) all = all / n.fromIndex(max(y.samples * x.samples, 1.0), r.wide);
    return n.cast(all, r.x.dtype);
  }));
}

// Boxes are rounded to pixels, and so are their bins.
ORTC_ONNX_OP("MaxRoiPool", since(1, 22)) {
  Rois r = readRois(n, 5);
  std::vector<int64_t> pooled = n.intsAttr("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    n.error("'pooled_shape' must have two positive values");
  double scale = n.floatAttr("spatial_scale", 1.0);
  std::vector<Size> shape{r.count, r.in[1], n.size(pooled[0]), n.size(pooled[1])};
  n.output(0, n.generate(shape, r.x.dtype, [&](ArrayRef<Scalar> o) {
    auto roi = [&](int64_t k) { return n.cast(n.at(r.rois, {o[0], n.index(k)}), r.wide); };
    Scalar batch = safeIndex(n, n.cast(roi(0), DType::I64), r.in[0]);
    auto ends = [&](int64_t first, int64_t last, int64_t bins, Scalar at, Size extent) {
      auto rounded = [&](int64_t k) { return floor(roi(k) * scale + 0.5); };
      Scalar from = rounded(first), span = max(rounded(last) - from + 1.0, 1.0),
             bin = span / static_cast<double>(bins), i = n.fromIndex(at, r.wide),
             top = n.fromIndex(n.index(extent), r.wide);
      auto limited = [&](Scalar v) {
        return n.toIndex(n.cast(max(min(v + from, top), 0.0), DType::I64));
      };
      return std::pair(limited(floor(i * bin)), limited(ceil((i + 1.0) * bin)));
    };
    auto [y0, y1] = ends(2, 4, pooled[0], o[2], r.in[2]);
    auto [x0, x1] = ends(1, 3, pooled[1], o[3], r.in[3]);
    Scalar lowest = n.literal(-INFINITY, n.typeOf(r.x.dtype));
    Scalar most =
        n.repeat(y0, y1, {lowest}, [&](Scalar i, ArrayRef<Scalar> rows) -> NodeBuilder::Scalars {
          return n.repeat(x0, x1, {rows[0]},
                          [&](Scalar j, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
                            return {max(c[0], n.at(r.x, {batch, o[1], i, j}))};
                          });
        })[0];
    Scalar empty = bitOr(y1 <= y0, x1 <= x0);
    return select(empty, 0.0, most);
  }));
}

// Of each class of each image the boxes from the best score down, but none that overlaps one
// already taken. The result has as many rows as were taken.
ORTC_ONNX_OP("NonMaxSuppression", since(10, 11)) {
  Tensor boxes = n.input(0, "boxes", oneOf({DType::F32})),
         scores = n.input(1, "scores", oneOf({DType::F32}));
  if (boxes.rank() != 3 || scores.rank() != 3)
    n.error("'boxes' and 'scores' have ranks {} and {}; expected 3", boxes.rank(), scores.rank());
  Size B = n.size(scores, 0), C = n.size(scores, 1), N = n.size(boxes, 1), most = n.size(0);
  n.requireShape(boxes, {B, N, n.size(4)}, "boxes");
  n.requireShape(scores, {B, C, N}, "scores");
  if (Tensor t = n.optionalInput(2, "max_output_boxes_per_class", oneOf({DType::I64}))) {
    std::vector<Size> v = n.asSizes(t, "max_output_boxes_per_class");
    if (v.size() != 1) n.error("'max_output_boxes_per_class' must have one element");
    most = nonNegative(atMost(v[0], N));
  }
  Tensor overlap = n.optionalInput(3, "iou_threshold", oneOf({DType::F32})),
         least = n.optionalInput(4, "score_threshold", oneOf({DType::F32}));
  bool centers = n.flagAttr("center_point_box", false);
  auto scalarOf = [&](Tensor t) { return n.at(t, SmallVector<Scalar>(t.rank(), n.index(0))); };
  // Per class: places of boxes that may be taken, as a heap, which leaves room behind it for those
  // that are (the first at the end); the sides of these; and how many they are.
  std::vector<Size> row{B, C};
  NodeBuilder::OutType places{{B, C, N}, DType::I64},
      sides{{B, C, max(most, n.size(1)), n.size(4)}, DType::F32}, counts{{B, C}, DType::I64},
      one{{n.size(1)}, DType::I64};
  auto fromEnd = [&](Scalar k) { return n.index(N) - 1.0 - k; };
  auto code = [&](ArrayRef<Scalar> bc, ArrayRef<Out> out) {
    Scalar b = bc[0], c = bc[1];
    auto load = [&](Scalar i) { return out[0].load({b, c, i}); };
    auto store = [&](Scalar i, Scalar place) { out[0].store({b, c, i}, place); };
    auto score = [&](Scalar i) { return n.at(scores, {b, c, n.toIndex(i)}); };
    // Few are taken as a rule, and most have a score below the threshold: only the others are
    // looked at, and no more of them are brought into order than it takes. What comes last is on
    // top.
    auto comesLater = [&](Scalar i, Scalar j) {
      Scalar v = score(i), w = score(j);
      return bitOr(v < w, bitAnd(equal(v, w), i > j));
    };
    PlaceList candidates{n, load, store, comesLater};
    Scalar all = n.repeat(n.index(0), n.index(N), {n.index(0)},
                          [&](Scalar i, ArrayRef<Scalar> s) -> NodeBuilder::Scalars {
                            Scalar place = n.fromIndex(i, DType::I64);
                            store(s[0], place);
                            Scalar good =
                                least ? score(place) > scalarOf(least) : !isNaN(score(place));
                            return {select(good, s[0] + 1.0, s[0])};
                          })[0];
    candidates.makeHeap(all);
    struct Side {
      Scalar from, to;
      Scalar length() const { return to - from; }
    };
    // Corners are not ordered; what is NaN overlaps nothing, whichever is taken for the smaller.
    auto smaller = [](Scalar v, Scalar w) { return select(v < w, v, w); };
    auto larger = [](Scalar v, Scalar w) { return select(v < w, w, v); };
    auto side = [&](Scalar i, int64_t axis) { // 0: up and down, 1: across
      auto at = [&](int64_t k) { return n.at(boxes, {b, n.toIndex(i), n.index(k)}); };
      if (centers) {
        Scalar middle = at(1 - axis), half = at(3 - axis) * 0.5;
        return Side{middle - half, middle + half};
      }
      return Side{smaller(at(axis), at(axis + 2)), larger(at(axis), at(axis + 2))};
    };
    auto shared = [&](const Side& p, const Side& q) {
      return smaller(p.to, q.to) - larger(p.from, q.from);
    };
    auto sideOfTaken = [&](Scalar k, int64_t axis) {
      auto at = [&](int64_t i) { return out[1].load({b, c, k, n.index(i)}); };
      return Side{at(2 * axis), at(2 * axis + 1)};
    };
    // Most pairs are apart along one axis already.
    auto overlaps = [&](const std::array<Side, 2>& p, Scalar taken) {
      Scalar no = n.literal(0, n.b.getI1Type());
      std::array<Side, 2> q{sideOfTaken(taken, 0), {}};
      Scalar height = shared(p[0], q[0]);
      return n.ifElse(
          height > 0.0,
          [&] {
            q[1] = sideOfTaken(taken, 1);
            Scalar width = shared(p[1], q[1]);
            return n.ifElse(
                width > 0.0,
                [&] {
                  auto area = [](ArrayRef<Side> s) { return s[0].length() * s[1].length(); };
                  Scalar common = height * width, both = area(p) + area(q) - common;
                  Scalar sound = bitAnd(bitAnd(area(p) > 0.0, area(q) > 0.0), both > 0.0);
                  Scalar limit = overlap ? scalarOf(overlap) : n.literal(0, common);
                  return bitAnd(sound, common / both > limit);
                },
                [&] { return no; });
          },
          [&] { return no; });
    };
    auto end = n.whileTrue(
        {all, n.index(0)},
        [&](ArrayRef<Scalar> s) { return bitAnd(s[0] > n.index(0), s[1] < n.index(most)); },
        [&](ArrayRef<Scalar> s) -> NodeBuilder::Scalars {
          Scalar i = load(n.index(0));
          candidates.removeTop(s[0]);
          std::array<Side, 2> box{side(i, 0), side(i, 1)};
          Scalar keep = n.whileTrue(
              {n.index(0), n.literal(1, n.b.getI1Type(), true)},
              [&](ArrayRef<Scalar> k) { return bitAnd(k[1], k[0] < s[1]); },
              [&](ArrayRef<Scalar> k) -> NodeBuilder::Scalars {
                return {k[0] + 1.0, !overlaps(box, k[0])};
              })[1];
          n.ifThen(keep, [&] {
            store(fromEnd(s[1]), i);
            for (int64_t axis = 0; axis < 2; ++axis) {
              out[1].store({b, c, s[1], n.index(2 * axis)}, box[axis].from);
              out[1].store({b, c, s[1], n.index(2 * axis + 1)}, box[axis].to);
            }
          });
          return {s[0] - 1.0, select(keep, s[1] + 1.0, s[1])};
        });
    out[2].store({b, c}, n.fromIndex(end[1], DType::I64));
  };
  std::vector<Tensor> r = n.serial(row, {places, sides, counts}, code);
  // All classes behind each other.
  Size bound = B * C * most;
  NodeBuilder::OutType rows{{bound, n.size(3)}, DType::I64};
  auto gather = [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
    Scalar zero = n.literal(0, n.b.getI64Type());
    n.repeat(n.index(0), n.index(bound), [&](Scalar i) {
      for (int64_t k = 0; k < 3; ++k)
        out[0].store({i, n.index(k)}, zero);
    });
    auto all = n.repeat(
        n.index(0), n.index(B), {n.index(0)},
        [&](Scalar b, ArrayRef<Scalar> s) -> NodeBuilder::Scalars {
          return n.repeat(n.index(0), n.index(C), {s[0]},
                          [&](Scalar c, ArrayRef<Scalar> t) -> NodeBuilder::Scalars {
                            return n.repeat(
                                n.index(0), n.toIndex(n.at(r[2], {b, c})), {t[0]},
                                [&](Scalar k, ArrayRef<Scalar> u) -> NodeBuilder::Scalars {
                                  out[0].store({u[0], n.index(0)}, n.fromIndex(b, DType::I64));
                                  out[0].store({u[0], n.index(1)}, n.fromIndex(c, DType::I64));
                                  out[0].store({u[0], n.index(2)}, n.at(r[0], {b, c, fromEnd(k)}));
                                  return {u[0] + 1.0};
                                });
                          });
        });
    out[1].store(n.index(0), n.fromIndex(all[0], DType::I64));
  };
  std::vector<Tensor> all = n.serial({}, {rows, one}, gather);
  Size count = countedSize(n, all[1], bound);
  n.output(0, n.slice(all[0], {n.size(0), n.size(0)}, {count, n.size(3)}));
}

} // namespace ortc::opdef
