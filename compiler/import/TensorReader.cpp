// SPDX-License-Identifier: Apache-2.0
// Element data comes in three forms: raw bytes, typed fields (some of which are raw bytes too once
// packed), and a range of another file. The first and the last stay where they are; only varints
// and odd widths are decoded.
#include "compiler/import/TensorReader.h"

#include "compiler/import/FileSet.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/support/NumberFormats.h"

#include <llvm/ADT/StringRef.h>

namespace ortc::onnx {
namespace {

enum DataField : uint32_t {
  FloatData = 4,
  Int32Data = 5,
  Int64Data = 7,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11
};

std::string_view fieldName(uint32_t field) {
  switch (field) {
  case FloatData: return "float_data";
  case Int32Data: return "int32_data";
  case Int64Data: return "int64_data";
  case RawData: return "raw_data";
  case DoubleData: return "double_data";
  default: return "uint64_data";
  }
}

/// The typed field that ONNX prescribes for an element type.
uint32_t typedField(DType type) {
  switch (type) {
  case DType::F32:
  case DType::C64: return FloatData;
  case DType::F64:
  case DType::C128: return DoubleData;
  case DType::I64: return Int64Data;
  case DType::U32:
  case DType::U64: return Uint64Data;
  default: return Int32Data;
  }
}

/// One number of a typed field per this many bits: sub-byte types come a byte at a time, except 6
/// bits, which come one element at a time; complex numbers as two.
unsigned bitsPerEntry(DType type) {
  switch (bitWidth(type)) {
  case 2:
  case 4: return 8;
  default: return isComplex(type) ? bitWidth(type) / 2 : bitWidth(type);
  }
}

/// Reads the entries of one chunk after the other, as 64-bit patterns. The scanner has already
/// walked tagged chunks, so these are well formed; the inside of packed ones is seen here for the
/// first time.
class EntryReader {
public:
  EntryReader(std::span<const uint8_t> file, const PayloadChunk& chunk)
      : at(file.data() + chunk.offset), end(at + chunk.size), tagged(chunk.tagged),
        fixedBytes(chunk.field == FloatData    ? 4
                   : chunk.field == DoubleData ? 8
                                               : 0) {}

  bool atEnd() const { return at == end; }
  /// False when the chunk is damaged.
  bool next(uint64_t& value) {
    uint64_t tag;
    if (tagged && !varint(tag)) return false;
    if (!fixedBytes) return varint(value) && (!tagged || (tag & 7) == 0);
    if (static_cast<size_t>(end - at) < fixedBytes ||
        (tagged && (tag & 7) != (fixedBytes == 4 ? 5 : 1)))
      return false;
    value = 0;
    std::memcpy(&value, at, fixedBytes);
    at += fixedBytes;
    return true;
  }

private:
  bool varint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at == end) return false;
      uint8_t byte = *at++;
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  const uint8_t* at;
  const uint8_t* end;
  bool tagged;
  size_t fixedBytes;
};

} // namespace

