// SPDX-License-Identifier: Apache-2.0
// The shape of a tensor, read or changed without touching its elements.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

ORTC_ONNX_OP("Identity", since(1, 13, 14, 16, 19, 21, 23, 24, 25)) {
  n.output(0, n.anyInput(0, "input"));
}

// Tells whether custom operators work.
ORTC_ONNX_OP_IN("com.microsoft", "SampleOp", since(1)) {
  n.output(0, n.input(0, "X"));
}

// One more dim at an axis of the result.
ORTC_ONNX_OP_IN("com.microsoft", "ExpandDims", since(1)) {
  Tensor x = n.input(0, "X");
  std::vector<Size> shape = n.sizes(x);
  int64_t axis =
      n.axis(n.requireInt(n.input(1, "axis", oneOf({DType::I32})), "axis"), x.rank() + 1);
  shape.insert(shape.begin() + axis, n.size(1));
  n.output(0, n.reshape(x, shape));
}

// From opset 15 on only the dims [start, end), which count from the end when negative and are moved
// into range.
ORTC_ONNX_OP("Shape", since(1, 13, 15, 19, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data");
  std::vector<Size> s = n.sizes(x);
  int64_t rank = x.rank(), from = n.intAttr("start", 0), to = n.intAttr("end", rank);
  auto inRange = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  from = inRange(from), to = std::max(inRange(to), from);
  n.output(0, n.fromSizes(std::vector<Size>(s.begin() + from, s.begin() + to)));
}

ORTC_ONNX_OP("Size", since(1, 13, 19, 21, 23, 24, 25)) {
  Size count = product(n, n.sizes(n.input(0, "data")));
  n.output(0, n.reshape(n.fromSizes(count), {}));
}

/// The sizes that Reshape asks for: 0 copies the input's (unless `allowZero`), -1 is what remains.
static std::vector<Size> requestedShape(NodeBuilder& n, ArrayRef<Size> in, std::vector<Size> want,
                                        bool allowZero) {
  std::optional<size_t> inferred;
  bool unsure = false; // a size that the run reads from data may be 0 or -1 too
  for (auto [i, s] : llvm::enumerate(want)) {
    if (!s.constant()) {
      unsure |= indexRange(s.v).first < 0;
      continue;
    }
    int64_t c = *s.constant();
    if (c < -1) n.error("the shape holds {}", c);
    if (c == -1) {
      if (inferred) n.error("the shape holds -1 twice");
      inferred = i;
    } else if (c == 0 && !allowZero) {
      if (i >= in.size())
        n.error("the shape is to keep dim {}, which the input of rank {} does not have", i,
                in.size());
      s = in[i];
    }
  }
  if (inferred && allowZero && llvm::any_of(want, [](Size s) { return s.is(0); }))
    n.error("the shape holds both 0 and -1, which 'allowzero' forbids");
  if (unsure) {
    for (auto [i, s] : llvm::enumerate(want))
      if (!s.constant() && !allowZero && i < in.size())
        s = selectSize(n, equal(n.index(s), 0.0), in[i], s);
    Size known = n.size(1);
    for (Size s : want)
      known = known * (s.is(-1) ? s : max(s, n.size(-1)));
    // when one size is -1, `known` is minus the product of the others
    Size rest = product(n, in) / max(n.size(0) - known, n.size(1));
    for (Size& s : want)
      if (s.is(-1))
        s = rest;
      else if (!s.constant())
        s = selectSize(n, n.index(s) < 0.0, rest, s);
    return want;
  }
  if (inferred) {
    std::vector<Size> others = want;
    others.erase(others.begin() + *inferred);
    want[*inferred] = exactQuotient(n, in, others);
  }
  return want;
}

static Tensor reshapeTo(NodeBuilder& n, Tensor x, std::vector<Size> want, bool allowZero) {
  std::vector<Size> in = n.sizes(x), out = requestedShape(n, in, std::move(want), allowZero);
  Size a = product(n, in), b = product(n, out);
  if (a.constant() && b.constant() && *a.constant() != *b.constant())
    n.error("{} elements cannot be shaped into {}", *a.constant(), *b.constant());
  return n.reshape(x, out);
}

// Before opset 5 the shape was an attribute.
ORTC_ONNX_OP("Reshape", since(1, 5, 13, 14, 19, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data");
  std::vector<Size> want;
  if (n.opset < 5) {
    for (int64_t v : n.intsAttr("shape"))
      want.push_back(n.size(v));
  } else
    want = n.asSizes(n.input(1, "shape", indexInteger), "shape");
  n.output(0, reshapeTo(n, x, std::move(want), n.flagAttr("allowzero", false)));
}

ORTC_ONNX_OP("Flatten", since(1, 9, 11, 13, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "input");
  int64_t axis = n.intAttr("axis", 1), rank = x.rank();
  if (axis < -rank || axis > rank) n.error("'axis' is {}, out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  std::vector<Size> in = n.sizes(x);
  ArrayRef<Size> all(in);
  n.output(0, n.reshape(x, {product(n, all.take_front(axis)), product(n, all.drop_front(axis))}));
}

namespace {
/// Axes from the attribute, or from input 1 since opset 13.
struct Axes {
  std::optional<std::vector<int64_t>> known;
  Tensor atRun;
};
} // namespace
static Axes axesOf(NodeBuilder& n) {
  Axes r;
  if (n.opset < 13) {
    if (n.hasAttr("axes")) r.known = n.intsAttr("axes");
    return r;
  }
  if (Tensor t = n.optionalInput(1, "axes", indexInteger)) {
    r.known = n.constantInts(t);
    if (!r.known) r.atRun = t;
  }
  return r;
}

ORTC_ONNX_OP("Squeeze", since(1, 11, 13, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data");
  std::vector<Size> in = n.sizes(x), out;
  Axes given = axesOf(n);
  if (given.atRun)
    return n.output(
        0, n.reshape(x, withoutAxes(n, in, runtimeAxes(n, given.atRun, x.rank(), "axes"))));
  std::vector<int64_t> axes;
  if (given.known) axes = n.axes(*given.known, x.rank());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!given.known && !in[d].constant())
      n.fail(fmt::format("has no 'axes', and whether dim {} is 1 is not known while compiling", d),
             {{true, "fix it with --shape"}});
    bool drop = given.known ? llvm::is_contained(axes, d) : in[d].is(1);
    if (drop && in[d].constant() && !in[d].is(1))
      n.error("dim {} is {}, and only dims of size 1 can be removed", d, *in[d].constant());
    if (!drop) out.push_back(in[d]);
  }
  n.output(0, n.reshape(x, out));
}

ORTC_ONNX_OP("Unsqueeze", since(1, 11, 13, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data");
  Axes given = axesOf(n);
  std::vector<Size> in = n.sizes(x), out;
  if (given.atRun) {
    Size count = n.size(given.atRun, 0);
    if (!count.constant())
      n.fail("the number of axes is not known while compiling",
             {{true, "fix the length of 'axes' with --shape"}});
    int64_t rank = x.rank() + *count.constant();
    RuntimeAxes axes = runtimeAxes(n, given.atRun, rank, "axes");
    // dim j is 1, or the next of the input's
    Size next = n.size(0);
    for (int64_t j = 0; j < rank; ++j) {
      Size s = n.size(1);
      for (int64_t d = 0; d < x.rank(); ++d)
        s = selectSize(n, bitAnd(!axes.has[j], equal(n.index(next), static_cast<double>(d))), in[d],
                       s);
      out.push_back(s);
      next = next + selectSize(n, axes.has[j], n.size(0), n.size(1));
    }
    return n.output(0, n.reshape(x, out));
  }
  if (!given.known) n.error("has no 'axes'");
  int64_t rank = x.rank() + given.known->size();
  std::vector<int64_t> axes = n.axes(*given.known, rank);
  for (int64_t d = 0, next = 0; d < rank; ++d)
    out.push_back(llvm::is_contained(axes, d) ? n.size(1) : in[next++]);
  n.output(0, n.reshape(x, out));
}

ORTC_ONNX_OP("Transpose", since(1, 13, 21, 23, 24, 25)) {
  Tensor x = n.input(0, "data");
  std::vector<int64_t> reversed;
  for (int64_t d = x.rank(); d-- > 0;)
    reversed.push_back(d);
  std::vector<int64_t> perm = n.intsAttr("perm", reversed);
  if (static_cast<int64_t>(perm.size()) != x.rank())
    n.error("'perm' has {} values for rank {}", perm.size(), x.rank());
  n.output(0, n.transpose(x, n.axes(perm, x.rank(), "perm")));
}

ORTC_ONNX_OP("Expand", since(8, 13)) {
  Tensor x = n.input(0, "input");
  std::vector<Size> in = n.sizes(x), want = n.asSizes(n.input(1, "shape", indexInteger), "shape");
  while (want.size() < in.size())
    want.insert(want.begin(), n.size(1));
  size_t lead = want.size() - in.size();
  for (size_t d = 0; d < in.size(); ++d) {
    Size& w = want[lead + d];
    if (in[d].is(1) || same(in[d], w)) continue;
    if (w.is(1))
      w = in[d];
    else if (w.constant() && in[d].constant())
      n.error("dim {} is {}, which does not broadcast to {}", d, *in[d].constant(), *w.constant());
    else if (in[d].constant())
      w = in[d];
    else if (!w.constant())
      w = max(w, in[d]);
  }
  n.output(0, n.broadcastTo(x, want));
}

// Opset 1 named one axis and how often; since 6 there is one number per dim.
ORTC_ONNX_OP("Tile", since(1, 6, 13)) {
  Tensor x = n.input(0, "input");
  std::vector<Size> in = n.sizes(x), repeats;
  if (n.opset < 6) {
    // both have the type of the input
    auto tiles = n.asSizes(n.castTo(n.input(1, "tiles"), DType::I64), "tiles");
    auto at = n.requireInts(n.castTo(n.input(2, "axis"), DType::I64), "axis");
    if (tiles.size() != 1 || at.size() != 1) n.error("'tiles' and 'axis' must be scalars");
    repeats.assign(in.size(), n.size(1));
    repeats[n.axis(at[0], x.rank())] = tiles[0];
  } else
    repeats = n.asSizes(n.input(1, "repeats"), "repeats");
  if (repeats.size() != in.size())
    n.error("'repeats' has {} values for rank {}", repeats.size(), in.size());
  std::vector<Size> out;
  bool broadcast = true; // every dim is kept, or is 1 and repeated
  for (size_t d = 0; d < in.size(); ++d) {
    out.push_back(in[d] * nonNegative(repeats[d]));
    broadcast &= in[d].is(1) || repeats[d].is(1);
  }
  if (broadcast) return n.output(0, n.broadcastTo(x, out));
  n.output(0, n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    for (size_t d = 0; d < in.size(); ++d)
      if (in[d].is(1))
        i[d] = n.index(0);
      else if (!repeats[d].is(1))
        i[d] = rem(o[d], n.index(in[d]));
    return n.at(x, i);
  }));
}

/// [N, C, H, W] with a block of b x b places moved between C and the image.
static void blocks(NodeBuilder& n, bool toDepth) {
  Tensor x = n.input(0, "input");
  if (x.rank() != 4) n.error("the input has rank {}; expected 4", x.rank());
  int64_t b = n.intAttr("blocksize");
  if (b < 1 || b > INT16_MAX) n.error("'blocksize' is {}", b);
  std::string mode = n.stringAttr("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") n.error("'mode' is '{}'; expected DCR or CRD", mode);
  bool dcr = mode == "DCR";
  std::vector<Size> s = n.sizes(x);
  Size block = n.size(b), area = n.size(b * b);
  auto divides = [&](Size whole, int64_t by, const char* what) {
    if (whole.constant() && *whole.constant() % by)
      n.error("the {} {} is not a multiple of {}", what, *whole.constant(), by);
  };
  if (toDepth) {
    divides(s[2], b, "height"), divides(s[3], b, "width");
    Size h = s[2] / block, w = s[3] / block;
    Tensor split = n.reshape(x, {s[0], s[1], h, block, w, block});
    std::vector<int64_t> order =
        dcr ? std::vector<int64_t>{0, 3, 5, 1, 2, 4} : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
    return n.output(0, n.reshape(n.transpose(split, order), {s[0], s[1] * area, h, w}));
  }
  divides(s[1], b * b, "number of channels");
  Size c = s[1] / area;
  Tensor split = n.reshape(x, dcr ? std::vector<Size>{s[0], block, block, c, s[2], s[3]}
                                  : std::vector<Size>{s[0], c, block, block, s[2], s[3]});
  std::vector<int64_t> order =
      dcr ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  n.output(0, n.reshape(n.transpose(split, order), {s[0], c, s[2] * block, s[3] * block}));
}
ORTC_ONNX_OP("DepthToSpace", since(1, 11, 13, 28)) {
  blocks(n, false);
}
ORTC_ONNX_OP("SpaceToDepth", since(1, 13, 28)) {
  blocks(n, true);
}

} // namespace ortc::opdef
