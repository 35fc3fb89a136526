// SPDX-License-Identifier: Apache-2.0
// Sampling images at places that are data: by grids, by boxes, and the grids of affine maps.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Sampler {
  std::string mode, padding;
  bool alignCorners = false;
};
} // namespace

/// Mirrors x at the ends of [low, high] as often as needed.
static Scalar reflected(Scalar x, Scalar low, Scalar high) {
  Scalar range = max(high - low, 1e-6), from = abs(x - low), turns = floor(from / range),
         rest = from - turns * range;
  // after an even number of turns the direction is the first one
  Scalar odd = notEqual(turns - floor(turns * 0.5) * 2.0, 0.0);
  return select(odd, high - rest, low + rest);
}

// Coordinates are in [-1, 1], x first. [N, C, spatial...] at grid [N, out..., rank]
static void gridSample(NodeBuilder& n, StringRef linear, int64_t most) {
  Tensor x = n.input(0, "X", numeric), grid = n.input(1, "grid", floating);
  int64_t rank = x.rank() - 2;
  if (rank < 1 || rank > most || grid.rank() != x.rank())
    n.error("the input has rank {} and the grid {}; expected equal ranks from 3 to {}", x.rank(),
            grid.rank(), most + 2);
  if (!n.size(grid, grid.rank() - 1).is(rank))
    n.error("the last size of the grid must be {}", rank);
  Sampler s;
  s.mode = n.stringAttr("mode", linear.str()), s.padding = n.stringAttr("padding_mode", "zeros");
  s.alignCorners = n.flagAttr("align_corners", false);
  if (s.mode == "bilinear") s.mode = "linear";
  if (s.mode == "bicubic") s.mode = "cubic";
  if (s.mode != "linear" && s.mode != "nearest" && s.mode != "cubic")
    n.error("'mode' is '{}'; expected linear, nearest or cubic", s.mode);
  if (s.padding != "zeros" && s.padding != "border" && s.padding != "reflection")
    n.error("'padding_mode' is '{}'; expected zeros, border or reflection", s.padding);
  std::vector<Size> in = n.sizes(x), out = n.sizes(grid), shape{in[0], in[1]};
  n.requireEqual(in[0], out[0], "the batches of 'X' and 'grid' differ");
  shape.insert(shape.end(), out.begin() + 1, out.end() - 1);
  DType type = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<SmallVector<Scalar>> places(rank), weights(rank), valid(rank);
    for (int64_t d = 0; d < rank; ++d) {
      SmallVector<Scalar> at{o[0]};
      at.append(o.begin() + 2, o.end());
      at.push_back(n.index(rank - 1 - d));
      Scalar size = n.fromIndex(n.index(in[d + 2]), type), g = n.cast(n.at(grid, at), type),
             last = size - 1.0;
      Scalar p = s.alignCorners ? (g + 1.0) * 0.5 * last : ((g + 1.0) * size - 1.0) * 0.5;
      Scalar low = n.literal(s.alignCorners ? 0 : -0.5, p),
             high = s.alignCorners ? last : size - 0.5;
      if (s.mode == "nearest") p = roundEven(p);
      if (s.padding == "border") p = max(min(p, last), 0.0);
      if (s.padding == "reflection") p = select(bitOr(p<low, p> high), reflected(p, low, high), p);
      SmallVector<Scalar> taps;
      if (s.mode == "nearest")
        taps = {p};
      else {
        Scalar base = floor(p), t = p - base;
        if (s.mode == "linear")
          taps = {base, base + 1.0}, weights[d] = {1.0 - t, t};
        else { // [Keys 1981] with a = -3/4
          const double A = -0.75;
          Scalar u = t + 1.0, v = 1.0 - t, w = 2.0 - t;
          taps = {base - 1.0, base, base + 1.0, base + 2.0};
          weights[d] = {
              ((A * u - 5 * A) * u + 8 * A) * u - 4 * A, ((A + 2) * t - (A + 3)) * t * t + 1.0,
              ((A + 2) * v - (A + 3)) * v * v + 1.0, ((A * w - 5 * A) * w + 8 * A) * w - 4 * A};
        }
      }
      for (Scalar tap : taps) {
        if (s.padding == "zeros") valid[d].push_back(bitAnd(tap >= 0.0, tap <= last));
        if (s.padding == "reflection")
          tap = trunc(select(bitOr(tap<low, tap> high), reflected(tap, low, high), tap));
        places[d].push_back(n.toIndex(n.cast(max(min(tap, last), 0.0), DType::I32)));
      }
    }
    SmallVector<Scalar> idx{o[0], o[1]};
    idx.resize(rank + 2);
    std::function<Scalar(int64_t, Scalar)> blend = [&](int64_t d, Scalar inside) -> Scalar {
      if (d == rank) {
        auto read = [&] { return n.cast(n.at(x, idx), type); };
        return inside.v ? n.ifElse(inside, read, [&] { return n.literal(0, n.typeOf(type)); })
                        : read();
      }
      Scalar sum;
      for (size_t k = 0; k < places[d].size(); ++k) {
        idx[d + 2] = places[d][k];
        Scalar in = valid[d].empty() ? inside
                    : inside.v       ? bitAnd(inside, valid[d][k])
                                     : valid[d][k];
        Scalar v = blend(d + 1, in);
        if (!weights[d].empty()) v = v * weights[d][k];
        sum = sum.v ? sum + v : v;
      }
      return sum;
    };
    return n.cast(blend(0, {}), x.dtype);
  }));
}
ORTC_ONNX_OP("GridSample", since(16, 20, 22)) {
  gridSample(n, n.opset < 20 ? "bilinear" : "linear", 3);
}
ORTC_ONNX_OP_IN("com.microsoft", "GridSample", since(1)) {
  gridSample(n, "bilinear", 2);
}

