// SPDX-License-Identifier: Apache-2.0
// Pad: more (or, with negative pads, fewer) elements at the ends of each dim, constant or taken
// from the tensor.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// The place in [0, extent) that index i outside of it is a copy of.
static Scalar source(NodeBuilder& n, StringRef mode, Scalar i, Size extent) {
  Scalar size = n.index(extent), last = size - 1.0;
  if (mode == "edge") return max(min(i, last), 0.0);
  if (mode == "wrap") return floorMod(i, max(size, 1.0));
  // reflect: a wave of period 2 * (size - 1), without repeating the ends
  Scalar period = max(last * 2.0, 1.0), at = floorMod(i, period);
  return min(at, period - at);
}

static void pad(NodeBuilder& n, Tensor x, ArrayRef<Size> begin, ArrayRef<Size> end, StringRef mode,
                Tensor value, double literal) {
  std::vector<Size> in = n.sizes(x), out;
  int64_t rank = x.rank();
  bool cropsOnly = true;
  for (int64_t d = 0; d < rank; ++d) {
    out.push_back(in[d] + begin[d] + end[d]);
    if (out.back().constant() && *out.back().constant() < 0)
      n.error("dim {} of {} elements cannot lose {}", d, *in[d].constant(),
              *in[d].constant() - *out.back().constant());
    cropsOnly &= indexRange(begin[d].v).second <= 0 && indexRange(end[d].v).second <= 0;
  }
  if (cropsOnly) {
    std::vector<Size> starts;
    for (Size b : begin)
      starts.push_back(n.size(0) - b);
    return n.output(0, n.slice(x, starts, out));
  }
  if (mode != "constant") {
    // What is repeated is what negative pads leave, of which there must be something.
    std::vector<Size> cut(rank, n.size(0)), left = in;
    for (int64_t d = 0; d < rank; ++d) {
      cut[d] = nonNegative(n.size(0) - begin[d]);
      left[d] = in[d] - cut[d] - nonNegative(n.size(0) - end[d]);
      if (!begin[d].is(0) || !end[d].is(0))
        n.requireNonNegative(left[d] - n.size(1),
                             fmt::format("there is nothing to repeat on axis {}", d));
    }
    return n.output(0, n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
      SmallVector<Scalar> i(o);
      for (int64_t d = 0; d < rank; ++d) {
        if (begin[d].is(0) && end[d].is(0)) continue;
        Size first = begin[d] + cut[d];
        if (!first.is(0)) i[d] = o[d] - n.index(first);
        i[d] = source(n, mode, i[d], left[d]);
        if (!cut[d].is(0)) i[d] = i[d] + n.index(cut[d]);
      }
      return n.at(x, i);
    }));
  }
  if (!value) return n.output(0, padded(n, x, begin, end, literal));
  n.output(0, n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    Scalar inside;
    auto also = [&](Scalar c) { inside = inside.v ? bitAnd(inside, c) : c; };
    for (int64_t d = 0; d < rank; ++d) {
      if (!begin[d].is(0)) {
        i[d] = o[d] - n.index(begin[d]);
        also(i[d] >= 0.0);
      }
      if (!end[d].is(0)) also(i[d] < n.index(in[d]));
    }
    return n.ifElse(inside, [&] { return n.at(x, i); }, [&] { return n.at(value, {}); });
  }));
}

/// Pads x with `value`, a tensor of one element, or where that is absent with `literal`.
static void padAround(NodeBuilder& n, Tensor x, ArrayRef<Size> begin, ArrayRef<Size> end,
                      StringRef mode, Tensor value, double literal) {
  if (value) {
    value = n.reshape(value, {});
    if (auto c = n.constantTensor(value); c && c->data && isFloat(x.dtype))
      literal = c->getDouble(0), value = {};
  } else if (mode == "constant" && !plainType.has(x.dtype)) {
    if (x.dtype != DType::String) n.error("complex numbers need 'constant_value'");
    HostTensor empty(n.typeOf(DType::String), {});
    value = n.constant(empty, DType::String);
  }
  pad(n, x, begin, end, mode, value, literal);
}

