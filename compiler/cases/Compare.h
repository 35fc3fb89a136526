// SPDX-License-Identifier: Apache-2.0
// When is an output close enough? The rules of expect.json.
#pragma once

#include <optional>
#include <string>

#include "compiler/cases/CaseValue.h"

namespace ortc {

/// One rule. Which part of it applies depends on the type of the output: integers look at `steps`,
/// floats at `exact`, `rtol` and `maxRel`, in this order; strings and booleans are always exact.
struct Rule {
  std::optional<double> rtol, atol;             // |y - e| <= atol + rtol |e|, each element
  std::optional<double> maxRel;                 // max |y - e| <= maxRel max |e|
  std::optional<double> exceptShare, exceptRel; // but this share may be off by exceptRel max |e|
  std::optional<double> steps, share; // integers: off by at most `steps`, on at most this share
  bool exact = false;

  /// What holds when a case says nothing.
  static Rule standard() {
    Rule rule;
    rule.rtol = 1e-3;
    rule.atol = 1e-6;
    return rule;
  }
  std::string text() const; // "rtol 0.001, atol 1e-06"
};

struct Comparison {
  bool passed = true;
  /// Largest |y - e| over largest |e|; infinite when a NaN or infinity differs, or when all of e is
  /// zero and y is not.
  double maxRel = 0;
  /// Largest distance in units of the last place of the output's type; for integers the largest
  /// difference.
  double maxUlp = 0;
  std::string reason; // empty when passed

  /// Takes the worse figures of both; the first reason stays.
  void merge(const Comparison& other);
};

Comparison compareValues(const CaseValue& got, const CaseValue& want, const Rule& rule);

} // namespace ortc
