// SPDX-License-Identifier: 0BSD
//
// The hand-written bundle: kernels, program, and the functions of the C interface.
#include "bundle.h"

#include "cuda_context.h"

namespace ortc_rt {
namespace net {
namespace {

__global__ void __launch_bounds__(128)
    scale(const float* __restrict__ x, const float* __restrict__ factor, float* __restrict__ y,
          int64_t batch) {
  for (int64_t i = thread_index(); i < batch * 4; i += thread_count())
    y[i] = x[i] * factor[i % 4];
}

__global__ void __launch_bounds__(128)
    softmax(const float* __restrict__ x, float* __restrict__ y, int64_t batch) {
  for (int64_t row = thread_index(); row < batch; row += thread_count()) {
    float largest = x[row * 4];
    for (int64_t i = 1; i < 4; ++i)
      largest = maximum(largest, x[row * 4 + i]);
    float sum = 0.0f;
    for (int64_t i = 0; i < 4; ++i)
      sum += exp(x[row * 4 + i] - largest);
    for (int64_t i = 0; i < 4; ++i)
      y[row * 4 + i] = exp(x[row * 4 + i] - largest) / sum;
  }
}

const float weights_data[4] = {1.0f, -1.0f, 0.5f, 2.0f};
const int archs[] = {75, 80, 90, 100};
const cuda_build build = {archs, 4, 100};

uint64_t arena_bytes(const int64_t* dim) {
  return static_cast<uint64_t>(dim[0]) * 4 * sizeof(float);
}

struct context : cuda_context {
  bool decides = false;
  char* places[2] = {nullptr, nullptr};
  int64_t dim[1] = {0};
};

ortc_status program(context& ctx, cudaStream_t stream) {
  const int64_t batch = ctx.dim[0];
  ORTC_CUDA_TRY(ctx, "product",
                ORTC_BUFFER(stream, ctx.buffer<float>(0), arena_bytes(ctx.dim), "product"));
  ORTC_CUDA_TRY(ctx, "scale",
                ORTC_LAUNCH(scale, dim3(2), dim3(128), 0, stream, ctx.input<float>(0),
                            ctx.weight<float>(0), ctx.buffer<float>(0), batch));
  if (ctx.decides) {
    float first;
    if (const ortc_status s = ctx.read_back(&first, ctx.buffer<float>(0), sizeof first, stream))
      return s;
    if (first < 0.0f) return ctx.why() << "the first value is negative", ORTC_RUN_ERROR;
  }
  ORTC_CUDA_TRY(ctx, "softmax",
                ORTC_LAUNCH(softmax, dim3(2), dim3(128), 0, stream, ctx.buffer<float>(0),
                            ctx.output<float>(0), batch));
  return ORTC_OK;
}

ortc_status create_from(const ortc_model& model, bool decides, const ortc_options* options,
                        ortc_context** result) {
  context* ctx = create_context<context>();
  *result = context_handle(ctx);
  if (!ctx) return ORTC_OUT_OF_MEMORY;
  ctx->decides = decides;
  ctx->io = ctx->places;
  ctx->params.data = reinterpret_cast<const char*>(weights_data);
  ctx->params.size = sizeof weights_data;
  if (const ortc_status s = ctx->open_cuda(model, options, build)) return s;
  return ctx->upload_weights();
}
ortc_status create(const ortc_options* options, ortc_context** result) {
  return create_from(*net_model(), false, options, result);
}
ortc_status create_deciding(const ortc_options* options, ortc_context** result) {
  return create_from(*net_deciding_model(), true, options, result);
}
ortc_status reserve(ortc_context* c, const int64_t* sizes) {
  context& ctx = *context_cast<context>(c);
  const run_scope scope(ctx);
  if (scope.busy) return ORTC_BUSY;
  if (const ortc_status s = ctx.check_dims(sizes)) return s;
  return ctx.reserve_cuda(arena_bytes(sizes), sizes);
}
ortc_status run(ortc_context* c, const ortc_tensor* in, ortc_tensor* out) {
  context& ctx = *context_cast<context>(c);
  return ctx.run_host(in, out, ctx.dim, arena_bytes,
                      [&](cudaStream_t stream) { return program(ctx, stream); });
}
ortc_status run_async(ortc_context* c, const ortc_tensor* in, ortc_tensor* out, void* stream) {
  context& ctx = *context_cast<context>(c);
  return ctx.run_device(in, out, ctx.dim, stream, arena_bytes,
                        [&](cudaStream_t s) { return program(ctx, s); });
}
const char* error(const ortc_context* c) {
  return c ? context_cast<context>(c)->message : "out of memory";
}
void destroy(ortc_context* c) {
  destroy_context(context_cast<context>(c));
}

const int64_t shape[] = {~int64_t(0), 4};
const ortc_io inputs[] = {{"x", shape, 2, ORTC_FLOAT, 0, 0}};
const ortc_io outputs[] = {{"y", shape, 2, ORTC_FLOAT, 0, 0}};
const ortc_dim dims[] = {{"batch", 1, 64, 1}};

ortc_model describe(ortc_status (*create_function)(const ortc_options*, ortc_context**)) {
  ortc_model m{};
  m.abi_version = ORTC_ABI_VERSION;
  m.size = sizeof(ortc_model);
  m.name = "net";
  m.target = "cuda";
  m.num_inputs = m.num_outputs = m.num_dims = 1;
  m.inputs = inputs;
  m.outputs = outputs;
  m.dims = dims;
  m.weights_bytes = sizeof weights_data;
  m.arena_bytes = 64 * 4 * sizeof(float);
  m.create = create_function;
  m.reserve = reserve;
  m.run = run;
  m.run_async = run_async;
  m.error = error;
  m.destroy = destroy;
  return m;
}

} // namespace
} // namespace net
} // namespace ortc_rt

const ortc_model* net_model() {
  static const ortc_model model = ortc_rt::net::describe(ortc_rt::net::create);
  return &model;
}
const ortc_model* net_deciding_model() {
  static const ortc_model model = ortc_rt::net::describe(ortc_rt::net::create_deciding);
  return &model;
}
