// SPDX-License-Identifier: Apache-2.0
// Normalisation: by stored statistics (BatchNormalization) and by those of the tensor itself.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

// With stored statistics this is one multiplication and addition per element; the factors are made
// per channel, so that they fold into the weights of a convolution before it.
ORTC_ONNX_OP("BatchNormalization", since(1, 6, 7, 9, 14, 15)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "scale", floating),
         bias = n.input(2, "B", floating);
  Tensor mean = n.input(3, "input_mean", floating), var = n.input(4, "input_var", floating);
  double epsilon = n.floatAttr("epsilon", 1e-5), momentum = n.floatAttr("momentum", 0.9);
  if (n.opset < 7 && !n.flagAttr("is_test", false) && n.wantsOutput(1))
    n.fail("'is_test' is 0, and running statistics are outputs: this form is for training only",
           {{true, "export the model for inference"}});
  if (n.opset >= 7 && n.opset < 14 && n.wantsOutput(1))
    n.fail("running statistics are outputs: this form is for training only",
           {{true, "export the model for inference"}});
  bool training = n.opset >= 14 && n.flagAttr("training_mode", false);
  // spatial = 0 (before opset 9): statistics for each place, too
  bool perPlace = n.opset < 9 && !n.flagAttr("spatial", true);
  auto place = [&](Tensor t) { return perPlace ? t : alongChannels(n, t, x.rank()); };
  if (!perPlace)
    for (Tensor t : {scale, bias, mean, var}) {
      if (t.rank() != 1) n.error("a statistic has rank {}; expected 1", t.rank());
      Size c = x.rank() > 1 ? n.size(x, 1) : n.size(1), have = n.size(t, 0);
      if (c.constant() && have.constant() && *c.constant() != *have.constant())
        n.error("a statistic has {} elements for {} channels", *have.constant(), *c.constant());
    }
  // Statistics may be of a wider type than X.
  DType type = wideType(mean.dtype);
  Tensor m = n.castTo(mean, type), v = n.castTo(var, type);
  if (training) {
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d != 1) axes.push_back(d);
    Tensor wide = n.castTo(x, type), centre = meanOver(n, wide, axes);
    Tensor spread = meanOver(
        n, n.map(wide, centre, [](Scalar a, Scalar b) { return (a - b) * (a - b); }), axes);
    Tensor currentMean = n.reshape(centre, n.sizes(mean)),
           currentVar = n.reshape(spread, n.sizes(var));
    auto running = [&](Tensor old, Tensor current, DType to) {
      return n.castTo(n.map(old, current,
                            [&](Scalar a, Scalar b) { return a * momentum + b * (1 - momentum); }),
                      to);
    };
    n.output(1, running(m, currentMean, mean.dtype));
    n.output(2, running(v, currentVar, var.dtype));
    m = currentMean, v = currentVar;
  }
  Tensor factor = n.map(n.castTo(scale, type), v,
                        [&](Scalar s, Scalar variance) { return s / sqrt(variance + epsilon); });
  Tensor offset = n.map({n.castTo(bias, type), m, factor}, type,
                        [](ArrayRef<Scalar> s) { return s[0] - s[1] * s[2]; });
  n.output(0, n.map({x, place(factor), place(offset)}, x.dtype, [&](ArrayRef<Scalar> s) {
    return n.cast(n.cast(s[0], type) * s[1] + s[2], x.dtype);
  }));
}

namespace {
struct Moments {
  Tensor mean, inverseDeviation; // dims kept as 1
};
} // namespace

/// Mean and 1 / sqrt(variance + epsilon) over axes.
static Moments moments(NodeBuilder& n, Tensor x, ArrayRef<int64_t> axes, double epsilon) {
  Tensor mean = meanOver(n, x, axes);
  Tensor squares = n.map(x, mean, [](Scalar v, Scalar m) { return (v - m) * (v - m); });
  Tensor sum = n.reduce(squares, axes, true, 0, [](Scalar c, Scalar v) { return c + v; });
  Tensor inverse = n.map(
      sum, [&](Scalar s) { return 1.0 / sqrt(s / countOver(n, x, axes, x.dtype) + epsilon); });
  return {mean, inverse};
}

