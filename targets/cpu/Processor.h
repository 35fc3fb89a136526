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
  std::vector<std::string>
      flags; // for g++ and clang alike, also for processors that an older g++ does not know
  // Rates of one core, for estimates: the order of choices matters, not the absolute time.
  double gigaflops = 40; // f32, multiply and add counted as two
  double l2Gbps = 100, l3Gbps = 60, dramGbps = 20;
};

/// None when LLVM does not know the name. "native" is the machine that the compiler runs on.
std::optional<Processor> findProcessor(llvm::StringRef name);

} // namespace ortc::cpu
