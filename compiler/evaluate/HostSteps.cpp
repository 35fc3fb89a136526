// SPDX-License-Identifier: Apache-2.0
// Host steps that import makes, for the evaluator: work on strings and on lists of maps.
#include "compiler/evaluate/Interpreter.h"
#include "compiler/ops/AllOps.h"

using namespace mlir;

namespace ortc {

using Values = FailureOr<SmallVector<HostValue>>;

static Values wrong(HostStepOp op) {
  op.emitError("host step '" + op.getStep() + "' has arguments of the wrong kind");
  return failure();
}

static Attribute keysOf(HostStepOp op) {
  return op.getSettings() ? op.getSettings()->get("keys") : Attribute();
}

static std::vector<std::string> stringsOf(ArrayAttr a) {
  std::vector<std::string> r;
  for (StringAttr s : a.getAsRange<StringAttr>())
    r.push_back(s.getValue().str());
  return r;
}

/// Scores [N, K] and K labels to a list of N maps from label to score.
static Values zipMap(HostStepOp op, ArrayRef<HostValue> in) {
  const HostTensor* scores = in.empty() ? nullptr : in[0].tensor();
  Builder b(op.getContext());
  HostTensor keys;
  if (auto strings = dyn_cast_or_null<ArrayAttr>(keysOf(op))) {
    keys = HostTensor(StringType::get(op.getContext()), {static_cast<int64_t>(strings.size())});
    *keys.strings = stringsOf(strings);
  } else if (auto ints = dyn_cast_or_null<DenseI64ArrayAttr>(keysOf(op))) {
    keys = HostTensor(b.getI64Type(), {ints.size()});
    for (auto [i, v] : llvm::enumerate(ints.asArrayRef()))
      keys.setInt(i, v);
  }
  if (!scores || scores->rank() != 2 || !keys.elementType || scores->dims[1] != keys.size())
    return wrong(op);
  HostList list;
  for (int64_t n = 0; n < scores->dims[0]; ++n) {
    HostTensor values(scores->elementType, {keys.size()});
    for (int64_t k = 0; k < keys.size(); ++k)
      values.setDouble(k, scores->getDouble(n * keys.size() + k));
    list.push_back(HostMap{keys, values});
  }
  return SmallVector<HostValue>{HostValue(std::move(list))};
}

/// Where each string stands in a list, or -1.
static Values stringIndex(HostStepOp op, ArrayRef<HostValue> in) {
  const HostTensor* texts = in.empty() ? nullptr : in[0].tensor();
  auto keys = dyn_cast_or_null<ArrayAttr>(keysOf(op));
  if (!texts || !texts->strings || !keys) return wrong(op);
  llvm::StringMap<int64_t> places;
  for (auto [i, k] : llvm::enumerate(stringsOf(keys)))
    places.try_emplace(k, i);
  HostTensor r(IntegerType::get(op.getContext(), 64), texts->dims);
  for (int64_t i = 0; i < texts->size(); ++i) {
    auto it = places.find((*texts->strings)[i]);
    r.setInt(i, it == places.end() ? -1 : it->second);
  }
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

void addBuiltInHostSteps(llvm::StringMap<HostStep>& steps) {
  steps["zip_map"] = zipMap;
  steps["string_index"] = stringIndex;
}

} // namespace ortc
