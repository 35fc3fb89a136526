// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit numbers: kernels/conv8, and kernels/gemm8 for those of one tap.
#include "targets/cpu/kernels/conv8/conv8.h"
#include "targets/common/catalogue/Convolution.h"
#include "targets/cpu/Bytes.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/conv8/pack.h"

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

std::optional<Convolution> convOf(KernelOp kernel) {
  auto c = convolutionOf(heavyByteOp(kernel));
  if (!c || c->op.getWeightsUnsigned() || c->weights.size() == 0) return std::nullopt;
  if (!areByteWeights(c->weights, c->groups * c->OC, c->taps * c->IC, 1)) return std::nullopt;
  c->depthwise &= c->taps <= ortc_rt::kMostTaps8;
  return c;
}

/// Numbers that are summed for each output.
int64_t depthOf(const Convolution& c) {
  return c.taps * c.IC;
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
  if (!bytesFit(t, depthOf(*c))) return;
  // Columns that do not exist are computed, too, and rows are gathered for each group.
  const auto columns = static_cast<double>((c->OC + t.NR() - 1) / t.NR() * t.NR());
  Candidate row = byteCandidate(
      kernel.getContext(), machine.processor, "conv8", c->op.getInputUnsigned(), t,
      pixels * static_cast<double>(c->groups), columns, static_cast<double>(depthOf(*c)));
  if (!c->pointwise)
    row.microseconds +=
        pixels * static_cast<double>(c->groups) * (0.02 + static_cast<double>(depthOf(*c)) / 16e3);
  rows.push_back(row);
}

std::optional<OpFoldResult> workspace(KernelOp kernel, OpBuilder& b) {
  auto c = convOf(kernel);
  return OpFoldResult(
      b.getIndexAttr(c->depthwise ? c->groups : ortc_rt::conv8WorkspaceBytes(depthOf(*c))));
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto c = convOf(kernel);
  OpBuilder ob(kernel);
  Location loc = kernel.getLoc();
  const int64_t n = c->n;
  Sizes xs = strides(c->op.getInput()), ys = strides(kernel.getResult(0)),
        out = getSizes(ob, c->op.getInit());
  if (constantSize(xs[n + 1]) != 1 || !hasOnePitch(ob, loc, ys, out)) return LoweredKernel();

  const ByteTile t = c->depthwise ? ByteTile{} : byteTileOf(kernel);
  const bool isUnsigned = c->op.getInputUnsigned(), isWide = c->weights.elementType.isInteger(16);
  const PanelLayout layout = t.panels(isUnsigned, isWide);
  const std::vector<int16_t> numbers = numbersOf(c->weights);
  HostTensor packed(ob.getI8Type(),
                    {c->depthwise ? c->weights.size() * (isWide ? 2 : 1)
                                  : packedConv8Bytes(c->OC, c->IC, c->taps, c->groups, layout)});
  if (!c->depthwise)
    packConv8(numbers.data(), c->OC, c->IC, c->taps, c->groups, layout, packed.as<int8_t>());
  else if (isWide)
    packDepthwise8(numbers.data(), c->groups, c->taps, packed.as<int16_t>());
  else
    packDepthwise8(numbers.data(), c->groups, c->taps, packed.as<int8_t>());
  Value weights =
      ob.create<arith::ConstantOp>(c->op.getWeights().getLoc(), toAttribute(packed, "packed"));
  KernelWriter writer(kernel, module, [&](Value v) {
    return v == weights ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  const unsigned rows = static_cast<unsigned>(n + 1);
  if (c->pointwise && hasOnePitch(ob, loc, xs, getSizes(ob, c->op.getInput()))) {
    TemplateCall call(writer, "gemm8", byteArgs("Gemm8Args", kernel));
    byteParameters(call, t, layout, isUnsigned);
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
    call.parameter("Weight", StringRef(isWide ? "int16_t" : "int8_t"));
  } else {
    byteParameters(call, t, layout, isUnsigned);
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
  windowSizes(call, ob, *c, xs, ys);
  call.finish(kernel, c->op.getResult(), rows);
  return writer.finish();
}

[[maybe_unused]] const bool registered = Families::add(
    {.kernels = {"conv8_"}, .candidates = candidates, .write = write, .workspace = workspace});

} // namespace
} // namespace ortc::cpu
