// SPDX-License-Identifier: Apache-2.0
// Products of matrices: MatMul, Gemm, Einsum.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

ORTC_ONNX_OP("MatMul", since(1, 9, 13)) {
  Tensor a = n.input(0, "A", numeric), b = n.input(1, "B", oneOf({a.dtype}));
  n.output(0, n.matmul(a, b));
}

/// v * factor, in whatever type v has.
static Scalar scaled(NodeBuilder& n, Scalar v, double factor, DType type) {
  if (factor == 1) return v;
  if (isFloat(type)) return v * factor;
  return n.cast(n.cast(v, DType::F64) * factor, type);
}

Tensor gemm(NodeBuilder& n, Tensor a, Tensor b, Tensor c) {
  if (a.rank() != 2 || b.rank() != 2)
    n.error("'A' has rank {} and 'B' {}; expected 2", a.rank(), b.rank());
  double alpha = n.floatAttr("alpha", 1.0), beta = n.floatAttr("beta", 1.0);
  std::string equation = n.flagAttr("transA", false) ? "km," : "mk,";
  equation += n.flagAttr("transB", false) ? "nk->mn" : "kn->mn";
  Tensor y = n.contract(a, b, equation);
  std::vector<Size> shape = n.sizes(y);
  if (!c || beta == 0) {
    if (alpha != 1) y = n.map(y, [&](Scalar v) { return scaled(n, v, alpha, y.dtype); });
    return y;
  }
  if (c.rank() > 2) n.error("'C' has rank {}; expected at most 2", c.rank());
  std::vector<Size> from = n.sizes(c);
  for (size_t d = 0; d < from.size(); ++d) {
    Size want = shape[d + 2 - from.size()];
    if (from[d].constant() && want.constant() && !from[d].is(1) &&
        *from[d].constant() != *want.constant())
      n.error("'C' is {}, which does not broadcast to {}", n.typeText(c), n.typeText(y));
  }
  return n.map(y, c, [&](Scalar v, Scalar w) {
    return scaled(n, v, alpha, y.dtype) + scaled(n, w, beta, y.dtype);
  });
}

// Before opset 7 C only broadcast when 'broadcast' was set; since 11 it may be absent.
ORTC_ONNX_OP("Gemm", since(1, 6, 7, 9, 11, 13)) {
  Tensor a = n.input(0, "A", numeric), b = n.input(1, "B", oneOf({a.dtype}));
  Tensor c =
      n.opset < 11 ? n.input(2, "C", oneOf({a.dtype})) : n.optionalInput(2, "C", oneOf({a.dtype}));
  n.output(0, gemm(n, a, b, c));
}

// ---- Einsum ----

namespace {
/// An operand with one letter per dim.
struct Labelled {
  Tensor t;
  std::string letters;
};
} // namespace

/// Sums over the letters that are not in `keep`.
static Labelled summed(NodeBuilder& n, Labelled x, StringRef keep) {
  std::vector<int64_t> axes;
  std::string left;
  for (auto [d, c] : llvm::enumerate(x.letters))
    if (keep.contains(c))
      left += c;
    else
      axes.push_back(d);
  if (axes.empty()) return x;
  return {n.reduce(x.t, axes, false, 0, [](Scalar c, Scalar v) { return c + v; }), left};
}

/// A letter that stands twice in one operand means its diagonal.
static Labelled withoutRepeats(NodeBuilder& n, Labelled x) {
  std::string unique;
  for (char c : x.letters)
    if (!StringRef(unique).contains(c)) unique += c;
  if (unique.size() == x.letters.size()) return x;
  std::vector<Size> in = n.sizes(x.t), shape;
  for (char c : unique)
    shape.push_back(in[x.letters.find(c)]);
  Tensor t = n.generate(shape, x.t.dtype, [&](ArrayRef<Scalar> i) {
    SmallVector<Scalar> at;
    for (char c : x.letters)
      at.push_back(i[unique.find(c)]);
    return n.at(x.t, at);
  });
  return {t, unique};
}

