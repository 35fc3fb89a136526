// SPDX-License-Identifier: Apache-2.0
// NaN equals NaN; an infinity or NaN must be met exactly whatever the tolerance; everything is
// judged in double precision. Integers are compared exactly, at any width.
#include "compiler/cases/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "compiler/support/Diagnostics.h"
#include "compiler/support/NumberFormats.h"

namespace ortc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Comparison fail(std::string reason) {
  Comparison result;
  result.passed = false;
  result.maxRel = result.maxUlp = kInf;
  result.reason = std::move(reason);
  return result;
}

/// "[1,0,3]" of a flat index.
std::string position(const std::vector<int64_t>& dims, int64_t index) {
  std::string text;
  for (size_t i = dims.size(); i-- > 0;) {
    text.insert(0, (i ? "," : "") + std::to_string(index % dims[i]));
    index /= dims[i];
  }
  return "[" + text + "]";
}

struct Number { // real and imaginary part
  double re = 0, im = 0;
  bool finite() const { return std::isfinite(re) && std::isfinite(im); }
  bool isNan() const { return std::isnan(re) || std::isnan(im); }
  double abs() const { return im == 0 ? std::fabs(re) : std::hypot(re, im); }
  bool same(const Number& o) const { return (re == o.re && im == o.im) || (isNan() && o.isNan()); }
  std::string text() const {
    return im == 0 ? fmt::format("{}", re) : fmt::format("{}{:+}i", re, im);
  }
};

Number loadNumber(const CaseTensor& tensor, int64_t index) {
  const uint8_t* data = tensor.bytes.data();
  if (tensor.dtype == DType::C64)
    return {loadDouble(data, DType::F32, 2 * index), loadDouble(data, DType::F32, 2 * index + 1)};
  if (tensor.dtype == DType::C128)
    return {loadDouble(data, DType::F64, 2 * index), loadDouble(data, DType::F64, 2 * index + 1)};
  return {loadDouble(data, tensor.dtype, index)};
}

/// Positions on the number line of a float format: neighbours differ by one, and minus zero is
/// zero.
double ulpDistance(const CaseTensor& got, const CaseTensor& want, int64_t index) {
  const bool complex = isComplex(want.dtype);
  const DType part = want.dtype == DType::C64    ? DType::F32
                     : want.dtype == DType::C128 ? DType::F64
                                                 : want.dtype;
  if (part == DType::F8E8M0)
    return std::fabs(static_cast<double>(loadBits(got.bytes.data(), part, index)) -
                     static_cast<double>(loadBits(want.bytes.data(), part, index)));
  const uint64_t signBit = uint64_t{1} << (bitWidth(part) - 1);
  const auto place = [&](const CaseTensor& t, int64_t i) {
    const uint64_t bits = loadBits(t.bytes.data(), part, i);
    const auto magnitude = static_cast<int64_t>(bits & (signBit - 1));
    return bits & signBit ? -magnitude : magnitude;
  };
  double worst = 0;
  for (int64_t i = complex ? 2 * index : index, end = i + (complex ? 2 : 1); i < end; ++i)
    // Of opposite signs the difference of two int64 may overflow; as doubles it only rounds.
    worst = std::max(worst, std::fabs(static_cast<double>(static_cast<__int128>(place(got, i)) -
                                                          place(want, i))));
  return worst;
}

Comparison compareStrings(const CaseTensor& got, const CaseTensor& want) {
  for (size_t i = 0; i < want.strings.size(); ++i)
    if (got.strings[i] != want.strings[i])
      return fail(fmt::format("string {}: got {}, expected {}", position(want.dims, i),
                              quoteName(got.strings[i]), quoteName(want.strings[i])));
  return {};
}

