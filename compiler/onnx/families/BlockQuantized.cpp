// SPDX-License-Identifier: Apache-2.0
// Weights of 2, 4 or 8 bits with a scale per block (com.microsoft): they become floats again before
// they are multiplied or looked up.
#include "compiler/onnx/families/BlockQuantized.h"

using namespace mlir;

namespace ortc::opdef {

Scalar unpackedBits(NodeBuilder& n, Scalar byte, Scalar i, int64_t bits) {
  Scalar v = n.cast(byte, DType::I32);
  if (bits == 8) return v;
  int64_t perByte = 8 / bits;
  double step = static_cast<double>(int64_t(1) << bits), divisor = 1;
  Scalar all = v;
  for (int64_t k = 1; k < perByte; ++k) {
    divisor *= step;
    all = select(equal(i, static_cast<double>(k)), v / divisor, all);
  }
  return rem(all, n.literal(step, all));
}

Scalar numberAt(NodeBuilder& n, Scalar i, int64_t bits, llvm::function_ref<Scalar(Scalar k)> byte) {
  auto perByte = static_cast<double>(8 / bits);
  Scalar at = i / perByte;
  return unpackedBits(n, byte(at), i - at * perByte, bits);
}

namespace {
/// Weights of a product, [N, blocks, bytes]: rows of K numbers in blocks with a scale each.
struct NBits {
  Tensor b, scales, zeros, bias; ///< zero points and bias may be absent
  int64_t K, N, block, bits;
};
} // namespace

/// a times the transpose of the weights, plus the bias.
static Tensor nBitsProduct(NodeBuilder& n, Tensor a, NBits p) {
  int64_t K = p.K, N = p.N, block = p.block, bits = p.bits;
  if (bits != 2 && bits != 4 && bits != 8) n.error("'bits' is {}; expected 2, 4 or 8", bits);
  if (K < 1 || N < 1 || block < 16) n.error("K is {}, N {} and 'block_size' {}", K, N, block);
  if (a.rank() < 1) n.error("'A' is a scalar");
  n.requireEqual(n.size(a, a.rank() - 1), n.size(K), "the last size of 'A' and 'K' differ");
  if (p.bias) n.requireShape(p.bias, n.size(N), "bias");
  int64_t blocks = (K + block - 1) / block, bytes = block * bits / 8, perByte = 8 / bits;
  auto shaped = [&](Tensor t, std::vector<int64_t> shape, StringRef name) {
    int64_t want = 1, have = 1;
    std::vector<Size> sizes;
    for (int64_t s : shape)
      want *= s, sizes.push_back(n.size(s));
    for (Size s : n.sizes(t))
      have *= s.constant().value_or(0);
    if (have != want) n.error("'{}' is {}; expected {} elements", name.str(), n.typeText(t), want);
    return n.reshape(t, sizes);
  };
  std::vector<Size> given = n.sizes(p.b);
  if (given.size() != 3)
    n.error("'B' is {}; expected u8[{},{},{}]", n.typeText(p.b), N, blocks, bytes);
  if (llvm::any_of(given, [](Size s) { return s.is(0); })) { // left out: all zeros
    std::vector<Size> shape = n.sizes(a);
    shape.back() = n.size(N);
    return n.broadcastTo(p.bias ? n.castTo(p.bias, a.dtype) : n.scalarOf(0.0, a.dtype), shape);
  }
  Tensor b = shaped(p.b, {N, blocks, bytes}, "B"), scales = shaped(p.scales, {N, blocks}, "scales"),
         zeros = p.zeros;
  bool packed = zeros && zeros.dtype == DType::U8;
  int64_t zeroBytes = (blocks * bits + 7) / 8;
  if (zeros) zeros = shaped(zeros, {N, packed ? zeroBytes : blocks}, "zero_points");
  DType wide = wideType(a.dtype);
  Tensor w = n.generate({n.size(N), n.size(K)}, wide, [&](ArrayRef<Scalar> o) {
    Scalar part = o[1] / static_cast<double>(block), i = o[1] - part * static_cast<double>(block);
    Scalar byte = i / static_cast<double>(perByte);
    Scalar q =
        unpackedBits(n, n.at(b, {o[0], part, byte}), i - byte * static_cast<double>(perByte), bits);
    Scalar v = n.cast(q, wide);
    if (packed) {
      Scalar z = numberAt(n, part, bits, [&](Scalar k) { return n.at(zeros, {o[0], k}); });
      v = n.cast(q - z, wide);
    } else if (zeros) {
      v = v - n.cast(n.at(zeros, {o[0], part}), wide);
    } else {
      v = v - static_cast<double>(int64_t(1) << (bits - 1));
    }
    return v * n.cast(n.at(scales, {o[0], part}), wide);
  });
  Tensor y = n.matmul(n.castTo(a, wide), n.transpose(w, {1, 0}));
  if (p.bias) y = n.map(y, n.castTo(p.bias, wide), [](Scalar v, Scalar c) { return v + c; });
  return n.castTo(y, a.dtype);
}

ORTC_ONNX_OP_IN("com.microsoft", "MatMulNBits", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::U8})),
         scales = n.input(2, "scales", floating), zeros = n.optionalInput(3, "zero_points"),
         bias = n.optionalInput(5, "bias", floating);
  if (n.hasInput(4)) n.error("'g_idx' is not supported");
  if (n.intAttr("weight_prepacked", 0)) n.error("prepacked weights are not supported");
  n.output(0, nBitsProduct(n, a,
                           {b, scales, zeros, bias, n.intAttr("K"), n.intAttr("N"),
                            n.intAttr("block_size"), n.intAttr("bits", 4)}));
}

