// SPDX-License-Identifier: Apache-2.0
// Runs every level of the bundle `net` that this processor has: each gives the same bits twice and
// with more threads, all give the same numbers but for rounding, and what cannot run says so.
//   levels PROCESSOR...   in the order in which the bundle prefers them
#include "net/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vector>

namespace {

int failures = 0;
void check(bool ok, const char* what, const char* which) {
  if (!ok) printf("FAILED: %s: %s\n", which, what), ++failures;
}

struct Tensors {
  std::vector<std::vector<char>> bytes;
  std::vector<std::vector<int64_t>> dims;
  std::vector<ortc_tensor> list;
  Tensors(const ortc_io* ios, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      int64_t n = 1;
      dims.emplace_back(ios[i].shape, ios[i].shape + ios[i].rank);
      for (int64_t d : dims.back())
        n *= d;
      bytes.emplace_back(size_t(n) * sizeof(float));
    }
    for (int32_t i = 0; i < count; ++i)
      list.push_back({bytes[size_t(i)].data(), dims[size_t(i)].data(), bytes[size_t(i)].size(),
                      ios[i].rank, ios[i].dtype, ORTC_HOST, 0});
  }
};

// The outputs of one run; empty, and `status` says why, when there is none.
std::vector<char> outputsOf(const ortc_model* model, int32_t threads, ortc_status& status) {
  ortc_options options = {};
  options.size = sizeof options;
  options.threads = threads;
  ortc_context* context = nullptr;
  std::vector<char> all;
  status = model->create(&options, &context);
  if (status == ORTC_OK) {
    Tensors in(model->inputs, model->num_inputs), out(model->outputs, model->num_outputs);
    unsigned seed = 1;
    for (auto& tensor : in.bytes)
      for (size_t i = 0; i < tensor.size(); i += sizeof(float)) {
        seed = seed * 1664525u + 1013904223u;
        const float x = float(int(seed >> 9) - (1 << 22)) / float(1 << 22);
        memcpy(&tensor[i], &x, sizeof x);
      }
    status = model->run(context, in.list.data(), out.list.data());
    for (auto& tensor : out.bytes)
      all.insert(all.end(), tensor.begin(), tensor.end());
  }
  model->destroy(context);
  return all;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<char> first;
  const ortc_model* best = nullptr;
  for (int i = 1; i < argc; ++i) {
    const ortc_model* model = net_model_for(argv[i]);
    ortc_status status;
    const std::vector<char> once = outputsOf(model, 1, status);
    if (status == ORTC_UNSUPPORTED) {
      printf("%s: cannot run here\n", argv[i]);
      continue;
    }
    check(status == ORTC_OK, "runs", argv[i]);
    if (!best) best = model, first = once;
    check(once == outputsOf(model, 1, status), "the same bits in the next run", argv[i]);
    check(once == outputsOf(model, 3, status), "the same bits with three threads", argv[i]);
    check(once.size() == first.size(), "as many outputs as the first", argv[i]);
    for (size_t at = 0; at + sizeof(float) <= once.size(); at += sizeof(float)) {
      float a, b;
      memcpy(&a, &once[at], sizeof a), memcpy(&b, &first[at], sizeof b);
      check(fabsf(a - b) <= 1e-5f + 1e-4f * fabsf(b), "the numbers of the first level", argv[i]);
    }
    printf("%s: ran\n", argv[i]);
  }
  check(best != nullptr && net_model() == best, "the first that runs is picked", "net_model");

  const ortc_model* refusing = net_model_for("none of them");
  ortc_context* context = reinterpret_cast<ortc_context*>(&failures);
  check(refusing->create(nullptr, &context) == ORTC_UNSUPPORTED, "create refuses", "no level");
  check(context == nullptr, "no context is given", "no level");
  check(refusing->run(context, nullptr, nullptr) == ORTC_UNSUPPORTED, "run refuses", "no level");
  check(refusing->num_inputs == net_model()->num_inputs, "inputs are told", "no level");
  printf("refused: %s\n", refusing->error(context));
  refusing->destroy(context);
  printf("%d failures\n", failures);
  return failures != 0;
}
