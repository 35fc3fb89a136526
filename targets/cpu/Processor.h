// SPDX-License-Identifier: Apache-2.0
// What is known of a processor: its instruction sets, and how fast it computes and reads. Names are
// LLVM's.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace ortc::cpu {

struct Processor {
  std::string name;     // "x86-64-v3", "znver4"
  int vectorBytes = 16; // 64: AVX-512, 32: AVX2 with FMA, 16: what every x86-64 has
  bool fma = false;
  bool dotsBytes = false; // sums of four products of 8-bit numbers: AVX-512 VNNI
  std::vector<std::string>
      flags; // for g++ and clang alike, also for processors that an older g++ does not know
  /// What code with these flags needs, by the names of runtime_min/rt/processor.h, where a level
  /// includes those below it.
  std::vector<std::string> features;
  // Rates of one core, for estimates: the order of choices matters, not the absolute time.
  double gigaflops = 40; // f32, multiply and add counted as two
  /// A single row of A reads weights as one stream: is it faster when they are fetched ahead by
  /// instructions? (On Intel's, which fetch on their own, they cost a tenth.)
  bool prefetchesVectors = false;
  double l2Gbps = 100, l3Gbps = 60, dramGbps = 20;
};

/// The word of kernel names for its vectors.
inline llvm::StringRef isaName(const Processor& p) {
  return p.vectorBytes == 64 ? "avx512" : p.vectorBytes == 32 ? "avx2" : "sse";
}

/// None when LLVM does not know the name. "native" is the machine that the compiler runs on.
std::optional<Processor> findProcessor(llvm::StringRef name);

} // namespace ortc::cpu
