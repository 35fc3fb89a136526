// SPDX-License-Identifier: Apache-2.0
// Tree ensembles in f32 whose nodes all compare in one way, and whose weights are summed:
// kernels/trees.
#include "compiler/ops/AllOps.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/trees/pack.h"

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

/// A kernel that is nothing but such an ensemble.
TreeEnsembleOp treesOf(KernelOp kernel) {
  TreeEnsembleOp found;
  for (Operation& op : kernel.block().without_terminator())
    if (op.getNumResults() && isa<TensorType>(op.getResult(0).getType()) &&
        !isa<tensor::EmptyOp, arith::ConstantOp>(op)) {
      auto trees = dyn_cast<TreeEnsembleOp>(op);
      if (found || !trees) return {};
      found = trees;
    }
  if (!found || kernel.yielded().size() != 1 || kernel.yielded()[0] != found.getResult() ||
      found.getAggregate() != "sum" || !found.getUniformMode() ||
      !getElementTypeOrSelf(found.getInput().getType()).isF32() ||
      !getElementTypeOrSelf(found.getResult().getType()).isF32())
    return {};
  for (Value v : found->getOperands().slice(1, 10))
    if (!v.getDefiningOp<arith::ConstantOp>()) return {};
  return found;
}

/// All trees once, in an order that is that of each target's list: the kernel adds what a tree
/// gives to all targets. Nothing where the lists contradict each other.
std::optional<SmallVector<int32_t>> orderOf(TreeEnsembleOp op) {
  HostTensor roots = *constantOf(op.getRoots()), begins = *constantOf(op.getRootBegin());
  const auto *root = roots.as<int32_t>(), *begin = begins.as<int32_t>();
  const int64_t targets = begins.size() - 1;
  SmallVector<int32_t> at(begin, begin + targets), order;
  DenseMap<int32_t, int64_t> left; // in how many lists a tree is
  for (int64_t t = 0; t < targets; ++t) {
    DenseSet<int32_t> seen;
    for (int32_t i = begin[t]; i < begin[t + 1]; ++i) {
      if (!seen.insert(root[i]).second) return std::nullopt; // twice in one
      ++left[root[i]];
    }
  }
  for (int64_t done = 0; done < roots.size();) {
    bool moved = false;
    for (int64_t t = 0; t < targets; ++t) {
      if (at[t] == begin[t + 1]) continue;
      const int32_t next = root[at[t]];
      int64_t first = 0;
      for (int64_t u = 0; u < targets; ++u)
        first += at[u] < begin[u + 1] && root[at[u]] == next;
      if (first != left[next]) continue;
      for (int64_t u = 0; u < targets; ++u)
        if (at[u] < begin[u + 1] && root[at[u]] == next) ++at[u], ++done;
      order.push_back(next);
      moved = true;
    }
    if (!moved) return std::nullopt;
  }
  return order;
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  TreeEnsembleOp op = treesOf(kernel);
  if (!op) return;
  auto order = orderOf(op);
  if (!order) return;
  OpBuilder b(kernel);
  // A walk is some eight steps of three cycles.
  const double batch = static_cast<double>(constantSize(getSize(b, op.getInput(), 0)).value_or(64));
  rows.push_back({"trees_f32", batch * static_cast<double>(order->size()) * 8 * 3 / 3e3,
                  b.getDictionaryAttr({})});
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  TreeEnsembleOp op = treesOf(kernel);
  OpBuilder ob(kernel);
  Sizes xs = strides(op.getInput()), ys = strides(kernel.getResult(0)),
        in = getSizes(ob, op.getInput()), out = getSizes(ob, op.getInit());
  auto dense = [](const Sizes& pitches, const Sizes& sizes) {
    return constantSize(pitches[1]) == 1 &&
           (pitches[0] == sizes[1] || constantSize(sizes[0]) == 1 ||
            (constantSize(pitches[0]) && constantSize(pitches[0]) == constantSize(sizes[1])));
  };
  if (!dense(xs, in) || !dense(ys, out)) return LoweredKernel();

  HostTensor features = *constantOf(op.getFeatures()), thresholds = *constantOf(op.getThresholds()),
             yes = *constantOf(op.getYes()), no = *constantOf(op.getNo()),
             leaves = *constantOf(op.getLeafBegin());
  const int64_t inner = features.size(), leafCount = leaves.size() - 1;
  HostTensor nodes(features.elementType, {4 * (inner + leafCount)});
  packTrees(features.as<int32_t>(), thresholds.as<float>(), yes.as<int32_t>(), no.as<int32_t>(),
            inner, leafCount, nodes.as<int32_t>());
  SmallVector<int32_t> order = *orderOf(op);
  HostTensor roots(features.elementType, {static_cast<int64_t>(order.size())});
  for (auto [i, root] : llvm::enumerate(order))
    roots.as<int32_t>()[i] = root >= 0 ? root : static_cast<int32_t>(inner - 1 - root);

  auto constant = [&](const HostTensor& t, Value from) -> Value {
    return ob.create<arith::ConstantOp>(from.getLoc(), toAttribute(t, "trees"));
  };
  Value nodeTable = constant(nodes, op.getThresholds()), rootTable = constant(roots, op.getRoots());
  // Tables that hold one number only (all leaves are of target 0) have no place until now.
  KernelWriter writer(kernel, module, [&](Value v) {
    return v.getDefiningOp<arith::ConstantOp>() ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  static const char* const modes[] = {"LessEqual", "Less",  "GreaterEqual",
                                      "Greater",   "Equal", "NotEqual"};
  const auto mode = static_cast<int64_t>(*op.getUniformMode());
  TemplateCall call(writer, "trees_f32", "TreeArgs");
  call.parameter("Mode", StringRef(std::string("TreeMode::") + modes[mode & 7]));
  call.parameter("NanTrue", StringRef(mode & TreeEnsembleOp::NanIsYes ? "true" : "false"));
  call.buffer("x", writer.place(op.getInput()).buffer);
  call.buffer("nodes", writer.place(nodeTable).buffer);
  call.buffer("roots", writer.place(rootTable).buffer);
  call.buffer("leafBegin", writer.place(op.getLeafBegin()).buffer);
  call.buffer("leafTargets", writer.place(op.getTargets()).buffer);
  call.buffer("leafWeights", writer.place(op.getWeights()).buffer);
  call.buffer("y", writer.result(0).buffer);
  call.size("rows", out[0]);
  call.size("features", in[1]);
  call.size("targets", out[1]);
  call.size("trees", static_cast<int64_t>(order.size()));
  call.size("inner", inner);
  call.finish(kernel, op.getResult(), 1);
  return writer.finish();
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"trees_"}, .candidates = candidates, .write = write});

} // namespace
} // namespace ortc::cpu
