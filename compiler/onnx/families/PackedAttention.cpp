// SPDX-License-Identifier: Apache-2.0
// Attention of batches without padding (com.microsoft): the tokens of all sequences stand behind
// each other. `token_offset` says where each would stand in a batch with padding,
// `cumulative_sequence_length` where each sequence begins.
#include "compiler/onnx/families/Attention.h"
#include "compiler/onnx/families/Sort.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Packing {
  Tensor offsets, begins; ///< [B, S], [B + 1]
  Size B, S, tokens;
};
} // namespace

static Packing packing(NodeBuilder& n, size_t i, Size tokens) {
  Packing p{n.input(i, "token_offset", oneOf({DType::I32})),
            n.input(i + 1, "cumulative_sequence_length", oneOf({DType::I32})),
            {},
            {},
            tokens};
  if (p.offsets.rank() != 2)
    n.error("'token_offset' is {}; expected rank 2", n.typeText(p.offsets));
  p.B = n.size(p.offsets, 0), p.S = n.size(p.offsets, 1);
  n.requireShape(p.begins, p.B + n.size(1), "cumulative_sequence_length");
  n.requireIndices(p.offsets, p.B * p.S, "token_offset", /*negative=*/false);
  return p;
}

/// [tokens, H * D] as [B, H, S, D]; places without a token hold any token.
static Tensor padded(NodeBuilder& n, const Packing& p, Tensor t, int64_t heads) {
  Size width = n.size(t, 1);
  if (heads < 1 || (width.constant() && *width.constant() % heads))
    n.error("'num_heads' is {}, which does not divide {}", heads, n.typeText(t));
  Size D = width / n.size(heads);
  return n.generate({p.B, n.size(heads), p.S, D}, t.dtype, [&](ArrayRef<Scalar> o) {
    Scalar token = n.toIndex(n.at(p.begins, o[0])) + o[2];
    return n.at(t, {safeIndex(n, token, p.tokens), o[1] * n.index(D) + o[3]});
  });
}

static Tensor packedAttention(NodeBuilder& n, const Packing& p, Tensor q, Tensor k, Tensor v,
                              Tensor bias) {
  int64_t heads = n.intAttr("num_heads");
  Heads h{padded(n, p, q, heads), padded(n, p, k, heads), padded(n, p, v, heads)};
  Tensor lengths = n.generate(p.B, DType::I32, [&](ArrayRef<Scalar> b) {
    return n.at(p.begins, b[0] + 1.0) - n.at(p.begins, b[0]);
  });
  Tensor y = maskedAttention(n, h, {lengths, bias, n.size(0), {}}).y; // [B, S, H * D]
  Tensor flat = n.reshape(p.offsets, p.B * p.S);
  return n.generate({p.tokens, n.size(y, 2)}, y.dtype, [&](ArrayRef<Scalar> o) {
    Scalar place = safeIndex(n, n.at(flat, safeIndex(n, o[0], p.B * p.S)), p.B * p.S);
    Scalar b = place / n.index(p.S);
    return n.at(y, {b, place - b * n.index(p.S), o[1]});
  });
}

ORTC_ONNX_OP_IN("com.microsoft", "PackedAttention", since(1)) {
  Tensor x = n.input(0, "input", floating);
  TypeSet same = oneOf({x.dtype});
  Tensor w = n.input(1, "weights", same), bias = n.input(2, "bias", same),
         extra = n.optionalInput(5, "attention_bias", same);
  if (x.rank() != 2 || w.rank() != 2 || !n.size(w, 1).constant())
    n.error("the input is {} and the weights {}; expected rank 2", n.typeText(x), n.typeText(w));
  Packing p = packing(n, 3, n.size(x, 0));
  int64_t all = *n.size(w, 1).constant();
  n.requireShape(bias, n.size(all), "bias");
  std::vector<int64_t> widths = n.intsAttr("qkv_hidden_sizes", std::vector<int64_t>(3, all / 3));
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != all)
    n.error("'qkv_hidden_sizes' does not fit weights of {}", n.typeText(w));
  Tensor projected = n.matmul(x, w), parts[3];
  projected = n.map(projected, bias, [](Scalar v, Scalar c) { return v + c; });
  int64_t from = 0;
  for (int64_t i = 0; i < 3; from += widths[i++])
    parts[i] = n.slice(projected, {n.size(0), n.size(from)}, {p.tokens, n.size(widths[i])});
  n.output(0, packedAttention(n, p, parts[0], parts[1], parts[2], extra));
}