// Boxes (y1, x1, y2, x2) whose corners are the centres of the outermost pixels: 0 is the first row
// of an image, 1 its last. A box of one row or column is sampled in its middle.
ORTC_ONNX_OP_IN("com.microsoft", "CropAndResize", since(1)) {
  Tensor x = n.input(0, "X", floating), rois = n.input(1, "rois", oneOf({x.dtype})),
         images = n.input(2, "batch_indices", oneOf({DType::I32})),
         cropSize = n.input(3, "crop_size", oneOf({DType::I32}));
  std::string mode = n.stringAttr("mode", "bilinear");
  double outside = n.floatAttr("extrapolation_value", 0.0);
  if (mode != "bilinear" && mode != "nearest")
    n.error("'mode' is '{}'; expected bilinear or nearest", mode);
  if (x.rank() != 4 || rois.rank() != 2 || images.rank() != 1 || !n.size(rois, 1).is(4))
    n.error("'X' is {}, 'rois' {} and 'batch_indices' {}; expected ranks 4, 2 and 1, and 4 numbers "
            "for each box",
            n.typeText(x), n.typeText(rois), n.typeText(images));
  std::vector<Size> in = n.sizes(x), crop = n.asSizes(cropSize, "crop_size");
  if (crop.size() != 2) n.error("'crop_size' has {} values; expected 2", crop.size());
  for (Size& s : crop) {
    if (s.constant() && *s.constant() < 1) n.error("'crop_size' holds {}", *s.constant());
    n.requireNonNegative(s, "'crop_size' is negative");
    s = nonNegative(s);
  }
  n.requireEqual(n.size(images, 0), n.size(rois, 0), "the boxes and 'batch_indices' differ");
  n.requireIndices(images, in[0], "batch_indices", /*negative=*/false);
  DType wide = wideType(x.dtype);
  n.output(
      0, n.generate({n.size(rois, 0), in[1], crop[0], crop[1]}, x.dtype, [&](ArrayRef<Scalar> o) {
        Scalar image = safeIndex(n, n.at(images, o[0]), in[0]), places[2], lasts[2], inside;
        for (int64_t d = 0; d < 2; ++d) {
          auto corner = [&](int64_t k) { return n.cast(n.at(rois, {o[0], n.index(k)}), wide); };
          Scalar low = corner(d), high = corner(d + 2), count = n.fromIndex(n.index(crop[d]), wide);
          lasts[d] = n.fromIndex(n.index(in[d + 2]), wide) - 1.0;
          Scalar step = (high - low) * lasts[d] / max(count - 1.0, 1.0);
          places[d] = select(count > 1.0, low * lasts[d] + n.fromIndex(o[d + 2], wide) * step,
                             (low + high) * 0.5 * lasts[d]);
          Scalar in = bitAnd(places[d] >= 0.0, places[d] <= lasts[d]);
          inside = d ? bitAnd(inside, in) : in;
        }
        auto read = [&](Scalar y, Scalar x0) {
          auto pixel = [&](Scalar p, Scalar last) {
            return n.toIndex(n.cast(max(min(p, last), 0.0), DType::I32));
          };
          return n.cast(n.at(x, {image, o[1], pixel(y, lasts[0]), pixel(x0, lasts[1])}), wide);
        };
        auto sampled = [&] {
          if (mode == "nearest") // halves go up
            return read(floor(places[0] + 0.5), floor(places[1] + 0.5));
          Scalar top = floor(places[0]), left = floor(places[1]), v = places[0] - top,
                 u = places[1] - left;
          auto line = [&](Scalar y) { return read(y, left) * (1.0 - u) + read(y, left + 1.0) * u; };
          return line(top) * (1.0 - v) + line(top + 1.0) * v;
        };
        Scalar value =
            n.ifElse(inside, sampled, [&] { return n.literal(outside, n.typeOf(wide)); });
        return n.cast(value, x.dtype);
      }));
}

// theta [N, r, r + 1] applied to the places of an image of `size` [N, C, spatial...]: [N,
// spatial..., r], x first
ORTC_ONNX_OP("AffineGrid", since(20)) {
  Tensor theta = n.input(0, "theta", floating);
  std::vector<Size> size = n.asSizes(n.input(1, "size", oneOf({DType::I64})), "size");
  int64_t rank = static_cast<int64_t>(size.size()) - 2;
  if (theta.rank() != 3 || (rank != 2 && rank != 3))
    n.error("'theta' has rank {} and 'size' {} values; expected 3, and 4 or 5", theta.rank(),
            size.size());
  bool align = n.flagAttr("align_corners", false);
  std::vector<Size> shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(n.size(rank));
  DType type = theta.dtype == DType::F64 ? DType::F64 : DType::F32;
  n.output(0, n.generate(shape, theta.dtype, [&](ArrayRef<Scalar> o) {
    Scalar sum = n.cast(n.at(theta, {o[0], o.back(), n.index(rank)}), type);
    for (int64_t k = 0; k < rank; ++k) { // x is the last dim
      Scalar i = n.fromIndex(o[rank - k], type),
             extent = n.fromIndex(n.index(size[rank + 1 - k]), type);
      Scalar at = align ? i * 2.0 / max(extent - 1.0, 1.0) - 1.0 : (i * 2.0 + 1.0) / extent - 1.0;
      sum = sum + n.cast(n.at(theta, {o[0], o.back(), n.index(k)}), type) * at;
    }
    return n.cast(sum, theta.dtype);
  }));
}

} // namespace ortc::opdef
