// SPDX-License-Identifier: Apache-2.0
// Convolutions on channels last with constant weights, as the catalogues of all families see them.
#pragma once
#include "targets/common/catalogue/TemplateCall.h"

namespace ortc::catalogue {

/// What selection and writing both need to know; all of it static but the image sizes.
struct Convolution {
  ConvOp op;
  HostTensor weights;     // [groups * OC][IC][taps...]
  int64_t n;              // spatial dims
  int64_t groups, OC, IC; // of one group
  int64_t taps = 1;
  bool pointwise = false; // one tap of each pixel: a product of matrices
  bool depthwise = false; // one channel for each group
  /// Taps along the last spatial dim, and how many such lines there are.
  int64_t lastKernel() const { return weights.dims[n + 1]; }
  int64_t lines() const { return taps / lastKernel(); }
};

/// That of a kernel's heavy op; none when it is something else, or null.
std::optional<Convolution> convolutionOf(mlir::Operation* heavy);

/// Do the elements of the last dim lie side by side, and the pixels of all images at one pitch?
bool hasOnePitch(mlir::OpBuilder& b, mlir::Location loc, const Sizes& strides, const Sizes& sizes);

/// The arguments that say the image and the window: depth, height and width of ConvAxis, and the
/// pitches of input and result. `is3x3`: of a kernel that is for such windows of two axes only.
void windowSizes(TemplateCall& call, mlir::OpBuilder& b, const Convolution& c, const Sizes& input,
                 const Sizes& result, bool is3x3 = false);

} // namespace ortc::catalogue
