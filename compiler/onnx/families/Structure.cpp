// SPDX-License-Identifier: Apache-2.0
// Putting tensors together and taking them apart: Concat, Split, Slice.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

ORTC_ONNX_OP("Concat", since(1, 4, 11, 13)) {
  std::vector<Tensor> xs;
  for (size_t i = 0; i < std::max<size_t>(n.numInputs(), 1); ++i)
    xs.push_back(n.input(i, "inputs"));
  if (xs[0].rank() == 0) n.error("scalars cannot be concatenated");
  int64_t axis = n.opset < 4 ? n.intAttr("axis", 1) : n.intAttr("axis");
  n.output(0, n.concat(xs, n.axis(axis, xs[0].rank())));
}

// The parts' sizes were an attribute before opset 13 (in opset 1 also an input); without them the
// parts are equal, and since opset 18 the last may be smaller.
ORTC_ONNX_OP("Split", since(1, 2, 11, 13, 18)) {
  Tensor x = n.input(0, "input");
  int64_t axis = n.axis(n.intAttr("axis", 0), x.rank());
  size_t count = n.numOutputs();
  std::vector<Size> in = n.sizes(x), parts;
  Tensor given =
      n.opset >= 13 || n.opset < 2 ? n.optionalInput(1, "split", indexInteger) : Tensor();
  if (given)
    parts = n.asSizes(given, "split");
  else if (n.opset < 13 && n.hasAttr("split"))
    for (int64_t p : n.intsAttr("split"))
      parts.push_back(n.size(p));
  else {
    if (n.opset >= 18 && !n.hasAttr("num_outputs"))
      n.error("there is neither 'split' nor 'num_outputs'");
    int64_t wanted = n.opset >= 18 ? n.intAttr("num_outputs", count) : count;
    if (wanted != static_cast<int64_t>(count))
      n.error("'num_outputs' is {}, but there are {} outputs", wanted, count);
    Size whole = in[axis], many = n.size(wanted);
    if (n.opset < 18 && whole.constant() && *whole.constant() % wanted)
      n.error("size {} of axis {} cannot be split into {} equal parts", *whole.constant(), axis,
              wanted);
    Size part = n.opset < 18 ? whole / many : ceilDiv(whole, many);
    for (int64_t i = 0; i + 1 < wanted; ++i)
      parts.push_back(part);
    parts.push_back(wanted == 1 ? whole : whole - part * n.size(wanted - 1));
    // Equal parts are known to be equal.
    if (n.opset < 18) parts.back() = part;
    if (parts.back().constant() && *parts.back().constant() < 0)
      n.error("size {} of axis {} cannot be split into {} parts of {}", *whole.constant(), axis,
              wanted, *part.constant());
  }
  if (parts.size() < count)
    n.error("there are {} outputs, but 'split' has {} values", count, parts.size());
  Size total = n.size(0);
  for (Size p : parts) {
    if (p.constant() && *p.constant() < 0) n.error("'split' holds {}", *p.constant());
    total = total + p;
  }
  if (total.constant() && in[axis].constant() && *total.constant() != *in[axis].constant())
    n.error("'split' adds up to {}, but axis {} is {}", *total.constant(), axis,
            *in[axis].constant());
  for (Size p : parts)
    n.requireNonNegative(p, "a part is negative");
  // Equal parts of a free size: the check is that of the remainder.
  n.requireEqual(total, in[axis], fmt::format("the parts do not add up to axis {}", axis));
  std::vector<Size> starts(x.rank(), n.size(0)), sizes = in;
  for (size_t i = 0; i < count; ++i) {
    sizes[axis] = parts[i];
    if (n.wantsOutput(i)) n.output(i, n.slice(x, starts, sizes));
    starts[axis] = starts[axis] + parts[i];
  }
}

namespace {
struct SliceDim {
  Size start, size;
  int64_t step = 1;
};
} // namespace

/// A position of Slice: negative counts from the end.
static Size wrapped(NodeBuilder& n, Size v, Size dim) {
  auto [low, high] = indexRange(v.v);
  if (low >= 0) return v;
  if (high < 0) return dim + v;
  return selectSize(n, n.index(v) < 0.0, dim + v, v);
}

static SliceDim sliceDim(NodeBuilder& n, Size start, Size end, int64_t step, Size dim) {
  auto far = [](Size s) {
    return s.constant() && (*s.constant() > INT32_MAX || *s.constant() < -int64_t(INT32_MAX));
  };
  SliceDim r;
  r.step = step;
  if (step > 0) {
    // "from far before the start" and "to far beyond the end"
    Size from = far(start) && *start.constant() < 0
                    ? n.size(0)
                    : atMost(nonNegative(wrapped(n, start, dim)), dim);
    Size to = far(end) ? (*end.constant() < 0 ? n.size(0) : dim)
                       : atMost(nonNegative(wrapped(n, end, dim)), dim);
    r.start = from;
    r.size = nonNegative(ceilDiv(to - from, n.size(step)));
    return r;
  }
  Size last = dim - n.size(1);
  Size from = far(start) ? (*start.constant() < 0 ? n.size(-1) : last)
                         : min(max(wrapped(n, start, dim), n.size(-1)), last);
  Size to = far(end) ? (*end.constant() < 0 ? n.size(-1) : last)
                     : min(max(wrapped(n, end, dim), n.size(-1)), last);
  r.start = from;
  r.size = nonNegative(ceilDiv(from - to, n.size(-step)));
  return r;
}

