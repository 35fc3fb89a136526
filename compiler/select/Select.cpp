// SPDX-License-Identifier: Apache-2.0
#include "compiler/select/TargetInfo.h"
#include <map>

using namespace mlir;

namespace ortc {

static std::map<std::string, std::pair<TargetFactory, std::string>>& targets() {
  static std::map<std::string, std::pair<TargetFactory, std::string>> t;
  return t;
}
bool registerTarget(StringRef name, TargetFactory make, StringRef summary) {
  return targets().emplace(name.str(), std::pair(make, summary.str())).second;
}
std::unique_ptr<TargetInfo> createTarget(StringRef name) {
  auto it = targets().find(name.str());
  return it == targets().end() ? nullptr : it->second.first();
}
std::vector<std::pair<std::string, std::string>> targetNames() {
  std::vector<std::pair<std::string, std::string>> r;
  for (auto& [name, entry] : targets())
    r.push_back({name, entry.second});
  return r;
}

void selectKernels(ModuleOp module, const TargetInfo& target) {
  module.walk([&](KernelOp kernel) {
    std::vector<Candidate> rows = target.candidates(kernel);
    Builder b(kernel.getContext());
    rows.push_back({"loops", target.loopsCost(kernel), b.getDictionaryAttr({})});
    // Equal costs: the earlier row, so that the choice does not depend on anything else.
    std::stable_sort(rows.begin(), rows.end(), [](const Candidate& x, const Candidate& y) {
      return x.microseconds < y.microseconds;
    });
    NamedAttrList choice;
    choice.set("kernel", b.getStringAttr(rows[0].kernel));
    choice.set("cost_us", b.getF64FloatAttr(rows[0].microseconds));
    choice.set("parameters", rows[0].parameters ? rows[0].parameters : b.getDictionaryAttr({}));
    if (rows.size() > 1) {
      choice.set("next", b.getStringAttr(rows[1].kernel));
      choice.set("next_us", b.getF64FloatAttr(rows[1].microseconds));
    }
    kernel.setChoiceAttr(choice.getDictionary(kernel.getContext()));
  });
}

std::string explainChoices(ModuleOp module) {
  std::string text;
  module.walk([&](KernelOp kernel) {
    DictionaryAttr c = kernel.getChoiceAttr();
    if (!c) return;
    std::string node =
        wishName(kernel.yielded().empty() ? kernel->getResult(0) : kernel.yielded()[0]);
    text +=
        fmt::format("{:<40} {} ({:.1f} us)", node, c.getAs<StringAttr>("kernel").getValue().str(),
                    c.getAs<FloatAttr>("cost_us").getValueAsDouble());
    if (auto next = c.getAs<StringAttr>("next"))
      text += fmt::format(", next {} ({:.1f} us)", next.getValue().str(),
                          c.getAs<FloatAttr>("next_us").getValueAsDouble());
    text += "\n";
  });
  return text;
}

} // namespace ortc
