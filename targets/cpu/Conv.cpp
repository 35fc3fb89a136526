// SPDX-License-Identifier: Apache-2.0
// Convolutions: which of kernels/conv, kernels/depthwise and kernels/winograd fit, and their calls.
#include "targets/cpu/kernels/conv/conv.h"
#include "targets/common/catalogue/Convolution.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/conv/pack.h"
#include "targets/cpu/kernels/depthwise/pack.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/winograd/pack.h"
#include "targets/cpu/kernels/winograd/winograd.h"
#include <cmath>

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

/// A tap of zeros that is left out, or a sum of weights (Winograd), is NaN where a weight is
/// infinite: such a convolution stays a loop.
std::optional<Convolution> convOf(KernelOp kernel) {
  auto c = convolutionOf(heavyOp(kernel));
  if (!c || c->taps == 1) return c;
  ArrayRef<float> weights(c->weights.as<float>(), c->weights.size());
  return llvm::all_of(weights, [](float w) { return std::isfinite(w); }) ? c : std::nullopt;
}

struct Tile {
  int MR, NV, bytes;
};

Tile chooseTile(const Processor& p, int64_t OC) {
  if (p.vectorBytes == 64) {
    if (OC <= 16) return {14, 1, 64};
    if (OC <= 32) return {14, 2, 64};
    if (OC % 64 && OC % 48 == 0) return {8, 3, 64};
    return {6, 4, 64};
  }
  if (p.vectorBytes == 32) {
    if (OC <= 8) return {14, 1, 32};
    if (OC <= 16 || OC % 24) return OC % 16 == 0 ? Tile{6, 2, 32} : Tile{4, 3, 32};
    return {4, 3, 32};
  }
  if (OC <= 4) return {8, 1, 16};
  return OC % 12 == 0 ? Tile{4, 3, 16} : Tile{4, 2, 16};
}

double known(OpFoldResult size, double otherwise) {
  return static_cast<double>(constantSize(size).value_or(static_cast<int64_t>(otherwise)));
}

int64_t number(DictionaryAttr d, StringRef name) {
  return d.getAs<IntegerAttr>(name).getInt();
}

/// Sizes of a convolution that Winograd can do, for its planning; 0 where one is not known. None
/// for other convolutions.
std::optional<ortc_rt::WinogradArgs> winogradOf(const Convolution& conv) {
  Convolution c = conv; // accessors of ops are not const
  auto all = [](ArrayRef<int64_t> v, int64_t x) {
    return llvm::all_of(v, [&](int64_t y) { return y == x; });
  };
  if (c.n != 2 || c.groups != 1 || c.lines() != 3 || c.lastKernel() != 3 ||
      !all(c.op.getStrides(), 1) || !all(c.op.getDilations(), 1))
    return std::nullopt;
  OpBuilder b(c.op);
  ortc_rt::WinogradArgs args{};
  args.IC = c.IC, args.OC = c.OC;
  int64_t* sizes[] = {&args.images, &args.height.out, &args.width.out};
  for (unsigned i = 0; i < 3; ++i)
    *sizes[i] = constantSize(getSize(b, c.op.getInit(), i)).value_or(0);
  return args;
}