ORTC_ONNX_OP_IN("com.microsoft", "PackedMultiHeadAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         bias = n.optionalInput(3, "bias", same),
         extra = n.optionalInput(6, "attention_bias", same);
  if (!k != !v) n.error("'key' and 'value' must be given together");
  Packing p = packing(n, 4, n.size(q, 0));
  if (!k) { // [tokens, H, 3, D]
    if (q.rank() != 4) n.error("'query' is {}; expected rank 4 without keys", n.typeText(q));
    std::vector<Size> s = n.sizes(q);
    n.requireEqual(s[2], n.size(3), "'query' does not hold queries, keys and values");
    auto part = [&](int64_t i) {
      std::vector<Size> from(4, n.size(0)), count = s;
      from[2] = n.size(i), count[2] = n.size(1);
      return n.reshape(n.slice(q, from, count), {s[0], s[1] * s[3]});
    };
    k = part(1), v = part(2), q = part(0);
  }
  for (auto [t, name] : {std::pair(q, "query"), std::pair(k, "key"), std::pair(v, "value")}) {
    if (t.rank() != 2) n.error("'{}' is {}; expected rank 2", name, n.typeText(t));
    n.requireEqual(n.size(t, 0), p.tokens, "the inputs differ in their numbers of tokens");
  }
  n.requireEqual(n.size(q, 1), n.size(k, 1), "the widths of queries and keys differ");
  if (bias) {
    n.requireShape(bias, n.size(q, 1) + n.size(k, 1) + n.size(v, 1), "bias");
    Size from = n.size(0);
    for (Tensor* t : {&q, &k, &v}) {
      Size width = n.size(*t, 1);
      *t = n.map(*t, n.slice(bias, from, width), [](Scalar x, Scalar c) { return x + c; });
      from = from + width;
    }
  }
  n.output(0, packedAttention(n, p, q, k, v, extra));
}

// ---- to and from packed batches ----

ORTC_ONNX_OP_IN("com.microsoft", "RemovePadding", since(1)) {
  Tensor x = n.input(0, "input", floating),
         counts = n.input(1, "sequence_token_count", oneOf({DType::I32}));
  if (x.rank() != 3) n.error("'input' is {}; expected rank 3", n.typeText(x));
  std::vector<Size> in = n.sizes(x);
  n.requireShape(counts, in[0], "sequence_token_count");
  Size all = in[0] * in[1];
  Tensor isToken = n.generate(all, DType::Bool, [&](ArrayRef<Scalar> i) {
    Scalar b = i[0] / n.index(in[1]);
    return i[0] - b * n.index(in[1]) < n.toIndex(n.at(counts, b));
  });
  Selected tokens = selectedPlaces(n, isToken);
  Tensor rest = selectedPlaces(n, n.map(isToken, [](Scalar v) { return !v; })).places;
  n.output(0, n.generate({tokens.count, in[2]}, x.dtype, [&](ArrayRef<Scalar> o) {
    Scalar place = safeIndex(n, n.at(tokens.places, o[0]), all), b = place / n.index(in[1]);
    return n.at(x, {b, place - b * n.index(in[1]), o[1]});
  }));
  n.output(1, n.generate({in[0], in[1]}, DType::I32, [&](ArrayRef<Scalar> o) {
    Scalar i = o[0] * n.index(in[1]) + o[1], count = n.index(tokens.count);
    Scalar place = n.ifElse(
        i < count, [&] { return n.at(tokens.places, i); }, [&] { return n.at(rest, i - count); });
    return n.cast(place, DType::I32);
  }));
  // Each sequence counts no more than it has.
  auto count = [&](Scalar b) { return clamp(n.at(counts, b), 0, INFINITY); };
  n.output(2, n.generateReduce(in[0] + n.size(1), in[0], DType::I32, 0,
                               [&](ArrayRef<Scalar> i, Scalar carried) {
                                 return select(i[1] < i[0], carried + count(i[1]), carried);
                               }));
  n.output(3, n.reduce(counts, 0, true, 0, [](Scalar c, Scalar v) { return max(c, v); }));
}

ORTC_ONNX_OP_IN("com.microsoft", "RestorePadding", since(1)) {
  Tensor x = n.input(0, "input", floating),
         offsets = n.input(1, "token_offset", oneOf({DType::I32}));
  if (x.rank() != 2 || offsets.rank() != 2)
    n.error("'input' is {} and 'token_offset' {}; expected rank 2", n.typeText(x),
            n.typeText(offsets));
  Size tokens = n.size(x, 0), width = n.size(x, 1), B = n.size(offsets, 0), S = n.size(offsets, 1),
       all = B * S;
  n.requireNonNegative(all - tokens, "there are more tokens than places for them");
  n.requireIndices(offsets, all, "token_offset", /*negative=*/false);
  Tensor flat = n.reshape(offsets, all);
  auto code = [&](ArrayRef<Scalar> column, ArrayRef<Out> out) {
    n.repeat(n.index(0), n.index(all),
             [&](Scalar i) { out[0].store({i, column[0]}, n.literal(0, n.typeOf(x.dtype))); });
    n.repeat(n.index(0), n.index(tokens), [&](Scalar i) {
      Scalar place = safeIndex(n, n.at(flat, i), all);
      out[0].store({place, column[0]}, n.at(x, {i, column[0]}));
    });
  };
  Tensor y = n.serial(width, {{{all, width}, x.dtype}}, code)[0];
  n.output(0, n.reshape(y, {B, S, width}));
}

