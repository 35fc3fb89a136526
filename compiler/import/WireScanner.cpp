// SPDX-License-Identifier: Apache-2.0
// See the header. The tables say which fields lead to tensors; all others are copied as they are.
#include "compiler/import/WireScanner.h"

#include <algorithm>
#include <limits>

namespace ortc::onnx {
namespace {

enum class Kind : uint8_t {
  Model,
  Graph,
  Function,
  Training,
  Node,
  Attribute,
  SparseTensor,
  Tensor,
  Sequence,
  Map,
  Optional
};

struct Child {
  Kind parent;
  uint32_t field;
  Kind child;
  const char* name;
};
// Fields that hold messages in which a tensor may be.
constexpr Child kChildren[] = {
    {Kind::Model, 7, Kind::Graph, "graph"},
    {Kind::Model, 20, Kind::Training, "training_info"},
    {Kind::Model, 25, Kind::Function, "functions"},
    {Kind::Training, 1, Kind::Graph, "initialization"},
    {Kind::Training, 2, Kind::Graph, "algorithm"},
    {Kind::Graph, 1, Kind::Node, "node"},
    {Kind::Graph, 5, Kind::Tensor, "initializer"},
    {Kind::Graph, 15, Kind::SparseTensor, "sparse_initializer"},
    {Kind::Function, 7, Kind::Node, "node"},
    {Kind::Function, 11, Kind::Attribute, "attribute_proto"},
    {Kind::Node, 5, Kind::Attribute, "attribute"},
    {Kind::Attribute, 5, Kind::Tensor, "t"},
    {Kind::Attribute, 6, Kind::Graph, "g"},
    {Kind::Attribute, 10, Kind::Tensor, "tensors"},
    {Kind::Attribute, 11, Kind::Graph, "graphs"},
    {Kind::Attribute, 22, Kind::SparseTensor, "sparse_tensor"},
    {Kind::Attribute, 23, Kind::SparseTensor, "sparse_tensors"},
    {Kind::SparseTensor, 1, Kind::Tensor, "values"},
    {Kind::SparseTensor, 2, Kind::Tensor, "indices"},
    {Kind::Sequence, 3, Kind::Tensor, "tensor_values"},
    {Kind::Sequence, 4, Kind::SparseTensor, "sparse_tensor_values"},
    {Kind::Sequence, 5, Kind::Sequence, "sequence_values"},
    {Kind::Sequence, 6, Kind::Map, "map_values"},
    {Kind::Sequence, 7, Kind::Optional, "optional_values"},
    {Kind::Map, 5, Kind::Sequence, "values"},
    {Kind::Optional, 3, Kind::Tensor, "tensor_value"},
    {Kind::Optional, 4, Kind::SparseTensor, "sparse_tensor_value"},
    {Kind::Optional, 5, Kind::Sequence, "sequence_value"},
    {Kind::Optional, 6, Kind::Map, "map_value"},
    {Kind::Optional, 7, Kind::Optional, "optional_value"},
};

const Child* findChild(Kind parent, uint32_t field) {
  for (const Child& child : kChildren)
    if (child.parent == parent && child.field == field) return &child;
  return nullptr;
}

enum Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
constexpr uint32_t kPayloadField = 100000; // TensorProto.payload
constexpr unsigned kMaxNesting = 4 * kMaxGraphDepth;

bool isTensorData(uint32_t field) {
  return field == 4 || field == 5 || field == 7 || (field >= 9 && field <= 11);
}

class Scanner {
public:
  Scanner(std::span<const uint8_t> bytes, Diagnostics& diagnostics)
      : bytes(bytes), diagnostics(diagnostics) {}

  bool scan(Kind kind, uint64_t begin, uint64_t end, unsigned graphDepth);
  ScannedMessage result;

private:
  struct Field {
    uint32_t number = 0, wire = 0;
    uint64_t begin = 0;    // of the tag
    uint64_t contents = 0; // behind the tag, and behind the length where there is one
    uint64_t end = 0;
  };
  bool readField(uint64_t begin, uint64_t end, Field& field);
  bool readVarint(uint64_t& at, uint64_t end, uint64_t& value);
  bool fail(uint64_t at, std::string_view what);
  void copy(const Field& field) {
    result.rest.append(reinterpret_cast<const char*>(bytes.data()) + field.begin,
                       field.end - field.begin);
  }
  void putVarint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      result.rest += static_cast<char>(value | 0x80);
    result.rest += static_cast<char>(value);
  }
  void cut(const Field& field, std::optional<size_t>& payload);

