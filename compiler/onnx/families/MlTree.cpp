// SPDX-License-Identifier: Apache-2.0
// Tree ensembles: the attributes of three operators in two encodings become the tables of
// ortc.tree_ensemble, checked here, so that walking them always ends inside of them. What is done
// with the sums is ordinary tensor IR.
#include "compiler/onnx/families/Ml.h"
#include <set>

using namespace mlir;

namespace ortc::opdef {

namespace {

struct TreeNode {
  int64_t feature = 0, mode = 0;
  double threshold = 0;
  int64_t yes = 0, no = 0; ///< a node, or -1 - leaf
};
struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;                                  ///< a node, or -1 - leaf
  std::vector<std::vector<std::pair<int64_t, double>>> leaves; ///< target, weight
  int64_t targets = 1;
  DType compareType = DType::F32, sumType = DType::F32;
};

} // namespace

static int64_t modeOf(NodeBuilder& n, StringRef name) {
  static const StringRef names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const StringRef* it = llvm::find(names, name);
  if (it == std::end(names)) n.error("'nodes_modes' holds '{}', which is no mode", name.str());
  return it - std::begin(names);
}

/// No node is below itself: then every walk ends in a leaf. (Subtrees may be shared, as exporters
/// of categorical splits do.)
static void checkTrees(NodeBuilder& n, const Forest& f) {
  enum : char { Unseen, Open, Done };
  std::vector<char> state(f.nodes.size(), Unseen);
  for (int64_t root : f.roots) {
    std::vector<int64_t> path{root};
    while (!path.empty()) {
      int64_t at = path.back();
      if (at < 0 || state[at] == Done) {
        path.pop_back();
        continue;
      }
      if (state[at] == Open) { // both subtrees are finished
        state[at] = Done;
        path.pop_back();
        continue;
      }
      state[at] = Open;
      for (int64_t child : {f.nodes[at].yes, f.nodes[at].no}) {
        if (child >= 0 && state[child] == Open)
          n.error("node {} is below itself: the nodes form no trees", child);
        path.push_back(child);
      }
    }
  }
}

/// The targets that the leaves of a tree have weights for.
static std::set<int64_t> targetsOf(const Forest& f, int64_t root) {
  std::set<int64_t> targets, seen;
  std::vector<int64_t> todo{root};
  while (!todo.empty()) {
    int64_t at = todo.back();
    todo.pop_back();
    if (!seen.insert(at).second) continue;
    if (at < 0)
      for (auto [t, w] : f.leaves[-1 - at])
        targets.insert(t);
    else
      todo.push_back(f.nodes[at].yes), todo.push_back(f.nodes[at].no);
  }
  return targets;
}

