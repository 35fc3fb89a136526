// SPDX-License-Identifier: Apache-2.0
// What the operators of ai.onnx.ml share (Ml.h).
#include "compiler/onnx/families/Ml.h"

using namespace mlir;

namespace ortc::opdef {

PostTransform postTransform(NodeBuilder& n) {
  std::string name = n.stringAttr("post_transform", "NONE");
  if (name == "NONE") return PostTransform::None;
  if (name == "SOFTMAX") return PostTransform::Softmax;
  if (name == "LOGISTIC") return PostTransform::Logistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::SoftmaxZero;
  if (name == "PROBIT") return PostTransform::Probit;
  n.error("'post_transform' is '{}'; expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT",
          name);
}

/// sqrt(2) * erf^-1(2 v - 1) [Winitzki 2008, with the constants of ONNX Runtime]
static Scalar probit(Scalar v) {
  Scalar x = v * 2.0 - 1.0, negative = x < 0.0;
  Scalar l = log((1.0 - x) * (1.0 + x));
  Scalar a = 2 / (3.14159 * 0.147) + 0.5 * l;
  Scalar r = sqrt(sqrt(a * a - l * (1 / 0.147)) - a) * 1.41421356;
  return select(negative, -r, r);
}

Tensor transformScores(NodeBuilder& n, Tensor s, PostTransform post, bool single) {
  bool one = n.size(s, 1).is(1);
  switch (post) {
  case PostTransform::None: return s;
  case PostTransform::Probit: return n.map(s, probit);
  case PostTransform::Logistic:
    return one && !single ? s : n.map(s, [](Scalar v) { return sigmoid(v); });
  case PostTransform::Softmax: return one ? s : softmaxOver(n, s, 1, false);
  case PostTransform::SoftmaxZero: {
    if (one) return s;
    // scores that are zero are only scaled, and do not count in the sum
    auto isZero = [](Scalar v) { return abs(v) <= 1e-7; };
    Tensor top = n.reduce(s, 1, true, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
    Tensor e = n.map(
        s, top, [&](Scalar v, Scalar m) { return select(isZero(v), v * exp(-m), exp(v - m)); });
    Tensor counted = n.map(s, e, [&](Scalar v, Scalar w) { return select(isZero(v), 0.0, w); });
    Tensor sum = n.reduce(counted, 1, true, 0, [](Scalar c, Scalar v) { return c + v; });
    return n.map(e, sum, [](Scalar v, Scalar w) { return v / w; });
  }
  }
  return s;
}

Tensor asPair(NodeBuilder& n, Tensor score, bool negate, PostTransform post) {
  std::vector<Size> shape{n.size(score, 0), n.size(2)};
  return n.generate(shape, score.dtype, [&](ArrayRef<Scalar> i) {
    Scalar s = n.at(score, {i[0], n.index(0)}), first = equal(i[1], 0.0);
    if (post == PostTransform::Logistic) return sigmoid(select(first, -s, s));
    if (post == PostTransform::Probit) s = probit(s);
    return select(first, negate || post == PostTransform::Probit ? -s : 1.0 - s, s);
  });
}

Labels readLabels(NodeBuilder& n, StringRef ints, StringRef strings) {
  auto i = n.intsAttr(ints, std::vector<int64_t>{});
  auto s = n.stringsAttr(strings, std::vector<std::string>{});
  if (!i.empty() && !s.empty()) n.error("both '{}' and '{}' are given", ints.str(), strings.str());
  Labels r;
  if (!s.empty()) {
    r.count = s.size();
    HostTensor t(n.typeOf(DType::String), {r.count});
    *t.strings = std::move(s);
    r.table = n.constant(t, DType::String);
  } else if (!i.empty()) {
    r.count = i.size();
    r.table = n.ints(i);
  }
  return r;
}

Tensor labelsAt(NodeBuilder& n, const Labels& labels, Tensor indices) {
  if (!labels.table) return indices;
  return n.generate(n.sizes(indices), labels.table.dtype, [&](ArrayRef<Scalar> i) {
    return n.at(labels.table, safeIndex(n, n.at(indices, i), n.size(labels.count)));
  });
}

Tensor argMaxRows(NodeBuilder& n, Tensor s) {
  Size classes = n.size(s, 1);
  if (classes.constant() && *classes.constant() <= 32) // a row at a time
    return n.generate(n.size(s, 0), DType::I64, [&](ArrayRef<Scalar> i) {
      Scalar best = n.at(s, {i[0], n.index(0)}), at = n.literal(0, n.b.getI64Type());
      for (int64_t c = 1; c < *classes.constant(); ++c) {
        Scalar v = n.at(s, {i[0], n.index(c)}), better = v > best;
        best = select(better, v, best);
        at = select(better, n.literal(static_cast<double>(c), at), at);
      }
      return at;
    });
  Tensor top = n.reduce(s, 1, false, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
  Tensor at = n.generateReduce(
      n.size(s, 0), classes, DType::I64, INFINITY, [&](ArrayRef<Scalar> i, Scalar carried) {
        Scalar hit = equal(n.at(s, i), n.at(top, i[0]));
        return select(hit, min(carried, n.fromIndex(i[1], DType::I64)), carried);
      });
  return n.map(
      at, [&](Scalar v) { return select(v < n.fromIndex(n.index(classes), DType::I64), v, 0.0); });
}

Tensor rows(NodeBuilder& n, Tensor x, DType type) {
  if (x.rank() == 1) x = n.reshape(x, {n.size(1), n.size(x, 0)});
  if (x.rank() != 2) n.error("the input has rank {}; expected 2", x.rank());
  return n.castTo(x, type);
}

Tensor floats(NodeBuilder& n, ArrayRef<double> values, ArrayRef<int64_t> dims, DType type) {
  HostTensor t(n.typeOf(type), dims);
  for (auto [i, v] : llvm::enumerate(values))
    t.setDouble(i, v);
  return n.constant(t, type);
}
std::vector<double> doubles(ArrayRef<float> values) {
  return {values.begin(), values.end()};
}
Tensor int32s(NodeBuilder& n, ArrayRef<int64_t> values) {
  return n.ints(values, DType::I32);
}

} // namespace ortc::opdef
