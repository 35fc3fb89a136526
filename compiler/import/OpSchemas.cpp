// SPDX-License-Identifier: Apache-2.0
// Nodes against the schemas of ONNX. A node that has more than its operator knows is an error and
// not a warning: whoever wrote it meant something that would not happen. Sizes are for the
// definitions of the operators.
#include "compiler/import/OpSchemas.h"

#include "compiler/import/NearestName.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <tuple>
#include <vector>

namespace ortc::onnx {
namespace {

/// A line of the table; scripts/op-schemas tells the format.
struct Row {
  std::string_view domain, name;
  int64_t since;
  std::string_view inputs, types, outputs, attributes;
};

constexpr Row kRows[] = {
#include "compiler/import/OpSchemas.inc"
};

constexpr bool before(const Row& a, const Row& b) {
  return std::tie(a.domain, a.name, a.since) < std::tie(b.domain, b.name, b.since);
}

static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), before));

/// All versions of an operator, the oldest first.
std::pair<const Row*, const Row*> rowsOf(std::string_view domain, std::string_view name) {
  return {std::lower_bound(std::begin(kRows), std::end(kRows), Row{domain, name, 0, {}, {}, {}, {}},
                           before),
          std::lower_bound(std::begin(kRows), std::end(kRows),
                           Row{domain, name, INT64_MAX, {}, {}, {}, {}}, before)};
}

bool isKnownDomain(std::string_view domain) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.domain == domain; });
}

/// An input or output.
struct ParameterFacts {
  std::string_view name;
  bool required = false;
  bool variadic = false; // the last one; "at least one" when it is required
  int type = -1;         // which of the schema's types it has, for inputs; -1: any
};

struct AttributeFacts {
  std::string_view name;
  AttributeType type = AttributeType::Undefined;
  bool required = false;
};

struct OpSchema {
  std::vector<ParameterFacts> inputs, outputs;
  std::vector<AttributeFacts> attributes;
  std::vector<uint64_t> types; // a bit for each element type
};

