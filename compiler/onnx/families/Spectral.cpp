// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms as products with tables of cosines and sines (exact to the last bit
// of their type: angles are reduced as integers), and the mel scale.
#include "compiler/ir/HostTensor.h"
#include "compiler/onnx/ControlFlow.h"
#include "compiler/onnx/families/Common.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Complex {
  Tensor re, im; ///< [rows, length]; no `im`: real
};
} // namespace

/// [rows, columns] of cos or sin of 2 pi row column / period, times `factor(row)`.
static Tensor table(NodeBuilder& n, Size rows, Size columns, Size period, DType type, bool sine,
                    llvm::function_ref<double(int64_t)> factor) {
  if (rows.constant() && columns.constant() && period.constant()) {
    constexpr int64_t mostElements = int64_t(1) << 28; // 1 GiB of f32 in the bundle, for each
    n.requirePossible({rows, columns});
    if (*rows.constant() * *columns.constant() > mostElements)
      n.fail(fmt::format("a transform of {} values needs tables of {} x {} elements, more than {}",
                         *period.constant(), *rows.constant(), *columns.constant(), mostElements),
             {{true, "do that part elsewhere (--cut-inputs, --cut-outputs)"}});
    HostTensor t(n.typeOf(type), {*rows.constant(), *columns.constant()});
    int64_t p = std::max<int64_t>(*period.constant(), 1);
    for (int64_t r = 0; r < t.dims[0]; ++r)
      for (int64_t c = 0; c < t.dims[1]; ++c) {
        double angle =
            2 * M_PI * static_cast<double>((r % p) * (c % p) % p) / static_cast<double>(p);
        t.setDouble(r * t.dims[1] + c, factor(r) * (sine ? std::sin(angle) : std::cos(angle)));
      }
    return n.constant(t, type);
  }
  return n.generate({rows, columns}, type, [&](ArrayRef<Scalar> i) {
    DType wide = type == DType::F64 ? DType::F64 : DType::F32;
    Scalar p = max(n.index(period), 1.0);
    Scalar angle = n.fromIndex(rem(i[0] * i[1], p), wide) * (2 * M_PI) / n.fromIndex(p, wide);
    return n.cast(sine ? sin(angle) : cos(angle), type);
  });
}

/// The transform of rows, `count` values of each; `period` is its length, of which the rows may
/// have less or more.
static Complex transformed(NodeBuilder& n, Complex x, Size period, Size count, bool inverse) {
  DType type = x.re.dtype;
  Size length = min(n.size(x.re, 1), period);
  auto cut = [&](Tensor t) { return n.slice(t, {n.size(0), n.size(0)}, {n.size(t, 0), length}); };
  auto plain = [](int64_t) { return 1.0; };
  Tensor c = table(n, length, count, period, type, false, plain),
         s = table(n, length, count, period, type, true, plain);
  auto times = [&](Tensor a, Tensor b) { return n.contract(cut(a), b, "mn,nk->mk"); };
  auto sum = [&](Tensor a, Tensor b, double sign) {
    return n.map(a, b, [&](Scalar v, Scalar w) { return sign > 0 ? v + w : v - w; });
  };
  double sign = inverse ? 1 : -1; // of the exponent
  Complex y;
  if (x.im) {
    y.re = sum(times(x.re, c), times(x.im, s), -sign);
    y.im = sum(times(x.im, c), times(x.re, s), sign);
  } else {
    y.re = times(x.re, c);
    y.im = times(x.re, s);
    if (!inverse) y.im = n.map(y.im, [](Scalar v) { return -v; });
  }
  if (inverse)
    for (Tensor* t : {&y.re, &y.im})
      *t = n.map(*t, [&](Scalar v) { return v / n.fromIndex(n.index(period), type); });
  return y;
}

