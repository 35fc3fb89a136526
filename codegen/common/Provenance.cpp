// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Provenance.h"
#include "llvm/Support/FormatVariadic.h"
using namespace mlir;

namespace ortc::codegen {

/// A list of nodes longer than this is cut: hundreds of nodes may share one kernel.
constexpr size_t kMostNodes = 24;

static std::string number(Attribute a) {
  if (auto f = dyn_cast_or_null<FloatAttr>(a)) {
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%.4g", f.getValueAsDouble());
    return buffer;
  }
  if (auto i = dyn_cast_or_null<IntegerAttr>(a)) return std::to_string(i.getInt());
  return "?";
}

static std::string choiceText(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr)) return text.str();
  auto choice = dyn_cast<DictionaryAttr>(attr);
  if (!choice) return "";
  std::string s;
  if (auto name = choice.getAs<StringAttr>("kernel")) s = name.str();
  if (Attribute cost = choice.get("cost_us")) s += ", estimated " + number(cost) + " us";
  if (auto chosen = choice.getAs<StringAttr>("in_place_of"))
    s += ", in place of " + chosen.str() + ", which does not fit where its operands lie";
  if (auto next = choice.getAs<StringAttr>("next"); next && !next.getValue().empty()) {
    s += "; next best " + next.str();
    if (Attribute cost = choice.get("next_us")) s += ", " + number(cost) + " us";
  }
  return s;
}

void printProvenance(func::FuncOp kernel, Writer& w) {
  if (auto nodes = kernel->getAttrOfType<ArrayAttr>("ortc.nodes")) {
    std::string text;
    for (auto [i, node] : llvm::enumerate(nodes)) {
      if (i == kMostNodes) {
        text += llvm::formatv(" and {0} more", nodes.size() - i).str();
        break;
      }
      StringRef s = isa<StringAttr>(node) ? cast<StringAttr>(node).getValue() : StringRef();
      s.consume_front("node ");
      text += (i ? ", " : "") + s.str();
    }
    if (!text.empty()) w.comment("node     " + text, 9);
  }
  if (Attribute tensors = kernel->getAttr("ortc.tensors")) {
    if (auto text = dyn_cast<StringAttr>(tensors))
      w.comment("tensors  " + text.str(), 9);
    else if (auto list = dyn_cast<ArrayAttr>(tensors)) {
      std::string text;
      for (Attribute a : list)
        if (auto t = dyn_cast<StringAttr>(a)) text += (text.empty() ? "" : ", ") + t.str();
      w.comment("tensors  " + text, 9);
    }
  }
  if (Attribute choice = kernel->getAttr("ortc.choice"))
    if (std::string text = choiceText(choice); !text.empty()) w.comment("choice   " + text, 9);
}

std::string fileHeader(ModuleOp module) {
  auto get = [&](StringRef key) {
    auto s = module->getAttrOfType<StringAttr>(key);
    return s ? s.getValue() : StringRef();
  };
  std::string producer = get("ortc.producer").empty() ? "ortc" : get("ortc.producer").str();
  return escapeForComment(producer + ". Do not edit: generated from '" + get("ortc.name").str() +
                          "'");
}

} // namespace ortc::codegen
