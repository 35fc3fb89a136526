// SPDX-License-Identifier: Apache-2.0
// Attention: two products with a softmax between them. Heads of the query that share a head of the
// key are one more loop of the products, so that nothing is repeated in memory; masks are
// conditions on indices, so that they need none.
#include "compiler/onnx/families/Common.h"

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
  if (!heads.constant() || !groups.constant() || !D.constant())
    n.error("the numbers of heads and their size must be known while compiling");
  if (*groups.constant() < 1 || *heads.constant() % *groups.constant())
    n.error("{} heads of the query cannot share {} of the key", *heads.constant(),
            *groups.constant());
  Size shared = heads / groups;
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

/// Pairs of values of each head turned by an angle that depends on the position. `angles(b, s)`
/// gives the indices of the row of the tables.
static Tensor rotated(NodeBuilder& n, Tensor x, Tensor cosines, Tensor sines, int64_t heads,
                      int64_t dim, bool interleaved, double scale,
                      llvm::function_ref<SmallVector<Scalar>(Scalar b, Scalar s)> row) {
  if (heads < 0) n.error("'num_heads' is {}", heads);
  bool flat = x.rank() == 3; // [B, S, heads * D], else [B, heads, S, D]
  std::vector<Size> in = n.sizes(x);
  if (!in.back().constant()) n.error("the last size of the input must be known while compiling");
  if (flat && (heads < 1 || *in[2].constant() % heads))
    n.error("'num_heads' is {}, which does not divide {}", heads, *in[2].constant());
  int64_t size = flat ? *in[2].constant() / heads : *in[3].constant(), turned = dim ? dim : size;
  if (turned > size || turned % 2)
    n.error("'rotary_embedding_dim' is {}; expected an even number up to {}", turned, size);
  auto half = static_cast<double>(turned / 2);
  n.requireShape(sines, n.sizes(cosines), "sin_cache");
  n.requireNonNegative(n.size(cosines, cosines.rank() - 1) - n.size(turned / 2),
                       "'cos_cache' has fewer columns than are turned");
  DType wide = wideType(x.dtype);
  return n.generate(in, x.dtype, [&](ArrayRef<Scalar> o) {
    Scalar width = n.index(size), d = flat ? rem(o[2], width) : o[3];
    auto at = [&](Scalar other) { // the same head at another place
      SmallVector<Scalar> i(o);
      i.back() = flat ? o[2] - d + other : other;
      return n.cast(n.at(x, i), wide);
    };
    return n.ifElse(
        d < static_cast<double>(turned),
        [&] {
          Scalar k = interleaved ? d / 2.0 : rem(d, n.index(turned / 2));
          Scalar second = interleaved ? equal(rem(d, n.index(2)), 1.0) : d >= half;
          SmallVector<Scalar> i = row(o[0], flat ? o[1] : o[2]);
          i.push_back(k);
          Scalar c = n.cast(n.at(cosines, i), wide), s = n.cast(n.at(sines, i), wide);
          Scalar p = at(interleaved ? k * 2.0 : k), q = at(interleaved ? k * 2.0 + 1.0 : k + half);
          Scalar v = select(second, s * p + c * q, c * p - s * q);
          return n.cast(scale == 1 ? v : v * scale, x.dtype);
        },
        [&] { return n.at(x, o); });
  });
}