/// Real rows of `period` values from the first half of their transform.
static Tensor realInverse(NodeBuilder& n, Complex x, Size period) {
  DType type = x.re.dtype;
  if (!period.constant())
    n.fail("the length of a one-sided inverse transform must be known while compiling",
           {{true, "make 'dft_length' a constant"}});
  int64_t p = *period.constant();
  // All but the first and (of an even length) the last value stand for two.
  auto weight = [&](int64_t k) {
    return (k == 0 || 2 * k == p ? 1.0 : 2.0) / static_cast<double>(p);
  };
  Size length = min(n.size(x.re, 1), n.size(p / 2 + 1));
  auto cut = [&](Tensor t) { return n.slice(t, {n.size(0), n.size(0)}, {n.size(t, 0), length}); };
  if (!length.constant())
    n.fail("the number of frequencies must be known while compiling",
           {{true, "fix it with --shape"}});
  Tensor y =
      n.contract(cut(x.re), table(n, length, period, period, type, false, weight), "mn,nk->mk");
  if (!x.im) return y;
  Tensor z =
      n.contract(cut(x.im), table(n, length, period, period, type, true, weight), "mn,nk->mk");
  return n.map(y, z, [](Scalar v, Scalar w) { return v - w; });
}

/// The real or imaginary part of [.., 1 or 2] as rows.
static Tensor part(NodeBuilder& n, Tensor x, int64_t k, ArrayRef<Size> shape) {
  std::vector<Size> starts(x.rank(), n.size(0)), sizes = n.sizes(x);
  starts.back() = n.size(k), sizes.back() = n.size(1);
  return n.reshape(n.slice(x, starts, sizes), shape);
}

/// Real and imaginary part side by side, as [shape.., 2].
static Tensor joined(NodeBuilder& n, Complex y, std::vector<Size> shape) {
  shape.push_back(n.size(1));
  return n.concat({n.reshape(y.re, shape), n.reshape(y.im, shape)},
                  static_cast<int64_t>(shape.size()) - 1);
}

static Tensor transformedAlong(NodeBuilder& n, Tensor x, Tensor length, int64_t axis) {
  Size parts = n.size(x, x.rank() - 1);
  if (!parts.is(1) && !parts.is(2))
    n.error("the last size of the input is {}; expected 1 or 2", n.typeText(x));
  bool inverse = n.flagAttr("inverse", false), half = n.flagAttr("onesided", false);
  // The axis goes to the end, before the parts.
  std::vector<int64_t> order, back(x.rank());
  for (int64_t d = 0; d < x.rank() - 1; ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis), order.push_back(x.rank() - 1);
  for (auto [i, d] : llvm::enumerate(order))
    back[d] = static_cast<int64_t>(i);
  x = n.transpose(x, order);
  std::vector<Size> in = n.sizes(x), outer(in.begin(), in.end() - 2);
  Size rows = product(n, outer), extent = in[in.size() - 2];
  Complex c{part(n, x, 0, {rows, extent}), parts.is(2) ? part(n, x, 1, {rows, extent}) : Tensor()};
  Size period = extent;
  if (half && inverse) period = (extent - n.size(1)) * n.size(2);
  if (length) period = n.asSize(length, "dft_length");
  std::vector<Size> shape = outer;
  Tensor y;
  if (half && inverse) {
    shape.push_back(period), shape.push_back(n.size(1));
    y = n.reshape(realInverse(n, c, period), shape);
  } else {
    Size count = half ? period / n.size(2) + n.size(1) : period;
    shape.push_back(count);
    y = joined(n, transformed(n, c, period, count, inverse), shape);
  }
  return n.transpose(y, back);
}

// The last dim of the input is 1 (real) or 2 (real and imaginary). The axis was an attribute before
// opset 20, and is an input since: where it is data, a run chooses.
ORTC_ONNX_OP("DFT", since(17, 20)) {
  Tensor given = n.input(0, "input", floating);
  Tensor x = widened(n, given), length = n.optionalInput(1, "dft_length", indexInteger);
  int64_t rank = x.rank();
  if (rank < 2) n.error("the input has rank {}; expected at least 2", rank);
  Tensor input = n.opset < 20 ? Tensor() : n.optionalInput(2, "axis", indexInteger);
  Tensor y;
  if (input && !n.constantInts(input)) {
    Size at = n.asSize(input, "axis");
    at = selectSize(n, n.index(at) < 0.0, at + n.size(rank), at);
    std::function<std::vector<Tensor>(int64_t)> choose = [&](int64_t axis) -> std::vector<Tensor> {
      if (axis == rank - 2) return {transformedAlong(n, x, length, axis)};
      Value here = equal(n.index(at), static_cast<double>(axis)).v;
      return buildIf(
          n.b, n.loc, here,
          [&]() -> std::vector<Tensor> { return {transformedAlong(n, x, length, axis)}; },
          [&] { return choose(axis + 1); });
    };
    y = choose(0)[0];
  } else {
    int64_t axis = n.opset < 20 ? n.intAttr("axis", 1) : input ? n.requireInt(input, "axis") : -2;
    axis = n.axis(axis, rank);
    if (axis == rank - 1) n.error("'axis' is that of real and imaginary part");
    y = transformedAlong(n, x, length, axis);
  }
  n.output(0, n.castTo(y, given.dtype));
}