/// The op for [N, F] rows: what each target's leaves fold to, [N, targets].
static Tensor buildForest(NodeBuilder& n, Tensor x, const Forest& f, StringRef aggregate) {
  checkTrees(n, f);
  x = rows(n, x, f.compareType);
  int64_t features = 1;
  for (const TreeNode& t : f.nodes) {
    if (t.feature < 0) n.error("a feature is {}", t.feature);
    features = std::max(features, t.feature + 1);
  }
  Size have = n.size(x, 1);
  if (have.constant() && *have.constant() < features)
    n.error("the trees read feature {} of an input with {}", features - 1, *have.constant());
  if (!have.constant() &&
      indexRange(have.v).first < features) // at least so many columns, whatever comes
    x = n.generate({n.size(x, 0), n.size(features)}, x.dtype,
                   [&](ArrayRef<Scalar> i) { return n.at(x, {i[0], safeIndex(n, i[1], have)}); });
  // Trees per target, in order.
  std::vector<std::vector<int64_t>> perTarget(f.targets);
  for (int64_t root : f.roots) {
    std::set<int64_t> targets = targetsOf(f, root);
    for (int64_t t : targets) {
      if (t < 0 || t >= f.targets) n.error("a leaf has target {} of {}", t, f.targets);
      perTarget[t].push_back(root);
    }
  }
  std::vector<int64_t> feature, mode, yes, no, roots, rootBegin{0}, leafBegin{0}, targets;
  std::vector<double> thresholds, weights;
  std::optional<int64_t> uniform;
  bool mixed = false;
  for (const TreeNode& t : f.nodes) {
    feature.push_back(t.feature), mode.push_back(t.mode), yes.push_back(t.yes), no.push_back(t.no),
        thresholds.push_back(t.threshold);
    mixed |= uniform && *uniform != t.mode;
    uniform = t.mode;
  }
  for (auto& list : perTarget) {
    roots.insert(roots.end(), list.begin(), list.end());
    rootBegin.push_back(roots.size());
  }
  for (auto& leaf : f.leaves) {
    for (auto [t, w] : leaf)
      targets.push_back(t), weights.push_back(w);
    leafBegin.push_back(targets.size());
  }
  Value init = n.empty({n.size(x, 0), n.size(f.targets)}, n.typeOf(f.sumType));
  auto table = [&](ArrayRef<int64_t> v, DType t = DType::I32) { return n.ints(v, t).value; };
  auto op = n.b.create<TreeEnsembleOp>(
      n.loc, init.getType(), x.value, table(feature),
      floats(n, thresholds, static_cast<int64_t>(thresholds.size()), f.compareType).value,
      table(mode, DType::I8), table(yes), table(no), table(roots), table(rootBegin),
      table(leafBegin), table(targets),
      floats(n, weights, static_cast<int64_t>(weights.size()), f.sumType).value, init,
      n.b.getStringAttr(aggregate),
      mixed || !uniform ? IntegerAttr() : n.b.getI64IntegerAttr(*uniform));
  return {op.getResult(), f.sumType};
}

/// An attribute of floats, or its twin of doubles.
static std::optional<std::vector<double>> floatsOrTensor(NodeBuilder& n, StringRef name,
                                                         bool& isDouble) {
  if (n.hasAttr(name)) return doubles(n.floatsAttr(name));
  std::string twin = (name + "_as_tensor").str();
  if (!n.hasAttr(twin)) return std::nullopt;
  auto t = n.constantTensor(n.constant(n.tensorAttr(twin)));
  isDouble |= t->elementType.isF64();
  std::vector<double> r;
  for (int64_t i = 0; i < t->size(); ++i)
    r.push_back(t->getDouble(i));
  return r;
}

namespace {
/// One pass over the attributes of versions 1 and 3.
struct OldForest {
  Forest forest;
  std::vector<double> base;
  std::set<int64_t> usedTargets;
  bool allPositive = true;
};
} // namespace

