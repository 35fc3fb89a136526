// SPDX-License-Identifier: Apache-2.0
// Runs the kernel of battery.py as CUDA text under the emulator and writes its results to the file
// given.
#include KERNELS
#include "battery.h"
using namespace ortc_rt::model;
#include <stdio.h>

template <class T> static T* on_device(const T* data, size_t count) {
  void* p = nullptr;
  if (cudaMalloc(&p, count * sizeof(T)) != cudaSuccess) return nullptr;
  if (data) (void)cudaMemcpy(p, data, count * sizeof(T), cudaMemcpyHostToDevice);
  return static_cast<T*>(p);
}

int main(int, char** argv) {
  static float of[100 * 64];
  static int32_t oi[100 * 64];
  float* xf = on_device(reinterpret_cast<const float*>(xf_bits), n);
  float* yf = on_device(reinterpret_cast<const float*>(yf_bits), n);
  int32_t *a = on_device(xi, n), *b = on_device(yi, n);
  float* df = on_device<float>(nullptr, size_t(floats) * n);
  int32_t* di = on_device<int32_t>(nullptr, size_t(ints) * n);
  if (ORTC_LAUNCH(battery, dim3(2), dim3(8), 0, nullptr, xf, yf, a, b, df, di, n) != cudaSuccess)
    return 3;
  if (cudaMemcpy(of, df, size_t(floats) * n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 4;
  if (cudaMemcpy(oi, di, size_t(ints) * n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 5;
  FILE* f = fopen(argv[1], "wb");
  if (!f) return 2;
  fwrite(of, 4, size_t(floats) * n, f);
  fwrite(oi, 4, size_t(ints) * n, f);
  return fclose(f);
}
