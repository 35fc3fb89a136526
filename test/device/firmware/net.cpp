// SPDX-License-Identifier: Apache-2.0
//
// A small bundle by hand, in the shape of an emitted one: y[n,8] = relu(x[n,16] * w) with n up to
// 4, an optional int8 bias, all memory static. What a test wants to provoke is switched on by
// macros.
#include "ortc/ortc.h"

namespace {

#ifndef WEIGHTS_COPIES
#define WEIGHTS_COPIES 1
#endif
struct Table {
  float w[WEIGHTS_COPIES][16][8];
};
constexpr Table makeTable() {
  Table t = {};
  for (int c = 0; c < WEIGHTS_COPIES; ++c)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 8; ++j)
        t.w[c][k][j] = float((k * 7 + j * 3) % 11 - 5) * 0.25f;
  return t;
}
const Table table = makeTable();

#ifndef ARENA_FLOATS
#define ARENA_FLOATS 64
#endif
float arena[ARENA_FLOATS];
int32_t runs = 41; // .data: its image must be copied at start
const char* message = "";

[[gnu::noinline]] float spend(const float* x, volatile int depth) {
#ifdef STACK_BYTES
  volatile char block[STACK_BYTES];
  for (int i = 0; i < STACK_BYTES; ++i)
    block[i] = char(depth);
  return x[0] * float(block[STACK_BYTES - 1]);
#else
  return x[0] * float(depth);
#endif
}

const int64_t x_shape[] = {~int64_t(0), 16}, b_shape[] = {8}, y_shape[] = {~int64_t(0), 8},
              c_shape[] = {};
const ortc_io inputs[] = {{"x", x_shape, 2, ORTC_FLOAT, 0, 0},
                          {"bias", b_shape, 1, ORTC_INT8, 1, 0}};
const ortc_io outputs[] = {{"y", y_shape, 2, ORTC_FLOAT, 0, 0},
                           {"runs", c_shape, 0, ORTC_INT64, 0, 0}};
const ortc_dim dims[] = {{"n", 1, 4, 1}};

ortc_status create(const ortc_options*, ortc_context** context) {
  *context = reinterpret_cast<ortc_context*>(&arena);
  return ORTC_OK;
}
ortc_status reserve(ortc_context*, const int64_t* sizes) {
  return sizes[0] <= 4 ? ORTC_OK : ORTC_OUT_OF_MEMORY;
}

ortc_status run(ortc_context*, const ortc_tensor* in, ortc_tensor* out) {
  const int64_t n = in[0].dims[0];
  if (n < 1 || n > 4 || in[0].dims[1] != 16) {
    message = "input 'x' must be f32[n,16], n=1..4";
    return ORTC_INVALID_ARGUMENT;
  }
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const int8_t* bias = in[1].rank < 0 ? nullptr : static_cast<const int8_t*>(in[1].data);
#ifdef FAULT
  if (n > 0) __builtin_trap();
#endif
  for (int64_t i = 0; i < n; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = spend(x, 0);
      for (int k = 0; k < 16; ++k)
        sum += x[i * 16 + k] * table.w[(k * n) % WEIGHTS_COPIES][k][j];
      if (bias) sum += float(bias[j]);
      arena[(i * 8 + j) % ARENA_FLOATS] = sum > 0 ? sum : 0;
      y[i * 8 + j] = arena[(i * 8 + j) % ARENA_FLOATS];
    }
  out[0].dims[0] = n;
  out[0].dims[1] = 8;
  *static_cast<int64_t*>(out[1].data) = ++runs;
  return ORTC_OK;
}
const char* error(const ortc_context*) {
  return message;
}
void destroy(ortc_context*) {}

const ortc_model model = {ORTC_ABI_VERSION,
                          sizeof(ortc_model),
                          "net",
                          "firmware",
                          "",
                          2,
                          2,
                          1,
                          0,
                          inputs,
                          outputs,
                          dims,
                          sizeof table,
                          sizeof arena,
                          create,
                          reserve,
                          run,
                          nullptr,
                          nullptr,
                          error,
                          destroy};

} // namespace

extern "C" const ortc_model* net_model() {
  return &model;
}
