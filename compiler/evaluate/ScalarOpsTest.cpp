// SPDX-License-Identifier: Apache-2.0
// The meaning of scalar operations at the edges, and the number formats.
#include "compiler/evaluate/TestSupport.h"
#include "llvm/ADT/APFloat.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>

using namespace ortc;
using namespace ortc::test;
using V = std::vector<double>;

namespace {
const double NaN = std::nan(""), inf = INFINITY;

/// Applies `op` (text with %x and %y) elementwise.
V map(llvm::StringRef op, llvm::StringRef in, llvm::StringRef out, llvm::ArrayRef<double> x,
      llvm::ArrayRef<double> y) {
  std::string text = fmt::format(R"(
    func.func @main(%a: tensor<{0}x{1}>, %b: tensor<{0}x{1}>) -> tensor<{0}x{2}> {{
      %e = tensor.empty() : tensor<{0}x{2}>
      %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}}
           ins(%a, %b : tensor<{0}x{1}>, tensor<{0}x{1}>) outs(%e : tensor<{0}x{2}>) {{
      ^bb0(%x: {1}, %y: {1}, %o: {2}):
        %v = {3}
        linalg.yield %v : {2}
      }} -> tensor<{0}x{2}>
      return %r : tensor<{0}x{2}>
    }})",
                                 x.size(), in.str(), out.str(), op.str());
  Module m(text);
  return values(m.run({m.tensor(in, {static_cast<int64_t>(x.size())}, x),
                       m.tensor(in, {static_cast<int64_t>(y.size())}, y)})[0]);
}

void same(const V& a, const V& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("element " << i << ": " << a[i] << " and " << b[i]);
    REQUIRE((std::isnan(a[i]) ? std::isnan(b[i])
                              : a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])));
  }
}
} // namespace

TEST_CASE("integer division has an answer for everything") {
  V x{7, -7, 7, -7, 5, -128, -128}, y{2, 2, -2, -2, 0, -1, 0};
  same(map("arith.divsi %x, %y : i8", "i8", "i8", x, y), {3, -3, -3, 3, 0, -128, 0});
  same(map("arith.floordivsi %x, %y : i8", "i8", "i8", x, y), {3, -4, -4, 3, 0, -128, 0});
  same(map("arith.ceildivsi %x, %y : i8", "i8", "i8", x, y), {4, -3, -3, 4, 0, -128, 0});
  same(map("arith.remsi %x, %y : i8", "i8", "i8", x, y), {1, -1, 1, -1, 0, 0, 0});
  same(map("arith.divui %x, %y : i8", "i8", "i8", {-1, -2, 5}, {2, -1, 0}), {127, 0, 0});
  same(map("arith.remui %x, %y : i8", "i8", "i8", {-1, -2, 5}, {16, -1, 0}), {15, -2, 0});
  same(map("arith.divsi %x, %y : i64", "i64", "i64", {-9223372036854775808.0}, {-1}),
       {-9223372036854775808.0});
}

TEST_CASE("every width wraps, shifts are defined") {
  same(map("arith.addi %x, %y : i4", "i4", "i4", {7, -8}, {1, -1}), {-8, 7});
  same(map("arith.muli %x, %y : i16", "i16", "i16", {300}, {300}), {90000 - 65536});
  same(map("arith.addi %x, %y : i1", "i1", "i1", {1, 1}, {1, 0}), {0, 1});
  same(map("arith.shli %x, %y : i32", "i32", "i32", {1, 1, 1}, {31, 32, -1}),
       {-2147483648.0, 0, 0});
  same(map("arith.shrsi %x, %y : i32", "i32", "i32", {-8, -8, 8}, {1, 32, 99}), {-4, -1, 0});
  same(map("arith.shrui %x, %y : i32", "i32", "i32", {-8, -8}, {1, 32}), {2147483644.0, 0});
  same(map("arith.extui %x : i8 to i32", "i8", "i32", {-1}, {0}), {255});
  same(map("arith.extsi %x : i1 to i32", "i1", "i32", {1}, {0}), {-1});
  same(map("arith.extui %x : i1 to i32", "i1", "i32", {1}, {0}), {1});
  same(map("arith.trunci %x : i32 to i4", "i32", "i4", {23}, {0}), {7});
  same(map("math.ctlz %x : i8", "i8", "i8", {0, 1, -1}, {0, 0, 0}), {8, 7, 0});
  same(map("math.cttz %x : i8", "i8", "i8", {0, 8, -1}, {0, 0, 0}), {8, 3, 0});
  same(map("math.ipowi %x, %y : i32", "i32", "i32", {3, -1, 2, 1}, {4, -3, -1, -5}),
       {81, -1, 0, 1});
}

