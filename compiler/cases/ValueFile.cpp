// SPDX-License-Identifier: Apache-2.0
// Goes through the same scanner and tensor reader as models do, so that typed, raw and external
// data, odd widths and files above 2 GiB behave alike.
#include "compiler/cases/ValueFile.h"

#include <cstring>
#include <fstream>

#include <google/protobuf/io/coded_stream.h>

#include "compiler/import/FileSet.h"
#include "compiler/import/TensorReader.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/support/NumberFormats.h"

namespace ortc {
namespace {

// What elem_type of a SequenceProto or OptionalProto says.
enum ElementKind {
  Undefined = 0,
  Tensor = 1,
  SparseTensor = 2,
  Sequence = 3,
  Map = 4,
  Optional = 5
};

class ValueReader {
public:
  ValueReader(onnx::TensorReader& tensors, Diagnostics& diagnostics)
      : tensors(tensors), diagnostics(diagnostics) {}
  std::optional<CaseValue> read(onnx_proto::TensorProto& proto);
  std::optional<CaseValue> read(onnx_proto::SparseTensorProto& proto);
  std::optional<CaseValue> read(onnx_proto::SequenceProto& proto);
  std::optional<CaseValue> read(onnx_proto::MapProto& proto);
  std::optional<CaseValue> read(onnx_proto::OptionalProto& proto);

private:
  template <typename Protos> std::optional<CaseValue> readList(Protos* protos);
  static CaseTensor own(onnx::TensorData tensor);
  onnx::TensorReader& tensors;
  Diagnostics& diagnostics;
};

CaseTensor ValueReader::own(onnx::TensorData tensor) {
  return {tensor.dtype,
          std::move(tensor.dims),
          {tensor.bytes.begin(), tensor.bytes.end()},
          std::move(tensor.strings)};
}

std::optional<CaseValue> ValueReader::read(onnx_proto::TensorProto& proto) {
  std::optional<onnx::TensorData> tensor = tensors.read(proto, {});
  if (!tensor) return std::nullopt;
  return own(std::move(*tensor));
}

std::optional<CaseValue> ValueReader::read(onnx_proto::SparseTensorProto& proto) {
  std::optional<onnx::SparseTensor> sparse = tensors.read(proto, {});
  if (!sparse) return std::nullopt;
  const std::optional<int64_t> count = elementCount(sparse->dims);
  constexpr int64_t kMostElements = int64_t{1} << 30;
  if (!count || *count > kMostElements || isSubByte(sparse->values.dtype)) {
    diagnostics.error({}, "sparse {} cannot be made dense",
                      shapedName(sparse->values.dtype, sparse->dims));
    return std::nullopt;
  }
  CaseTensor dense = CaseTensor::zeros(sparse->values.dtype, sparse->dims);
  const bool flat = sparse->indices.dims.size() == 1;
  const int64_t rank = flat ? 1 : static_cast<int64_t>(sparse->dims.size());
  for (int64_t k = 0; k < sparse->values.elementCount(); ++k) {
    int64_t at = 0;
    for (int64_t r = 0; r < rank; ++r) {
      const int64_t index = loadInt(sparse->indices.bytes.data(), DType::I64, k * rank + r);
      at = flat ? index : at * sparse->dims[r] + index;
    }
    if (dense.dtype == DType::String) {
      dense.strings[at] = sparse->values.strings[k];
    } else {
      const size_t size = bitWidth(dense.dtype) / 8;
      std::memcpy(dense.bytes.data() + at * size, sparse->values.bytes.data() + k * size, size);
    }
  }
  return dense;
}

template <typename Protos> std::optional<CaseValue> ValueReader::readList(Protos* protos) {
  std::vector<CaseValue> items;
  for (auto& proto : *protos) {
    std::optional<CaseValue> item = read(proto);
    if (!item) return std::nullopt;
    items.push_back(std::move(*item));
  }
  return CaseValue::list(std::move(items));
}

std::optional<CaseValue> ValueReader::read(onnx_proto::SequenceProto& proto) {
  switch (proto.elem_type()) {
  case Tensor: return readList(proto.mutable_tensor_values());
  case SparseTensor: return readList(proto.mutable_sparse_tensor_values());
  case Sequence: return readList(proto.mutable_sequence_values());
  case Map: return readList(proto.mutable_map_values());
  case Optional: return readList(proto.mutable_optional_values());
  default:
    diagnostics.error({}, "a sequence has the unknown element kind {}", proto.elem_type());
    return std::nullopt;
  }
}

std::optional<CaseValue> ValueReader::read(onnx_proto::MapProto& proto) {
  std::optional<CaseValue> values = read(*proto.mutable_values());
  if (!values) return std::nullopt;
  const std::optional<DType> type = dtypeFromOnnx(proto.key_type());
  CaseTensor keys;
  if (type == DType::String) {
    keys = CaseTensor::zeros(DType::String, {proto.string_keys_size()});
    keys.strings.assign(proto.string_keys().begin(), proto.string_keys().end());
  } else if (type && isInteger(*type) && !isSubByte(*type)) {
    keys = CaseTensor::zeros(*type, {proto.keys_size()});
    for (int i = 0; i < proto.keys_size(); ++i)
      storeBits(keys.bytes.data(), *type, i, static_cast<uint64_t>(proto.keys(i)));
  } else {
    diagnostics.error({}, "a map has keys of type {}; they must be integers or strings",
                      type ? dtypeName(*type) : std::to_string(proto.key_type()));
    return std::nullopt;
  }
  if (keys.elementCount() != static_cast<int64_t>(values->items.size())) {
    diagnostics.error({}, "a map has {} keys but {} values", keys.elementCount(),
                      values->items.size());
    return std::nullopt;
  }
  return CaseValue::map(std::move(keys), std::move(values->items));
}

std::optional<CaseValue> ValueReader::read(onnx_proto::OptionalProto& proto) {
  switch (proto.elem_type()) {
  case Undefined: return CaseValue();
  case Tensor: return read(*proto.mutable_tensor_value());
  case SparseTensor: return read(*proto.mutable_sparse_tensor_value());
  case Sequence: return read(*proto.mutable_sequence_value());
  case Map: return read(*proto.mutable_map_value());
  case Optional: return read(*proto.mutable_optional_value());
  default:
    diagnostics.error({}, "an optional has the unknown element kind {}", proto.elem_type());
    return std::nullopt;
  }
}

template <typename Proto>
std::optional<CaseValue> parseAndRead(onnx::FileSet& files, const onnx::ScannedMessage& message,
                                      Diagnostics& diagnostics) {
  Proto proto;
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(message.rest.data()), static_cast<int>(message.rest.size()));
  if (!proto.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    diagnostics.error({}, "the value does not decode");
    return std::nullopt;
  }
  onnx::TensorReader tensors(files, message, diagnostics);
  return ValueReader(tensors, diagnostics).read(proto);
}

void fill(onnx_proto::TensorProto& proto, const CaseTensor& tensor) {
  proto.mutable_dims()->Add(tensor.dims.begin(), tensor.dims.end());
  proto.set_data_type(static_cast<int>(tensor.dtype));
  for (const std::string& text : tensor.strings)
    proto.add_string_data(text);
  if (tensor.dtype != DType::String) proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

void fill(onnx_proto::MapProto& proto, const CaseValue& value);

void fill(onnx_proto::SequenceProto& proto, const CaseValue& value) {
  proto.set_elem_type(Tensor); // of an empty one too: what else it could hold it does not say
  for (const CaseValue& item : value.items)
    switch (item.kind) {
    case CaseValue::Kind::Tensor: fill(*proto.add_tensor_values(), item.tensor); break;
    case CaseValue::Kind::List:
      proto.set_elem_type(Sequence);
      fill(*proto.add_sequence_values(), item);
      break;
    case CaseValue::Kind::Map:
      proto.set_elem_type(Map);
      fill(*proto.add_map_values(), item);
      break;
    case CaseValue::Kind::Absent:
      proto.set_elem_type(Optional);
      proto.add_optional_values();
      break;
    }
}

void fill(onnx_proto::MapProto& proto, const CaseValue& value) {
  proto.set_key_type(static_cast<int>(value.keys.dtype));
  for (const std::string& key : value.keys.strings)
    proto.add_string_keys(key);
  if (value.keys.dtype != DType::String)
    for (int64_t i = 0; i < value.keys.elementCount(); ++i)
      proto.add_keys(loadInt(value.keys.bytes.data(), value.keys.dtype, i));
  CaseValue values = CaseValue::list(value.items);
  fill(*proto.mutable_values(), values);
}

void fill(onnx_proto::OptionalProto& proto, const CaseValue& value) {
  switch (value.kind) {
  case CaseValue::Kind::Absent: proto.set_elem_type(Undefined); break;
  case CaseValue::Kind::Tensor:
    proto.set_elem_type(Tensor);
    fill(*proto.mutable_tensor_value(), value.tensor);
    break;
  case CaseValue::Kind::List:
    proto.set_elem_type(Sequence);
    fill(*proto.mutable_sequence_value(), value);
    break;
  case CaseValue::Kind::Map:
    proto.set_elem_type(Map);
    fill(*proto.mutable_map_value(), value);
    break;
  }
}

} // namespace

std::optional<CaseValue> readValueFile(const std::string& path, onnx::Type::Kind kind,
                                       Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, path);
  std::shared_ptr<onnx::FileSet> files = onnx::FileSet::open(path, diagnostics);
  if (!files) return std::nullopt;
  const auto read = [&]<typename Proto>(onnx::RootMessage root) -> std::optional<CaseValue> {
    auto message = onnx::scanMessage(files->main().bytes, root, diagnostics);
    if (!message) return std::nullopt;
    return parseAndRead<Proto>(*files, *message, diagnostics);
  };
  using Kind = onnx::Type::Kind;
  switch (kind) {
  case Kind::Sequence:
    return read.operator()<onnx_proto::SequenceProto>(onnx::RootMessage::Sequence);
  case Kind::Map: return read.operator()<onnx_proto::MapProto>(onnx::RootMessage::Map);
  case Kind::Optional:
    return read.operator()<onnx_proto::OptionalProto>(onnx::RootMessage::Optional);
  default: return read.operator()<onnx_proto::TensorProto>(onnx::RootMessage::Tensor);
  }
}

bool writeValueFile(const std::string& path, const CaseValue& value, onnx::Type::Kind kind,
                    Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, path);
  std::string bytes;
  bool ok = true;
  using Kind = onnx::Type::Kind;
  const auto serialise = [&](auto proto, const auto& from) {
    fill(proto, from);
    ok = proto.SerializeToString(&bytes); // false above 2 GiB
  };
  if (kind == Kind::Optional)
    serialise(onnx_proto::OptionalProto(), value);
  else if (kind == Kind::Sequence && value.kind == CaseValue::Kind::List)
    serialise(onnx_proto::SequenceProto(), value);
  else if (kind == Kind::Map && value.kind == CaseValue::Kind::Map)
    serialise(onnx_proto::MapProto(), value);
  else if (value.isTensor() && kind != Kind::Sequence && kind != Kind::Map)
    serialise(onnx_proto::TensorProto(), value.tensor);
  else
    ok = false;
  if (!ok) {
    diagnostics.error({}, "{} cannot be written as this kind of value", value.typeText());
    return false;
  }
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) {
    diagnostics.error({}, "cannot write the file");
    return false;
  }
  return true;
}

} // namespace ortc
