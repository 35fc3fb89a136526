// SPDX-License-Identifier: Apache-2.0
// Attention of decoders with a cache of keys and values that heads of the query share.
#include "compiler/onnx/families/Attention.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
/// How the numbers of a cache are stored: as they are, or with scales that broadcast to it.
struct CacheFormat {
  DType stored, real;
  Tensor scale;
  int64_t bits = 0; ///< of a quantised number; two of 4 bits share a byte
  bool packed() const { return bits == 4; }
};
} // namespace

static CacheFormat cacheFormat(NodeBuilder& n, Tensor past, DType real, Tensor scale,
                               StringRef kind) {
  std::string type = n.stringAttr(kind, "NONE");
  if (type != "NONE" && type != "PER_TENSOR" && type != "PER_CHANNEL")
    n.error("'{}' is '{}'; expected NONE, PER_TENSOR or PER_CHANNEL", kind.str(), type);
  DType stored = past ? past.dtype : real;
  if (type == "NONE") {
    if (scale || stored != real)
      n.error("a cache of {} for queries of {}, with {} scale, needs '{}'", dtypeName(stored),
              dtypeName(real), scale ? "a" : "no", kind.str());
    return {stored, real, {}, 0};
  }
  if (!past || !scale) n.error("'{}' is '{}', but there is no cache or no scale", kind.str(), type);
  int64_t bits = n.intAttr("kv_cache_bit_width", 8);
  bool fits = bits == 4 ? stored == DType::U8
                        : bits == 8 && (stored == DType::I8 || stored == DType::F8E4M3FN);
  if (!fits) n.error("a cache of {} with 'kv_cache_bit_width' {}", dtypeName(stored), bits);
  if (scale.rank() != 4) {
    if (scale.rank() > 1) n.error("a scale is {}; expected rank 1 or 4", n.typeText(scale));
    scale = n.reshape(scale, {});
  }
  return {stored, real, scale, bits};
}

/// The scale of element [b, g, t, d] of a cache.
static Scalar scaleAt(NodeBuilder& n, const CacheFormat& f, ArrayRef<Scalar> at) {
  SmallVector<Scalar> i;
  for (int64_t d = 0; d < f.scale.rank(); ++d)
    i.push_back(n.size(f.scale, d).is(1) ? n.index(0) : at[d]);
  return n.at(f.scale, i);
}

/// v as element `at` is stored: of 4 bits from -8 to 7, plus 8.
static Scalar stored(NodeBuilder& n, const CacheFormat& f, Scalar v, ArrayRef<Scalar> at) {
  if (!f.bits) return v;
  Scalar q = n.cast(v, DType::F32) / scaleAt(n, f, at);
  if (f.stored == DType::F8E4M3FN) return n.cast(clamp(q, -448, 448), f.stored);
  q = roundEven(q);
  if (f.packed()) return n.cast(clamp(q, -8, 7) + 8.0, DType::I32);
  return n.cast(clamp(q, -128, 127), f.stored);
}

/// What a cache stands for.
static Tensor restored(NodeBuilder& n, const CacheFormat& f, Tensor cache, int64_t D) {
  if (!f.bits) return cache;
  std::vector<Size> shape = n.sizes(cache);
  shape[3] = n.size(D);
  return n.generate(shape, f.real, [&](ArrayRef<Scalar> o) {
    Scalar v;
    if (f.packed()) {
      Scalar byte = o[3] / 2.0;
      Scalar both = n.cast(n.at(cache, {o[0], o[1], o[2], byte}), DType::I32);
      Scalar low = rem(both, 16.0), high = both / 16.0;
      v = n.cast(select(equal(o[3] - byte * 2.0, 0.0), low, high) - 8.0, DType::F32);
    } else {
      v = n.cast(n.at(cache, o), DType::F32);
    }
    return n.cast(v * scaleAt(n, f, o), f.real);
  });
}

