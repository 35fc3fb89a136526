// SPDX-License-Identifier: Apache-2.0
// Attention whose scores and weights the model may change by graphs of its own.
#include "compiler/onnx/families/Attention.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

ORTC_ONNX_OP_IN("ai.onnx.preview", "FlexAttention", since(1)) {
  Tensor q = n.input(0, "Q", floating), k = n.input(1, "K", oneOf({q.dtype})),
         v = n.input(2, "V", oneOf({q.dtype}));
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    n.error("'Q' is {}, 'K' {} and 'V' {}; expected rank 4", n.typeText(q), n.typeText(k),
            n.typeText(v));
  std::vector<Size> qs = n.sizes(q), ks = n.sizes(k), vs = n.sizes(v);
  Size B = qs[0], heads = qs[1], S = qs[2], D = qs[3], groups = ks[1], T = ks[2];
  Size shared = sharedHeads(n, qs, ks);
  DType type = q.dtype == DType::F64 ? DType::F64 : DType::F32;
  if (int64_t p = n.intAttr("softmax_precision", 0)) {
    auto t = dtypeFromOnnx(p);
    if (!t || !floating.has(*t))
      n.error("'softmax_precision' is {}, which is no floating-point type", p);
    type = *t;
  }
  double scale = n.floatAttr("scale", 1 / std::sqrt(static_cast<double>(*D.constant())));
  Tensor split = n.reshape(n.castTo(q, type), {B, groups, shared, S, D});
  Tensor x = n.contract(split, n.castTo(k, type), "bhgsd,bhtd->bhgst");
  x = n.map(n.reshape(x, {B, heads, S, T}), [&](Scalar w) { return w * scale; });
  auto changed = [&](Tensor t, const char* name) {
    if (!n.hasAttr(name)) return t;
    std::vector<Tensor> r = n.graph.importSubgraph(n.graphAttr(name), t);
    if (r.size() != 1 || !r[0].isTensor() || r[0].dtype != t.dtype)
      n.error("'{}' must give one tensor of the type that it takes, {}", name, dtypeName(t.dtype));
    n.requireShape(r[0], n.sizes(t), name);
    return r[0];
  };
  Tensor p = changed(softmaxOver(n, changed(x, "score_mod"), 3, /*logarithm=*/false), "prob_mod");
  Tensor y =
      n.contract(n.reshape(p, {B, groups, shared, S, T}), n.castTo(v, type), "bhgst,bhtd->bhgsd");
  n.output(0, n.castTo(n.reshape(y, {B, heads, S, vs[3]}), q.dtype));
}

} // namespace ortc::opdef
