// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Values.h"
#include "compiler/ops/AllOps.h"
#include <fmt/format.h>

using namespace mlir;

namespace ortc::driver {
namespace {

/// The element type without regard to sign, for types that no attribute describes.
DType dtypeOf(mlir::Type element) {
  if (isa<StringType>(element)) return DType::String;
  if (auto i = dyn_cast<IntegerType>(element)) switch (i.getWidth()) {
    case 1: return DType::Bool;
    case 2: return DType::I2;
    case 4: return DType::I4;
    case 8: return DType::I8;
    case 16: return DType::I16;
    case 32: return DType::I32;
    default: return DType::I64;
    }
  if (auto c = dyn_cast<ComplexType>(element))
    return c.getElementType().isF32() ? DType::C64 : DType::C128;
  if (element.isF32()) return DType::F32;
  if (element.isF64()) return DType::F64;
  if (element.isF16()) return DType::F16;
  if (element.isBF16()) return DType::BF16;
  if (element.isFloat8E4M3FN()) return DType::F8E4M3FN;
  if (element.isFloat8E4M3FNUZ()) return DType::F8E4M3FNUZ;
  if (element.isFloat8E5M2()) return DType::F8E5M2;
  if (element.isFloat8E5M2FNUZ()) return DType::F8E5M2FNUZ;
  return DType::Undefined;
}

bool isPacked(DType type) {
  return bitWidth(type) % 8 != 0;
}

uint8_t readPacked(const CaseTensor& t, int64_t i) {
  unsigned width = bitWidth(t.dtype);
  uint64_t bit = static_cast<uint64_t>(i) * width;
  unsigned both = t.bytes[bit / 8];
  if (bit / 8 + 1 < t.bytes.size()) both |= t.bytes[bit / 8 + 1] << 8;
  return both >> (bit % 8) & ((1u << width) - 1);
}

void writePacked(CaseTensor& t, int64_t i, unsigned value) {
  unsigned width = bitWidth(t.dtype);
  uint64_t bit = static_cast<uint64_t>(i) * width;
  unsigned shifted = (value & ((1u << width) - 1)) << (bit % 8);
  t.bytes[bit / 8] |= shifted & 0xff;
  if (shifted >> 8) t.bytes[bit / 8 + 1] |= shifted >> 8;
}

std::optional<HostTensor> toHostTensor(const CaseTensor& t, mlir::Type element,
                                       std::string& error) {
  const DType unsignedSame = dtypeOf(element);
  const unsigned storage = storageBytes(element);
  const bool same =
      t.dtype == unsignedSame ||
      (isa<IntegerType>(element) && (isInteger(t.dtype) || t.dtype == DType::Bool) &&
       (t.dtype == DType::Bool ? 1 : bitWidth(t.dtype)) == element.getIntOrFloatBitWidth()) ||
      // Types that MLIR has no name for are kept as integers of their width.
      (isFloat(t.dtype) && isa<IntegerType>(element) &&
       bitWidth(t.dtype) == element.getIntOrFloatBitWidth());
  if (!same) {
    std::string text;
    llvm::raw_string_ostream(text) << element;
    error = fmt::format("is {}, but elements of type {} are expected", t.typeText(), text);
    return std::nullopt;
  }
  HostTensor r(element, llvm::ArrayRef<int64_t>(t.dims.data(), t.dims.size()));
  if (t.dtype == DType::String) {
    *r.strings = t.strings;
  } else if (isPacked(t.dtype)) {
    for (int64_t i = 0, n = r.size(); i < n; ++i)
      r.data.get()[i * storage] = static_cast<char>(readPacked(t, i));
  } else if (!t.bytes.empty()) {
    std::memcpy(r.data.get(), t.bytes.data(), std::min<size_t>(t.bytes.size(), r.bytes()));
  }
  return r;
}

CaseTensor toCaseTensor(const HostTensor& t, DType dtype) {
  if (dtype == DType::Undefined) dtype = dtypeOf(t.elementType);
  CaseTensor r = CaseTensor::zeros(dtype, {t.dims.begin(), t.dims.end()});
  if (dtype == DType::String) {
    if (t.strings) r.strings = *t.strings;
  } else if (isPacked(dtype)) {
    const unsigned storage = storageBytes(t.elementType);
    for (int64_t i = 0, n = t.size(); i < n; ++i)
      writePacked(r, i, static_cast<uint8_t>(t.data.get()[i * storage]));
  } else if (!r.bytes.empty()) {
    std::memcpy(r.bytes.data(), t.data.get(), r.bytes.size());
  }
  return r;
}

onnx::Type describe(mlir::Type type, DType dtype, ArrayAttr dims) {
  onnx::Type t;
  if (auto list = dyn_cast<ListType>(type)) {
    t.kind = onnx::Type::Kind::Sequence;
    t.element =
        std::make_shared<onnx::Type>(describe(list.getElementType(), DType::Undefined, nullptr));
  } else if (auto map = dyn_cast<MapType>(type)) {
    t.kind = onnx::Type::Kind::Map;
    t.dtype = dtypeOf(map.getKeyType());
    t.element =
        std::make_shared<onnx::Type>(describe(map.getValueType(), DType::Undefined, nullptr));
  } else if (auto shaped = dyn_cast<RankedTensorType>(type)) {
    t.kind = onnx::Type::Kind::Tensor;
    t.dtype = dtype == DType::Undefined ? dtypeOf(shaped.getElementType()) : dtype;
    t.shape.emplace();
    for (auto [i, size] : llvm::enumerate(shaped.getShape())) {
      onnx::Dim d;
      if (!ShapedType::isDynamic(size))
        d.value = size;
      else if (dims && i < dims.size())
        if (auto name = dyn_cast<StringAttr>(dims[i])) d.param = name.getValue().str();
      t.shape->push_back(d);
    }
  }
  return t;
}

} // namespace

std::optional<HostValue> toHostValue(const CaseValue& value, mlir::Type type, std::string& error) {
  if (value.isAbsent()) return HostValue();
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (!value.isTensor()) {
      error = fmt::format("is {}, but a tensor is expected", value.typeText());
      return std::nullopt;
    }
    std::optional<HostTensor> t = toHostTensor(value.tensor, tensor.getElementType(), error);
    return t ? std::optional<HostValue>(std::move(*t)) : std::nullopt;
  }
  if (auto list = dyn_cast<ListType>(type); list && value.kind == CaseValue::Kind::List) {
    HostList items;
    for (const CaseValue& item : value.items) {
      std::optional<HostValue> h = toHostValue(item, list.getElementType(), error);
      if (!h) return std::nullopt;
      items.push_back(std::move(*h));
    }
    return HostValue(std::move(items));
  }
  if (auto map = dyn_cast<MapType>(type); map && value.kind == CaseValue::Kind::Map) {
    HostMap m;
    std::optional<HostTensor> keys = toHostTensor(value.keys, map.getKeyType(), error);
    if (!keys) return std::nullopt;
    m.keys = std::move(*keys);
    mlir::Type element = map.getValueType();
    if (auto shaped = dyn_cast<RankedTensorType>(element)) element = shaped.getElementType();
    m.values = HostTensor(element, {static_cast<int64_t>(value.items.size())});
    for (auto [i, item] : llvm::enumerate(value.items)) {
      std::optional<HostTensor> one = item.isTensor() && item.tensor.elementCount() == 1
                                          ? toHostTensor(item.tensor, element, error)
                                          : std::nullopt;
      if (!one) {
        if (error.empty()) error = "holds values that are no scalars";
        return std::nullopt;
      }
      if (m.values.strings)
        (*m.values.strings)[i] = (*one->strings)[0];
      else
        std::memcpy(m.values.data.get() + i * storageBytes(element), one->data.get(),
                    storageBytes(element));
    }
    return HostValue(std::move(m));
  }
  std::string text;
  llvm::raw_string_ostream(text) << type;
  error = fmt::format("is {}, but {} is expected", value.typeText(), text);
  return std::nullopt;
}

