// SPDX-License-Identifier: Apache-2.0
// Attention as optimisers of ONNX Runtime write it (com.microsoft): projections and masks are part
// of it.
#include "compiler/onnx/families/Attention.h"
#include "compiler/onnx/families/Quantize.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

static Tensor sum(NodeBuilder& n, Tensor a, Tensor b) {
  return n.map(a, b, [](Scalar v, Scalar w) { return v + w; });
}

/// softmax(scale q k' + what `adjust` adds) v.
static Attended attended(
    NodeBuilder& n, const Heads& h, double scale,
    llvm::function_ref<Scalar(Scalar score, Scalar b, Scalar head, Scalar i, Scalar j)> adjust) {
  DType type = h.q.dtype;
  std::vector<Size> q = n.sizes(h.q), v = n.sizes(h.v);
  Tensor scores = n.contract(h.q, h.k, "bhsd,bhtd->bhst");
  scores = n.map(scores, wideType(type), [&](Scalar x) {
    Scalar w = n.cast(x, wideType(type)) * scale;
    return adjust(w, loopIndex(n, 0), loopIndex(n, 1), loopIndex(n, 2), loopIndex(n, 3));
  });
  Tensor p = n.castTo(softmaxOver(n, scores, 3, false), type);
  Tensor y = n.contract(p, h.v, "bhst,bhtd->bhsd");
  return {n.reshape(n.transpose(y, {0, 2, 1, 3}), {q[0], q[2], q[1] * v[3]}),
          n.castTo(scores, type)};
}

Tensor perHead(NodeBuilder& n, Tensor t, int64_t heads) {
  std::vector<Size> s = n.sizes(t);
  if (t.rank() != 3) n.error("an input is {}; expected rank 3", n.typeText(t));
  if (heads < 1 || (s[2].constant() && *s[2].constant() % heads))
    n.error("'num_heads' is {}, which does not divide {}", heads, n.typeText(t));
  return n.transpose(n.reshape(t, {s[0], s[1], n.size(heads), s[2] / n.size(heads)}), {0, 2, 1, 3});
}

