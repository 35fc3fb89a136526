// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings: positions as angles by which pairs of values are turned.
#include "compiler/onnx/families/Attention.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

Tensor rotated(NodeBuilder& n, Tensor x, Tensor cosines, Tensor sines, int64_t heads, int64_t dim,
               bool interleaved, double scale,
               llvm::function_ref<SmallVector<Scalar>(Scalar b, Scalar s, Scalar k)> row) {
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
          SmallVector<Scalar> i = row(o[0], flat ? o[1] : o[2], k);
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
                      [&](Scalar b, Scalar t, Scalar) -> SmallVector<Scalar> {
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
  n.output(
      0, rotated(n, x, c, s, heads, dim, n.flagAttr("interleaved", false),
                 n.floatAttr("scale", 1.0), [&](Scalar b, Scalar t, Scalar) -> SmallVector<Scalar> {
                   Scalar p = positions.rank() == 2 ? n.toIndex(n.at(positions, {b, t}))
                                                    : n.toIndex(n.at(positions, n.index(0))) + t;
                   return {safeIndex(n, p, table[0])};
                 }));
}

// As RotaryEmbedding with three positions of each token (time, height, width), each of which some
// of the pairs go by.
ORTC_ONNX_OP_IN("com.microsoft", "MRotaryEmbedding", since(1)) {
  Tensor x = n.input(0, "input", floating),
         positions = n.input(1, "position_ids", oneOf({DType::I64})),
         c = n.input(2, "cos_cache", oneOf({x.dtype})),
         s = n.input(3, "sin_cache", oneOf({x.dtype}));
  if (n.flagAttr("is_packed_batching", false)) n.error("'is_packed_batching' is not supported");
  if ((x.rank() != 3 && x.rank() != 4) || positions.rank() != 3 || c.rank() != 2 || s.rank() != 2)
    n.error("'input' has rank {}, 'position_ids' {}, the tables {} and {}; expected 3 or 4, 3, and "
            "2",
            x.rank(), positions.rank(), c.rank(), s.rank());
  std::vector<Size> in = n.sizes(x), table = n.sizes(c);
  if (!table[1].constant()) n.error("the sizes of the tables must be known while compiling");
  int64_t half = *table[1].constant(), heads = n.intAttr("num_heads", 0),
          dim = n.intAttr("rotary_embedding_dim", 0), layout = n.intAttr("mrope_layout", 0);
  std::vector<int64_t> section = n.intsAttr("mrope_section");
  if (section.size() != 3 || *llvm::min_element(section) < 0 ||
      section[0] + section[1] + section[2] != half)
    n.error("'mrope_section' is [{}]; expected three numbers that add up to {}, as many as the "
            "tables have columns",
            fmt::join(section, ","), half);
  if (layout != 0 && layout != 1) n.error("'mrope_layout' is {}; expected 0 or 1", layout);
  n.requireShape(positions, {n.size(3), in[0], in[x.rank() == 3 ? 1 : 2]}, "position_ids");
  n.requireIndices(positions, table[0], "position_ids", /*negative=*/false);
  if (!dim) dim = 2 * half;
  if (heads == 0 && x.rank() == 3 && in[2].constant()) heads = *in[2].constant() / dim;
  auto below = [](Scalar k, int64_t end) { return k < static_cast<double>(end); };
  n.output(0, rotated(n, x, c, s, heads, dim, n.flagAttr("interleaved", false),
                      n.floatAttr("scale", 1.0),
                      [&](Scalar b, Scalar t, Scalar k) -> SmallVector<Scalar> {
                        Scalar stream;
                        if (layout == 0) {
                          stream =
                              select(below(k, section[0]), n.index(0),
                                     select(below(k, section[0] + section[1]), n.index(1), 2.0));
                        } else { // in turns, as far as there are some of the second and third
                          Scalar turn = rem(k, 3.0);
                          Scalar counts = select(equal(turn, 1.0), below(k, 3 * section[1]),
                                                 below(k, 3 * section[2]));
                          stream = select(counts, turn, 0.0);
                        }
                        return {safeIndex(n, n.at(positions, {stream, b, t}), table[0])};
                      }));
}

// x cos(e) + turned x sin(e) for queries and keys; sine and cosine are rounded to their type.
ORTC_ONNX_OP_IN("com.microsoft", "GemmaRotaryEmbedding", since(1)) {
  Tensor e = n.input(0, "emb", oneOf({DType::F32})), q = n.input(1, "q", floating);
  TypeSet same = oneOf({q.dtype});
  Tensor qTurned = n.input(2, "q_rot", same), k = n.input(3, "k", same),
         kTurned = n.input(4, "k_rot", same);
  if (e.rank() != 3) n.error("'emb' is {}; expected rank 3", n.typeText(e));
  std::vector<Size> s = n.sizes(e);
  for (auto [t, name] : {std::pair(q, "q"), std::pair(qTurned, "q_rot"), std::pair(k, "k"),
                         std::pair(kTurned, "k_rot")}) {
    if (t.rank() != 4) n.error("'{}' is {}; expected rank 4", name, n.typeText(t));
    n.requireShape(t, {s[0], n.size(t, 1), s[1], s[2]}, name);
  }
  e = n.reshape(e, {s[0], n.size(1), s[1], s[2]});
  auto embedded = [&](Tensor x, Tensor turned) {
    return n.map({x, turned, e}, q.dtype, [&](ArrayRef<Scalar> v) {
      return v[0] * n.cast(cos(v[2]), q.dtype) + v[1] * n.cast(sin(v[2]), q.dtype);
    });
  };
  n.output(0, embedded(q, qTurned));
  n.output(1, embedded(k, kTurned));
}

// A part of each head normalised by its mean square, then turned.
ORTC_ONNX_OP_IN("com.microsoft", "RMSNormRotary", since(1)) {
  Tensor x = n.input(0, "X", oneOf({DType::F16, DType::BF16})),
         scale = n.input(1, "scale", oneOf({DType::F32})),
         positions = n.input(2, "position_ids", oneOf({DType::I64})),
         c = n.input(3, "cosine", oneOf({DType::F32, DType::BF16})),
         s = n.input(4, "sine", oneOf({c.dtype}));
  DType to = n.flagAttr("output_fp16", false) ? DType::F16 : DType::BF16;
  if (x.dtype != DType::F16 && to != DType::F16 && c.dtype != DType::F32)
    n.error("rounding to bf16 between the steps is not supported: expected f16 input or output, or "
            "f32 tables");
  int64_t dim = n.intAttr("rotary_embedding_dim"), start = n.intAttr("input_start", 0),
          width = n.intAttr("input_width", 0);
  if (x.rank() != 4) n.error("'X' is {}; expected rank 4", n.typeText(x));
  std::vector<Size> in = n.sizes(x);
  if (!in[3].constant() || !in[2].constant())
    n.error("the last two sizes of 'X' must be known while compiling");
  if (!width) width = *in[3].constant() - start;
  if (start < 0 || width < 1 || start + width > *in[3].constant() || dim < 2 || dim > width)
    n.error("{} values from {} of {} are normalised, and {} of them turned", width, start,
            *in[3].constant(), dim);
  n.requireShape(scale, n.size(width), "scale");
  if (c.rank() != 2) n.error("'cosine' is {}; expected rank 2", n.typeText(c));
  n.requireShape(c, {n.size(c, 0), n.size(dim / 2)}, "cosine");
  bool each = positions.rank() == 2;
  if (each)
    n.requireShape(positions, {in[0], in[1]}, "position_ids");
  else
    n.requireShape(n.reshape(positions, product(n, n.sizes(positions))), n.size(1), "position_ids");
  n.requireIndices(positions, n.size(c, 0), "position_ids", /*negative=*/false);
  if (start || width != *in[3].constant()) {
    std::vector<Size> from(4, n.size(0)), count = in;
    from[3] = n.size(start), count[3] = n.size(width);
    x = n.slice(x, from, count);
  }
  Tensor normal = normalised(n, n.castTo(x, DType::F32), scale, {}, n.floatAttr("epsilon", 1e-6),
                             /*withMean=*/false);
  bool flat = n.flagAttr("flatten_batch", false);
  Size heads = in[2], all = heads * n.size(width);
  Tensor first = each ? Tensor() : n.reshape(positions, {});
  Tensor y =
      rotated(n, n.reshape(normal, {in[0], in[1], all}), c, s, *heads.constant(), dim,
              /*interleaved=*/false, 1, [&](Scalar b, Scalar t, Scalar) -> SmallVector<Scalar> {
                Scalar p = each ? n.toIndex(n.at(positions, {b, t}))
                                : n.toIndex(n.at(first, {})) + (flat ? b * n.index(in[1]) + t : t);
                return {safeIndex(n, p, n.size(c, 0))};
              });
  if (flat) y = n.reshape(y, {n.size(1), in[0] * in[1], all});
  n.output(0, n.castTo(y, to));
  n.output(1, normal);
}

} // namespace ortc::opdef
