// SPDX-License-Identifier: Apache-2.0
#include "targets/common/catalogue/Convolution.h"

using namespace mlir;

namespace ortc::catalogue {

std::optional<Convolution> convolutionOf(Operation* heavy) {
  auto op = dyn_cast_or_null<ConvOp>(heavy);
  if (!op || !op.isChannelsLast()) return std::nullopt;
  auto w = constantOf(op.getWeights());
  if (!w) return std::nullopt;
  auto groups = static_cast<int64_t>(op.getGroup());
  Convolution c{op, *w, op.spatialRank(), groups, w->dims[0] / groups, w->dims[1]};
  for (int64_t i = 0; i < c.n; ++i)
    c.taps *= w->dims[i + 2];
  auto all = [](ArrayRef<int64_t> v, int64_t x) {
    return llvm::all_of(v, [&](int64_t y) { return y == x; });
  };
  c.pointwise = c.taps == 1 && groups == 1 && all(op.getStrides(), 1) && all(op.getPads(), 0);
  c.depthwise = groups > 1 && c.OC == 1 && c.IC == 1;
  return c;
}

bool hasOnePitch(OpBuilder& b, Location loc, const Sizes& strides, const Sizes& sizes) {
  if (constantSize(strides.back()) != 1) return false;
  for (size_t d = sizes.size() - 1; d-- > 1;)
    if (constantSize(sizes[d - 1]) != 1 &&
        !sameSize(strides[d - 1], mulSizes(b, loc, strides[d], sizes[d])))
      return false;
  return true;
}

void windowSizes(TemplateCall& call, OpBuilder& b, const Convolution& c, const Sizes& input,
                 const Sizes& result, bool is3x3) {
  ConvOp op = c.op;
  const char* axes[] = {"depth", "height", "width"};
  for (int64_t i = 0; i < c.n; ++i) {
    std::string axis = axes[3 - c.n + i];
    call.size(axis + ".in", getSize(b, op.getInput(), i + 1));
    call.size(axis + ".out", getSize(b, op.getInit(), i + 1));
    if (!is3x3) call.size(axis + ".kernel", c.weights.dims[i + 2]);
    if (op.getStrides()[i] != 1) call.size(axis + ".stride", op.getStrides()[i]);
    if (op.getDilations()[i] != 1) call.size(axis + ".dilation", op.getDilations()[i]);
    if (op.getPads()[i] != 0) call.size(axis + ".pad", op.getPads()[i]);
  }
  call.size("xPixel", input[c.n]);
  call.size("xRow", c.n >= 2 ? input[c.n - 1] : input[0]);
  if (!is3x3) call.size("xPlane", c.n >= 3 ? input[c.n - 2] : input[0]);
  call.size("xImage", input[0]);
  call.size("yPixel", result[c.n]);
}

} // namespace ortc::catalogue