/// Weights and scales at inputs i and i + 1, and the bias at `bias` (0: none).
static NBits weightsAt(NodeBuilder& n, size_t i, size_t bias, int64_t N, int64_t K, int64_t block,
                       int64_t bits) {
  Tensor b = n.input(i, "weights", oneOf({DType::U8})), scales = n.input(i + 1, "scales", floating);
  return {b, scales, {},    bias ? n.optionalInput(bias, "bias", floating) : Tensor(),
          K, N,      block, bits};
}

/// Input A, plus a skip, normalised by 'norm_scale', where these are given; output `sum` gets A
/// plus the skip.
static Tensor normalisedInput(NodeBuilder& n, double epsilon, size_t sum) {
  Tensor a = n.input(0, "A", floating), skip = n.optionalInput(1, "skip", oneOf({a.dtype})),
         scale = n.optionalInput(2, "norm_scale", oneOf({a.dtype}));
  if (skip) {
    if (!scale) n.error("there is a skip, but no 'norm_scale'");
    n.requireShape(skip, n.sizes(a), "skip");
    a = n.map(a, skip, [](Scalar v, Scalar w) { return v + w; });
    n.output(sum, a);
  }
  if (!scale) return a;
  return normalised(n, a, scale, {}, n.floatAttr("epsilon", epsilon), /*withMean=*/false);
}

// silu(gate) * up of two products.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulNBitsMlp", since(1)) {
  std::string activation = n.stringAttr("activation");
  if (activation != "silu") n.error("'activation' is '{}'; only silu is supported", activation);
  Tensor a = normalisedInput(n, 1e-5, 1);
  int64_t N = n.intAttr("N"), K = n.intAttr("K"), block = n.intAttr("block_size"),
          bits = n.intAttr("bits", 4);
  Tensor gate = nBitsProduct(n, a, weightsAt(n, 3, 5, N, K, block, bits));
  Tensor up = nBitsProduct(n, a, weightsAt(n, 6, 8, N, K, block, bits));
  DType wide = wideType(a.dtype);
  n.output(0, n.map(gate, up, a.dtype, [&](Scalar g, Scalar u) {
    Scalar v = n.cast(g, wide);
    return n.cast(v * sigmoid(v) * n.cast(u, wide), a.dtype);
  }));
}

