// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/SpreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

using namespace mlir;

namespace {

/// The kernel with this body of its parallel loop over %i, after its rows were spread; what was
/// before, when that could not be done.
std::string spread(const std::string& body, bool& done) {
  static MLIRContext context;
  context.loadDialect<func::FuncDialect, arith::ArithDialect, memref::MemRefDialect,
                      scf::SCFDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
func.func @k(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c300 = arith.constant 300 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
)" + body + R"(
  }
  return
})",
                                            &context);
  REQUIRE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  done = ortc::spreadRows(function, 64);
  REQUIRE(succeeded(verify(*module)));
  REQUIRE(function->hasAttr("ortc.row_threads") == done);
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os);
  return text;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++n;
  return n;
}

const char* sum = R"(
    %s = scf.for %k = %c0 to %c300 step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.addf %a, %v : f32
      scf.yield %t : f32
    }
)";

} // namespace

TEST_CASE("a sum and the elements after it are dealt out, a single value is stored once") {
  bool done;
  std::string text = spread(std::string(sum) + R"(
    scf.for %k = %c0 to %m step %c1 {
      memref.store %s, %y[%k] : memref<?xf32>
    }
    memref.store %s, %y[%i] : memref<?xf32>)",
                            done);
  CHECK(done);
  CHECK(count(text, "gpu.all_reduce") == 1);
  CHECK(count(text, "step %c64") == 2);
  CHECK(count(text, "scf.if") == 1);
}

TEST_CASE("an initial value that is not neutral comes in once, after the threads' parts") {
  bool done;
  std::string text = spread(R"(
    %s = scf.for %k = %c0 to %c300 step %c1 iter_args(%a = %one) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.addf %v, %a : f32
      scf.yield %t : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>)",
                            done);
  CHECK(done);
  CHECK(count(text, "gpu.all_reduce") == 1);
  CHECK(count(text, "arith.addf") == 2); // of the threads, and of the row
}

TEST_CASE("of a sum over two loops the longer one is dealt out") {
  bool done;
  std::string text = spread(R"(
    %s = scf.for %j = %c0 to %c300 step %c1 iter_args(%a = %zero) -> f32 {
      %r = scf.for %k = %c0 to %c2 step %c1 iter_args(%b = %a) -> f32 {
        %v = memref.load %x[%k] : memref<?xf32>
        %t = arith.addf %b, %v : f32
        scf.yield %t : f32
      }
      scf.yield %r : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>)",
                            done);
  CHECK(done);
  CHECK(count(text, "to %c300 step %c64") == 1);
  CHECK(count(text, "to %c2 step %c1") == 1);
}

TEST_CASE("a minimum under a condition is a reduction, a difference is none") {
  bool done;
  std::string text = spread(R"(
    %s = scf.for %k = %c0 to %c300 step %c1 iter_args(%a = %one) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %p = arith.cmpf ogt, %v, %zero : f32
      %t = arith.minimumf %a, %v : f32
      %u = arith.select %p, %t, %a : f32
      scf.yield %u : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>)",
                            done);
  CHECK(done);
  CHECK(count(text, "gpu.all_reduce  minimumf") == 1);
  text = spread(R"(
    %s = scf.for %k = %c0 to %c300 step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.subf %v, %a : f32
      scf.yield %t : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>)",
                done);
  CHECK(!done);
  CHECK(count(text, "gpu.") == 0);
}

TEST_CASE("a store under a condition is left to one thread for the row") {
  bool done;
  spread(std::string(sum) + R"(
    %p = arith.cmpf ogt, %s, %zero : f32
    scf.if %p {
      memref.store %s, %y[%i] : memref<?xf32>
    })",
         done);
  CHECK(!done);
}
