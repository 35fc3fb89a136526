// SPDX-License-Identifier: 0BSD
//
// The answers of the headers for CUDA.
#include "narrow.cuh"
#include "ortc_cuda.cuh"

#include "evaluate_functions.h"

std::vector<FunctionResult> answersOfCuda() {
  return ortc_rt::evaluateAll();
}
