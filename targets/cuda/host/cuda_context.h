// SPDX-License-Identifier: 0BSD
// What CUDA bundles add to ortc_rt::context: the device and whether this bundle can run on it,
// weights and arena in its memory, and the two ways to run. An emitted bundle looks like this:
//
//   struct net_context : ortc_rt::cuda_context {
//     ortc_tensor tensors[2]; // for `staged`
//   };
//   static ortc_status net_program(net_context& context, const ortc_tensor* inputs,
//                                  ortc_tensor* outputs, const int64_t* dims, cudaStream_t stream)
//                                  {
//     if (const ortc_status status = context.need_arena(...)) return status;
//     const float* x = static_cast<const float*>(inputs[0].data); // on the device, as all of these
//     const float* w = context.device_params.at<float>(0);
//     float* hidden = context.device_memory.at<float>(0);
//     ORTC_CUDA_TRY(context, "fc1", ORTC_LAUNCH(fc1, dim3(4), dim3(256), 0, stream, x, w, hidden));
//     ...
//     return ORTC_OK;
//   }
//   static ortc_status net_run(ortc_context* c, const ortc_tensor* in, ortc_tensor* out) {
//     int64_t dims[2];
//     auto& context = *ortc_rt::context_cast<net_context>(c);
//     return net_context::run_host(context, in, out, dims, net_program);
//   }
//
// After create and reserve nothing allocates. run_device neither allocates nor waits, so the caller
// may capture its stream into a CUDA graph.
#ifndef ORTC_RT_CUDA_CONTEXT_H
#define ORTC_RT_CUDA_CONTEXT_H

#include "context.h"
#include "ortc_cuda.cuh"

ORTC_RT_BEGIN

// What nvcc was told to compile for: capabilities as 10 * major + minor.
struct cuda_build {
  const int* archs; // machine code: runs on the same major and at least that minor
  int num_archs;
  int ptx; // text that the driver compiles for newer devices; 0: none
};

// Whether the driver and device can run the bundle. The text says what was found and what is
// needed.
ortc_status cuda_check_device(const cuda_build& build, int device, text& why);

// A block of device memory; code adds offsets.
struct device_block {
  char* data = nullptr;
  uint64_t size = 0;

  template <class T> T* at(uint64_t offset) const { return reinterpret_cast<T*>(data + offset); }
};

struct cuda_context : context {
  int device = 0;
  bool device_ready = false;
  cudaStream_t stream = nullptr;  // of run_host
  cudaEvent_t finished = nullptr; // of the last run, since the arena is shared by all of them
  device_block device_params;     // weights, shared by the contexts of a process
  device_block device_memory;     // the arena
  device_block staging;           // inputs and outputs of run_host
  ortc_tensor* staged = nullptr;  // room for all inputs, then all outputs; the bundle sets it

  // context::open, then the device of options->device (its ordinal, cast to a pointer), stream and
  // event.
  ortc_status open_cuda(const ortc_model& m, const ortc_options* options, const cuda_build& build);
  // Copies `params` to the device, once for all contexts of the model on this device.
  ortc_status upload_weights();
  // At least `bytes` of arena, and room for inputs and outputs of these sizes; what was in them is
  // lost.
  ortc_status reserve_cuda(uint64_t arena_bytes, const int64_t* dims);
  void close();

  // NEED_RESERVE when the arena is smaller than that.
  ortc_status need_arena(uint64_t bytes);

  // ORTC_OK, or a text with `what` and the reason.
  ortc_status check(cudaError_t error, const char* what);

  // A value that the host decides by: waits for the stream. A stream that is being captured cannot
  // wait.
  ortc_status read_back(void* to, const void* from, uint64_t bytes, cudaStream_t on);

  // Checks, copies in, `program(self, inputs, outputs, dims, stream)` on tensors of the device,
  // copies out, waits. `self` is this context as the bundle's own type.
  template <class Self, class Program>
  static ortc_status run_host(Self& self, const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                              Program program);
  // Checks, `program` on the caller's memory and stream; returns before it has run.
  template <class Self, class Program>
  static ortc_status run_device(Self& self, const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                                void* on, Program program);

private:
  ortc_status stage(const ortc_tensor* in, const ortc_tensor* out);
  ortc_status fetch(ortc_tensor* out);
  ortc_status give_up(ortc_status status);
  ortc_status begin(cudaStream_t on, bool* captured);
  ortc_status end(cudaStream_t on, bool captured);
  uint64_t io_bytes(const int64_t* dims) const;
  ortc_status grow(device_block& block, uint64_t bytes, const char* what);
};

// Makes the context's device the thread's, and puts the caller's back.
struct device_scope {
  int before = -1;
  explicit device_scope(const cuda_context& ctx);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
};

template <class Self, class Program>
ortc_status cuda_context::run_host(Self& self, const ortc_tensor* in, ortc_tensor* out,
                                   int64_t* dims, Program program) {
  cuda_context& ctx = self;
  const run_scope scope(ctx);
  if (scope.busy) return ORTC_BUSY;
  const device_scope on_device(ctx);
  bool captured = false;
  if (const ortc_status s = ctx.check_inputs(in, dims, ORTC_HOST)) return s;
  if (const ortc_status s = ctx.check_outputs(out, dims, ORTC_HOST)) return s;
  if (const ortc_status s = ctx.begin(ctx.stream, &captured)) return s;
  ortc_status s = ctx.stage(in, out);
  if (!s) s = program(self, ctx.staged, ctx.staged + ctx.model->num_inputs, dims, ctx.stream);
  if (!s) s = ctx.end(ctx.stream, captured);
  if (!s) s = ctx.fetch(out);
  return s ? ctx.give_up(s) : ORTC_OK;
}

template <class Self, class Program>
ortc_status cuda_context::run_device(Self& self, const ortc_tensor* in, ortc_tensor* out,
                                     int64_t* dims, void* on, Program program) {
  cuda_context& ctx = self;
  const run_scope scope(ctx);
  if (scope.busy) return ORTC_BUSY;
  const device_scope on_device(ctx);
  const cudaStream_t callers = static_cast<cudaStream_t>(on);
  bool captured = false;
  if (const ortc_status s = ctx.check_inputs(in, dims, ORTC_DEVICE)) return s;
  if (const ortc_status s = ctx.check_outputs(out, dims, ORTC_DEVICE)) return s;
  if (const ortc_status s = ctx.begin(callers, &captured)) return s;
  if (const ortc_status s = program(self, in, out, dims, callers)) return s;
  return ctx.end(callers, captured);
}

ORTC_RT_END

#define ORTC_CUDA_TRY(ctx, what, call)                                                             \
  do {                                                                                             \
    if (const ortc_status status_ = (ctx).check((call), what)) return status_;                     \
  } while (0)

#endif
