// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit numbers: kernels/conv8, and kernels/gemm8 for those of one tap.
#include "targets/cpu/kernels/conv8/conv8.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Bytes.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/conv8/pack.h"

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

/// All of it static but the image sizes.
struct Conv {
  ConvOp op;
  HostTensor weights;
  int64_t n;              // spatial dims
  int64_t groups, OC, IC; // of one group
  int64_t taps = 1;
  bool pointwise = false; // one tap of each pixel: a product of matrices
  bool depthwise = false; // one channel for each group
  int64_t K() const { return taps * IC; }
};

std::optional<Conv> convOf(KernelOp kernel) {
  auto op = dyn_cast_or_null<ConvOp>(heavyByteOp(kernel));
  if (!op || !op.isChannelsLast() || op.getWeightsUnsigned()) return std::nullopt;
  auto w = constantOf(op.getWeights());
  if (!w || w->size() == 0) return std::nullopt;
  Conv c{op, *w, op.spatialRank(), static_cast<int64_t>(op.getGroup()), 0, 0};
  c.OC = w->dims[0] / c.groups;
  c.IC = w->dims[1];
  for (int64_t i = 0; i < c.n; ++i)
    c.taps *= w->dims[i + 2];
  auto all = [](ArrayRef<int64_t> v, int64_t x) {
    return llvm::all_of(v, [&](int64_t y) { return y == x; });
  };
  c.depthwise = c.groups > 1 && c.OC == 1 && c.IC == 1 && c.taps <= ortc_rt::kMostTaps8;
  c.pointwise = c.taps == 1 && c.groups == 1 && all(op.getStrides(), 1) && all(op.getPads(), 0);
  return c;
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  auto c = convOf(kernel);
  if (!c) return;
  OpBuilder b(kernel);
  double pixels = 1;
  bool fixed = true;
  for (int64_t i = 0; i <= c->n; ++i) {
    auto size = constantSize(getSize(b, c->op.getInit(), i));
    fixed &= size.has_value();
    pixels *= static_cast<double>(size.value_or(i ? 32 : 1));
  }
  if (c->depthwise) {
    // A vector of products takes some eight instructions.
    const double micros = pixels * static_cast<double>(c->groups) *
                          (static_cast<double>(c->taps) * 4 / machine.processor.gigaflops + 0.02) /
                          1e3;
    rows.push_back({fmt::format("conv8_depthwise_{}_{}", c->op.getInputUnsigned() ? "u8" : "s8",
                                isaName(machine.processor).str()),
                    micros,
                    b.getDictionaryAttr({b.getNamedAttr(
                        "bytes", b.getI64IntegerAttr(machine.processor.vectorBytes))})});
    return;
  }
  const ByteTile t =
      chooseByteTile(machine.processor, fixed ? static_cast<int64_t>(pixels) : -1, c->OC);
  if (!bytesFit(t, c->K())) return;
  // Columns that do not exist are computed, too, and rows are gathered for each group.
  const auto columns = static_cast<double>((c->OC + t.NR() - 1) / t.NR() * t.NR());
  Candidate row =
      byteCandidate(kernel.getContext(), machine.processor, "conv8", c->op.getInputUnsigned(), t,
                    pixels * static_cast<double>(c->groups), columns, static_cast<double>(c->K()));
  if (!c->pointwise)
    row.microseconds +=
        pixels * static_cast<double>(c->groups) * (0.02 + static_cast<double>(c->K()) / 16e3);
  rows.push_back(row);
}

