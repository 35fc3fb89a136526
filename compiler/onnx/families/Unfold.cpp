// SPDX-License-Identifier: Apache-2.0
// Windows whose elements are moved apart or put together: DeformConv, Col2Im, UnfoldTensor.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

static std::vector<int64_t> perDim(NodeBuilder& n, StringRef name, size_t count, int64_t otherwise,
                                   int64_t least) {
  std::vector<int64_t> v = n.intsAttr(name, std::vector<int64_t>(count, otherwise));
  if (v.size() != count) n.error("'{}' has {} values; expected {}", name.str(), v.size(), count);
  for (int64_t x : v)
    if (x < least) n.error("'{}' holds {}; expected at least {}", name.str(), x, least);
  return v;
}

// A convolution whose window is moved element by element, by offsets that are data: what it reads
// is gathered (between pixels, nothing outside), then multiplied.
ORTC_ONNX_OP("DeformConv", since(19, 22)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         offset = n.input(2, "offset", oneOf({x.dtype})),
         bias = n.optionalInput(3, "B", oneOf({x.dtype})),
         mask = n.optionalInput(4, "mask", oneOf({x.dtype}));
  int64_t rank = x.rank() - 2;
  if (rank < 1 || rank > 3 || w.rank() != x.rank() || offset.rank() != x.rank())
    n.error("'X', 'W' and 'offset' have ranks {}, {} and {}; expected equal ones from 3 to 5",
            x.rank(), w.rank(), offset.rank());
  std::vector<Size> in = n.sizes(x), weights = n.sizes(w);
  std::vector<int64_t> kernel;
  for (int64_t d = 0; d < rank; ++d) {
    if (!weights[d + 2].constant()) n.error("the sizes of 'W' must be known while compiling");
    kernel.push_back(*weights[d + 2].constant());
  }
  std::vector<int64_t> strides = perDim(n, "strides", rank, 1, 1),
                       dilations = perDim(n, "dilations", rank, 1, 1),
                       pads = perDim(n, "pads", 2 * rank, 0, 0);
  int64_t group = n.intAttr("group", 1), offsetGroup = n.intAttr("offset_group", 1), taps = 1;
  if (!in[1].constant() || !weights[0].constant() || group < 1 || offsetGroup < 1 ||
      *in[1].constant() % group || *in[1].constant() % offsetGroup ||
      *weights[0].constant() % group)
    n.error("'group' is {} and 'offset_group' {}, with {} channels in and {} out", group,
            offsetGroup, n.typeText(x), n.typeText(w));
  for (int64_t k : kernel)
    taps *= k;
  std::vector<Size> out;
  Size places = n.size(1);
  for (int64_t d = 0; d < rank; ++d) {
    Size span = in[d + 2] + n.size(pads[d] + pads[d + rank] - (kernel[d] - 1) * dilations[d] - 1);
    out.push_back(span / n.size(strides[d]) + n.size(1));
    places = places * out.back();
  }
  if (n.intsAttr("kernel_shape", kernel) != kernel)
    n.error("'kernel_shape' is not that of 'W', {}", n.typeText(w));
  std::vector<Size> moved{in[0], n.size(offsetGroup * taps * rank)};
  moved.insert(moved.end(), out.begin(), out.end());
  n.requireShape(offset, moved, "offset");
  moved[1] = n.size(offsetGroup * taps);
  if (mask) n.requireShape(mask, moved, "mask");
  if (bias) n.requireShape(bias, weights[0], "B");
  n.requireEqual(in[1], weights[1] * n.size(group), "the channels of 'X' and 'W' differ");
  DType wide = wideType(x.dtype);
  int64_t perOffset = *in[1].constant() / offsetGroup;
  // [N, C, taps, out...]
  std::vector<Size> shape{in[0], in[1], n.size(taps)};
  shape.insert(shape.end(), out.begin(), out.end());
  Tensor columns = n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    Scalar part = o[1] / static_cast<double>(perOffset), tap = o[2], rest = tap;
    SmallVector<Scalar> at(rank), low(rank), weight(rank);
    for (int64_t d = rank; d-- > 0;) {
      at[d] = rem(rest, n.index(kernel[d]));
      rest = rest / static_cast<double>(kernel[d]);
    }
    for (int64_t d = 0; d < rank; ++d) {
      Scalar base = o[3 + d] * static_cast<double>(strides[d]) +
                    at[d] * static_cast<double>(dilations[d]) - static_cast<double>(pads[d]);
      SmallVector<Scalar> from{o[0], (part * static_cast<double>(taps) + tap) *
                                             static_cast<double>(rank) +
                                         static_cast<double>(d)};
      from.append(o.begin() + 3, o.end());
      Scalar p = n.fromIndex(base, wide) + n.cast(n.at(offset, from), wide), floored = floor(p);
      weight[d] = p - floored;
      low[d] = n.toIndex(n.cast(floored, DType::I64));
    }
    Scalar sum = n.literal(0, n.typeOf(wide));
    for (int64_t corner = 0; corner < int64_t(1) << rank; ++corner) {
      Scalar factor = n.literal(1, n.typeOf(wide)), inside = n.literal(1, n.b.getI1Type(), true);
      SmallVector<Scalar> from{o[0], o[1]};
      for (int64_t d = 0; d < rank; ++d) {
        bool high = corner >> d & 1;
        Scalar i = high ? low[d] + 1.0 : low[d];
        factor = factor * (high ? weight[d] : 1.0 - weight[d]);
        inside = bitAnd(inside, bitAnd(i >= 0.0, i < n.index(in[d + 2])));
        from.push_back(i);
      }
      sum = sum + factor * n.cast(n.atOr(x, from, inside, 0), wide);
    }
    if (mask) {
      SmallVector<Scalar> from{o[0], part * static_cast<double>(taps) + tap};
      from.append(o.begin() + 3, o.end());
      sum = sum * n.cast(n.at(mask, from), wide);
    }
    return n.cast(sum, x.dtype);
  });
  Size g = n.size(group), inPer = in[1] / g, outPer = weights[0] / g, K = n.size(taps);
  columns = n.reshape(columns, {in[0], g, inPer, K, places});
  w = n.reshape(w, {g, outPer, inPer, K});
  Tensor y = n.contract(columns, w, "ngckp,gock->ngop");
  std::vector<Size> result{in[0], weights[0]};
  result.insert(result.end(), out.begin(), out.end());
  y = n.reshape(y, result);
  if (bias)
    y = n.map(y, alongChannels(n, bias, x.rank()), [](Scalar v, Scalar b) { return v + b; });
  n.output(0, y);
}