static OldForest readOldForest(NodeBuilder& n, DType input,
                               StringRef prefix /* class or target */) {
  OldForest r;
  bool isDouble = input == DType::F64;
  auto treeIds = n.intsAttr("nodes_treeids"), nodeIds = n.intsAttr("nodes_nodeids"),
       feature = n.intsAttr("nodes_featureids"), yes = n.intsAttr("nodes_truenodeids"),
       no = n.intsAttr("nodes_falsenodeids");
  auto modes = n.stringsAttr("nodes_modes");
  auto values = floatsOrTensor(n, "nodes_values", isDouble);
  if (!values) n.error("required attribute 'nodes_values' is missing");
  size_t count = treeIds.size();
  auto missing = n.intsAttr("nodes_missing_value_tracks_true", std::vector<int64_t>(count, 0));
  if (missing.empty()) missing.assign(count, 0);
  for (size_t s : {nodeIds.size(), feature.size(), yes.size(), no.size(), modes.size(),
                   values->size(), missing.size()})
    if (s != count)
      n.error("attributes 'nodes_*' have {} and {} values; they must be equally many", count, s);
  std::string p = prefix.str();
  auto leafTrees = n.intsAttr(p + "_treeids"), leafNodes = n.intsAttr(p + "_nodeids"),
       leafTargets = n.intsAttr(p + "_ids");
  auto weights = floatsOrTensor(n, p + "_weights", isDouble);
  if (!weights) n.error("required attribute '{}_weights' is missing", p);
  for (size_t s : {leafNodes.size(), leafTargets.size(), weights->size()})
    if (s != leafTrees.size())
      n.error("attributes '{}_*' have {} and {} values; they must be equally many", p,
              leafTrees.size(), s);
  auto base = floatsOrTensor(n, "base_values", isDouble);
  if (base) r.base = *base;
  Forest& f = r.forest;
  f.compareType = f.sumType = isDouble ? DType::F64 : DType::F32;
  // Places: nodes and leaves by (tree, id).
  std::map<std::pair<int64_t, int64_t>, int64_t> place;
  std::vector<size_t> inner;
  for (size_t i = 0; i < count; ++i) {
    bool leaf = modes[i] == "LEAF";
    int64_t at;
    if (leaf)
      at = -1 - static_cast<int64_t>(f.leaves.size()), f.leaves.emplace_back();
    else
      at = inner.size(), inner.push_back(i);
    if (!place.emplace(std::pair(treeIds[i], nodeIds[i]), at).second)
      n.error("tree {} has two nodes with id {}", treeIds[i], nodeIds[i]);
  }
  std::set<std::pair<int64_t, int64_t>> children;
  for (size_t i : inner) {
    TreeNode t;
    t.feature = feature[i], t.threshold = (*values)[i],
    t.mode = modeOf(n, modes[i]) | (missing[i] ? int64_t{TreeEnsembleOp::NanIsYes} : 0);
    for (auto [id, to] : {std::pair(yes[i], &t.yes), std::pair(no[i], &t.no)}) {
      auto it = place.find({treeIds[i], id});
      if (it == place.end())
        n.error("node {} of tree {} has child {}, which is not there", nodeIds[i], treeIds[i], id);
      *to = it->second;
      children.insert(it->first);
    }
    f.nodes.push_back(t);
  }
  for (size_t i = 0; i < leafTrees.size(); ++i) {
    auto it = place.find({leafTrees[i], leafNodes[i]});
    if (it == place.end() || it->second >= 0)
      n.error("a weight is for node {} of tree {}, which is no leaf", leafNodes[i], leafTrees[i]);
    f.leaves[-1 - it->second].push_back({leafTargets[i], (*weights)[i]});
    r.usedTargets.insert(leafTargets[i]);
    r.allPositive &= (*weights)[i] >= 0;
  }
  for (size_t i = 0; i < count; ++i)
    if (std::pair key(treeIds[i], nodeIds[i]); !children.count(key)) f.roots.push_back(place[key]);
  return r;
}

static std::string aggregateOf(NodeBuilder& n, StringRef name) {
  if (name == "SUM" || name == "AVERAGE") return "sum";
  if (name == "MIN" || name == "MAX") return name.lower();
  n.error("'aggregate_function' is '{}'; expected AVERAGE, SUM, MIN or MAX", name.str());
}

/// Averages, and no infinities where a target has no leaf.
static Tensor finished(NodeBuilder& n, Tensor y, StringRef aggregate, int64_t trees) {
  if (aggregate == "AVERAGE")
    return n.map(y, [&](Scalar v) { return v / static_cast<double>(std::max<int64_t>(trees, 1)); });
  if (aggregate == "SUM") return y;
  return n.map(y, [&](Scalar v) {
    return select(equal(v, aggregate == "MIN" ? INFINITY : -INFINITY), 0.0, v);
  });
}
static Tensor plusBase(NodeBuilder& n, Tensor y, ArrayRef<double> base) {
  if (base.empty()) return y;
  Size targets = n.size(y, 1);
  if (base.size() != 1 && !targets.is(base.size()))
    n.error("there are {} base values for {} targets", base.size(), *targets.constant());
  return n.map(y, floats(n, base, static_cast<int64_t>(base.size()), y.dtype),
               [](Scalar v, Scalar w) { return v + w; });
}

