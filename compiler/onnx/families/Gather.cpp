// SPDX-License-Identifier: Apache-2.0
// Reading at indices that are data. An index outside of its dim ends the run (requireIndices). What
// a target that does not check reads there is the nearest element, never foreign memory
// (safeIndex).
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// Are all elements constants inside of [0, extent)? Then nothing needs to be checked when running.
static bool provenInside(NodeBuilder& n, Tensor indices, Size extent) {
  auto c = n.constantTensor(indices);
  if (!c || !extent.constant()) return false;
  for (int64_t i = 0; i < c->size(); ++i)
    if (c->getInt(i) < 0 || c->getInt(i) >= *extent.constant()) return false;
  return true;
}

ORTC_ONNX_OP("Gather", since(1, 11, 13)) {
  Tensor data = n.input(0, "data"), indices = n.input(1, "indices", indexInteger);
  if (data.rank() == 0) n.error("'data' is a scalar");
  int64_t axis = n.axis(n.intAttr("axis", 0), data.rank()), q = indices.rank();
  std::vector<Size> in = n.sizes(data), at = n.sizes(indices), out(in.begin(), in.begin() + axis);
  out.insert(out.end(), at.begin(), at.end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  if (auto c = n.constantInts(indices); c && c->size() == 1) { // one known place is a slice
    int64_t i = c->front();
    if (in[axis].constant() && (i < -*in[axis].constant() || i >= *in[axis].constant()))
      n.error("index {} is out of range for axis {} of size {}", i, axis, *in[axis].constant());
    std::vector<Size> starts(data.rank(), n.size(0)), sizes = in;
    starts[axis] = i < 0 ? in[axis] + n.size(i) : n.size(i);
    sizes[axis] = n.size(1);
    bool proven = in[axis].constant() || indexRange(in[axis].v).first >= (i < 0 ? -i : i + 1);
    if (!proven) {
      n.requireIndices(indices, in[axis], "indices");
      starts[axis] = nonNegative(min(starts[axis], in[axis] - n.size(1)));
    }
    return n.output(0, n.reshape(n.slice(data, starts, sizes), out));
  }
  n.requireIndices(indices, in[axis], "indices");
  bool inside = provenInside(n, indices, in[axis]);
  n.output(0, n.generate(out, data.dtype, [&](ArrayRef<Scalar> o) {
    Scalar i = n.at(indices, o.slice(axis, q));
    SmallVector<Scalar> idx(o.take_front(axis));
    idx.push_back(inside ? n.toIndex(i) : safeIndex(n, i, in[axis]));
    idx.append(o.begin() + axis + q, o.end());
    return n.at(data, idx);
  }));
}

ORTC_ONNX_OP("GatherElements", since(11, 13)) {
  Tensor data = n.input(0, "data"), indices = n.input(1, "indices", indexInteger);
  if (data.rank() != indices.rank() || data.rank() == 0)
    n.error("'data' has rank {} and 'indices' {}; they must be equal and not 0", data.rank(),
            indices.rank());
  int64_t axis = n.axis(n.intAttr("axis", 0), data.rank());
  Size extent = n.size(data, axis);
  std::vector<Size> shape = n.sizes(indices), in = n.sizes(data);
  for (int64_t d = 0; d < data.rank(); ++d)
    if (d != axis && shape[d].constant() && in[d].constant() &&
        *shape[d].constant() > *in[d].constant())
      n.error("'indices' has size {} on axis {}, more than the {} of 'data'", *shape[d].constant(),
              d, *in[d].constant());
  for (int64_t d = 0; d < data.rank(); ++d)
    if (d != axis && !same(shape[d], in[d]))
      n.requireNonNegative(in[d] - shape[d],
                           fmt::format("'indices' is larger than 'data' on axis {}", d));
  n.requireIndices(indices, extent, "indices");
  bool inside = provenInside(n, indices, extent);
  n.output(0, n.generate(shape, data.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> idx(o);
    Scalar i = n.at(indices, o);
    idx[axis] = inside ? n.toIndex(i) : safeIndex(n, i, extent);
    return n.at(data, idx);
  }));
}

