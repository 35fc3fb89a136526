// SPDX-License-Identifier: Apache-2.0
// Linear models and scaling of features. Where the operators' texts are silent, results are those
// of ONNX Runtime.
#include "compiler/onnx/families/Ml.h"

using namespace mlir;

namespace ortc::opdef {

/// X times coefficients [outputs, F], plus intercepts.
static Tensor linear(NodeBuilder& n, Tensor x, ArrayRef<float> coefficients, int64_t outputs,
                     ArrayRef<float> intercepts) {
  if (outputs < 1 || coefficients.size() % outputs)
    n.error("{} coefficients do not fit {} outputs", coefficients.size(), outputs);
  int64_t features = coefficients.size() / outputs;
  Size have = n.size(x, 1);
  if (have.constant() && *have.constant() != features)
    n.error("the input has {} features where {} coefficients are given for each output",
            *have.constant(), features);
  Tensor s = n.contract(x, floats(n, doubles(coefficients), {outputs, features}), "nf,cf->nc");
  if (intercepts.empty()) return s;
  if (static_cast<int64_t>(intercepts.size()) != outputs)
    n.error("there are {} intercepts for {} outputs", intercepts.size(), outputs);
  return n.map(s, floats(n, doubles(intercepts), {outputs}),
               [](Scalar v, Scalar w) { return v + w; });
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "LinearClassifier", since(1)) {
  Tensor x = rows(n, n.input(0, "X", numeric), DType::F32);
  Labels labels = readLabels(n, "classlabels_ints", "classlabels_strings");
  PostTransform post = postTransform(n);
  std::vector<float> intercepts = n.floatsAttr("intercepts", std::vector<float>{});
  int64_t outputs = intercepts.empty() ? std::max<int64_t>(labels.count, 1)
                                       : static_cast<int64_t>(intercepts.size());
  Tensor scores = linear(n, x, n.floatsAttr("coefficients"), outputs, intercepts);
  if (outputs > 1) {
    if (labels.count && labels.count != outputs)
      n.error("there are {} labels for {} classes", labels.count, outputs);
    n.output(0, labelsAt(n, labels, argMaxRows(n, scores)));
    return n.output(1, transformScores(n, scores, post));
  }
  // One score tells two classes apart.
  if (labels.count && labels.count != 2)
    n.error("there are {} labels for one score; expected 2", labels.count);
  Tensor positive = n.generate(n.size(x, 0), DType::I64, [&](ArrayRef<Scalar> i) {
    return n.cast(n.at(scores, {i[0], n.index(0)}) > 0.0, DType::I64);
  });
  n.output(0, labelsAt(n, labels, positive));
  n.output(1, labels.count ? asPair(n, scores, false, post) : transformScores(n, scores, post));
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "LinearRegressor", since(1)) {
  Tensor x = rows(n, n.input(0, "X", numeric), DType::F32);
  Tensor y = linear(n, x, n.floatsAttr("coefficients"), n.intAttr("targets", 1),
                    n.floatsAttr("intercepts", std::vector<float>{}));
  n.output(0, transformScores(n, y, postTransform(n)));
}

/// One value for all features, or one for each (the last dim).
static Tensor perFeature(NodeBuilder& n, StringRef name, Tensor x, ArrayRef<float> values) {
  Size features = n.size(x, x.rank() - 1);
  if (values.size() != 1 && features.constant() &&
      static_cast<int64_t>(values.size()) != *features.constant())
    n.error("'{}' has {} values for {} features", name.str(), values.size(), *features.constant());
  if (values.size() == 1) return n.scalarOf(values[0], DType::F32);
  return floats(n, doubles(values), {static_cast<int64_t>(values.size())});
}

// (X - offset) * scale
ORTC_ONNX_OP_IN("ai.onnx.ml", "Scaler", since(1)) {
  Tensor x = n.castTo(n.input(0, "X", numeric), DType::F32);
  Tensor offset = perFeature(n, "offset", x, n.floatsAttr("offset")),
         scale = perFeature(n, "scale", x, n.floatsAttr("scale"));
  n.output(0, n.map({x, offset, scale}, DType::F32,
                    [](ArrayRef<Scalar> v) { return (v[0] - v[1]) * v[2]; }));
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "Binarizer", since(1)) {
  Tensor x = n.input(0, "X", numeric);
  double threshold = n.floatAttr("threshold", 0.0);
  n.output(0, n.map(x, [&](Scalar v) {
    return n.cast(n.cast(v, isFloat(x.dtype) ? x.dtype : DType::F32) > threshold, x.dtype);
  }));
}

// Rows (the last axis) divided by their largest element, or by their L1 or L2 norm; rows of zeros
// stay.
ORTC_ONNX_OP_IN("ai.onnx.ml", "Normalizer", since(1)) {
  Tensor x = n.castTo(n.input(0, "X", numeric), DType::F32);
  if (x.rank() < 1) n.error("the input is a scalar");
  std::string norm = n.stringAttr("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    n.error("'norm' is '{}'; expected MAX, L1 or L2", norm);
  int64_t axis = x.rank() - 1;
  Tensor length =
      norm == "MAX"
          ? n.reduce(x, axis, true, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); })
          : n.reduce(x, axis, true, 0,
                     [&](Scalar c, Scalar v) { return c + (norm == "L1" ? abs(v) : v * v); });
  n.output(0, n.map(x, length, [&](Scalar v, Scalar l) {
    Scalar d = norm == "L2" ? sqrt(l) : l;
    return select(equal(d, 0.0), v, v / select(equal(d, 0.0), 1.0, d));
  }));
}

