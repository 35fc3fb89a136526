// SPDX-License-Identifier: Apache-2.0
// Steps of optimisers (ai.onnx.preview.training): new weights, and what is kept of gradients, from
// weights, gradients and what was kept.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
constexpr const char* kDomain = "ai.onnx.preview.training";
/// Rate and step, then for each weight it, its gradient, and `kept` more tensors: all weights, then
/// all gradients, and so on.
struct Step {
  Tensor rate, count; ///< scalars; the number of the step is i64
  std::vector<std::vector<Tensor>> weights;
};
} // namespace

static Step stepOf(NodeBuilder& n, size_t kept) {
  Step s{n.input(0, "R", floating), n.input(1, "T", oneOf({DType::I64})), {}};
  for (Tensor* t : {&s.rate, &s.count}) {
    if (t->rank() > 1) n.error("'R' or 'T' is {}; expected a scalar", n.typeText(*t));
    *t = n.reshape(*t, {});
  }
  size_t each = 2 + kept, more = n.numInputs() - 2;
  if (more % each) n.error("{} inputs follow 'R' and 'T'; expected a multiple of {}", more, each);
  size_t count = more / each;
  for (size_t w = 0; w < count; ++w) {
    auto& all = s.weights.emplace_back();
    for (size_t k = 0; k < each; ++k) {
      all.push_back(n.input(2 + k * count + w, "inputs", floating));
      n.requireShape(all.back(), n.sizes(all[0]), "inputs");
      if (all.back().dtype != all[0].dtype)
        n.error("tensors of one weight are {} and {}", dtypeName(all[0].dtype),
                dtypeName(all.back().dtype));
    }
  }
  return s;
}

/// norm_coefficient * x + gradient
static Tensor regularised(NodeBuilder& n, ArrayRef<Tensor> w) {
  double norm = n.floatAttr("norm_coefficient", 0.0);
  return n.map(w[0], w[1], [&](Scalar x, Scalar g) { return x * norm + g; });
}
/// The step as a number of x's type.
static Tensor rateAs(NodeBuilder& n, const Step& s, DType type,
                     llvm::function_ref<Scalar(Scalar rate, Scalar count)> body) {
  return n.map(n.castTo(s.rate, type), n.castTo(s.count, type), body);
}

ORTC_ONNX_OP_IN(kDomain, "Adagrad", since(1)) {
  Step s = stepOf(n, 1);
  double decay = n.floatAttr("decay_factor", 0.0), epsilon = n.floatAttr("epsilon", 1e-6);
  for (auto [i, w] : llvm::enumerate(s.weights)) {
    Tensor g = regularised(n, w);
    Tensor squares = n.map(w[2], g, [](Scalar h, Scalar v) { return h + v * v; });
    Tensor rate = rateAs(n, s, g.dtype, [&](Scalar r, Scalar t) { return r / (t * decay + 1.0); });
    n.output(i, n.map({w[0], g, squares, rate}, g.dtype, [&](ArrayRef<Scalar> v) {
      return v[0] - v[3] * v[1] / (sqrt(v[2]) + epsilon);
    }));
    n.output(s.weights.size() + i, squares);
  }
}

ORTC_ONNX_OP_IN(kDomain, "Momentum", since(1)) {
  Step s = stepOf(n, 1);
  double alpha = n.floatAttr("alpha"), beta = n.floatAttr("beta");
  std::string mode = n.stringAttr("mode");
  if (mode != "standard" && mode != "nesterov")
    n.error("'mode' is '{}'; expected standard or nesterov", mode);
  for (auto [i, w] : llvm::enumerate(s.weights)) {
    Tensor g = regularised(n, w);
    // The first step takes all of the gradient.
    Tensor share = rateAs(n, s, g.dtype, [&](Scalar r, Scalar t) {
      return select(t > 0.0, n.literal(beta, r), 1.0);
    });
    Tensor v = n.map({w[2], g, share}, g.dtype,
                     [&](ArrayRef<Scalar> x) { return x[0] * alpha + x[2] * x[1]; });
    n.output(i, n.map({w[0], g, v, n.castTo(s.rate, g.dtype)}, g.dtype, [&](ArrayRef<Scalar> x) {
      return x[0] - x[3] * (mode == "standard" ? x[2] : x[1] + x[2] * alpha);
    }));
    n.output(s.weights.size() + i, v);
  }
}

ORTC_ONNX_OP_IN(kDomain, "Adam", since(1)) {
  Step s = stepOf(n, 2);
  double alpha = n.floatAttr("alpha", 0.9), beta = n.floatAttr("beta", 0.999),
         epsilon = n.floatAttr("epsilon", 1e-6), post = n.floatAttr("norm_coefficient_post", 0.0);
  for (auto [i, w] : llvm::enumerate(s.weights)) {
    Tensor g = regularised(n, w);
    Tensor v = n.map(w[2], g, [&](Scalar o, Scalar x) { return o * alpha + x * (1 - alpha); });
    Tensor h = n.map(w[3], g, [&](Scalar o, Scalar x) { return o * beta + x * x * (1 - beta); });
    // Averages that began at 0 are too small at first.
    Tensor rate = rateAs(n, s, g.dtype, [&](Scalar r, Scalar t) {
      Scalar corrected = r * sqrt(1.0 - pow(beta, t)) / (1.0 - pow(alpha, t));
      return select(t > 0.0, corrected, r);
    });
    n.output(i, n.map({w[0], v, h, rate}, g.dtype, [&](ArrayRef<Scalar> x) {
      return (x[0] - x[3] * x[1] / (sqrt(x[2]) + epsilon)) * (1 - post);
    }));
    n.output(s.weights.size() + i, v);
    n.output(2 * s.weights.size() + i, h);
  }
}

} // namespace ortc::opdef