CaseValue toCaseValue(const HostValue& value, DType dtype, const onnx::Type* declared) {
  if (declared && declared->kind == onnx::Type::Kind::Optional) declared = declared->element.get();
  if (const HostTensor* t = value.tensor()) {
    if (dtype == DType::Undefined && declared && declared->kind == onnx::Type::Kind::Tensor)
      dtype = declared->dtype;
    return toCaseTensor(*t, dtype);
  }
  if (const HostScalar* s = value.scalar()) return toCaseTensor(toTensor(*s), dtype);
  if (HostList* list = value.list()) {
    std::vector<CaseValue> items;
    const onnx::Type* element = declared && declared->kind == onnx::Type::Kind::Sequence
                                    ? declared->element.get()
                                    : nullptr;
    for (const HostValue& item : *list)
      items.push_back(toCaseValue(item, DType::Undefined, element));
    return CaseValue::list(std::move(items));
  }
  if (HostMap* map = value.map()) {
    const bool known = declared && declared->kind == onnx::Type::Kind::Map;
    CaseTensor keys = toCaseTensor(map->keys, known ? declared->dtype : DType::Undefined);
    CaseTensor all = toCaseTensor(map->values, known ? declared->element->dtype : DType::Undefined);
    std::vector<CaseValue> values;
    const size_t width = bitWidth(all.dtype) / 8;
    for (int64_t i = 0, n = map->values.size(); i < n; ++i) {
      CaseTensor one = CaseTensor::zeros(all.dtype, {});
      if (all.dtype == DType::String)
        one.strings[0] = all.strings[i];
      else
        std::memcpy(one.bytes.data(), all.bytes.data() + i * width, width);
      values.push_back(std::move(one));
    }
    return CaseValue::map(std::move(keys), std::move(values));
  }
  return {};
}

