// SPDX-License-Identifier: Apache-2.0
// Support vector machines. Probabilities of classes are coupled from those of pairs as LIBSVM does
// [Wu, Lin, Weng 2004, second method]; where the operators' texts are silent, results are those of
// ONNX Runtime.
#include "compiler/onnx/families/Ml.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};
} // namespace

static Kernel readKernel(NodeBuilder& n) {
  Kernel k;
  k.type = n.stringAttr("kernel_type", "LINEAR");
  if (k.type != "LINEAR" && k.type != "POLY" && k.type != "RBF" && k.type != "SIGMOID")
    n.error("'kernel_type' is '{}'; expected LINEAR, POLY, RBF or SIGMOID", k.type);
  auto p = n.floatsAttr("kernel_params", std::vector<float>{});
  if (!p.empty() && p.size() != 3)
    n.error("'kernel_params' has {} values; expected gamma, coef0, degree", p.size());
  if (!p.empty()) k.gamma = p[0], k.coef0 = p[1], k.degree = p[2];
  return k;
}

/// kernel(x[n], vectors[v]): [N, V]
static Tensor kernelMatrix(NodeBuilder& n, const Kernel& k, Tensor x, Tensor vectors) {
  Size features = n.size(vectors, 1), have = n.size(x, 1);
  if (have.constant() && !same(have, features))
    n.error("the input has {} features, and the support vectors {}", *have.constant(),
            *features.constant());
  if (k.type == "RBF") {
    Tensor distance =
        n.generateReduce({n.size(x, 0), n.size(vectors, 0)}, features, DType::F32, 0,
                         [&](ArrayRef<Scalar> i, Scalar sum) {
                           Scalar f = have.constant() ? i[2] : safeIndex(n, i[2], have);
                           Scalar d = n.at(x, {i[0], f}) - n.at(vectors, {i[1], i[2]});
                           return sum + d * d;
                         });
    return n.map(distance, [&](Scalar d) { return exp(d * -k.gamma); });
  }
  Tensor dot = n.contract(x, vectors, "nf,vf->nv");
  if (k.type == "LINEAR") return dot;
  return n.map(dot, [&](Scalar d) {
    Scalar v = d * k.gamma + k.coef0;
    if (k.type == "SIGMOID") return tanh(v);
    if (k.degree == 1) return v;
    if (k.degree == 2) return v * v;
    if (k.degree == 3) return v * v * v;
    return pow(v, k.degree);
  });
}

static Tensor supportVectors(NodeBuilder& n, int64_t count) {
  auto v = n.floatsAttr("support_vectors");
  if (count < 1 || v.size() % count)
    n.error("'support_vectors' has {} values for {} vectors", v.size(), count);
  return floats(n, doubles(v), {count, static_cast<int64_t>(v.size()) / count});
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "SVMRegressor", since(1)) {
  Tensor x = rows(n, n.input(0, "X", numeric), DType::F32);
  Kernel k = readKernel(n);
  auto coefficients = n.floatsAttr("coefficients"), rho = n.floatsAttr("rho");
  if (rho.empty()) n.error("'rho' is empty");
  int64_t vectors = n.intAttr("n_supports", 0);
  bool oneClass = n.flagAttr("one_class", false);
  Tensor s;
  if (vectors > 0) {
    if (static_cast<int64_t>(coefficients.size()) != vectors)
      n.error("there are {} coefficients for {} support vectors", coefficients.size(), vectors);
    s = n.contract(kernelMatrix(n, k, x, supportVectors(n, vectors)),
                   floats(n, doubles(coefficients), {1, vectors}), "nv,cv->nc");
  } else {
    k.type = "LINEAR";
    s = kernelMatrix(
        n, k, x, floats(n, doubles(coefficients), {1, static_cast<int64_t>(coefficients.size())}));
  }
  s = n.map(s, [&](Scalar v) {
    Scalar y = v + static_cast<double>(rho[0]);
    return oneClass ? select(y > 0.0, n.literal(1, y), -1.0) : y;
  });
  n.output(0, s);
}

