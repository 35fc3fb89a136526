// SPDX-License-Identifier: Apache-2.0
// What the planner does without copies, and what it must not.
#include <catch2/catch.hpp>

#include "compiler/plan/BuildProgram.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

/// The facts of the program for a body of @main, which maps tensors of 8 x 16 elements; kernels are
/// called by KERNEL(...).
ortc::ProgramFacts plan(const std::string& results, const std::string& body) {
  MLIRContext context;
  context.loadDialect<ortc::OrtcDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                      linalg::LinalgDialect, tensor::TensorDialect, scf::SCFDialect,
                      memref::MemRefDialect>();
  std::string text = R"(
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
module {
  func.func @main(%x: tensor<8x16xf32> {ortc.name = "x", ortc.dtype = 1 : i64, ortc.dims = [unit, unit]}) -> ()" +
                     results + R"() {
    %e = tensor.empty() : tensor<8x16xf32>
    %et = tensor.empty() : tensor<16x8xf32>
)" + body + "  }\n}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    main.setResultAttr(i, "ortc.name", StringAttr::get(&context, "y" + std::to_string(i)));
    main.setResultAttr(i, "ortc.dtype", IntegerAttr::get(IntegerType::get(&context, 64), 1));
  }
  ortc::ProgramOptions options;
  options.schedule = [](ortc::KernelOp) { return ortc::Schedule(); };
  auto facts = ortc::buildProgram(*module, options);
  REQUIRE(succeeded(facts));
  return std::move(*facts);
}

/// `to` = the negative of `from`, read by map #id or #t.
std::string kernel(const std::string& to, const std::string& from, const std::string& map = "#id") {
  bool plain = map == "#id";
  std::string type = plain ? "tensor<8x16xf32>" : "tensor<16x8xf32>", init = plain ? "%e" : "%et";
  return "    " + to + " = ortc.kernel \"k\" {\n      %g = linalg.generic {indexing_maps = [" +
         map + ", #id], iterator_types = [\"parallel\", \"parallel\"]} ins(" + from +
         " : tensor<8x16xf32>) outs(" + init + " : " + type +
         ") {\n      ^bb0(%v: f32, %o: f32):\n        %n = arith.negf %v : f32\n        "
         "linalg.yield %n : f32\n      } -> " +
         type + "\n      ortc.yield %g : " + type + "\n    } : " + type + "\n";
}

} // namespace

TEST_CASE("an elementwise kernel writes over what it reads for the last time") {
  auto facts =
      plan("tensor<8x16xf32>", kernel("%a", "%x") + kernel("%b", "%a") + kernel("%c", "%b") +
                                   "    return %c : tensor<8x16xf32>\n");
  CHECK(facts.arenaBytes == 8 * 16 * 4);
}

TEST_CASE("not when it reads elsewhere, or when it is not the last time") {
  auto transposed =
      plan("tensor<16x8xf32>", kernel("%a", "%x") + kernel("%b", "%a") + kernel("%c", "%b", "#t") +
                                   "    return %c : tensor<16x8xf32>\n");
  CHECK(transposed.arenaBytes == 8 * 16 * 4);
  auto twice =
      plan("tensor<8x16xf32>, tensor<8x16xf32>",
           kernel("%a", "%x") + kernel("%b", "%a") + kernel("%c", "%a") + kernel("%d", "%b") +
               "    return %c, %d : tensor<8x16xf32>, tensor<8x16xf32>\n");
  CHECK(twice.arenaBytes == 2 * 8 * 16 * 4);
}

TEST_CASE("sources of a concatenation are written in their places, one inside of another as well") {
  auto facts =
      plan("tensor<8x48xf32>", kernel("%a", "%x") + kernel("%b", "%a") + kernel("%c", "%b") + R"(
    %f = tensor.empty() : tensor<8x32xf32>
    %ab = ortc.concat axis 1 (%a, %b) into %f : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
    %h = tensor.empty() : tensor<8x48xf32>
    %all = ortc.concat axis 1 (%ab, %c) into %h : tensor<8x32xf32>, tensor<8x16xf32> -> tensor<8x48xf32>
    return %all : tensor<8x48xf32>
)");
  CHECK(facts.copies == 0);
  auto again = plan("tensor<8x32xf32>", kernel("%a", "%x") + R"(
    %f = tensor.empty() : tensor<8x32xf32>
    %aa = ortc.concat axis 1 (%a, %a) into %f : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
    return %aa : tensor<8x32xf32>
)");
  CHECK(again.copies == 1);
}

TEST_CASE("a reshape of a strided view is a view while the strides allow it") {
  auto split = plan("tensor<8x2x4xf32>", kernel("%a", "%x") + R"(
    %s = tensor.extract_slice %a[0, 8] [8, 8] [1, 1] : tensor<8x16xf32> to tensor<8x8xf32>
    %f = tensor.empty() : tensor<8x2x4xf32>
    %r = ortc.reshape %s into %f : tensor<8x8xf32> -> tensor<8x2x4xf32>
    %y = ortc.kernel "k" {
      %g = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
           ins(%r : tensor<8x2x4xf32>) outs(%f : tensor<8x2x4xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<8x2x4xf32>
      ortc.yield %g : tensor<8x2x4xf32>
    } : tensor<8x2x4xf32>
    return %y : tensor<8x2x4xf32>
)");
  CHECK(split.copies == 0);
  auto merged = plan("tensor<64xf32>", kernel("%a", "%x") + R"(
    %s = tensor.extract_slice %a[0, 8] [8, 8] [1, 1] : tensor<8x16xf32> to tensor<8x8xf32>
    %f = tensor.empty() : tensor<64xf32>
    %r = ortc.reshape %s into %f : tensor<8x8xf32> -> tensor<64xf32>
    %y = ortc.kernel "k" {
      %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
           ins(%r : tensor<64xf32>) outs(%f : tensor<64xf32>) {
      ^bb0(%v: f32, %o: f32):
        %n = arith.negf %v : f32
        linalg.yield %n : f32
      } -> tensor<64xf32>
      ortc.yield %g : tensor<64xf32>
    } : tensor<64xf32>
    return %y : tensor<64xf32>
)");
  CHECK(merged.copies == 1);
}

TEST_CASE("a host step reads rows where they are, and a copy of a column") {
  auto facts = [](const std::string& slice, const std::string& type) {
    return plan("tensor<8xi64>", kernel("%a", "%x") + "    %s = tensor.extract_slice %a" + slice +
                                     " : tensor<8x16xf32> to " + type +
                                     "\n    %f = tensor.empty() : tensor<8xi64>\n"
                                     "    %h = ortc.host_step \"look_up\"(%s, %f) : (" +
                                     type +
                                     ", tensor<8xi64>) -> tensor<8xi64>\n"
                                     "    return %h : tensor<8xi64>\n");
  };
  // The result is written where the caller wants it.
  CHECK(facts("[2, 0] [1, 16] [1, 1]", "tensor<16xf32>").copies == 0);
  CHECK(facts("[0, 3] [8, 1] [1, 1]", "tensor<8xf32>").copies == 1);
}