ORTC_ONNX_OP("Einsum", since(12, 28)) {
  std::string equation;
  for (char c : n.stringAttr("equation"))
    if (c != ' ') equation += c;
  size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow),
              out = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
  SmallVector<StringRef> terms;
  StringRef(left).split(terms, ',');
  if (terms.size() != n.numInputs())
    n.error("'equation' has {} terms for {} inputs", terms.size(), n.numInputs());
  // The dims that an ellipsis stands for get letters of their own, counted from the right: they
  // broadcast.
  auto ellipsisLetter = [](int64_t fromRight) { return static_cast<char>(1 + fromRight); };
  int64_t widest = 0;
  std::vector<Labelled> xs;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Tensor t = n.input(i, "Inputs", numeric);
    size_t dots = term.find("...");
    std::string letters = term.str();
    int64_t named = letters.size() - (dots == StringRef::npos ? 0 : 3), hidden = t.rank() - named;
    if (hidden < 0 || (hidden > 0 && dots == StringRef::npos))
      n.error("term {} of 'equation' is '{}', but that input has rank {}", i, letters, t.rank());
    if (dots != StringRef::npos) {
      std::string ellipsis;
      for (int64_t d = hidden; d-- > 0;)
        ellipsis += ellipsisLetter(d);
      letters.replace(dots, 3, ellipsis);
      widest = std::max(widest, hidden);
    }
    for (char c : letters)
      if (!isalpha(static_cast<unsigned char>(c)) && c > widest)
        n.error("'equation' holds '{}'", c);
    xs.push_back({t, letters});
  }
  std::string everywhere;
  for (int64_t d = widest; d-- > 0;)
    everywhere += ellipsisLetter(d);
  if (arrow == std::string::npos) { // letters that occur once, in order of the alphabet
    std::map<char, int> count;
    for (StringRef term : terms)
      for (char c : term)
        ++count[c];
    out = everywhere;
    for (auto [c, times] : count)
      if (times == 1 && c != '.') out += c;
  } else if (size_t dots = out.find("..."); dots != std::string::npos)
    out.replace(dots, 3, everywhere);
  // The size of each letter; dims of size 1 are dropped from their operand, and come back at the
  // end.
  std::map<char, Size> extent;
  for (Labelled& x : xs)
    for (auto [d, c] : llvm::enumerate(x.letters)) {
      Size s = n.size(x.t, d);
      auto [it, isNew] = extent.emplace(c, s);
      if (isNew || s.is(1)) continue;
      if (it->second.is(1))
        it->second = s;
      else if (s.constant() && it->second.constant() && *s.constant() != *it->second.constant())
        n.error("'{}' is {} and {}", c, *it->second.constant(), *s.constant());
      else if (c < 'A' && !same(it->second, s)) // of an ellipsis: either may be 1
        it->second = s.constant()            ? s
                     : it->second.constant() ? it->second
                                             : n.broadcastSize(it->second, s);
      else if (s.constant())
        it->second = s;
    }
  for (Labelled& x : xs) { // a free size of an ellipsis that may be 1 is repeated
    std::vector<Size> have = n.sizes(x.t), want = have;
    bool all = true;
    for (auto [d, c] : llvm::enumerate(x.letters))
      if (c < 'A' && !have[d].is(1) && !same(have[d], extent[c])) want[d] = extent[c], all = false;
    if (!all) x.t = n.broadcastTo(x.t, want);
  }
  for (char c : out)
    if (!extent.count(c)) n.error("the result of 'equation' has '{}', which no term has", c);
  for (Labelled& x : xs) {
    x = withoutRepeats(n, x);
    std::string kept;
    std::vector<Size> shape;
    for (auto [d, c] : llvm::enumerate(x.letters)) {
      Size s = n.size(x.t, d);
      if (s.is(1)) continue;
      kept += c;
      shape.push_back(s);
    }
    x = {n.reshape(x.t, shape), kept};
  }
  // From left to right, two at a time; what nobody needs later is summed at once.
  Labelled r = xs[0];
  for (size_t i = 0; i < xs.size(); ++i) {
    std::string later = out;
    for (size_t j = i + 1; j < xs.size(); ++j)
      later += xs[j].letters;
    if (i == 0) {
      r = summed(n, r, later);
      continue;
    }
    Labelled y = summed(n, xs[i], later + r.letters);
    std::string both;
    for (char c : r.letters + y.letters)
      if (StringRef(later).contains(c) && !StringRef(both).contains(c)) both += c;
    if (i + 1 == xs.size()) { // the last product writes the result's order
      both.clear();
      for (char c : out)
        if (StringRef(r.letters + y.letters).contains(c)) both += c;
    }
    r = {n.contract(r.t, y.t, r.letters + "," + y.letters + "->" + both), both};
  }
  std::vector<int64_t> order;
  std::vector<Size> shape;
  for (char c : out) {
    if (size_t at = r.letters.find(c); at != std::string::npos) order.push_back(at);
    shape.push_back(extent[c]);
  }
  n.output(0, n.reshape(n.transpose(r.t, order), shape));
}

} // namespace ortc::opdef
