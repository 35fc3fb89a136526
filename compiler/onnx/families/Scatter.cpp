// SPDX-License-Identifier: Apache-2.0
// Writing at indices that are data, turned around: every output looks for the updates that are for
// it, in their order. That needs no atomic operations and has one result on every target; its cost
// is outputs times updates, which suits the few updates of caches and masks.
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

/// Folds `count` updates over data: `match(output, update)` says whether update k is for the
/// output, `value` reads it.
static Tensor scatter(NodeBuilder& n, Tensor data, Size count,
                      llvm::function_ref<Scalar(ArrayRef<Scalar>, Scalar)> match,
                      llvm::function_ref<Scalar(ArrayRef<Scalar>, Scalar)> value) {
  auto combine = reductionOf(n);
  // turn 0 takes the element itself
  return n.generateReduce(n.sizes(data), count + n.size(1), data.dtype, 0,
                          [&](ArrayRef<Scalar> i, Scalar carried) {
                            ArrayRef<Scalar> o = i.drop_back();
                            Scalar turn = i.back();
                            return n.ifElse(
                                equal(turn, 0.0), [&] { return n.at(data, o); },
                                [&] {
                                  Scalar k = turn - 1.0;
                                  return n.ifElse(
                                      match(o, k), [&] { return combine(carried, value(o, k)); },
                                      [&] { return carried; });
                                });
                          });
}

static Scalar wrappedIndex(NodeBuilder& n, Scalar i, Size extent) {
  Scalar v = n.toIndex(i);
  return select(v < 0.0, v + n.index(extent), v); // what is outside matches no output
}

static void scatterElements(NodeBuilder& n) {
  Tensor data = n.input(0, "data", plainType), indices = n.input(1, "indices", indexInteger),
         updates = n.input(2, "updates", oneOf({data.dtype}));
  if (data.rank() == 0 || indices.rank() != data.rank() || updates.rank() != data.rank())
    n.error(
        "'data', 'indices' and 'updates' have ranks {}, {} and {}; they must be equal and not 0",
        data.rank(), indices.rank(), updates.rank());
  int64_t axis = n.axis(n.intAttr("axis", 0), data.rank());
  std::vector<Size> in = n.sizes(data), at = n.sizes(indices);
  n.output(
      0, scatter(
             n, data, at[axis],
             [&](ArrayRef<Scalar> o, Scalar k) {
               SmallVector<Scalar> place(o);
               place[axis] = k;
               // outputs beyond the indices of the other axes have no update
               Scalar inside = n.literal(1, n.b.getI1Type(), true);
               for (int64_t d = 0; d < data.rank(); ++d)
                 if (d != axis && !same(in[d], at[d]))
                   inside = bitAnd(inside, o[d] < n.index(at[d]));
               return n.ifElse(
                   inside,
                   [&] { return equal(wrappedIndex(n, n.at(indices, place), in[axis]), o[axis]); },
                   [&] { return n.literal(0, n.b.getI1Type(), true); });
             },
             [&](ArrayRef<Scalar> o, Scalar k) {
               SmallVector<Scalar> place(o);
               place[axis] = k;
               return n.at(updates, place);
             }));
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
  Size count = product(n, ArrayRef<Size>(at).drop_back());
  Tensor flatIndices = n.reshape(indices, {count, n.size(depth)});
  std::vector<Size> shape{count};
  shape.insert(shape.end(), in.begin() + depth, in.end());
  Tensor flatUpdates = n.reshape(updates, shape);
  n.output(0, scatter(
                  n, data, count,
                  [&](ArrayRef<Scalar> o, Scalar k) {
                    Scalar hit;
                    for (int64_t d = 0; d < depth; ++d) {
                      Scalar here =
                          equal(wrappedIndex(n, n.at(flatIndices, {k, n.index(d)}), in[d]), o[d]);
                      hit = hit.v ? bitAnd(hit, here) : here;
                    }
                    return hit;
                  },
                  [&](ArrayRef<Scalar> o, Scalar k) {
                    SmallVector<Scalar> place{k};
                    place.append(o.begin() + depth, o.end());
                    return n.at(flatUpdates, place);
                  }));
}

} // namespace ortc::opdef