/// The probabilities of classes from the scores of pairs, [N, E] to [N, C].
static Tensor coupledProbabilities(NodeBuilder& n, Tensor scores, int64_t classes,
                                   ArrayRef<float> a, ArrayRef<float> b) {
  OpBuilder& ob = n.b;
  Location loc = n.loc;
  const int64_t C = classes;
  return n.generate({n.size(scores, 0), n.size(C)}, DType::F32, [&](ArrayRef<Scalar> at) {
    auto number = [&](double v) { return n.literal(v, ob.getF32Type()); };
    // r[i][j]: the probability of i against j
    std::vector<std::vector<Scalar>> r(C, std::vector<Scalar>(C)), Q = r;
    for (int64_t i = 0, e = 0; i < C; ++i)
      for (int64_t j = i + 1; j < C; ++j, ++e) {
        Scalar v = n.at(scores, {at[0], n.index(e)}) * static_cast<double>(a[e]) +
                   static_cast<double>(b[e]);
        r[i][j] = clamp(1.0 - sigmoid(v), 1e-7, 1 - 1e-7);
        r[j][i] = 1.0 - r[i][j];
      }
    for (int64_t i = 0; i < C; ++i) {
      Q[i][i] = number(0);
      for (int64_t j = 0; j < C; ++j) {
        if (j == i) continue;
        Q[i][i] = Q[i][i] + r[j][i] * r[j][i];
        Q[i][j] = j < i ? Q[j][i] : -(r[j][i] * r[i][j]);
      }
    }
    // Minimises p' Q p over probabilities: at most 100 sweeps, until Q p is nearly constant.
    SmallVector<Value> inits(C, number(1.0 / static_cast<double>(C)).v);
    inits.push_back(n.index(0).v);
    SmallVector<Type> types(C, ob.getF32Type()), passed(2 * C + 1, ob.getF32Type());
    types.push_back(ob.getIndexType());
    passed.push_back(ob.getIndexType());
    auto loop = ob.create<scf::WhileOp>(loc, TypeRange(passed), ValueRange(inits));
    auto scalars = [&](ValueRange values) {
      SmallVector<Scalar> s;
      for (Value v : values)
        s.push_back({&n, v, false});
      return s;
    };
    {
      OpBuilder::InsertionGuard guard(ob);
      Block* before =
          ob.createBlock(&loop.getBefore(), {}, types, SmallVector<Location>(types.size(), loc));
      SmallVector<Scalar> p = scalars(before->getArguments().take_front(C)), Qp(C);
      Scalar pQp = number(0), worst = number(0);
      for (int64_t i = 0; i < C; ++i) {
        Qp[i] = number(0);
        for (int64_t j = 0; j < C; ++j)
          Qp[i] = Qp[i] + Q[i][j] * p[j];
        pQp = pQp + p[i] * Qp[i];
      }
      for (int64_t i = 0; i < C; ++i)
        worst = max(worst, abs(Qp[i] - pQp));
      Scalar count{&n, before->getArgument(C), false};
      Scalar more =
          bitAnd(count < 100.0, worst >= static_cast<double>(0.005f / static_cast<float>(C)));
      SmallVector<Value> out(before->getArguments().take_front(C));
      for (Scalar s : Qp)
        out.push_back(s.v);
      out.push_back(pQp.v), out.push_back(count.v);
      ob.create<scf::ConditionOp>(loc, more.v, out);
      Block* after =
          ob.createBlock(&loop.getAfter(), {}, passed, SmallVector<Location>(passed.size(), loc));
      SmallVector<Scalar> all = scalars(after->getArguments());
      p.assign(all.begin(), all.begin() + C), Qp.assign(all.begin() + C, all.begin() + 2 * C);
      pQp = all[2 * C];
      for (int64_t i = 0; i < C; ++i) {
        Scalar diff = (pQp - Qp[i]) / Q[i][i], scale = 1.0 / (1.0 + diff);
        p[i] = p[i] + diff;
        pQp = (pQp + diff * (diff * Q[i][i] + 2.0 * Qp[i])) * scale * scale;
        for (int64_t j = 0; j < C; ++j) {
          Qp[j] = (Qp[j] + diff * Q[i][j]) * scale;
          p[j] = p[j] * scale;
        }
      }
      SmallVector<Value> next;
      for (Scalar s : p)
        next.push_back(s.v);
      next.push_back((all[2 * C + 1] + 1.0).v);
      ob.create<scf::YieldOp>(loc, next);
    }
    Scalar result{&n, loop.getResult(0), false};
    for (int64_t c = 1; c < C; ++c)
      result = select(equal(at[1], static_cast<double>(c)), Scalar{&n, loop.getResult(c), false},
                      result);
    return result;
  });
}