// Queries, keys and values of one norm.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulNBitsQkv", since(1)) {
  Tensor a = normalisedInput(n, 1e-6, 3);
  int64_t K = n.intAttr("K"), block = n.intAttr("block_size"), bits = n.intAttr("bits", 4);
  for (size_t i = 0; i < 3; ++i) {
    int64_t N = n.intAttr(i ? "Nkv" : "Nq");
    n.output(i, nBitsProduct(n, a, weightsAt(n, 3 + 3 * i, 5 + 3 * i, N, K, block, bits)));
  }
}

// A product, plus that of two thin matrices.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulNBitsQLoRA", since(1)) {
  Tensor x = n.input(0, "X", floating);
  int64_t N = n.intAttr("N"), K = n.intAttr("K"), block = n.intAttr("lora_block_size", 32),
          bits = n.intAttr("lora_bits", 8);
  Tensor y = nBitsProduct(
      n, x, weightsAt(n, 1, 0, N, K, n.intAttr("block_size", 32), n.intAttr("bits", 4)));
  Size rank = n.size(n.input(4, "lora_A_scales", floating), 0);
  if (!rank.constant()) n.error("the rank of the adapter must be known while compiling");
  if (n.size(n.input(3, "lora_A", oneOf({DType::U8})), 0).is(0)) return n.output(0, y);
  Tensor low = nBitsProduct(n, x, weightsAt(n, 3, 0, *rank.constant(), K, block, bits));
  Tensor more = nBitsProduct(n, low, weightsAt(n, 5, 0, N, *rank.constant(), block, bits));
  n.output(0, n.map(y, more, [](Scalar v, Scalar w) { return v + w; }));
}

// 4-bit floats or quantiles of the normal distribution, two in a byte, the first in the higher
// bits.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulBnb4", since(1)) {
  static const std::vector<double> fp4{
      0.0,  5.208333333e-03,  0.66666667,  1.0,  0.33333333,  0.5,  0.16666667,  0.25,
      -0.0, -5.208333333e-03, -0.66666667, -1.0, -0.33333333, -0.5, -0.16666667, -0.25},
      nf4{-1.0,
          -0.6961928009986877,
          -0.5250730514526367,
          -0.39491748809814453,
          -0.28444138169288635,
          -0.18477343022823334,
          -0.09105003625154495,
          0.0,
          0.07958029955625534,
          0.16093020141124725,
          0.24611230194568634,
          0.33791524171829224,
          0.44070982933044434,
          0.5626170039176941,
          0.7229568362236023,
          1.0};
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::U8})),
         largest = n.input(2, "absmax", floating);
  int64_t K = n.intAttr("K"), N = n.intAttr("N"), block = n.intAttr("block_size"),
          kind = n.intAttr("quant_type");
  bool byRows = n.flagAttr("transB", true);
  if (K < 1 || N < 1 || block < 16 || (kind != 0 && kind != 1))
    n.error("K is {}, N {}, 'block_size' {} and 'quant_type' {}", K, N, block, kind);
  DType wide = wideType(a.dtype);
  HostTensor table(n.typeOf(wide), {16});
  for (int64_t i = 0; i < 16; ++i)
    table.setDouble(i, (kind ? nf4 : fp4)[i]);
  Tensor values = n.constant(table, wide);
  auto flat = [&](Tensor t) { return n.reshape(t, product(n, n.sizes(t))); };
  Tensor bytes = flat(b), scales = flat(largest);
  Tensor w = n.generate({n.size(N), n.size(K)}, wide, [&](ArrayRef<Scalar> o) {
    Scalar at = o[0] * static_cast<double>(K) + o[1], byte = at / 2.0;
    Scalar v = n.cast(n.at(bytes, byte), DType::I32);
    Scalar code = select(equal(at - byte * 2.0, 0.0), v / 16.0, rem(v, n.literal(16, v)));
    return n.at(values, n.toIndex(code)) *
           n.cast(n.at(scales, at / static_cast<double>(block)), wide);
  });
  Tensor y = n.matmul(n.castTo(a, wide), byRows ? n.transpose(w, {1, 0}) : w);
  n.output(0, n.castTo(y, a.dtype));
}

