// SPDX-License-Identifier: Apache-2.0
// Convolution and its transpose, NCHW with one to three spatial dims.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// The spatial sizes of a weight tensor, which must be constants and agree with kernel_shape.
static std::vector<int64_t> kernelSizes(NodeBuilder& n, Tensor w) {
  std::vector<int64_t> kernel;
  for (int64_t d = 2; d < w.rank(); ++d) {
    Size s = n.size(w, d);
    if (!s.constant()) n.error("the spatial sizes of the weights must be known while compiling");
    kernel.push_back(*s.constant());
  }
  if (n.hasAttr("kernel_shape") && n.intsAttr("kernel_shape") != kernel)
    n.error("'kernel_shape' is [{}], but the weights are {}",
            fmt::join(n.intsAttr("kernel_shape"), ","), n.typeText(w));
  return kernel;
}

static void checkRanks(NodeBuilder& n, Tensor x, Tensor w) {
  if (x.rank() < 3 || x.rank() > 5) n.error("the input has rank {}; expected 3 to 5", x.rank());
  if (w.rank() != x.rank())
    n.error("the weights have rank {}, and the input {}; they must be equal", w.rank(), x.rank());
}

Tensor convolution(NodeBuilder& n, Tensor x, Tensor w, std::optional<DType> result) {
  checkRanks(n, x, w);
  int64_t group = n.intAttr("group", 1);
  if (group < 1) n.error("'group' is {}", group);
  Size channels = n.size(x, 1), perGroup = n.size(w, 1), out = n.size(w, 0);
  if (channels.constant() && perGroup.constant() &&
      *channels.constant() != *perGroup.constant() * group)
    n.error("the input has {} channels where the weights want {} in each of {} groups",
            *channels.constant(), *perGroup.constant(), group);
  n.requireEqual(channels, perGroup * n.size(group), "the channels of input and weights differ");
  if (out.constant() && *out.constant() % group)
    n.error("'group' is {}, which does not divide the {} channels of the result", group,
            *out.constant());
  std::vector<Size> in = n.sizes(x);
  size_t spatial = in.size() - 2;
  std::vector<WindowDim> dims = readWindow(n, ArrayRef<Size>(in).drop_front(2), kernelSizes(n, w));
  std::vector<int64_t> strides, dilations, pads(2 * spatial, 0);
  std::vector<Size> begin(in.size(), n.size(0)), end = begin;
  for (auto [i, d] : llvm::enumerate(dims)) {
    strides.push_back(d.stride), dilations.push_back(d.dilation);
    if (d.padBegin.constant() && d.padEnd.constant())
      pads[i] = *d.padBegin.constant(), pads[spatial + i] = *d.padEnd.constant();
    else
      begin[i + 2] = d.padBegin,
                end[i + 2] = d.padEnd; // "same" of a free size with a stride: known when running
  }
  return n.conv(padded(n, x, begin, end, 0), w, strides, dilations, pads, group, result);
}

/// y + bias per channel
static Tensor withBias(NodeBuilder& n, Tensor y, Tensor bias) {
  if (!bias) return y;
  if (bias.rank() != 1) n.error("the bias has rank {}; expected 1", bias.rank());
  Size c = n.size(y, 1), have = n.size(bias, 0);
  n.requireEqual(have, c, "the elements of the bias and the channels differ");
  return n.map(y, alongChannels(n, bias, y.rank()), [](Scalar v, Scalar b) { return v + b; });
}

ORTC_ONNX_OP("Conv", since(1, 11, 22)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         bias = n.optionalInput(2, "B", oneOf({x.dtype}));
  n.output(0, withBias(n, convolution(n, x, w, std::nullopt), bias));
}

/// [C, M/g, k...] to what a convolution in the other direction reads: [M, C/g, k...], reversed in
/// space.
static Tensor transposedWeights(NodeBuilder& n, Tensor w, int64_t group) {
  std::vector<Size> s = n.sizes(w), shape{s[1] * n.size(group), s[0] / n.size(group)};
  shape.insert(shape.end(), s.begin() + 2, s.end());
  return n.generate(shape, w.dtype, [&](ArrayRef<Scalar> i) {
    SmallVector<Scalar> at;
    if (group == 1)
      at = {i[1], i[0]};
    else {
      Scalar g = i[0] / n.index(s[1]);
      at = {g * n.index(shape[1]) + i[1], i[0] - g * n.index(s[1])};
    }
    for (size_t d = 2; d < s.size(); ++d)
      at.push_back(n.index(s[d] - n.size(1)) - i[d]);
    return n.at(w, at);
  });
}

