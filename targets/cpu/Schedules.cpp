// SPDX-License-Identifier: Apache-2.0
#include "targets/cpu/Schedules.h"
#include <cmath>

using namespace mlir;

namespace ortc::cpu {

/// Scalar operations of a kernel, roughly; sizes that are not known count as 64.
static double operations(KernelOp kernel) {
  double total = 0;
  OpBuilder b(kernel);
  auto count = [&](Value v) {
    double n = 1;
    for (OpFoldResult s : getSizes(b, v))
      n *= static_cast<double>(constantSize(s).value_or(64));
    return n;
  };
  for (Operation& op : kernel.block().without_terminator()) {
    if (auto c = dyn_cast<ContractOp>(op)) {
      double n = count(c.getResult());
      for (unsigned l : c.reductionLoops()) {
        auto [operand, dim] = c.extentOf(l);
        n *= static_cast<double>(
            constantSize(getSize(b, operand ? c.getRhs() : c.getLhs(), dim)).value_or(64));
      }
      total += 2 * n;
    } else if (auto conv = dyn_cast<ConvOp>(op)) {
      total +=
          2 * count(conv.getResult()) * count(conv.getWeights()) /
          std::max<double>(
              1, static_cast<double>(constantSize(getSize(b, conv.getWeights(), 0)).value_or(64)));
    } else if (auto g = dyn_cast<linalg::GenericOp>(op)) {
      double points = count(g.getResult(0));
      if (g.getNumReductionLoops() && !g.getInputs().empty())
        points = std::max(points,
                          count(g.getInputs()[0]) *
                              (isa<RankedTensorType>(g.getInputs()[0].getType()) &&
                                       getElementTypeOrSelf(g.getInputs()[0].getType()).isInteger(1)
                                   ? points
                                   : 1));
      unsigned work = 1;
      g.getRegion().walk([&](Operation* inner) {
        work += inner->getDialect()->getNamespace() == "math" ? 12 : 1;
      });
      total += points * work;
    } else if (auto trees = dyn_cast<TreeEnsembleOp>(op)) {
      // Each target walks its trees; a step waits for loads and a branch that is hard to predict.
      const double perTarget =
                       count(trees.getRoots()) / std::max(1.0, count(trees.getRootBegin()) - 1),
                   nodes = count(trees.getFeatures()) / std::max(1.0, count(trees.getRoots()));
      total += count(op.getResult(0)) * perTarget * (std::log2(nodes + 1) + 1) * 25;
    } else if (op.getNumResults() && isa<RankedTensorType>(op.getResult(0).getType())) {
      total += count(op.getResult(0));
    }
  }
  return total;
}

Schedule schedule(KernelOp kernel, const Processor& processor) {
  Schedule s;
  s.vectorLanes = processor.vectorBytes / 4;
  // Waking the workers and the barrier cost as much as some ten thousand operations.
  if (operations(kernel) < 50000) return s;
  // Outer loops until there is enough to share; the innermost one stays whole for vectors.
  OpBuilder b(kernel);
  Value root = kernel.getResult(0);
  Sizes sizes = getSizes(b, root);
  double tasks = 1;
  size_t last = sizes.empty() ? 0 : sizes.size() - 1;
  // Sums that serve a whole row would be computed again for each part of it.
  if (auto rows = kernel->getAttrOfType<IntegerAttr>("ortc.rows"))
    last = std::min(last, static_cast<size_t>(rows.getInt()));
  for (size_t d = 0; d < last && tasks < 64; ++d) {
    auto c = constantSize(sizes[d]);
    if (c == 1) continue;
    tasks *= static_cast<double>(c.value_or(8));
    ++s.parallelLoops;
  }
  if (s.parallelLoops == 0 && sizes.size() == 1 && constantSize(sizes[0]).value_or(64) > 1)
    s.parallelLoops = 0;
  return s;
}

double loopsCost(KernelOp kernel, const Processor& processor) {
  // Loops reach about a tenth of what a catalogue kernel does where sums dominate.
  return operations(kernel) / (processor.gigaflops / 10) / 1e3;
}

} // namespace ortc::cpu
