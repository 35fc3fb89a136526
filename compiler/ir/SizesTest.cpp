// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "compiler/ir/Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace {

/// x -> (x + x) / 2 * 1 + ... : each step uses the one before twice, so that there are 2^steps ways
/// from the end to the start.
Value chain(OpBuilder& b, Location loc, Value x, int steps) {
  Value two = b.create<arith::ConstantIndexOp>(loc, 2);
  for (int i = 0; i < steps; ++i) {
    Value sum = b.create<arith::AddIOp>(loc, x, x);
    x = b.create<arith::MaxSIOp>(loc, b.create<arith::DivSIOp>(loc, sum, two), x);
  }
  return x;
}

/// A function of two sizes, in which a test builds arithmetic.
struct InFunction {
  MLIRContext context;
  OpBuilder b{&context};
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  InFunction() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    module = ModuleOp::create(loc);
    b.setInsertionPointToStart(module->getBody());
    function = b.create<func::FuncOp>(loc, "f",
                                      b.getFunctionType({b.getIndexType(), b.getIndexType()}, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
  }
};

} // namespace

TEST_CASE_METHOD(InFunction, "sizes that share operands are looked at once") {
  Value seven = b.create<arith::ConstantIndexOp>(loc, 7);
  Value start = b.create<arith::MaxSIOp>(loc, function.getArgument(0), seven);
  Value one = chain(b, loc, start, 60), same = chain(b, loc, start, 60),
        other = chain(b, loc, function.getArgument(1), 60);
  // With a walk along every way these would not end.
  CHECK(ortc::indexRange(OpFoldResult(one)).first == 7);
  CHECK(ortc::indexRange(OpFoldResult(other)).first == INT64_MIN);
  CHECK(ortc::sameSize(OpFoldResult(one), OpFoldResult(same)));
  CHECK(!ortc::sameSize(OpFoldResult(one), OpFoldResult(other)));
}

TEST_CASE_METHOD(InFunction, "sizes that are scaled by floats are the same when all of it is") {
  auto scaled = [&](double by) -> OpFoldResult { // as Resize does
    Value whole = b.create<arith::IndexCastOp>(loc, b.getI64Type(), function.getArgument(0));
    Value number = b.create<arith::SIToFPOp>(loc, b.getF32Type(), whole);
    Value factor = b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(by)));
    Value product = b.create<arith::MulFOp>(loc, number, factor);
    Value back = b.create<arith::FPToSIOp>(loc, b.getI64Type(), product);
    return b.create<arith::IndexCastOp>(loc, b.getIndexType(), back).getResult();
  };
  CHECK(ortc::sameSize(scaled(2), scaled(2)));
  CHECK(!ortc::sameSize(scaled(2), scaled(3)));
}