  std::span<const uint8_t> bytes;
  Diagnostics& diagnostics;
  std::vector<const char*> path; // the names of the fields that enclose this one
};

bool Scanner::fail(uint64_t at, std::string_view what) {
  // Thousands of nested levels need not be printed; the innermost tell most.
  std::string where;
  for (size_t i = path.size() > 8 ? path.size() - 8 : 0; i < path.size(); ++i)
    where += (where.empty() ? "" : ".") + std::string(path[i]);
  diagnostics
      .error({}, "{} at byte {} of {}{}{}", what, at, bytes.size(), where.empty() ? "" : ", in ",
             where)
      .help("the file is damaged, incomplete, or no ONNX file; fetch or export it again");
  return false;
}

bool Scanner::readVarint(uint64_t& at, uint64_t end, uint64_t& value) {
  value = 0;
  uint64_t start = at;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at >= end) return fail(start, "truncated number");
    uint8_t byte = bytes[at++];
    if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return fail(start, "number of more than ten bytes");
}

bool Scanner::readField(uint64_t begin, uint64_t end, Field& field) {
  uint64_t at = begin, tag;
  if (!readVarint(at, end, tag)) return false;
  field.begin = begin;
  field.wire = tag & 7;
  if (tag >> 3 == 0 || tag >> 3 >= (uint64_t{1} << 29)) return fail(begin, "invalid field number");
  field.number = static_cast<uint32_t>(tag >> 3);
  uint64_t size = 0;
  switch (field.wire) {
  case Wire::Varint: {
    field.contents = at;
    uint64_t ignored;
    if (!readVarint(at, end, ignored)) return false;
    field.end = at;
    return true;
  }
  case Wire::Fixed64: size = 8; break;
  case Wire::Fixed32: size = 4; break;
  case Wire::Bytes:
    if (!readVarint(at, end, size)) return false;
    break;
  default: return fail(begin, "invalid wire type");
  }
  if (size > end - at)
    return fail(begin, fmt::format("truncated field {}: it needs {} bytes and {} are left",
                                   field.number, size, end - at));
  field.contents = at;
  field.end = at + size;
  return true;
}

void Scanner::cut(const Field& field, std::optional<size_t>& payload) {
  if (!payload) {
    payload = result.payloads.size();
    result.payloads.emplace_back();
  }
  Payload& chunks = result.payloads[*payload];
  if (field.wire == Wire::Bytes) {
    // An empty raw_data still says how the tensor is stored, but holds nothing to keep.
    if (field.end > field.contents)
      chunks.push_back({field.number, false, field.contents, field.end - field.contents});
    return;
  }
  // Elements written one by one: neighbours join, or a chunk record would be larger than its
  // element.
  if (!chunks.empty() && chunks.back().tagged && chunks.back().field == field.number &&
      chunks.back().offset + chunks.back().size == field.begin)
    chunks.back().size += field.end - field.begin;
  else
    chunks.push_back({field.number, true, field.begin, field.end - field.begin});
}

bool Scanner::scan(Kind kind, uint64_t begin, uint64_t end, unsigned graphDepth) {
  if (kind == Kind::Graph && ++graphDepth > kMaxGraphDepth) {
    diagnostics.error({}, "subgraphs are nested more than {} deep", kMaxGraphDepth);
    return false;
  }
  if (path.size() > kMaxNesting) return fail(begin, "messages nested too deep");
  std::optional<size_t> payload;
  for (uint64_t at = begin; at < end;) {
    Field field;
    if (!readField(at, end, field)) return false;
    at = field.end;
    if (kind == Kind::Tensor) {
      if (isTensorData(field.number))
        cut(field, payload);
      else if (field.number != kPayloadField)
        copy(field);
      continue;
    }
    const Child* child = field.wire == Wire::Bytes ? findChild(kind, field.number) : nullptr;
    if (!child) {
      copy(field);
      continue;
    }
    putVarint(uint64_t{field.number} << 3 | Wire::Bytes);
    // The length is known only afterwards: keep room for five digits, which protobuf accepts for
    // any length.
    size_t lengthAt = result.rest.size();
    result.rest.append(5, '\0');
    path.push_back(child->name);
    if (!scan(child->child, field.contents, field.end, graphDepth)) return false;
    path.pop_back();
    uint64_t length = result.rest.size() - lengthAt - 5;
    for (int i = 0; i < 5; ++i)
      result.rest[lengthAt + i] =
          static_cast<char>((length >> (7 * i) & 0x7F) | (i < 4 ? 0x80 : 0));
    if (result.rest.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      diagnostics.error({}, "the model without its tensor data is larger than 2 GiB");
      return false;
    }
  }
  if (payload) {
    putVarint(uint64_t{kPayloadField} << 3 | Wire::Varint);
    putVarint(*payload);
  }
  return true;
}

} // namespace

std::optional<ScannedMessage> scanMessage(std::span<const uint8_t> bytes, RootMessage root,
                                          Diagnostics& diagnostics) {
  constexpr Kind kinds[] = {Kind::Model, Kind::Tensor, Kind::Sequence, Kind::Map, Kind::Optional};
  Scanner scanner(bytes, diagnostics);
  if (!scanner.scan(kinds[static_cast<size_t>(root)], 0, bytes.size(), 0)) return std::nullopt;
  return std::move(scanner.result);
}

} // namespace ortc::onnx
