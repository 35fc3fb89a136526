// SPDX-License-Identifier: Apache-2.0
#include "compiler/cases/CaseValue.h"

namespace ortc {

CaseTensor CaseTensor::zeros(DType dtype, std::vector<int64_t> dims) {
  CaseTensor tensor{dtype, std::move(dims), {}, {}};
  const int64_t count = tensor.elementCount();
  if (dtype == DType::String)
    tensor.strings.resize(count);
  else
    tensor.bytes.resize(byteSize(dtype, count).value_or(0));
  return tensor;
}

CaseValue CaseValue::list(std::vector<CaseValue> items) {
  CaseValue value;
  value.kind = Kind::List;
  value.items = std::move(items);
  return value;
}

CaseValue CaseValue::map(CaseTensor keys, std::vector<CaseValue> values) {
  CaseValue value;
  value.kind = Kind::Map;
  value.keys = std::move(keys);
  value.items = std::move(values);
  return value;
}

std::string CaseValue::typeText() const {
  switch (kind) {
  case Kind::Absent: return "absent";
  case Kind::Tensor: return tensor.typeText();
  case Kind::List: {
    std::string text = "seq of " + std::to_string(items.size());
    if (!items.empty()) text += " (" + items[0].typeText() + (items.size() > 1 ? ", ...)" : ")");
    return text;
  }
  case Kind::Map: return "map of " + std::to_string(items.size());
  }
  return "?";
}

} // namespace ortc
