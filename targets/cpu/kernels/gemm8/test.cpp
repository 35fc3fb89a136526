// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit numbers against a plain loop: equal to the last bit, for both signs of A, both
// groups, and columns with and without offsets, with edges in both directions, pitches, batches,
// long rows and memory that ends in an unmapped page.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "targets/cpu/kernels/TestSupport.h"
#include "targets/cpu/kernels/gemm8/gemm8.h"
#include "targets/cpu/kernels/gemm8/pack.h"

using namespace ortc::cpu;
using namespace ortc::cpu::testing;

namespace {

// Bytes that end at an unmapped page.
class GuardedBytes {
public:
  explicit GuardedBytes(int64_t n) : memory((n + 3) / 4), size(n) {}
  int8_t* data() { return reinterpret_cast<int8_t*>(memory.end()) - size; }
  int8_t& operator[](int64_t i) { return data()[i]; }
  // All 256 values, the extreme ones more often than the others.
  void randomise(uint32_t seed) {
    for (int64_t i = 0; i < size; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const uint32_t kind = seed >> 28, value = seed >> 8;
      data()[i] = kind == 0 ? int8_t(-128) : kind == 1 ? int8_t(127) : int8_t(value);
    }
  }

private:
  Guarded memory;
  int64_t size;
};

// As QLinearMatMul does it: scale per column, half to even, saturated to u8.
struct Requantise {
  const float* scale;
  float zero;
  template <class V> ORTC_INLINE auto operator()(V acc, int64_t, int64_t n, int lanes) const {
    using F = like<float, V>;
    const F scaled = convert<float>(acc) * load_lanes<F>(scale + n, lanes);
    const F rounded = maximum(minimum(round_even(scaled) + zero, F{} + 255.0f), F{});
    return bits_as<like<int8_t, V>>(cast<uint8_t>(rounded));
  }
};
struct AddRow {
  const int32_t* row;
  template <class V> ORTC_INLINE auto operator()(V acc, int64_t m, int64_t, int) const {
    return acc + row[m];
  }
};

struct Shape {
  int64_t M, N, K, batch = 1;
  int64_t ldaExtra = 0, ldcExtra = 0;
};

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets = false>
void check(const Shape& s, const executor& pool = serial()) {
  const PanelLayout layout{NV * Bytes / 4, Group, Group == 4 && !Unsigned, Offsets};
  const int64_t lda = s.K + s.ldaExtra, ldc = s.N + s.ldcExtra;
  const int64_t panels = packedGemm8Bytes(s.K, s.N, layout);
  GuardedBytes a(s.batch * s.M * lda - s.ldaExtra), bytes(s.batch * s.K * s.N),
      packed(s.batch * panels), narrow(s.batch * s.M * ldc - s.ldcExtra);
  std::vector<int32_t> wide(s.batch * s.M * ldc, 77), row(s.batch * s.M);
  std::vector<float> scale(s.N);
  a.randomise(1), bytes.randomise(2);
  std::vector<int16_t> b(s.batch * s.K * s.N); // u8 less a zero point for each column, or s8
  for (size_t i = 0; i < b.size(); ++i) {
    const int8_t x = bytes[int64_t(i)];
    b[i] = int16_t(Offsets ? int(uint8_t(x)) - int(int64_t(i) % s.N * 37 % 256) : x);
  }
  for (int64_t i = 0; i < s.N; ++i)
    scale[i] = 0.003f + 0.0001f * float(i % 7);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = int32_t(i * 2654435761u); // sums wrap
  for (int64_t i = 0; i < s.batch; ++i)
    packGemm8(b.data() + i * s.K * s.N, s.K, s.N, s.N, 1, layout, packed.data() + i * panels);
  const auto run = [&](auto* c, const auto& epilogue) {
    Gemm8Args<std::remove_reference_t<decltype(*c)>> g{a.data(), lda, packed.data(), c,
                                                       ldc,      s.M, s.N,           s.K};
    GemmBatch& batch = s.batch % 2 ? g.inner : g.outer;
    batch = {s.batch, s.M * lda, panels, s.M * ldc};
    gemm8<MR, NV, Bytes, Group, Unsigned, Offsets>(g, epilogue, pool);
  };
  run(wide.data(), AddRow{row.data()});
  run(narrow.data(), Requantise{scale.data(), 3.0f});

  INFO("tile " << MR << "x" << layout.NR << ", group " << Group << (Unsigned ? ", u8" : ", s8")
               << (Offsets ? ", offsets" : "") << ": M=" << s.M << " N=" << s.N << " K=" << s.K
               << " batch=" << s.batch);
  int64_t wrong = 0;
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t m = 0; m < s.M; ++m)
      for (int64_t n = 0; n < s.N; ++n) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < s.K; ++k) {
          const int8_t x = a[(i * s.M + m) * lda + k];
          sum += uint32_t(Unsigned ? int32_t(uint8_t(x)) : x) *
                 uint32_t(int32_t(b[(i * s.K + k) * s.N + n]));
        }
        const int64_t at = (i * s.M + m) * ldc + n;
        wrong += uint32_t(wide[at]) != sum + uint32_t(row[i * s.M + m]);
        const float q = std::nearbyint(float(int32_t(sum)) * scale[n]) + 3.0f;
        wrong += uint8_t(narrow[at]) != uint8_t(std::max(0.0f, std::min(255.0f, q)));
      }
  CHECK(wrong == 0);
  for (int64_t m = 0; m + 1 < s.batch * s.M; ++m) // what lies between rows stays as it was
    for (int64_t n = s.N; n < ldc; ++n)
      REQUIRE(wide[m * ldc + n] == 77);
}