TEST_CASE("comparisons: all predicates") {
  V x{1, 2, 3, NaN}, y{2, 2, 2, 2};
  struct {
    const char* name;
    V expected;
  } floats[] = {{"false", {0, 0, 0, 0}}, {"oeq", {0, 1, 0, 0}}, {"ogt", {0, 0, 1, 0}},
                {"oge", {0, 1, 1, 0}},   {"olt", {1, 0, 0, 0}}, {"ole", {1, 1, 0, 0}},
                {"one", {1, 0, 1, 0}},   {"ord", {1, 1, 1, 0}}, {"ueq", {0, 1, 0, 1}},
                {"ugt", {0, 0, 1, 1}},   {"uge", {0, 1, 1, 1}}, {"ult", {1, 0, 0, 1}},
                {"ule", {1, 1, 0, 1}},   {"une", {1, 0, 1, 1}}, {"uno", {0, 0, 0, 1}},
                {"true", {1, 1, 1, 1}}};
  for (auto& p : floats) {
    INFO(p.name);
    // i1 reads as a signed number: -1
    V r = map(fmt::format("arith.cmpf {}, %x, %y : f32", p.name), "f32", "i1", x, y);
    for (double& v : r)
      v = std::fabs(v);
    REQUIRE(r == p.expected);
  }
  struct {
    const char* name;
    V expected;
  } integers[] = {{"eq", {0, 1, 0, 0}},  {"ne", {1, 0, 1, 1}},  {"slt", {1, 0, 0, 1}},
                  {"sle", {1, 1, 0, 1}}, {"sgt", {0, 0, 1, 0}}, {"sge", {0, 1, 1, 0}},
                  {"ult", {1, 0, 0, 0}}, {"ule", {1, 1, 0, 0}}, {"ugt", {0, 0, 1, 1}},
                  {"uge", {0, 1, 1, 1}}};
  for (auto& p : integers) {
    INFO(p.name);
    V r = map(fmt::format("arith.cmpi {}, %x, %y : i8", p.name), "i8", "i1", {1, 2, 3, -1},
              {2, 2, 2, 2});
    for (double& v : r)
      v = std::fabs(v);
    REQUIRE(r == p.expected);
  }
}

TEST_CASE("minima and maxima with NaN and zeros") {
  V x{1, NaN, 1, -0.0, 0.0}, y{2, 1, NaN, 0.0, -0.0};
  same(map("arith.maximumf %x, %y : f32", "f32", "f32", x, y), {2, NaN, NaN, -0.0, 0.0});
  same(map("arith.minimumf %x, %y : f32", "f32", "f32", x, y), {1, NaN, NaN, -0.0, 0.0});
  same(map("arith.maxnumf %x, %y : f32", "f32", "f32", x, y), {2, 1, 1, -0.0, 0.0});
  same(map("arith.minnumf %x, %y : f32", "f32", "f32", x, y), {1, 1, 1, -0.0, 0.0});
}

TEST_CASE("floats to integers saturate, NaN is 0") {
  V x{1.9, -1.9, 300, -300, NaN, inf, -inf};
  V z(x.size());
  same(map("arith.fptosi %x : f32 to i8", "f32", "i8", x, z), {1, -1, 127, -128, 0, 127, -128});
  same(map("arith.fptoui %x : f32 to i8", "f32", "i8", x, z),
       {1, 0, -1, 0, 0, -1, 0}); // 255 reads as -1
  same(map("arith.fptosi %x : f64 to i64", "f64", "i64", {1e30, -1e30}, {0, 0}),
       {9223372036854775807.0, -9223372036854775808.0});
  same(map("arith.uitofp %x : i8 to f32", "i8", "f32", {-1}, {0}), {255});
  same(map("arith.sitofp %x : i8 to f16", "i8", "f16", {-128}, {0}), {-128});
  // 2^24 + 1 is a tie, and one more far below decides it: one rounding, not two
  same(map("arith.sitofp %x : i64 to f32", "i64", "f32", {9007199791611906.0 + 0}, {0}),
       {static_cast<double>(static_cast<float>(int64_t(9007199791611906)))});
}

