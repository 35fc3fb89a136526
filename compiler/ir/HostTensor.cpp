// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/HostTensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace mlir;

namespace ortc {

unsigned storageBytes(Type type) {
  if (type.isIndex()) return 8;
  if (type.isIntOrFloat()) return std::max(1u, (type.getIntOrFloatBitWidth() + 7) / 8);
  if (auto c = dyn_cast<ComplexType>(type)) return 2 * storageBytes(c.getElementType());
  return 0; // strings
}

CellType cellType(Type type) {
  CellType c;
  if (type.isIndex()) {
    c.kind = CellType::integer, c.width = 64, c.bytes = 8;
  } else if (auto i = dyn_cast<IntegerType>(type); i && i.getWidth() >= 1 && i.getWidth() <= 64) {
    c.kind = CellType::integer;
    c.width = static_cast<uint8_t>(i.getWidth());
    c.bytes = static_cast<uint8_t>(storageBytes(type));
  } else if (type.isF32() || type.isF64()) {
    c.kind = type.isF32() ? CellType::f32 : CellType::f64;
    c.bytes = static_cast<uint8_t>(storageBytes(type));
    c.width = 8 * c.bytes;
  } else if (auto f = dyn_cast<FloatType>(type); f && f.getWidth() <= 16) {
    const llvm::fltSemantics& semantics = f.getFloatSemantics();
    c.kind = CellType::smallFloat;
    c.width = static_cast<uint8_t>(f.getWidth());
    c.bytes = static_cast<uint8_t>(storageBytes(type));
    c.mantissaBits = static_cast<uint8_t>(APFloat::semanticsPrecision(semantics) - 1);
    c.exponentBits = static_cast<uint8_t>(c.width - 1 - c.mantissaBits);
    c.bias = static_cast<int16_t>(1 - APFloat::semanticsMinExponent(semantics));
    // What all ones with the sign cleared, and a lone sign, mean tells the families apart.
    APFloat loneSign(semantics, APInt::getSignMask(c.width));
    APFloat topExponent(semantics, APInt(c.width, ((1u << c.exponentBits) - 1) << c.mantissaBits));
    c.special = loneSign.isNaN()           ? CellType::unsignedZero
                : topExponent.isInfinity() ? CellType::ieee
                                           : CellType::finite;
  } else if (!type.isIntOrFloat() && !isa<ComplexType, ShapedType>(type) &&
             storageBytes(type) == 0) {
    c.kind = CellType::string;
  }
  return c;
}

HostTensor::HostTensor(Type elementType, ArrayRef<int64_t> dims)
    : elementType(elementType), dims(dims) {
  if (!storageBytes(elementType)) {
    strings = std::make_shared<std::vector<std::string>>(size());
    return;
  }
  uint64_t n = std::max<uint64_t>(bytes(), 1);
  data = std::shared_ptr<char>(new char[n](), std::default_delete<char[]>());
}

HostTensor HostTensor::view(Type elementType, ArrayRef<int64_t> dims, const void* bytes,
                            std::shared_ptr<void> owner) {
  HostTensor t;
  t.elementType = elementType;
  t.dims.assign(dims.begin(), dims.end());
  t.data = std::shared_ptr<char>(std::move(owner), static_cast<char*>(const_cast<void*>(bytes)));
  return t;
}

int64_t HostTensor::size() const {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

uint64_t HostTensor::bytes() const {
  return static_cast<uint64_t>(size()) * storageBytes(elementType);
}

double HostTensor::getDouble(int64_t i) const {
  CellType c = cellType(elementType);
  if (!c.isFloat()) return static_cast<double>(getInt(i));
  double v;
  loadDoubles(c, data.get(), i, 0, 1, &v);
  return v;
}

void HostTensor::setDouble(int64_t i, double value) {
  CellType c = cellType(elementType);
  if (c.isFloat())
    storeDoubles(c, data.get(), i, 1, 1, &value);
  else
    setInt(i, static_cast<int64_t>(value));
}

int64_t HostTensor::getInt(int64_t i, bool isUnsigned) const {
  CellType c = cellType(elementType);
  int64_t v;
  loadIntegers(c, data.get(), i, 0, 1, &v);
  if (isUnsigned && c.width < 64) v &= (int64_t(1) << c.width) - 1;
  return v;
}

void HostTensor::setInt(int64_t i, int64_t value) {
  storeIntegers(cellType(elementType), data.get(), i, 1, 1, &value);
}

HostTensor toHostTensor(ElementsAttr attr) {
  auto type = cast<ShapedType>(attr.getType());
  Type element = type.getElementType();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    return HostTensor::view(element, type.getShape(), blob->getData().data());
  }
  HostTensor t(element, type.getShape());
  if (auto strings = dyn_cast<DenseStringElementsAttr>(attr)) {
    for (auto [i, s] : llvm::enumerate(strings.getRawStringData()))
      (*t.strings)[strings.isSplat() ? 0 : i] = s.str();
    if (strings.isSplat())
      for (std::string& s : *t.strings)
        s = strings.getRawStringData()[0].str();
    return t;
  }
  auto dense = cast<DenseElementsAttr>(attr);
  if (element.isInteger(1)) { // packed as bits in the attribute
    for (auto [i, v] : llvm::enumerate(dense.getValues<bool>()))
      t.data.get()[i] = v;
    return t;
  }
  ArrayRef<char> raw = dense.getRawData();
  unsigned n = storageBytes(element);
  if (dense.isSplat())
    for (int64_t i = 0, e = t.size(); i < e; ++i)
      std::memcpy(t.data.get() + i * n, raw.data(), n);
  else
    std::memcpy(t.data.get(), raw.data(), raw.size());
  return t;
}

TypedAttr toAttribute(const HostTensor& t, StringRef name) {
  auto type = RankedTensorType::get(t.dims, t.elementType);
  if (t.strings) {
    SmallVector<StringRef> refs(t.strings->begin(), t.strings->end());
    return cast<TypedAttr>(Attribute(DenseStringElementsAttr::get(type, refs)));
  }
  // Folders only see dense attributes; a resource is never copied nor hashed.
  constexpr uint64_t denseLimit = 64 << 10;
  if (t.elementType.isInteger(1)) {
    SmallVector<bool> bits(t.size());
    for (int64_t i = 0; i < t.size(); ++i)
      bits[i] = t.data.get()[i] != 0;
    return cast<TypedAttr>(Attribute(DenseElementsAttr::get(type, ArrayRef<bool>(bits))));
  }
  if (t.bytes() <= denseLimit)
    return cast<TypedAttr>(Attribute(
        DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(t.data.get(), t.bytes()))));
  std::shared_ptr<char> owner = t.data;
  AsmResourceBlob blob(
      ArrayRef<char>(t.data.get(), t.bytes()), /*align=*/1,
      [owner](void*, size_t, size_t) mutable { owner.reset(); }, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

} // namespace ortc
