// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/Conv.h"
#include "targets/common/catalogue/Convolution.h"
#include "targets/cuda/Families.h"
#include "targets/cuda/Tiles.h"

using namespace mlir;

namespace ortc::cuda {
using namespace catalogue;
namespace {

std::optional<Convolution> convOf(KernelOp kernel) {
  return convolutionOf(heavyOp(kernel));
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
HostTensor packWeights(const Convolution& c) {
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
  if (!c || c->depthwise) return; // sums of a few taps
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
  if (constantSize(xs[n + 1]) != 1 || !hasOnePitch(b, loc, ys, out)) return LoweredKernel();
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
  windowSizes(call, b, *c, xs, ys);
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
