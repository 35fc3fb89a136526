// SPDX-License-Identifier: Apache-2.0
// Runs what was printed for kernels.mlir and compares it with numbers computed here, in double.
#include KERNELS
using namespace ortc_rt;
using namespace ortc_rt::model;
#include <math.h>
#include <stdio.h>

static int wrong = 0;
static void expect(const char* what, int i, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance * (1 + fabs(want)))) {
    if (wrong < 10) printf("%s[%d]: got %.9g, expected %.9g\n", what, i, got, want);
    ++wrong;
  }
}

int main() {
  const executor serial = {nullptr, nullptr};
  static float x[3 * 784], b[784], y[3 * 784];
  for (int i = 0; i < 3 * 784; ++i)
    x[i] = float((i * 37 % 101) - 50) / 10.0f;
  for (int i = 0; i < 784; ++i)
    b[i] = float((i * 13 % 17) - 8) / 5.0f;
  add_relu(serial, x, b, y, 3);
  for (int i = 0; i < 3 * 784; ++i)
    expect("add_relu", i, y[i], fmax(double(x[i]) + double(b[i % 784]), 0), 1e-6);

  softmax_rows(serial, x, y, 4, 97);
  for (int r = 0; r < 4; ++r) {
    double largest = -1e30, total = 0;
    for (int c = 0; c < 97; ++c)
      largest = fmax(largest, x[r * 97 + c]);
    for (int c = 0; c < 97; ++c)
      total += exp(x[r * 97 + c] - largest);
    for (int c = 0; c < 97; ++c)
      expect("softmax", r * 97 + c, y[r * 97 + c], exp(x[r * 97 + c] - largest) / total, 1e-6);
  }

  const int lengths[] = {0, 1, 7, 8, 9, 31};
  for (int n : lengths) {
    y[n] = 123.0f; // not to be touched
    add_vectors(x, b, y, n);
    for (int i = 0; i < n; ++i) {
      const double f = double(x[i]) * 0.5 + double(b[i]);
      expect("add_vectors", i, y[i], f > 0 ? f : f * 0.5, 1e-6);
    }
    expect("behind the end", n, y[n], 123.0, 0);
  }

  int64_t start[16], steps[16];
  for (int i = 0; i < 16; ++i)
    start[i] = i + 1;
  start[15] = 27;
  control(start, steps);
  const int known[16] = {0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 111}; // Collatz
  for (int i = 0; i < 16; ++i)
    expect("control", i, double(steps[i]), known[i], 0);
  return wrong != 0;
}