template <int MR, int NV, int Bytes, int Group, bool Unsigned, bool Offsets> void checkTile() {
  constexpr int64_t NR = NV * Bytes / 4;
  for (int64_t M : {1, 2, 3, 7, 8, 13})
    for (int64_t N : {int64_t(1), NR - 1, NR, 2 * NR + 3})
      check<MR, NV, Bytes, Group, Unsigned, Offsets>({M, N, 19});
  for (int64_t K : {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130})
    check<MR, NV, Bytes, Group, Unsigned, Offsets>({MR + 1, NR + 1, K, 1, 3, 5});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({2 * MR + 1, NR + 5, 70, 3, 3, 7});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({MR, NR, 33, 4, 0, 1});
  // Rows so long that fewer than MR are staged, and many blocks.
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({MR + 1, 3, Group * (kStageUnits / 3 - 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({2, 3, Group * (kStageUnits - 1)});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>(
      {9 * MR + 2, 2 * NR, Group * (kStageUnits / (4 * MR) - 1) - 1});
  check<MR, NV, Bytes, Group, Unsigned, Offsets>({MR, NR, 0});
}
template <int MR, int NV, int Bytes, bool Offsets> void checkSigns() {
  checkTile<MR, NV, Bytes, 2, true, Offsets>();
  checkTile<MR, NV, Bytes, 2, false, Offsets>();
  checkTile<MR, NV, Bytes, 4, true, Offsets>(); // plain arithmetic where there is no instruction
  checkTile<MR, NV, Bytes, 4, false, Offsets>();
}
template <int MR, int NV, int Bytes> void checkAll() {
  checkSigns<MR, NV, Bytes, false>();
  checkSigns<MR, NV, Bytes, true>();
}

// Each build tests the vectors of its instruction set: there is a build for each.
TEST_CASE("tiles") {
#if defined(__AVX512F__)
  checkAll<8, 3, 64>();
  checkAll<6, 4, 64>();
  checkAll<1, 8, 64>();
#elif defined(__AVX__)
  checkAll<6, 2, 32>();
  checkAll<4, 3, 32>();
  checkAll<1, 8, 32>();
#else
  checkAll<4, 2, 16>();
  checkAll<1, 8, 16>();
#endif
}

TEST_CASE("any number of threads gives the same") {
  ThreadedPool two{2}, five{5};
  for (const executor& pool : {two.get(), five.get()}) {
    check<4, 2, 16, 2, true>({150, 150, 300}, pool);
    check<4, 2, 16, 4, false>({150, 150, 300, 2}, pool);
    check<1, 4, 16, 2, false, true>({1, 3000, 1500}, pool);
  }
}

} // namespace
