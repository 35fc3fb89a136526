// SPDX-License-Identifier: Apache-2.0
// Choosing elements by their values: TopK, NonZero, Compress. Each element's place in the result is
// how many come before it; each output looks for the element of its place. Quadratic, but the same
// on every target.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// A count on the device as a size: read back by the host.
static Size countOfSelected(NodeBuilder& n, Tensor flags) {
  Tensor ones = n.castTo(flags, DType::I64);
  Tensor count =
      n.reduce(ones, axesFrom(0, flags.rank()), false, 0, [](Scalar c, Scalar v) { return c + v; });
  return n.asSizes(count, "count")[0];
}

/// For each of `count` outputs: the place of the element of the flat `flags` that comes there.
static Tensor placesOf(NodeBuilder& n, Tensor flags, Size count) {
  Size all = n.size(flags, 0);
  Tensor before =
      n.generateReduce(all, all, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
        Scalar counts = bitAnd(i[1] < i[0], n.at(flags, i[1]));
        return carried + n.cast(counts, DType::I64);
      });
  return n.generateReduce(count, all, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
    Scalar hit =
        bitAnd(n.at(flags, i[1]), equal(n.at(before, i[1]), n.fromIndex(i[0], DType::I64)));
    return select(hit, n.fromIndex(i[1], DType::I64), carried);
  });
}

// The indices of elements that are not zero, [rank, count], in row-major order.
ORTC_ONNX_OP("NonZero", since(9, 13)) {
  Tensor x = n.input(0, "X", plainType);
  std::vector<Size> in = n.sizes(x);
  Tensor flags =
      n.map(n.reshape(x, product(n, in)), DType::Bool, [](Scalar v) { return notEqual(v, 0.0); });
  Size count = countOfSelected(n, flags);
  Tensor places = placesOf(n, flags, count);
  int64_t rank = x.rank();
  n.output(
      0,
      n.generate({n.size(std::max<int64_t>(rank, 1)), count}, DType::I64, [&](ArrayRef<Scalar> i) {
        Scalar rest = n.toIndex(n.at(places, i[1])), result = n.index(0);
        for (int64_t d = rank; d-- > 0;) {
          Scalar extent = max(n.index(in[d]), 1.0);
          result = select(equal(i[0], static_cast<double>(d)), rem(rest, extent), result);
          rest = rest / extent;
        }
        return n.fromIndex(result, DType::I64);
      }));
}

// Slices of an axis (or elements of the flat tensor) where the condition holds.
ORTC_ONNX_OP("Compress", since(9, 11, 28)) {
  Tensor x = n.input(0, "input"), condition = n.input(1, "condition", boolean);
  if (condition.rank() != 1) n.error("'condition' has rank {}; expected 1", condition.rank());
  int64_t axis = 0;
  if (n.hasAttr("axis"))
    axis = n.axis(n.intAttr("axis"), x.rank());
  else
    x = n.reshape(x, product(n, n.sizes(x)));
  // a condition may be shorter than the axis; what is beyond it is left out, and never longer
  Size extent = n.size(x, axis), given = n.size(condition, 0);
  if (!(extent.constant() && given.constant() && *given.constant() <= *extent.constant()))
    condition = n.slice(condition, n.size(0), min(given, extent));
  Size count = countOfSelected(n, condition);
  Tensor places = placesOf(n, condition, count);
  std::vector<Size> shape = n.sizes(x);
  shape[axis] = count;
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    i[axis] = safeIndex(n, n.at(places, o[axis]), extent);
    return n.at(x, i);
  }));
}

// Equal elements keep their order. Before opset 10 k was an attribute.
ORTC_ONNX_OP("TopK", since(1, 10, 11, 24)) {
  Tensor x = n.input(0, "X", numeric);
  if (x.rank() == 0) n.error("the input is a scalar");
  int64_t axis = n.axis(n.intAttr("axis", -1), x.rank());
  bool largest = n.intAttr("largest", 1) != 0;
  Size extent = n.size(x, axis), k = n.size(0);
  if (n.opset < 10)
    k = n.size(n.intAttr("k"));
  else {
    std::vector<Size> v = n.asSizes(n.input(1, "K", oneOf({DType::I64})), "K");
    if (v.size() != 1) n.error("'K' must have one element");
    k = v[0];
  }
  if (k.constant() && *k.constant() < 0) n.error("'K' is {}", *k.constant());
  if (k.constant() && extent.constant() && *k.constant() > *extent.constant())
    n.error("'K' is {}, more than the {} of axis {}", *k.constant(), *extent.constant(), axis);
  k = nonNegative(atMost(k, extent));
  Tensor rank =
      n.generateReduce(n.sizes(x), extent, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
        SmallVector<Scalar> other(i.drop_back());
        Scalar here = other[axis];
        other[axis] = i.back();
        Scalar mine = n.at(x, i.drop_back()), v = n.at(x, other);
        Scalar better = largest ? v > mine : v < mine,
               equalBefore = bitAnd(equal(v, mine), i.back() < here);
        if (isFloat(x.dtype)) { // NaN is larger than all numbers
          Scalar vNaN = isNaN(v), mineNaN = isNaN(mine);
          better = largest ? bitOr(better, bitAnd(vNaN, !mineNaN))
                           : bitOr(better, bitAnd(mineNaN, !vNaN));
          equalBefore = bitOr(equalBefore, bitAnd(bitAnd(vNaN, mineNaN), i.back() < here));
        }
        return carried + n.cast(bitOr(better, equalBefore), DType::I64);
      });
  std::vector<Size> shape = n.sizes(x);
  shape[axis] = k;
  Tensor places =
      n.generateReduce(shape, extent, DType::I64, 0, [&](ArrayRef<Scalar> i, Scalar carried) {
        SmallVector<Scalar> at(i.drop_back());
        Scalar wanted = n.fromIndex(at[axis], DType::I64);
        at[axis] = i.back();
        return select(equal(n.at(rank, at), wanted), n.fromIndex(i.back(), DType::I64), carried);
      });
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> at(o);
    at[axis] = safeIndex(n, n.at(places, o), extent);
    return n.at(x, at);
  }));
  n.output(1, places);
}

} // namespace ortc::opdef
