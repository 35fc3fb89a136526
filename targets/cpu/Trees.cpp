// SPDX-License-Identifier: Apache-2.0
// Sums of decision trees: kernels/trees.
#include "targets/cpu/kernels/trees/trees.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/trees/pack.h"
#include <cmath>

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

/// A kernel's trees as the template takes them.
struct Trees {
  TreeEnsembleOp op;
  PackedTrees packed;
  bool oneWeight;
  bool wide; // links of 64 bits
};

/// Roots of all targets, in an order that is that of each target; none when theirs contradict each
/// other.
std::optional<std::vector<int32_t>> mergedOrder(const HostTensor& roots, const HostTensor& begins) {
  std::vector<int32_t> order;
  for (int64_t t = 0; t + 1 < begins.size(); ++t) {
    auto next = order.begin(); // behind the target's last root
    for (int64_t i = begins.getInt(t); i < begins.getInt(t + 1); ++i) {
      const auto root = static_cast<int32_t>(roots.getInt(i));
      auto found = std::find(next, order.end(), root);
      if (found == order.end()) {
        if (std::find(order.begin(), next, root) != next) return std::nullopt;
        found = order.insert(next, root);
      }
      next = found + 1;
    }
  }
  return order;
}

/// Nodes ask for an order, and targets see trees in the same order.
std::optional<Trees> treesOf(KernelOp kernel) {
  TreeEnsembleOp op;
  for (Operation& other : kernel.block().without_terminator()) {
    if (op || !isa<TreeEnsembleOp>(other)) return std::nullopt;
    op = cast<TreeEnsembleOp>(other);
  }
  if (!op || op.getAggregate() != "sum") return std::nullopt;
  auto isFloat = [](Value v) {
    Type t = getElementTypeOrSelf(v.getType());
    return t.isF32() || t.isF64();
  };
  if (!isFloat(op.getInput()) || !isFloat(op.getResult())) return std::nullopt;
  // The operands between the input and the init are tables.
  SmallVector<HostTensor> tables;
  for (Value v : op->getOperands().slice(1, 10)) {
    auto table = constantOf(v);
    if (!table) return std::nullopt;
    tables.push_back(std::move(*table));
  }
  const HostTensor &features = tables[0], &thresholds = tables[1], &modes = tables[2],
                   &yes = tables[3], &no = tables[4], &roots = tables[5], &leafBegin = tables[7],
                   &targets = tables[8];
  Trees t{op, {}, false, false};
  const int64_t count = features.size();
  std::vector<PlainNode> nodes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t mode = op.getUniformMode() ? static_cast<int64_t>(*op.getUniformMode())
                                             : modes.getInt(i, true),
                  kind = mode & ~int64_t{TreeEnsembleOp::NanIsYes};
    if (kind > TreeEnsembleOp::Greater || std::isnan(thresholds.getDouble(i))) return std::nullopt;
    nodes.push_back({static_cast<Compare>(kind), mode != kind,
                     static_cast<int32_t>(features.getInt(i)), thresholds.getDouble(i),
                     static_cast<int32_t>(yes.getInt(i)), static_cast<int32_t>(no.getInt(i))});
  }

  auto order = mergedOrder(roots, tables[6]);
  if (!order) return std::nullopt;
  // One target, and a weight for it in each leaf, which fits in place of a threshold.
  const bool isDouble = getElementTypeOrSelf(op.getInput().getType()).isF64();
  t.oneWeight = tables[6].size() == 2 && targets.size() + 1 == leafBegin.size() &&
                (isDouble || getElementTypeOrSelf(op.getResult().getType()).isF32());
  for (int64_t i = 0; t.oneWeight && i < leafBegin.size(); ++i)
    t.oneWeight = leafBegin.getInt(i) == i;
  std::vector<double> weights;
  for (int64_t i = 0; t.oneWeight && i < tables[9].size(); ++i)
    weights.push_back(tables[9].getDouble(i));
  const size_t most = 8 * static_cast<size_t>(count + leafBegin.size()) + 8 * order->size();
  auto pack = [&](auto in, auto link) {
    t.packed = {};
    return TreePacker<decltype(in), decltype(link)>(nodes, weights, most).pack(*order, t.packed);
  };
  t.wide = isDouble || !pack(float(), uint32_t());
  if (isDouble ? !pack(double(), uint64_t()) : t.wide && !pack(float(), uint64_t()))
    return std::nullopt;
  // The keys of eight rows.
  if (t.packed.keys.size() * (isDouble ? 8 : 4) * ortc_rt::kWalks > ortc_rt::kTreeKeyBytes)
    return std::nullopt;
  return t;
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  auto t = treesOf(kernel);
  if (!t) return;
  OpBuilder b(kernel);
  const auto count = static_cast<double>(constantSize(getSize(b, t->op.getInit(), 0)).value_or(64));
  // A step takes two or three cycles, when eight walks share them.
  const double micros =
      count * static_cast<double>(t->packed.steps) * 2.5 * 16 / machine.processor.gigaflops / 1e3 +
      0.05;
  rows.push_back({fmt::format("trees_{}", t->oneWeight ? "one" : "many"), micros, {}});
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto t = treesOf(kernel);
  OpBuilder ob(kernel);
  TreeEnsembleOp op = t->op;
  Sizes xs = strides(op.getInput()), ys = strides(kernel.getResult(0));
  OpFoldResult targetCount = getSize(ob, op.getInit(), 1);
  if (constantSize(xs[1]) != 1 || (constantSize(ys[1]) != 1 && constantSize(targetCount) != 1))
    return LoweredKernel();
  // All tables stand in the function beside the originals, which are left without use: these may be
  // written out where they are read (splats), and have no place then.
  SmallVector<Value> made;
  auto table = [&](const HostTensor& tensor) {
    made.push_back(ob.create<arith::ConstantOp>(op.getLoc(), toAttribute(tensor, "packed")));
    return made.back();
  };
  HostTensor nodeBytes(ob.getI8Type(), {static_cast<int64_t>(t->packed.nodes.size())}),
      rootPairs(ob.getI32Type(), {static_cast<int64_t>(t->packed.roots.size())}),
      keyNumbers(ob.getI32Type(), {static_cast<int64_t>(t->packed.keys.size())});
  llvm::copy(t->packed.nodes, nodeBytes.as<int8_t>());
  llvm::copy(t->packed.roots, rootPairs.as<int32_t>());
  llvm::copy(t->packed.keys, keyNumbers.as<int32_t>());
  Value nodes = table(nodeBytes), roots = table(rootPairs), keys = table(keyNumbers), leafBegin,
        targets, weights;
  if (!t->oneWeight) {
    leafBegin = table(*constantOf(op.getLeafBegin()));
    targets = table(*constantOf(op.getTargets()));
    weights = table(*constantOf(op.getWeights()));
  }
  KernelWriter writer(kernel, module, [&](Value v) {
    return llvm::is_contained(made, v) ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  auto name = [](Value v) {
    return getElementTypeOrSelf(v.getType()).isF64() ? "double" : "float";
  };
  TemplateCall call(writer, "trees",
                    fmt::format("TreesArgs<{}, {}>", name(op.getInput()), name(op.getResult())));
  call.parameter("OneWeight", StringRef(t->oneWeight ? "true" : "false"));
  call.parameter("Link", StringRef(t->wide ? "uint64_t" : "uint32_t"));
  call.buffer("x", writer.place(op.getInput()).buffer);
  call.buffer("keys", writer.place(keys).buffer);
  call.buffer("nodes", writer.place(nodes).buffer);
  call.buffer("roots", writer.place(roots).buffer);
  if (!t->oneWeight) {
    call.buffer("leafBegin", writer.place(leafBegin).buffer);
    call.buffer("targets", writer.place(targets).buffer);
    call.buffer("weights", writer.place(weights).buffer);
  }
  call.buffer("y", writer.result(0).buffer);
  call.size("xRow", xs[0]);
  call.size("yRow", ys[0]);
  call.size("rows", getSize(ob, op.getInit(), 0));
  call.size("keyCount", static_cast<int64_t>(t->packed.keys.size()));
  call.size("trees", static_cast<int64_t>(t->packed.roots.size() / 2));
  call.size("targetCount", targetCount);
  call.size("steps", t->packed.steps);
  call.finish(kernel, op.getResult(), 1);
  return writer.finish();
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"trees_"}, .candidates = candidates, .write = write});

} // namespace
} // namespace ortc::cpu
