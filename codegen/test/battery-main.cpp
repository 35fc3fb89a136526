// SPDX-License-Identifier: Apache-2.0
// Runs the kernel of battery.py as C++ and writes its results to the file given.
#include KERNELS
#include "battery.h"
using namespace ortc_rt;
using namespace ortc_rt::model;
#include <stdio.h>
#include <string.h>

int main(int, char** argv) {
  static float xf[64], yf[64], of[100 * 64];
  static int32_t oi[100 * 64];
  memcpy(xf, xf_bits, sizeof xf_bits);
  memcpy(yf, yf_bits, sizeof yf_bits);
  CALL(xf, yf, xi, yi, of, oi, n);
  FILE* f = fopen(argv[1], "wb");
  if (!f) return 2;
  fwrite(of, 4, size_t(floats) * n, f);
  fwrite(oi, 4, size_t(ints) * n, f);
  return fclose(f);
}