Tensor normalised(NodeBuilder& n, Tensor x, Tensor gamma, Tensor beta, double epsilon,
                  bool withMean) {
  int64_t last = x.rank() - 1;
  if (last < 0) n.error("the input is a scalar; expected at least rank 1");
  n.requireBroadcast(gamma, n.size(x, last), "gamma");
  if (beta) n.requireBroadcast(beta, n.size(x, last), "beta");
  Tensor wide = widened(n, x);
  DType type = wide.dtype;
  Tensor mean, inverse;
  if (withMean) {
    Moments m = moments(n, wide, last, epsilon);
    mean = m.mean, inverse = m.inverseDeviation;
  } else {
    Tensor squares = n.map(wide, [](Scalar v) { return v * v; });
    Tensor sum = n.reduce(squares, last, true, 0, [](Scalar c, Scalar v) { return c + v; });
    inverse =
        n.map(sum, [&](Scalar s) { return 1.0 / sqrt(s / countOver(n, x, last, type) + epsilon); });
  }
  std::vector<Tensor> in{wide, inverse, widened(n, gamma)};
  if (mean) in.push_back(mean);
  if (beta) in.push_back(widened(n, beta));
  return n.map(in, x.dtype, [&](ArrayRef<Scalar> s) {
    Scalar v = mean ? s[0] - s[3] : s[0];
    v = v * s[1] * s[2];
    return n.cast(beta ? v + s.back() : v, x.dtype);
  });
}

/// The type that norms are computed in, which stash_type names.
static DType stashType(NodeBuilder& n, DType x) {
  int64_t stash = n.intAttr("stash_type", 1);
  auto t = dtypeFromOnnx(stash);
  if (!t || !floating.has(*t))
    n.error("'stash_type' is {}, which is no floating-point type", stash);
  // f64 is not made narrower, and sums in f16 would not be worth their name
  return x == DType::F64 ? x : wideType(*t);
}

ORTC_ONNX_OP("LayerNormalization", since(17)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "Scale", oneOf({x.dtype})),
         bias = n.optionalInput(2, "B", oneOf({x.dtype}));
  std::vector<int64_t> axes = axesFrom(n.axis(n.intAttr("axis", -1), x.rank()), x.rank());
  n.requireBroadcast(scale, n.sizes(x), "Scale");
  if (bias) n.requireBroadcast(bias, n.sizes(x), "B");
  DType type = stashType(n, x.dtype);
  Tensor wide = n.castTo(x, type);
  Moments m = moments(n, wide, axes, n.floatAttr("epsilon", 1e-5));
  std::vector<Tensor> in{x, m.mean, m.inverseDeviation, scale};
  if (bias) in.push_back(bias);
  n.output(0, n.map(in, x.dtype, [&](ArrayRef<Scalar> s) {
    Scalar y = n.cast((n.cast(s[0], type) - s[1]) * s[2], x.dtype) * s[3];
    return bias ? y + s[4] : y;
  }));
  n.output(1, m.mean);
  n.output(2, m.inverseDeviation);
}

ORTC_ONNX_OP("RMSNormalization", since(23)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "scale", floating);
  std::vector<int64_t> axes = axesFrom(n.axis(n.intAttr("axis", -1), x.rank()), x.rank());
  double epsilon = n.floatAttr("epsilon", 1e-5);
  n.requireBroadcast(scale, n.sizes(x), "scale");
  DType type = stashType(n, x.dtype);
  Tensor wide = n.castTo(x, type);
  Tensor squares = n.map(wide, [](Scalar v) { return v * v; });
  Tensor sum = n.reduce(squares, axes, true, 0, [](Scalar c, Scalar v) { return c + v; });
  Tensor inverse =
      n.map(sum, [&](Scalar s) { return 1.0 / sqrt(s / countOver(n, x, axes, type) + epsilon); });
  n.output(0, n.map({x, inverse, scale}, scale.dtype, [&](ArrayRef<Scalar> s) {
    Scalar y = n.cast(n.cast(s[0], type) * s[1], x.dtype);
    return n.cast(y, scale.dtype) * s[2];
  }));
}

ORTC_ONNX_OP("InstanceNormalization", since(1, 6, 22)) {
  Tensor x = n.input(0, "input", floating), scale = n.input(1, "scale", oneOf({x.dtype})),
         bias = n.input(2, "B", oneOf({x.dtype}));
  if (x.rank() < 3) n.error("the input has rank {}; expected at least 3", x.rank());
  n.requireShape(scale, n.size(x, 1), "scale");
  n.requireShape(bias, n.size(x, 1), "B");
  DType type = wideType(x.dtype);
  Moments m = moments(n, n.castTo(x, type), axesFrom(2, x.rank()), n.floatAttr("epsilon", 1e-5));
  n.output(0, n.map({x, m.mean, m.inverseDeviation, alongChannels(n, scale, x.rank()),
                     alongChannels(n, bias, x.rank())},
                    x.dtype, [&](ArrayRef<Scalar> s) {
                      return n.cast((n.cast(s[0], type) - s[1]) * s[2], x.dtype) * s[3] + s[4];
                    }));
}