// Replaces one value (NaN included) by another, per feature.
ORTC_ONNX_OP_IN("ai.onnx.ml", "Imputer", since(1)) {
  Tensor x = n.input(0, "X", numeric);
  if (x.rank() < 1) n.error("the input is a scalar");
  bool isInt = isInteger(x.dtype);
  Tensor values;
  int64_t count;
  if (isInt) {
    auto v = n.intsAttr("imputed_value_int64s");
    count = v.size();
    values = n.ints(v, x.dtype);
  } else {
    auto v = n.floatsAttr("imputed_value_floats");
    count = v.size();
    values = floats(n, doubles(v), {count}, x.dtype);
  }
  Size features = n.size(x, x.rank() - 1);
  if (count != 1 && features.constant() && count != *features.constant())
    n.error("{} values are given for {} features", count, *features.constant());
  double replaced = isInt ? static_cast<double>(n.intAttr("replaced_value_int64", 0))
                          : n.floatAttr("replaced_value_float", 0.0);
  n.output(0, n.map(x, values, [&](Scalar v, Scalar fill) {
    Scalar hit = std::isnan(replaced) ? isNaN(v) : equal(v, replaced);
    return select(hit, fill, v);
  }));
}

// Columns of all inputs side by side, as f32.
ORTC_ONNX_OP_IN("ai.onnx.ml", "FeatureVectorizer", since(1)) {
  std::vector<int64_t> widths = n.intsAttr("inputdimensions", std::vector<int64_t>{});
  std::vector<Tensor> xs;
  for (size_t i = 0; i < std::max<size_t>(n.numInputs(), 1); ++i) {
    Tensor x = n.input(i, "X", numeric);
    if (x.rank() > 2) {
      std::vector<Size> s = n.sizes(x);
      x = n.reshape(x, {s[0], product(n, ArrayRef<Size>(s).drop_front())});
    }
    x = rows(n, x, DType::F32);
    if (i < widths.size()) { // wider inputs are cut, narrower ones filled up with zeros
      Size have = n.size(x, 1), want = n.size(widths[i]);
      if (!same(have, want)) x = padded(n, x, {n.size(0), n.size(0)}, {n.size(0), want - have}, 0);
    }
    xs.push_back(x);
  }
  n.output(0, n.concat(xs, 1));
}

} // namespace ortc::opdef
