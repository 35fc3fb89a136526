// SPDX-License-Identifier: Apache-2.0
#include "compiler/onnx/families/Sort.h"

using namespace mlir;

namespace ortc::opdef {

void PlaceList::sink(Scalar place, Scalar from, Scalar count) const {
  // The hole goes all the way down, each time to the child that comes later, and `place` from there
  // up to where it belongs: it comes from the end of the heap mostly, and stays near it. That takes
  // one comparison for each level instead of two (Wegener 1993, bottom-up heapsort).
  Scalar bottom = n.whileTrue(
      {from}, [&](ArrayRef<Scalar> c) { return c[0] * 2.0 + 1.0 < count; },
      [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
        Scalar left = c[0] * 2.0 + 1.0, right = left + 1.0;
        right = select(right < count, right, left);
        Scalar l = load(left), r = load(right), rightIsLater = before(l, r);
        store(c[0], select(rightIsLater, r, l));
        return {select(rightIsLater, right, left)};
      })[0];
  Scalar yes = n.literal(1, n.b.getI1Type(), true);
  Scalar hole = n.whileTrue(
      {bottom, yes}, [&](ArrayRef<Scalar> c) { return bitAnd(c[1], c[0] > from); },
      [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
        Scalar parent = (c[0] - 1.0) / 2.0, there = load(parent), moves = before(there, place);
        n.ifThen(moves, [&] { store(c[0], there); });
        return {select(moves, parent, c[0]), moves};
      })[0];
  store(hole, place);
}

void PlaceList::makeHeap(Scalar count) const {
  Scalar half = count / 2.0;
  n.repeat(n.index(0), half, [&](Scalar i) {
    Scalar at = half - 1.0 - i;
    sink(load(at), at, count);
  });
}

void PlaceList::sortHeap(Scalar count) const {
  n.repeat(n.index(1), count, [&](Scalar i) {
    Scalar last = count - i, moved = load(last);
    store(last, load(n.index(0)));
    sink(moved, n.index(0), last);
  });
}

void sortPlaces(NodeBuilder& n, Scalar count, llvm::function_ref<Scalar(Scalar)> load,
                llvm::function_ref<void(Scalar, Scalar)> store,
                llvm::function_ref<Scalar(Scalar, Scalar)> before) {
  n.repeat(n.index(0), count, [&](Scalar i) { store(i, n.fromIndex(i, DType::I64)); });
  PlaceList list{n, load, store, before};
  list.makeHeap(count);
  list.sortHeap(count);
}

Scalar isGreater(Scalar v, Scalar w) {
  Scalar greater = v > w;
  return isa<FloatType>(v.type()) ? bitOr(greater, bitAnd(isNaN(v), !isNaN(w))) : greater;
}
Scalar isSame(Scalar v, Scalar w) {
  Scalar same = equal(v, w);
  return isa<FloatType>(v.type()) ? bitOr(same, bitAnd(isNaN(v), isNaN(w))) : same;
}

Size countedSize(NodeBuilder& n, Tensor count, Size bound) {
  return nonNegative(min(n.asSize(count, "count"), bound));
}

Selected selectedPlaces(NodeBuilder& n, Tensor flags) {
  Size all = n.size(flags, 0);
  auto code = [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
    auto end = n.repeat(n.index(0), n.index(all), {n.index(0)},
                        [&](Scalar i, ArrayRef<Scalar> at) -> NodeBuilder::Scalars {
                          Scalar hit = n.at(flags, i);
                          // What is beyond the last place is written, too, before it is filled.
                          out[0].store(i, n.literal(0, n.b.getI64Type()));
                          n.ifThen(hit, [&] { out[0].store(at[0], n.fromIndex(i, DType::I64)); });
                          return {select(hit, at[0] + 1.0, at[0])};
                        });
    out[1].store(n.index(0), n.fromIndex(end[0], DType::I64));
  };
  NodeBuilder::OutType places{{all}, DType::I64}, count{{n.size(1)}, DType::I64};
  std::vector<Tensor> r = n.serial({}, {places, count}, code);
  return {r[0], countedSize(n, r[1], all)};
}

} // namespace ortc::opdef