static void gatherND(NodeBuilder& n) {
  Tensor data = n.input(0, "data"), indices = n.input(1, "indices", indexInteger);
  int64_t batch = n.intAttr("batch_dims", 0), q = indices.rank(), r = data.rank();
  if (q < 1 || r < 1) n.error("'data' has rank {} and 'indices' {}; expected at least 1", r, q);
  if (batch < 0 || batch >= std::min(q, r))
    n.error("'batch_dims' is {} for ranks {} and {}", batch, r, q);
  Size last = n.size(indices, q - 1);
  if (!last.constant())
    n.fail("the last size of 'indices' must be known while compiling",
           {{true, "fix it with --shape"}});
  int64_t depth = *last.constant();
  if (depth < 1 || depth > r - batch)
    n.error("the last size of 'indices' is {}; expected 1 to {}", depth, r - batch);
  std::vector<Size> in = n.sizes(data), out = n.sizes(indices);
  out.pop_back();
  out.insert(out.end(), in.begin() + batch + depth, in.end());
  requireTuples(n, indices, ArrayRef<Size>(in).slice(batch, depth), "indices");
  n.output(0, n.generate(out, data.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> idx(o.take_front(batch)), at(o.take_front(q - 1));
    at.push_back(n.index(0));
    for (int64_t k = 0; k < depth; ++k) {
      at.back() = n.index(k);
      idx.push_back(safeIndex(n, n.at(indices, at), in[batch + k]));
    }
    idx.append(o.begin() + q - 1, o.end());
    return n.at(data, idx);
  }));
}

ORTC_ONNX_OP("GatherND", since(11, 12, 13)) {
  gatherND(n);
}
ORTC_ONNX_OP_IN("com.microsoft", "GatherND", since(1)) {
  gatherND(n);
}

// Rows of a table; what the other inputs say is for training.
ORTC_ONNX_OP_IN("com.microsoft", "TorchEmbedding", since(1)) {
  Tensor table = n.input(0, "weight", plainType),
         indices = n.input(1, "indices", oneOf({DType::I64}));
  if (table.rank() != 2) n.error("'weight' is {}; expected rank 2", n.typeText(table));
  std::vector<Size> in = n.sizes(table), shape = n.sizes(indices);
  shape.push_back(in[1]);
  n.requireIndices(indices, in[0], "indices");
  n.output(0, n.generate(shape, table.dtype, [&](ArrayRef<Scalar> o) {
    return n.at(table, {safeIndex(n, n.at(indices, o.drop_back()), in[0]), o.back()});
  }));
}

// Columns (the last axis) at the given places.
ORTC_ONNX_OP_IN("ai.onnx.ml", "ArrayFeatureExtractor", since(1)) {
  Tensor data = n.input(0, "X"), indices = n.input(1, "Y", oneOf({DType::I64}));
  if (data.rank() == 0) n.error("'X' is a scalar");
  std::vector<Size> in = n.sizes(data), out(in.begin(), in.end() - 1);
  if (out.empty()) out.push_back(n.size(1));
  out.push_back(product(n, n.sizes(indices)));
  Tensor flat = n.reshape(indices, out.back());
  Size extent = in.back();
  n.requireIndices(indices, extent, "Y");
  n.output(0, n.generate(out, data.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> idx(o.take_back(data.rank()));
    if (data.rank() == 1) idx.clear(), idx.push_back(o.back());
    idx.back() = safeIndex(n, n.at(flat, o.back()), extent);
    return n.at(data, idx);
  }));
}

// Indices outside of [-depth, depth) give no hot place.
ORTC_ONNX_OP("OneHot", since(9, 11, 28)) {
  Tensor indices = n.input(0, "indices", numeric), depth = n.input(1, "depth", numeric),
         values = n.input(2, "values");
  if (values.rank() != 1 || (n.size(values, 0).constant() && !n.size(values, 0).is(2)))
    n.error("'values' must hold [off, on]");
  // The number of classes may be of any type.
  std::vector<Size> d =
      n.asSizes(isFloat(depth.dtype) ? n.castTo(depth, DType::I64) : depth, "depth");
  if (d.size() != 1) n.error("'depth' must be a scalar");
  Size extent = nonNegative(d[0]);
  int64_t axis = n.axis(n.intAttr("axis", -1), indices.rank() + 1);
  std::vector<Size> out = n.sizes(indices);
  out.insert(out.begin() + axis, extent);
  n.output(0, n.generate(out, values.dtype, [&](ArrayRef<Scalar> o) {
    SmallVector<Scalar> at(o);
    at.erase(at.begin() + axis);
    Scalar i = n.at(indices, at);
    // whole numbers only: what follows the point is cut off
    i = n.toIndex(isFloat(indices.dtype) ? n.cast(i, DType::I64) : i);
    Scalar hot = bitOr(equal(o[axis], i), equal(o[axis], i + n.index(extent)));
    return n.at(values, select(hot, n.index(1), n.index(0)));
  }));
}

} // namespace ortc::opdef
