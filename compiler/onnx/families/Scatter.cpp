// SPDX-License-Identifier: Apache-2.0
// Writing at indices that are data: Scatter, ScatterElements, ScatterND, TensorScatter, MaxUnpool.
// A row is what no update leaves: it is copied, and then takes its updates in their order. Rows are
// independent of each other, so there are no atomic operations and one result on every target.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

static llvm::function_ref<Scalar(Scalar, Scalar)> reductionOf(NodeBuilder& n) {
  static const auto replace = [](Scalar, Scalar v) { return v; };
  static const auto add = [](Scalar c, Scalar v) {
    return isa<IntegerType>(v.type()) && v.type().isInteger(1) ? bitOr(c, v) : c + v;
  };
  static const auto mul = [](Scalar c, Scalar v) {
    return isa<IntegerType>(v.type()) && v.type().isInteger(1) ? bitAnd(c, v) : c * v;
  };
  static const auto largest = [](Scalar c, Scalar v) { return max(c, v); };
  static const auto smallest = [](Scalar c, Scalar v) { return min(c, v); };
  std::string name = n.stringAttr("reduction", "none");
  if (name == "none") return replace;
  if (name == "add") return add;
  if (name == "mul") return mul;
  if (name == "max") return largest;
  if (name == "min") return smallest;
  n.error("'reduction' is '{}'; expected none, add, mul, max or min", name);
}

/// An index from data, negative ones from the end.
static Scalar wrappedIndex(NodeBuilder& n, Scalar i, Size extent) {
  Scalar v = n.toIndex(i);
  return select(v < 0.0, v + n.index(extent), v);
}
static Scalar isInside(NodeBuilder& n, Scalar i, Size extent) {
  return bitAnd(i >= 0.0, i < n.index(extent));
}

/// body(i..) for all indices of a box, the last fastest.
static void forBox(NodeBuilder& n, ArrayRef<Size> box,
                   llvm::function_ref<void(ArrayRef<Scalar>)> body) {
  SmallVector<Scalar> at;
  std::function<void()> nest = [&] {
    if (at.size() == box.size()) return body(at);
    n.repeat(n.index(0), n.index(box[at.size()]), [&](Scalar i) {
      at.push_back(i);
      nest();
      at.pop_back();
    });
  };
  nest();
}

static void scatterElements(NodeBuilder& n) {
  Tensor data = n.input(0, "data", plainType), indices = n.input(1, "indices", indexInteger),
         updates = n.input(2, "updates", oneOf({data.dtype}));
  if (data.rank() == 0 || indices.rank() != data.rank() || updates.rank() != data.rank())
    n.error(
        "'data', 'indices' and 'updates' have ranks {}, {} and {}; they must be equal and not 0",
        data.rank(), indices.rank(), updates.rank());
  int64_t axis = n.axis(n.intAttr("axis", 0), data.rank());
  std::vector<Size> in = n.sizes(data), at = n.sizes(indices), rows = in;
  rows.erase(rows.begin() + axis);
  n.requireShape(updates, at, "updates");
  for (int64_t d = 0; d < data.rank(); ++d)
    if (d != axis)
      n.requireNonNegative(in[d] - at[d],
                           "'indices' is larger than 'data' on axis " + std::to_string(d));
  n.requireIndices(indices, in[axis], "indices");
  auto combine = reductionOf(n);
  NodeBuilder::OutType result{in, data.dtype};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    auto place = [&](Scalar i) {
      SmallVector<Scalar> r(row);
      r.insert(r.begin() + axis, i);
      return r;
    };
    n.repeat(n.index(0), n.index(in[axis]),
             [&](Scalar i) { out[0].store(place(i), n.at(data, place(i))); });
    // rows beyond the indices of the other axes have no update
    Scalar inside = n.literal(1, n.b.getI1Type(), true);
    for (int64_t d = 0; d < data.rank(); ++d)
      if (d != axis && !same(in[d], at[d]))
        inside = bitAnd(inside, row[d - (d > axis)] < n.index(at[d]));
    n.ifThen(inside, [&] {
      n.repeat(n.index(0), n.index(at[axis]), [&](Scalar k) {
        Scalar to = wrappedIndex(n, n.at(indices, place(k)), in[axis]);
        n.ifThen(isInside(n, to, in[axis]), [&] {
          out[0].store(place(to), combine(out[0].load(place(to)), n.at(updates, place(k))));
        });
      });
    });
  };
  n.output(0, n.serial(rows, result, code)[0]);
}
ORTC_ONNX_OP("ScatterElements", since(11, 13, 16, 18)) {
  scatterElements(n);
}
ORTC_ONNX_OP("Scatter", since(9, 11)) {
  scatterElements(n);
}