/// Each pair of classes votes for one of them; the first class with the most votes: i64 [N].
static Tensor mostVotes(NodeBuilder& n, Tensor scores, int64_t classes) {
  return n.generate(n.size(scores, 0), DType::I64, [&](ArrayRef<Scalar> at) {
    std::vector<Scalar> votes(classes, n.index(0));
    for (int64_t i = 0, e = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j, ++e) {
        Scalar first = n.at(scores, {at[0], n.index(e)}) > 0.0, one = n.index(1), none = n.index(0);
        votes[i] = votes[i] + select(first, one, none);
        votes[j] = votes[j] + select(first, none, one);
      }
    Scalar best = votes[0], winner = n.index(0);
    for (int64_t c = 1; c < classes; ++c) {
      Scalar better = votes[c] > best;
      best = select(better, votes[c], best);
      winner = select(better, n.index(c), winner);
    }
    return n.fromIndex(winner, DType::I64);
  });
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "SVMClassifier", since(1)) {
  Tensor x = rows(n, n.input(0, "X", numeric), DType::F32);
  Kernel k = readKernel(n);
  PostTransform post = postTransform(n);
  Labels labels = readLabels(n, "classlabels_ints", "classlabels_strings");
  auto perClass = n.intsAttr("vectors_per_class", std::vector<int64_t>{});
  auto coefficients = n.floatsAttr("coefficients"), rho = n.floatsAttr("rho"),
       probA = n.floatsAttr("prob_a", std::vector<float>{}),
       probB = n.floatsAttr("prob_b", std::vector<float>{});
  if (rho.empty()) n.error("'rho' is empty");
  int64_t vectors = 0, classes = std::max<int64_t>(labels.count, 1);
  for (int64_t v : perClass) {
    if (v < 0) n.error("'vectors_per_class' holds {}", v);
    vectors += v;
  }
  bool allPositive = llvm::all_of(coefficients, [](float v) { return v >= 0; });
  Tensor scores, winner;
  if (vectors > 0) {
    classes = perClass.size();
    int64_t pairs = classes * (classes - 1) / 2;
    if (labels.count && labels.count != classes)
      n.error("there are {} labels for {} classes", labels.count, classes);
    if (static_cast<int64_t>(rho.size()) != pairs || pairs == 0)
      n.error("'rho' has {} values for {} pairs of classes", rho.size(), pairs);
    if (static_cast<int64_t>(coefficients.size()) != (classes - 1) * vectors)
      n.error("there are {} coefficients; expected {}", coefficients.size(),
              (classes - 1) * vectors);
    // The sum of pair (i, j) takes the vectors of both classes: one matrix [V, pairs], made here.
    std::vector<double> matrix(vectors * pairs, 0);
    std::vector<int64_t> start{0};
    for (int64_t v : perClass)
      start.push_back(start.back() + v);
    for (int64_t i = 0, e = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j, ++e) {
        for (int64_t v = start[i]; v < start[i + 1]; ++v)
          matrix[v * pairs + e] = coefficients[(j - 1) * vectors + v];
        for (int64_t v = start[j]; v < start[j + 1]; ++v)
          matrix[v * pairs + e] = coefficients[i * vectors + v];
      }
    Tensor kernels = kernelMatrix(n, k, x, supportVectors(n, vectors));
    scores = n.contract(kernels, floats(n, matrix, {vectors, pairs}), "nv,ve->ne");
    scores =
        n.map(scores, floats(n, doubles(rho), {pairs}), [](Scalar v, Scalar w) { return v + w; });
    if (!probA.empty()) {
      if (static_cast<int64_t>(probA.size()) != pairs ||
          static_cast<int64_t>(probB.size()) != pairs)
        n.error("'prob_a' and 'prob_b' have {} and {} values for {} pairs of classes", probA.size(),
                probB.size(), pairs);
      if (classes > 32)
        n.error("probabilities of {} classes are not supported; the limit is 32", classes);
      winner = mostVotes(n, scores, classes); // not the most probable, as LIBSVM has it
      scores = coupledProbabilities(n, scores, classes, probA, probB);
    } else
      winner = mostVotes(n, scores, classes);
  } else {
    k.type = "LINEAR";
    if (coefficients.size() % classes)
      n.error("{} coefficients do not fit {} classes", coefficients.size(), classes);
    scores = kernelMatrix(n, k, x,
                          floats(n, doubles(coefficients),
                                 {classes, static_cast<int64_t>(coefficients.size()) / classes}));
    scores = n.map(scores, [&](Scalar v) { return v + static_cast<double>(rho[0]); });
    winner = argMaxRows(n, scores);
  }
  bool oneScore = n.size(scores, 1).is(1);
  if (!labels.count) // no labels: 1 or 0 by the sign of the largest score
    winner =
        n.map(n.reduce(scores, 1, false, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); }),
              DType::I64, [&](Scalar v) { return n.cast(v > 0.0, DType::I64); });
  else if (vectors == 0 && labels.count == 2 && rho.size() == 1) {
    // A large enough score means the second class, whichever has it.
    Tensor top =
        n.reduce(scores, 1, false, -INFINITY, [](Scalar c, Scalar v) { return max(c, v); });
    winner = n.map({top, winner}, DType::I64, [&](ArrayRef<Scalar> v) {
      Scalar large = allPositive ? v[0] >= 0.5 : v[0] > 0.0;
      return select(large, n.literal(1, v[1]), v[1]);
    });
  }
  n.output(0, labelsAt(n, labels, winner));
  if (!oneScore) return n.output(1, transformScores(n, scores, post));
  if (labels.count != 2) return n.output(1, transformScores(n, scores, post));
  n.output(1, asPair(n, scores, post == PostTransform::None, post));
}

} // namespace ortc::opdef