ORTC_ONNX_OP_IN("ai.onnx.ml", "TreeEnsembleRegressor", since(1, 3, 5)) {
  Tensor x = n.input(0, "X", numeric);
  OldForest r = readOldForest(n, x.dtype, "target");
  r.forest.targets = n.intAttr("n_targets", 1);
  // With one target a leaf has one weight: of several, the first counts (as ONNX Runtime has it,
  // and exporters of decision paths rely on).
  if (r.forest.targets == 1)
    for (auto& leaf : r.forest.leaves)
      if (leaf.size() > 1) leaf.resize(1);
  std::string aggregate = n.stringAttr("aggregate_function", "SUM");
  Tensor y = finished(n, buildForest(n, x, r.forest, aggregateOf(n, aggregate)), aggregate,
                      r.forest.roots.size());
  y = n.castTo(plusBase(n, y, r.base), DType::F32);
  n.output(0, transformScores(n, y, postTransform(n)));
}

// Two classes with weights for only one of them are told apart by the sign of that score, or by one
// half when no weight is negative.
ORTC_ONNX_OP_IN("ai.onnx.ml", "TreeEnsembleClassifier", since(1, 3, 5)) {
  Tensor x = n.input(0, "X", numeric);
  OldForest r = readOldForest(n, x.dtype, "class");
  Labels labels = readLabels(n, "classlabels_int64s", "classlabels_strings");
  if (!labels.count) n.error("has no class labels");
  PostTransform post = postTransform(n);
  r.forest.targets = labels.count;
  Tensor sums = buildForest(n, x, r.forest, "sum");
  bool oneOfTwo = labels.count <= 2 && r.usedTargets.size() == 1;
  if (!oneOfTwo) {
    Tensor scores = plusBase(
        n, sums,
        r.base.size() == 1 && labels.count == 2 ? std::vector<double>{r.base[0], 0} : r.base);
    Tensor compared = scores;
    if (r.base.empty() && static_cast<int64_t>(r.usedTargets.size()) < labels.count) {
      // a class that no leaf votes for cannot win
      std::vector<double> votes(labels.count, -INFINITY);
      for (int64_t t : r.usedTargets)
        votes[t] = 0;
      compared = n.map(scores, floats(n, votes, labels.count, scores.dtype),
                       [](Scalar v, Scalar w) { return v + w; });
    }
    n.output(0, labelsAt(n, labels, argMaxRows(n, compared)));
    return n.output(1, transformScores(n, n.castTo(scores, DType::F32), post));
  }
  int64_t used = *r.usedTargets.begin();
  Tensor score = n.slice(sums, {n.size(0), n.size(used)}, {n.size(sums, 0), n.size(1)});
  // One base value is for the first class, even when only the second has weights.
  double base = r.base.size() > static_cast<size_t>(used) ? r.base[used] : 0;
  if (base != 0) score = n.map(score, [&](Scalar v) { return v + base; });
  double limit = r.allPositive ? 0.5 : 0;
  Tensor positive = n.generate(n.size(score, 0), DType::I64, [&](ArrayRef<Scalar> i) {
    return n.cast(n.at(score, {i[0], n.index(0)}) > limit, DType::I64);
  });
  if (labels.count == 1) positive = n.map(positive, [](Scalar v) { return v * 0.0; });
  n.output(0, labelsAt(n, labels, positive));
  score = n.castTo(score, DType::F32);
  if (labels.count == 1) return n.output(1, transformScores(n, score, post));
  if (used == 0 && r.base.size() < 2) return n.output(1, asPair(n, score, !r.allPositive, post));
  // Otherwise the other class has a column of its own, of zeros.
  Tensor pair = n.generate({n.size(score, 0), n.size(2)}, DType::F32, [&](ArrayRef<Scalar> i) {
    return select(equal(i[1], static_cast<double>(used)), n.at(score, {i[0], n.index(0)}), 0.0);
  });
  n.output(1, transformScores(n, pair, post));
}

