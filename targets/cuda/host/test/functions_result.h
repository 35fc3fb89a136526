// SPDX-License-Identifier: 0BSD
//
// One answer of one function.
#ifndef ORTC_TEST_FUNCTIONS_RESULT_H
#define ORTC_TEST_FUNCTIONS_RESULT_H

#include <vector>

struct FunctionResult {
  const char* name;
  double x, y, value, tolerance;
};
std::vector<FunctionResult> answersOfRuntime();
std::vector<FunctionResult> answersOfCuda();

#endif