/// The general case: axes or steps that only the run knows.
static void sliceAtRun(NodeBuilder& n, Tensor x, ArrayRef<Size> starts, ArrayRef<Size> ends,
                       ArrayRef<Size> axes, ArrayRef<Size> steps) {
  std::vector<Size> in = n.sizes(x), from, by, sizes;
  for (int64_t d = 0; d < x.rank(); ++d) {
    Size start = n.size(0), end = in[d], step = n.size(1);
    for (auto [i, a] : llvm::enumerate(axes)) {
      Scalar here = bitOr(equal(n.index(a), static_cast<double>(d)),
                          equal(n.index(a), static_cast<double>(d - x.rank())));
      start = selectSize(n, here, starts[i], start), end = selectSize(n, here, ends[i], end),
      step = selectSize(n, here, steps[i], step);
    }
    step = selectSize(n, equal(n.index(step), 0.0), n.size(1), step);
    // Backwards, positions range from -1 (before the first) to the last.
    Scalar back = n.index(step) < 0.0;
    Size low = selectSize(n, back, n.size(-1), n.size(0)),
         high = selectSize(n, back, in[d] - n.size(1), in[d]);
    Size first = min(max(wrapped(n, start, in[d]), low), high),
         last = min(max(wrapped(n, end, in[d]), low), high);
    from.push_back(first), by.push_back(step),
        sizes.push_back(nonNegative(ceilDiv(last - first, step)));
  }
  n.output(0, n.generate(sizes, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i;
    for (int64_t d = 0; d < x.rank(); ++d)
      i.push_back(n.index(from[d]) + o[d] * n.index(by[d]));
    return n.at(x, i);
  }));
}

// Starts and ends were attributes before opset 10.
ORTC_ONNX_OP("Slice", since(1, 10, 11, 13)) {
  Tensor x = n.input(0, "data");
  std::vector<Size> starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset < 10) {
    for (int64_t v : n.intsAttr("starts"))
      starts.push_back(n.size(v));
    for (int64_t v : n.intsAttr("ends"))
      ends.push_back(n.size(v));
    axes = n.intsAttr("axes", axesFrom(0, starts.size()));
    steps.assign(starts.size(), 1);
  } else {
    starts = n.asSizes(n.input(1, "starts", indexInteger), "starts");
    ends = n.asSizes(n.input(2, "ends", indexInteger), "ends");
    Tensor a = n.optionalInput(3, "axes", indexInteger),
           s = n.optionalInput(4, "steps", indexInteger);
    if ((a && !n.constantInts(a)) || (s && !n.constantInts(s))) {
      std::vector<Size> at = a ? n.asSizes(a, "axes") : std::vector<Size>(),
                        by = s ? n.asSizes(s, "steps") : std::vector<Size>();
      for (size_t d = 0; d < starts.size(); ++d) {
        if (!a) at.push_back(n.size(d));
        if (!s) by.push_back(n.size(1));
      }
      if (starts.size() != ends.size() || starts.size() != at.size() || starts.size() != by.size())
        n.error("'starts', 'ends', 'axes' and 'steps' have {}, {}, {} and {} values", starts.size(),
                ends.size(), at.size(), by.size());
      return sliceAtRun(n, x, starts, ends, at, by);
    }
    axes = a ? *n.constantInts(a) : axesFrom(0, starts.size());
    steps = s ? *n.constantInts(s) : std::vector<int64_t>(starts.size(), 1);
  }
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    n.error("'starts', 'ends', 'axes' and 'steps' have {}, {}, {} and {} values", starts.size(),
            ends.size(), axes.size(), steps.size());
  axes = n.axes(axes, x.rank());
  std::vector<Size> from(x.rank(), n.size(0)), sizes = n.sizes(x);
  std::vector<int64_t> step(x.rank(), 1);
  bool backwards = false;
  for (auto [i, a] : llvm::enumerate(axes)) {
    if (steps[i] == 0) n.error("'steps' holds 0");
    // a step as long as any size takes one element
    SliceDim d = sliceDim(n, starts[i], ends[i],
                          std::clamp<int64_t>(steps[i], -INT32_MAX, INT32_MAX), sizes[a]);
    from[a] = d.start, sizes[a] = d.size, step[a] = d.step;
    backwards |= d.step < 0;
  }
  if (!backwards) return n.output(0, n.slice(x, from, sizes, step));
  n.output(0, n.generate(sizes, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (step[d] != 1) i[d] = i[d] * static_cast<double>(step[d]);
      if (!from[d].is(0)) i[d] = i[d] + n.index(from[d]);
    }
    return n.at(x, i);
  }));
}

} // namespace ortc::opdef
