// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/LateBuffers.h"
#include "compiler/plan/Arena.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;

namespace ortc {
namespace {

/// Where the last of what some sizes are computed from becomes known, and the buffers of such
/// sizes.
struct Epoch {
  Operation* root = nullptr; // or an argument of a block:
  Block* block = nullptr;
  SmallVector<PlannedBuffer*> buffers;
  Operation* at = nullptr; // what is computed for the epoch stands before it
  OpFoldResult end;        // of its memory
};

class LateBuffers {
public:
  LateBuffers(func::FuncOp main, OpFoldResult base, int64_t alignment)
      : main(main), b(main.getContext()), base(base), alignment(alignment) {}

  void add(PlannedBuffer& buffer) {
    Operation* root = nullptr;
    Block* block = nullptr;
    llvm::DenseSet<Value> seen;
    for (OpFoldResult s : buffer.sizes)
      if (auto v = dyn_cast<Value>(s)) findRoot(v, root, block, seen);
    for (Epoch& e : epochs)
      if (e.root == root && e.block == block) return e.buffers.push_back(&buffer);
    epochs.push_back({root, block, {&buffer}, nullptr, {}});
  }

  void place() {
    for (Epoch& e : epochs) {
      // Before the first of its buffers is made; checks of the sizes stand before that already.
      Block* home = e.root ? e.root->getBlock() : e.block;
      for (PlannedBuffer* buffer : e.buffers) {
        Operation* at = home->findAncestorOpInBlock(*buffer->madeLate);
        if (!e.at || at->isBeforeInBlock(e.at)) e.at = at;
      }
    }
    DominanceInfo dominance(main);
    // Each after all that come before it; places in different branches have no order.
    std::vector<Epoch*> placed;
    while (placed.size() < epochs.size())
      for (Epoch& e : epochs) {
        if (e.end) continue;
        bool ready = llvm::all_of(epochs, [&](const Epoch& o) {
          return o.end || &o == &e || !comesBefore(o, e, dominance);
        });
        if (!ready) continue;
        OpFoldResult start = base;
        for (Epoch* p : placed)
          if (comesBefore(*p, e, dominance)) start = p->end;
        placeEpoch(e, start, dominance);
        placed.push_back(&e);
      }
  }

private:
  func::FuncOp main;
  OpBuilder b;
  OpFoldResult base;
  int64_t alignment;
  std::vector<Epoch> epochs;

  bool comesBefore(const Epoch& x, const Epoch& y, DominanceInfo& dominance) {
    if (x.at == y.at) return &x < &y;
    return dominance.properlyDominates(x.at, y.at);
  }

  static bool isArithmetic(Operation* op) {
    return op->getNumRegions() == 0 && isPure(op) &&
           llvm::all_of(op->getOperandTypes(), [](Type t) { return t.isIntOrIndexOrFloat(); });
  }

  /// Of all that a size is computed from: the place that is reached last. All of them dominate the
  /// buffer, so one comes after the others.
  void findRoot(Value v, Operation*& root, Block*& block, llvm::DenseSet<Value>& seen) {
    if (!seen.insert(v).second) return;
    Operation* op = v.getDefiningOp();
    if (op && (isa<DimOp>(op) || op->hasTrait<OpTrait::ConstantLike>())) return;
    if (op && isArithmetic(op)) {
      for (Value operand : op->getOperands())
        findRoot(operand, root, block, seen);
      return;
    }
    Block* mine = op ? op->getBlock() : v.getParentBlock();
    Block* last = root ? root->getBlock() : block;
    bool later = true;
    if (last == mine)
      later = op && (!root || root->isBeforeInBlock(op));
    else if (last)
      later = last->findAncestorOpInBlock(*mine->getParentOp()) != nullptr;
    if (later) root = op, block = mine;
  }

  void placeEpoch(Epoch& e, OpFoldResult start, DominanceInfo& dominance) {
    DenseMap<Value, Value> copies; // of arithmetic that stands later
    b.setInsertionPoint(e.at);
    Location loc = e.at->getLoc();
    std::vector<ArenaRequest> requests;
    std::vector<OpFoldResult> bytes;
    for (PlannedBuffer* buffer : e.buffers) {
      for (OpFoldResult& s : buffer->sizes)
        if (auto v = dyn_cast<Value>(s))
          s = computedAgain(
              b, v, [&](Value x) { return dominance.properlyDominates(x, e.at); }, copies);
      checkCount(*buffer, loc);
      OpFoldResult n = b.getIndexAttr(elementBytes(buffer->elementType));
      for (OpFoldResult s : buffer->sizes)
        n = mulSizes(b, loc, n, s);
      bytes.push_back(n);
      requests.push_back({0, buffer->first, buffer->last});
    }
    std::vector<int64_t> slot;
    int64_t count = assignSlots(requests, slot);
    std::vector<OpFoldResult> sizes(count, b.getIndexAttr(0)), offsets;
    for (size_t i = 0; i < requests.size(); ++i)
      sizes[slot[i]] = maxSizes(b, loc, sizes[slot[i]], bytes[i]);
    OpFoldResult unit = b.getIndexAttr(alignment);
    for (OpFoldResult s : sizes) {
      offsets.push_back(start);
      start = addSizes(b, loc, start, mulSizes(b, loc, ceilDivSizes(b, loc, s, unit), unit));
    }
    for (auto [i, buffer] : llvm::enumerate(e.buffers))
      buffer->byteOffset = offsets[slot[i]];
    b.create<RequireArenaOp>(loc, sizeValue(b, loc, start), /*late=*/true);
    e.end = start;
  }

  /// Data may say anything: the bytes must not overflow. The product of floats does not.
  void checkCount(const PlannedBuffer& buffer, Location loc) {
    Type f64 = b.getF64Type();
    auto number = [&](double v) -> Value {
      return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(v));
    };
    Value product = number(static_cast<double>(elementBytes(buffer.elementType)));
    Value fits = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
    for (OpFoldResult s : buffer.sizes) {
      if (auto c = constantSize(s)) {
        product = b.create<arith::MulFOp>(loc, product, number(static_cast<double>(*c)));
        continue;
      }
      Value size = cast<Value>(s);
      if (indexRange(s).first < 0)
        fits = b.create<arith::AndIOp>(
            loc, fits,
            b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, size,
                                    b.create<arith::ConstantIndexOp>(loc, 0)));
      Value wide = b.create<arith::IndexCastOp>(loc, b.getI64Type(), size);
      product = b.create<arith::MulFOp>(loc, product, b.create<arith::SIToFPOp>(loc, f64, wide));
    }
    fits = b.create<arith::AndIOp>(
        loc, fits,
        b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, product, number(0x1p47)));
    std::string what = "the size of ";
    what += buffer.name.empty() ? "a value" : "'" + buffer.name + "'";
    b.create<CheckOp>(loc, fits, "RUN_ERROR", what + " is negative or too large");
  }
};

} // namespace

void placeLateBuffers(func::FuncOp main, llvm::MutableArrayRef<PlannedBuffer> buffers,
                      OpFoldResult base, int64_t alignment) {
  LateBuffers late(main, base, alignment);
  for (PlannedBuffer& buffer : buffers)
    if (buffer.madeLate && buffer.last >= 0) late.add(buffer);
  late.place();
}

} // namespace ortc
