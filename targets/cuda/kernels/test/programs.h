// SPDX-License-Identifier: 0BSD
//
// Host side of the catalogue kernels: data in, data out. Compiled twice, with and without
// instrumentation.
#ifndef ORTC_CUDA_KERNELS_TEST_PROGRAMS_H
#define ORTC_CUDA_KERNELS_TEST_PROGRAMS_H

#include <cstdint>
#include <vector>

struct TileShape {
  int BM, BN;
};
/// The tiles of tiles.inc, in order.
std::vector<TileShape> tileShapes();

/// A batch of products with their layouts; the fields of GemmArgs. `epilogue` of the result is
/// value * rows[m] + columns[n].
struct GemmProblem {
  int64_t M, N, K;
  int64_t aRow, aK, bK, bColumn, cRow;
  int64_t outer = 1, outerA = 0, outerB = 0, outerC = 0;
  int64_t inner = 1, innerA = 0, innerB = 0, innerC = 0;
  std::vector<float> a, b, rows, columns;
  int64_t aFirst = 0, bFirst = 0, cFirst = 0; // where the first matrices begin
  int64_t cFloats;
  bool shortGrid = false; // one block in y and z, so that the loops have to do all
};
/// All of C's memory; what the kernel must not write is -1.
std::vector<float> runGemm(const GemmProblem& problem, int tile);

struct ConvAxisProblem {
  int in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};
/// Channels last; weights [groups][taps][IC][OC].
struct ConvProblem {
  int images, IC, OC, groups;
  ConvAxisProblem depth, height, width;
  std::vector<float> x, w, rows, columns; // rows: per pixel, columns: per channel
  int64_t xPixel, yPixel;
  int64_t xFirst = 0;
  bool shortGrid = false;
};
std::vector<float> runConv(const ConvProblem& problem, int tile);

#endif