/// stride - 1 zeros between neighbours.
static Tensor spread(NodeBuilder& n, Tensor x, ArrayRef<int64_t> strides) {
  std::vector<Size> in = n.sizes(x), out = in;
  bool any = false;
  for (auto [i, s] : llvm::enumerate(strides)) {
    out[i + 2] = (in[i + 2] - n.size(1)) * n.size(s) + n.size(1);
    any |= s != 1;
  }
  if (!any) return x;
  return n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> idx(o);
    Scalar inside;
    for (auto [i, s] : llvm::enumerate(strides)) {
      if (s == 1) continue;
      idx[i + 2] = o[i + 2] / static_cast<double>(s);
      Scalar hit = equal(rem(o[i + 2], static_cast<double>(s)), 0.0);
      inside = inside.v ? bitAnd(inside, hit) : hit;
    }
    return n.atOr(x, idx, inside, 0);
  });
}

namespace {
struct Transposed {
  int64_t group;
  ArrayRef<int64_t> kernel, strides, dilations, more;
  ArrayRef<Size> padBegin, padEnd;
};

/// Outputs first, first + 1, ... of each stride, `count` of them, which read the same inputs, each
/// with taps of its own: output (j, r) of them is the sum over u of
/// x[j + shift - u] * w[offset + (r - first) + stride * u].
struct Phases {
  int64_t first, count, offset, shift, taps;
};
} // namespace

static std::vector<Phases> phasesOf(int64_t stride, int64_t kernel, int64_t pad) {
  std::vector<Phases> r;
  for (int64_t p = 0; p < stride; ++p) {
    int64_t offset = (p + pad) % stride, shift = (p + pad) / stride;
    int64_t taps = (kernel - offset + stride - 1) / stride;
    if (!r.empty() && r.back().shift == shift && r.back().taps == taps)
      ++r.back().count;
    else
      r.push_back({p, 1, offset, shift, taps});
  }
  return r;
}

/// The weights of a convolution for some phases (one Phases per axis): [phases * M, C/g, taps...].
static Tensor phaseWeights(NodeBuilder& n, Tensor w, const Transposed& t, ArrayRef<Phases> phases) {
  std::vector<Size> s = n.sizes(w);
  Size channels = s[1] * n.size(t.group), perGroup = s[0] / n.size(t.group);
  int64_t count = 1;
  for (const Phases& p : phases)
    count *= p.count;
  std::vector<Size> shape{channels * n.size(count), perGroup};
  for (const Phases& p : phases)
    shape.push_back(n.size(p.taps));
  return n.generate(shape, w.dtype, [&](ArrayRef<Scalar> i) {
    Scalar phase = i[0] / n.index(channels), channel = i[0] - phase * n.index(channels);
    SmallVector<Scalar> at{i[1], channel};
    if (t.group > 1) {
      Scalar g = channel / n.index(s[1]);
      at = {g * n.index(perGroup) + i[1], channel - g * n.index(s[1])};
    }
    SmallVector<Scalar> taps(phases.size());
    for (size_t a = phases.size(); a-- > 0;) {
      const Phases& p = phases[a];
      Scalar tap = n.index(n.size(p.offset + t.strides[a] * (p.taps - 1))) -
                   i[a + 2] * n.index(n.size(t.strides[a]));
      if (p.count > 1) {
        Scalar outer = phase / n.index(n.size(p.count));
        tap = tap + (phase - outer * n.index(n.size(p.count)));
        phase = outer;
      }
      taps[a] = tap;
    }
    at.append(taps);
    return n.at(w, at);
  });
}