template <typename Visit> void forEachWord(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<ParameterFacts> parameters(std::string_view text) {
  std::vector<ParameterFacts> result;
  forEachWord(text, [&](std::string_view word) {
    ParameterFacts p;
    if (const size_t colon = word.find(':'); colon != word.npos) {
      std::from_chars(word.data() + colon + 1, word.data() + word.size(), p.type);
      word = word.substr(0, colon);
    }
    const char mark = word.back();
    p.required = mark != '?' && mark != '*';
    p.variadic = mark == '*' || mark == '+';
    p.name = word.substr(0, word.size() - (mark == '?' || p.variadic));
    result.push_back(p);
  });
  return result;
}

AttributeType attributeType(char letter) {
  switch (letter) {
  case 'f': return AttributeType::Float;
  case 'i': return AttributeType::Int;
  case 's': return AttributeType::String;
  case 't': return AttributeType::Tensor;
  case 'g': return AttributeType::Graph;
  case 'x': return AttributeType::SparseTensor;
  case 'p': return AttributeType::Type;
  case 'F': return AttributeType::Floats;
  case 'I': return AttributeType::Ints;
  case 'S': return AttributeType::Strings;
  case 'T': return AttributeType::Tensors;
  case 'G': return AttributeType::Graphs;
  case 'X': return AttributeType::SparseTensors;
  case 'P': return AttributeType::Types;
  default: return AttributeType::Undefined;
  }
}

std::vector<AttributeFacts> attributes(std::string_view text) {
  std::vector<AttributeFacts> result;
  forEachWord(text, [&](std::string_view word) {
    const size_t colon = word.find(':');
    result.push_back({word.substr(0, colon), attributeType(word[colon + 1]), word.back() == '!'});
  });
  return result;
}

OpSchema schemaOf(const Row& row) {
  OpSchema schema{parameters(row.inputs), parameters(row.outputs), attributes(row.attributes), {}};
  forEachWord(row.types, [&](std::string_view word) {
    std::from_chars(word.data(), word.data() + word.size(), schema.types.emplace_back(), 16);
  });
  return schema;
}

template <typename Facts> std::string listOf(const std::vector<Facts>& facts) {
  std::string text;
  for (const Facts& f : facts) {
    text += text.empty() ? "" : ", ";
    text += f.name;
  }
  return text;
}

/// What is in force for a node; null when there is no such operator, or not yet, which the importer
/// says.
const Row* rowOf(const Node& node) {
  const auto [first, last] = rowsOf(node.domain, node.opType);
  const Row* row = last;
  while (row != first && row[-1].since > node.opset)
    --row;
  return row == first ? nullptr : row - 1;
}

constexpr uint64_t kNoTensor = 1; // where a list, a map or an optional is allowed

/// "f16, f32 or f64"
std::string typesText(uint64_t types) {
  std::vector<std::string_view> names;
  for (unsigned t = 1; t <= kLastDType; ++t)
    if (types >> t & 1) names.push_back(dtypeName(static_cast<DType>(t)));
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

class NodeChecker {
public:
  NodeChecker(const Node& node, const OpSchema& schema, Diagnostics& diagnostics)
      : node(node), schema(schema), diagnostics(diagnostics) {}

  void check() {
    checkCount(node.inputs, schema.inputs, "input");
    checkCount(node.outputs, schema.outputs, "output");
    for (const Attribute& a : node.attributes)
      checkAttribute(a);
    for (const AttributeFacts& known : schema.attributes)
      if (known.required && !node.attribute(known.name))
        diagnostics.error(node.describe(), "required attribute '{}' is missing", known.name)
            .note("it is a {}", attributeTypeName(known.type));
  }

private:
  std::string operatorText() const { return fmt::format("{} (opset {})", node.opType, node.opset); }

  void checkCount(const std::vector<std::string>& given, const std::vector<ParameterFacts>& known,
                  std::string_view what) {
    if (known.empty() || !known.back().variadic)
      for (size_t i = known.size(); i < given.size(); ++i) {
        if (given[i].empty()) continue; // the same as none
        auto& error = diagnostics.error(node.describe(), "{} {} ({}) is one too many: {} has {}",
                                        what, i, quoteName(given[i]), operatorText(), known.size());
        if (!known.empty()) error.note("its {}s are {}", what, listOf(known));
        break;
      }
    for (size_t i = 0; i < known.size(); ++i) {
      // An output that nobody wants may have no name, but not an input.
      const bool there = i < given.size() && (what == "output" || !given[i].empty());
      // Of a variadic input any may be absent: that is for the operator to say.
      if (!known[i].required || there || (known[i].variadic && i < given.size())) continue;
      diagnostics.error(node.describe(), "required {} {} ('{}') is missing", what, i, known[i].name)
          .note("{} has {}", operatorText(), listOf(known));
      return; // what follows is missing as well, most likely
    }
  }

  void checkAttribute(const Attribute& a) {
    // Names that begin so are for what tools note down, as in the checker of ONNX.
    if (a.name.rfind("__", 0) == 0) return;
    auto known = std::find_if(schema.attributes.begin(), schema.attributes.end(),
                              [&](const AttributeFacts& f) { return f.name == a.name; });
    if (known != schema.attributes.end()) {
      if (a.type != known->type && a.type != AttributeType::Undefined) // a reference may say none
        diagnostics.error(node.describe(), "attribute '{}' is of type {}; expected {}", a.name,
                          attributeTypeName(a.type), attributeTypeName(known->type));
      return;
    }
    auto& error = diagnostics.error(node.describe(), "attribute {} is not one of {}",
                                    quoteName(a.name), operatorText());
    if (std::string other = otherVersions(a.name); !other.empty())
      error.note("{}", other);
    else if (schema.attributes.empty())
      error.note("{} has no attributes", node.opType);
    else
      error.note("{} has {}", node.opType, listOf(schema.attributes));
    NearestName nearest(a.name);
    for (const AttributeFacts& f : schema.attributes)
      nearest.offer(f.name);
    if (nearest) error.help("did you mean {}?", quoteName(nearest.best()));
  }

  /// Which opsets know the attribute, when others do.
  std::string otherVersions(std::string_view name) const {
    const auto [first, last] = rowsOf(node.domain, node.opType);
    std::string text;
    for (const Row* row = first; row != last;) {
      auto has = [&](const Row* r) {
        const auto all = attributes(r->attributes);
        return std::any_of(all.begin(), all.end(),
                           [&](const AttributeFacts& f) { return f.name == name; });
      };
      if (!has(row)) {
        ++row;
        continue;
      }
      text +=
          fmt::format("{} {}", text.empty() ? "the attribute exists in opset" : " and", row->since);
      while (row != last && has(row))
        ++row;
      text += row == last ? " and later" : fmt::format(" to {}", row->since - 1);
    }
    return text;
  }

  const Node& node;
  const OpSchema& schema;
  Diagnostics& diagnostics;
};

} // namespace

bool isKnownOperator(std::string_view domain, std::string_view name) {
  const auto [first, last] = rowsOf(domain, name);
  return first != last || !isKnownDomain(domain);
}

std::string_view nearestOperator(std::string_view domain, std::string_view name) {
  NearestName nearest(name);
  for (const Row& row : kRows)
    if (row.domain == domain) nearest.offer(row.name);
  return nearest.best();
}

void checkAgainstSchema(const Node& node, Diagnostics& diagnostics) {
  if (const Row* row = rowOf(node)) NodeChecker(node, schemaOf(*row), diagnostics).check();
}

std::string inputTypeError(const Node& node, const std::vector<DType>& given) {
  const Row* row = rowOf(node);
  if (!row) return {};
  const OpSchema schema = schemaOf(*row);
  std::vector<size_t> firstOf(schema.types.size(), SIZE_MAX); // input with this type
  const auto nameOf = [&](size_t i) {
    return schema.inputs[std::min(i, schema.inputs.size() - 1)].name;
  };
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == DType::Undefined || schema.inputs.empty()) continue;
    const ParameterFacts& p = schema.inputs[std::min(i, schema.inputs.size() - 1)];
    if (p.type < 0) continue;
    const uint64_t allowed = schema.types[p.type];
    if (allowed == kNoTensor) continue; // the definition knows what it is to be
    if (!(allowed >> static_cast<unsigned>(given[i]) & 1))
      return fmt::format("input {} ('{}') is {}; expected {}", i, p.name, dtypeName(given[i]),
                         typesText(allowed));
    size_t& first = firstOf[p.type];
    if (first == SIZE_MAX)
      first = i;
    else if (given[first] != given[i])
      return fmt::format("inputs {} ('{}') and {} ('{}') are {} and {}, and must be of one type",
                         first, nameOf(first), i, p.name, dtypeName(given[first]),
                         dtypeName(given[i]));
  }
  return {};
}

} // namespace ortc::onnx
