// SPDX-License-Identifier: Apache-2.0
#include "targets/cpu/Processor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <fmt/format.h>

namespace ortc::cpu {

std::optional<Processor> findProcessor(llvm::StringRef name) {
  if (name == "native") name = llvm::sys::getHostCPUName();
  if (llvm::X86::parseArchX86(name, /*Only64Bit=*/true) == llvm::X86::CK_None) return std::nullopt;
  llvm::SmallVector<llvm::StringRef> features;
  llvm::X86::getFeaturesForCPU(name, features);
  auto has = [&](llvm::StringRef f) {
    return llvm::any_of(features, [&](llvm::StringRef x) { return x.ltrim('+') == f; });
  };
  Processor p;
  p.name = name.str();
  p.fma = has("fma");
  // The level of the psABI that it has, which all compilers know; what is beyond it is named alone.
  const auto level = [&](int n) {
    p.flags = {n == 1 ? std::string("-march=x86-64") : fmt::format("-march=x86-64-v{}", n)};
    for (int i = 2; i <= n; ++i)
      p.features.push_back(fmt::format("x86_64_v{}", i));
  };
  // AVX-512 F goes without saying: LLVM does not list what others imply.
  if (has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd")) {
    p.vectorBytes = 64;
    p.gigaflops = 120;
    p.dotsBytes = has("avx512vnni");
    level(4);
    for (const char* extra : {"avx512vnni", "avx512bf16"})
      if (has(extra)) {
        p.flags.push_back(fmt::format("-m{}", extra));
        p.features.push_back(extra);
      }
  } else if (has("avx2") && has("fma")) {
    p.vectorBytes = 32;
    p.gigaflops = 90;
    level(3);
  } else {
    p.gigaflops = 20;
    level(has("sse4.2") ? 2 : 1);
  }
  // Measured (findings of the kernels' benchmarks); the others keep the figures of an average
  // machine.
  if (name == "znver5") p.gigaflops = 271, p.l2Gbps = 200, p.l3Gbps = 105, p.dramGbps = 40;
  if (name == "znver4") p.gigaflops = 117, p.l2Gbps = 115, p.l3Gbps = 100, p.dramGbps = 31;
  if (name == "sapphirerapids") p.gigaflops = 125, p.l2Gbps = 140, p.l3Gbps = 27, p.dramGbps = 15;
  p.prefetchesVectors = name == "znver4" || name == "znver5";
  return p;
}

} // namespace ortc::cpu