/// Output o of an axis, o = stride * j + r, reads inputs near j with the taps of its phase r. So
/// all outputs of a phase are a convolution of stride 1 of the input as it is, and no tap meets one
/// of the zeros that a transposed convolution is defined with. The phases are channels of one
/// tensor first, which is then spread over the image; neighbours that read the same inputs (all,
/// where stride = kernel) are one convolution. Null where this does not hold or does not pay.
static std::optional<Tensor> byPhases(NodeBuilder& n, Tensor x, Tensor w, Tensor bias,
                                      const Transposed& t) {
  constexpr size_t kMostConvolutions = 16;
  size_t spatial = t.kernel.size();
  std::vector<Size> in = n.sizes(x);
  if (llvm::all_of(t.strides, [](int64_t s) { return s == 1; })) return std::nullopt;
  SmallVector<std::vector<Phases>> axes;
  SmallVector<int64_t> above; // outputs of a phase less inputs
  for (size_t a = 0; a < spatial; ++a) {
    auto begin = t.padBegin[a].constant(), end = t.padEnd[a].constant();
    if (t.dilations[a] != 1 || !begin || !end || *begin < 0 || t.kernel[a] < t.strides[a])
      return std::nullopt;
    axes.push_back(phasesOf(t.strides[a], t.kernel[a], *begin));
    int64_t rest = t.kernel[a] + t.more[a] - *begin - *end;
    above.push_back((rest + t.strides[a] - 1 + t.strides[a] * t.kernel[a]) / t.strides[a] -
                    t.kernel[a] - 1); // rounded up, also below zero
    for (const Phases& p : axes.back())
      if (p.taps - 1 < p.shift || above[a] + p.shift < 0) return std::nullopt;
  }
  // Channels are ordered by phase, those of the first axis outermost: phases of an axis may stay
  // together where later axes have one lot only. Groups come before phases in a grouped
  // convolution's channels, so there each phase is on its own.
  bool together = t.group == 1;
  for (size_t a = spatial; a-- > 0;) {
    if (!together) {
      std::vector<Phases> single;
      for (const Phases& p : axes[a])
        for (int64_t i = 0; i < p.count; ++i)
          single.push_back({p.first + i, 1, p.offset + i, p.shift, p.taps});
      axes[a] = single;
    }
    together &= axes[a].size() == 1;
  }
  size_t convolutions = 1;
  for (auto& a : axes)
    convolutions *= a.size();
  if (convolutions > kMostConvolutions) return std::nullopt;

  std::vector<Tensor> parts;
  SmallVector<int64_t> ones(spatial, 1);
  Size channels = n.size(w, 1) * n.size(t.group);
  if (bias) {
    if (bias.rank() != 1) n.error("the bias has rank {}; expected 1", bias.rank());
    n.requireEqual(n.size(bias, 0), channels, "the elements of the bias and the channels differ");
  }
  for (size_t k = 0; k < convolutions; ++k) {
    SmallVector<Phases> phases(spatial);
    size_t rest = k;
    for (size_t a = spatial; a-- > 0; rest /= axes[a].size())
      phases[a] = axes[a][rest % axes[a].size()];
    SmallVector<int64_t> pads(2 * spatial);
    for (size_t a = 0; a < spatial; ++a) {
      pads[a] = phases[a].taps - 1 - phases[a].shift;
      pads[spatial + a] = above[a] + phases[a].shift;
    }
    Tensor part = n.conv(x, phaseWeights(n, w, t, phases), ones, ones, pads, t.group);
    if (bias) {
      Tensor each = n.generate({n.size(part, 1)}, bias.dtype, [&](ArrayRef<Scalar> i) {
        return n.at(bias, {i[0] - i[0] / n.index(channels) * n.index(channels)});
      });
      part = withBias(n, part, each);
    }
    parts.push_back(part);
  }
  Tensor y = parts.size() == 1 ? parts[0] : n.concat(parts, 1);
  // [N, phases..., M, J...] to [N, M, (J, phase)...]
  std::vector<Size> split{in[0]}, merged{in[0], channels}, out = merged;
  std::vector<int64_t> order{0, static_cast<int64_t>(spatial) + 1};
  for (int64_t s : t.strides)
    split.push_back(n.size(s));
  split.push_back(channels);
  bool crops = false;
  for (size_t a = 0; a < spatial; ++a) {
    Size stride = n.size(t.strides[a]);
    split.push_back(n.size(y, a + 2));
    merged.push_back(n.size(y, a + 2) * stride);
    out.push_back((in[a + 2] - n.size(1)) * stride + n.size(t.kernel[a] + t.more[a]) -
                  t.padBegin[a] - t.padEnd[a]);
    crops |= (t.kernel[a] + t.more[a] - *t.padBegin[a].constant() - *t.padEnd[a].constant()) %
                 t.strides[a] !=
             0;
    order.push_back(static_cast<int64_t>(spatial + 2 + a));
    order.push_back(static_cast<int64_t>(1 + a));
  }
  y = n.reshape(n.transpose(n.reshape(y, split), order), merged);
  if (!crops) return y;
  return n.slice(y, std::vector<Size>(out.size(), n.size(0)), out);
}

