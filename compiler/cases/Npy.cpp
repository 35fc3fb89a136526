// SPDX-License-Identifier: Apache-2.0
#include "compiler/cases/Npy.h"

#include <algorithm>
#include <cstring>

#include <llvm/ADT/StringRef.h>

#include "compiler/import/FileSet.h"
#include "compiler/support/Names.h"
#include "compiler/support/NumberFormats.h"
#include "compiler/support/WriteFile.h"

namespace ortc {
namespace {

constexpr char kMagic[] = "\x93NUMPY";

/// What the header's dictionary says.
struct Header {
  char order = '|';    // '<', '>' or '|'
  char kind = 0;       // 'f', 'i', 'u', 'b', 'c', 'V', 'S', 'U'
  size_t itemSize = 0; // bytes; characters for 'U'
  bool fortran = false;
  std::vector<int64_t> dims;
  size_t dataOffset = 0;
};

/// The dictionary is a Python literal of a fixed form: {'descr': '<f4', 'fortran_order': False,
/// 'shape': (3, 4), }
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : text(text) {}
  bool parse(Header& header, std::string& why) {
    if (!take("{")) return no(why, "the header is no dictionary");
    bool descr = false, shape = false;
    while (!take("}")) {
      llvm::StringRef key;
      if (!quotedString(key) || !take(":")) return no(why, "the header is damaged");
      bool ok = false;
      if (key == "descr") {
        if (peek() == '[') return no(why, "structured arrays are not supported");
        llvm::StringRef value;
        ok = descr = quotedString(value) && parseType(value, header);
      } else if (key == "fortran_order") {
        header.fortran = take("True");
        ok = header.fortran || take("False");
      } else if (key == "shape") {
        ok = shape = parseShape(header.dims);
      }
      if (!ok) return no(why, "the header is damaged");
      take(",");
    }
    if (!descr || !shape) return no(why, "the header lacks 'descr' or 'shape'");
    return true;
  }

private:
  static bool no(std::string& why, const char* message) {
    why = message;
    return false;
  }
  char peek() {
    text = text.ltrim();
    return text.empty() ? '\0' : text[0];
  }
  bool take(llvm::StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  bool quotedString(llvm::StringRef& value) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text.find(quote, 1);
    if (end == llvm::StringRef::npos) return false;
    value = text.slice(1, end);
    text = text.drop_front(end + 1);
    return true;
  }
  static bool parseType(llvm::StringRef value, Header& header) {
    if (value.size() < 2) return false;
    if (value[0] == '<' || value[0] == '>' || value[0] == '|' || value[0] == '=') {
      header.order = value[0];
      value = value.drop_front();
    }
    header.kind = value[0];
    value = value.drop_front().take_until([](char c) { return c == '['; }); // datetime units
    return header.kind == 'O' || !value.getAsInteger(10, header.itemSize);
  }
  bool parseShape(std::vector<int64_t>& dims) {
    if (!take("(")) return false;
    while (!take(")")) {
      int64_t dim;
      text = text.ltrim();
      if (text.consumeInteger(10, dim) || dim < 0) return false;
      take("L"); // Python 2 wrote long integers
      dims.push_back(dim);
      if (peek() != ')' && !take(",")) return false;
    }
    return true;
  }
  llvm::StringRef text;
};

/// The element type of a header, as far as numpy knows it; Undefined for raw bytes of size 1 and 2.
std::optional<DType> numericType(const Header& header) {
  static constexpr struct {
    char kind;
    size_t size;
    DType type;
  } kTypes[] = {{'f', 2, DType::F16},      {'f', 4, DType::F32},   {'f', 8, DType::F64},
                {'i', 1, DType::I8},       {'i', 2, DType::I16},   {'i', 4, DType::I32},
                {'i', 8, DType::I64},      {'u', 1, DType::U8},    {'u', 2, DType::U16},
                {'u', 4, DType::U32},      {'u', 8, DType::U64},   {'b', 1, DType::Bool},
                {'c', 8, DType::C64},      {'c', 16, DType::C128}, {'V', 1, DType::Undefined},
                {'V', 2, DType::Undefined}};
  for (const auto& row : kTypes)
    if (row.kind == header.kind && row.size == header.itemSize) return row.type;
  return std::nullopt;
}

/// Moves elements of `size` bytes from column-major to row-major order.
std::vector<uint8_t> toRowMajor(const std::vector<uint8_t>& from, const std::vector<int64_t>& dims,
                                size_t size) {
  std::vector<uint8_t> to(from.size());
  std::vector<int64_t> strides(dims.size()), index(dims.size());
  int64_t stride = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  for (int64_t k = 0; k < stride; ++k) {
    int64_t source = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      source += index[i] * strides[i];
    std::memcpy(to.data() + k * size, from.data() + source * size, size);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++index[i] < dims[i]) break;
      index[i] = 0;
    }
  }
  return to;
}

