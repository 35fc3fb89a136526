// SPDX-License-Identifier: 0BSD
//
// Evaluates function_list.h over all its values with the functions that the including file has
// included, so that one list is answered by runtime_min and by the CUDA headers. No guard: each
// file includes it once.
#include <cmath>
#include <cstdint>
#include <vector>

#include "function_list.h"
#include "functions_result.h"

namespace ortc_rt {
namespace {

template <class T>
void add1(std::vector<FunctionResult>& r, const char* name, double tolerance, T x, double y) {
  r.push_back({name, static_cast<double>(x), 0.0, y, tolerance});
}

#define ADD1(name, expression, tolerance)                                                          \
  add1(r, #name, tolerance, x, static_cast<double>(expression));
#define ADD2(name, expression, tolerance)                                                          \
  r.push_back({#name, static_cast<double>(x), static_cast<double>(y),                              \
               static_cast<double>(expression), tolerance});

std::vector<FunctionResult> evaluateAll() {
  std::vector<FunctionResult> r;
  const std::vector<float> floats = {FLOAT_VALUES};
  for (const float x : floats) {
    FLOAT_FUNCTIONS(ADD1)
    for (const float y : floats) {
      FLOAT_PAIRS(ADD2)
    }
  }
  const std::vector<int32_t> i32 = {I32_VALUES};
  for (const int32_t x : i32) {
    INTEGER_FUNCTIONS(ADD1)
    for (const int32_t y : i32) {
      INTEGER_PAIRS(ADD2)
    }
  }
  const std::vector<int8_t> i8 = {I8_VALUES};
  for (const int8_t x : i8)
    for (const int8_t y : i8) {
      INTEGER_PAIRS(ADD2)
    }
  const std::vector<int64_t> i64 = {I64_VALUES};
  for (const int64_t x : i64)
    for (const int64_t y : i64) {
      INTEGER_PAIRS(ADD2)
    }
  return r;
}

} // namespace
} // namespace ortc_rt
