// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/InputFiles.h"
#include "compiler/cases/Npy.h"
#include "compiler/cases/Npz.h"
#include "compiler/cases/RandomInputs.h"
#include "compiler/cases/ValueFile.h"
#include "compiler/driver/Command.h"
#include "compiler/support/Names.h"
#include "compiler/support/NumberFormats.h"
#include <set>

namespace ortc::driver {
namespace {

bool endsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Type and sizes against what the model says, so that the message names the input and not a node
/// behind it.
bool checkInput(const onnx::ValueInfo& info, const CaseValue& value, Diagnostics& diagnostics) {
  if (!info.type.isTensor()) return true;
  bool fits = value.isTensor() && value.tensor.dtype == info.type.dtype;
  if (fits && info.type.shape) {
    fits = info.type.shape->size() == value.tensor.dims.size();
    for (size_t i = 0; fits && i < value.tensor.dims.size(); ++i) {
      const onnx::Dim& d = (*info.type.shape)[i];
      fits = !d.value || *d.value == value.tensor.dims[i];
    }
  }
  if (!fits)
    diagnostics.error("input " + quoteName(info.name), "is {} in the file, but the model wants {}",
                      value.typeText(), onnx::typeText(info.type));
  return fits;
}

} // namespace

std::optional<std::vector<CaseValue>> readInputs(const onnx::Graph& graph,
                                                 const InputChoice& choice,
                                                 const std::map<std::string, int64_t>& sizes,
                                                 Diagnostics& diagnostics) {
  std::vector<const onnx::ValueInfo*> infos = graph.dataInputs();
  std::vector<std::optional<CaseValue>> values(infos.size());
  auto indexOf = [&](const std::string& name) -> std::optional<size_t> {
    for (size_t i = 0; i < infos.size(); ++i)
      if (infos[i]->name == name) return i;
    return std::nullopt;
  };
  auto unknown = [&](const std::string& name, const char* flag) {
    auto& d =
        diagnostics.error("", "{} gives {}, which is no input of the model", flag, quoteName(name));
    for (const onnx::ValueInfo* i : infos)
      d.note("input {} is {}", quoteName(i->name), onnx::typeText(i->type));
    d.help("what the model holds or computes becomes an input with --cut-inputs");
  };
  if (!choice.archive.empty()) {
    std::optional<NamedTensors> tensors = readNpzFile(
        choice.archive,
        [&](const std::string& name) {
          auto i = indexOf(name);
          return i ? infos[*i]->type.dtype : DType::Undefined;
        },
        diagnostics);
    if (!tensors) return std::nullopt;
    for (auto& [name, tensor] : *tensors) {
      std::optional<size_t> i = indexOf(name);
      if (!i) {
        unknown(name, "--inputs");
        return std::nullopt;
      }
      values[*i] = std::move(tensor);
    }
  }
  std::set<std::string> byName;
  for (const std::string& text : choice.files) {
    size_t at = text.rfind('=');
    if (at == std::string::npos)
      throw UsageError{fmt::format("--input '{}' is not of the form NAME=FILE", text), ""};
    const std::string name = text.substr(0, at), path = text.substr(at + 1);
    std::optional<size_t> i = indexOf(name);
    if (!i) {
      unknown(name, "--input");
      return std::nullopt;
    }
    if (!byName.insert(name).second)
      throw UsageError{fmt::format("--input is given twice for {}", quoteName(name)), ""};
    if (endsWith(path, ".pb")) {
      values[*i] = readValueFile(path, infos[*i]->type.kind, diagnostics);
      if (!values[*i]) return std::nullopt;
    } else {
      std::optional<CaseTensor> tensor = readNpyFile(path, infos[*i]->type.dtype, diagnostics);
      if (!tensor) return std::nullopt;
      values[*i] = std::move(*tensor);
    }
  }
  std::vector<CaseValue> random;
  bool complete = true;
  for (const auto& v : values)
    complete &= v.has_value();
  if (!complete && choice.seed) {
    std::optional<std::vector<CaseValue>> made =
        randomInputs(graph, sizes, *choice.seed, diagnostics);
    if (!made) return std::nullopt;
    random = std::move(*made);
  }
  std::vector<CaseValue> result;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (values[i]) {
      if (!checkInput(*infos[i], *values[i], diagnostics)) return std::nullopt;
      result.push_back(std::move(*values[i]));
    } else if (!random.empty()) {
      result.push_back(std::move(random[i]));
    } else if (infos[i]->type.kind == onnx::Type::Kind::Optional) {
      result.emplace_back();
    } else {
      throw UsageError{fmt::format("no value is given for input {}, which is {}",
                                   quoteName(infos[i]->name),
                                   escapeControls(onnx::typeText(infos[i]->type))),
                       fmt::format("give --input {}=FILE.npy, --inputs FILE.npz, or --random SEED",
                                   escapeControls(infos[i]->name))};
    }
  }
  return result;
}

