// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "compiler/ir/Order.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

/// The ops of the function's body, by the attribute "n" of each.
std::string ordered(StringRef body, ortc::OrderRuns runs = ortc::OrderRuns::Whole) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, memref::MemRefDialect>();
  std::string text =
      ("func.func @f(%m: memref<4xindex>, %i: index, %j: index) {" + body + " return }").str();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  REQUIRE(module);
  ortc::orderOps(*module, runs);
  REQUIRE(succeeded(module->verify()));
  std::string r;
  module->walk([&](Operation* op) {
    if (auto n = op->getAttrOfType<StringAttr>("n")) r += n.getValue();
  });
  return r;
}

} // namespace

TEST_CASE("operands stand in their order, before what uses them") {
  CHECK(ordered(R"(
    %d = memref.load %m[%j] {n = "b"} : memref<4xindex>
    %c = memref.load %m[%i] {n = "a"} : memref<4xindex>
    %s = arith.addi %c, %d {n = "+"} : index
    memref.store %s, %m[%i] {n = "!"} : memref<4xindex>)") == "ab+!");
}

TEST_CASE("reads stay between the writes they are between") {
  CHECK(ordered(R"(
    %b = memref.load %m[%j] {n = "b"} : memref<4xindex>
    %a = memref.load %m[%i] {n = "a"} : memref<4xindex>
    memref.store %i, %m[%i] {n = "1"} : memref<4xindex>
    %c = memref.load %m[%i] {n = "c"} : memref<4xindex>
    memref.store %c, %m[%j] {n = "2"} : memref<4xindex>
    %s = arith.addi %a, %b {n = "+"} : index
    memref.store %s, %m[%j] {n = "3"} : memref<4xindex>)") == "ab1c2+3");
}

TEST_CASE("what nobody uses goes") {
  CHECK(ordered(R"(
    %a = memref.load %m[%i] {n = "a"} : memref<4xindex>
    %b = arith.addi %a, %j {n = "b"} : index
    memref.store %i, %m[%i] {n = "!"} : memref<4xindex>)") == "!");
}

TEST_CASE("neighbours of other origin keep their places") {
  StringRef body = R"(
    %b = arith.addi %i, %j {n = "b"} : index loc("second")
    %a = arith.muli %i, %j {n = "a"} : index loc("first")
    memref.store %i, %m[%a] {n = "1"} : memref<4xindex> loc("third")
    memref.store %i, %m[%b] {n = "2"} : memref<4xindex> loc("third"))";
  CHECK(ordered(body) == "ab12");
  CHECK(ordered(body, ortc::OrderRuns::SameOrigin) == "ba12");
}