ORTC_ONNX_OP("ScatterND", since(11, 13, 16, 18)) {
  Tensor data = n.input(0, "data", plainType), indices = n.input(1, "indices", indexInteger),
         updates = n.input(2, "updates", oneOf({data.dtype}));
  int64_t r = data.rank(), q = indices.rank();
  if (q < 1 || r < 1) n.error("'data' has rank {} and 'indices' {}; expected at least 1", r, q);
  std::vector<Size> in = n.sizes(data), at = n.sizes(indices);
  if (!at.back().constant())
    n.fail("the last size of 'indices' must be known while compiling",
           {{true, "fix it with --shape"}});
  int64_t depth = *at.back().constant();
  if (depth < 1 || depth > r)
    n.error("the last size of 'indices' is {}; expected 1 to {}", depth, r);
  if (updates.rank() != q - 1 + r - depth)
    n.error("'updates' has rank {}; expected {}", updates.rank(), q - 1 + r - depth);
  requireTuples(n, indices, ArrayRef<Size>(in).take_front(depth), "indices");
  Size count = product(n, ArrayRef<Size>(at).drop_back());
  Tensor flatIndices = n.reshape(indices, {count, n.size(depth)});
  std::vector<Size> shape{count};
  shape.insert(shape.end(), in.begin() + depth, in.end());
  Tensor flatUpdates = n.reshape(updates, shape);
  auto combine = reductionOf(n);
  // An update is a slice of the last dims: all but the innermost of them, along which memory runs,
  // are rows.
  ArrayRef<Size> indexed = ArrayRef<Size>(in).take_front(depth),
                 slice = ArrayRef<Size>(in).drop_front(depth);
  ArrayRef<Size> rows = slice.empty() ? slice : slice.drop_back(),
                 inner = slice.drop_front(rows.size());
  NodeBuilder::OutType result{in, data.dtype};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    auto join = [&](ArrayRef<Scalar> front, ArrayRef<Scalar> last) {
      SmallVector<Scalar> all(front);
      all.append(row.begin(), row.end());
      all.append(last.begin(), last.end());
      return all;
    };
    forBox(n, indexed, [&](ArrayRef<Scalar> i) {
      forBox(n, inner,
             [&](ArrayRef<Scalar> k) { out[0].store(join(i, k), n.at(data, join(i, k))); });
    });
    n.repeat(n.index(0), n.index(count), [&](Scalar u) {
      SmallVector<Scalar> to;
      Scalar inside = n.literal(1, n.b.getI1Type(), true);
      for (int64_t d = 0; d < depth; ++d) {
        to.push_back(wrappedIndex(n, n.at(flatIndices, {u, n.index(d)}), in[d]));
        inside = bitAnd(inside, isInside(n, to.back(), in[d]));
      }
      n.ifThen(inside, [&] {
        forBox(n, inner, [&](ArrayRef<Scalar> k) {
          out[0].store(join(to, k),
                       combine(out[0].load(join(to, k)), n.at(flatUpdates, join(u, k))));
        });
      });
    });
  };
  n.output(0, n.serial(rows, result, code)[0]);
}

