// SPDX-License-Identifier: Apache-2.0
#include "targets/cpu/Processor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

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
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")) {
    p.vectorBytes = 64;
    p.flags = {"-march=x86-64-v4"};
    p.gigaflops = 120;
    if (has("avx512vnni")) p.flags.push_back("-mavx512vnni");
    if (has("avx512bf16")) p.flags.push_back("-mavx512bf16");
  } else if (has("avx2") && has("fma")) {
    p.vectorBytes = 32;
    p.flags = {"-march=x86-64-v3"};
    p.gigaflops = 90;
  } else if (has("sse4.2")) {
    p.flags = {"-march=x86-64-v2"};
    p.gigaflops = 20;
  } else {
    p.flags = {"-march=x86-64"};
    p.gigaflops = 20;
  }
  // Measured (docs/performance.md); the others keep the figures of an average machine.
  if (name == "znver5") p.gigaflops = 271, p.l2Gbps = 200, p.l3Gbps = 105, p.dramGbps = 40;
  if (name == "znver4") p.gigaflops = 117, p.l2Gbps = 115, p.l3Gbps = 100, p.dramGbps = 31;
  return p;
}

} // namespace ortc::cpu
