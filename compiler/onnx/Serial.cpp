// SPDX-License-Identifier: Apache-2.0
// Code that writes: ortc.serial, and the loops and branches of its region.
#include "compiler/onnx/NodeBuilder.h"

using namespace mlir;

namespace ortc::opdef {

static SmallVector<Value> indexValues(NodeBuilder& n, ArrayRef<Scalar> indices) {
  SmallVector<Value> r;
  for (Scalar i : indices)
    r.push_back(n.toIndex(i).v);
  return r;
}
static bool isUnsignedType(DType t) {
  return (isInteger(t) && !isSignedInteger(t)) || t == DType::Bool;
}

Scalar Out::load(ArrayRef<Scalar> indices) const {
  return {n, n->b.create<memref::LoadOp>(n->loc, memory, indexValues(*n, indices)),
          isUnsignedType(dtype)};
}
void Out::store(ArrayRef<Scalar> indices, Scalar value) const {
  n->b.create<memref::StoreOp>(n->loc, value.v, memory, indexValues(*n, indices));
}

std::vector<Tensor>
NodeBuilder::serial(ArrayRef<Size> outer, ArrayRef<OutType> results,
                    llvm::function_ref<void(ArrayRef<Scalar> indices, ArrayRef<Out> out)> body) {
  SmallVector<Value> extents, inits;
  SmallVector<Type> resultTypes, argTypes(outer.size(), b.getIndexType());
  for (Size s : outer)
    extents.push_back(sizeValue(b, loc, s.v));
  for (const OutType& r : results) {
    inits.push_back(empty(r.shape, typeOf(r.dtype)));
    auto type = mlir::cast<RankedTensorType>(inits.back().getType());
    resultTypes.push_back(type);
    argTypes.push_back(MemRefType::get(type.getShape(), type.getElementType()));
  }
  auto op = b.create<SerialOp>(loc, resultTypes, extents, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    Block* block =
        b.createBlock(&op.getBody(), {}, argTypes, SmallVector<Location>(argTypes.size(), loc));
    Scalars indices;
    std::vector<Out> out;
    for (size_t i = 0; i < outer.size(); ++i)
      indices.push_back({this, block->getArgument(static_cast<unsigned>(i)), false});
    for (auto [i, r] : llvm::enumerate(results))
      out.push_back({this, op.out(static_cast<unsigned>(i)), r.dtype});
    body(indices, out);
    b.setInsertionPointToEnd(block);
    b.create<YieldOp>(loc, ValueRange());
  }
  std::vector<Tensor> r;
  for (auto [v, type] : llvm::zip(op.getResults(), results))
    r.push_back(made(v, type.dtype));
  return r;
}

static SmallVector<Value> valuesOf(ArrayRef<Scalar> scalars) {
  SmallVector<Value> r;
  for (Scalar s : scalars)
    r.push_back(s.v);
  return r;
}
/// `values` with the signs of `like`.
static NodeBuilder::Scalars scalarsOf(NodeBuilder& n, ValueRange values, ArrayRef<Scalar> like) {
  NodeBuilder::Scalars r;
  for (auto [v, s] : llvm::zip(values, like))
    r.push_back({&n, v, s.isUnsigned});
  return r;
}

void NodeBuilder::repeat(Scalar from, Scalar to, llvm::function_ref<void(Scalar)> body) {
  repeat(from, to, {}, [&](Scalar i, ArrayRef<Scalar>) {
    body(i);
    return Scalars();
  });
}

NodeBuilder::Scalars
NodeBuilder::repeat(Scalar from, Scalar to, Scalars carried,
                    llvm::function_ref<Scalars(Scalar, ArrayRef<Scalar>)> body) {
  auto loop =
      b.create<scf::ForOp>(loc, toIndex(from).v, toIndex(to).v, index(1).v, valuesOf(carried));
  OpBuilder::InsertionGuard guard(b);
  Block* block = loop.getBody();
  if (!block->empty()) block->back().erase(); // the yield of a loop that carries nothing
  b.setInsertionPointToEnd(block);
  Scalars next = body({this, loop.getInductionVar(), false},
                      scalarsOf(*this, loop.getRegionIterArgs(), carried));
  b.create<scf::YieldOp>(loc, valuesOf(next));
  return scalarsOf(*this, loop.getResults(), carried);
}

NodeBuilder::Scalars NodeBuilder::whileTrue(Scalars carried,
                                            llvm::function_ref<Scalar(ArrayRef<Scalar>)> condition,
                                            llvm::function_ref<Scalars(ArrayRef<Scalar>)> body) {
  SmallVector<Value> inits = valuesOf(carried);
  auto loop = b.create<scf::WhileOp>(loc, ValueRange(inits).getTypes(), inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locs(inits.size(), loc);
  Block* before = b.createBlock(&loop.getBefore(), {}, ValueRange(inits).getTypes(), locs);
  Scalar go = condition(scalarsOf(*this, before->getArguments(), carried));
  b.create<scf::ConditionOp>(loc, go.v, before->getArguments());
  Block* after = b.createBlock(&loop.getAfter(), {}, ValueRange(inits).getTypes(), locs);
  Scalars next = body(scalarsOf(*this, after->getArguments(), carried));
  b.create<scf::YieldOp>(loc, valuesOf(next));
  return scalarsOf(*this, loop.getResults(), carried);
}

void NodeBuilder::ifThen(Scalar condition, llvm::function_ref<void()> body) {
  auto branch = b.create<scf::IfOp>(loc, condition.v, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

} // namespace ortc::opdef