std::optional<TensorData> TensorReader::read(onnx_proto::TensorProto& proto,
                                             std::string_view where) {
  TensorData tensor;
  tensor.name = std::move(*proto.mutable_name());
  tensor.docString = std::move(*proto.mutable_doc_string());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  std::optional<DType> dtype = dtypeFromOnnx(proto.data_type());
  if (!dtype) {
    if (proto.data_type() == 0)
      diagnostics.error(where, "the tensor has no element type");
    else
      diagnostics.error(where, "unknown element type {}", proto.data_type())
          .note("the newest one known is {} ({})", kLastDType, dtypeName(DType(kLastDType)));
    return std::nullopt;
  }
  tensor.dtype = *dtype;
  if (proto.has_segment()) {
    diagnostics.error(where, "tensors in segments are not supported");
    return std::nullopt;
  }
  std::optional<int64_t> count = ortc::elementCount(tensor.dims);
  std::optional<int64_t> wanted = count ? byteSize(tensor.dtype, *count) : std::nullopt;
  if (!wanted) {
    bool negative = false;
    for (int64_t d : tensor.dims)
      negative |= d < 0;
    diagnostics.error(where, "{}: {}", tensor.typeText(),
                      negative ? "a dimension of a constant is negative"
                               : "the tensor is too large");
    return std::nullopt;
  }
  const bool external = proto.data_location() == 1;
  if (tensor.dtype == DType::String) {
    if (external || proto.string_data_size() != *count) {
      diagnostics.error(where, "{} needs {} strings but {}", tensor.typeText(), *count,
                        external ? "is stored as external data"
                                 : fmt::format("string_data has {}", proto.string_data_size()));
      return std::nullopt;
    }
    tensor.strings.reserve(*count);
    for (std::string& text : *proto.mutable_string_data())
      tensor.strings.push_back(std::move(text));
    return tensor;
  }
  if (proto.data_location() != 0 && !external) {
    diagnostics.error(where, "unknown data location {}", proto.data_location());
    return std::nullopt;
  }
  static const Payload none;
  const Payload& chunks = proto.has_payload() && proto.payload() < message.payloads.size()
                              ? message.payloads[proto.payload()]
                              : none;
  if (external) {
    if (!chunks.empty()) {
      diagnostics.error(where, "the tensor is external but also has {}",
                        fieldName(chunks[0].field));
      return std::nullopt;
    }
    if (!readExternal(proto, *wanted, tensor, where)) return std::nullopt;
    return tensor;
  }
  for (const PayloadChunk& chunk : chunks)
    if (chunk.field != chunks[0].field) {
      diagnostics.error(where, "the tensor has both {} and {}", fieldName(chunks[0].field),
                        fieldName(chunk.field));
      return std::nullopt;
    }
  if (chunks.empty() && *wanted > 0) {
    diagnostics.error(where, "{} needs {} bytes but the tensor has no data", tensor.typeText(),
                      *wanted);
    return std::nullopt;
  }
  if (chunks.empty()) return tensor;
  bool ok = chunks[0].field == RawData ? readRaw(chunks, *wanted, tensor, where)
                                       : readTyped(chunks, *wanted, tensor, where);
  if (!ok) return std::nullopt;
  return tensor;
}

bool TensorReader::readRaw(const Payload& chunks, int64_t wanted, TensorData& tensor,
                           std::string_view where) {
  const PayloadChunk& chunk = chunks.back(); // of a field that is not repeated the last one counts
  if (chunk.tagged) {
    diagnostics.error(where, "raw_data has the wrong wire type");
    return false;
  }
  if (chunk.size != static_cast<uint64_t>(wanted)) {
    diagnostics.error(where, "{} needs {} bytes but raw_data has {}", tensor.typeText(), wanted,
                      chunk.size);
    return false;
  }
  tensor.bytes = files.main().bytes.subspan(chunk.offset, chunk.size);
  tensor.owner = files.main().owner;
  return true;
}

bool TensorReader::readTyped(const Payload& chunks, int64_t wanted, TensorData& tensor,
                             std::string_view where) {
  const uint32_t field = chunks[0].field;
  if (field != typedField(tensor.dtype)) {
    diagnostics.error(where, "data of {} is in {}; it belongs in {} or raw_data",
                      dtypeName(tensor.dtype), fieldName(field),
                      fieldName(typedField(tensor.dtype)));
    return false;
  }
  // Packed floats are just their bytes.
  if ((field == FloatData || field == DoubleData) && chunks.size() == 1 && !chunks[0].tagged) {
    const PayloadChunk& chunk = chunks[0];
    if (chunk.size != static_cast<uint64_t>(wanted)) {
      diagnostics.error(where, "{} needs {} bytes but {} has {}", tensor.typeText(), wanted,
                        fieldName(field), chunk.size);
      return false;
    }
    tensor.bytes = files.main().bytes.subspan(chunk.offset, chunk.size);
    tensor.owner = files.main().owner;
    return true;
  }
  const unsigned entryBits = bitsPerEntry(tensor.dtype);
  const uint64_t entries = entryBits == 6 ? tensor.elementCount() : wanted / (entryBits / 8);
  const auto wrongCount = [&](std::string_view found) {
    diagnostics.error(where, "{} needs {} entries of {} but there are {}", tensor.typeText(),
                      entries, fieldName(field), found);
    return false;
  };
  // Every entry takes at least a byte: a huge shape with little data fails before anything is
  // allocated.
  uint64_t available = 0;
  for (const PayloadChunk& chunk : chunks)
    available += chunk.size;
  if (available < entries) return wrongCount("fewer");
  auto buffer = std::make_shared<std::vector<uint8_t>>(wanted);
  const DType entryType = entryBits == 6    ? tensor.dtype
                          : entryBits == 8  ? DType::U8
                          : entryBits == 16 ? DType::U16
                          : entryBits == 32 ? DType::U32
                                            : DType::U64;
  uint64_t done = 0;
  for (const PayloadChunk& chunk : chunks) {
    for (EntryReader reader(files.main().bytes, chunk); !reader.atEnd(); ++done) {
      uint64_t value;
      if (!reader.next(value)) {
        diagnostics.error(where, "{} is damaged at entry {}", fieldName(field), done);
        return false;
      }
      if (done == entries) return wrongCount("more");
      storeBits(buffer->data(), entryType, static_cast<int64_t>(done), value);
    }
  }
  if (done != entries) return wrongCount(fmt::format("{}", done));
  tensor.bytes = *buffer;
  tensor.owner = buffer;
  return true;
}

