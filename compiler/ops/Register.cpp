// SPDX-License-Identifier: Apache-2.0
// The dialect itself: it is defined here, above the ops, so that it can register them.
#include "compiler/ops/AllOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "compiler/ir/OrtcDialect.cpp.inc"
#include "compiler/ir/OrtcInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/OrtcTypes.cpp.inc"

void ortc::OrtcDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/OrtcTypes.cpp.inc"
      >();
#include "compiler/ops/AddOps.inc"
}

Operation* ortc::OrtcDialect::materializeConstant(OpBuilder& builder, Attribute value, Type type,
                                                  Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