void swapBytes(std::vector<uint8_t>& bytes, size_t size) {
  for (size_t at = 0; at + size <= bytes.size(); at += size)
    std::reverse(bytes.begin() + at, bytes.begin() + at + size);
}

/// One string of fixed width: zeros at its end are padding.
std::string takeString(const uint8_t* at, const Header& header) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(reinterpret_cast<const char*>(at), header.itemSize);
    text.erase(text.find_last_not_of('\0') + 1);
    return text;
  }
  size_t length = header.itemSize;
  const auto codePoint = [&](size_t i) {
    return static_cast<uint32_t>(loadBits(at, DType::U32, i));
  };
  while (length > 0 && codePoint(length - 1) == 0)
    --length;
  for (size_t i = 0; i < length; ++i)
    appendUtf8(text, std::min(codePoint(i), 0x10FFFFu));
  return text;
}

} // namespace

std::optional<CaseTensor> parseNpy(std::span<const uint8_t> bytes, DType wanted,
                                   std::string_view where, Diagnostics& diagnostics) {
  const auto fail = [&](std::string_view why) {
    diagnostics.error(where, "not a usable .npy file: {}", why);
    return std::nullopt;
  };
  constexpr size_t kPrefix = 8; // magic and version
  if (bytes.size() < kPrefix + 2 || std::memcmp(bytes.data(), kMagic, 6) != 0)
    return fail("it does not begin with numpy's mark");
  const unsigned version = bytes[6];
  if (version < 1 || version > 3) return fail(fmt::format("version {} is not known", version));
  const size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < kPrefix + lengthBytes) return fail("it is truncated");
  const uint64_t length =
      loadBits(bytes.data() + kPrefix, version == 1 ? DType::U16 : DType::U32, 0);
  Header header;
  header.dataOffset = kPrefix + lengthBytes + length;
  if (header.dataOffset > bytes.size()) return fail("it is truncated");
  std::string why;
  if (!HeaderParser({reinterpret_cast<const char*>(bytes.data()) + kPrefix + lengthBytes, length})
           .parse(header, why))
    return fail(why);
  if (header.kind == 'O') return fail("arrays of Python objects are not supported");
  const std::optional<int64_t> count = elementCount(header.dims);
  const bool isString = header.kind == 'S' || header.kind == 'U';
  std::optional<DType> type = isString ? DType::String : numericType(header);
  if (!count || !type)
    return fail(
        count ? fmt::format("element type '{}{}' is not supported", header.kind, header.itemSize)
              : "the shape is too large");
  uint64_t size = header.itemSize, needed;
  if (header.kind == 'U' && __builtin_mul_overflow(size, uint64_t{4}, &size))
    return fail("the strings are too long");
  if (__builtin_mul_overflow(size, static_cast<uint64_t>(*count), &needed) ||
      needed > bytes.size() - header.dataOffset)
    return fail(fmt::format("{} elements of {} bytes are promised but {} bytes are there", *count,
                            size, bytes.size() - header.dataOffset));
  CaseTensor tensor{*type, header.dims, {}, {}};
  const uint8_t* data = bytes.data() + header.dataOffset;
  std::vector<uint8_t> elements(data, data + needed);
  if (header.order == '>' && header.kind != 'S' && size > 1) {
    if (isString)
      swapBytes(elements, 4);
    else
      swapBytes(elements, isComplex(*type) ? size / 2 : size);
  }
  if (header.fortran && header.dims.size() > 1 && *count > 0 && size > 0)
    elements = toRowMajor(elements, header.dims, size);
  if (isString) {
    // Without a character there is no data that would bound the number of strings.
    constexpr int64_t kMostEmpty = int64_t{1} << 24;
    if (size == 0 && *count > kMostEmpty) return fail("too many empty strings");
    for (int64_t i = 0; i < *count; ++i)
      tensor.strings.push_back(takeString(elements.data() + i * size, header));
    return tensor;
  }
  tensor.bytes = std::move(elements);

  // numpy has no name for the type that is meant: take the bits.
  const bool byteSized = header.itemSize == 1 && header.kind != 'b';
  if (byteSized && isSubByte(wanted)) {
    std::vector<uint8_t> packed(byteSize(wanted, *count).value_or(0));
    for (int64_t i = 0; i < *count; ++i)
      storeBits(packed.data(), wanted, i, tensor.bytes[i]);
    tensor.bytes = std::move(packed);
    tensor.dtype = wanted;
  } else if (header.kind == 'V' || (header.kind == 'u' && isFloat(wanted))) {
    if (wanted != DType::String && wanted != DType::Undefined &&
        bitWidth(wanted) == 8 * header.itemSize)
      tensor.dtype = wanted;
    else if (header.kind == 'V')
      tensor.dtype = header.itemSize == 1 ? DType::U8 : DType::U16;
  }
  return tensor;
}

