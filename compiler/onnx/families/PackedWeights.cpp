// SPDX-License-Identifier: Apache-2.0
// Weights in formats of other tools and of small floats (com.microsoft): rows of bytes that become
// numbers where they are read.
#include "compiler/onnx/families/BlockQuantized.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
/// A format of ggml by its number: blocks of `count` numbers in `bytes` bytes.
struct PackedFormat {
  int64_t id, count, bytes;
};
constexpr PackedFormat kFormats[] = {{0, 1, 4},   {1, 1, 2},   {2, 32, 18}, {3, 32, 20},
                                     {6, 32, 22}, {7, 32, 24}, {8, 32, 34}, {14, 256, 210}};
using ByteAt = llvm::function_ref<Scalar(Scalar i)>; ///< of a row, as i32
} // namespace

static const PackedFormat& formatOf(NodeBuilder& n) {
  int64_t id = n.intAttr("packed_type");
  for (const PackedFormat& f : kFormats)
    if (f.id == id) return f;
  n.error("'packed_type' is {}; expected 0, 1, 2, 3, 6, 7, 8 or 14", id);
}

static Scalar floatOfBits(NodeBuilder& n, Scalar bits, DType to) {
  Type width = n.b.getIntegerType(bitWidth(to));
  Value v = bits.v;
  if (v.getType() != width) v = n.b.create<arith::TruncIOp>(n.loc, width, v);
  Scalar f{&n, n.b.create<arith::BitcastOp>(n.loc, n.typeOf(to), v), false};
  return n.cast(f, DType::F32);
}
/// The f16 at byte `i`.
static Scalar halfAt(NodeBuilder& n, ByteAt byte, Scalar i) {
  return floatOfBits(n, byte(i) + byte(i + 1.0) * 256.0, DType::F16);
}
/// `bits` of v from bit `from` on, of which the place may be data.
static Scalar bitsOf(NodeBuilder& n, Scalar v, Scalar from, int64_t bits) {
  Scalar shift = n.cast(n.cast(from, DType::I64), DType::I32);
  Scalar moved{&n, n.b.create<arith::ShRUIOp>(n.loc, v.v, shift.v), false};
  return bitAnd(moved, static_cast<double>((1 << bits) - 1));
}

/// Number `i` of a row, in f32.
static Scalar packedNumber(NodeBuilder& n, const PackedFormat& f, ByteAt byte, Scalar i) {
  Scalar block = i / static_cast<double>(f.count), e = i - block * static_cast<double>(f.count);
  Scalar base = block * static_cast<double>(f.bytes);
  auto at = [&](double offset) { return base + offset; };
  auto real = [&](Scalar v) { return n.cast(v, DType::F32); };
  if (f.id == 0) {
    Scalar v = byte(at(0));
    for (int k = 1; k < 4; ++k)
      v = v + byte(at(k)) * static_cast<double>(1u << (8 * k));
    return floatOfBits(n, v, DType::F32);
  }
  if (f.id == 1) return halfAt(n, byte, base);
  if (f.id == 8) { // a scale, then 32 signed bytes
    Scalar q = byte(at(2) + e);
    return real(select(q > 127.0, q - 256.0, q)) * halfAt(n, byte, base);
  }
  if (f.id == 14) { // 4 low bits, 2 high bits, 16 scales of 8 bits, and their scale
    Scalar half = e / 128.0, r = e - half * 128.0, quarter = r / 32.0, l = r - quarter * 32.0;
    Scalar odd = rem(quarter, 2.0), high = quarter / 2.0;
    Scalar low = bitsOf(n, byte(at(0) + half * 64.0 + l + odd * 32.0), high * 4.0, 4);
    Scalar top = bitsOf(n, byte(at(128) + half * 32.0 + l), quarter * 2.0, 2);
    Scalar scale = byte(at(192) + half * 8.0 + l / 16.0 + quarter * 2.0);
    scale = select(scale > 127.0, scale - 256.0, scale);
    return halfAt(n, byte, at(208)) * real(scale) * real(low + top * 16.0 - 32.0);
  }
  // 4 bits, or 5 with the highest ones apart; the first half of a block is in the lower bits. With
  // a least value, or around a middle.
  bool five = f.id >= 6, least = f.id % 2 == 1;
  double head = least ? 4 : 2, values = head + (five ? 4 : 0);
  Scalar second = e / 16.0, j = e - second * 16.0;
  Scalar q = bitsOf(n, byte(at(values) + j), second * 4.0, 4);
  if (five) q = q + bitsOf(n, byte(at(head) + e / 8.0), rem(e, 8.0), 1) * 16.0;
  Scalar scale = halfAt(n, byte, base);
  if (least) return real(q) * scale + halfAt(n, byte, at(2));
  return real(q - (five ? 16.0 : 8.0)) * scale;
}

