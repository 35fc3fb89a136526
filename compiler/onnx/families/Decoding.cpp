// SPDX-License-Identifier: Apache-2.0
// What decoders of text and speech do between two runs of their network (com.microsoft).
#include "compiler/onnx/families/Sort.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

// The word that would end an n-gram that is there already gets a score of -inf.
ORTC_ONNX_OP_IN("com.microsoft", "NGramRepeatBlock", since(1)) {
  Tensor ids = n.input(0, "input_ids", oneOf({DType::I64})),
         scores = n.input(1, "scores", oneOf({DType::F32}));
  int64_t length = n.intAttr("ngram_size");
  if (length < 1) n.error("'ngram_size' is {}; expected at least 1", length);
  if (ids.rank() != 2 || scores.rank() != 2)
    n.error("'input_ids' and 'scores' have ranks {} and {}; expected 2", ids.rank(), scores.rank());
  Size batch = n.size(ids, 0), count = n.size(ids, 1), words = n.size(scores, 1);
  n.requireEqual(batch, n.size(scores, 0), "the rows of 'input_ids' and 'scores' differ");
  auto code = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    n.repeat(n.index(0), n.index(words),
             [&](Scalar w) { out[0].store({row[0], w}, n.at(scores, {row[0], w})); });
    Scalar tail = n.index(count) - static_cast<double>(length - 1); // what comes next continues it
    n.repeat(n.index(0), max(tail, 0.0), [&](Scalar i) {
      auto same = n.whileTrue(
          {n.index(0), n.literal(1, n.b.getI1Type(), true)},
          [&](ArrayRef<Scalar> c) { return bitAnd(c[1], c[0] < static_cast<double>(length - 1)); },
          [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
            return {c[0] + 1.0,
                    equal(n.at(ids, {row[0], i + c[0]}), n.at(ids, {row[0], tail + c[0]}))};
          });
      n.ifThen(same[1], [&] {
        Scalar word = n.toIndex(n.at(ids, {row[0], i + static_cast<double>(length - 1)}));
        n.ifThen(bitAnd(word >= 0.0, word < n.index(words)),
                 [&] { out[0].store({row[0], word}, n.literal(-INFINITY, n.b.getF32Type())); });
      });
    });
  };
  n.output(0, n.serial(batch, {{{batch, words}, DType::F32}}, code)[0]);
}

// The cheapest path from the first to the last element of a cost matrix, as pairs of row and
// column: sums from the start, then back along the smaller predecessor (of equal ones the column
// before, then the row before).
ORTC_ONNX_OP_IN("com.microsoft", "DynamicTimeWarping", since(1)) {
  Tensor x = n.input(0, "input", oneOf({DType::F32}));
  if (x.rank() != 2 && (x.rank() != 3 || !n.size(x, 0).is(1)))
    n.error("the input is {}; expected rank 2, or 3 with a first size of 1", n.typeText(x));
  Size M = n.size(x, x.rank() - 2), N = n.size(x, x.rank() - 1), one = n.size(1);
  Tensor cost = n.reshape(x, {M, N});
  Size most = nonNegative(M + N - one);
  NodeBuilder::OutType path{{n.size(2), most}, DType::I32}, length{{one}, DType::I64},
      sums{{M + one, N + one}, DType::F32};
  auto code = [&](ArrayRef<Scalar>, ArrayRef<Out> out) {
    Scalar zero = n.index(0), rows = n.index(M), columns = n.index(N);
    Scalar infinite = n.literal(INFINITY, n.b.getF32Type());
    auto sum = [&](Scalar i, Scalar j) { return out[2].load({i, j}); };
    n.repeat(zero, rows + 1.0, [&](Scalar i) { out[2].store({i, zero}, infinite); });
    n.repeat(zero, columns + 1.0, [&](Scalar j) { out[2].store({zero, j}, infinite); });
    out[2].store({zero, zero}, n.literal(0, n.b.getF32Type()));
    n.repeat(zero, rows, [&](Scalar i) {
      n.repeat(zero, columns, [&](Scalar j) {
        Scalar least = min(min(sum(i, j), sum(i, j + 1.0)), sum(i + 1.0, j));
        out[2].store({i + 1.0, j + 1.0}, least + n.at(cost, {i, j}));
      });
    });
    /// Each step of the way back; visits say where it has been, from the end of `out` on.
    auto back = [&](llvm::function_ref<void(Scalar i, Scalar j, Scalar step)> visit) {
      return n.whileTrue(
          {rows, columns, zero}, [&](ArrayRef<Scalar> c) { return bitAnd(c[0] > 0.0, c[1] > 0.0); },
          [&](ArrayRef<Scalar> c) -> NodeBuilder::Scalars {
            Scalar i = c[0] - 1.0, j = c[1] - 1.0;
            visit(i, j, c[2]);
            Scalar both = sum(i, j), above = sum(i, c[1]), left = sum(c[0], j);
            Scalar diagonal = bitAnd(both < above, both < left),
                   up = bitAnd(above < both, above < left);
            return {select(bitOr(diagonal, up), i, c[0]), select(bitAnd(up, !diagonal), c[1], j),
                    c[2] + 1.0};
          })[2];
    };
    Scalar steps = back([](Scalar, Scalar, Scalar) {});
    // What is beyond the path is written, too.
    n.repeat(zero, n.index(most), [&](Scalar k) {
      for (int64_t d = 0; d < 2; ++d)
        out[0].store({n.index(d), k}, n.literal(0, n.b.getI32Type()));
    });
    back([&](Scalar i, Scalar j, Scalar step) {
      Scalar at = steps - 1.0 - step;
      out[0].store({zero, at}, n.fromIndex(i, DType::I32));
      out[0].store({n.index(1), at}, n.fromIndex(j, DType::I32));
    });
    out[1].store(zero, n.fromIndex(steps, DType::I64));
  };
  std::vector<Tensor> r = n.serial({}, {path, length, sums}, code);
  n.output(0, n.slice(r[0], {n.size(0), n.size(0)}, {n.size(2), countedSize(n, r[1], most)}));
}

} // namespace ortc::opdef
