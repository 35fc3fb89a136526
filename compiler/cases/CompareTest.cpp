// SPDX-License-Identifier: Apache-2.0
// Each rule at its border, and what holds under every rule.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "compiler/cases/Case.h"
#include "compiler/support/NumberFormats.h"

using namespace ortc;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

CaseTensor floats(DType type, std::vector<double> values) {
  CaseTensor t = CaseTensor::zeros(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(t.bytes.data(), type, static_cast<int64_t>(i), encodeFloat(type, values[i]));
  return t;
}
CaseTensor ints(DType type, std::vector<int64_t> values) {
  CaseTensor t = CaseTensor::zeros(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(t.bytes.data(), type, static_cast<int64_t>(i), static_cast<uint64_t>(values[i]));
  return t;
}
CaseTensor strings(std::vector<std::string> values) {
  return {DType::String, {static_cast<int64_t>(values.size())}, {}, std::move(values)};
}
Rule rule(const char* json) {
  Diagnostics diagnostics;
  auto expect = parseExpectation(json, diagnostics);
  INFO(diagnostics.str());
  REQUIRE(expect);
  return expect->rule;
}
bool passes(const CaseValue& got, const CaseValue& want, const char* json) {
  Comparison result = compareValues(got, want, rule(json));
  CHECK(result.passed == result.reason.empty());
  return result.passed;
}
bool close(std::vector<double> got, std::vector<double> want, const char* json,
           DType type = DType::F64) {
  return passes(floats(type, got), floats(type, want), json);
}

} // namespace

TEST_CASE("rtol and atol hold for each element") {
  CHECK(close({1.0009}, {1}, "{}")); // the standard rule
  CHECK(!close({1.0011}, {1}, "{}"));
  CHECK(close({9e-7}, {0}, "{}"));
  CHECK(!close({1000, 2e-6}, {1000, 0}, "{}"));
  CHECK(close({1.5}, {1}, R"({"rtol": 0.5, "atol": 0})"));
  CHECK(!close({1.25}, {1}, R"({"rtol": 0, "atol": 0.125})"));
  CHECK(close({1.125}, {1}, R"({"rtol": 0, "atol": 0.125})"));
  CHECK(close({-0.0}, {0.0}, R"({"rtol": 0, "atol": 0})"));
}

TEST_CASE("max_rel is about the largest element") {
  CHECK(close({100, 1}, {100, 0}, R"({"max_rel": 0.01})"));
  CHECK(!close({100, 1.1}, {100, 0}, R"({"max_rel": 0.01})"));
  CHECK(!close({1e-30}, {0}, R"({"max_rel": 0.01})"));
  CHECK(close({}, {}, R"({"max_rel": 0.01})"));
}

TEST_CASE("a share of the elements may be off by more") {
  const char* json = R"({"max_rel": 0.01, "except_share": 0.25, "except_rel": 0.5})";
  CHECK(close({100, 0, 0, 50}, {100, 0, 0, 0}, json));
  CHECK(!close({100, 0, 0, 51}, {100, 0, 0, 0}, json));
  CHECK(!close({100, 0, 50, 50}, {100, 0, 0, 0}, json));
  // The share is of the elements that are finite.
  CHECK(!close({100, kNan, 0, 50}, {100, kNan, 0, 0}, json));
}

TEST_CASE("NaN and infinity must be met whatever the tolerance") {
  for (const char* json : {"{}", R"({"max_rel": 10})", R"({"exact": true})"}) {
    CHECK(close({kNan, kInf, -kInf, 1}, {kNan, kInf, -kInf, 1}, json));
    CHECK(!close({0}, {kNan}, json));
    CHECK(!close({kNan}, {0}, json));
    CHECK(!close({kInf, 1}, {1e300, 1}, json));
    CHECK(!close({1e300}, {kInf}, json));
    CHECK(!close({-kInf}, {kInf}, json));
  }
}

TEST_CASE("exact") {
  CHECK(close({0.1}, {0.1}, R"({"exact": true})"));
  CHECK(!close({std::nextafter(0.1, 1)}, {0.1}, R"({"exact": true})"));
  CHECK(close({std::nextafter(0.1, 1)}, {0.1}, R"({"exact": false, "rtol": 1e-9, "atol": 0})"));
}

TEST_CASE("integers are exact unless steps are allowed") {
  for (DType type : {DType::I8, DType::U8, DType::I32, DType::I64, DType::I4, DType::U2}) {
    CHECK(passes(ints(type, {1, 0}), ints(type, {1, 0}), "{}"));
    CHECK(!passes(ints(type, {1, 1}), ints(type, {1, 0}), R"({"rtol": 10, "atol": 10})"));
    CHECK(passes(ints(type, {1, 1}), ints(type, {1, 0}), R"({"steps": 1, "share": 0.5})"));
    CHECK(!passes(ints(type, {1, 1}), ints(type, {1, 0}), R"({"steps": 1, "share": 0.4})"));
    CHECK(!passes(ints(type, {1, 1}), ints(type, {1, 0}), R"({"steps": 0, "share": 1})"));
  }
  CHECK(passes(ints(DType::I8, {-128}), ints(DType::I8, {127}), R"({"steps": 255, "share": 1})"));
  CHECK(!passes(ints(DType::I8, {-128}), ints(DType::I8, {127}), R"({"steps": 254, "share": 1})"));
  // No wrapping at the ends of 64 bits.
  CHECK(!passes(ints(DType::I64, {INT64_MIN}), ints(DType::I64, {INT64_MAX}),
                R"({"steps": 1, "share": 1})"));
  CHECK(!passes(ints(DType::U64, {-1}), ints(DType::U64, {0}), R"({"steps": 1, "share": 1})"));
  CHECK(passes(ints(DType::U64, {-1}), ints(DType::U64, {-2}), R"({"steps": 1, "share": 1})"));
  // A rule for floats only says nothing about integers, and the other way round.
  CHECK(!close({1.5}, {1}, R"({"steps": 1, "share": 1})"));
  CHECK(close({1.5}, {1.5}, R"({"steps": 1, "share": 1})"));
  CHECK(!passes(ints(DType::Bool, {1}), ints(DType::Bool, {0}), R"({"steps": 1, "share": 1})"));
}

TEST_CASE("type and shape must agree") {
  CHECK(!passes(floats(DType::F32, {1}), floats(DType::F64, {1}), "{}"));
  CaseTensor column = floats(DType::F32, {1, 2});
  column.dims = {2, 1};
  Comparison result = compareValues(column, floats(DType::F32, {1, 2}), Rule::standard());
  CHECK(result.reason == "got f32[2,1], expected f32[2]");
  CHECK(!passes(CaseValue(), floats(DType::F32, {1}), "{}"));
  CHECK(passes(CaseValue(), CaseValue(), "{}"));
}

TEST_CASE("small floats are judged by their values") {
  for (DType type : {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2, DType::F4E2M1}) {
    CHECK(close({1, 2}, {1, 2}, "{}", type));
    CHECK(!close({1, 2}, {1, 3}, "{}", type));
    CHECK(close({1, 2}, {1, 3}, R"({"max_rel": 0.34})", type));
  }
  CHECK(passes(floats(DType::C64, {}), floats(DType::C64, {}), "{}"));
  CaseTensor a{DType::C64, {1}, floats(DType::F32, {3, 4}).bytes, {}};
  CaseTensor b{DType::C64, {1}, floats(DType::F32, {0, 0}).bytes, {}};
  CHECK(passes(a, b, R"({"rtol": 0, "atol": 5})"));
  CHECK(!passes(a, b, R"({"rtol": 0, "atol": 4.9})"));
}

TEST_CASE("strings, sequences and maps") {
  CHECK(passes(strings({"a", ""}), strings({"a", ""}), "{}"));
  CHECK(!passes(strings({"a"}), strings({"b"}), R"({"rtol": 1, "atol": 1})"));
  CaseValue one = CaseValue::list({floats(DType::F32, {1}), floats(DType::F32, {2})});
  CaseValue two = CaseValue::list({floats(DType::F32, {1}), floats(DType::F32, {3})});
  CHECK(passes(one, one, "{}"));
  CHECK(compareValues(one, two, Rule::standard()).reason.starts_with("element 1: "));
  CHECK(!passes(CaseValue::list({}), one, "{}"));
  CaseValue map =
      CaseValue::map(strings({"x", "y"}), {floats(DType::F32, {1}), floats(DType::F32, {2})});
  CaseValue turned =
      CaseValue::map(strings({"y", "x"}), {floats(DType::F32, {2}), floats(DType::F32, {1})});
  CaseValue other =
      CaseValue::map(strings({"x", "z"}), {floats(DType::F32, {1}), floats(DType::F32, {2})});
  CaseValue more =
      CaseValue::map(strings({"x", "y", "z"}),
                     {floats(DType::F32, {1}), floats(DType::F32, {2}), floats(DType::F32, {2})});
  CHECK(passes(turned, map, "{}"));
  CHECK(!passes(other, map, "{}"));
  CHECK(!passes(more, map, "{}"));
  CHECK(!passes(map, more, "{}"));
  // Keys by value, not by width.
  CHECK(passes(CaseValue::map(ints(DType::I64, {-1}), {CaseValue()}),
               CaseValue::map(ints(DType::I32, {-1}), {CaseValue()}), "{}"));
}

TEST_CASE("figures") {
  Comparison r =
      compareValues(floats(DType::F32, {4, 1.5}), floats(DType::F32, {4, 1}), Rule::standard());
  CHECK(r.maxRel == 0.125);
  CHECK(r.maxUlp == 4194304);
  CHECK(r.reason ==
        "1 of 2 elements are off; worst at [1]: got 1.5, expected 1 (rtol 0.001, atol 1e-06)");
  r = compareValues(floats(DType::F32, {-0.0, 1}), floats(DType::F32, {0.0, 1}), Rule::standard());
  CHECK((r.maxUlp == 0 && r.maxRel == 0));
  // One step up and down around zero: two places apart.
  r = compareValues(floats(DType::F16, {-std::ldexp(1, -24), 1}),
                    floats(DType::F16, {std::ldexp(1, -24), 1}), Rule::standard());
  CHECK(r.maxUlp == 2);
  r = compareValues(floats(DType::F32, {kNan}), floats(DType::F32, {1}), Rule::standard());
  CHECK((std::isinf(r.maxUlp) && std::isinf(r.maxRel)));
  CHECK(r.reason.find("first at [0]: got nan, expected 1") != std::string::npos);
  r = compareValues(ints(DType::I32, {7, 10}), ints(DType::I32, {5, 10}), Rule::standard());
  CHECK((r.maxUlp == 2 && r.maxRel == 0.2));
  CHECK(r.reason == "1 of 2 elements differ; worst at [0]: got 7, expected 5 (exact)");
}

TEST_CASE("expect.json") {
  Diagnostics diagnostics;
  auto expect = parseExpectation(R"({"error": "compile"})", diagnostics);
  REQUIRE(expect);
  CHECK(expect->error == Expectation::Error::Compile);
  expect =
      parseExpectation(R"({"why": "x", "outputs": {"a": {"exact": true}, "b": {}}})", diagnostics);
  REQUIRE(expect);
  CHECK(expect->error == Expectation::Error::None);
  CHECK(expect->ruleFor("a").exact);
  CHECK(expect->ruleFor("b").rtol == 1e-3); // an empty rule is none
  CHECK(expect->ruleFor("c").atol == 1e-6);
  expect = parseExpectation(R"({"max_rel": 2, "outputs": {"a": {"steps": 1, "share": 0.5}}})",
                            diagnostics);
  REQUIRE(expect);
  CHECK(expect->ruleFor("c").maxRel == 2.0);
  CHECK(!expect->ruleFor("c").rtol);
  CHECK(expect->ruleFor("a").steps == 1.0);
  CHECK(!diagnostics.hasErrors());
  for (const char* bad : {"", "[]", "{", R"({"error": "never"})", R"({"rtol": 1})",
                          R"({"steps": 1})", R"({"rtol": "1", "atol": 1})",
                          R"({"max_rel": 1, "except_share": 0.1})", R"({"outputs": {"a": 3}})"}) {
    INFO(bad);
    CHECK(!parseExpectation(bad, diagnostics));
  }
}