/// Checks rows of K numbers and gives number `i` of row `r`.
static std::function<Scalar(Scalar r, Scalar i)> packedRows(NodeBuilder& n, Tensor data, int64_t K,
                                                            StringRef name) {
  const PackedFormat& f = formatOf(n);
  if (K < 1 || K % f.count)
    n.error("'K' is {}; expected a multiple of {} for 'packed_type' {}", K, f.count, f.id);
  if (data.rank() != 2) n.error("'{}' is {}; expected rank 2", name.str(), n.typeText(data));
  n.requireShape(data, {n.size(data, 0), n.size(K / f.count * f.bytes)}, name);
  return [&n, data, &f](Scalar r, Scalar i) {
    auto byte = [&](Scalar k) { return n.cast(n.at(data, {r, k}), DType::I32); };
    return packedNumber(n, f, byte, i);
  };
}

// Rows of a table; an index that is outside takes the first.
ORTC_ONNX_OP_IN("com.microsoft", "GatherPacked", since(1)) {
  Tensor data = n.input(0, "data", oneOf({DType::U8})),
         indices = n.input(1, "indices", indexInteger);
  auto to = dtypeFromOnnx(n.intAttr("output_dtype", 16));
  if (!to || !floating.has(*to) || *to == DType::F64)
    n.error("'output_dtype' is {}; expected f32, f16 or bf16", n.intAttr("output_dtype", 16));
  int64_t K = n.intAttr("K");
  auto number = packedRows(n, data, K, "data");
  std::vector<Size> shape = n.sizes(indices);
  shape.push_back(n.size(K));
  n.output(0, n.generate(shape, *to, [&](ArrayRef<Scalar> o) {
    Scalar row = n.toIndex(n.at(indices, o.drop_back()));
    row = select(bitAnd(row >= 0.0, row < n.index(n.size(data, 0))), row, 0.0);
    return n.cast(number(row, o.back()), *to);
  }));
}

static Tensor activated(NodeBuilder& n, Tensor y, llvm::function_ref<Scalar(Scalar)> body) {
  return throughWide(n, y, [&](Tensor w) { return n.map(w, body); });
}

// Weights are rounded to A's type, and so is the product before its activation.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulPacked", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::U8}));
  if (n.hasInput(2)) n.error("'global_scale' is not supported");
  int64_t K = n.intAttr("K"), N = n.intAttr("N");
  std::string activation = n.stringAttr("activation_type", "none");
  if (a.rank() < 1) n.error("'A' is a scalar");
  n.requireEqual(n.size(a, a.rank() - 1), n.size(K), "the last size of 'A' and 'K' differ");
  if (N < 1) n.error("'N' is {}", N);
  auto number = packedRows(n, b, K, "B");
  n.requireEqual(n.size(b, 0), n.size(N), "the rows of 'B' and 'N' differ");
  Tensor w = n.generate({n.size(N), n.size(K)}, DType::F32, [&](ArrayRef<Scalar> o) {
    return n.cast(n.cast(number(o[0], o[1]), a.dtype), DType::F32);
  });
  Tensor y = n.matmul(n.castTo(a, DType::F32), n.transpose(w, {1, 0}));
  y = n.castTo(y, a.dtype);
  if (activation == "relu2" || activation == "relu_squared")
    y = activated(n, y, [](Scalar v) { return max(v, 0.0) * max(v, 0.0); });
  else if (activation == "silu")
    y = activated(n, y, [](Scalar v) { return v * sigmoid(v); });
  else if (activation != "none")
    n.error("'activation_type' is '{}'; expected none, relu2 or silu", activation);
  n.output(0, y);
}

/// a w' + bias, where w [N, K] is f32; the result is of a's type.
static void weightProduct(NodeBuilder& n, Tensor a, Tensor w, Tensor bias) {
  if (a.rank() < 1) n.error("'A' is a scalar");
  n.requireEqual(n.size(a, a.rank() - 1), n.size(w, 1), "'A' and 'B' have different 'K'");
  Tensor y = n.matmul(n.castTo(a, DType::F32), n.transpose(w, {1, 0}));
  if (bias) {
    n.requireShape(bias, n.size(w, 0), "bias");
    y = n.map(y, n.castTo(bias, DType::F32), [](Scalar v, Scalar c) { return v + c; });
  }
  n.output(0, n.castTo(y, a.dtype));
}

/// Elements of a row of the weights that share a scale.
static int64_t blockOf(NodeBuilder& n, Tensor weights, int64_t usual) {
  int64_t block = n.intAttr("block_size", usual);
  if (block < 1) n.error("'block_size' is {}", block);
  if (weights.rank() != 2) n.error("'B' is {}; expected rank 2", n.typeText(weights));
  return block;
}