bool TensorReader::readExternal(const onnx_proto::TensorProto& proto, int64_t wanted,
                                TensorData& tensor, std::string_view where) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      uint64_t value;
      if (llvm::StringRef(entry.value()).trim().getAsInteger(10, value)) {
        diagnostics.error(where, "external data: {} is {}, not a number", entry.key(),
                          quoteName(entry.value()));
        return false;
      }
      if (entry.key() == "offset")
        offset = value;
      else
        length = value;
    } // checksum and keys of other tools say nothing about where the data is
  }
  const FileSet::File* file = files.openExternal(location, where, diagnostics);
  if (!file) return false;
  if (length && *length != static_cast<uint64_t>(wanted)) {
    diagnostics.error(where, "{} needs {} bytes but its external data has length {}",
                      tensor.typeText(), wanted, *length);
    return false;
  }
  if (offset > file->bytes.size() || static_cast<uint64_t>(wanted) > file->bytes.size() - offset) {
    diagnostics.error(where, "external data reaches past the end of {}", quoteName(location))
        .note("{} at offset {} needs {} bytes; the file has {}", tensor.typeText(), offset, wanted,
              file->bytes.size());
    return false;
  }
  tensor.externalFile = location;
  tensor.bytes = file->bytes.subspan(offset, wanted);
  tensor.owner = file->owner;
  return true;
}

std::optional<SparseTensor> TensorReader::read(onnx_proto::SparseTensorProto& proto,
                                               std::string_view where) {
  std::optional<TensorData> values = read(*proto.mutable_values(), where);
  std::optional<TensorData> indices = read(*proto.mutable_indices(), where);
  if (!values || !indices) return std::nullopt;
  SparseTensor sparse{std::move(*values), std::move(*indices), {}};
  sparse.dims.assign(proto.dims().begin(), proto.dims().end());
  std::optional<int64_t> size = ortc::elementCount(sparse.dims);
  const int64_t nonZero = sparse.values.dims.empty() ? -1 : sparse.values.dims[0];
  const std::vector<int64_t>& shape = sparse.indices.dims;
  const bool flat = shape.size() == 1;
  if (!size || sparse.values.dims.size() != 1 || sparse.indices.dtype != DType::I64 ||
      shape.empty() || shape.size() > 2 || shape[0] != nonZero ||
      (!flat && shape[1] != static_cast<int64_t>(sparse.dims.size()))) {
    diagnostics.error(where, "sparse tensor with values {} and indices {} does not fit {}",
                      sparse.values.typeText(), sparse.indices.typeText(),
                      shapedName(sparse.values.dtype, sparse.dims));
    return std::nullopt;
  }
  const int64_t rank = flat ? 1 : shape[1];
  for (int64_t k = 0; k < nonZero * rank; ++k) {
    const int64_t index = loadInt(sparse.indices.bytes.data(), DType::I64, k);
    const int64_t limit = flat ? *size : sparse.dims[k % rank];
    if (index < 0 || index >= limit) {
      diagnostics.error(where, "sparse tensor index {} is outside of [0, {})", index, limit);
      return std::nullopt;
    }
  }
  return sparse;
}

} // namespace ortc::onnx