TEST_CASE("rounding to the type after each op") {
  same(map("arith.addf %x, %y : f32", "f32", "f32", {16777216}, {1}), {16777216});
  same(map("arith.addf %x, %y : f16", "f16", "f16", {2048, 60000, 65504}, {1, 60000, 16}),
       {2048, inf, inf});
  same(map("arith.addf %x, %y : bf16", "bf16", "bf16", {256, 256}, {1, 3}), {256, 260});
  same(map("arith.mulf %x, %y : f16", "f16", "f16", {5.9604644775390625e-8, 6.103515625e-5},
           {0.5, 0.5}),
       {0, 3.0517578125e-5});
  same(map("arith.truncf %x : f32 to f8E4M3FN", "f32", "f8E4M3FN",
           {1.0625, 448, 464.1, 1000, -0.0, NaN}, V(6)),
       {1, 448, NaN, NaN, -0.0, NaN});
  same(map("arith.truncf %x : f32 to f8E5M2", "f32", "f8E5M2", {57344, 65536, -inf}, V(3)),
       {57344, inf, -inf});
  same(map("arith.truncf %x : f32 to f8E4M3FNUZ", "f32", "f8E4M3FNUZ", {240, -0.0, inf}, V(3)),
       {240, 0, NaN});
  same(map("math.tanh %x : f32", "f32", "f32", {0.5}, {0}), {static_cast<float>(std::tanh(0.5))});
  same(map("math.roundeven %x : f32", "f32", "f32", {0.5, 1.5, -2.5}, V(3)), {0, 2, -2});
  same(map("math.round %x : f32", "f32", "f32", {0.5, 1.5, -2.5}, V(3)), {1, 2, -3});
  same(map("arith.bitcast %x : f32 to i32", "f32", "i32", {1.0, -0.0}, V(2)),
       {0x3f800000, -2147483648.0});
  same(map("arith.bitcast %x : i16 to bf16", "i16", "bf16", {0x3f80}, V(1)), {1});
}

TEST_CASE("small formats agree with APFloat on every code and on ties") {
  Module m("module {}");
  for (const char* name : {"f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"}) {
    INFO(name);
    auto type = mlir::cast<mlir::FloatType>(m.type(name));
    CellType cell = cellType(type);
    const llvm::fltSemantics& semantics = type.getFloatSemantics();
    int wrong = 0;
    double previous = 0;
    for (uint64_t code = 0; code < (uint64_t(1) << type.getWidth()); ++code) {
      llvm::APFloat f(semantics, llvm::APInt(type.getWidth(), code));
      bool lossy;
      llvm::APFloat wide = f;
      wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      double expected = wide.convertToDouble(), got = decodeDouble(cell, code);
      wrong += std::isnan(expected)
                   ? !std::isnan(got)
                   : expected != got || std::signbit(expected) != std::signbit(got);
      if (!std::isnan(got)) wrong += encodeDouble(cell, got) != code;
      // halfway to the neighbour, and a little beside it
      for (double x : {(previous + got) / 2, (previous + got) / 2 * (1 + 1e-9), got * 1.001}) {
        if (std::isnan(x) || std::isinf(x)) continue;
        llvm::APFloat r(x);
        r.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lossy);
        if (r.isNaN()) {
          wrong += !std::isnan(decodeDouble(cell, encodeDouble(cell, x)));
          continue;
        }
        wrong += r.bitcastToAPInt().getZExtValue() != encodeDouble(cell, x);
      }
      previous = got;
    }
    REQUIRE(wrong == 0);
  }
}