// Rows of a table of numbers with a scale per block along one axis.
ORTC_ONNX_OP_IN("com.microsoft", "GatherBlockQuantized", since(1)) {
  static const TypeSet types{plainType.bits | oneOf({DType::F4E2M1}).bits, plainType.text};
  Tensor data = n.input(0, "data", types), indices = n.input(1, "indices", indexInteger),
         scales = n.input(2, "scales", floating), zeros = n.optionalInput(3, "zero_points");
  int64_t rank = data.rank(), axis = n.axis(n.intAttr("gather_axis", 0), rank, "gather_axis"),
          along = n.axis(n.intAttr("quantize_axis", 1), rank, "quantize_axis"),
          block = n.intAttr("block_size", 128), bits = n.intAttr("bits", 4);
  if (block < 16) n.error("'block_size' is {}", block);
  bool packed = data.dtype == DType::U8 && bits < 8;
  if (bits != 4 && bits != 8 && !(packed && bits == 2)) n.error("'bits' is {}", bits);
  int64_t perByte = packed ? 8 / bits : 1;
  std::vector<Size> in = n.sizes(data), at = n.sizes(indices), shape;
  if (scales.rank() != rank || (zeros && zeros.rank() != rank))
    n.error("'scales' and 'zero_points' must have rank {}", rank);
  in.back() = in.back() * n.size(perByte);
  std::vector<Size> groups = in;
  groups[along] = ceilDiv(in[along], n.size(block));
  n.requireShape(scales, groups, "scales");
  if (packed && zeros && zeros.dtype == DType::U8)
    groups.back() = ceilDiv(groups.back(), n.size(perByte));
  if (zeros) n.requireShape(zeros, groups, "zero_points");
  shape.assign(in.begin(), in.begin() + axis);
  shape.insert(shape.end(), at.begin(), at.end());
  shape.insert(shape.end(), in.begin() + axis + 1, in.end());
  n.requireIndices(indices, in[axis], "indices");
  auto outer = static_cast<size_t>(axis), count = at.size();
  double middle = data.dtype == DType::U8 ? static_cast<double>(int64_t(1) << (bits - 1)) : 0;
  DType wide = wideType(scales.dtype);
  n.output(0, n.generate(shape, scales.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> place(o.begin(), o.begin() + outer);
    place.push_back(safeIndex(n, n.at(indices, o.slice(outer, count)), in[axis]));
    place.append(o.begin() + outer + count, o.end());
    auto number = [&](Tensor t, ArrayRef<Scalar> i) {
      if (NodeBuilder::isCoded(t.dtype)) return n.cast(n.decoded(n.at(t, i), t.dtype), wide);
      if (!isInteger(t.dtype)) return n.cast(n.at(t, i), wide);
      if (!packed || t.dtype != DType::U8) return n.cast(n.at(t, i), DType::I32);
      SmallVector<Scalar> bytes(i);
      bytes.back() = i.back() / static_cast<double>(perByte);
      return unpackedBits(n, n.at(t, bytes), i.back() - bytes.back() * static_cast<double>(perByte),
                          bits);
    };
    SmallVector<Scalar> group(place);
    group[along] = place[along] / static_cast<double>(block);
    Scalar q = number(data, place);
    Scalar v = zeros ? n.cast(q - number(zeros, group), wide) : n.cast(q, wide) - middle;
    return n.cast(v * n.cast(n.at(scales, group), wide), scales.dtype);
  }));
}

} // namespace ortc::opdef
