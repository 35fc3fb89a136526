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

static int64_t bitsOf(NodeBuilder& n) {
  int64_t bits = n.intAttr("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) n.error("'bits' is {}; expected 2, 4 or 8", bits);
  return bits;
}

// B [N, blocks, bytes] holds rows of K numbers, in blocks with a scale and a zero point each.
ORTC_ONNX_OP_IN("com.microsoft", "MatMulNBits", since(1)) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({DType::U8})),
         scales = n.input(2, "scales", floating), zeros = n.optionalInput(3, "zero_points"),
         bias = n.optionalInput(5, "bias", floating);
  if (n.hasInput(4)) n.error("'g_idx' is not supported");
  if (n.intAttr("weight_prepacked", 0)) n.error("prepacked weights are not supported");
  int64_t K = n.intAttr("K"), N = n.intAttr("N"), block = n.intAttr("block_size"), bits = bitsOf(n);
  if (K < 1 || N < 1 || block < 16) n.error("K is {}, N {} and 'block_size' {}", K, N, block);
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
  std::vector<Size> given = n.sizes(b);
  if (given.size() != 3)
    n.error("'B' is {}; expected u8[{},{},{}]", n.typeText(b), N, blocks, bytes);
  if (llvm::any_of(given, [](Size s) { return s.is(0); })) { // left out: all zeros
    std::vector<Size> shape = n.sizes(a);
    shape.back() = n.size(N);
    Tensor y = n.broadcastTo(bias ? n.castTo(bias, a.dtype) : n.scalarOf(0.0, a.dtype), shape);
    return n.output(0, y);
  }
  b = shaped(b, {N, blocks, bytes}, "B"), scales = shaped(scales, {N, blocks}, "scales");
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
      Scalar at = part / static_cast<double>(perByte);
      Scalar z =
          unpackedBits(n, n.at(zeros, {o[0], at}), part - at * static_cast<double>(perByte), bits);
      v = n.cast(q - z, wide);
    } else if (zeros) {
      v = v - n.cast(n.at(zeros, {o[0], part}), wide);
    } else {
      v = v - static_cast<double>(int64_t(1) << (bits - 1));
    }
    return v * n.cast(n.at(scales, {o[0], part}), wide);
  });
  Tensor y = n.matmul(n.castTo(a, wide), n.transpose(w, {1, 0}));
  if (bias) y = n.map(y, n.castTo(bias, wide), [](Scalar v, Scalar c) { return v + c; });
  n.output(0, n.castTo(y, a.dtype));
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
