// SPDX-License-Identifier: Apache-2.0
#include "compiler/cases/Case.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <llvm/Support/JSON.h>

#include "compiler/cases/ValueFile.h"
#include "compiler/import/FileSet.h"

namespace fs = std::filesystem;

namespace ortc {
namespace {

/// Reads the keys of a rule; none when it has none of them.
std::optional<Rule> parseRule(const llvm::json::Object& object, const std::string& where,
                              Diagnostics& diagnostics, bool& ok) {
  Rule rule;
  const auto number = [&](const char* key, std::optional<double>& into) {
    const llvm::json::Value* value = object.get(key);
    if (!value) return;
    if (std::optional<double> v = value->getAsNumber()) {
      into = *v;
    } else {
      diagnostics.error(where, "{} is not a number", quoteName(key));
      ok = false;
    }
  };
  number("rtol", rule.rtol);
  number("atol", rule.atol);
  number("max_rel", rule.maxRel);
  number("except_share", rule.exceptShare);
  number("except_rel", rule.exceptRel);
  number("steps", rule.steps);
  number("share", rule.share);
  rule.exact = object.getBoolean("exact").value_or(false);
  const auto needs = [&](const std::optional<double>& one, const char* name,
                         const std::optional<double>& other, const char* otherName) {
    if (one && !other) {
      diagnostics.error(where, "{} needs {} beside it", quoteName(name), quoteName(otherName));
      ok = false;
    }
  };
  needs(rule.rtol, "rtol", rule.atol, "atol");
  needs(rule.steps, "steps", rule.share, "share");
  needs(rule.exceptShare, "except_share", rule.exceptRel, "except_rel");
  if (!rule.rtol && !rule.maxRel && !rule.steps && !object.get("exact")) return std::nullopt;
  return rule;
}

} // namespace

std::optional<Expectation> parseExpectation(std::string_view json, Diagnostics& diagnostics) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(llvm::StringRef(json));
  if (!value) {
    diagnostics.error({}, "not valid JSON: {}", llvm::toString(value.takeError()));
    return std::nullopt;
  }
  const llvm::json::Object* object = value->getAsObject();
  if (!object) {
    diagnostics.error({}, "an object is expected");
    return std::nullopt;
  }
  Expectation expect;
  bool ok = true;
  if (const llvm::json::Value* error = object->get("error")) {
    const llvm::StringRef text = error->getAsString().value_or("");
    if (text == "compile") {
      expect.error = Expectation::Error::Compile;
    } else if (text == "run") {
      expect.error = Expectation::Error::Run;
    } else if (text == "any") {
      expect.error = Expectation::Error::Any;
    } else {
      diagnostics.error({}, "'error' must be 'compile', 'run' or 'any'");
      ok = false;
    }
  }
  if (std::optional<Rule> rule = parseRule(*object, {}, diagnostics, ok)) expect.rule = *rule;
  if (const llvm::json::Object* outputs = object->getObject("outputs"))
    for (const auto& [name, entry] : *outputs) {
      const std::string where = "output " + quoteName(name.str());
      const llvm::json::Object* rule = entry.getAsObject();
      if (!rule) {
        diagnostics.error(where, "a rule is expected");
        ok = false;
      } else if (!rule->empty()) { // an empty rule is none
        std::optional<Rule> parsed = parseRule(*rule, where, diagnostics, ok);
        expect.outputs[name.str()] = parsed.value_or(Rule());
      }
    }
  if (!ok) return std::nullopt;
  return expect;
}

std::vector<std::string> findCases(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code error;
  if (fs::is_regular_file(fs::path(root) / "model.onnx", error)) folders.push_back(root);
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(root, options, error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename() == "model.onnx" && it->is_regular_file(error) && it.depth() > 0)
      folders.push_back(it->path().parent_path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::optional<Case> readCase(const std::string& folder, Diagnostics& diagnostics) {
  Case result;
  result.folder = folder;
  result.modelPath = (fs::path(folder) / "model.onnx").string();
  std::error_code error;
  if (!fs::exists(result.modelPath, error)) {
    Diagnostics::FileScope scope(diagnostics, folder);
    diagnostics.error({}, "not a case: the folder has no model.onnx");
    return std::nullopt;
  }
  const std::string expectPath = (fs::path(folder) / "expect.json").string();
  if (fs::exists(expectPath, error)) {
    Diagnostics::FileScope scope(diagnostics, expectPath);
    std::shared_ptr<llvm::MemoryBuffer> json = onnx::mapFile(expectPath, {}, diagnostics);
    if (!json) return std::nullopt;
    std::optional<Expectation> expect = parseExpectation(json->getBuffer(), diagnostics);
    if (!expect) return std::nullopt;
    result.expect = std::move(*expect);
  }
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with("test_data_set_") && it->is_directory())
      result.dataSets.push_back(it->path().string());
  std::sort(result.dataSets.begin(), result.dataSets.end());
  return result;
}

std::optional<DataSet> readDataSet(const std::string& folder, const onnx::Graph& graph,
                                   Diagnostics& diagnostics) {
  DataSet data;
  bool ok = true;
  const auto read = [&](const char* what, size_t index,
                        const onnx::Type& type) -> std::optional<CaseValue> {
    const std::string path = (fs::path(folder) / fmt::format("{}_{}.pb", what, index)).string();
    std::error_code error;
    if (!fs::exists(path, error)) return std::nullopt;
    std::optional<CaseValue> value = readValueFile(path, type.kind, diagnostics);
    ok &= value.has_value();
    return value;
  };
  for (const onnx::ValueInfo* input : graph.dataInputs())
    data.inputs.push_back(read("input", data.inputs.size(), input->type).value_or(CaseValue()));
  for (const onnx::ValueInfo& output : graph.outputs)
    data.outputs.push_back(read("output", data.outputs.size(), output.type));
  const auto none = [&](const char* what, size_t index, const char* why) {
    const std::string path = (fs::path(folder) / fmt::format("{}_{}.pb", what, index)).string();
    std::error_code error;
    if (!fs::exists(path, error)) return;
    Diagnostics::FileScope scope(diagnostics, path);
    diagnostics.error({}, "the model has {} {}s{}", index, what, why);
    ok = false;
  };
  none("input", data.inputs.size(), "; those that it holds a value for are no inputs");
  none("output", data.outputs.size(), "");
  if (!ok) return std::nullopt;
  return data;
}

Comparison compareOutputs(const std::vector<CaseValue>& got, const DataSet& data,
                          const onnx::Graph& graph, const Expectation& expect) {
  Comparison result;
  for (size_t i = 0; i < data.outputs.size() && i < graph.outputs.size(); ++i) {
    if (!data.outputs[i]) continue;
    const std::string& name = graph.outputs[i].name;
    static const CaseValue absent;
    Comparison one =
        compareValues(i < got.size() ? got[i] : absent, *data.outputs[i], expect.ruleFor(name));
    if (!one.passed) one.reason = fmt::format("output {}: {}", quoteName(name), one.reason);
    result.merge(one);
  }
  return result;
}

} // namespace ortc