// Version 5: one list of inner nodes, one of leaves with a target and a weight each. A test for
// membership becomes a chain of tests for equality.
ORTC_ONNX_OP_IN("ai.onnx.ml", "TreeEnsemble", since(5)) {
  Tensor x = n.input(0, "X", floating);
  Forest f;
  f.targets = n.intAttr("n_targets");
  f.compareType = f.sumType = wideType(x.dtype);
  auto values = [&](StringRef name) {
    std::vector<double> r;
    auto t = n.constantTensor(n.constant(n.tensorAttr(name)));
    for (int64_t i = 0; i < t->size(); ++i)
      r.push_back(t->getDouble(i));
    return r;
  };
  auto feature = n.intsAttr("nodes_featureids"), yes = n.intsAttr("nodes_truenodeids"),
       no = n.intsAttr("nodes_falsenodeids"), yesIsLeaf = n.intsAttr("nodes_trueleafs"),
       noIsLeaf = n.intsAttr("nodes_falseleafs"), leafTargets = n.intsAttr("leaf_targetids");
  std::vector<double> splits = values("nodes_splits"), weights = values("leaf_weights"), members;
  if (n.hasAttr("membership_values")) members = values("membership_values");
  auto modeTensor = n.constantTensor(n.constant(n.tensorAttr("nodes_modes")));
  size_t count = feature.size();
  auto missing = n.intsAttr("nodes_missing_value_tracks_true", std::vector<int64_t>(count, 0));
  if (missing.empty()) missing.assign(count, 0);
  for (size_t s : {yes.size(), no.size(), yesIsLeaf.size(), noIsLeaf.size(), splits.size(),
                   missing.size(), static_cast<size_t>(modeTensor->size())})
    if (s != count)
      n.error("attributes 'nodes_*' have {} and {} values; they must be equally many", count, s);
  if (weights.size() != leafTargets.size())
    n.error("there are {} leaf weights and {} targets", weights.size(), leafTargets.size());
  for (auto [t, w] : llvm::zip(leafTargets, weights))
    f.leaves.push_back({{t, w}});
  f.nodes.resize(count);
  size_t nextMember = 0;
  for (size_t i = 0; i < count; ++i) {
    auto child = [&](int64_t at, int64_t isLeaf) {
      size_t limit = isLeaf ? weights.size() : count;
      if (at < 0 || at >= static_cast<int64_t>(limit))
        n.error("node {} has child {} of {}", i, at, limit);
      return isLeaf ? -1 - at : at;
    };
    int64_t mode = modeTensor->getInt(i, true),
            nan = missing[i] ? int64_t{TreeEnsembleOp::NanIsYes} : 0;
    TreeNode t{feature[i], mode, splits[i], child(yes[i], yesIsLeaf[i]), child(no[i], noIsLeaf[i])};
    if (mode < 0 || mode > 6) n.error("'nodes_modes' holds {}", mode);
    if (mode != 6) {
      t.mode |= nan;
      f.nodes[i] = t;
      continue;
    }
    std::vector<double> set;
    while (nextMember < members.size() && !std::isnan(members[nextMember]))
      set.push_back(members[nextMember++]);
    ++nextMember;
    t.mode = TreeEnsembleOp::Equal;
    if (set.empty()) { // nothing is a member: never equal
      t.threshold = std::nan("");
      t.mode |= nan;
      f.nodes[i] = t;
      continue;
    }
    int64_t at = i;
    for (size_t k = 0; k < set.size(); ++k) {
      TreeNode link = t;
      link.threshold = set[k];
      link.mode |= k == 0 ? nan : 0;
      bool last = k + 1 == set.size();
      if (!last) link.no = f.nodes.size();
      f.nodes[at] = link;
      if (!last) at = f.nodes.size(), f.nodes.emplace_back();
    }
  }
  for (int64_t root : n.intsAttr("tree_roots")) {
    if (root < 0 || root >= static_cast<int64_t>(count)) n.error("'tree_roots' holds {}", root);
    f.roots.push_back(root);
  }
  static const char* const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  int64_t aggregate = n.intAttr("aggregate_function", 1), post = n.intAttr("post_transform", 0);
  if (aggregate < 0 || aggregate > 3) n.error("'aggregate_function' is {}", aggregate);
  if (post < 0 || post > 4) n.error("'post_transform' is {}", post);
  Tensor y = finished(n, buildForest(n, x, f, aggregateOf(n, aggregates[aggregate])),
                      aggregates[aggregate], f.roots.size());
  n.output(0, n.castTo(transformScores(n, y, static_cast<PostTransform>(post), true), x.dtype));
}

} // namespace ortc::opdef