Comparison compareIntegers(const CaseTensor& got, const CaseTensor& want, const Rule& rule) {
  const int64_t count = want.elementCount();
  using Wide = __int128; // holds u64 and every difference
  const auto load = [&](const CaseTensor& t, int64_t i) -> Wide {
    if (want.dtype == DType::U64) return loadBits(t.bytes.data(), t.dtype, i);
    return loadInt(t.bytes.data(), t.dtype, i);
  };
  int64_t differing = 0, worstAt = 0;
  Wide worst = 0, largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Wide y = load(got, i), e = load(want, i);
    const Wide off = y > e ? y - e : e - y;
    largest = std::max(largest, e < 0 ? -e : e);
    differing += off > 0;
    if (off > worst) {
      worst = off;
      worstAt = i;
    }
  }
  Comparison result;
  result.maxUlp = static_cast<double>(worst);
  result.maxRel = worst == 0 ? 0 : static_cast<double>(worst) / static_cast<double>(largest);
  if (differing == 0) return result;
  const bool steps = rule.steps && want.dtype != DType::Bool;
  if (steps && static_cast<double>(worst) <= *rule.steps &&
      static_cast<double>(differing) / static_cast<double>(count) <= rule.share.value_or(1))
    return result;
  const auto show = [](Wide v) {
    return v < 0 ? fmt::format("{}", static_cast<int64_t>(v))
                 : fmt::format("{}", static_cast<uint64_t>(v));
  };
  result.passed = false;
  result.reason =
      fmt::format("{} of {} elements differ; worst at {}: got {}, expected {} ({})", differing,
                  count, position(want.dims, worstAt), show(load(got, worstAt)),
                  show(load(want, worstAt)), steps ? rule.text() : "exact");
  return result;
}

Comparison compareFloats(const CaseTensor& got, const CaseTensor& want, const Rule& rule) {
  const int64_t count = want.elementCount();
  double scale = 0; // largest finite |e|
  double worstOff = 0;
  int64_t differing = 0, worstAt = -1, nonFiniteAt = -1;
  Comparison result;
  for (int64_t i = 0; i < count; ++i) {
    const Number y = loadNumber(got, i), e = loadNumber(want, i);
    if (e.finite()) scale = std::max(scale, e.abs());
    if (y.same(e)) continue;
    ++differing;
    if (!e.finite() || !y.finite()) {
      if (nonFiniteAt < 0) nonFiniteAt = i;
      continue;
    }
    const double off = Number{y.re - e.re, y.im - e.im}.abs();
    if (off > worstOff || worstAt < 0) {
      worstOff = off;
      worstAt = i;
    }
    result.maxUlp = std::max(result.maxUlp, ulpDistance(got, want, i));
  }
  if (differing == 0) return result;
  result.maxRel = nonFiniteAt >= 0 ? kInf : worstOff == 0 ? 0 : worstOff / scale;
  if (nonFiniteAt >= 0) result.maxUlp = kInf;

  // Elements over the tolerance, those of them that not even an exception covers, and the first of
  // these.
  int64_t over = 0, beyond = 0, firstOver = -1;
  const bool usable = rule.exact || rule.rtol || rule.maxRel;
  for (int64_t i = 0; i < count && usable; ++i) {
    const Number y = loadNumber(got, i), e = loadNumber(want, i);
    if (y.same(e)) continue;
    bool isOver = true, isBeyond = true;
    if (e.finite() && !rule.exact) {
      // Not finite: NaN or infinity, which no comparison with <= lets pass unless the tolerance is
      // infinite.
      const double off = y.isNan() ? std::numeric_limits<double>::quiet_NaN()
                                   : Number{y.re - e.re, y.im - e.im}.abs();
      if (rule.rtol) {
        isOver = isBeyond = !(off <= rule.atol.value_or(0) + *rule.rtol * e.abs());
      } else {
        isOver = !(off <= *rule.maxRel * scale);
        isBeyond = rule.exceptShare ? !(off <= rule.exceptRel.value_or(0) * scale) : isOver;
      }
    }
    over += isOver;
    beyond += isBeyond;
    if ((isBeyond || isOver) && firstOver < 0) firstOver = i;
  }
  int64_t finite = 0;
  for (int64_t i = 0; i < count && rule.exceptShare; ++i)
    finite += loadNumber(want, i).finite();
  const bool shareKept =
      rule.exceptShare && !rule.rtol && !rule.exact &&
      static_cast<double>(over) <= *rule.exceptShare * static_cast<double>(finite);
  result.passed = usable && beyond == 0 && (over == 0 || shareKept);
  if (result.passed) return result;
  if (!usable) {
    result.reason =
        fmt::format("the rule ({}) says nothing about {}", rule.text(), dtypeName(want.dtype));
    return result;
  }
  const int64_t shown = nonFiniteAt >= 0 ? nonFiniteAt : worstAt >= 0 ? worstAt : firstOver;
  result.reason =
      fmt::format("{} of {} elements are off; {} at {}: got {}, expected {} ({})", over, count,
                  nonFiniteAt >= 0 ? "first" : "worst", position(want.dims, shown),
                  loadNumber(got, shown).text(), loadNumber(want, shown).text(), rule.text());
  return result;
}