std::vector<uint8_t> formatNpy(const CaseTensor& tensor) {
  const int64_t count = tensor.elementCount();
  std::string descr;
  std::vector<uint8_t> data;
  if (tensor.dtype == DType::String) {
    std::vector<std::vector<uint32_t>> texts;
    size_t longest = 1; // numpy itself never writes U0
    for (std::string_view text : tensor.strings) {
      std::vector<uint32_t>& codePoints = texts.emplace_back();
      while (!text.empty()) {
        const int32_t c = takeCodePoint(text);
        codePoints.push_back(c < 0 ? 0xFFFD : static_cast<uint32_t>(c));
      }
      longest = std::max(longest, codePoints.size());
    }
    descr = fmt::format("<U{}", longest);
    data.resize(texts.size() * longest * 4);
    for (size_t i = 0; i < texts.size(); ++i)
      for (size_t k = 0; k < texts[i].size(); ++k)
        storeBits(data.data(), DType::U32, static_cast<int64_t>(i * longest + k), texts[i][k]);
  } else if (isSubByte(tensor.dtype)) {
    descr = isFloat(tensor.dtype) ? "|V1" : isSignedInteger(tensor.dtype) ? "|i1" : "|u1";
    data.resize(count);
    for (int64_t i = 0; i < count; ++i)
      data[i] = static_cast<uint8_t>(isFloat(tensor.dtype)
                                         ? loadBits(tensor.bytes.data(), tensor.dtype, i)
                                         : loadInt(tensor.bytes.data(), tensor.dtype, i));
  } else {
    data = tensor.bytes;
    const unsigned size = bitWidth(tensor.dtype) / 8;
    char kind = 'V';
    if (tensor.dtype == DType::Bool)
      kind = 'b';
    else if (isComplex(tensor.dtype))
      kind = 'c';
    else if (isInteger(tensor.dtype))
      kind = isSignedInteger(tensor.dtype) ? 'i' : 'u';
    else if (tensor.dtype == DType::F16 || size >= 4)
      kind = 'f';
    descr = fmt::format("{}{}{}", size == 1 ? '|' : '<', kind, size);
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr);
  for (int64_t d : tensor.dims)
    header += fmt::format("{},", d) + (tensor.dims.size() > 1 ? " " : "");
  if (tensor.dims.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  // The data begins at a multiple of 64 bytes, and the header ends with a newline.
  const bool longHeader = header.size() + 1 + 10 + 63 > 0xFFFF;
  const size_t prefix = longHeader ? 12 : 10;
  header.resize((prefix + header.size() + 1 + 63) / 64 * 64 - prefix, ' ');
  header.back() = '\n';
  std::vector<uint8_t> out(prefix);
  std::memcpy(out.data(), kMagic, 6);
  out[6] = longHeader ? 2 : 1;
  storeBits(out.data() + 8, longHeader ? DType::U32 : DType::U16, 0, header.size());
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::optional<CaseTensor> readNpyFile(const std::string& path, DType wanted,
                                      Diagnostics& diagnostics) {
  Diagnostics::FileScope scope(diagnostics, path);
  std::shared_ptr<llvm::MemoryBuffer> buffer = onnx::mapFile(path, {}, diagnostics);
  return buffer ? parseNpy(onnx::bytesOf(*buffer), wanted, {}, diagnostics) : std::nullopt;
}

bool writeNpyFile(const std::string& path, const CaseTensor& tensor, Diagnostics& diagnostics) {
  std::string why;
  if (writeWholeFile(path, formatNpy(tensor), why)) return true;
  Diagnostics::FileScope scope(diagnostics, path);
  diagnostics.error({}, "cannot be written: {}", why);
  return false;
}

} // namespace ortc