Attended maskedAttention(NodeBuilder& n, const Heads& h, const Masks& masks) {
  Tensor mask = masks.mask, bias = masks.bias;
  double filter = n.floatAttr("mask_filter_value", -10000.0), least = -3.4028234663852886e38;
  bool causal = n.flagAttr("unidirectional", false), room = masks.buffered.n;
  std::vector<Size> q = n.sizes(h.q);
  Size B = q[0];
  if (!q[3].constant()) n.error("the size of a head must be known while compiling");
  double scale = n.floatAttr("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*q[3].constant()));
  if (mask && mask.rank() > 3) n.error("a mask of rank {} is not supported", mask.rank());
  bool both = mask && mask.rank() == 1 && !same(n.size(mask, 0), B);
  if (both && !(n.size(mask, 0).constant() && B.constant() &&
                *n.size(mask, 0).constant() == 2 * *B.constant()))
    n.error("a mask of {} for {} is not supported", n.typeText(mask), n.typeText(h.q));
  if (bias && bias.rank() != 4)
    n.error("'attention_bias' is {}; expected rank 4", n.typeText(bias));
  // Where keys have room for more, masks may end before they do.
  auto key = [&](Tensor t, Scalar j) {
    return room ? safeIndex(n, j, n.size(t, t.rank() - 1)) : j;
  };
  return attended(n, h, scale, [&](Scalar x, Scalar b, Scalar head, Scalar i, Scalar j) {
    if (mask) {
      Scalar visible;
      if (mask.rank() == 1) {
        visible = j < n.toIndex(n.at(mask, b));
        if (both) visible = bitAnd(visible, j >= n.toIndex(n.at(mask, b + n.index(B))));
      } else if (mask.rank() == 2) {
        visible = notEqual(n.at(mask, {b, key(mask, j)}), 0.0);
      } else {
        visible = notEqual(n.at(mask, {b, i, key(mask, j)}), 0.0);
      }
      x = select(visible, x, x + filter);
    }
    if (bias) {
      auto dim = [&](int64_t d, Scalar at) { return n.size(bias, d).is(1) ? n.index(0) : at; };
      x = x + n.cast(n.at(bias, {dim(0, b), dim(1, head), dim(2, i), dim(3, key(bias, j))}),
                     wideType(h.q.dtype));
    }
    if (causal) x = select(j <= i + n.index(masks.past), x, least);
    if (room) x = select(j < n.index(masks.buffered), x, least);
    return x;
  });
}

// ---- keys and values of earlier steps ----

namespace {
struct Cache {
  Tensor keys, values; ///< [B, H, T, D]
  Size past;           ///< tokens before this step
  Size buffered;       ///< after it, where there is room for more
};
} // namespace

/// New keys and values behind the past ones, or, where the past is a buffer of `before` tokens with
/// room for more, in it.
static Cache cached(NodeBuilder& n, Tensor pastK, Tensor pastV, Tensor k, Tensor v, Tensor before) {
  if (!pastK != !pastV) n.error("keys and values of the past must be given together");
  if (!pastK) {
    if (before) n.error("'past_sequence_length' is given, but there is no past");
    return {k, v, n.size(0), {}};
  }
  for (Tensor t : {pastK, pastV})
    if (t.rank() != 4) n.error("a past is {}; expected rank 4", n.typeText(t));
  if (!before) return {n.concat({pastK, k}, 2), n.concat({pastV, v}, 2), n.size(pastK, 2), {}};
  Size start = n.asSize(before, "past_sequence_length"), count = n.size(k, 2);
  n.requireNonNegative(start, "'past_sequence_length' is negative");
  n.requireNonNegative(n.size(pastK, 2) - start - count, "the past has no room for new keys");
  auto put = [&](Tensor old, Tensor fresh) {
    std::vector<Size> shape = n.sizes(old), want = n.sizes(fresh);
    want[2] = shape[2];
    n.requireShape(old, want, "past");
    return n.generate(shape, old.dtype, [&](ArrayRef<Scalar> o) {
      SmallVector<Scalar> from(o);
      from[2] = o[2] - n.index(start);
      return n.ifElse(
          bitAnd(from[2] >= 0.0, from[2] < n.index(count)), [&] { return n.at(fresh, from); },
          [&] { return n.at(old, o); });
    });
  };
  return {put(pastK, k), put(pastV, v), start, start + count};
}

/// q, k and v with their parts of a bias that all three share; those of rank 4 have theirs already.
static void addBias(NodeBuilder& n, Tensor bias, ArrayRef<Tensor*> parts) {
  if (!bias) return;
  if (bias.rank() != 1) n.error("'bias' is {}; expected rank 1", n.typeText(bias));
  Size from = n.size(0);
  for (Tensor* t : parts) {
    if (t->rank() != 3) continue;
    Size width = n.size(*t, 2);
    *t = sum(n, *t, n.slice(bias, from, width));
    from = from + width;
  }
}

/// Part `i` of [B, S, H, parts, D], as [B, S, H * D].
static Tensor unpacked(NodeBuilder& n, Tensor t, int64_t i, int64_t parts) {
  std::vector<Size> s = n.sizes(t), from(5, n.size(0)), count = s;
  n.requireEqual(s[3], n.size(parts), "a packed input has another number of parts");
  from[3] = n.size(i), count[3] = n.size(1);
  return n.reshape(n.slice(t, from, count), {s[0], s[1], s[2] * s[4]});
}

ORTC_ONNX_OP_IN("com.microsoft", "MultiHeadAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         bias = n.optionalInput(3, "bias", same),
         mask = n.optionalInput(4, "key_padding_mask", indexInteger),
         extra = n.optionalInput(5, "attention_bias", same),
         pastK = n.optionalInput(6, "past_key", same),
         pastV = n.optionalInput(7, "past_value", same),
         before = n.optionalInput(8, "past_sequence_length", indexInteger);
  if (n.hasInput(9)) n.error("'cache_indirection' is not supported");
  if (q.rank() == 5) { // queries, keys and values of each head in one
    if (k || v) n.error("the query is {}, but there are keys or values, too", n.typeText(q));
    k = unpacked(n, q, 1, 3), v = unpacked(n, q, 2, 3), q = unpacked(n, q, 0, 3);
  } else if (k && k.rank() == 5) {
    if (v) n.error("the key is {}, but there are values, too", n.typeText(k));
    v = unpacked(n, k, 1, 2), k = unpacked(n, k, 0, 2);
  }
  if (!k || !v || q.rank() != 3)
    n.error("the query is {}; expected rank 3 with keys and values, or rank 5", n.typeText(q));
  int64_t heads = n.intAttr("num_heads");
  addBias(n, bias, {&q, &k, &v});
  Heads h{perHead(n, q, heads), k.rank() == 4 ? k : perHead(n, k, heads),
          v.rank() == 4 ? v : perHead(n, v, heads)};
  Cache c = cached(n, pastK, pastV, h.k, h.v, before);
  h.k = c.keys, h.v = c.values;
  Attended a = maskedAttention(n, h, {mask, extra, c.past, c.buffered});
  n.output(0, a.y);
  n.output(1, h.k);
  n.output(2, h.v);
  n.output(3, a.scores);
}

// One token, whose keys and values go into a buffer; or attention to keys of rank 4 that are there.
ORTC_ONNX_OP_IN("com.microsoft", "DecoderMaskedMultiHeadAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         mask = n.optionalInput(3, "mask_index", indexInteger),
         extra = n.optionalInput(4, "attention_bias", same),
         pastK = n.optionalInput(5, "past_key", same),
         pastV = n.optionalInput(6, "past_value", same),
         before = n.optionalInput(7, "past_sequence_length", indexInteger),
         bias = n.optionalInput(10, "bias", same);
  if (n.hasInput(8) || n.hasInput(9)) n.error("beams are not supported ('cache_indirection')");
  int64_t heads = n.intAttr("num_heads");
  if (q.rank() != 3) n.error("'query' is {}; expected rank 3", n.typeText(q));
  if (!k != !v) n.error("'key' and 'value' must be given together");
  std::vector<Size> in = n.sizes(q);
  n.requireEqual(in[1], n.size(1), "'query' has more than one token");
  if (!k) { // packed
    Size width = in[2] / n.size(3), zero = n.size(0);
    auto cut = [&](Size from) { return n.slice(q, {zero, zero, from}, {in[0], in[1], width}); };
    k = cut(width), v = cut(width * n.size(2)), q = cut(zero);
  }
  if (k.rank() == 3) n.requireShape(k, n.sizes(q), "key");
  addBias(n, bias, {&q, &k, &v});
  Heads h{perHead(n, q, heads), k.rank() == 4 ? k : perHead(n, k, heads),
          v.rank() == 4 ? v : perHead(n, v, heads)};
  bool shares = n.flagAttr("past_present_share_buffer", false);
  if (shares && pastK && !before) n.error("a shared buffer needs 'past_sequence_length'");
  Cache c = cached(n, pastK, pastV, h.k, h.v, shares && pastK ? before : Tensor());
  h.k = c.keys, h.v = c.values;
  Attended a = maskedAttention(n, h, {mask, extra, c.past, c.buffered});
  n.output(0, a.y);
  n.output(1, h.k);
  n.output(2, h.v);
  n.output(3, a.scores);
}

/// Attention of what a projection gives for queries, keys and values: 'past' and 'present' are
/// [2, B, H, T, D].
static void projectedAttention(NodeBuilder& n, Tensor projected, ArrayRef<int64_t> widths,
                               Tensor mask, Tensor past, Tensor before, Tensor extra) {
  int64_t heads = n.intAttr("num_heads");
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (int64_t width : widths) {
    std::vector<Size> sizes = n.sizes(projected), starts(3, n.size(0));
    starts[2] = n.size(from), sizes[2] = n.size(width);
    parts.push_back(perHead(n, n.slice(projected, starts, sizes), heads));
    from += width;
  }
  Tensor pastK, pastV;
  if (past) {
    if (past.rank() != 5) n.error("'past' is {}; expected rank 5", n.typeText(past));
    n.requireEqual(n.size(past, 0), n.size(2), "'past' does not hold keys and values");
    for (int64_t i : {0, 1}) {
      std::vector<Size> starts(5, n.size(0)), sizes = n.sizes(past),
                                              shape(sizes.begin() + 1, sizes.end());
      starts[0] = n.size(i), sizes[0] = n.size(1);
      (i ? pastV : pastK) = n.reshape(n.slice(past, starts, sizes), shape);
    }
  }
  Cache c = cached(n, pastK, pastV, parts[1], parts[2], before);
  n.output(0,
           maskedAttention(n, {parts[0], c.keys, c.values}, {mask, extra, c.past, c.buffered}).y);
  if (!n.wantsOutput(1)) return;
  std::vector<Tensor> present;
  for (Tensor t : {c.keys, c.values}) {
    std::vector<Size> shape = n.sizes(t);
    shape.insert(shape.begin(), n.size(1));
    present.push_back(n.reshape(t, shape));
  }
  n.output(1, n.concat(present, 0));
}

/// How many columns of the weights are of queries, keys and values.
static std::vector<int64_t> projectionWidths(NodeBuilder& n, Tensor x, Tensor w, int64_t rank) {
  if (x.rank() != rank || w.rank() != 2 || !n.size(w, 1).constant())
    n.error("the input is {} and the weights {}; expected ranks {} and 2", n.typeText(x),
            n.typeText(w), rank);
  int64_t all = *n.size(w, 1).constant();
  std::vector<int64_t> widths = n.intsAttr("qkv_hidden_sizes", std::vector<int64_t>(3, all / 3));
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != all)
    n.error("'qkv_hidden_sizes' does not fit weights of {}", n.typeText(w));
  return widths;
}

