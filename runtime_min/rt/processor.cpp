// SPDX-License-Identifier: 0BSD
// Bits as in Intel's Software Developer's Manual, volume 2, CPUID, and AMD's manual, volume 3,
// appendix E.
#include "processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

ORTC_RT_BEGIN

#if defined(__x86_64__)

namespace {

struct registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

registers ask(unsigned leaf, unsigned subleaf) {
  registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx); // all zero: no such leaf
  return r;
}

constexpr unsigned bits(unsigned a, unsigned b = 32, unsigned c = 32, unsigned d = 32,
                        unsigned e = 32, unsigned f = 32) {
  const unsigned all[] = {a, b, c, d, e, f};
  unsigned mask = 0;
  for (const unsigned bit : all)
    if (bit < 32) mask |= 1u << bit;
  return mask;
}

constexpr bool has(unsigned word, unsigned mask) {
  return (word & mask) == mask;
}

// Which registers the operating system saves (XCR0); only asked when OSXSAVE says that it may be.
unsigned saved_registers() {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

} // namespace

uint64_t processor_features() {
  const registers basic = ask(1, 0), wide = ask(7, 0), more = ask(7, 1), amd = ask(0x80000001, 0);
  uint64_t found = 0;
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
  if (!has(basic.ecx, bits(0, 9, 13, 19, 20, 23)) || !has(amd.ecx, bits(0))) return found;
  found |= x86_64_v2;
  if (!has(basic.ecx, bits(27))) return found; // OSXSAVE
  const unsigned saved = saved_registers();
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; XMM and YMM
  if (!has(basic.ecx, bits(12, 22, 28, 29)) || !has(wide.ebx, bits(3, 5, 8)) ||
      !has(amd.ecx, bits(5)) || !has(saved, bits(1, 2)))
    return found;
  found |= x86_64_v3;
  // F, DQ, CD, BW, VL; opmask and both halves of ZMM
  if (!has(wide.ebx, bits(16, 17, 28, 30, 31)) || !has(saved, bits(5, 6, 7))) return found;
  found |= x86_64_v4;
  if (has(wide.ecx, bits(11))) found |= avx512vnni;
  if (has(more.eax, bits(5))) found |= avx512bf16;
  return found;
}

#else

uint64_t processor_features() {
  return 0;
}

#endif

ORTC_RT_END