Comparison compareTensors(const CaseTensor& got, const CaseTensor& want, const Rule& rule) {
  if (got.dtype != want.dtype || got.dims != want.dims)
    return fail(fmt::format("got {}, expected {}", got.typeText(), want.typeText()));
  // A damaged tensor is a bug of whoever made it, but reading past its end would be ours.
  const int64_t count = want.elementCount();
  for (const CaseTensor* t : {&got, &want})
    if (t->dtype == DType::String
            ? t->strings.size() != static_cast<size_t>(count)
            : static_cast<int64_t>(t->bytes.size()) != byteSize(t->dtype, count).value_or(-1))
      return fail(fmt::format("{} has {} bytes", t->typeText(), t->bytes.size()));
  if (want.dtype == DType::String) return compareStrings(got, want);
  if (want.dtype == DType::Bool || isInteger(want.dtype)) return compareIntegers(got, want, rule);
  return compareFloats(got, want, rule);
}

/// Keys by their value, whatever their width: sorted, for comparing and looking up.
std::map<std::string, size_t> keyIndex(const CaseTensor& keys) {
  std::map<std::string, size_t> index;
  for (int64_t i = 0; i < keys.elementCount(); ++i)
    index[keys.dtype == DType::String ? "'" + keys.strings[i]
                                      : std::to_string(loadInt(keys.bytes.data(), keys.dtype, i))] =
        i;
  return index;
}

} // namespace

void Comparison::merge(const Comparison& other) {
  passed &= other.passed;
  maxRel = std::max(maxRel, other.maxRel);
  maxUlp = std::max(maxUlp, other.maxUlp);
  if (reason.empty()) reason = other.reason;
}

Comparison compareValues(const CaseValue& got, const CaseValue& want, const Rule& rule) {
  if (got.kind != want.kind)
    return fail(fmt::format("got {}, expected {}", got.typeText(), want.typeText()));
  Comparison result;
  switch (want.kind) {
  case CaseValue::Kind::Absent: return result;
  case CaseValue::Kind::Tensor: return compareTensors(got.tensor, want.tensor, rule);
  case CaseValue::Kind::List:
    if (got.items.size() != want.items.size())
      return fail(fmt::format("got {}, expected {}", got.typeText(), want.typeText()));
    for (size_t i = 0; i < want.items.size(); ++i) {
      Comparison item = compareValues(got.items[i], want.items[i], rule);
      if (!item.passed) item.reason = fmt::format("element {}: {}", i, item.reason);
      result.merge(item);
    }
    return result;
  case CaseValue::Kind::Map: {
    const auto gotKeys = keyIndex(got.keys), wantKeys = keyIndex(want.keys);
    for (const auto& [key, index] : wantKeys) {
      auto it = gotKeys.find(key);
      if (it == gotKeys.end()) return fail(fmt::format("key {} is missing", quoteName(key)));
      Comparison item = compareValues(got.items[it->second], want.items[index], rule);
      if (!item.passed) item.reason = fmt::format("key {}: {}", quoteName(key), item.reason);
      result.merge(item);
    }
    if (gotKeys.size() != wantKeys.size())
      return fail(fmt::format("got {} keys, expected {}", gotKeys.size(), wantKeys.size()));
    return result;
  }
  }
  return result;
}

std::string Rule::text() const {
  std::string out;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, *value);
  };
  if (exact) out = "exact";
  add("rtol", rtol);
  add("atol", atol);
  add("max_rel", maxRel);
  add("except_share", exceptShare);
  add("except_rel", exceptRel);
  add("steps", steps);
  add("share", share);
  return out;
}

} // namespace ortc