static Tensor projection(NodeBuilder& n, Tensor x, Tensor w, Tensor bias) {
  Tensor projected = n.matmul(x, w);
  if (bias) n.requireShape(bias, n.size(w, 1), "bias");
  return bias ? sum(n, projected, bias) : projected;
}

ORTC_ONNX_OP_IN("com.microsoft", "Attention", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weights", same), bias = n.optionalInput(2, "bias", same),
         mask = n.optionalInput(3, "mask_index", indexInteger),
         past = n.optionalInput(4, "past", same),
         extra = n.optionalInput(5, "attention_bias", same),
         before = n.optionalInput(6, "past_sequence_length", indexInteger);
  if (n.flagAttr("do_rotary", false)) n.error("rotary embedding is not supported");
  if (!n.flagAttr("past_present_share_buffer", false)) before = {};
  std::vector<int64_t> widths = projectionWidths(n, x, w, 3);
  projectedAttention(n, projection(n, x, w, bias), widths, mask, past, before, extra);
}

// The same for one token, with a past that must be there.
ORTC_ONNX_OP_IN("com.microsoft", "DecoderMaskedSelfAttention", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weights", same), bias = n.input(2, "bias", same),
         mask = n.optionalInput(3, "mask_index", indexInteger), past = n.input(4, "past", same),
         extra = n.optionalInput(5, "attention_bias", same),
         before = n.optionalInput(6, "past_sequence_length", indexInteger);
  if (n.flagAttr("do_rotary", false)) n.error("rotary embedding is not supported");
  if (n.hasInput(7) || n.hasInput(8)) n.error("beams are not supported ('cache_indirection')");
  bool shares = n.flagAttr("past_present_share_buffer", false);
  if (shares && !before) n.error("a shared buffer needs 'past_sequence_length'");
  std::vector<int64_t> widths = projectionWidths(n, x, w, 3);
  n.requireEqual(n.size(x, 1), n.size(1), "'input' has more than one token");
  projectedAttention(n, projection(n, x, w, bias), widths, mask, past, shares ? before : Tensor(),
                     extra);
}