// Attributes before opset 11 ('paddings' in opset 1); axes since 18; mode wrap since 19, but
// exporters write it before, too.
ORTC_ONNX_OP("Pad", since(1, 2, 11, 13, 18, 19, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data"), value;
  std::string mode = n.stringAttr("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    n.error("'mode' is '{}'; expected constant, reflect, edge or wrap", mode);
  std::vector<Size> pads;
  double literal = 0;
  std::vector<int64_t> axes = axesFrom(0, x.rank());
  std::vector<Size> axesAtRun;
  if (n.opset < 11) {
    for (int64_t p : n.intsAttr(n.opset < 2 ? "paddings" : "pads"))
      pads.push_back(n.size(p));
    literal = n.floatAttr("value", 0.0);
  } else {
    pads = n.asSizes(n.input(1, "pads", indexInteger), "pads");
    value = n.optionalInput(2, "constant_value", oneOf({x.dtype}));
    if (n.opset >= 18)
      if (Tensor a = n.optionalInput(3, "axes", indexInteger)) {
        if (auto known = n.constantInts(a))
          axes = n.axes(*known, x.rank());
        else
          axesAtRun = n.asSizes(a, "axes"), axes.resize(axesAtRun.size());
      }
  }
  if (pads.size() != 2 * axes.size())
    n.error("'pads' has {} values; expected {}", pads.size(), 2 * axes.size());
  std::vector<Size> begin(x.rank(), n.size(0)), end = begin;
  if (axesAtRun.empty())
    for (auto [i, a] : llvm::enumerate(axes))
      begin[a] = pads[i], end[a] = pads[axes.size() + i];
  for (auto [i, a] : llvm::enumerate(axesAtRun))
    for (int64_t d = 0; d < x.rank(); ++d) {
      Scalar here = bitOr(equal(n.index(a), static_cast<double>(d)),
                          equal(n.index(a), static_cast<double>(d - x.rank())));
      begin[d] = selectSize(n, here, pads[i], begin[d]),
      end[d] = selectSize(n, here, pads[axes.size() + i], end[d]);
    }
  padAround(n, x, begin, end, mode, value, literal);
}

// Pads for all axes, as a list or as the one row of a matrix.
ORTC_ONNX_OP_IN("com.microsoft", "Pad", since(1)) {
  Tensor x = n.input(0, "data", floating), given = n.input(1, "pads", oneOf({DType::I64})),
         value = n.optionalInput(2, "value", oneOf({x.dtype}));
  std::string mode = n.stringAttr("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    n.error("'mode' is '{}'; expected constant, reflect or edge", mode);
  if (given.rank() == 2 && n.size(given, 0).is(1)) given = n.reshape(given, n.size(given, 1));
  std::vector<Size> pads = n.asSizes(given, "pads");
  auto rank = static_cast<size_t>(x.rank());
  if (pads.size() != 2 * rank) n.error("'pads' has {} values; expected {}", pads.size(), 2 * rank);
  ArrayRef<Size> all(pads);
  padAround(n, x, all.take_front(rank), all.drop_front(rank), mode, value, 0);
}

// Crops or pads with zeros around the centre of each axis.
ORTC_ONNX_OP("CenterCropPad", since(18)) {
  Tensor x = n.input(0, "input_data", plainType);
  std::vector<Size> want = n.asSizes(n.input(1, "shape", indexInteger), "shape"), in = n.sizes(x);
  std::vector<int64_t> axes = n.axes(n.intsAttr("axes", axesFrom(0, x.rank())), x.rank());
  if (axes.size() != want.size())
    n.error("'shape' has {} values for {} axes", want.size(), axes.size());
  std::vector<Size> begin(x.rank(), n.size(0)), end = begin;
  for (auto [i, a] : llvm::enumerate(axes)) {
    // The odd element is cropped from, or added to, the end; a negative number of zeros crops.
    Size grow = want[i] - in[a], two = n.size(2);
    Size half =
        selectSize(n, n.index(grow) < 0.0, n.size(0) - (n.size(0) - grow) / two, grow / two);
    begin[a] = half, end[a] = grow - half;
  }
  pad(n, x, begin, end, "constant", {}, 0);
}

} // namespace ortc::opdef