onnx::Graph signatureOf(func::FuncOp function, const onnx::Graph& graph) {
  onnx::Graph r;
  r.name = graph.name;
  const auto declaredAs = [](const std::vector<onnx::ValueInfo>& infos,
                             const std::string& name) -> const onnx::ValueInfo* {
    for (const onnx::ValueInfo& info : infos)
      if (info.name == name) return &info;
    return nullptr;
  };
  const auto make = [&](mlir::Type type, StringAttr name, IntegerAttr dtype, ArrayAttr dims,
                        const std::vector<onnx::ValueInfo>& infos) {
    onnx::ValueInfo info;
    info.name = name ? name.getValue().str() : "";
    info.type = describe(type, dtype ? static_cast<DType>(dtype.getInt()) : DType::Undefined, dims);
    // What is no tensor is described better by the file: MLIR's integers have no sign.
    if (const onnx::ValueInfo* declared = declaredAs(infos, info.name))
      if (info.type.kind != onnx::Type::Kind::Tensor ||
          declared->type.kind == onnx::Type::Kind::Optional)
        info.type = declared->type;
    return info;
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    r.inputs.push_back(make(function.getArgument(i).getType(),
                            function.getArgAttrOfType<StringAttr>(i, "ortc.name"),
                            function.getArgAttrOfType<IntegerAttr>(i, "ortc.dtype"),
                            function.getArgAttrOfType<ArrayAttr>(i, "ortc.dims"), graph.inputs));
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!function.getResultAttrOfType<StringAttr>(i, "ortc.name"))
      continue; // sizes that follow the tensors
    r.outputs.push_back(
        make(function.getResultTypes()[i], function.getResultAttrOfType<StringAttr>(i, "ortc.name"),
             function.getResultAttrOfType<IntegerAttr>(i, "ortc.dtype"), nullptr, graph.outputs));
  }
  return r;
}

} // namespace ortc::driver
