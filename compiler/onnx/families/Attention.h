// SPDX-License-Identifier: Apache-2.0
// What the families of attention share.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

/// Pairs of values of each head of x, [B, S, heads * D] or [B, heads, S, D], turned by an angle.
/// `row(b, s, k)` says where the tables hold it for pair k of token s: the indices before the last,
/// which is k itself. `dim` values of each head are turned (0: all).
Tensor rotated(NodeBuilder& n, Tensor x, Tensor cosines, Tensor sines, int64_t heads, int64_t dim,
               bool interleaved, double scale,
               llvm::function_ref<mlir::SmallVector<Scalar>(Scalar b, Scalar s, Scalar k)> row);

/// The heads of keys, [B, groups, T, D], are shared by those of queries, [B, heads, S, D], evenly:
/// by how many each. All three numbers must be known.
Size sharedHeads(NodeBuilder& n, const std::vector<Size>& query, const std::vector<Size>& key);

/// [B, S, H * D] as [B, H, S, D].
Tensor perHead(NodeBuilder& n, Tensor t, int64_t heads);

struct Heads {
  Tensor q, k, v; ///< [B, H, S, D], [B, H, T, D], [B, H, T, Dv]
};
/// What attention of ONNX Runtime adds to its scores, besides what the node's attributes say.
struct Masks {
  Tensor mask;   ///< [B], [2 B], [B, T] or [B, S, T] of int32; may be absent
  Tensor bias;   ///< [B or 1, H or 1, S, T]; may be absent
  Size past;     ///< tokens before the first query
  Size buffered; ///< keys that count, where k holds room for more; no value: all
};
struct Attended {
  Tensor y;      ///< [B, S, H * Dv]
  Tensor scores; ///< what the softmax is of, [B, H, S, T]
};
/// softmax(scale q k' + masks) v with the node's 'scale', 'mask_filter_value' and
/// 'unidirectional'.
Attended maskedAttention(NodeBuilder& n, const Heads& h, const Masks& masks);

} // namespace ortc::opdef
