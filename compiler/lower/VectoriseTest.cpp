// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/Vectorise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

using namespace mlir;

namespace {

/// A function with this body of a loop over %i of 32 turns, after its loops became vectors of 8.
std::string vectorised(const std::string& body) {
  static MLIRContext context;
  context.loadDialect<func::FuncDialect, arith::ArithDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
func.func @k(%x: memref<?xf32>, %b: memref<?xi8>, %c: memref<?xi32>, %y: memref<?xf32>, %q: memref<?xi8>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 7 : i32
  scf.for %i = %c0 to %n step %c1 {
)" + body + R"(
  }
  return
})",
                                            &context);
  REQUIRE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  ortc::vectoriseLoops(function, 8);
  REQUIRE(succeeded(verify(*module)));
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os);
  return text;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("floats to 8 bits and back are vectors of each type") {
  std::string text = vectorised(R"(
    %v = memref.load %x[%i] : memref<?xf32>
    %r = math.roundeven %v : f32
    %u = arith.fptoui %r : f32 to i8
    memref.store %u, %q[%i] : memref<?xi8>
    %e = arith.extui %u : i8 to i32
    %d = arith.subi %e, %zero : i32
    %f = arith.sitofp %d : i32 to f32
    memref.store %f, %y[%i] : memref<?xf32>)");
  CHECK(has(text, "arith.fptoui %"));
  CHECK(has(text, "vector<8xf32> to vector<8xi8>"));
  CHECK(has(text, "vector<8xi8> to vector<8xi32>"));
  CHECK(has(text, "vector.maskedstore"));
  CHECK(!has(text, "memref.load"));
}

TEST_CASE("what an inner loop carries is a vector, integers too") {
  std::string text = vectorised(R"(
    %s = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %zero) -> i32 {
      %at = arith.addi %k, %i : index
      %v = memref.load %b[%at] : memref<?xi8>
      %w = arith.extsi %v : i8 to i32
      %t = arith.addi %a, %w : i32
      scf.yield %t : i32
    }
    %f = arith.sitofp %s : i32 to f32
    memref.store %f, %y[%i] : memref<?xf32>)");
  CHECK(has(text, "-> (vector<8xi32>)"));
  CHECK(!has(text, "memref.load"));
}

TEST_CASE("a place that is read from memory is no vector") {
  std::string text = vectorised(R"(
    %v = memref.load %c[%i] : memref<?xi32>
    %at = arith.index_cast %v : i32 to index
    %r = memref.load %x[%at] : memref<?xf32>
    memref.store %r, %y[%i] : memref<?xf32>)");
  CHECK(!has(text, "vector"));
}

TEST_CASE("the turn as a number, divisions and wide integers stay scalar") {
  CHECK(!has(vectorised(R"(
    %v = arith.index_cast %i : index to i32
    %f = arith.sitofp %v : i32 to f32
    memref.store %f, %y[%i] : memref<?xf32>)"),
             "vector"));
  CHECK(!has(vectorised(R"(
    %v = memref.load %c[%i] : memref<?xi32>
    %d = arith.divsi %v, %zero : i32
    %f = arith.sitofp %d : i32 to f32
    memref.store %f, %y[%i] : memref<?xf32>)"),
             "vector"));
  CHECK(!has(vectorised(R"(
    %v = memref.load %c[%i] : memref<?xi32>
    %w = arith.extsi %v : i32 to i64
    %f = arith.sitofp %w : i64 to f32
    memref.store %f, %y[%i] : memref<?xf32>)"),
             "vector"));
}

TEST_CASE("steps of more than one element stay scalar") {
  CHECK(!has(vectorised(R"(
    %at = arith.muli %i, %c2 : index
    %v = memref.load %b[%at] : memref<?xi8>
    memref.store %v, %q[%i] : memref<?xi8>)"),
             "vector"));
}