// A cache of keys or values: each sequence of the batch takes its new rows from a position on,
// which may go round.
ORTC_ONNX_OP("TensorScatter", since(24)) {
  Tensor past = n.input(0, "past_cache", plainType),
         update = n.input(1, "update", oneOf({past.dtype})),
         positions = n.optionalInput(2, "write_indices", oneOf({DType::I64}));
  if (update.rank() != past.rank())
    n.error("'past_cache' and 'update' have ranks {} and {}", past.rank(), update.rank());
  int64_t axis = n.axis(n.intAttr("axis", -2), past.rank());
  if (axis == 0) n.error("'axis' is that of the batch");
  std::string mode = n.stringAttr("mode", "linear");
  if (mode != "linear" && mode != "circular")
    n.error("'mode' is '{}'; expected linear or circular", mode);
  Size extent = n.size(past, axis), count = n.size(update, axis);
  std::vector<Size> rows = n.sizes(past);
  rows[axis] = count;
  n.requireShape(update, rows, "update");
  if (positions) n.requireShape(positions, rows[0], "write_indices");
  n.output(0, n.generate(n.sizes(past), past.dtype, [&](ArrayRef<Scalar> o) {
    // The row of the update that comes here, if any.
    Scalar from = positions ? n.toIndex(n.at(positions, o[0])) : n.index(0);
    Scalar row = o[axis] - from;
    if (mode == "circular") row = floorMod(row, max(n.index(extent), 1.0));
    SmallVector<Scalar> at(o);
    at[axis] = row;
    return n.ifElse(
        isInside(n, row, count), [&] { return n.at(update, at); }, [&] { return n.at(past, o); });
  }));
}

// The opposite of MaxPool: elements go back to where its indices say they came from.
ORTC_ONNX_OP("MaxUnpool", since(9, 11, 22)) {
  Tensor x = n.input(0, "X", floating), indices = n.input(1, "I", oneOf({DType::I64})),
         given = n.optionalInput(2, "output_shape", oneOf({DType::I64}));
  int64_t rank = x.rank();
  if (rank < 3 || indices.rank() != rank)
    n.error("'X' and 'I' have ranks {} and {}; expected equal ones of at least 3", rank,
            indices.rank());
  n.requireShape(indices, n.sizes(x), "I");
  std::vector<int64_t> kernel = n.intsAttr("kernel_shape"), ones(rank - 2, 1),
                       zeros(2 * (rank - 2), 0), strides = n.intsAttr("strides", ones),
                       pads = n.intsAttr("pads", zeros);
  if (static_cast<int64_t>(kernel.size()) != rank - 2 || strides.size() != kernel.size() ||
      pads.size() != 2 * kernel.size())
    n.error("'kernel_shape', 'strides' and 'pads' do not fit {} spatial dims", rank - 2);
  std::vector<Size> in = n.sizes(x), pooled = in;
  for (int64_t d = 0; d < rank - 2; ++d)
    pooled[d + 2] = (in[d + 2] - n.size(1)) * n.size(strides[d]) +
                    n.size(kernel[d] - pads[d] - pads[d + rank - 2]);
  std::vector<Size> shape = given ? n.asSizes(given, "output_shape") : pooled;
  if (static_cast<int64_t>(shape.size()) != rank)
    n.error("'output_shape' has {} values; expected {}", shape.size(), rank);
  // Indices are those of a tensor of the size that the pool says, flat; a larger output holds it
  // at its start.
  ArrayRef<Size> space = ArrayRef<Size>(pooled).drop_front(2);
  NodeBuilder::OutType result{shape, x.dtype};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    auto join = [&](ArrayRef<Scalar> last) {
      SmallVector<Scalar> all(row);
      all.append(last.begin(), last.end());
      return all;
    };
    forBox(n, ArrayRef<Size>(shape).drop_front(2),
           [&](ArrayRef<Scalar> i) { out[0].store(join(i), n.literal(0, n.typeOf(x.dtype))); });
    Scalar plane = n.index(product(n, space));
    Scalar base = (row[0] * n.index(pooled[1]) + row[1]) * plane;
    forBox(n, ArrayRef<Size>(in).drop_front(2), [&](ArrayRef<Scalar> i) {
      Scalar rest = n.toIndex(n.at(indices, join(i))) - base;
      Scalar inside = bitAnd(rest >= 0.0, rest < plane);
      SmallVector<Scalar> to(space.size());
      for (size_t d = space.size(); d-- > 0;) {
        Scalar extent = max(n.index(space[d]), 1.0);
        to[d] = rem(rest, extent);
        rest = rest / extent;
        inside = bitAnd(inside, to[d] < n.index(shape[d + 2]));
      }
      n.ifThen(inside, [&] { out[0].store(join(to), n.at(x, join(i))); });
    });
  };
  n.output(0, n.serial({in[0], in[1]}, result, code)[0]);
}

} // namespace ortc::opdef