// Scale and bias were one per group in opset 18, and are one per channel since 21.
ORTC_ONNX_OP("GroupNormalization", since(18, 21)) {
  Tensor x = n.input(0, "X", floating), scale = n.input(1, "scale", oneOf({x.dtype})),
         bias = n.input(2, "bias", oneOf({x.dtype}));
  if (x.rank() < 2) n.error("the input has rank {}; expected at least 2", x.rank());
  int64_t groups = n.intAttr("num_groups");
  std::vector<Size> in = n.sizes(x);
  if (groups < 1 || (in[1].constant() && *in[1].constant() % groups))
    n.error("'num_groups' is {}, which does not divide the channels", groups);
  std::vector<Size> split{in[0], n.size(groups), in[1] / n.size(groups)};
  split.insert(split.end(), in.begin() + 2, in.end());
  int64_t rank = split.size();
  DType type = n.opset >= 21 ? stashType(n, x.dtype) : wideType(x.dtype);
  Tensor grouped = n.reshape(x, split);
  Moments m = moments(n, n.castTo(grouped, type), axesFrom(2, rank), n.floatAttr("epsilon", 1e-5));
  auto place = [&](Tensor t) {
    std::vector<Size> shape(rank, n.size(1));
    shape[1] = split[1];
    if (n.opset >= 21) shape[2] = split[2];
    return n.reshape(t, shape);
  };
  Tensor y = n.map({grouped, m.mean, m.inverseDeviation, place(scale), place(bias)}, x.dtype,
                   [&](ArrayRef<Scalar> s) {
                     return n.cast((n.cast(s[0], type) - s[1]) * s[2], x.dtype) * s[3] + s[4];
                   });
  n.output(0, n.reshape(y, in));
}

/// GroupNorm and SkipGroupNorm of x, [N, H, W, C] or (channels_last = 0) [N, C, H, W]: computed in
/// f32, with an activation of its own.
static Tensor groupNorm(NodeBuilder& n, Tensor x, Tensor gamma, Tensor beta) {
  if (x.rank() != 4) n.error("'X' is {}; expected rank 4", n.typeText(x));
  bool last = n.flagAttr("channels_last", true), silu = n.flagAttr("activation", false);
  int64_t groups = n.intAttr("groups"), at = last ? 3 : 1;
  std::vector<Size> in = n.sizes(x), split = in;
  n.requireShape(gamma, in[at], "gamma");
  n.requireShape(beta, in[at], "beta");
  if (groups < 1 || (in[at].constant() && *in[at].constant() % groups))
    n.error("'groups' is {}, which does not divide the channels", groups);
  split[at] = n.size(groups);
  split.insert(split.begin() + at + 1, in[at] / n.size(groups));
  DType wide = wideType(x.dtype);
  Tensor grouped = n.reshape(n.castTo(x, wide), split);
  std::vector<int64_t> axes = last ? std::vector<int64_t>{1, 2, 4} : axesFrom(2, 5);
  Moments m = moments(n, grouped, axes, n.floatAttr("epsilon", 1e-5));
  auto place = [&](Tensor t) {
    std::vector<Size> shape(5, n.size(1));
    shape[at] = split[at], shape[at + 1] = split[at + 1];
    return n.reshape(n.castTo(t, wide), shape);
  };
  Tensor y = n.map({grouped, m.mean, m.inverseDeviation, place(gamma), place(beta)}, x.dtype,
                   [&](ArrayRef<Scalar> s) {
                     Scalar v = (s[0] - s[1]) * s[2] * s[3] + s[4];
                     return n.cast(silu ? v * sigmoid(v) : v, x.dtype);
                   });
  return n.reshape(y, in);
}
ORTC_ONNX_OP_IN("com.microsoft", "GroupNorm", since(1)) {
  Tensor x = n.input(0, "X", floating), gamma = n.input(1, "gamma", floating),
         beta = n.input(2, "beta", oneOf({gamma.dtype}));
  n.output(0, groupNorm(n, x, gamma, beta));
}
// The skip may be one number for each channel of an image.
ORTC_ONNX_OP_IN("com.microsoft", "SkipGroupNorm", since(1)) {
  Tensor x = n.input(0, "X", floating), gamma = n.input(1, "gamma", floating),
         beta = n.input(2, "beta", oneOf({gamma.dtype})),
         skip = n.input(3, "skip", oneOf({x.dtype})),
         bias = n.optionalInput(4, "bias", oneOf({x.dtype}));
  if (x.rank() != 4) n.error("'X' is {}; expected rank 4", n.typeText(x));
  bool last = n.flagAttr("channels_last", true);
  int64_t at = last ? 3 : 1;
  auto channels = [&](Tensor t, Size images) {
    std::vector<Size> shape(4, n.size(1));
    shape[0] = images, shape[at] = n.size(x, at);
    return n.reshape(t, shape);
  };
  if (skip.rank() == 2) {
    n.requireShape(skip, {n.size(x, 0), n.size(x, at)}, "skip");
    skip = channels(skip, n.size(x, 0));
  }
  n.requireBroadcast(skip, n.sizes(x), "skip");
  auto sum = [](Scalar v, Scalar w) { return v + w; };
  Tensor all = n.map(x, skip, sum);
  if (bias) {
    n.requireShape(bias, n.size(x, at), "bias");
    all = n.map(all, channels(bias, n.size(1)), sum);
  }
  n.output(0, groupNorm(n, all, gamma, beta));
  n.output(1, all);
}