// Transforms of pieces of the signal, one every `frame_step` values, times a window.
ORTC_ONNX_OP("STFT", since(17)) {
  Tensor given = n.input(0, "signal", floating);
  Tensor x = widened(n, given), window = n.optionalInput(2, "window", oneOf({given.dtype})),
         length = n.optionalInput(3, "frame_length", indexInteger);
  if (x.rank() != 2 && x.rank() != 3) n.error("the signal has rank {}; expected 2 or 3", x.rank());
  std::vector<Size> in = n.sizes(x),
                    step = {n.asSize(n.input(1, "frame_step", indexInteger), "frame_step")};
  bool complex = x.rank() == 3 && in[2].is(2), half = n.flagAttr("onesided", true);
  if (x.rank() == 3 && !complex && !in[2].is(1))
    n.error("the last size of the signal is {}; expected 1 or 2", n.typeText(x));
  Size L = length ? n.asSize(length, "frame_length") : window ? n.size(window, 0) : in[1];
  Size frames = (in[1] - L) / step[0] + n.size(1), rows = in[0] * frames;
  auto framed = [&](int64_t k) {
    Tensor signal = x.rank() == 3 ? part(n, x, k, {in[0], in[1]}) : x;
    Tensor f = n.generate({in[0], frames, L}, x.dtype, [&](ArrayRef<Scalar> o) {
      Scalar v = n.at(signal, {o[0], o[1] * n.index(step[0]) + o[2]});
      return window ? v * n.cast(n.at(window, o[2]), x.dtype) : v;
    });
    return n.reshape(f, {rows, L});
  };
  Complex c{framed(0), complex ? framed(1) : Tensor()};
  Size count = half ? L / n.size(2) + n.size(1) : L;
  Complex y = transformed(n, c, L, count, false);
  n.output(0, n.castTo(joined(n, y, {in[0], frames, count}), given.dtype));
}

/// Rfft and Irfft of the last dims: a transform of reals that says one half of its result.
static void realTransform(NodeBuilder& n, bool inverse) {
  Tensor x = n.input(0, "X", floating);
  int64_t count = n.intAttr("signal_ndim", 1);
  if (count != 1 || !n.flagAttr("onesided", true) || n.flagAttr("normalized", false))
    n.error("'signal_ndim' is {}; only one-sided transforms of one dim that are not normalised are "
            "supported",
            count);
  if (x.rank() < 1 + inverse) n.error("'X' is {}; expected a higher rank", n.typeText(x));
  Tensor wide = widened(n, x), y;
  std::vector<Size> in = n.sizes(x), outer(in.begin(), in.end() - 1 - inverse);
  Size rows = product(n, outer);
  if (inverse) {
    n.requireEqual(in.back(), n.size(2), "the last dim does not hold real and imaginary parts");
    Size extent = in[in.size() - 2], period = (extent - n.size(1)) * n.size(2);
    Complex c{part(n, wide, 0, {rows, extent}), part(n, wide, 1, {rows, extent})};
    outer.push_back(period);
    y = n.reshape(realInverse(n, c, period), outer);
  } else {
    Size period = in.back(), half = period / n.size(2) + n.size(1);
    outer.push_back(half);
    y = joined(n, transformed(n, {n.reshape(wide, {rows, period}), {}}, period, half, false),
               outer);
  }
  n.output(0, n.castTo(y, x.dtype));
}
ORTC_ONNX_OP_IN("com.microsoft", "Rfft", since(1)) {
  realTransform(n, /*inverse=*/false);
}
ORTC_ONNX_OP_IN("com.microsoft", "Irfft", since(1)) {
  realTransform(n, /*inverse=*/true);
}

