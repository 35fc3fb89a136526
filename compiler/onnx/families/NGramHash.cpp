// SPDX-License-Identifier: Apache-2.0
// Numbers for the last tokens at each place (com.microsoft), by which tables of n-grams are looked
// up.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
/// What NGramHashMapping and its form for packed sequences share.
struct Hashing {
  Tensor ids, multipliers, vocabulary, offsets, eos;
  int64_t longest, heads, pad;
  bool resets;
};
} // namespace

static Hashing hashing(NodeBuilder& n, size_t offsets, size_t eos) {
  Hashing h;
  h.ids = n.input(0, "input_ids", indexInteger);
  TypeSet type = oneOf({h.ids.dtype});
  h.multipliers = n.input(1, "multipliers", type), h.vocabulary = n.input(2, "vocab_sizes", type);
  h.offsets = n.optionalInput(offsets, "head_offsets", type);
  h.eos = n.optionalInput(eos, "eos_token_id", type);
  h.longest = n.intAttr("max_ngram_size"), h.heads = n.intAttr("n_head_per_ngram");
  h.pad = n.intAttr("pad_id");
  h.resets = h.eos && n.intAttr("reset_on_eos", 0) != 0;
  if (h.longest < 2 || h.longest > 64 || h.heads < 1)
    n.error("'max_ngram_size' is {} and 'n_head_per_ngram' {}; expected 2 to 64, and at least 1",
            h.longest, h.heads);
  Size columns = n.size((h.longest - 1) * h.heads);
  if (h.multipliers.rank() != 1)
    n.error("'multipliers' is {}; expected rank 1", n.typeText(h.multipliers));
  n.requireNonNegative(n.size(h.multipliers, 0) - n.size(h.longest), "'multipliers' is too short");
  n.requireShape(h.vocabulary, columns, "vocab_sizes");
  if (h.offsets) n.requireShape(h.offsets, columns, "head_offsets");
  if (h.eos) {
    if (h.eos.rank() > 1) n.error("'eos_token_id' is {}; expected a scalar", n.typeText(h.eos));
    h.eos = n.reshape(h.eos, {});
  }
  if (auto known = n.constantInts(h.vocabulary))
    for (int64_t v : *known)
      if (v < 1) n.error("'vocab_sizes' holds {}; expected positive numbers", v);
  return h;
}

/// What stands for tokens that are not there.
static Scalar missing(NodeBuilder& n, const Hashing& h) {
  if (h.eos) return n.at(h.eos, {});
  return n.literal(static_cast<double>(h.pad), n.typeOf(h.ids.dtype));
}

/// The hash of column `column`: of the token there and those before it. `before(k)` is the token k
/// places before, `joined(k)` whether it is of the same segment as the next one (no value: yes).
static Scalar hashOf(NodeBuilder& n, const Hashing& h, Scalar column, Scalar own,
                     llvm::function_ref<Scalar(int64_t k)> before,
                     llvm::function_ref<Scalar(int64_t k)> joined) {
  Scalar mix = own * n.at(h.multipliers, n.index(0)), result, alive;
  for (int64_t k = 1; k < h.longest; ++k) {
    Scalar token = before(k), with = joined(k);
    auto only = [&](Scalar c) { alive = alive.v ? bitAnd(alive, c) : c; };
    if (with.v) only(with);
    if (alive.v) token = select(alive, token, missing(n, h));
    if (h.resets) only(notEqual(token, n.at(h.eos, {})));
    mix = bitXor(mix, token * n.at(h.multipliers, n.index(k)));
    // Columns of n-grams of k + 1 tokens.
    Scalar here = column >= static_cast<double>((k - 1) * h.heads);
    result = result.v ? select(here, mix, result) : mix;
  }
  Scalar size = n.at(h.vocabulary, column);
  size = select(size < 1.0, 1.0, size);
  Scalar hash = floorMod(result, size);
  return h.offsets ? hash + n.at(h.offsets, column) : hash;
}

