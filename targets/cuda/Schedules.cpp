// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/Schedules.h"
#include "targets/common/catalogue/Contraction.h"
#include "targets/cuda/Conv.h"
#include "targets/cuda/Tiles.h"

using namespace mlir;

namespace ortc::cuda {
namespace {

/// Rows of fewer elements are done by one thread each: a warp would be idle for the most part.
constexpr double kShortRow = 32;
/// So many sums keep a device busy with a thread for each, even if neighbours in memory are read by
/// one thread after the other; an eighth of them does where neighbouring threads read neighbours.
constexpr double kManyOutputs = 32768;
/// Sums of fewer terms are not worth a warp.
constexpr double kShortSum = 64;

double usualCount(ArrayRef<OpFoldResult> sizes) {
  double n = 1;
  for (OpFoldResult s : sizes)
    n *= usual(s, 64);
  return n;
}

/// Terms of the sums of a generic: the extents of its loops that the result does not have.
double termsOf(linalg::GenericOp g, OpBuilder& b) {
  AffineMap out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  double terms = 1;
  for (unsigned l = 0; l < g.getNumLoops(); ++l) {
    if (out.isFunctionOfDim(l)) continue;
    for (OpOperand& operand : g->getOpOperands()) {
      AffineMap map = g.getMatchingIndexingMap(&operand);
      auto it = llvm::find(map.getResults(), getAffineDimExpr(l, b.getContext()));
      if (it == map.getResults().end()) continue;
      auto d = static_cast<int64_t>(it - map.getResults().begin());
      terms *= usual(getSize(b, operand.get(), d), 512);
      break;
    }
  }
  return terms;
}

/// Does the innermost of the summed loops run along the last dim of what is read?
bool sumsNeighbours(linalg::GenericOp g) {
  AffineMap out = g.getMatchingIndexingMap(g.getDpsInitOperand(0));
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    if (map.getNumResults() == 0) continue;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (last && !out.isFunctionOfDim(last.getPosition())) return true;
  }
  return false;
}

/// Threads for a row of so many elements: about four elements each, whole warps.
int64_t threadsFor(double elements) {
  return elements <= 256 ? 32 : elements <= 1024 ? 128 : 256;
}

} // namespace

Schedule schedule(KernelOp kernel) {
  Schedule everyElement{/*parallelLoops=*/-1};
  OpBuilder b(kernel);
  Value root = kernel.yielded()[0];
  Sizes sizes = getSizes(b, root);
  double terms = 1; // of the longest sum
  for (Operation& op : kernel.block().without_terminator())
    if (auto g = dyn_cast<linalg::GenericOp>(op); g && g.getNumReductionLoops())
      terms = std::max(terms, termsOf(g, b));

  if (auto rows = kernel->getAttrOfType<IntegerAttr>("ortc.rows")) {
    Schedule s;
    auto k = static_cast<size_t>(rows.getInt());
    for (OpFoldResult size : ArrayRef(sizes).take_front(k))
      s.parallelLoops += constantSize(size) != 1;
    double length = std::max(terms, usualCount(ArrayRef(sizes).drop_front(k)));
    if (length >= kShortRow || s.parallelLoops == 0) s.rowThreads = threadsFor(length);
    return s;
  }

  // A sum for each element: shared by a warp or a block where neighbouring threads would read far
  // apart, or where there are too few elements to keep a device busy.
  auto reduction = root.getDefiningOp<linalg::GenericOp>();
  double outputs = usualCount(sizes);
  bool neighbours = false;
  if (reduction && reduction.getNumReductionLoops()) {
    neighbours = sumsNeighbours(reduction);
  } else {
    for (Operation& op : kernel.block().without_terminator())
      if (auto contract = dyn_cast<ContractOp>(op)) {
        auto loops =
            catalogue::matrixLoops(contract, b, catalogue::denseStrides(b, contract.getLhs()),
                                   catalogue::denseStrides(b, contract.getRhs()),
                                   catalogue::denseStrides(b, contract.getInit()));
        if (!loops || loops->inner.empty()) continue;
        // A vector times a matrix whose rows are the sums.
        if (constantSize(loops->inner.back().b) != 1) continue;
        neighbours = true;
        terms = usual(catalogue::extentOf(b, loops->inner), 256);
      }
    if (!neighbours) return everyElement;
  }
  if (terms < kShortSum || outputs >= (neighbours ? kManyOutputs : kManyOutputs / 8))
    return everyElement;
  Schedule s{/*parallelLoops=*/-1};
  s.rowThreads = threadsFor(terms);
  return s;
}

double loopsCost(KernelOp kernel, const Device& device) {
  OpBuilder b(kernel);
  if (auto micros = convLoopsMicros(kernel, device)) return *micros;
  double bytes = 0, micros = 0;
  auto add = [&](Value v) {
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      bytes += usualCount(getSizes(b, v)) *
               (type.getElementType().isIntOrFloat()
                    ? (type.getElementType().getIntOrFloatBitWidth() + 7) / 8
                    : 8);
  };
  for (Value v : kernel.capturedTensors())
    add(v);
  for (Value v : kernel.yielded())
    add(v);
  for (Operation& op : kernel.block())
    if (auto contract = dyn_cast<ContractOp>(op)) {
      double terms = 1;
      for (unsigned l : contract.reductionLoops()) {
        auto [operand, dim] = contract.extentOf(l);
        terms *= usual(getSize(b, operand ? contract.getRhs() : contract.getLhs(), dim), 256);
      }
      Schedule s = schedule(kernel);
      double outputs = usualCount(getSizes(b, contract.getResult()));
      ProductSizes product{outputs, 1, terms, 1};
      // Terms that a row's threads share are waited for together.
      if (s.rowThreads)
        product = {outputs * static_cast<double>(s.rowThreads), 1,
                   terms / static_cast<double>(s.rowThreads), 1};
      micros += loopsMicros(device, product);
    }
  return std::max(micros, bytes / device.bytesPerMicro);
}

} // namespace ortc::cuda
