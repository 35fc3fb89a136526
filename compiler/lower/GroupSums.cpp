// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/GroupSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace ortc {
namespace {

constexpr int64_t kGroup = 4;
/// Below this many groups the chain is short anyway; a body of more ops is not worth three copies.
constexpr int64_t kFewGroups = 2;
constexpr size_t kLargeBody = 24;

/// The addition of `loop` that takes the carried value; null when the loop does anything besides
/// summing terms that do not depend on each other.
arith::AddFOp sumOf(scf::ForOp loop) {
  if (loop.getInitArgs().size() != 1 || getConstantIntValue(loop.getLowerBound()) != 0 ||
      !getConstantIntValue(loop.getStep()))
    return {};
  BlockArgument carried = loop.getRegionIterArg(0);
  auto sum = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || sum->getBlock() != loop.getBody() || !carried.hasOneUse() ||
      *carried.getUsers().begin() != sum || !sum->hasOneUse())
    return {};
  size_t ops = 0;
  for (Operation& op : *loop.getBody()) {
    // A mask says which lanes of the last turn count: such a loop has its own end.
    const bool readsOnly = isMemoryEffectFree(&op) || hasSingleEffect<MemoryEffects::Read>(&op);
    if (op.getNumRegions() || !readsOnly || isa<vector::CreateMaskOp>(op) || ++ops > kLargeBody)
      return {};
  }
  return sum;
}

void group(scf::ForOp loop, arith::AddFOp sum) {
  const int64_t step = *getConstantIntValue(loop.getStep());
  auto end = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> grouped; // where the groups end
  if (end) {
    if (*end % step != 0 || *end / step < kFewGroups * kGroup) return;
    grouped = *end / (step * kGroup) * (step * kGroup);
  }
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  auto index = [&](int64_t i) { return b.create<arith::ConstantIndexOp>(loc, i); };
  Value width = index(step * kGroup), groupsEnd;
  if (grouped)
    groupsEnd = index(*grouped);
  else
    groupsEnd = b.create<arith::MulIOp>(
        loc, b.create<arith::DivUIOp>(loc, loop.getUpperBound(), width), width);

  auto made = b.create<scf::ForOp>(loc, loop.getLowerBound(), groupsEnd, width, loop.getInitArgs());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(made.getBody());
    Value term = sum.getLhs() == loop.getRegionIterArg(0) ? sum.getRhs() : sum.getLhs();
    SmallVector<Value> terms;
    for (int64_t k = 0; k < kGroup; ++k) {
      IRMapping map;
      Value iv = made.getInductionVar();
      if (k) iv = b.create<arith::AddIOp>(loc, iv, index(k * step));
      map.map(loop.getInductionVar(), iv);
      for (Operation& op : loop.getBody()->without_terminator())
        if (&op != sum) b.clone(op, map);
      terms.push_back(map.lookupOrDefault(term));
    }
    auto add = [&](Value x, Value y) -> Value {
      return b.create<arith::AddFOp>(sum.getLoc(), x, y);
    };
    Value four = add(add(terms[0], terms[1]), add(terms[2], terms[3]));
    b.create<scf::YieldOp>(loc, add(made.getRegionIterArg(0), four));
  }
  if (grouped && *grouped == *end) {
    loop.replaceAllUsesWith(made);
    loop.erase();
    return;
  }
  // The old loop goes on with the rest.
  loop.setLowerBound(groupsEnd);
  loop.getInitArgsMutable()[0].set(made.getResult(0));
}

} // namespace

void groupSums(func::FuncOp function) {
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    if (loop->removeDiscardableAttr(kSumAttr)) loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    if (arith::AddFOp sum = sumOf(loop)) group(loop, sum);
}

} // namespace ortc
