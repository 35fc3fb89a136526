// SPDX-License-Identifier: Apache-2.0
// Losses of classification, as models that are exported with their loss have them.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// -weight[target] * logp[n, target, ...], summed or averaged as the node says.
static Tensor negativeLogLikelihood(NodeBuilder& n, Tensor logp, Tensor target, Tensor weight) {
  if (logp.rank() < 2 || target.rank() != logp.rank() - 1)
    n.error("the scores have rank {} and the targets {}; expected one less", logp.rank(),
            target.rank());
  std::vector<Size> scores = n.sizes(logp);
  if (weight) n.requireShape(weight, scores[1], "weight");
  scores.erase(scores.begin() + 1);
  n.requireShape(target, scores, "target");
  std::string reduction = n.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    n.error("'reduction' is '{}'; expected none, sum or mean", reduction);
  std::optional<int64_t> ignored;
  if (n.hasAttr("ignore_index")) ignored = n.intAttr("ignore_index");
  Size classes = n.size(logp, 1);
  DType type = wideType(logp.dtype);
  /// The weight of an element; 0 when it is ignored.
  auto weightOf = [&](Scalar t) {
    Scalar w = weight ? n.cast(n.at(weight, safeIndex(n, t, classes)), type)
                      : n.literal(1, n.typeOf(type));
    return ignored ? select(equal(t, static_cast<double>(*ignored)), 0.0, w) : w;
  };
  std::vector<Size> shape = n.sizes(target);
  Tensor loss = n.generate(shape, type, [&](ArrayRef<Scalar> i) {
    Scalar t = n.at(target, i), w = weightOf(t);
    SmallVector<Scalar> at{i[0], safeIndex(n, t, classes)};
    at.append(i.begin() + 1, i.end());
    Scalar v = -(n.cast(n.at(logp, at), type) * w);
    return ignored ? select(equal(t, static_cast<double>(*ignored)), 0.0, v) : v;
  });
  if (reduction == "none") return n.castTo(loss, logp.dtype);
  std::vector<int64_t> all = axesFrom(0, target.rank());
  auto add = [](Scalar c, Scalar v) { return c + v; };
  Tensor sum = n.reduce(loss, all, false, 0, add);
  if (reduction == "mean") {
    Tensor weights = n.reduce(n.map(target, type, weightOf), all, false, 0, add);
    sum = n.map(sum, weights, [](Scalar s, Scalar w) { return s / w; });
  }
  return n.castTo(sum, logp.dtype);
}

ORTC_ONNX_OP("NegativeLogLikelihoodLoss", since(12, 13, 22)) {
  Tensor x = n.input(0, "input", floating), target = n.input(1, "target", indexInteger);
  n.output(0, negativeLogLikelihood(n, x, target, n.optionalInput(2, "weight", floating)));
}

ORTC_ONNX_OP("SoftmaxCrossEntropyLoss", since(12, 13)) {
  Tensor x = n.input(0, "scores", floating), target = n.input(1, "labels", indexInteger);
  if (x.rank() < 2) n.error("the scores have rank {}; expected at least 2", x.rank());
  Tensor logp = softmaxOver(n, x, 1, true);
  n.output(0, negativeLogLikelihood(n, logp, target, n.optionalInput(2, "weights", floating)));
  n.output(1, logp);
}

} // namespace ortc::opdef
