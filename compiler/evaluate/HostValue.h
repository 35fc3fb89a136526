// SPDX-License-Identifier: Apache-2.0
// What a value of the model is while it is evaluated: a tensor, a scalar (index values and what
// tensor.extract gives), a list, a map, or an optional that is absent.
#pragma once
#include "compiler/evaluate/ScalarOps.h"
#include "compiler/ir/HostTensor.h"
#include <variant>

namespace ortc {

struct HostValue;
using HostList = std::vector<HostValue>;

struct HostScalar {
  mlir::Type type;
  Lane cell{};
};

/// Keys and values, one element each per entry, in the order of the file.
struct HostMap {
  HostTensor keys, values;
};

struct HostValue {
  std::variant<std::monostate, HostTensor, HostScalar, std::shared_ptr<HostList>,
               std::shared_ptr<HostMap>>
      value;

  HostValue() = default; ///< absent
  HostValue(HostTensor t) : value(std::move(t)) {}
  HostValue(HostScalar s) : value(s) {}
  HostValue(HostList l) : value(std::make_shared<HostList>(std::move(l))) {}
  HostValue(HostMap m) : value(std::make_shared<HostMap>(std::move(m))) {}

  bool isAbsent() const { return std::holds_alternative<std::monostate>(value); }
  HostTensor* tensor() { return std::get_if<HostTensor>(&value); }
  const HostTensor* tensor() const { return std::get_if<HostTensor>(&value); }
  const HostScalar* scalar() const { return std::get_if<HostScalar>(&value); }
  HostList* list() const {
    auto p = std::get_if<std::shared_ptr<HostList>>(&value);
    return p ? p->get() : nullptr;
  }
  HostMap* map() const {
    auto p = std::get_if<std::shared_ptr<HostMap>>(&value);
    return p ? p->get() : nullptr;
  }
};

/// A scalar as a tensor without dims, and back; what ops with scalar operands see in
/// Evaluable::evaluate.
HostTensor toTensor(const HostScalar& scalar);
HostScalar toScalar(const HostTensor& tensor, mlir::Type type);
HostScalar indexScalar(mlir::MLIRContext* context, int64_t value);

} // namespace ortc