/// kernels/winograd: fewer products, more memory traffic. Transformed weights are read in full for
/// each image and seldom lie in a cache.
void winogradCandidates(Convolution& c, const Processor& p, const std::string& isa,
                        std::vector<Candidate>& rows) {
  auto args = winogradOf(c);
  if (!args || c.IC < 8 || c.OC < 8) return;
  const bool fixed = args->images && args->height.out && args->width.out;
  if (!args->images) args->images = 1;
  for (ortc_rt::ConvAxis* axis : {&args->height, &args->width})
    if (!axis->out) axis->out = 32;
  Builder b(c.op.getContext());
  for (int O : {4, 2}) {
    const ortc_rt::WinogradPlan plan(*args, O);
    Tile t = chooseTile(p, c.OC);
    const int64_t least = plan.tiles / plan.blocks;
    if (fixed && least < t.MR) t.MR = static_cast<int>(least);
    const bool even =
        fixed && ortc_rt::rowsAreEven(least, t.MR) && ortc_rt::rowsAreEven(plan.most, t.MR);
    const int64_t NR = t.NV * t.bytes / 4, products = (O + 2) * (O + 2),
                  padded = (c.OC + NR - 1) / NR * NR;
    const auto tiles = static_cast<double>(plan.tiles);
    const double compute =
        2 * tiles * static_cast<double>(products * c.IC * padded) / (0.95 * p.gigaflops);
    // Inputs and outputs of the products are written and read once; the weights come from afar.
    const double moved =
        8 * tiles * static_cast<double>(products * (plan.inPitch + plan.outPitch)) / (p.l2Gbps / 2);
    const double weights = 4 * static_cast<double>(products * c.IC * padded) / p.dramGbps;
    rows.push_back(
        {fmt::format("winograd{0}x{0}_f32_{1}x{2}_{3}", O, t.MR, NR, isa),
         (std::max(compute, weights) + weights / 4 + moved) / 1e3,
         b.getDictionaryAttr(
             {b.getNamedAttr("O", b.getI64IntegerAttr(O)),
              b.getNamedAttr("MR", b.getI64IntegerAttr(t.MR)),
              b.getNamedAttr("NV", b.getI64IntegerAttr(t.NV)),
              b.getNamedAttr("bytes", b.getI64IntegerAttr(t.bytes)),
              b.getNamedAttr("rows", b.getStringAttr(even ? "Rows::Even" : "Rows::Any"))})});
  }
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  const Processor& processor = machine.processor;
  auto c = convOf(kernel);
  if (!c) return;
  Builder b(kernel.getContext());
  OpBuilder ob(kernel);
  double pixels = 1;
  for (int64_t i = 0; i < c->n; ++i)
    pixels *= known(getSize(ob, c->op.getInit(), i + 1), 32);
  pixels *= known(getSize(ob, c->op.getInit(), 0), 1);
  double flops = 2 * pixels * static_cast<double>(c->groups * c->OC * c->IC * c->taps);
  std::string isa = isaName(processor).str();
  auto i64 = [&](StringRef name, int64_t v) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(v));
  };
  if (c->depthwise) {
    int64_t KW = c->lastKernel(), SW = c->op.getStrides()[c->n - 1];
    bool fast = c->op.getDilations()[c->n - 1] == 1 && c->lines() <= 64 && KW <= 7;
    double micros = std::max(flops / (processor.gigaflops / 2),
                             8 * pixels * static_cast<double>(c->groups) / processor.l2Gbps) /
                    1e3;
    if (fast) {
      int64_t width = constantSize(getSize(ob, c->op.getInit(), c->n)).value_or(-1);
      int64_t TW = processor.vectorBytes == 64 ? 7 : 4;
      int64_t tail = width > 0 && width % TW ? width % TW : 1;
      rows.push_back({fmt::format("depthwise_f32_{}tap_s{}_{}", KW, SW, isa), micros,
                      b.getDictionaryAttr({i64("TW", TW), i64("Tail", tail), i64("KW", KW),
                                           i64("SW", SW), i64("bytes", processor.vectorBytes),
                                           b.getNamedAttr("fast", b.getBoolAttr(true))})});
    } else {
      rows.push_back({fmt::format("depthwise_any_f32_{}", isa), micros * 2,
                      b.getDictionaryAttr({i64("bytes", processor.vectorBytes),
                                           b.getNamedAttr("fast", b.getBoolAttr(false))})});
    }
    return;
  }
  if (!machine.strict) winogradCandidates(*c, processor, isa, rows);
  Tile t = chooseTile(processor, c->OC);
  // M = all output pixels, when that is known, decides which heights of tile are needed.
  bool fixed = true;
  for (int64_t i = 0; i <= c->n; ++i)
    fixed &= constantSize(getSize(ob, c->op.getInit(), i)).has_value();
  auto M = static_cast<int64_t>(pixels);
  if (fixed && M < t.MR) t.MR = static_cast<int>(M);
  double lost = static_cast<double>((c->OC + t.NV * t.bytes / 4 - 1) / (t.NV * t.bytes / 4) *
                                    (t.NV * t.bytes / 4)) /
                static_cast<double>(c->OC);
  double micros = flops * lost / processor.gigaflops / 1e3;
  rows.push_back({fmt::format("conv_f32_{}x{}_{}", t.MR, t.NV * t.bytes / 4, isa), micros,
                  b.getDictionaryAttr(
                      {i64("MR", t.MR), i64("NV", t.NV), i64("bytes", t.bytes),
                       b.getNamedAttr("rows", b.getStringAttr(rowsOf(fixed ? M : -1, t.MR)))})});
}