// Weights of 4-bit floats, the first of two in the lower bits, with an 8-bit scale for each block.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulBlockQuantizedFp4Weight", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::U8})),
         scales = n.input(2, "weight_scale", oneOf({DType::U8})),
         scale = n.input(3, "weight_scale_2", oneOf({DType::F32})),
         bias = n.optionalInput(5, "bias", oneOf({a.dtype}));
  int64_t block = blockOf(n, b, 16);
  Size N = n.size(b, 0), K = n.size(b, 1) * n.size(2);
  n.requireShape(scales, {N, ceilDiv(K, n.size(block))}, "weight_scale");
  scale = n.reshape(scale, {});
  Tensor w = n.generate({N, K}, DType::F32, [&](ArrayRef<Scalar> o) {
    Scalar code = numberAt(n, o[1], 4, [&](Scalar k) { return n.at(b, {o[0], k}); });
    Scalar four{&n, n.b.create<arith::TruncIOp>(n.loc, n.typeOf(DType::F4E2M1), code.v), true};
    Scalar each =
        floatOfBits(n, n.at(scales, {o[0], o[1] / static_cast<double>(block)}), DType::F8E4M3FN);
    Scalar v = n.decoded(four, DType::F4E2M1) * n.at(scale, {}) * each;
    return n.cast(n.cast(v, a.dtype), DType::F32);
  });
  weightProduct(n, a, w, bias);
}

// Weights of 8-bit floats with a scale for each block; with `a_scale` A is rounded to such, too.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulBlockQuantizedFp8Weight", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::F8E4M3FN})),
         scales = n.input(2, "b_scale", oneOf({DType::F32})),
         aScale = n.optionalInput(3, "a_scale", oneOf({DType::F32})),
         bias = n.optionalInput(4, "bias", oneOf({a.dtype}));
  int64_t block = blockOf(n, b, 128);
  Size N = n.size(b, 0), K = n.size(b, 1);
  n.requireShape(scales, {N, ceilDiv(K, n.size(block))}, "b_scale");
  Tensor w = n.generate({N, K}, DType::F32, [&](ArrayRef<Scalar> o) {
    return n.cast(n.at(b, o), DType::F32) * n.at(scales, {o[0], o[1] / static_cast<double>(block)});
  });
  if (aScale)
    a = n.map(a, n.reshape(aScale, {}), a.dtype, [&](Scalar v, Scalar s) {
      Scalar q = clamp(n.cast(v, DType::F32) / s, -448, 448);
      return n.cast(n.cast(n.cast(q, DType::F8E4M3FN), DType::F32) * s, a.dtype);
    });
  weightProduct(n, a, w, bias);
}

// alpha A B + beta C of floats; those of 8 bits have scales.
ORTC_ONNX_OP_IN("com.microsoft", "GemmFloat8", since(1)) {
  static const TypeSet types{
      oneOf({DType::F32, DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2}).bits,
      "a floating-point type"};
  Tensor a = n.input(0, "A", types), b = n.input(1, "B", types),
         c = n.optionalInput(2, "C", floating), aScale = n.optionalInput(3, "scaleA", floating),
         bScale = n.optionalInput(4, "scaleB", floating);
  if (n.hasInput(5)) n.error("'scaleY' is not supported");
  auto to = dtypeFromOnnx(n.intAttr("dtype", 1));
  if (!to || !floating.has(*to))
    n.error("'dtype' is {}; expected f32, f16 or bf16", n.intAttr("dtype", 1));
  double alpha = n.floatAttr("alpha", 1.0), beta = n.floatAttr("beta", 0.0);
  std::string activation = n.stringAttr("activation", "NONE");
  if (activation != "NONE" && activation != "RELU" && activation != "GELU")
    n.error("'activation' is '{}'; expected NONE, RELU or GELU", activation);
  if (a.rank() != 2 || b.rank() != 2)
    n.error("'A' is {} and 'B' {}; expected rank 2", n.typeText(a), n.typeText(b));
  auto operand = [&](Tensor t, Tensor scale, bool transposed) {
    t = n.castTo(t, DType::F32);
    if (scale) t = n.map(t, n.reshape(scale, {}), [](Scalar v, Scalar s) { return v * s; });
    return transposed ? n.transpose(t, {1, 0}) : t;
  };
  Tensor y = n.matmul(operand(a, aScale, n.flagAttr("transA", false)),
                      operand(b, bScale, n.flagAttr("transB", false)));
  if (alpha != 1) y = n.map(y, [&](Scalar v) { return v * alpha; });
  if (c && beta != 0) {
    n.requireBroadcast(c, n.sizes(y), "C");
    y = n.map(y, n.castTo(c, DType::F32), [&](Scalar v, Scalar w) { return v + w * beta; });
  }
  if (activation != "NONE")
    y = n.map(y, [&](Scalar v) {
      if (activation == "RELU") return max(v, 0.0);
      return v * 0.5 * (erf(v * 0.7071067811865476) + 1.0);
    });
  n.output(0, n.castTo(y, *to));
}

} // namespace ortc::opdef
