// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/TemplateCall.h"
#include "codegen/common/Names.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
using namespace mlir;

namespace ortc::codegen {

std::string epilogueName(Region& region) {
  std::string name;
  unsigned count = 0;
  region.walk([&](Operation* op) {
    StringRef s = op->getName().stripDialect();
    StringRef word =
        llvm::StringSwitch<StringRef>(op->getName().getStringRef())
            .Case("arith.addf", "Add")
            .Case("arith.mulf", "Scale")
            .Case("arith.subf", "Subtract")
            .Case("arith.divf", "Divide")
            .Case("arith.maximumf",
                  op->getNumOperands() == 2 && matchPattern(op->getOperand(1), m_AnyZeroFloat())
                      ? "Relu"
                      : "Maximum")
            .Case("arith.minimumf", "Minimum")
            .Cases("arith.fptosi", "arith.fptoui", "Round")
            .Case("math.roundeven", "Round")
            .Cases("arith.constant", "memref.load", "arith.addi", "arith.muli", "arith.cmpf", "")
            .Cases("ortc.yield", "arith.sitofp", "arith.index_cast", "arith.select", "")
            .Cases("arith.uitofp", "arith.extsi", "arith.extui", "arith.subi", "")
            .Default(s);
    if (word.empty() || count++ >= 5) return;
    name += llvm::toUpper(word[0]);
    name += word.drop_front();
  });
  return name.empty() ? "Plain" : legalIdentifier(name) + (count > 5 ? "More" : "");
}

std::string templateCallee(CallTemplateOp call) {
  bool known = true;
  auto text = [&](Attribute a) -> std::string {
    if (auto b = dyn_cast<BoolAttr>(a)) return b.getValue() ? "true" : "false";
    if (auto i = dyn_cast<IntegerAttr>(a)) return std::to_string(i.getInt());
    if (auto s = dyn_cast<StringAttr>(a)) return s.str();
    known = false;
    return "";
  };
  SmallVector<std::string> parameters;
  if (auto order = call->getAttrOfType<ArrayAttr>("parameterOrder")) {
    for (Attribute key : order)
      if (Attribute a = call.getParameters().get(cast<StringAttr>(key).getValue()))
        parameters.push_back(text(a));
  } else {
    for (NamedAttribute a : call.getParameters())
      parameters.push_back(text(a.getValue()));
  }
  if (!known) return "";
  return call.getCallee().str() +
         (parameters.empty() ? "" : "<" + llvm::join(parameters, ", ") + ">");
}

std::string argsTypeOf(CallTemplateOp call) {
  if (auto given = call->getAttrOfType<StringAttr>("argsType")) return given.str();
  std::string family = call.getCallee().split('_').first.str();
  return llvm::toUpper(family[0]) + family.substr(1) + "Args";
}

} // namespace ortc::codegen