// Columns back to an image: every pixel sums up what windows hold of it.
ORTC_ONNX_OP("Col2Im", since(18)) {
  Tensor x = n.input(0, "input", numeric);
  std::vector<Size> image =
      n.asSizes(n.input(1, "image_shape", oneOf({DType::I64})), "image_shape");
  std::vector<Size> block =
      n.asSizes(n.input(2, "block_shape", oneOf({DType::I64})), "block_shape");
  size_t rank = image.size();
  if (x.rank() != 3 || block.size() != rank || !rank)
    n.error("the input has rank {}, 'image_shape' {} and 'block_shape' {} values", x.rank(), rank,
            block.size());
  std::vector<int64_t> strides = perDim(n, "strides", rank, 1, 1),
                       dilations = perDim(n, "dilations", rank, 1, 1),
                       pads = perDim(n, "pads", 2 * rank, 0, 0);
  std::vector<Size> in = n.sizes(x), steps;
  Size taps = n.size(1);
  for (size_t d = 0; d < rank; ++d) {
    if (block[d].constant() && *block[d].constant() < 1)
      n.error("'block_shape' holds {}", *block[d].constant());
    taps = taps * block[d];
    Size span = image[d] + n.size(pads[d] + pads[d + rank] - 1) -
                (block[d] - n.size(1)) * n.size(dilations[d]);
    steps.push_back(span / n.size(strides[d]) + n.size(1));
  }
  if (in[1].constant() && taps.constant() && *in[1].constant() % *taps.constant())
    n.error("{} columns are no multiple of the block's {} elements", *in[1].constant(),
            *taps.constant());
  Size windows = n.size(1);
  for (Size s : steps)
    windows = windows * s;
  n.requireEqual(in[2], windows, "the last size of 'input' is not the number of windows");
  std::vector<Size> shape{in[0], in[1] / max(taps, n.size(1))};
  shape.insert(shape.end(), image.begin(), image.end());
  n.output(0, n.generateReduce(shape, block, x.dtype, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
    Scalar tap = n.index(0), place = n.index(0), inside = n.literal(1, n.b.getI1Type(), true);
    for (size_t d = 0; d < rank; ++d) {
      Scalar k = i[2 + rank + d];
      tap = tap * n.index(block[d]) + k;
      Scalar t = i[2 + d] + static_cast<double>(pads[d]) - k * static_cast<double>(dilations[d]);
      Scalar step = t / static_cast<double>(strides[d]);
      inside = bitAnd(inside, bitAnd(t >= 0.0, step < n.index(steps[d])));
      if (strides[d] != 1) inside = bitAnd(inside, equal(rem(t, n.index(strides[d])), 0.0));
      place = place * n.index(steps[d]) + step;
    }
    Scalar row = i[1] * n.index(taps) + tap;
    return carried + n.atOr(x, {i[0], row, place}, inside, 0);
  }));
}

// The windows along one dim, each as a row of a new last dim.
ORTC_ONNX_OP_IN("com.microsoft", "UnfoldTensor", since(1)) {
  Tensor x = n.input(0, "input", anyType);
  int64_t dim = n.axis(n.intAttr("dim", -1), x.rank(), "dim"), size = n.intAttr("size"),
          step = n.intAttr("step", 1);
  std::vector<Size> shape = n.sizes(x);
  Size have = shape[dim];
  if (size < 1 || (have.constant() && size > *have.constant()))
    n.error("'size' is {}; expected 1 to the size of dim {} of {}", size, dim, n.typeText(x));
  if (step < 1) n.error("'step' is {}; expected at least 1", step);
  n.requireNonNegative(have - n.size(size), "a window is larger than its dim");
  shape[dim] = nonNegative(have - n.size(size)) / n.size(step) + n.size(1);
  shape.push_back(n.size(size));
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> at(o.drop_back());
    at[dim] = at[dim] * static_cast<double>(step) + o.back();
    return n.at(x, at);
  }));
}

} // namespace ortc::opdef
