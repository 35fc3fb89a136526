// SPDX-License-Identifier: Apache-2.0
// Linear algebra beyond products: determinants, inverses, distances.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

namespace {
/// Square matrices in the last two dims, [count, N, N], and a place to work on one of each.
struct Matrices {
  Tensor flat;
  Size count, N;
  std::vector<Size> batch;
};
} // namespace

static Matrices squareMatrices(NodeBuilder& n, Tensor x) {
  int64_t rank = x.rank();
  if (rank < 2) n.error("the input has rank {}; expected at least 2", rank);
  std::vector<Size> in = n.sizes(x), batch(in.begin(), in.end() - 2);
  Size N = in[rank - 1];
  if (N.constant() && in[rank - 2].constant() && *N.constant() != *in[rank - 2].constant())
    n.error("the input is {}; expected square matrices", n.typeText(x));
  n.requireEqual(in[rank - 2], N, "the rows and columns of a matrix differ");
  Size count = product(n, batch);
  return {n.reshape(x, {count, N, N}), count, N, batch};
}

// The product of the pivots of an elimination that takes the largest of each column.
ORTC_ONNX_OP("Det", since(11, 22)) {
  Tensor x = n.input(0, "X", floating);
  auto [flat, count, N, batch] = squareMatrices(n, x);
  DType wide = wideType(x.dtype);
  NodeBuilder::OutType det{{count}, x.dtype}, room{{count, N, N}, wide};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    Scalar m = row[0], size = n.index(N);
    auto at = [&](Scalar i, Scalar j) { return out[1].load({m, i, j}); };
    auto set = [&](Scalar i, Scalar j, Scalar v) { out[1].store({m, i, j}, v); };
    n.repeat(n.index(0), size, [&](Scalar i) {
      n.repeat(n.index(0), size, [&](Scalar j) { set(i, j, n.cast(n.at(flat, {m, i, j}), wide)); });
    });
    auto all = n.repeat(
        n.index(0), size, {n.literal(1, n.typeOf(wide))},
        [&](Scalar k, ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
          auto best = n.repeat(k + 1.0, size, {k, abs(at(k, k))},
                               [&](Scalar i, ArrayRef<Scalar> b) -> NodeBuilder::Scalars {
                                 Scalar v = abs(at(i, k)), larger = v > b[1];
                                 return {select(larger, i, b[0]), select(larger, v, b[1])};
                               });
          Scalar swaps = notEqual(best[0], k);
          n.ifThen(swaps, [&] {
            n.repeat(k, size, [&](Scalar j) {
              Scalar v = at(k, j);
              set(k, j, at(best[0], j));
              set(best[0], j, v);
            });
          });
          Scalar pivot = at(k, k);
          n.ifThen(notEqual(pivot, 0.0), [&] {
            n.repeat(k + 1.0, size, [&](Scalar i) {
              Scalar factor = at(i, k) / pivot;
              n.repeat(k + 1.0, size, [&](Scalar j) { set(i, j, at(i, j) - factor * at(k, j)); });
            });
          });
          return {c[0] * select(swaps, -pivot, pivot)};
        });
    out[0].store(m, n.cast(all[0], x.dtype));
  };
  n.output(0, n.reshape(n.serial(count, {det, room}, code)[0], batch));
}

// Gauss and Jordan, with the largest pivot of each column: what turns the matrix into the identity
// turns the identity into the inverse.
ORTC_ONNX_OP_IN("com.microsoft", "Inverse", since(1)) {
  Tensor x = n.input(0, "X", floating);
  Matrices m = squareMatrices(n, x);
  DType wide = wideType(x.dtype);
  NodeBuilder::OutType each{{m.count, m.N, m.N}, wide};
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    Scalar size = n.index(m.N), zero = n.index(0);
    auto at = [&](const Out& o, Scalar i, Scalar j) { return o.load({row[0], i, j}); };
    auto set = [&](const Out& o, Scalar i, Scalar j, Scalar v) { o.store({row[0], i, j}, v); };
    n.repeat(zero, size, [&](Scalar i) {
      n.repeat(zero, size, [&](Scalar j) {
        set(out[1], i, j, n.cast(n.at(m.flat, {row[0], i, j}), wide));
        set(out[0], i, j, n.cast(equal(i, j), wide));
      });
    });
    n.repeat(zero, size, [&](Scalar k) {
      auto best = n.repeat(k + 1.0, size, {k, abs(at(out[1], k, k))},
                           [&](Scalar i, ArrayRef<Scalar> b) -> NodeBuilder::Scalars {
                             Scalar v = abs(at(out[1], i, k)), larger = v > b[1];
                             return {select(larger, i, b[0]), select(larger, v, b[1])};
                           });
      Scalar pivot = at(out[1], best[0], k);
      for (const Out& o : out)
        n.repeat(zero, size, [&](Scalar j) {
          Scalar v = at(o, k, j);
          set(o, k, j, at(o, best[0], j) / pivot);
          n.ifThen(notEqual(best[0], k), [&] { set(o, best[0], j, v); });
        });
      n.repeat(zero, size, [&](Scalar i) {
        n.ifThen(notEqual(i, k), [&] {
          Scalar factor = at(out[1], i, k);
          for (const Out& o : out)
            n.repeat(zero, size,
                     [&](Scalar j) { set(o, i, j, at(o, i, j) - factor * at(o, k, j)); });
        });
      });
    });
  };
  Tensor y = n.serial(m.count, {each, each}, code)[0];
  n.output(0, n.reshape(n.castTo(y, x.dtype), n.sizes(x)));
}

// Differences are squared one by one: a product of the matrices would cancel where rows are close.
ORTC_ONNX_OP_IN("com.microsoft", "CDist", since(1)) {
  Tensor a = n.input(0, "A", oneOf({DType::F32, DType::F64})),
         b = n.input(1, "B", oneOf({a.dtype}));
  std::string metric = n.stringAttr("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    n.error("'metric' is '{}'; expected sqeuclidean or euclidean", metric);
  if (a.rank() != 2 || b.rank() != 2)
    n.error("'A' and 'B' have ranks {} and {}; expected 2", a.rank(), b.rank());
  Size width = n.size(a, 1);
  n.requireEqual(width, n.size(b, 1), "the rows of 'A' and 'B' differ in size");
  Tensor y = n.generateReduce({n.size(a, 0), n.size(b, 0)}, width, a.dtype, 0,
                              [&](ArrayRef<Scalar> i, Scalar carried) {
                                Scalar d = n.at(a, {i[0], i[2]}) - n.at(b, {i[1], i[2]});
                                return carried + d * d;
                              });
  n.output(0, metric == "euclidean" ? n.map(y, [](Scalar v) { return sqrt(v); }) : y);
}

} // namespace ortc::opdef