// ---- biases by the distance of two tokens ----

// T5's: distances fall into buckets, the near ones each into its own, and the table holds the
// bias of each head for each bucket (head after head, whatever its shape says).
ORTC_ONNX_OP_IN("com.microsoft", "RelativePositionBias", since(1)) {
  Tensor table = n.input(0, "bias_table", floating);
  if (table.rank() != 2 || !n.size(table, 0).constant())
    n.error("'bias_table' is {}; expected rank 2, and a number of buckets that is known while "
            "compiling",
            n.typeText(table));
  Size q = n.asSize(n.input(1, "query_length", oneOf({DType::I64})), "query_length"),
       k = n.asSize(n.input(2, "key_length", oneOf({DType::I64})), "key_length"),
       heads = n.size(table, 1);
  bool both = n.flagAttr("is_bidirectional", false);
  int64_t all = *n.size(table, 0).constant(), buckets = both ? all / 2 : all, exact = buckets / 2,
          furthest = n.intAttr("max_distance");
  if (exact < 1 || furthest <= exact) n.error("'max_distance' is {} for {} buckets", furthest, all);
  Tensor flat = n.reshape(table, n.size(all) * heads);
  double growth = static_cast<double>(buckets - exact) /
                  std::log(static_cast<double>(furthest) / static_cast<double>(exact));
  n.output(0, n.generate({n.size(1), heads, q, k}, table.dtype, [&](ArrayRef<Scalar> o) {
    Scalar ahead = o[3] - o[2], zero = n.index(0);
    Scalar distance = both ? max(ahead, zero - ahead) : max(zero - ahead, 0.0);
    // Further ones share buckets that grow as the logarithm does.
    Scalar ratio = n.cast(n.fromIndex(max(distance, 1.0), DType::I64), DType::F32) /
                   static_cast<double>(exact);
    Scalar far = n.toIndex(n.cast(log(ratio) * growth, DType::I64)) + static_cast<double>(exact);
    Scalar bucket = select(distance < static_cast<double>(exact), distance,
                           min(far, static_cast<double>(buckets - 1)));
    if (both) bucket = bucket + select(ahead > 0.0, n.index(buckets), 0.0);
    return n.at(flat, o[1] * static_cast<double>(all) + bucket);
  }));
}

// WavLM's: a bias that is there, times a gate that each query computes.
ORTC_ONNX_OP_IN("com.microsoft", "GatedRelativePositionBias", since(1)) {
  Tensor q = n.input(0, "query_layer", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor qBias = n.input(1, "query_bias", same), bias = n.input(2, "rel_pos", same),
         w = n.input(3, "weight", same), wBias = n.input(4, "bias", same),
         constant = n.input(5, "eco_a", same);
  if (n.hasInput(6)) n.error("packed batches ('token_offset') are not supported");
  int64_t heads = n.intAttr("num_heads");
  if (q.rank() != 3 || w.rank() != 2 || bias.rank() != 4)
    n.error("'query_layer' is {}, 'rel_pos' {} and 'weight' {}; expected ranks 3, 4 and 2",
            n.typeText(q), n.typeText(bias), n.typeText(w));
  std::vector<Size> in = n.sizes(q);
  Size B = in[0], S = in[1], H = n.size(heads), wide = n.size(w, 1);
  n.requireShape(qBias, in[2], "query_bias");
  n.requireShape(bias, {n.size(1), H, S, S}, "rel_pos");
  n.requireShape(wBias, wide, "bias");
  n.requireShape(constant, {n.size(1), H, n.size(1), n.size(1)}, "eco_a");
  auto plus = [](Scalar v, Scalar c) { return v + c; };
  Tensor x = perHead(n, n.map(q, qBias, plus), heads); // [B, H, S, D]
  Tensor g = n.map(n.contract(x, w, "bhsd,dg->bhsg"), wBias, plus);
  g = n.reshape(g, {B, H, S, n.size(2), wide / n.size(2)});
  g = n.map(n.reduce(n.castTo(g, wideType(q.dtype)), 4, false, 0, plus),
            [](Scalar v) { return sigmoid(v); }); // [B, H, S, 2]
  n.output(0, n.generate({B, H, S, S}, q.dtype, [&](ArrayRef<Scalar> o) {
    auto gate = [&](int64_t i) { return n.at(g, {o[0], o[1], o[2], n.index(i)}); };
    Scalar zero = n.index(0), a = n.cast(n.at(constant, {zero, o[1], zero, zero}), g.dtype);
    Scalar factor = gate(0) * (gate(1) * a - 1.0) + 2.0;
    return n.cast(factor * n.cast(n.at(bias, {zero, o[1], o[2], o[3]}), g.dtype), q.dtype);
  }));
}

} // namespace ortc::opdef
