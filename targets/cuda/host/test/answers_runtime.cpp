// SPDX-License-Identifier: 0BSD
//
// The answers of runtime_min, for CPUs.
#include "elementary.h"
#include "float8.h"
#include "half.h"
#include "int4.h"
#include "ops.h"

#include "evaluate_functions.h"

std::vector<FunctionResult> answersOfRuntime() {
  return ortc_rt::evaluateAll();
}