/// a b, or a times the conjugate of b; the last dim holds real and imaginary part.
static void complexProduct(NodeBuilder& n, double sign) {
  Tensor a = n.input(0, "A", floating), b = n.input(1, "B", oneOf({a.dtype}));
  for (Tensor t : {a, b}) {
    if (t.rank() < 1) n.error("an operand is a scalar");
    n.requireEqual(n.size(t, t.rank() - 1), n.size(2),
                   "the last dim does not hold real and imaginary parts");
  }
  std::vector<Size> shape = n.broadcastShapes({a, b});
  DType wide = wideType(a.dtype);
  auto places = [&](Tensor t, int64_t k) { // part k of what meets an element of the result
    std::vector<Size> from(t.rank(), n.size(0)), count = n.sizes(t);
    from.back() = n.size(k), count.back() = n.size(1);
    return n.castTo(n.slice(t, from, count), wide);
  };
  Tensor ar = places(a, 0), ai = places(a, 1), br = places(b, 0), bi = places(b, 1);
  Tensor re = n.map({ar, ai, br, bi}, a.dtype, [&](ArrayRef<Scalar> s) {
    return n.cast(s[0] * s[2] - s[1] * s[3] * sign, a.dtype);
  });
  Tensor im = n.map({ar, ai, br, bi}, a.dtype, [&](ArrayRef<Scalar> s) {
    return n.cast(s[1] * s[2] + s[0] * s[3] * sign, a.dtype);
  });
  n.output(0, n.concat({re, im}, static_cast<int64_t>(shape.size()) - 1));
}
ORTC_ONNX_OP_IN("com.microsoft", "ComplexMul", since(1)) {
  complexProduct(n, 1);
}
ORTC_ONNX_OP_IN("com.microsoft", "ComplexMulConj", since(1)) {
  complexProduct(n, -1);
}

// Triangles on the mel scale over the frequencies of a transform, [frequencies, bins].
ORTC_ONNX_OP("MelWeightMatrix", since(17)) {
  auto size = [&](size_t i, StringRef name) {
    std::vector<Size> v = n.asSizes(n.input(i, name, indexInteger), name);
    if (v.size() != 1) n.error("input '{}' must have one element", name.str());
    return v[0];
  };
  Size bins = size(0, "num_mel_bins"), length = size(1, "dft_length"),
       rate = size(2, "sample_rate");
  Tensor low = n.input(3, "lower_edge_hertz", floating),
         high = n.input(4, "upper_edge_hertz", floating);
  n.requireEqual(product(n, n.sizes(low)), n.size(1), "'lower_edge_hertz' must have one element");
  n.requireEqual(product(n, n.sizes(high)), n.size(1), "'upper_edge_hertz' must have one element");
  auto type = dtypeFromOnnx(n.intAttr("output_datatype", 1));
  if (!type || !numeric.has(*type))
    n.error("'output_datatype' is {}, which is no numeric type", n.intAttr("output_datatype", 1));
  Size frequencies = length / n.size(2) + n.size(1);
  // Which frequency an edge falls on must not depend on rounding in f32.
  auto wide = [&](Scalar v) { return n.cast(v, DType::F64); };
  auto value = [&](Tensor t) { return wide(n.at(t, SmallVector<Scalar>(t.rank(), n.index(0)))); };
  n.output(0, n.generate({frequencies, bins}, *type, [&](ArrayRef<Scalar> o) {
    auto mel = [](Scalar hertz) { return log(hertz / 700.0 + 1.0) * (2595 / M_LN10); };
    Scalar bottom = mel(value(low)),
           step = (mel(value(high)) - bottom) / wide(n.index(bins + n.size(2)));
    auto edge = [&](Scalar i) {
      Scalar hertz = (exp((bottom + wide(i) * step) * (M_LN10 / 2595)) - 1.0) * 700.0;
      return floor(hertz * wide(n.index(length + n.size(1))) / wide(n.index(rate)));
    };
    Scalar left = edge(o[1]), center = edge(o[1] + 1.0), right = edge(o[1] + 2.0), j = wide(o[0]);
    Scalar rises = bitAnd(j >= left, j <= center), falls = bitAnd(j >= center, j < right);
    Scalar up = select(equal(left, center), 1.0, (j - left) / (center - left)),
           down = (right - j) / (right - center);
    Scalar zero = n.literal(0, j);
    return n.cast(select(falls, down, select(rises, up, zero)), *type);
  }));
}

} // namespace ortc::opdef