ORTC_ONNX_OP("RotaryEmbedding", since(23)) {
  Tensor x = n.input(0, "X", floating), c = n.input(1, "cos_cache", oneOf({x.dtype})),
         s = n.input(2, "sin_cache", oneOf({x.dtype})),
         positions = n.optionalInput(3, "position_ids", oneOf({DType::I64}));
  int64_t rank = positions ? 2 : 3;
  if ((x.rank() != 3 && x.rank() != 4) || c.rank() != rank || s.rank() != rank)
    n.error("'X' has rank {}, the tables {} and {}; expected 3 or 4, and {}", x.rank(), c.rank(),
            s.rank(), rank);
  Size batch = n.size(x, 0), length = n.size(x, x.rank() == 3 ? 1 : 2);
  if (positions) {
    n.requireShape(positions, {batch, length}, "position_ids");
    n.requireIndices(positions, n.size(c, 0), "position_ids", /*negative=*/false);
  } else
    n.requireShape(c, {batch, length, n.size(c, 2)}, "cos_cache");
  n.output(0, rotated(n, x, c, s, n.intAttr("num_heads", 0), n.intAttr("rotary_embedding_dim", 0),
                      n.flagAttr("interleaved", false), 1,
                      [&](Scalar b, Scalar t) -> SmallVector<Scalar> {
                        if (!positions) return {b, t};
                        return {safeIndex(n, n.at(positions, {b, t}), n.size(c, 0))};
                      }));
}

// Positions are given for each token, or one for the first of all.
ORTC_ONNX_OP_IN("com.microsoft", "RotaryEmbedding", since(1)) {
  Tensor x = n.input(0, "input", floating),
         positions = n.input(1, "position_ids", oneOf({DType::I64})),
         c = n.input(2, "cos_cache", oneOf({x.dtype})),
         s = n.input(3, "sin_cache", oneOf({x.dtype}));
  if (n.flagAttr("is_packed_batching", false)) n.error("'is_packed_batching' is not supported");
  if ((x.rank() != 3 && x.rank() != 4) || c.rank() != 2 || s.rank() != 2)
    n.error("the input has rank {}, the tables {} and {}; expected 3 or 4, and 2", x.rank(),
            c.rank(), s.rank());
  std::vector<Size> in = n.sizes(x), table = n.sizes(c);
  int64_t heads = n.intAttr("num_heads", 0), dim = n.intAttr("rotary_embedding_dim", 0);
  if (positions.rank() == 2) {
    n.requireShape(positions, {in[0], in[x.rank() == 3 ? 1 : 2]}, "position_ids");
    n.requireIndices(positions, table[0], "position_ids", /*negative=*/false);
  } else if (positions.rank() == 1)
    n.requireShape(positions, n.size(1), "position_ids");
  else if (positions.rank() > 2)
    n.error("'position_ids' is {}; expected at most rank 2", n.typeText(positions));
  if (!dim && heads == 0 && x.rank() == 3) { // as wide as the tables say
    if (!in[2].constant() || !table[1].constant() || !*table[1].constant())
      n.error("the sizes of the input and the tables must be known while compiling");
    heads = *in[2].constant() / (2 * *table[1].constant());
  }
  n.output(0, rotated(n, x, c, s, heads, dim, n.flagAttr("interleaved", false),
                      n.floatAttr("scale", 1.0), [&](Scalar b, Scalar t) -> SmallVector<Scalar> {
                        Scalar p = positions.rank() == 2
                                       ? n.toIndex(n.at(positions, {b, t}))
                                       : n.toIndex(n.at(positions, n.index(0))) + t;
                        return {safeIndex(n, p, table[0])};
                      }));
}