std::optional<OpFoldResult> workspace(KernelOp kernel, OpBuilder& b) {
  auto c = convOf(kernel);
  return OpFoldResult(
      b.getIndexAttr(c->depthwise ? c->groups : ortc_rt::conv8WorkspaceBytes(c->K())));
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto c = convOf(kernel);
  OpBuilder ob(kernel);
  Location loc = kernel.getLoc();
  const int64_t n = c->n;
  Sizes xs = strides(c->op.getInput()), ys = strides(kernel.getResult(0)),
        in = getSizes(ob, c->op.getInput()), out = getSizes(ob, c->op.getInit());
  // Channels side by side; pixels of the result at one pitch over all images.
  auto onePitch = [&](const Sizes& pitches, const Sizes& sizes) {
    for (int64_t d = n; d > 0; --d)
      if (constantSize(sizes[d - 1]) != 1 &&
          !sameSize(pitches[d - 1], mulSizes(ob, loc, pitches[d], sizes[d])))
        return false;
    return true;
  };
  if (constantSize(xs[n + 1]) != 1 || constantSize(ys[n + 1]) != 1 || !onePitch(ys, out))
    return LoweredKernel();

  const ByteTile t = c->depthwise ? ByteTile{} : byteTileOf(kernel);
  const bool isUnsigned = c->op.getInputUnsigned();
  HostTensor packed(c->weights.elementType,
                    {c->depthwise
                         ? c->weights.size()
                         : packedConv8Bytes(c->OC, c->IC, c->taps, c->groups, t.NR(), t.group)});
  if (c->depthwise)
    packDepthwise8(c->weights.as<int8_t>(), c->groups, c->taps, packed.as<int8_t>());
  else
    packConv8(c->weights.as<int8_t>(), c->OC, c->IC, c->taps, c->groups, t.NR(), t.group,
              t.flips(isUnsigned), packed.as<int8_t>());
  Value weights =
      ob.create<arith::ConstantOp>(c->op.getWeights().getLoc(), toAttribute(packed, "packed"));
  KernelWriter writer(kernel, module, [&](Value v) {
    return v == weights ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  const unsigned rows = static_cast<unsigned>(n + 1);
  if (c->pointwise && onePitch(xs, in)) {
    TemplateCall call(writer, "gemm8", byteArgs("Gemm8Args", kernel));
    byteParameters(call, t, isUnsigned);
    call.buffer("a", writer.place(c->op.getInput()).buffer);
    call.buffer("b", writer.place(weights).buffer);
    call.buffer("c", writer.result(0).buffer);
    call.size("lda", xs[n]);
    call.size("ldc", ys[n]);
    OpFoldResult pixels = out[0];
    for (int64_t d = 1; d <= n; ++d)
      pixels = mulSizes(ob, loc, pixels, out[d]);
    call.size("M", pixels);
    call.size("N", c->OC);
    call.size("K", c->IC);
    call.finish(kernel, c->op.getResult(), rows);
    return writer.finish();
  }
  TemplateCall call(writer, c->depthwise ? "conv8_depthwise" : "conv8",
                    byteArgs("Conv8Args", kernel));
  if (c->depthwise) {
    call.parameter("Bytes", kernel.getChoiceAttr()
                                .getAs<DictionaryAttr>("parameters")
                                .getAs<IntegerAttr>("bytes")
                                .getInt());
    call.parameter("Unsigned", StringRef(isUnsigned ? "true" : "false"));
  } else {
    byteParameters(call, t, isUnsigned);
  }
  call.buffer("x", writer.place(c->op.getInput()).buffer);
  call.buffer("w", writer.place(weights).buffer);
  if (Value padding = c->op.getPadding()) call.buffer("padding", writer.place(padding).buffer);
  call.buffer("y", writer.result(0).buffer);
  call.buffer("workspace", writer.workspace());
  call.size("images", out[0]);
  call.size("IC", c->IC);
  call.size("OC", c->OC);
  call.size("groups", c->groups);
  const char* axes[] = {"depth", "height", "width"};
  for (int64_t i = 0; i < n; ++i) {
    std::string axis = axes[3 - n + i];
    call.size(axis + ".in", in[i + 1]);
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
  call.finish(kernel, c->op.getResult(), rows);
  return writer.finish();
}

[[maybe_unused]] const bool registered = Families::add(
    {.kernels = {"conv8_"}, .candidates = candidates, .write = write, .workspace = workspace});

} // namespace
} // namespace ortc::cpu
