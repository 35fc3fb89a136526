// SPDX-License-Identifier: Apache-2.0
//
// The hand-written CUDA bundle, built by nvcc, through the C interface alone. On a machine with a
// GPU it runs and compares; without, it prints the status and text that a user would get. Exit: 0,
// 1 wrong, 77 no device.
#include <cmath>
#include <cstdio>
#include <vector>

#include "bundle.h"

int main() {
  const ortc_model& model = *net_model();
  ortc_context* context = nullptr;
  const int64_t batch = 64;
  ortc_status status = model.create(nullptr, &context);
  if (status == ORTC_OK) status = model.reserve(context, &batch);
  if (status != ORTC_OK) {
    std::printf("%s: %s\n", ortc_status_name(status), model.error(context));
    model.destroy(context);
    return status == ORTC_NO_DEVICE ? 77 : 1;
  }
  std::vector<float> x(static_cast<size_t>(batch) * 4), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i));
  int64_t dims[2] = {batch, 4}, outDims[2] = {0, 0};
  ortc_tensor in{}, out{};
  in.data = x.data();
  out.data = y.data();
  in.dims = dims;
  out.dims = outDims;
  in.capacity = out.capacity = x.size() * sizeof(float);
  in.rank = out.rank = 2;
  in.dtype = out.dtype = ORTC_FLOAT;
  status = model.run(context, &in, &out);
  if (status != ORTC_OK) {
    std::printf("%s: %s\n", ortc_status_name(status), model.error(context));
    model.destroy(context);
    return 1;
  }
  const double factor[4] = {1, -1, 0.5, 2};
  int wrong = 0;
  for (size_t row = 0; row < x.size(); row += 4) {
    double sum = 0;
    for (size_t i = 0; i < 4; ++i)
      sum += std::exp(static_cast<double>(x[row + i]) * factor[i]);
    for (size_t i = 0; i < 4; ++i) {
      const double expected = std::exp(static_cast<double>(x[row + i]) * factor[i]) / sum;
      wrong += !(std::fabs(static_cast<double>(y[row + i]) - expected) < 1e-6);
    }
  }
  model.destroy(context);
  std::printf(wrong ? "%d values wrong\n" : "64 rows agree\n", wrong);
  return wrong ? 1 : 0;
}