// Attention whose input and weights are 8-bit numbers; what comes after the projection is floats.
ORTC_ONNX_OP_IN("com.microsoft", "QAttention", since(1)) {
  static const TypeSet eight = oneOf({DType::I8, DType::U8});
  Tensor x = n.input(0, "input", eight), w = n.input(1, "weight", eight),
         bias = n.input(2, "bias", floating);
  TypeSet real = oneOf({bias.dtype});
  Tensor xScale = n.input(3, "input_scale", real), wScale = n.input(4, "weight_scale", real),
         mask = n.optionalInput(5, "mask_index", oneOf({DType::I32})),
         xZero = n.optionalInput(6, "input_zero_point", oneOf({x.dtype})),
         wZero = n.optionalInput(7, "weight_zero_point", oneOf({w.dtype})),
         past = n.optionalInput(8, "past", real);
  if (n.flagAttr("do_rotary", false) || n.flagAttr("past_present_share_buffer", false))
    n.error("rotary embedding and shared buffers are not supported");
  std::vector<int64_t> widths = projectionWidths(n, x, w, 3);
  n.requireShape(bias, n.size(w, 1), "bias");
  xScale = scalarOrSelf(n, xScale), wScale = perColumn(n, wScale);
  if (xScale.rank() != 0) n.error("'input_scale' is {}; expected a scalar", n.typeText(xScale));
  if (wScale.rank() != 0) n.requireShape(wScale, n.size(w, 1), "weight_scale");
  Tensor acc =
      productOf(n, shifted(n, x, scalarOrSelf(n, xZero)), shifted(n, w, perColumn(n, wZero)));
  DType wide = wideType(bias.dtype);
  Tensor projected = n.map({acc, xScale, wScale, bias}, bias.dtype, [&](ArrayRef<Scalar> s) {
    Scalar scale = n.cast(s[1], wide) * n.cast(s[2], wide);
    return n.cast(n.cast(s[0], wide) * scale + n.cast(s[3], wide), bias.dtype);
  });
  projectedAttention(n, projected, widths, mask, past, {}, {});
}

} // namespace ortc::opdef
