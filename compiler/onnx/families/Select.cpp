// SPDX-License-Identifier: Apache-2.0
// Choosing elements by their values: TopK, NonZero, Compress, Unique. What has a size that depends
// on data has a buffer for the most that it can be; the size itself is counted by a kernel and read
// back by the host.
#include "compiler/onnx/families/Sort.h"

using namespace mlir;

namespace ortc::opdef {

// The indices of elements that are not zero, [rank, count], in row-major order.
ORTC_ONNX_OP("NonZero", since(9, 13)) {
  Tensor x = n.input(0, "X", plainType);
  std::vector<Size> in = n.sizes(x);
  Tensor flags =
      n.map(n.reshape(x, product(n, in)), DType::Bool, [](Scalar v) { return notEqual(v, 0.0); });
  Selected selected = selectedPlaces(n, flags);
  int64_t rank = x.rank();
  n.output(0, n.generate({n.size(std::max<int64_t>(rank, 1)), selected.count}, DType::I64,
                         [&](ArrayRef<Scalar> i) {
                           Scalar rest = n.toIndex(n.at(selected.places, i[1])),
                                  result = n.index(0);
                           for (int64_t d = rank; d-- > 0;) {
                             Scalar extent = max(n.index(in[d]), 1.0);
                             result = select(equal(i[0], static_cast<double>(d)), rem(rest, extent),
                                             result);
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
  Selected selected = selectedPlaces(n, condition);
  std::vector<Size> shape = n.sizes(x);
  shape[axis] = selected.count;
  n.output(0, n.generate(shape, x.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> i(o);
    i[axis] = safeIndex(n, n.at(selected.places, o[axis]), extent);
    return n.at(x, i);
  }));
}

// Equal elements keep their order. Before opset 10 k was an attribute.
ORTC_ONNX_OP("TopK", since(1, 10, 11, 24)) {
  Tensor x = n.input(0, "X", numeric);
  if (x.rank() == 0) n.error("the input is a scalar");
  int64_t axis = n.axis(n.intAttr("axis", -1), x.rank());
  bool largest = n.flagAttr("largest", true);
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
  std::vector<Size> shape = n.sizes(x), rows = shape;
  rows.erase(rows.begin() + axis);
  shape[axis] = k;
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    auto in = [&](Scalar i) { // indices of element i of this row
      SmallVector<Scalar> at(row);
      at.insert(at.begin() + axis, n.toIndex(i));
      return at;
    };
    auto load = [&](Scalar i) { return out[1].load(in(i)); };
    auto store = [&](Scalar i, Scalar place) { out[1].store(in(i), place); };
    auto before = [&](Scalar a, Scalar b) {
      Scalar v = n.at(x, in(a)), w = n.at(x, in(b));
      return bitOr(largest ? isGreater(v, w) : isGreater(w, v), bitAnd(isSame(v, w), a < b));
    };
    PlaceList best{n, load, store, before};
    Scalar count = n.index(k);
    // A heap of the k best so far, the worst of them on top; each further element that is better
    // takes its place.
    n.repeat(n.index(0), count, [&](Scalar i) { store(i, n.fromIndex(i, DType::I64)); });
    best.makeHeap(count);
    n.ifThen(count > 0.0, [&] {
      n.repeat(count, n.index(extent), [&](Scalar i) {
        Scalar place = n.fromIndex(i, DType::I64);
        n.ifThen(before(place, load(n.index(0))), [&] { best.replaceTop(place, count); });
      });
    });
    best.sortHeap(count);
    n.repeat(n.index(0), count, [&](Scalar i) { out[0].store(in(i), n.at(x, in(load(i)))); });
  };
  NodeBuilder::OutType values{shape, x.dtype}, places{shape, DType::I64};
  std::vector<Tensor> r = n.serial(rows, {values, places}, code);
  n.output(0, r[0]);
  n.output(1, r[1]);
}

// The different elements (or slices of an axis), in order or as they come first: which they are,
// where each comes first, which of them each element is, and how often each comes.
/// Output `i` of the node gets the i-th of `what`: values, places, groups, counts.
enum class UniqueOutput { Values, Places, Groups, Counts };
static void unique(NodeBuilder& n, Tensor x, bool sorted, ArrayRef<UniqueOutput> what) {
  bool flat = !n.hasAttr("axis");
  if (flat) x = n.reshape(x, product(n, n.sizes(x)));
  int64_t axis = flat ? 0 : n.axis(n.intAttr("axis"), x.rank());
  // Slices as rows: [count, length].
  std::vector<Size> shape = n.sizes(x);
  Size all = shape[axis], length = n.size(1);
  std::vector<int64_t> front{axis}, back;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == axis) continue;
    front.push_back(d);
    length = length * shape[d];
  }
  Tensor rows = n.reshape(n.transpose(x, front), {all, length});

  // 1 if row a is less than row b, -1 if it is more, 0 if they are equal
  auto compare = [&](Scalar a, Scalar b) {
    Scalar none = n.literal(0, n.b.getI32Type()), i = n.toIndex(a), j = n.toIndex(b);
    auto differs = [&](Scalar k) {
      Scalar v = n.at(rows, {i, k}), w = n.at(rows, {j, k});
      return select(isGreater(w, v), n.literal(1, none), select(isGreater(v, w), -1.0, none));
    };
    if (length.is(1)) return differs(n.index(0));
    return n.whileTrue(
        {n.index(0), none},
        [&](ArrayRef<Scalar> c) { return bitAnd(c[0] < n.index(length), equal(c[1], 0.0)); },
        [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars { return {c[0] + 1.0, differs(c[0])}; })[1];
  };
  // Places in the order of their rows; equal rows in the order in which they come.
  NodeBuilder::OutType places{{all}, DType::I64}, one{{n.size(1)}, DType::I64};
  Tensor order = n.serial({}, places, [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
    auto load = [&](Scalar i) { return out[0].load(i); };
    auto store = [&](Scalar i, Scalar place) { out[0].store(i, place); };
    sortPlaces(n, n.index(all), load, store, [&](Scalar a, Scalar b) {
      Scalar c = compare(a, b);
      return bitOr(c > 0.0, bitAnd(equal(c, 0.0), a < b));
    });
  })[0];
  // Along the order: the first place, the number of the group of each element, and its count.
  auto group = [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
    auto end = n.repeat(n.index(0), n.index(all), {n.index(0)},
                        [&](Scalar i, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
                          Scalar place = n.at(order, i);
                          Scalar isNew = n.ifElse(
                              equal(i, 0.0), [&] { return n.literal(1, n.b.getI1Type(), true); },
                              [&] { return notEqual(compare(n.at(order, i - 1.0), place), 0.0); });
                          Scalar next = select(isNew, c[0] + 1.0, c[0]), mine = next - 1.0;
                          Scalar zero = n.literal(0, n.b.getI64Type());
                          out[0].store(i, zero);
                          out[2].store(i, zero);
                          n.ifThen(isNew, [&] { out[0].store(mine, place); });
                          out[1].store(n.toIndex(place), n.fromIndex(mine, DType::I64));
                          out[2].store(mine, out[2].load(mine) + 1.0);
                          return {next};
                        });
    out[3].store(n.index(0), n.fromIndex(end[0], DType::I64));
  };
  std::vector<Tensor> r = n.serial({}, {places, places, places, one}, group);
  Tensor first = r[0], inverse = r[1], counts = r[2];
  Size count = countedSize(n, r[3], all);
  if (!sorted) { // groups get their numbers as they come first
    auto renumber = [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
      n.repeat(n.index(0), n.index(all), [&](Scalar i) {
        Scalar zero = n.literal(0, n.b.getI64Type());
        out[0].store(i, zero);
        out[2].store(i, zero);
        out[3].store(i, zero);
      });
      n.repeat(n.index(0), n.index(all), {n.index(0)},
               [&](Scalar i, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
                 Scalar mine = n.toIndex(n.at(inverse, i)), place = n.fromIndex(i, DType::I64);
                 Scalar isNew = equal(n.at(first, mine), place);
                 n.ifThen(isNew, [&] {
                   out[0].store(c[0], place);
                   out[2].store(c[0], n.at(counts, mine));
                   out[3].store(mine, n.fromIndex(c[0], DType::I64));
                 });
                 out[1].store(i, out[3].load(mine));
                 return {select(isNew, c[0] + 1.0, c[0])};
               });
    };
    r = n.serial({}, {places, places, places, places}, renumber);
    first = r[0], inverse = r[1], counts = r[2];
  }
  std::vector<Size> out = shape;
  out[axis] = count;
  for (auto [i, w] : llvm::enumerate(what)) {
    if (!n.wantsOutput(i)) continue;
    switch (w) {
    case UniqueOutput::Values:
      n.output(i, n.generate(out, x.dtype, [&](ArrayRef<Scalar> o) {
        SmallVector<Scalar> at(o);
        at[axis] = safeIndex(n, n.at(first, o[axis]), all);
        return n.at(x, at);
      }));
      break;
    case UniqueOutput::Places: n.output(i, n.slice(first, n.size(0), count)); break;
    case UniqueOutput::Groups: n.output(i, inverse); break;
    case UniqueOutput::Counts: n.output(i, n.slice(counts, n.size(0), count)); break;
    }
  }
}
ORTC_ONNX_OP("Unique", since(11, 28)) {
  using U = UniqueOutput;
  unique(n, n.input(0, "X", plainType), n.flagAttr("sorted", true),
         {U::Values, U::Places, U::Groups, U::Counts});
}
// Of a list, in the order in which they come; without their places.
ORTC_ONNX_OP_IN("com.microsoft", "Unique", since(1)) {
  using U = UniqueOutput;
  Tensor x = n.input(0, "x", plainType);
  if (x.rank() != 1) n.error("'x' is {}; expected rank 1", n.typeText(x));
  unique(n, x, /*sorted=*/false, {U::Values, U::Groups, U::Counts});
}

} // namespace ortc::opdef
