// SPDX-License-Identifier: Apache-2.0
// Attention: two products with a softmax between them. Heads of the query that share a head of the
// key are one more loop of the products, so that nothing is repeated in memory; masks are
// conditions on indices, so that they need none.
#include "compiler/onnx/families/Attention.h"

using namespace mlir;

namespace ortc::opdef {

/// [B, S, heads * D] as [B, heads, S, D].
static Tensor split(NodeBuilder& n, Tensor t, StringRef attribute) {
  if (t.rank() == 4) return t;
  if (t.rank() != 3) n.error("an input has rank {}; expected 3 or 4", t.rank());
  int64_t heads = n.intAttr(attribute);
  std::vector<Size> s = n.sizes(t);
  if (heads < 1 || (s[2].constant() && *s[2].constant() % heads))
    n.error("'{}' is {}, which does not divide {}", attribute.str(), heads, *s[2].constant());
  return n.transpose(n.reshape(t, {s[0], s[1], n.size(heads), s[2] / n.size(heads)}), {0, 2, 1, 3});
}

Size sharedHeads(NodeBuilder& n, const std::vector<Size>& query, const std::vector<Size>& key) {
  Size heads = query[1], groups = key[1];
  if (!heads.constant() || !groups.constant() || !query[3].constant())
    n.error("the numbers of heads and their size must be known while compiling");
  if (*groups.constant() < 1 || *heads.constant() % *groups.constant())
    n.error("{} heads of the query cannot share {} of the key", *heads.constant(),
            *groups.constant());
  return heads / groups;
}

ORTC_ONNX_OP("Attention", since(23, 24, 25)) {
  Tensor q = n.input(0, "Q", floating), k = n.input(1, "K", oneOf({q.dtype})),
         v = n.input(2, "V", floating);
  Tensor mask = n.optionalInput(3, "attn_mask"),
         pastK = n.optionalInput(4, "past_key", oneOf({q.dtype})),
         pastV = n.optionalInput(5, "past_value", oneOf({v.dtype}));
  Tensor valid = n.optionalInput(6, "nonpad_kv_seqlen", oneOf({DType::I64}));
  if (!pastK != !pastV) n.error("'past_key' and 'past_value' must be given together");
  if (pastK && valid) n.error("'nonpad_kv_seqlen' cannot be combined with 'past_key'");
  bool flat = q.rank() == 3;
  q = split(n, q, "q_num_heads"), k = split(n, k, "kv_num_heads"), v = split(n, v, "kv_num_heads");
  if (pastK) k = n.concat({pastK, k}, 2), v = n.concat({pastV, v}, 2);
  n.output(1, k);
  n.output(2, v);
  std::vector<Size> qs = n.sizes(q), ks = n.sizes(k), vs = n.sizes(v);
  Size B = qs[0], heads = qs[1], S = qs[2], D = qs[3], groups = ks[1], T = ks[2];
  Size shared = sharedHeads(n, qs, ks);
  double scale = n.floatAttr("scale", 1 / std::sqrt(static_cast<double>(*D.constant()))),
         softcap = n.floatAttr("softcap", 0.0);
  int64_t left = n.intAttr("left_window_size", -1), right = n.intAttr("right_window_size", -1),
          mode = n.intAttr("qk_matmul_output_mode", 0);
  if (left < -1 || right < -1) n.error("a window is {} and {}; expected at least -1", left, right);
  if (mode < 0 || mode > 3) n.error("'qk_matmul_output_mode' is {}", mode);
  bool causal = n.flagAttr("is_causal", false);

  // Narrow floats are scaled before the product, half on each side, so that it cannot overflow.
  bool narrow = wideType(q.dtype) != q.dtype;
  Tensor qScaled = q, kScaled = k;
  if (narrow) {
    auto half = [&](Scalar x) { return x * std::sqrt(scale); };
    qScaled = n.map(q, half), kScaled = n.map(k, half);
  }
  Tensor scores =
      n.contract(n.reshape(qScaled, {B, groups, shared, S, D}), kScaled, "bhgsd,bhtd->bhgst");
  scores = n.reshape(scores, {B, heads, S, T});
  if (!narrow && scale != 1) scores = n.map(scores, [&](Scalar x) { return x * scale; });
  Tensor capped = scores;
  if (softcap > 0) capped = n.map(scores, [&](Scalar x) { return tanh(x / softcap) * softcap; });

  Tensor masked = capped;
  if (mask || causal || left >= 0 || right >= 0 || valid) {
    if (mask && mask.dtype != DType::Bool && !floating.has(mask.dtype))
      n.error("'attn_mask' is {}; expected bool or a floating-point type", dtypeName(mask.dtype));
    if (mask && mask.rank() > 4)
      n.error("'attn_mask' is {}; expected at most rank 4", n.typeText(mask));
    for (int64_t d = 0, lead = mask ? 4 - mask.rank() : 4; lead + d < 4; ++d) {
      Size have = n.size(mask, d), want[] = {B, heads, S, T};
      Size limit = want[lead + d]; // a mask may end before the keys do
      if (have.constant() && limit.constant() && !have.is(1) &&
          (lead + d == 3 ? *have.constant() > *limit.constant() : !same(have, limit)))
        n.error("'attn_mask' is {}, which does not broadcast to the scores: expected 1 or {} on "
                "axis {}",
                n.typeText(mask), *limit.constant(), d);
    }
    masked = n.map(capped, [&](Scalar x) {
      Scalar b = loopIndex(n, 0), i = loopIndex(n, 2), j = loopIndex(n, 3), allowed;
      auto only = [&](Scalar c) { allowed = allowed.v ? bitAnd(allowed, c) : c; };
      // the position of the first query among the keys
      Scalar offset = pastK   ? n.index(n.size(pastK, 2))
                      : valid ? n.toIndex(n.at(valid, b)) - n.index(S)
                              : n.index(0);
      if (causal) only(j <= i + offset);
      if (left >= 0) only(j >= i + offset - static_cast<double>(left));
      if (right >= 0) only(j <= i + offset + static_cast<double>(right));
      if (valid) only(j < n.toIndex(n.at(valid, b)));
      auto forbidden = [&] { return n.literal(-INFINITY, x); };
      if (!mask) return select(allowed, x, forbidden());
      SmallVector<Scalar> at;
      for (int64_t d = 0; d < mask.rank(); ++d) {
        int64_t dim = 4 - mask.rank() + d;
        Size have = n.size(mask, d), want = dim == 0 ? B : dim == 1 ? heads : dim == 2 ? S : T;
        Scalar index = loopIndex(n, dim);
        if (have.is(1) && !want.is(1))
          at.push_back(n.index(0));
        else if (same(have, want))
          at.push_back(index);
        else { // a free size may be 1; keys that a mask does not reach are forbidden
          if (dim == 3) only(bitOr(index < n.index(have), equal(n.index(have), 1.0)));
          at.push_back(safeIndex(n, select(equal(n.index(have), 1.0), 0.0, index), have));
        }
      }
      Scalar m = n.at(mask, at);
      if (mask.dtype == DType::Bool) {
        only(m);
        return select(allowed, x, forbidden());
      }
      Scalar sum = x + n.cast(m, q.dtype);
      return allowed.v ? select(allowed, sum, forbidden()) : sum;
    });
  }

  // A row without any key gives zeros.
  DType type = wideType(q.dtype);
  if (int64_t p = n.intAttr("softmax_precision", 0)) {
    auto t = dtypeFromOnnx(p);
    if (!t || !floating.has(*t))
      n.error("'softmax_precision' is {}, which is no floating-point type", p);
    if (*t == DType::F64) type = DType::F64;
  }
  Tensor w = n.castTo(masked, type);
  Tensor top = n.reduce(w, 3, true, -INFINITY, [](Scalar c, Scalar x) { return max(c, x); });
  Tensor e = n.map(w, top,
                   [](Scalar x, Scalar m) { return exp(x - select(equal(m, -INFINITY), 0.0, m)); });
  Tensor sum = n.reduce(e, 3, true, 0, [](Scalar c, Scalar x) { return c + x; });
  Tensor p = n.map({e, sum}, q.dtype, [&](ArrayRef<Scalar> x) {
    return n.cast(x[0] / select(equal(x[1], 0.0), 1.0, x[1]), q.dtype);
  });
  if (n.wantsOutput(3))
    n.output(3, mode == 0 ? scores : mode == 1 ? capped : mode == 2 ? masked : p);

  Tensor y = n.contract(n.reshape(n.castTo(p, v.dtype), {B, groups, shared, S, T}), v,
                        "bhgst,bhtd->bhgsd", q.dtype);
  y = n.reshape(y, {B, heads, S, vs[3]});
  if (flat) y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {B, S, heads * vs[3]});
  n.output(0, y);
}

} // namespace ortc::opdef