ORTC_ONNX_OP("MeanVarianceNormalization", since(9, 13)) {
  Tensor x = n.input(0, "X", floating);
  std::vector<int64_t> axes = n.axes(n.intsAttr("axes", std::vector<int64_t>{0, 2, 3}), x.rank());
  n.output(0, throughWide(n, x, [&](Tensor w) {
             Tensor mean = meanOver(n, w, axes);
             Tensor variance = meanOver(
                 n, n.map(w, mean, [](Scalar v, Scalar c) { return (v - c) * (v - c); }), axes);
             return n.map({w, mean, variance}, w.dtype,
                          [](ArrayRef<Scalar> s) { return (s[0] - s[1]) / (sqrt(s[2]) + 1e-9); });
           }));
}

// x / (sum |x|^p)^(1/p) along an axis; where the norm is 0 the result is 0.
ORTC_ONNX_OP("LpNormalization", since(1, 22)) {
  Tensor x = n.input(0, "input", floating);
  int64_t p = n.intAttr("p", 2), axis = n.axis(n.intAttr("axis", -1), x.rank());
  if (p != 1 && p != 2) n.error("'p' is {}; expected 1 or 2", p);
  n.output(0, throughWide(n, x, [&](Tensor w) {
             Tensor sum = n.reduce(w, axis, true, 0, [&](Scalar c, Scalar v) {
               return c + (p == 1 ? abs(v) : v * v);
             });
             return n.map(w, sum, [&](Scalar v, Scalar s) {
               Scalar length = p == 1 ? s : sqrt(s);
               return select(equal(length, 0.0), 0.0, v / length);
             });
           }));
}

// x / (bias + alpha / size * (sum of squares over `size` neighbouring channels))^beta
ORTC_ONNX_OP("LRN", since(1, 13)) {
  Tensor x = n.input(0, "X", floating);
  if (x.rank() < 2) n.error("the input has rank {}; expected at least 2", x.rank());
  double alpha = n.floatAttr("alpha", 0.0001), beta = n.floatAttr("beta", 0.75),
         bias = n.floatAttr("bias", 1.0);
  int64_t size = n.intAttr("size");
  if (size < 1) n.error("'size' is {}", size);
  DType type = wideType(x.dtype);
  Size channels = n.size(x, 1);
  // No side of the window needs to reach further than all channels.
  auto side = [&](int64_t wanted) {
    bool may = wanted < 16 || (channels.constant() && wanted < *channels.constant());
    return may ? n.size(wanted) : min(n.size(wanted), max(channels - n.size(1), n.size(0)));
  };
  Size before = side((size - 1) / 2), after = side(size / 2);
  Tensor sum = n.generateReduce(n.sizes(x), before + after + n.size(1), type, 0,
                                [&](ArrayRef<Scalar> i, Scalar carried) {
                                  SmallVector<Scalar> at(i.drop_back());
                                  at[1] = i[1] + i.back() - n.index(before);
                                  Scalar inside = bitAnd(at[1] >= 0.0, at[1] < n.index(channels));
                                  Scalar v = n.cast(n.atOr(x, at, inside, 0), type);
                                  return carried + v * v;
                                });
  n.output(0, n.map(x, sum, [&](Scalar v, Scalar s) {
    Scalar base = s * (alpha / static_cast<double>(size)) + bias;
    // x^(3/4) is two square roots
    Scalar power = beta == 0.75  ? sqrt(base) * sqrt(sqrt(base))
                   : beta == 0.5 ? sqrt(base)
                   : beta == 1   ? base
                                 : pow(base, beta);
    return n.cast(n.cast(v, type) / power, x.dtype);
  }));
}

} // namespace ortc::opdef
