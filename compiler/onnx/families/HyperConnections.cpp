// SPDX-License-Identifier: Apache-2.0
// Several residual streams instead of one (com.microsoft): what mixes them before and after a
// block.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
/// Streams as [rows, C, H] in f32 (f64 for doubles).
struct Streams {
  Tensor x;
  std::vector<Size> lead, given; ///< the dims before C; the shape of the input
  Size rows, C, H;
};
} // namespace

static Streams streamsOf(NodeBuilder& n, Tensor x, int64_t branches) {
  Streams s;
  s.given = n.sizes(x);
  size_t own = branches ? 1 : 2;
  if (branches < 0) n.error("'num_branches' is {}", branches);
  if (s.given.size() < own) n.error("'streams' is {}; expected a higher rank", n.typeText(x));
  s.lead.assign(s.given.begin(), s.given.end() - static_cast<int64_t>(own));
  s.rows = product(n, s.lead);
  if (branches) {
    Size width = s.given.back();
    if (width.constant() && *width.constant() % branches)
      n.error("'num_branches' is {}, which does not divide {}", branches, n.typeText(x));
    s.C = n.size(branches), s.H = width / s.C;
  } else {
    s.C = s.given[s.given.size() - 2], s.H = s.given.back();
  }
  s.x = n.reshape(widened(n, x), {s.rows, s.C, s.H});
  return s;
}

/// [.., C], [.., C, 1], [.., C, H] or, for flattened streams, [.., C * H], as [rows, C, 1 or H].
static Tensor gatesOf(NodeBuilder& n, const Streams& s, Tensor gate, DType type, StringRef name) {
  std::vector<Size> shape = s.lead;
  auto rank = static_cast<size_t>(gate.rank()), lead = s.lead.size();
  Size each = n.size(1);
  if (rank == lead + 1) {
    bool all = same(n.size(gate, gate.rank() - 1), s.C * s.H) && !s.H.is(1);
    if (all) each = s.H;
    shape.push_back(all ? s.C * s.H : s.C);
  } else if (rank == lead + 2) {
    each = n.size(gate, gate.rank() - 1).is(1) ? n.size(1) : s.H;
    shape.push_back(s.C), shape.push_back(each);
  } else {
    n.error("'{}' is {}; expected rank {} or {}", name.str(), n.typeText(gate), lead + 1, lead + 2);
  }
  n.requireShape(gate, shape, name);
  return n.reshape(n.castTo(gate, type), {s.rows, s.C, each});
}

ORTC_ONNX_OP_IN("com.microsoft", "HyperConnectionPreMix", since(1)) {
  Tensor x = n.input(0, "streams", floating), gate = n.input(1, "pre_mix", floating);
  Streams s = streamsOf(n, x, n.intAttr("num_branches", 0));
  double scale = n.floatAttr("reduction_scale", 1.0);
  Tensor parts = n.map(s.x, gatesOf(n, s, gate, s.x.dtype, "pre_mix"),
                       [](Scalar v, Scalar g) { return v * g; });
  Tensor y = n.reduce(parts, 1, false, 0, [](Scalar c, Scalar v) { return c + v; });
  std::vector<Size> shape = s.lead;
  shape.push_back(s.H);
  n.output(
      0, n.reshape(n.map(y, x.dtype, [&](Scalar v) { return n.cast(v * scale, x.dtype); }), shape));
}

ORTC_ONNX_OP_IN("com.microsoft", "HyperConnectionPostMix", since(1)) {
  Tensor x = n.input(0, "streams", floating), block = n.input(1, "block_output", oneOf({x.dtype})),
         gate = n.input(2, "post_mix", floating),
         mix = n.optionalInput(3, "stream_mix", oneOf({gate.dtype}));
  Streams s = streamsOf(n, x, n.intAttr("num_branches", 0));
  DType wide = s.x.dtype;
  std::vector<Size> shape = s.lead;
  shape.push_back(s.H);
  n.requireShape(block, shape, "block_output");
  Tensor old = s.x;
  if (mix) { // y[k] = sum over c of mix[c, k] x[c]
    shape = s.lead;
    shape.push_back(s.C), shape.push_back(s.C);
    n.requireShape(mix, shape, "stream_mix");
    old = n.contract(n.reshape(n.castTo(mix, wide), {s.rows, s.C, s.C}), s.x, "rck,rch->rkh");
  }
  Tensor y =
      n.map({old, gatesOf(n, s, gate, wide, "post_mix"),
             n.reshape(n.castTo(block, wide), {s.rows, n.size(1), s.H})},
            x.dtype, [&](ArrayRef<Scalar> v) { return n.cast(v[0] + v[1] * v[2], x.dtype); });
  n.output(0, n.reshape(y, s.given));
}

