// SPDX-License-Identifier: Apache-2.0
#include "compiler/onnx/ControlFlow.h"

using namespace mlir;

namespace ortc::opdef {

Value castTo(OpBuilder& b, Location loc, Value value, Type type) {
  if (value.getType() == type) return value;
  return b.create<tensor::CastOp>(loc, type, value);
}

SmallVector<Value> withSizes(OpBuilder& b, ArrayRef<Tensor> tensors) {
  SmallVector<Value> r;
  for (Tensor t : tensors) {
    r.push_back(t.value);
    auto type = dyn_cast<RankedTensorType>(t.value.getType());
    if (!type || type.hasStaticShape()) continue;
    Sizes sizes = getSizes(b, t.value);
    for (auto [i, s] : llvm::enumerate(type.getShape()))
      if (ShapedType::isDynamic(s)) r.push_back(sizeValue(b, t.value.getLoc(), sizes[i]));
  }
  return r;
}

BranchScratch::BranchScratch(OpBuilder& b, Location loc, Value condition) {
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addRegion();
  state.addRegion();
  op = b.create(state);
}
BranchScratch::~BranchScratch() {
  op->dropAllReferences();
  for (Region& r : op->getRegions())
    r.walk([](Operation* inner) { inner->dropAllUses(); });
  op->erase();
}

std::vector<Tensor> buildIf(OpBuilder& b, Location loc, Value condition,
                            llvm::function_ref<std::vector<Tensor>()> then,
                            llvm::function_ref<std::vector<Tensor>()> otherwise) {
  // The result types are only known when the branches are built, so they are built in a throw-away
  // op first. (It stands in the function: what folds inside of a branch looks at the regions around
  // it.)
  BranchScratch scratch(b, loc, condition);
  std::vector<Tensor> results[2];
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&scratch.region(i));
    results[i] = i == 0 ? then() : otherwise();
  }
  if (results[0].size() != results[1].size())
    throw NodeError{
        fmt::format("branches have {} and {} outputs", results[0].size(), results[1].size()), {}};
  SmallVector<Type> types;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(results[0], results[1]))) {
    auto [x, y] = pair;
    auto tx = dyn_cast<RankedTensorType>(x.value.getType()),
         ty = dyn_cast<RankedTensorType>(y.value.getType());
    if (x.dtype != y.dtype || !tx != !ty)
      throw NodeError{fmt::format("output {} has another type in each branch: {} and {}", i,
                                  dtypeName(x.dtype), dtypeName(y.dtype)),
                      {}};
    if (!tx) {
      types.push_back(x.value.getType());
      continue;
    }
    if (tx.getRank() != ty.getRank())
      throw BranchRankError{condition,
                            fmt::format("output {} has rank {} in one branch and {} in the other",
                                        i, tx.getRank(), ty.getRank())};
    SmallVector<int64_t> shape;
    for (auto [p, q] : llvm::zip(tx.getShape(), ty.getShape()))
      shape.push_back(p == q ? p : ShapedType::kDynamic);
    types.push_back(RankedTensorType::get(shape, tx.getElementType()));
  }
  SmallVector<Type> resultTypes;
  for (int i : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&scratch.region(i).front());
    std::vector<Tensor> cast = results[i];
    for (auto [t, type] : llvm::zip(cast, types))
      t.value = castTo(b, loc, t.value, type);
    SmallVector<Value> yielded = withSizes(b, cast);
    b.create<scf::YieldOp>(loc, yielded);
    if (i == 0)
      resultTypes.assign(ValueRange(yielded).getTypes().begin(),
                         ValueRange(yielded).getTypes().end());
  }
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(resultTypes);
  for (unsigned i : {0u, 1u})
    state.addRegion()->takeBody(scratch.region(i));
  Operation* op = b.create(state);
  std::vector<Tensor> r;
  unsigned next = 0;
  for (Tensor t : results[0]) {
    Value v = op->getResult(next++);
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      next += llvm::count_if(type.getShape(), ShapedType::isDynamic);
    r.push_back({v, t.dtype});
  }
  return r;
}

} // namespace ortc::opdef
