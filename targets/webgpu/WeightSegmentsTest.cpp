// SPDX-License-Identifier: Apache-2.0
// Weights beyond what a device binds at once: where they are cut, and what the program says then.
#include <catch2/catch.hpp>

#include "compiler/ops/AllOps.h"
#include "mlir/Parser/Parser.h"
#include "targets/webgpu/WeightSegments.h"

using namespace mlir;

namespace {

/// Tensors of so many bytes, at multiples of 256.
ortc::Weights weights(MLIRContext& context, std::initializer_list<int64_t> sizes) {
  ortc::Weights w(256);
  int64_t number = 0;
  for (int64_t bytes : sizes) {
    ortc::HostTensor t(IntegerType::get(&context, 8), {bytes});
    std::fill_n(static_cast<char*>(t.data.get()), bytes, static_cast<char>(++number));
    w.add(t, "w");
  }
  return w;
}

} // namespace

TEST_CASE("weights are cut between tensors, and buffers say in which part they lie") {
  MLIRContext context;
  context.loadDialect<ortc::OrtcDialect, func::FuncDialect, arith::ArithDialect, scf::SCFDialect>();
  OwningOpRef<ModuleOp> program = parseSourceString<ModuleOp>(R"(
func.func @run() attributes {ortc.program} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %0 = ortc.buffer "first" in "weights" at %c0 : memref<?xf32>
  %1 = ortc.buffer "second" in "weights" at %c256 : memref<?xf32>
  %2 = ortc.buffer "large" in "weights" at %c1024 : memref<?xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    %at = arith.muli %i, %c16 : index
    %place = arith.addi %at, %c1024 : index
    %3 = ortc.buffer "part" in "weights" at %place : memref<?xf32>
    ortc.launch @k(%3) : memref<?xf32>
  }
  %4 = ortc.buffer "h" in "arena" at %c1024 : memref<?xf32>
  ortc.launch @k(%0, %1, %2, %4) : memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf32>
  return
}
)",
                                                              &context);
  REQUIRE(program);
  // The third is larger than the limit alone; the second and it would be, together.
  auto segments =
      ortc::webgpu::splitWeights(*program, weights(context, {200, 700, 2000, 30}), 1024);
  REQUIRE(succeeded(segments));
  REQUIRE(segments->size() == 3);
  CHECK((*segments)[0].offset == 0);
  CHECK((*segments)[0].bytes == 256 + 700);
  CHECK((*segments)[1].offset == 1024);
  CHECK((*segments)[1].bytes == 2000);
  CHECK((*segments)[2].offset == 3072);
  CHECK((*segments)[2].bytes == 30);

  std::map<std::string, std::pair<int64_t, std::string>> places;
  program->walk([&](ortc::BufferOp b) {
    APInt c;
    std::string at = matchPattern(b.getOffset(), m_ConstantInt(&c))
                         ? std::to_string(c.getSExtValue())
                         : b.getOffset().getDefiningOp()->getName().getStringRef().str();
    places[b.getName().str()] = {b.getNumber(), at};
  });
  using Place = std::pair<int64_t, std::string>;
  CHECK(places["first"] == Place(0, "0"));
  CHECK(places["second"] == Place(0, "256"));
  CHECK(places["large"] == Place(1, "0"));
  CHECK(places["part"] == Place(1, "arith.subi"));
  CHECK(places["h"] == Place(0, "1024"));
}

TEST_CASE("weights that a device binds at once are one part") {
  MLIRContext context;
  OwningOpRef<ModuleOp> program = ModuleOp::create(UnknownLoc::get(&context));
  auto segments = ortc::webgpu::splitWeights(*program, weights(context, {200, 700}), 1024);
  REQUIRE(succeeded(segments));
  CHECK(segments->size() == 1);
  CHECK(ortc::webgpu::splitWeights(*program, ortc::Weights(256))->empty());
}
