// SPDX-License-Identifier: Apache-2.0
// Random numbers. Each element is computed from its place and a key by itself, on every target
// alike: the same numbers in every run, as all of a bundle is the same. The key is `seed`, or what
// tells the node from others of its graph, its first output.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// A permutation of the 32-bit numbers whose results look random (C. Wellons, "Prospecting for Hash
/// Functions", 2018: two rounds, bias 0.17).
static Scalar mixed(NodeBuilder& n, Scalar x) {
  auto shifted = [](Scalar v, int bits) { return bitXor(v, v / std::ldexp(1.0, bits)); };
  x = shifted(x, 16) * static_cast<double>(0x7feb352d);
  x = shifted(x, 15) * static_cast<double>(0x846ca68b);
  return shifted(x, 16);
}

namespace {
/// Numbers by their place.
class Generator {
public:
  explicit Generator(NodeBuilder& n) : n(n) {
    n.graph.warn(n.node, "its random numbers are the same in every run");
    if (n.hasAttr("seed")) {
      auto seed = static_cast<float>(n.floatAttr("seed"));
      std::memcpy(&key, &seed, sizeof key);
    } else { // FNV-1a
      key = 2166136261u;
      for (char c : n.node.outputs.empty() ? std::string() : n.node.outputs[0])
        key = (key ^ static_cast<unsigned char>(c)) * 16777619u;
    }
  }
  /// In [0, 1), in steps of 2^-24; the `k`th of place i.
  Scalar uniform(Scalar i, int k = 0) const {
    Scalar place = n.cast(n.fromIndex(i * 2.0 + static_cast<double>(k), DType::I64), DType::U32);
    Scalar bits = mixed(n, bitXor(mixed(n, place), static_cast<double>(key)));
    return n.cast(n.cast(bits / 256.0, DType::I32), DType::F32) * 0x1p-24;
  }
  /// Box and Muller, 1958: of two uniform numbers one that is normal.
  Scalar normal(Scalar i) const {
    Scalar radius = sqrt(log(uniform(i, 0) + 0x1p-24) * -2.0);
    return radius * cos(uniform(i, 1) * 6.283185307179586);
  }

private:
  NodeBuilder& n;
  uint32_t key = 0;
};
} // namespace

static DType typeAttr(NodeBuilder& n, DType otherwise) {
  if (!n.hasAttr("dtype")) return otherwise;
  auto t = dtypeFromOnnx(n.intAttr("dtype"));
  if (!t || *t == DType::String || isComplex(*t) || isSubByte(*t))
    n.error("'dtype' is {}, which is no type of numbers here", n.intAttr("dtype"));
  return *t;
}

/// The shape that the attribute says, or that of the input.
static std::vector<Size> shapeOf(NodeBuilder& n, bool like) {
  if (like) return n.sizes(n.input(0, "input"));
  std::vector<Size> shape;
  for (int64_t d : n.intsAttr("shape")) {
    if (d < 0) n.error("'shape' holds {}", d);
    shape.push_back(n.size(d));
  }
  return shape;
}
static DType typeOf(NodeBuilder& n, bool like) {
  DType type = typeAttr(n, like ? n.input(0, "input").dtype : DType::F32);
  if (!isFloat(type)) n.error("numbers of type {} are asked for; expected floats", dtypeName(type));
  return type;
}

static void fill(NodeBuilder& n, bool like, llvm::function_ref<Scalar(Scalar)> number) {
  std::vector<Size> shape = shapeOf(n, like);
  DType type = typeOf(n, like);
  Tensor flat = n.generate(product(n, shape), type,
                           [&](ArrayRef<Scalar> i) { return n.cast(number(i[0]), type); });
  n.output(0, n.reshape(flat, shape));
}
static void fillNormal(NodeBuilder& n, bool like) {
  Generator random(n);
  double mean = n.floatAttr("mean", 0.0), scale = n.floatAttr("scale", 1.0);
  fill(n, like, [&](Scalar i) { return random.normal(i) * scale + mean; });
}
static void fillUniform(NodeBuilder& n, bool like) {
  Generator random(n);
  double low = n.floatAttr("low", 0.0), high = n.floatAttr("high", 1.0);
  fill(n, like, [&](Scalar i) { return random.uniform(i) * (high - low) + low; });
}

ORTC_ONNX_OP("RandomNormal", since(1, 22)) {
  fillNormal(n, false);
}
ORTC_ONNX_OP("RandomNormalLike", since(1, 22)) {
  fillNormal(n, true);
}
ORTC_ONNX_OP("RandomUniform", since(1, 22)) {
  fillUniform(n, false);
}
ORTC_ONNX_OP("RandomUniformLike", since(1, 22)) {
  fillUniform(n, true);
}

// 1 with the probability that the element says.
ORTC_ONNX_OP("Bernoulli", since(15, 22)) {
  Tensor p = n.input(0, "input", floating);
  DType type = typeAttr(n, p.dtype);
  Generator random(n);
  std::vector<Size> shape = n.sizes(p);
  Tensor flat = n.reshape(p, product(n, shape));
  Tensor hits = n.generate(n.sizes(flat), type, [&](ArrayRef<Scalar> i) {
    return n.cast(random.uniform(i[0]) < n.cast(n.at(flat, i[0]), DType::F32), type);
  });
  n.output(0, n.reshape(hits, shape));
}

// Classes by their logarithms of probabilities, up to a constant: the first at which the sum of
// those before it and its own exceeds a share of the whole.
ORTC_ONNX_OP("Multinomial", since(7, 22)) {
  Tensor x = n.input(0, "input", floating);
  DType type = typeAttr(n, DType::I32);
  if (type != DType::I32 && type != DType::I64)
    n.error("'dtype' is {}; expected i32 or i64", dtypeName(type));
  int64_t samples = n.intAttr("sample_size", 1);
  if (x.rank() != 2 || samples < 1)
    n.error("the input is {}, and 'sample_size' {}; expected rank 2, and at least 1", n.typeText(x),
            samples);
  Generator random(n);
  std::vector<Size> in = n.sizes(x);
  Tensor shares = softmaxOver(n, widened(n, x), 1, /*logarithm=*/false);
  auto choose = [&](ArrayRef<Scalar> at, ArrayRef<Out> out) {
    Scalar wanted =
        n.cast(random.uniform(at[0] * static_cast<double>(samples) + at[1]), shares.dtype);
    Scalar last = n.index(in[1]) - 1.0;
    auto end = n.whileTrue(
        {n.index(0), n.at(shares, {at[0], n.index(0)})},
        [&](ArrayRef<Scalar> c) { return bitAnd(c[0] < last, c[1] <= wanted); },
        [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
          Scalar next = c[0] + 1.0;
          return {next, c[1] + n.at(shares, {at[0], next})};
        });
    out[0].store(at, n.fromIndex(end[0], type));
  };
  NodeBuilder::OutType result{{in[0], n.size(samples)}, type};
  n.output(0, n.serial({in[0], n.size(samples)}, result, choose)[0]);
}

} // namespace ortc::opdef
