// SPDX-License-Identifier: Apache-2.0
// Linear algebra beyond products: Det.
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

// The product of the pivots of an elimination that takes the largest of each column.
ORTC_ONNX_OP("Det", since(11, 22)) {
  Tensor x = n.input(0, "X", floating);
  int64_t rank = x.rank();
  if (rank < 2) n.error("the input has rank {}; expected at least 2", rank);
  std::vector<Size> in = n.sizes(x), batch(in.begin(), in.end() - 2);
  Size N = in[rank - 1];
  if (N.constant() && in[rank - 2].constant() && *N.constant() != *in[rank - 2].constant())
    n.error("the input is {}; expected square matrices", n.typeText(x));
  DType wide = wideType(x.dtype);
  Size count = product(n, batch);
  Tensor flat = n.reshape(x, {count, N, N});
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

} // namespace ortc::opdef
