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
  const double(*G)[3] = winogradG(O);
  const int N = O + 2;
  const int64_t padded = (OC + NR - 1) / NR * NR;
  for (int64_t n = 0; n < padded; ++n)
    for (int64_t c = 0; c < IC; ++c)
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
          double sum = 0;
          if (n < OC)
            for (int p = 0; p < 3; ++p)
              for (int q = 0; q < 3; ++q)
                sum += G[i][p] * G[j][q] * double(w[(n * IC + c) * 9 + p * 3 + q]);
          packed[(((i * N + j) * (padded / NR) + n / NR) * IC + c) * NR + n % NR] = float(sum);
        }
}

} // namespace ortc::cpu
