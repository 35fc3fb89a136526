// SPDX-License-Identifier: Apache-2.0
// A kernel that reads a tensor only where it writes its result may write it there, when nobody
// needs the tensor any more: elementwise kernels, and contractions and convolutions that add a
// residual.
#include "compiler/plan/Places.h"

using namespace mlir;

namespace ortc {

/// Outer tensors by how the kernel reads them: at the element that it writes, or elsewhere.
static void readsOf(KernelOp kernel, llvm::SetVector<Value>& inPlace,
                    llvm::SetVector<Value>& elsewhere) {
  llvm::SetVector<Value> here, other;
  auto note = [&](Value v, bool identity) { (identity ? here : other).insert(v); };
  note(kernel.yielded()[0], true);
  for (Operation& op : llvm::reverse(kernel.block().without_terminator())) {
    if (op.getNumResults() == 0) continue;
    Value result = op.getResult(0);
    auto g = dyn_cast<linalg::GenericOp>(op);
    bool pointwise = here.contains(result) && !other.contains(result) && g &&
                     g.getNumReductionLoops() == 0 &&
                     g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity();
    if (g) {
      for (OpOperand* operand : g.getDpsInputOperands())
        note(operand->get(), pointwise && g.getMatchingIndexingMap(operand).isIdentity());
    } else {
      for (Value v : op.getOperands())
        note(v, false);
    }
    op.walk([&](Operation* inner) {
      if (inner == &op) return;
      for (Value v : inner->getOperands())
        if (isa<TensorType>(v.getType())) note(v, false);
    });
  }
  for (Value v : here)
    if (!other.contains(v)) inPlace.insert(v);
  elsewhere = other;
}

void Places::writeInPlace() {
  OpBuilder& b = builder();
  function.walk([&](KernelOp kernel) {
    if (kernel.getNumResults() != 1 || !isProgramBlock(kernel->getBlock())) return;
    Value result = kernel.getResult(0);
    auto it = places.find(result);
    if (it == places.end() || targets.count(result)) return;
    unsigned mine = it->second.buffer;
    if (buffers[mine].segment != "arena" || buffers[mine].last < 0) return;
    // A part of a buffer (a row that is put into a carried tensor) cannot take the whole along.
    if (buffers[mine].first < positions.lookup(kernel).first ||
        constantSize(it->second.offset) != 0)
      return;
    b.setInsertionPoint(start);
    auto known = [&](Value v, Sizes& out) {
      for (OpFoldResult s : getSizes(b, v)) {
        auto k = atStart(s);
        if (!k) return false;
        out.push_back(*k);
      }
      return true;
    };
    auto count = [&](ArrayRef<OpFoldResult> sizes) {
      OpFoldResult n = b.getIndexAttr(1);
      for (OpFoldResult s : sizes)
        n = mulSizes(b, kernel.getLoc(), n, s);
      return n;
    };
    Sizes size;
    if (!known(result, size) || !sameSize(count(buffers[mine].sizes), count(size))) return;
    llvm::SetVector<Value> inPlace, elsewhere;
    readsOf(kernel, inPlace, elsewhere);
    auto [begin, end] = positions.lookup(kernel);
    for (Value x : inPlace) {
      auto from = places.find(x);
      if (from == places.end() || x.getType() != result.getType()) continue;
      unsigned theirs = from->second.buffer;
      PlannedBuffer& old = buffers[theirs];
      if (theirs == mine || old.segment != "arena" || old.last != end || old.first >= begin ||
          constantSize(from->second.offset) != 0)
        continue;
      // Nothing else that the kernel reads lies in this buffer.
      bool alone = true;
      for (Value v : elsewhere)
        if (auto p = places.find(v); p != places.end()) alone &= p->second.buffer != theirs;
      Sizes theirSize;
      if (!alone || !known(x, theirSize) || !sameSizes(size, theirSize) ||
          !sameSize(count(old.sizes), count(size)) ||
          !sameSizes(from->second.strides, it->second.strides))
        continue;
      for (auto& [tensor, place] : places)
        if (place.buffer == mine) place.buffer = theirs;
      old.last = buffers[mine].last;
      buffers[mine].last = -1;
      buffers[mine].first = INT64_MAX;
      return;
    }
  });
}

} // namespace ortc
