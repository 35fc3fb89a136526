// SPDX-License-Identifier: Apache-2.0
// What several families of op definitions share: types to accumulate in, indices that come from
// data, old broadcasting, and the windows of convolution and pooling.
#pragma once
#include "compiler/onnx/NodeBuilder.h"

namespace ortc::opdef {

/// Everything that a number can be written in: no strings, no complex numbers.
extern const TypeSet plainType;

/// f32 for f16 and bf16, else the type itself: what sums and norms are computed in.
DType wideType(DType t);
Tensor widened(NodeBuilder& n, Tensor x);
/// `body` on a widened x; the result back in x's type.
Tensor throughWide(NodeBuilder& n, Tensor x, llvm::function_ref<Tensor(Tensor)> body);

/// An index that was read from data: negative values count from the end, and what is still outside
/// of [0, extent) is moved to the nearest end, so that no run reads out of bounds whatever the data
/// says, also where it is not checked (TargetInfo::checksData).
Scalar safeIndex(NodeBuilder& n, Scalar i, Size extent);

/// `indices` [.., extents.size()]: places in a box, one index of the last dim per extent. As
/// NodeBuilder::requireIndices.
void requireTuples(NodeBuilder& n, Tensor indices, llvm::ArrayRef<Size> extents,
                   llvm::StringRef name);

/// Broadcasting before opset 7: with `broadcast` = 1, y's dims stand at `axis` of x (default: at
/// its end).
Tensor alignedForOldBroadcast(NodeBuilder& n, Tensor x, Tensor y);

/// s, but not below zero; nothing is written when that is proven.
Size nonNegative(Size s);
/// min(s, limit) where s may be a large constant that means "to the end".
Size atMost(Size s, Size limit);
/// condition ? x : y on sizes; folds.
Size selectSize(NodeBuilder& n, Scalar condition, Size x, Size y);

/// The product; sizes that `factors` repeats stay symbolic factors.
Size product(NodeBuilder& n, llvm::ArrayRef<Size> factors);
/// prod(numerator) / prod(denominator), where equal factors are cancelled first; the quotient is
/// taken to be exact.
Size exactQuotient(NodeBuilder& n, llvm::ArrayRef<Size> numerator,
                   llvm::ArrayRef<Size> denominator);

/// Index of the current element of the body that is being built (dim `d` of the loops).
Scalar loopIndex(NodeBuilder& n, int64_t d);

/// One spatial dim of a convolution or pooling.
struct WindowDim {
  int64_t kernel = 1, stride = 1, dilation = 1;
  Size padBegin, padEnd, out;
  bool padded = true; ///< may the window reach outside of the input?
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
};
/// Reads kernel_shape's companions strides, dilations, pads, auto_pad and ceil_mode, and computes
/// the output sizes. `in` and `kernel` are the spatial sizes.
std::vector<WindowDim> readWindow(NodeBuilder& n, llvm::ArrayRef<Size> in,
                                  llvm::ArrayRef<int64_t> kernel);

/// x with `begin`/`end` more elements on each dim, filled with `value`.
Tensor padded(NodeBuilder& n, Tensor x, llvm::ArrayRef<Size> begin, llvm::ArrayRef<Size> end,
              double value);

/// Axes that only the run knows: a list of static length whose values are read back.
struct RuntimeAxes {
  std::vector<Scalar> has; ///< per dim: is it one of them?
  size_t count = 0;
  explicit operator bool() const { return !has.empty(); }
};
RuntimeAxes runtimeAxes(NodeBuilder& n, Tensor axes, int64_t rank, llvm::StringRef name);
/// The sizes of the dims that are none of the axes.
std::vector<Size> withoutAxes(NodeBuilder& n, llvm::ArrayRef<Size> sizes, const RuntimeAxes& axes);

/// The mean of x over axes (kept as 1), in x's type.
Tensor meanOver(NodeBuilder& n, Tensor x, llvm::ArrayRef<int64_t> axes);
/// `x` of rank 1 as [1, .., C, .., 1] with C on dim 1 of `rank` dims.
Tensor alongChannels(NodeBuilder& n, Tensor x, int64_t rank);
/// The number of elements over the axes, as a scalar for a body.
Scalar countOver(NodeBuilder& n, Tensor x, llvm::ArrayRef<int64_t> axes, DType as);
/// [from, rank)
std::vector<int64_t> axesFrom(int64_t from, int64_t rank);

/// Conv without its bias, as the attributes of the node say; also of integers.
Tensor convolution(NodeBuilder& n, Tensor x, Tensor w, std::optional<DType> result);

/// alpha * A' * B' + beta * C, as the attributes of the node say; C may be absent.
Tensor gemm(NodeBuilder& n, Tensor a, Tensor b, Tensor c);
/// (x - mean) / sqrt(variance + epsilon) over the last dim, or without the mean x / sqrt(mean of
/// squares + epsilon), computed in f32 at least, times gamma, plus beta if there is one.
Tensor normalised(NodeBuilder& n, Tensor x, Tensor gamma, Tensor beta, double epsilon,
                  bool withMean);

/// The pools of the node's window.
Tensor maxPool(NodeBuilder& n, Tensor x);
Tensor averagePool(NodeBuilder& n, Tensor x);

/// Softmax over several axes at once, in x's type.
Tensor softmaxOver(NodeBuilder& n, Tensor x, llvm::ArrayRef<int64_t> axes, bool logarithm);

/// Channels from the end to dim 1, and back.
Tensor channelsFirst(NodeBuilder& n, Tensor x);
Tensor channelsLast(NodeBuilder& n, Tensor x);

} // namespace ortc::opdef