// Attention of a decoder with a cache of keys and values. `seqlens_k` says how many tokens of each
// sequence are known after this step, less one; all of a sequence at once is a first prompt.
ORTC_ONNX_OP_IN("com.microsoft", "GroupQueryAttention", since(1)) {
  Tensor q = n.input(0, "query", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor k = n.optionalInput(1, "key", same), v = n.optionalInput(2, "value", same),
         pastK = n.optionalInput(3, "past_key", plainType),
         pastV = n.optionalInput(4, "past_value", plainType),
         lengths = n.input(5, "seqlens_k", oneOf({DType::I32})),
         totals = n.input(6, "total_sequence_length", oneOf({DType::I32})),
         cosines = n.optionalInput(7, "cos_cache", same),
         sines = n.optionalInput(8, "sin_cache", same),
         positions = n.optionalInput(9, "position_ids", oneOf({DType::I64})),
         bias = n.optionalInput(10, "attention_bias", same),
         sink = n.optionalInput(11, "head_sink", same),
         scaleK = n.optionalInput(12, "k_scale", oneOf({DType::F32})),
         scaleV = n.optionalInput(13, "v_scale", oneOf({DType::F32})),
         normQ = n.optionalInput(14, "q_norm_weight", same),
         normK = n.optionalInput(15, "k_norm_weight", same);
  if (n.hasInput(16)) n.error("padded chunks ('query_seqlens') are not supported");
  if (n.intAttr("sliding_window_cache", 0)) n.error("'sliding_window_cache' is not supported");
  int64_t scoresOut = n.intAttr("qk_output", 0);
  if (scoresOut < 0 || scoresOut > 2) n.error("'qk_output' is {}; expected 0, 1 or 2", scoresOut);
  if (!normQ != !normK) n.error("'q_norm_weight' and 'k_norm_weight' must be given together");
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
  if (normQ) { // each head of its own
    double epsilon = n.floatAttr("qk_norm_epsilon", 1e-6);
    auto norm = [&](Tensor t, Tensor weight, int64_t count, StringRef own) {
      Tensor split = n.reshape(t, {B, n.size(t, 1), n.size(count), n.size(D)});
      Tensor y = normalised(n, split, weight, {}, n.floatAttr(own, epsilon), /*withMean=*/false);
      return n.reshape(y, n.sizes(t));
    };
    n.requireShape(normQ, n.size(D), "q_norm_weight");
    n.requireShape(normK, n.size(D), "k_norm_weight");
    q = norm(q, normQ, heads, "q_norm_epsilon"), k = norm(k, normK, groups, "k_norm_epsilon");
  }
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
    auto row = [&](Scalar b, Scalar t, Scalar) -> SmallVector<Scalar> {
      Scalar p = positions ? n.toIndex(n.at(positions, {b, t})) : start(b) + t;
      return {safeIndex(n, p, n.size(cosines, 0))};
    };
    bool interleaved = n.flagAttr("rotary_interleaved", false);
    if (!n.size(cosines, 1).constant()) n.error("the sizes of 'cos_cache' must be known");
    int64_t turned = 2 * *n.size(cosines, 1).constant();
    q = rotated(n, q, cosines, sines, heads, turned, interleaved, 1, row);
    k = rotated(n, k, cosines, sines, groups, turned, interleaved, 1, row);
  }
  CacheFormat formatK = cacheFormat(n, pastK, q.dtype, scaleK, "k_quant_type"),
              formatV = cacheFormat(n, pastV, q.dtype, scaleV, "v_quant_type");
  auto present = [&](Tensor old, Tensor fresh, const CacheFormat& f) { // [B, groups, T, D]
    Size width = f.packed() ? n.size((D + 1) / 2) : n.size(D);
    std::vector<Size> shape{B, n.size(groups), T, width};
    if (old) n.requireShape(old, {B, n.size(groups), past, width}, "past");
    return n.generate(shape, f.stored, [&](ArrayRef<Scalar> o) {
      Scalar row = o[2] - start(o[0]);
      auto value = [&](Scalar d) { // of this step
        SmallVector<Scalar> from{o[0], row, o[1] * static_cast<double>(D) + d};
        return stored(n, f, n.at(fresh, from), {o[0], o[1], o[2], d});
      };
      auto byte = [&] {
        Scalar low = value(o[3] * 2.0), second = o[3] * 2.0 + 1.0;
        Scalar high = D % 2 ? n.ifElse(
                                  second < static_cast<double>(D), [&] { return value(second); },
                                  [&] { return n.literal(8, low); })
                            : value(second);
        return n.cast(low + high * 16.0, f.stored);
      };
      return n.ifElse(
          bitAnd(row >= 0.0, row < n.index(S)), [&] { return f.packed() ? byte() : value(o[3]); },
          [&] {
            if (!old) return n.literal(0, n.typeOf(f.stored));
            return n.atOr(old, o, o[2] < n.index(past), 0);
          });
    });
  };
  Tensor presentK = present(pastK, k, formatK), presentV = present(pastV, v, formatV);
  n.output(1, presentK);
  n.output(2, presentV);
  Tensor allK = restored(n, formatK, presentK, D), allV = restored(n, formatV, presentV, D);
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
  if (scoresOut)
    n.output(3,
             n.reshape(scoresOut == 1 ? n.castTo(masked, q.dtype) : p, {B, n.size(heads), S, T}));
  Tensor y = n.contract(p, allV, "bgnst,bgtd->bgnsd");
  n.output(0, n.reshape(n.transpose(y, {0, 3, 1, 2, 4}), {B, S, n.size(heads * D)}));
}

} // namespace ortc::opdef