// A convolution with the weights reversed, of the input with stride - 1 zeros between its elements.
// `pads` are those of the attribute where nothing is given.
static void convTranspose(NodeBuilder& n, Tensor x, Tensor w, Tensor bias,
                          std::optional<std::vector<Size>> given) {
  checkRanks(n, x, w);
  int64_t group = n.intAttr("group", 1);
  if (group < 1) n.error("'group' is {}", group);
  std::vector<Size> in = n.sizes(x);
  size_t spatial = in.size() - 2;
  Size c = n.size(x, 1), wc = n.size(w, 0);
  if (c.constant() && wc.constant() && *c.constant() != *wc.constant())
    n.error("the input has {} channels, and the weights are for {}", *c.constant(), *wc.constant());
  if (c.constant() && *c.constant() % group)
    n.error("'group' is {}, which does not divide the {} channels", group, *c.constant());
  std::vector<int64_t> kernel = kernelSizes(n, w);
  auto list = [&](StringRef name, size_t count, int64_t otherwise, int64_t least) {
    std::vector<int64_t> v = n.intsAttr(name, std::vector<int64_t>(count, otherwise));
    if (v.size() != count) n.error("'{}' has {} values; expected {}", name.str(), v.size(), count);
    for (int64_t e : v)
      if (e < least) n.error("'{}' holds {}", name.str(), e);
    return v;
  };
  std::vector<int64_t> strides = list("strides", spatial, 1, 1),
                       dilations = list("dilations", spatial, 1, 1);
  std::vector<int64_t> more = list("output_padding", spatial, 0, 0);
  std::vector<Size> pads;
  if (given)
    pads = *given;
  else
    for (int64_t p : list("pads", 2 * spatial, 0, 0))
      pads.push_back(n.size(p));
  if (pads.size() != 2 * spatial)
    n.error("there are {} pads; expected {}", pads.size(), 2 * spatial);
  std::string mode = n.stringAttr("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  std::vector<int64_t> wanted = n.intsAttr("output_shape", std::vector<int64_t>{});
  if (wanted.size() == spatial + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2); // some exporters add N and C
  if (!wanted.empty() && wanted.size() != spatial)
    n.error("'output_shape' has {} values; expected {}", wanted.size(), spatial);
  std::vector<Size> padBegin, padEnd;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    if (wanted.empty() && !same) {
      bool valid = mode == "VALID";
      padBegin.push_back(valid ? n.size(0) : pads[i]),
          padEnd.push_back(valid ? n.size(0) : pads[spatial + i]);
      continue;
    }
    Size full = (in[i + 2] - n.size(1)) * n.size(strides[i]) + n.size(more[i] + extent);
    Size total = wanted.empty() ? n.size(more[i] + extent - strides[i]) : full - n.size(wanted[i]);
    Size half = total / n.size(2); // rounded down, also when there is less than nothing to cut off
    padBegin.push_back(mode == "SAME_UPPER" ? half : total - half);
    padEnd.push_back(total - padBegin.back());
  }
  if (auto y = byPhases(n, x, w, bias,
                        Transposed{group, kernel, strides, dilations, more, padBegin, padEnd}))
    return n.output(0, *y);
  // Pads of the convolution; a negative one crops the result.
  std::vector<int64_t> convPads(2 * spatial, 0), ones(spatial, 1);
  std::vector<Size> begin(in.size(), n.size(0)), end = begin, cropBegin = begin, cropEnd = begin;
  bool crops = false;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t reach = (kernel[i] - 1) * dilations[i];
    auto place = [&](Size p, int64_t& constant, Size& dynamic, Size& crop) {
      if (!p.constant()) {
        crop = nonNegative(n.size(0) - p);
        dynamic = nonNegative(p);
        crops |= !crop.is(0);
      } else if (*p.constant() < 0)
        crop = n.size(-*p.constant()), crops = true;
      else
        constant = *p.constant();
    };
    place(n.size(reach) - padBegin[i], convPads[i], begin[i + 2], cropBegin[i + 2]);
    place(n.size(reach + more[i]) - padEnd[i], convPads[spatial + i], end[i + 2], cropEnd[i + 2]);
  }
  Tensor y = n.conv(padded(n, spread(n, x, strides), begin, end, 0), transposedWeights(n, w, group),
                    ones, dilations, convPads, group);
  if (crops) {
    std::vector<Size> sizes = n.sizes(y);
    for (size_t d = 2; d < sizes.size(); ++d)
      sizes[d] = nonNegative(sizes[d] - cropBegin[d] - cropEnd[d]);
    y = n.slice(y, cropBegin, sizes);
  }
  n.output(0, withBias(n, y, bias));
}