// Attention of a decoder with a cache of keys and values. `seqlens_k` says how many tokens of each
// sequence are known after this step, less one; all of a sequence at once is a first prompt.
ORTC_ONNX_OP_IN("com.microsoft", "GroupQueryAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         pastK = n.optionalInput(3, "past_key", same),
         pastV = n.optionalInput(4, "past_value", same),
         lengths = n.input(5, "seqlens_k", oneOf({DType::I32})),
         totals = n.input(6, "total_sequence_length", oneOf({DType::I32})),
         cosines = n.optionalInput(7, "cos_cache", same),
         sines = n.optionalInput(8, "sin_cache", same),
         positions = n.optionalInput(9, "position_ids", oneOf({DType::I64})),
         bias = n.optionalInput(10, "attention_bias", same),
         sink = n.optionalInput(11, "head_sink", same);
  for (size_t i = 12; i < n.numInputs(); ++i)
    if (n.hasInput(i))
      n.error("quantised caches, norms of queries and padded chunks (input {}) are not supported",
              i);
  if (n.intAttr("qk_output", 0) || n.intAttr("sliding_window_cache", 0))
    n.error("'qk_output' and 'sliding_window_cache' are not supported");
  int64_t heads = n.intAttr("num_heads"), groups = n.intAttr("kv_num_heads"),
          window = n.intAttr("local_window_size", -1);
  bool causal = n.flagAttr("causal", true), smooth = n.flagAttr("smooth_softmax", false);
  double softcap = n.floatAttr("softcap", 0.0), scale = n.floatAttr("scale", 0.0);
  if (!k != !v || !pastK != !pastV)
    n.error("keys and values must be given together, and so must those of the past");
  if (q.rank() != 3 || heads < 1 || groups < 1 || heads % groups)
    n.error("the query is {}, with {} heads for {} of keys", n.typeText(q), heads, groups);
  auto ranked = [&](Tensor t, int64_t least, int64_t most, StringRef name) {
    if (t && (t.rank() < least || t.rank() > most))
      n.error("'{}' is {}; expected rank {}", name.str(), n.typeText(t), most);
  };
  ranked(k, 3, 3, "key"), ranked(v, 3, 3, "value");
  ranked(pastK, 4, 4, "past_key"), ranked(pastV, 4, 4, "past_value");
  ranked(lengths, 1, 2, "seqlens_k"), ranked(positions, 2, 2, "position_ids");
  ranked(cosines, 2, 2, "cos_cache"), ranked(sines, 2, 2, "sin_cache");
  ranked(bias, 4, 4, "attention_bias"), ranked(sink, 1, 1, "head_sink");
  std::vector<Size> in = n.sizes(q);
  Size B = in[0], S = in[1];
  int64_t parts = k ? heads : heads + 2 * groups;
  if (!in[2].constant() || *in[2].constant() % parts)
    n.error("the query is {}, which {} heads do not divide", n.typeText(q), parts);
  int64_t D = *in[2].constant() / parts;
  if (!k) { // packed: queries, then keys, then values
    auto cut = [&](int64_t from, int64_t count) {
      return n.slice(q, {n.size(0), n.size(0), n.size(from * D)}, {B, S, n.size(count * D)});
    };
    k = cut(heads, groups), v = cut(heads + groups, groups), q = cut(0, heads);
  }
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(D));
  Size total = n.asSize(totals, "total_sequence_length"),
       past = pastK ? n.size(pastK, 2) : n.size(0), T = max(past, total);
  // How many tokens of sequence b came before this step.
  Tensor before = n.generate(B, DType::I64, [&](ArrayRef<Scalar> b) {
    Scalar known =
        n.cast(n.at(lengths, lengths.rank() == 2 ? ArrayRef<Scalar>({b[0], n.index(0)}) : b),
               DType::I64) +
        1.0;
    Scalar rows = n.fromIndex(n.index(S), DType::I64);
    Scalar isPrompt = equal(rows, n.fromIndex(n.index(total), DType::I64));
    return select(isPrompt, 0.0, max(known - rows, 0.0));
  });
  auto start = [&](Scalar b) { return n.toIndex(n.at(before, b)); };
  if (n.flagAttr("do_rotary", false)) {
    if (!cosines || !sines) n.error("'do_rotary' is set, but there are no tables");
    auto row = [&](Scalar b, Scalar t) -> SmallVector<Scalar> {
      Scalar p = positions ? n.toIndex(n.at(positions, {b, t})) : start(b) + t;
      return {safeIndex(n, p, n.size(cosines, 0))};
    };
    bool interleaved = n.flagAttr("rotary_interleaved", false);
    if (!n.size(cosines, 1).constant()) n.error("the sizes of 'cos_cache' must be known");
    int64_t turned = 2 * *n.size(cosines, 1).constant();
    q = rotated(n, q, cosines, sines, heads, turned, interleaved, 1, row);
    k = rotated(n, k, cosines, sines, groups, turned, interleaved, 1, row);
  }
  auto present = [&](Tensor old, Tensor fresh) { // [B, groups, T, D]
    std::vector<Size> shape{B, n.size(groups), T, n.size(D)};
    return n.generate(shape, q.dtype, [&](ArrayRef<Scalar> o) {
      Scalar row = o[2] - start(o[0]);
      SmallVector<Scalar> from{o[0], row, o[1] * static_cast<double>(D) + o[3]};
      return n.ifElse(
          bitAnd(row >= 0.0, row < n.index(S)), [&] { return n.at(fresh, from); },
          [&] {
            if (!old) return n.literal(0, n.typeOf(q.dtype));
            return n.atOr(old, o, o[2] < n.index(past), 0);
          });
    });
  };
  Tensor allK = present(pastK, k), allV = present(pastV, v);
  n.output(1, allK);
  n.output(2, allV);
  Size G = n.size(groups), shared = n.size(heads / groups);
  Tensor perGroup = n.transpose(n.reshape(q, {B, S, G, shared, n.size(D)}), {0, 2, 3, 1, 4});
  Tensor scores = n.contract(perGroup, allK, "bgnsd,bgtd->bgnst");
  DType wide = wideType(q.dtype);
  Tensor masked = n.map(scores, wide, [&](Scalar x) {
    Scalar w = n.cast(x, wide) * scale, b = loopIndex(n, 0), s = loopIndex(n, 3),
           t = loopIndex(n, 4);
    Scalar head = loopIndex(n, 1) * n.index(shared) + loopIndex(n, 2);
    if (softcap > 0) w = tanh(w / softcap) * softcap;
    if (bias) {
      auto dim = [&](int64_t d, Scalar i) { return n.size(bias, d).is(1) ? n.index(0) : i; };
      w = w + n.cast(n.at(bias, {dim(0, b), dim(1, head), dim(2, s), dim(3, t)}), wide);
    }
    Scalar place = start(b) + s, visible = t < start(b) + n.index(S);
    if (causal) visible = t <= place;
    if (window > 0) visible = bitAnd(visible, t > place - static_cast<double>(window));
    return select(visible, w, -INFINITY);
  });
  Tensor top = n.reduce(masked, 4, true, -INFINITY, [](Scalar c, Scalar x) { return max(c, x); });
  auto least = [&](Scalar m) { // what every row also counts, without a value
    if (smooth && !sink) return max(m, 0.0);
    return sink ? max(m,
                      n.cast(n.at(sink, loopIndex(n, 1) * n.index(shared) + loopIndex(n, 2)), wide))
                : m;
  };
  top = n.map(top, least);
  Tensor e = n.map(masked, top,
                   [](Scalar x, Scalar m) { return exp(x - select(equal(m, -INFINITY), 0.0, m)); });
  Tensor sum = n.reduce(e, 4, true, 0, [](Scalar c, Scalar x) { return c + x; });
  if (smooth || sink)
    sum = n.map(sum, top, [&](Scalar c, Scalar m) {
      Scalar extra =
          sink ? n.cast(n.at(sink, loopIndex(n, 1) * n.index(shared) + loopIndex(n, 2)), wide)
               : n.literal(0, m);
      return c + exp(extra - m);
    });
  Tensor p = n.map({e, sum}, q.dtype, [&](ArrayRef<Scalar> x) {
    return n.cast(x[0] / select(equal(x[1], 0.0), 1.0, x[1]), q.dtype);
  });
  Tensor y = n.contract(p, allV, "bgnst,bgtd->bgnsd");
  n.output(0, n.reshape(n.transpose(y, {0, 3, 1, 2, 4}), {B, S, n.size(heads * D)}));
}

} // namespace ortc::opdef