ORTC_ONNX_OP_IN("com.microsoft", "NGramHashMapping", since(1)) {
  Hashing h = hashing(n, 4, 5);
  Tensor past = n.optionalInput(3, "past_ids", oneOf({h.ids.dtype})),
         segments = n.optionalInput(6, "segment_ids", oneOf({DType::I32}));
  if (h.ids.rank() != 2) n.error("'input_ids' is {}; expected rank 2", n.typeText(h.ids));
  std::vector<Size> in = n.sizes(h.ids);
  Size history = n.size(h.longest - 1);
  if (past) n.requireShape(past, {in[0], history}, "past_ids");
  if (segments) n.requireShape(segments, in, "segment_ids");
  auto token = [&](Scalar b, Scalar place) { // negative ones are of the past
    return n.ifElse(
        place >= 0.0, [&] { return n.at(h.ids, {b, place}); },
        [&] { return past ? n.at(past, {b, place + n.index(history)}) : missing(n, h); });
  };
  n.output(0, n.generate({in[0], in[1], n.size((h.longest - 1) * h.heads)}, h.ids.dtype,
                         [&](ArrayRef<Scalar> o) {
                           auto place = [&](int64_t k) { return o[1] - static_cast<double>(k); };
                           return hashOf(
                               n, h, o[2], n.at(h.ids, {o[0], o[1]}),
                               [&](int64_t k) { return token(o[0], place(k)); },
                               [&](int64_t k) -> Scalar {
                                 if (!segments) return {};
                                 Scalar there = max(place(k), 0.0), next = max(place(k - 1), 0.0);
                                 return equal(n.at(segments, {o[0], there}),
                                              n.at(segments, {o[0], next}));
                               });
                         }));
  n.output(1, n.generate({in[0], history}, h.ids.dtype, [&](ArrayRef<Scalar> o) {
    return token(o[0], n.index(in[1] - history) + o[1]);
  }));
}

ORTC_ONNX_OP_IN("com.microsoft", "VarlenNGramHashMapping", since(1)) {
  Hashing h = hashing(n, 5, 6);
  Tensor begins = n.input(3, "cumulative_sequence_length", oneOf({DType::I32})),
         past = n.optionalInput(4, "past_ids", oneOf({h.ids.dtype})),
         segments = n.optionalInput(7, "segment_ids", oneOf({DType::I32})),
         pastSegments = n.optionalInput(8, "past_segment_ids", oneOf({DType::I32}));
  if (n.intAttr("state_update_capacity", 0)) n.error("'state_update_capacity' is not supported");
  if (h.ids.rank() != 1 || begins.rank() != 1)
    n.error("'input_ids' is {} and 'cumulative_sequence_length' {}; expected rank 1",
            n.typeText(h.ids), n.typeText(begins));
  Size tokens = n.size(h.ids, 0), B = n.size(begins, 0) - n.size(1),
       history = n.size(h.longest - 1);
  if (past) n.requireShape(past, {B, history}, "past_ids");
  if (segments) n.requireShape(segments, tokens, "segment_ids");
  if (pastSegments) n.requireShape(pastSegments, {B, history}, "past_segment_ids");
  // Which request a token is of.
  Tensor owner = n.generateReduce(tokens, B, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar c) {
    Scalar later = i[0] >= n.toIndex(n.at(begins, i[1] + 1.0));
    return select(later, c + 1.0, c);
  });
  auto begin = [&](Scalar b) { return n.toIndex(n.at(begins, b)); };
  /// Number `place` of request b in `all`; negative ones are of the past.
  auto numberOf = [&](Tensor all, Tensor old, Scalar b, Scalar place,
                      llvm::function_ref<Scalar()> none) {
    return n.ifElse(
        place >= 0.0, [&] { return n.at(all, safeIndex(n, begin(b) + place, tokens)); },
        [&] {
          return old ? n.at(old, {b, safeIndex(n, place + n.index(history), history)}) : none();
        });
  };
  auto token = [&](Scalar b, Scalar place) {
    return numberOf(h.ids, past, b, place, [&] { return missing(n, h); });
  };
  n.output(0, n.generate({tokens, n.size((h.longest - 1) * h.heads)}, h.ids.dtype,
                         [&](ArrayRef<Scalar> o) {
                           Scalar b = safeIndex(n, n.at(owner, o[0]), B), local = o[0] - begin(b);
                           auto segment = [&](int64_t k) {
                             Scalar place = local - static_cast<double>(k);
                             if (!pastSegments) place = max(place, 0.0);
                             return numberOf(segments, pastSegments, b, place,
                                             [&] { return n.literal(0, n.b.getI32Type()); });
                           };
                           return hashOf(
                               n, h, o[1], n.at(h.ids, o[0]),
                               [&](int64_t k) { return token(b, local - static_cast<double>(k)); },
                               [&](int64_t k) -> Scalar {
                                 if (!segments) return {};
                                 return equal(segment(k), segment(k - 1));
                               });
                         }));
  auto last = [&](llvm::function_ref<Scalar(Scalar b, Scalar place)> number, DType type) {
    return n.generate({B, history}, type, [&](ArrayRef<Scalar> o) {
      Scalar length = begin(o[0] + 1.0) - begin(o[0]);
      return number(o[0], length - n.index(history) + o[1]);
    });
  };
  n.output(1, last(token, h.ids.dtype));
  if (segments)
    n.output(2, last(
                    [&](Scalar b, Scalar place) {
                      return numberOf(segments, pastSegments, b, place,
                                      [&] { return n.literal(0, n.b.getI32Type()); });
                    },
                    DType::I32));
}

} // namespace ortc::opdef
