// SPDX-License-Identifier: 0BSD
//
// Transforms and packs 3x3 weights for winograd.h; called by the compiler, in no bundle. Summed in
// double, so that the only rounding of the weights is the last one.
#pragma once

#include <cstdint>

namespace ortc::cpu {

inline int64_t packedWinogradFloats(int64_t OC, int64_t IC, int O, int NR) {
  return (O + 2) * (O + 2) * ((OC + NR - 1) / NR * NR) * IC;
}

// The rows of the matrix G of F(O, 3): what each of the O + 2 products takes of three weights.
inline const double (*winogradG(int O))[3] {
  static const double two[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static const double four[6][3] = {{1. / 4, 0, 0},
                                    {-1. / 6, -1. / 6, -1. / 6},
                                    {-1. / 6, 1. / 6, -1. / 6},
                                    {1. / 24, 1. / 12, 1. / 6},
                                    {1. / 24, -1. / 12, 1. / 6},
                                    {0, 0, 1}};
  return O == 2 ? two : four;
}

// From ONNX's [OC][IC][3][3] to [N * N][ceil(OC / NR)][IC][NR], N = O + 2, O = 2 or 4; zeros after
// channel OC.
inline void packWinograd(const float* w, int64_t OC, int64_t IC, int O, int NR, float* packed) {
  constexpr int kMost = 64; // columns of a panel
  const double(*G)[3] = winogradG(O);
  const int N = O + 2;
  const int64_t panels = (OC + NR - 1) / NR;
  double g[3][3][kMost], half[6][3][kMost]; // of one input channel, for all columns of a panel
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t c = 0; c < IC; ++c) {
      for (int lane = 0; lane < NR; ++lane) {
        const int64_t n = panel * NR + lane;
        for (int i = 0; i < 9; ++i)
          g[i / 3][i % 3][lane] = n < OC ? double(w[(n * IC + c) * 9 + i]) : 0;
      }
      for (int i = 0; i < N; ++i)
        for (int q = 0; q < 3; ++q)
          for (int lane = 0; lane < NR; ++lane)
            half[i][q][lane] =
                G[i][0] * g[0][q][lane] + G[i][1] * g[1][q][lane] + G[i][2] * g[2][q][lane];
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
          float* out = packed + (((i * N + j) * panels + panel) * IC + c) * NR;
          for (int lane = 0; lane < NR; ++lane)
            out[lane] = float(half[i][0][lane] * G[j][0] + half[i][1][lane] * G[j][1] +
                              half[i][2][lane] * G[j][2]);
        }
    }
}

} // namespace ortc::cpu