static void flatten(const std::string& name, const CaseValue& value, NamedTensors& into) {
  switch (value.kind) {
  case CaseValue::Kind::Absent: return;
  case CaseValue::Kind::Tensor: into.push_back({name, value.tensor}); return;
  case CaseValue::Kind::List:
    for (size_t i = 0; i < value.items.size(); ++i)
      flatten(fmt::format("{}.{}", name, i), value.items[i], into);
    return;
  case CaseValue::Kind::Map: {
    into.push_back({name + ".keys", value.keys});
    CaseTensor all =
        CaseTensor::zeros(value.items.empty() ? DType::F32 : value.items[0].tensor.dtype,
                          {static_cast<int64_t>(value.items.size())});
    for (size_t i = 0; i < value.items.size(); ++i) {
      const CaseTensor& one = value.items[i].tensor;
      if (all.dtype == DType::String)
        all.strings[i] = one.strings[0];
      else
        storeBits(all.bytes.data(), all.dtype, static_cast<int64_t>(i),
                  loadBits(one.bytes.data(), one.dtype, 0));
    }
    into.push_back({name + ".values", std::move(all)});
  }
  }
}

bool writeOutputs(const std::string& path, const onnx::Graph& graph,
                  const std::vector<CaseValue>& outputs, Diagnostics& diagnostics) {
  NamedTensors tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    flatten(graph.outputs[i].name, outputs[i], tensors);
  return writeNpzFile(path, tensors, diagnostics);
}

std::string valueText(const CaseValue& value, int64_t most) {
  std::string text = value.typeText();
  if (value.kind == CaseValue::Kind::List && !value.items.empty())
    return text + ", first " + valueText(value.items[0], most);
  if (!value.isTensor()) return text;
  const CaseTensor& t = value.tensor;
  const int64_t n = t.elementCount();
  text += ":";
  for (int64_t i = 0; i < std::min(n, most); ++i) {
    const uint8_t* data = t.bytes.data();
    if (t.dtype == DType::String)
      text += " '" + escapeControls(t.strings[i]) + "'";
    else if (t.dtype == DType::Bool)
      text += data[i] ? " true" : " false";
    else if (t.dtype == DType::C64)
      text += fmt::format(" {}{:+}i", loadDouble(data, DType::F32, 2 * i),
                          loadDouble(data, DType::F32, 2 * i + 1));
    else if (t.dtype == DType::C128)
      text += fmt::format(" {}{:+}i", loadDouble(data, DType::F64, 2 * i),
                          loadDouble(data, DType::F64, 2 * i + 1));
    else if (t.dtype == DType::F32)
      text += fmt::format(" {}", static_cast<float>(loadDouble(data, t.dtype, i)));
    else if (isFloat(t.dtype))
      text += fmt::format(" {}", loadDouble(data, t.dtype, i));
    else if (t.dtype == DType::U64)
      text += fmt::format(" {}", static_cast<uint64_t>(loadInt(data, t.dtype, i)));
    else
      text += fmt::format(" {}", loadInt(data, t.dtype, i));
  }
  return n > most ? text + " ..." : text;
}

} // namespace ortc::driver