std::optional<OpFoldResult> workspace(KernelOp kernel, OpBuilder& b) {
  auto c = convOf(kernel);
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  if (c->depthwise) {
    if (!parameters.getAs<BoolAttr>("fast").getValue()) return std::nullopt;
    return OpFoldResult(b.getIndexAttr(c->groups * 4));
  }
  if (parameters.get("O"))
    return OpFoldResult(
        b.getIndexAttr(4 * ortc_rt::winogradWorkspaceFloats(
                               *winogradOf(*c), static_cast<int>(number(parameters, "O")))));
  // What it needs does not depend on the size of the image.
  ortc_rt::ConvArgs args{};
  args.IC = c->IC, args.OC = c->OC, args.groups = c->groups;
  args.height.kernel = c->lines(), args.width.kernel = c->lastKernel();
  return OpFoldResult(b.getIndexAttr(
      4 * ortc_rt::convWorkspaceFloats(args, static_cast<int>(number(parameters, "MR")))));
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto c = convOf(kernel);
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  OpBuilder ob(kernel);
  Location loc = kernel.getLoc();
  int64_t n = c->n;
  Sizes xs = strides(c->op.getInput()), ys = strides(kernel.getResult(0)),
        out = getSizes(ob, c->op.getInit());
  if (constantSize(xs[n + 1]) != 1 || !hasOnePitch(ob, loc, ys, out)) return LoweredKernel();

  std::vector<float> w(c->weights.size());
  std::memcpy(w.data(), c->weights.data.get(), w.size() * 4);
  const int64_t bytes = number(parameters, "bytes");
  const int O =
      parameters.get("O") ? static_cast<int>(number(parameters, "O")) : 0; // Winograd's tile
  const int width =
      static_cast<int>(c->depthwise ? bytes / 4 : number(parameters, "NV") * bytes / 4);
  HostTensor packed(c->weights.elementType,
                    {c->depthwise ? packedDepthwiseFloats(c->groups, c->taps, width)
                     : O          ? packedWinogradFloats(c->OC, c->IC, O, width)
                                  : packedConvFloats(c->OC, c->IC, c->taps, c->groups, width)});
  if (c->depthwise)
    packDepthwise(w.data(), c->groups, c->taps, width, packed.as<float>());
  else if (O)
    packWinograd(w.data(), c->OC, c->IC, O, width, packed.as<float>());
  else
    packConv(w.data(), c->OC, c->IC, c->taps, c->groups, width, packed.as<float>());
  Value weights =
      ob.create<arith::ConstantOp>(c->op.getWeights().getLoc(), toAttribute(packed, "packed"));

  KernelWriter writer(kernel, module, [&](Value v) {
    return v == weights ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  std::string callee = O                                               ? "winograd_f32"
                       : !c->depthwise                                 ? "conv_f32"
                       : parameters.getAs<BoolAttr>("fast").getValue() ? "depthwise_f32"
                                                                       : "depthwise_any_f32";
  TemplateCall call(writer, callee,
                    O              ? "WinogradArgs"
                    : c->depthwise ? "DepthwiseArgs"
                                   : "ConvArgs");
  if (O) call.parameter("O", O);
  if (!c->depthwise) {
    call.parameter("MR", number(parameters, "MR"));
    call.parameter("NV", number(parameters, "NV"));
    call.parameter("Bytes", bytes);
    call.parameter("Rows", parameters.getAs<StringAttr>("rows").getValue());
  } else {
    if (callee == "depthwise_f32")
      for (const char* p : {"TW", "Tail", "KW", "SW"})
        call.parameter(p, number(parameters, p));
    call.parameter("Bytes", bytes);
  }
  call.buffer("x", writer.place(c->op.getInput()).buffer);
  call.buffer(O ? "u" : "w", writer.place(weights).buffer);
  call.buffer("y", writer.result(0).buffer);
  if (callee != "depthwise_any_f32") call.buffer("workspace", writer.workspace());
  call.size("images", out[0]);
  if (c->depthwise) {
    call.size("C", c->groups);
  } else {
    call.size("IC", c->IC);
    call.size("OC", c->OC);
    if (!O) call.size("groups", c->groups);
  }
  windowSizes(call, ob, *c, xs, ys, /*is3x3=*/O != 0);
  if (!c->depthwise && prefetchPays(kernel)) call.size("prefetchBytes", kPrefetchBytes);
  call.finish(kernel, c->op.getResult(), static_cast<unsigned>(n + 1));
  return writer.finish();
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"conv_", "depthwise_", "winograd"},
                   .candidates = candidates,
                   .write = write,
                   .workspace = workspace});

} // namespace
} // namespace ortc::cpu