// Norm of each stream, gates of two thin products, and the sum that the next block takes. Each step
// is rounded to the type of the streams.
ORTC_ONNX_OP_IN("com.microsoft", "HyperConnectionLowRankMix", since(1)) {
  Tensor x = n.input(0, "streams", floating);
  TypeSet type = oneOf({x.dtype});
  Tensor scale = n.input(1, "norm_scale", type), down = n.input(2, "down_weight", type),
         up = n.input(3, "up_weight", type), inject = n.input(4, "inject_weight", type),
         block = n.optionalInput(5, "prev_block_output", type),
         gate = n.optionalInput(6, "prev_post_gate", type);
  int64_t branches = n.intAttr("num_branches");
  if (branches < 1) n.error("'num_branches' is {}", branches);
  if (!block != !gate) n.error("'prev_block_output' and 'prev_post_gate' must be given together");
  double alpha = n.floatAttr("silu_alpha", 1.0), times = n.floatAttr("gate_mul", 1.0),
         over = n.floatAttr("gate_div", 1.0), epsilon = n.floatAttr("epsilon", 1e-5),
         sumScale = n.floatAttr("reduction_scale", 1.0);
  if (over == 0) n.error("'gate_div' is 0");
  Streams s = streamsOf(n, x, branches);
  DType wide = s.x.dtype, narrow = x.dtype;
  Size width = s.C * s.H;
  if (down.rank() != 2) n.error("'down_weight' is {}; expected rank 2", n.typeText(down));
  n.requireShape(scale, width, "norm_scale");
  n.requireShape(down, {width, n.size(down, 1)}, "down_weight");
  n.requireShape(up, {n.size(down, 1), width}, "up_weight");
  n.requireShape(inject, {width, s.C}, "inject_weight");
  auto rounded = [&](Scalar v) { return n.cast(n.cast(v, narrow), wide); };
  auto w = [&](Tensor t) { return n.castTo(t, wide); };
  Tensor all = s.x;
  if (block) {
    std::vector<Size> shape = s.lead;
    shape.push_back(s.H);
    n.requireShape(block, shape, "prev_block_output");
    all = n.map({all, gatesOf(n, s, gate, wide, "prev_post_gate"),
                 n.reshape(w(block), {s.rows, n.size(1), s.H})},
                wide, [&](ArrayRef<Scalar> v) { return rounded(v[0] + v[1] * v[2]); });
  }
  Tensor unit = n.broadcastTo(n.scalarOf(1.0, wide), s.H);
  Tensor norm = normalised(n, all, unit, {}, epsilon, /*withMean=*/false);
  norm = n.map(norm, n.reshape(w(scale), {s.C, s.H}),
               [&](Scalar v, Scalar g) { return rounded(v * g); });
  Tensor rows = n.reshape(norm, {s.rows, width});
  auto product = [&](Tensor a, Tensor b) { return n.map(n.matmul(a, w(b)), rounded); };
  Tensor hidden = n.map(product(rows, down), [&](Scalar v) {
    Scalar z = rounded(v * alpha);
    return rounded(z * rounded(sigmoid(z)));
  });
  Tensor gates = n.map(product(hidden, up), [&](Scalar v) { return rounded(sigmoid(v)); });
  Tensor kept =
      n.map(norm, n.reshape(gates, {s.rows, s.C, s.H}), [](Scalar v, Scalar g) { return v * g; });
  Tensor y = n.reduce(kept, 1, false, 0, [](Scalar c, Scalar v) { return c + v; });
  auto shaped = [&](Tensor t, Size last) {
    std::vector<Size> shape = s.lead;
    shape.push_back(last);
    return n.castTo(n.reshape(t, shape), narrow);
  };
  n.output(0, shaped(n.map(y, [&](Scalar v) { return v * sumScale; }), s.H));
  Tensor next = n.map(product(rows, inject), [&](Scalar v) {
    return rounded(rounded(sigmoid(rounded(v / over))) * times);
  });
  n.output(1, shaped(next, s.C));
  n.output(2, shaped(n.reshape(all, {s.rows, width}), width));
}

} // namespace ortc::opdef
