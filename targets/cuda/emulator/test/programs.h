// SPDX-License-Identifier: 0BSD
//
// Host side of the test kernels: data in, data out. Compiled twice, with and without
// instrumentation; the tests themselves are not instrumented.
#ifndef ORTC_TEST_PROGRAMS_H
#define ORTC_TEST_PROGRAMS_H

#include <cstdint>
#include <vector>

#include "bugs.h"

std::vector<float> runGemm(Bug bug, const std::vector<float>& a, const std::vector<float>& b, int M,
                           int N, int K);
std::vector<float> runSoftmax(const std::vector<float>& x, int rows, int columns);
float runSum(Bug bug, const std::vector<float>& x, int blocks);
std::vector<float> runSwap(Bug bug, const std::vector<float>& x);
std::vector<float> runSquareBiasHalf(Bug bug, const std::vector<float>& x,
                                     const std::vector<float>& b);
std::vector<uint8_t> runLookUp(const std::vector<uint8_t>& table,
                               const std::vector<int64_t>& index);
std::vector<uint8_t> runReverseBytes(Bug bug, const std::vector<uint8_t>& x);
std::vector<int> runCountPositive(const std::vector<int>& x);

/// The sum with a pointer of the host for its input.
float runSumOfHostPointer(const std::vector<float>& x);
/// The sum of an allocation that was never written.
float runSumOfUnwritten(int n);
/// The sum of an allocation that was freed.
float runSumOfFreed(const std::vector<float>& x);
/// Host code that reads through a device pointer.
float readDevicePointerOnHost();
/// Two buffers of one arena, the second never written in its new life; `overrun` also sums past the
/// first.
float runSumInArena(bool unwritten, bool overrun);
/// The scalar functions of ortc_cuda_ops.cuh, evaluated by one thread each.
std::vector<double> runScalarFunctions();
/// Softmax captured into a graph, replayed on other data.
std::vector<float> runGraph(const std::vector<float>& first, const std::vector<float>& second,
                            int rows, int columns);

#endif