ORTC_ONNX_OP("ConvTranspose", since(1, 11, 22)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         bias = n.optionalInput(2, "B", oneOf({x.dtype}));
  convTranspose(n, x, w, bias, std::nullopt);
}
ORTC_ONNX_OP_IN("com.microsoft", "ConvTransposeWithDynamicPads", since(1)) {
  Tensor x = n.input(0, "X", floating), w = n.input(1, "W", oneOf({x.dtype})),
         pads = n.optionalInput(2, "Pads", oneOf({DType::I64})),
         bias = n.optionalInput(3, "B", oneOf({x.dtype}));
  std::optional<std::vector<Size>> sizes;
  if (pads) {
    sizes = n.asSizes(pads, "Pads");
    for (Size& p : *sizes) {
      n.requireNonNegative(p, "'Pads' holds a negative number");
      p = nonNegative(p); // so that the result is no larger than without
    }
  }
  convTranspose(n, x, w, bias, sizes);
}

// Words, rows of codes of characters, as vectors: each code's row of the table C, a convolution
// along the word, tanh, and the largest of all its windows. Codes that are not positive pad: as
// many leading codes count as there are positive ones, but never less than a window; a word that
// begins with padding is zeros.   [measured: ONNX Runtime 1.32]
ORTC_ONNX_OP_IN("com.microsoft", "WordConvEmbedding", since(1)) {
  Tensor words = n.input(0, "Sequence", oneOf({DType::I32})),
         w = n.input(1, "W", oneOf({DType::F32})), bias = n.input(2, "B", oneOf({DType::F32})),
         table = n.input(3, "C", oneOf({DType::F32}));
  if (words.rank() != 2 || w.rank() != 4 || table.rank() != 2)
    n.error("'Sequence' is {}, 'W' {} and 'C' {}; expected ranks 2, 4 and 2", n.typeText(words),
            n.typeText(w), n.typeText(table));
  Size count = n.size(words, 0), length = n.size(words, 1), window = n.size(w, 2);
  n.requireEqual(n.size(table, 1), n.size(w, 3), "the rows of 'C' and of 'W' differ");
  n.requireNonNegative(length - window, "the window of 'W' is longer than a word");
  auto attribute = [&](llvm::StringRef name, Size have) {
    if (int64_t v = n.intAttr(name, -1); v != -1)
      n.requireEqual(have, n.size(v), fmt::format("'{}' is not what 'W' has", name));
  };
  attribute("embedding_size", n.size(w, 0));
  attribute("conv_window_size", window);
  attribute("char_embedding_size", n.size(w, 3));
  n.requireIndices(words, n.size(table, 0), "Sequence", false);
  Tensor rows =
      n.generate({count, n.size(1), length, n.size(table, 1)}, DType::F32, [&](ArrayRef<Scalar> i) {
        Scalar code = n.at(words, {i[0], i[2]});
        return n.at(table, {safeIndex(n, code, n.size(table, 0)), i[3]});
      });
  Tensor y = n.map(withBias(n, convolution(n, rows, w, std::nullopt), bias),
                   [](Scalar v) { return tanh(v); });
  Tensor lengths =
      n.generateReduce(count, length, DType::I32, 0, [&](ArrayRef<Scalar> i, Scalar sum) {
        return sum + n.cast(n.at(words, i) > 0.0, DType::I32);
      });
  Tensor most = n.generateReduce({count, n.size(w, 0)}, n.size(y, 2), DType::F32, -INFINITY,
                                 [&](ArrayRef<Scalar> i, Scalar best) {
                                   Scalar end = n.toIndex(n.at(lengths, i[0])) - n.index(window);
                                   Scalar v = n.at(y, {i[0], i[1], i[2], n.index(0)});
                                   return select(i[2] <= max(end, 0.0), max(best, v), best);
                                 });
  n.output(0, n.generate({count, n.size(w, 0)}, DType::F32, [&](ArrayRef<Scalar> i) {
    return select(n.at(words, {i[0], n.index(0)}) > 0.0, n.at(most, i), 0.0);
  }));
}

} // namespace ortc::opdef
