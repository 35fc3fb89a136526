// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "compiler/lower/GroupSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

/// [lower bound, upper bound, step, additions] of each loop after the pass; -1: not constant.
std::vector<std::vector<int64_t>> grouped(const std::string& end, const std::string& body,
                                          const std::string& attribute = "{ortc.sum}") {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, arith::ArithDialect, scf::SCFDialect,
                      memref::MemRefDialect>();
  std::string text = R"(
func.func @kernel(%m: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = )" + end + R"(
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%a = %zero) -> f32 {
    %v = memref.load %m[%i] : memref<?xf32>
)" + body + "    scf.yield %s : f32\n  } " +
                     attribute + "\n  return %r : f32\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  auto function = module->lookupSymbol<func::FuncOp>("kernel");
  ortc::groupSums(function);
  REQUIRE(succeeded(verify(*module)));
  std::vector<std::vector<int64_t>> loops;
  function.walk([&](scf::ForOp loop) {
    CHECK(!loop->hasAttr(ortc::kSumAttr));
    auto adds = loop.getBody()->getOps<arith::AddFOp>();
    loops.push_back({getConstantIntValue(loop.getLowerBound()).value_or(-1),
                     getConstantIntValue(loop.getUpperBound()).value_or(-1),
                     getConstantIntValue(loop.getStep()).value_or(-1),
                     std::distance(adds.begin(), adds.end())});
  });
  return loops;
}

const std::string sum = "    %s = arith.addf %a, %v : f32\n";
using Loops = std::vector<std::vector<int64_t>>;

} // namespace

TEST_CASE("a sum takes four terms a turn, and then the rest") {
  CHECK(grouped("arith.constant 512 : index", sum) == Loops{{0, 512, 4, 4}});
  CHECK(grouped("arith.constant 515 : index", sum) == Loops{{0, 512, 4, 4}, {512, 515, 1, 1}});
  // %n / 4 * 4, whatever %n is
  CHECK(grouped("arith.addi %n, %c0 : index", sum) == Loops{{0, -1, 4, 4}, {-1, -1, 1, 1}});
}

TEST_CASE("the carried value may stand on either side") {
  CHECK(grouped("arith.constant 8 : index", "    %s = arith.addf %v, %a : f32\n") ==
        Loops{{0, 8, 4, 4}});
}

TEST_CASE("what is short, not marked, or no sum is left") {
  CHECK(grouped("arith.constant 7 : index", sum) == Loops{{0, 7, 1, 1}});
  CHECK(grouped("arith.constant 512 : index", sum, "") == Loops{{0, 512, 1, 1}});
  CHECK(grouped("arith.constant 512 : index", "    %s = arith.maximumf %a, %v : f32\n") ==
        Loops{{0, 512, 1, 0}});
  // the running sum is read besides
  CHECK(grouped("arith.constant 512 : index",
                sum + "    memref.store %s, %m[%i] : memref<?xf32>\n") == Loops{{0, 512, 1, 1}});
  CHECK(grouped("arith.constant 512 : index",
                "    %t = arith.mulf %a, %v : f32\n    %s = arith.addf %t, %v : f32\n") ==
        Loops{{0, 512, 1, 1}});
}
