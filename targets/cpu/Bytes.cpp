// SPDX-License-Identifier: Apache-2.0
#include "targets/cpu/Bytes.h"
#include "targets/cpu/kernels/gemm8/tile8.h"

using namespace mlir;

namespace ortc::cpu {

ByteTile chooseByteTile(const Processor& p, int64_t M, int64_t N) {
  ByteTile t{4, 2, p.vectorBytes, p.dotsBytes ? 4 : 2};
  if (M == 1)
    t.MR = 1, t.NV = 8;
  else if (p.vectorBytes == 64)
    t.MR = 6, t.NV = 4;
  // No wider a tile than the columns fill.
  const int64_t lanes = p.vectorBytes / 4;
  t.NV = static_cast<int>(std::min<int64_t>(t.NV, std::max<int64_t>((N + lanes - 1) / lanes, 1)));
  if (t.NV == 1 && M != 1) t.MR = 8;
  if (M > 0 && M < t.MR) t.MR = static_cast<int>(M);
  return t;
}

ByteTile byteTileOf(KernelOp kernel) {
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  auto number = [&](StringRef name) {
    return static_cast<int>(parameters.getAs<IntegerAttr>(name).getInt());
  };
  return {number("MR"), number("NV"), number("bytes"), number("group")};
}

bool bytesFit(ByteTile t, int64_t K) {
  return K <= (ortc_rt::kStageUnits - 1) * t.group;
}

bool areByteWeights(const HostTensor& weights, int64_t channels, int64_t channelStride,
                    int64_t stride) {
  if (weights.elementType.isInteger(8)) return true;
  if (!weights.elementType.isInteger(16)) return false;
  const int64_t K = channels ? weights.size() / channels : 0;
  for (int64_t c = 0; c < channels; ++c)
    if (int32_t offset;
        !columnOffset(weights.as<int16_t>() + c * channelStride, K, stride, &offset))
      return false;
  return true;
}

std::vector<int16_t> numbersOf(const HostTensor& weights) {
  const int64_t n = weights.size();
  if (weights.elementType.isInteger(16)) return {weights.as<int16_t>(), weights.as<int16_t>() + n};
  return {weights.as<int8_t>(), weights.as<int8_t>() + n};
}

Candidate byteCandidate(MLIRContext* context, const Processor& p, StringRef family, bool isUnsigned,
                        ByteTile t, double M, double N, double K) {
  // vpmaddwd does as many operations as multiply-adds in f32 do, vpdpbusd four times as many.
  const double rate = p.gigaflops * (t.group == 4 ? 4 : 1);
  const double micros = std::max(2 * M * N * K / rate, N * K / p.l3Gbps) / 1e3 + 0.05;
  Builder b(context);
  auto number = [&](StringRef name, int64_t v) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(v));
  };
  return {fmt::format("{}_{}_{}x{}_{}{}", family.str(), isUnsigned ? "u8" : "s8", t.MR, t.NR(),
                      isaName(p).str(), t.group == 4 ? "vnni" : ""),
          micros,
          b.getDictionaryAttr({number("MR", t.MR), number("NV", t.NV), number("bytes", t.bytes),
                               number("group", t.group)})};
}

std::string byteArgs(StringRef name, KernelOp kernel) {
  Type out = getElementTypeOrSelf(kernel.getResult(0).getType());
  return fmt::format("{}<{}>", name.str(),
                     out.isF32()        ? "float"
                     : out.isInteger(8) ? "int8_t"
                                        : "int32_t");
}

void byteParameters(catalogue::TemplateCall& call, ByteTile t, const PanelLayout& layout,
                    bool isUnsigned) {
  call.parameter("MR", t.MR);
  call.parameter("NV", t.NV);
  call.parameter("Bytes", t.bytes);
  call.parameter("Group", t.group);
  call.parameter("Unsigned", StringRef(isUnsigned ? "true" : "false"));
  call.parameter("Offsets", StringRef(layout.offsets ? "true" : "false"));
}

} // namespace ortc::cpu
