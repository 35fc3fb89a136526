// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/Conv.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cuda/Families.h"
#include "targets/cuda/Tiles.h"

using namespace mlir;

namespace ortc::cuda {
using namespace catalogue;
namespace {

/// Channels last with constant weights: [groups * OC][IC][taps].
struct Conv {
  ConvOp op;
  HostTensor weights;
  int64_t n; // spatial dims
  int64_t groups, OC, IC, taps = 1;
};

std::optional<Conv> convOf(KernelOp kernel) {
  auto op = dyn_cast_or_null<ConvOp>(heavyOp(kernel));
  if (!op || !op.isChannelsLast()) return std::nullopt;
  auto w = constantOf(op.getWeights());
  if (!w) return std::nullopt;
  auto groups = static_cast<int64_t>(op.getGroup());
  Conv c{op, *w, op.spatialRank(), groups, w->dims[0] / groups, w->dims[1]};
  for (int64_t i = 0; i < c.n; ++i)
    c.taps *= w->dims[i + 2];
  return c;
}

ProductSizes sizesOf(ConvOp op) {
  OpBuilder b(op);
  auto groups = static_cast<double>(op.getGroup());
  ProductSizes s{1, usual(getSize(b, op.getWeights(), 0), 64) / groups,
                 usual(getSize(b, op.getWeights(), 1), 64), groups};
  int64_t n = op.spatialRank();
  s.M = usual(getSize(b, op.getInit(), 0), 1);
  for (int64_t i = 0; i < n; ++i) {
    s.M *= usual(getSize(b, op.getInit(), op.spatialDim(i)), 32);
    s.K *= usual(getSize(b, op.getWeights(), i + 2), 3);
  }
  return s;
}

/// [groups * OC][IC][taps] to [groups][taps][IC][OC]: rows of the right matrix.
HostTensor packWeights(const Conv& c) {
  HostTensor packed(c.weights.elementType, {static_cast<int64_t>(c.weights.size())});
  float* to = packed.as<float>();
  for (int64_t g = 0; g < c.groups; ++g)
    for (int64_t t = 0; t < c.taps; ++t)
      for (int64_t i = 0; i < c.IC; ++i)
        for (int64_t o = 0; o < c.OC; ++o) {
          int64_t from = ((g * c.OC + o) * c.IC + i) * c.taps + t;
          std::memcpy(to++, c.weights.data.get() + from * 4, 4); // may be unaligned
        }
  return packed;
}

void candidates(KernelOp kernel, const Device& device, std::vector<Candidate>& rows) {
  auto c = convOf(kernel);
  if (!c || (c->groups > 1 && c->OC == 1 && c->IC == 1)) return; // depthwise: sums of a few taps
  Builder b(kernel.getContext());
  for (const TileRow& tile : tileRows())
    rows.push_back({fmt::format("conv_f32_{}", tile.name()),
                    tileMicros(device, tile, sizesOf(c->op)),
                    b.getDictionaryAttr({b.getNamedAttr("tile", b.getStringAttr(tile.name()))})});
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto c = convOf(kernel);
  OpBuilder b(kernel);
  Location loc = kernel.getLoc();
  int64_t n = c->n;
  Sizes xs = strides(c->op.getInput()), ys = strides(kernel.getResult(0)),
        out = getSizes(b, c->op.getInit());
  // Channels side by side; pixels of the result at one pitch over all images.
  if (constantSize(xs[n + 1]) != 1 || constantSize(ys[n + 1]) != 1) return LoweredKernel();
  for (int64_t d = n; d > 0; --d)
    if (constantSize(out[d - 1]) != 1 && !sameSize(ys[d - 1], mulSizes(b, loc, ys[d], out[d])))
      return LoweredKernel();
  OpFoldResult pixels = b.getIndexAttr(1);
  for (int64_t d = 0; d <= n; ++d)
    pixels = mulSizes(b, loc, pixels, out[d]);
  if (!isLaunchSize(kernel, pixels)) return LoweredKernel();
  const TileRow& tile = tileNamed(kernel.getChoiceAttr()
                                      .getAs<DictionaryAttr>("parameters")
                                      .getAs<StringAttr>("tile")
                                      .getValue());

  // Stands in the function beside the original, which is left without use.
  Value weights = b.create<arith::ConstantOp>(c->op.getWeights().getLoc(),
                                              toAttribute(packWeights(*c), "packed"));
  KernelWriter writer(kernel, module, [&](Value v) {
    return v == weights ? Sizes{b.getIndexAttr(1)} : strides(v);
  });
  TemplateCall call(writer, "conv_f32", "ConvArgs");
  call.parameter("Tile", tile.parameter());
  call.buffer("x", writer.place(c->op.getInput()).buffer);
  call.buffer("w", writer.place(weights).buffer);
  call.buffer("y", writer.result(0).buffer);
  call.size("pixels", pixels);
  call.size("IC", c->IC);
  call.size("OC", c->OC);
  if (c->groups != 1) call.size("groups", c->groups);
  const char* axes[] = {"depth", "height", "width"};
  for (int64_t i = 0; i < n; ++i) {
    std::string axis = axes[3 - n + i];
    call.size(axis + ".in", getSize(b, c->op.getInput(), i + 1));
    call.size(axis + ".out", out[i + 1]);
    call.size(axis + ".kernel", c->weights.dims[i + 2]);
    if (c->op.getStrides()[i] != 1) call.size(axis + ".stride", c->op.getStrides()[i]);
    if (c->op.getDilations()[i] != 1) call.size(axis + ".dilation", c->op.getDilations()[i]);
    if (c->op.getPads()[i] != 0) call.size(axis + ".pad", c->op.getPads()[i]);
  }
  call.size("xPixel", xs[n]);
  call.size("xRow", n >= 2 ? xs[n - 1] : xs[0]);
  call.size("xPlane", n >= 3 ? xs[n - 2] : xs[0]);
  call.size("xImage", xs[0]);
  call.size("yPixel", ys[n]);
  call.finish(kernel, c->op.getResult(), static_cast<unsigned>(n + 1));
  LoweredKernel lowered = writer.finish();
  setLaunch(lowered, tile, pixels, b.getIndexAttr(c->OC), {b.getIndexAttr(c->groups)});
  return lowered;
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"conv_"}, .candidates = candidates, .write = write});

} // namespace

std::optional<double> convLoopsMicros(KernelOp kernel, const Device& device) {
  for (Operation& op : kernel.block())
    if (auto conv = dyn_cast<ConvOp>(op)) // edges are checked at each product
      return 3 * loopsMicros(device, sizesOf(conv));
  return std::nullopt;
}

} // namespace ortc::cuda
