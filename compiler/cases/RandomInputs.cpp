// SPDX-License-Identifier: Apache-2.0
#include "compiler/cases/RandomInputs.h"

#include <cmath>

#include "compiler/support/NumberFormats.h"

namespace ortc {
namespace {

/// Sebastiano Vigna's splitmix64: one good 64-bit number per counter value.
uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Below `range` (> 0), all but equally likely.
uint64_t below(uint64_t random, uint64_t range) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(random) * range >> 64);
}

double uniform(uint64_t random, const RandomOptions& options) {
  const double unit = static_cast<double>(random >> 11) * 0x1p-53;
  return std::fma(unit, options.high - options.low,
                  options.low); // one rounding, whatever the compiler contracts
}

uint64_t randomInt(DType dtype, uint64_t random, const RandomOptions& options) {
  if (bitWidth(dtype) < 32) return random >> (64 - bitWidth(dtype));
  const uint64_t range =
      options.intHigh > options.intLow
          ? static_cast<uint64_t>(options.intHigh) - static_cast<uint64_t>(options.intLow)
          : 1;
  return static_cast<uint64_t>(options.intLow) + below(random, range);
}

} // namespace

CaseTensor randomTensor(DType dtype, std::vector<int64_t> dims, uint64_t seed,
                        const RandomOptions& options) {
  CaseTensor tensor = CaseTensor::zeros(dtype, std::move(dims));
  const uint64_t stream = splitmix64(seed);
  const auto random = [&](int64_t i) { return splitmix64(stream + static_cast<uint64_t>(i)); };
  const int64_t count = tensor.elementCount();
  uint8_t* data = tensor.bytes.data();
  if (isComplex(dtype)) {
    const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
    for (int64_t i = 0; i < 2 * count; ++i)
      storeBits(data, part, i, encodeFloat(part, uniform(random(i), options)));
    return tensor;
  }
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t r = random(i);
    if (dtype == DType::String) {
      for (uint64_t k = 0, length = 1 + below(r, 8); k < length; ++k)
        tensor.strings[i] += static_cast<char>('a' + (r >> (8 + 6 * k)) % 26);
    } else if (dtype == DType::Bool) {
      storeBits(data, dtype, i, r >> 63);
    } else if (dtype == DType::F8E8M0) {
      storeBits(data, dtype, i, 124 + below(r, 8)); // scales around 1; it has no sign
    } else if (isFloat(dtype)) {
      storeBits(data, dtype, i, encodeFloat(dtype, uniform(r, options), /*saturate=*/true));
    } else {
      storeBits(data, dtype, i, randomInt(dtype, r, options));
    }
  }
  return tensor;
}

std::optional<CaseValue> randomValue(const onnx::Type& type,
                                     const std::map<std::string, int64_t>& sizes, uint64_t seed,
                                     const RandomOptions& options) {
  using Kind = onnx::Type::Kind;
  const auto elements = [&](int count) -> std::optional<std::vector<CaseValue>> {
    std::vector<CaseValue> items;
    for (int i = 0; i < count; ++i) {
      std::optional<CaseValue> item =
          randomValue(*type.element, sizes, splitmix64(seed + i), options);
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    }
    return items;
  };
  switch (type.kind) {
  case Kind::Tensor:
  case Kind::SparseTensor: {
    if (!type.shape || type.dtype == DType::Undefined) return std::nullopt;
    std::vector<int64_t> dims;
    for (const onnx::Dim& dim : *type.shape) {
      auto it = sizes.find(dim.param);
      dims.push_back(dim.value                                 ? *dim.value
                     : !dim.param.empty() && it != sizes.end() ? it->second
                                                               : 1);
    }
    // A declared shape costs its author nothing; the memory for it would be ours.
    constexpr int64_t kMostElements = int64_t{1} << 32;
    if (elementCount(dims).value_or(kMostElements) >= kMostElements) return std::nullopt;
    return randomTensor(type.dtype, std::move(dims), seed, options);
  }
  case Kind::Sequence: {
    auto items = elements(2);
    return items ? std::optional(CaseValue::list(std::move(*items))) : std::nullopt;
  }
  case Kind::Optional: return randomValue(*type.element, sizes, seed, options);
  case Kind::Map: {
    auto items = elements(3);
    if (!items || (type.dtype != DType::String && !isInteger(type.dtype))) return std::nullopt;
    CaseTensor keys = CaseTensor::zeros(type.dtype, {3});
    for (int i = 0; i < 3; ++i) {
      if (type.dtype == DType::String)
        keys.strings[i] = std::string(1, static_cast<char>('a' + i));
      else
        storeBits(keys.bytes.data(), type.dtype, i, i);
    }
    return CaseValue::map(std::move(keys), std::move(*items));
  }
  case Kind::None:
  case Kind::Opaque: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::vector<CaseValue>> randomInputs(const onnx::Graph& graph,
                                                   const std::map<std::string, int64_t>& sizes,
                                                   uint64_t seed, Diagnostics& diagnostics,
                                                   const RandomOptions& options) {
  std::vector<CaseValue> values;
  for (const onnx::ValueInfo* input : graph.dataInputs()) {
    std::optional<CaseValue> value =
        randomValue(input->type, sizes, splitmix64(seed + values.size()), options);
    if (!value) {
      diagnostics.error("input " + quoteName(input->name), "no random value can be made for {}",
                        onnx::typeText(input->type));
      return std::nullopt;
    }
    values.push_back(std::move(*value));
  }
  return values;
}

} // namespace ortc
