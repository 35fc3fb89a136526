// SPDX-License-Identifier: 0BSD
// What CUDA bundles add to ortc_rt::context: the device and whether this bundle can run on it,
// weights and arena in its memory, and the two ways to run. An emitted bundle looks like this:
//
//   struct net_context : ortc_rt::cuda_context {
//     char* places[2]; // for `io`
//   };
//   static uint64_t net_arena_bytes(const int64_t* dims);
//   static ortc_status net_program(net_context& context, ortc_tensor* outputs, const int64_t* dims,
//                                  cudaStream_t stream) {
//     const float* x = context.input<float>(0);
//     const float* w = context.weight<float>(0);
//     float* hidden = context.buffer<float>(0);
//     ORTC_CUDA_TRY(context, "fc1", ORTC_LAUNCH(fc1, dim3(4), dim3(256), 0, stream, x, w, hidden));
//     ...
//     return ORTC_OK;
//   }
//   static ortc_status net_run(ortc_context* c, const ortc_tensor* in, ortc_tensor* out) {
//     auto& context = *ortc_rt::context_cast<net_context>(c);
//     int64_t dims[2];
//     return context.run_host(in, out, dims, net_arena_bytes, [&](cudaStream_t stream) {
//       return net_program(context, out, dims, stream);
//     });
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

struct cuda_context : context {
  int device = 0;
  bool device_ready = false;
  cudaStream_t stream = nullptr;  // of run_host
  cudaEvent_t finished = nullptr; // of the last run, since the arena is shared by all of them
  char* device_weights = nullptr; // shared by the contexts of a process
  char* device_arena = nullptr;
  uint64_t device_arena_bytes = 0;
  char* staging = nullptr; // inputs and outputs of run_host
  uint64_t staging_bytes = 0;
  char** io = nullptr; // device addresses of inputs, then outputs, of this run

  // context::open, then the device of options->device (its ordinal, cast to a pointer), stream and
  // event.
  ortc_status open_cuda(const ortc_model& m, const ortc_options* options, const cuda_build& build);
  // Copies `params` to the device, once for all contexts of the model on this device.
  ortc_status upload_weights();
  // At least `bytes` of arena, and room for inputs and outputs of these sizes; what was in them is
  // lost.
  ortc_status reserve_cuda(uint64_t arena_bytes, const int64_t* dims);
  void close();

  template <class T> const T* input(int i) const { return reinterpret_cast<const T*>(io[i]); }
  template <class T> T* output(int i) const {
    return reinterpret_cast<T*>(io[model->num_inputs + i]);
  }
  template <class T> const T* weight(uint64_t offset) const {
    return reinterpret_cast<const T*>(device_weights + offset);
  }
  template <class T> T* buffer(uint64_t offset) const {
    return reinterpret_cast<T*>(device_arena + offset);
  }

  // ORTC_OK, or a text with `what` and the reason.
  ortc_status check(cudaError_t error, const char* what);

  // A value that the host decides by: waits for the stream. A stream that is being captured cannot
  // wait.
  ortc_status read_back(void* to, const void* from, uint64_t bytes, cudaStream_t on);

  // Checks, copies in, `program(stream)`, copies out, waits. arena_bytes(dims) is what these sizes
  // need.
  template <class ArenaBytes, class Program>
  ortc_status run_host(const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                       ArenaBytes arena_bytes, Program program);
  // Checks, `program` on the caller's stream; returns before it has run.
  template <class ArenaBytes, class Program>
  ortc_status run_device(const ortc_tensor* in, ortc_tensor* out, int64_t* dims, void* on,
                         ArenaBytes arena_bytes, Program program);

private:
  ortc_status need_device_arena(uint64_t bytes);
  ortc_status stage(const ortc_tensor* in, const ortc_tensor* out, const int64_t* dims);
  ortc_status fetch(ortc_tensor* out);
  ortc_status give_up(ortc_status status);
  void use_callers_memory(const ortc_tensor* in, ortc_tensor* out);
  ortc_status begin(cudaStream_t on, bool* captured);
  ortc_status end(cudaStream_t on, bool captured);
  uint64_t io_bytes(const int64_t* dims) const;
  ortc_status grow(char*& data, uint64_t& size, uint64_t bytes, const char* what);
};

// Makes the context's device the thread's, and puts the caller's back.
struct device_scope {
  int before = -1;
  explicit device_scope(const cuda_context& ctx);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
};

template <class ArenaBytes, class Program>
ortc_status cuda_context::run_host(const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                                   ArenaBytes arena_bytes, Program program) {
  const run_scope scope(*this);
  if (scope.busy) return ORTC_BUSY;
  const device_scope on_device(*this);
  bool captured = false;
  if (const ortc_status s = check_inputs(in, dims, ORTC_HOST)) return s;
  if (const ortc_status s = check_outputs(out, dims, ORTC_HOST)) return s;
  if (const ortc_status s = need_device_arena(arena_bytes(dims))) return s;
  if (const ortc_status s = begin(stream, &captured)) return s;
  if (const ortc_status s = stage(in, out, dims)) return give_up(s);
  if (const ortc_status s = program(stream)) return give_up(s);
  if (const ortc_status s = end(stream, captured)) return give_up(s);
  if (const ortc_status s = fetch(out)) return give_up(s);
  return ORTC_OK;
}

template <class ArenaBytes, class Program>
ortc_status cuda_context::run_device(const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                                     void* on, ArenaBytes arena_bytes, Program program) {
  const run_scope scope(*this);
  if (scope.busy) return ORTC_BUSY;
  const device_scope on_device(*this);
  const cudaStream_t callers = static_cast<cudaStream_t>(on);
  bool captured = false;
  if (const ortc_status s = check_inputs(in, dims, ORTC_DEVICE)) return s;
  if (const ortc_status s = check_outputs(out, dims, ORTC_DEVICE)) return s;
  if (const ortc_status s = need_device_arena(arena_bytes(dims))) return s;
  if (const ortc_status s = begin(callers, &captured)) return s;
  use_callers_memory(in, out);
  if (const ortc_status s = program(callers)) return s;
  return end(callers, captured);
}

ORTC_RT_END

#define ORTC_CUDA_TRY(ctx, what, call)                                                             \
  do {                                                                                             \
    if (const ortc_status status_ = (ctx).check((call), what)) return status_;                     \
  } while (0)

#endif
