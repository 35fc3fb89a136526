// SPDX-License-Identifier: 0BSD
// Device memory, the checks before the first launch, and the order of runs that share an arena.
// Only the runtime library of CUDA is called, and every call is checked; nothing here is compiled
// for a device, so g++ does as well as nvcc.
#include "cuda_context.h"

#include <mutex>

ORTC_RT_BEGIN

namespace {

constexpr int NeededDriver = 13000; // any driver of CUDA 13 runs programs of any CUDA 13
constexpr uint64_t Align = 256;

uint64_t aligned(uint64_t n) {
  return (n + Align - 1) / Align * Align;
}

void put_capability(text& t, int capability) {
  t << capability / 10 << "." << capability % 10;
}

bool compiled_for(const cuda_build& build, int capability) {
  for (int i = 0; i < build.num_archs; ++i)
    if (build.archs[i] / 10 == capability / 10 && build.archs[i] <= capability) return true;
  return build.ptx > 0 && build.ptx <= capability;
}

} // namespace

ortc_status cuda_check_device(const cuda_build& build, int device, text& why) {
  int driver = 0, count = 0, major = 0, minor = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver < NeededDriver) {
    if (driver == 0)
      why << "no NVIDIA driver was found";
    else
      why << "the NVIDIA driver is for CUDA " << driver / 1000 << "." << driver % 1000 / 10;
    why << "; this bundle needs one for CUDA " << NeededDriver / 1000 << ".0 or newer";
    return ORTC_NO_DEVICE;
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError(); // not the caller's error
    why << "no NVIDIA GPU is visible: "
        << cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error);
    return ORTC_NO_DEVICE;
  }
  if (device < 0 || device >= count) {
    why << "there is no CUDA device " << device << ": the devices are 0 to " << count - 1;
    return ORTC_NO_DEVICE;
  }
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    why << "CUDA device " << device
        << " does not tell its compute capability: " << cudaGetErrorString(cudaGetLastError());
    return ORTC_NO_DEVICE;
  }
  const int capability = 10 * major + minor;
  if (compiled_for(build, capability)) return ORTC_OK;
  why << "CUDA device " << device << " has compute capability ";
  put_capability(why, capability);
  why << ", and this bundle was compiled for ";
  for (int i = 0; i < build.num_archs; ++i) {
    if (i) why << ", ";
    put_capability(why, build.archs[i]);
  }
  if (build.ptx > 0) {
    why << (build.num_archs > 0 ? " and, as PTX, for " : "PTX of ");
    put_capability(why, build.ptx);
    why << " or newer";
  }
  return ORTC_NO_DEVICE;
}

device_scope::device_scope(const cuda_context& ctx) {
  if (!ctx.device_ready || cudaGetDevice(&before) != cudaSuccess || before == ctx.device) {
    before = -1;
    return;
  }
  cudaSetDevice(ctx.device);
}
device_scope::~device_scope() {
  if (before >= 0) cudaSetDevice(before);
}

ortc_status cuda_context::check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return ORTC_OK;
  cudaGetLastError(); // a launch that was refused is told once, here
  return why() << what << ": " << cudaGetErrorString(error),
         error == cudaErrorMemoryAllocation ? ORTC_OUT_OF_MEMORY : ORTC_RUN_ERROR;
}

ortc_status cuda_context::open_cuda(const ortc_model& m, const ortc_options* options,
                                    const cuda_build& build) {
  if (const ortc_status s = context::open(m, options, 0)) return s;
  device = options ? static_cast<int>(reinterpret_cast<intptr_t>(options->device)) : 0;
  text found = why();
  if (const ortc_status s = cuda_check_device(build, device, found)) return s;
  device_ready = true;
  const device_scope on_device(*this);
  if (const ortc_status s =
          check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream"))
    return s;
  return check(cudaEventCreateWithFlags(&finished, cudaEventDisableTiming), "creating an event");
}

// Weights on a device, for all contexts of a model.

namespace {

struct shared_weights {
  const ortc_model* model;
  int device, users;
  char* data;
  shared_weights* next;
};
std::mutex shared_mutex;
shared_weights* shared_list = nullptr;

} // namespace

ortc_status cuda_context::upload_weights() {
  if (params.size == 0) return ORTC_OK;
  const device_scope on_device(*this);
  const std::lock_guard<std::mutex> lock(shared_mutex);
  for (shared_weights* w = shared_list; w; w = w->next)
    if (w->model == model && w->device == device) {
      ++w->users;
      device_weights = w->data;
      return ORTC_OK;
    }
  void* memory = context_memory(sizeof(shared_weights));
  if (!memory) return why() << "no memory for the record of the weights", ORTC_OUT_OF_MEMORY;
  char* data = nullptr;
  ortc_status s = check(cudaMalloc(reinterpret_cast<void**>(&data), params.size),
                        "device memory for the weights");
  if (!s)
    s = check(cudaMemcpy(data, params.data, params.size, cudaMemcpyHostToDevice),
              "copying the weights");
  if (s) {
    cudaFree(data);
    context_memory_free(memory, sizeof(shared_weights));
    return s;
  }
  shared_list = ::new (memory) shared_weights{model, device, 1, data, shared_list};
  device_weights = data;
  return ORTC_OK;
}

namespace {

void release_weights(const ortc_model* model, int device) {
  const std::lock_guard<std::mutex> lock(shared_mutex);
  for (shared_weights** at = &shared_list; *at; at = &(*at)->next) {
    shared_weights* w = *at;
    if (w->model != model || w->device != device) continue;
    if (--w->users > 0) return;
    cudaFree(w->data);
    *at = w->next;
    context_memory_free(w, sizeof(shared_weights));
    return;
  }
}

} // namespace

ortc_status cuda_context::grow(char*& data, uint64_t& size, uint64_t bytes, const char* what) {
  if (bytes <= size) return ORTC_OK;
  // The old block goes first: both may not fit.
  if (const ortc_status s = check(cudaStreamSynchronize(stream), what)) return s;
  if (const ortc_status s = check(cudaEventSynchronize(finished), what)) return s;
  cudaFree(data);
  data = nullptr;
  size = 0;
  if (const ortc_status s = check(cudaMalloc(reinterpret_cast<void**>(&data), bytes), what))
    return s;
  size = bytes;
  return ORTC_OK;
}

uint64_t cuda_context::io_bytes(const int64_t* dims) const {
  uint64_t total = 0;
  for (int i = 0; i < model->num_inputs + model->num_outputs; ++i) {
    const bool is_input = i < model->num_inputs;
    const ortc_io& t = is_input ? model->inputs[i] : model->outputs[i - model->num_inputs];
    uint64_t bytes = 0;
    int64_t sizes[16];
    bool known = t.rank <= 16;
    for (int d = 0; known && d < t.rank; ++d) {
      sizes[d] = t.shape[d] >= 0               ? t.shape[d]
                 : t.shape[d] == ORTC_COMPUTED ? -1
                                               : dims[~t.shape[d]];
      known = sizes[d] >= 0;
    }
    if (known && !tensor_bytes(t.dtype, sizes, t.rank, &bytes)) bytes = UINT64_MAX / 64;
    if (!known && !is_input && model->output_bound)
      bytes = model->output_bound(i - model->num_inputs, dims);
    total += aligned(bytes);
  }
  return total;
}

ortc_status cuda_context::reserve_cuda(uint64_t arena_bytes, const int64_t* dims) {
  const device_scope on_device(*this);
  if (const ortc_status s = grow(device_arena, device_arena_bytes, aligned(arena_bytes),
                                 "device memory for the arena"))
    return s;
  return grow(staging, staging_bytes, io_bytes(dims), "device memory for inputs and outputs");
}

ortc_status cuda_context::need_device_arena(uint64_t bytes) {
  if (bytes <= device_arena_bytes) return ORTC_OK;
  return why() << "these sizes need " << bytes << " bytes of arena, and " << device_arena_bytes
               << " are reserved: call reserve with them",
         ORTC_NEED_RESERVE;
}

void cuda_context::close() {
  if (device_ready) {
    const device_scope on_device(*this);
    if (stream) cudaStreamSynchronize(stream);
    if (finished) cudaEventSynchronize(finished);
    cudaFree(device_arena);
    cudaFree(staging);
    if (device_weights) release_weights(model, device);
    if (finished) cudaEventDestroy(finished);
    if (stream) cudaStreamDestroy(stream);
  }
  device_arena = staging = device_weights = nullptr;
  device_arena_bytes = staging_bytes = 0;
  stream = nullptr;
  finished = nullptr;
  context::close();
}

// Runs of one context follow each other, also on different streams: they use one arena. Inside a
// capture the caller sees to that, since a graph cannot wait for what came before it.
ortc_status cuda_context::begin(cudaStream_t on, bool* captured) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (const ortc_status s = check(cudaStreamIsCapturing(on, &capture), "asking the stream"))
    return s;
  *captured = capture == cudaStreamCaptureStatusActive;
  return *captured ? ORTC_OK
                   : check(cudaStreamWaitEvent(on, finished, 0), "waiting for the run before");
}
ortc_status cuda_context::end(cudaStream_t on, bool captured) {
  return captured ? ORTC_OK : check(cudaEventRecord(finished, on), "recording the end of the run");
}

void cuda_context::use_callers_memory(const ortc_tensor* in, ortc_tensor* out) {
  for (int i = 0; i < model->num_inputs; ++i)
    io[i] = static_cast<char*>(in[i].data);
  for (int i = 0; i < model->num_outputs; ++i)
    io[model->num_inputs + i] = static_cast<char*>(out[i].data);
}

ortc_status cuda_context::stage(const ortc_tensor* in, const ortc_tensor* out,
                                const int64_t* dims) {
  uint64_t offset = 0;
  for (int i = 0; i < model->num_inputs + model->num_outputs; ++i) {
    const bool is_input = i < model->num_inputs;
    const ortc_tensor& t = is_input ? in[i] : out[i - model->num_inputs];
    if (!t.data) {
      io[i] = nullptr;
      continue;
    }
    // Sizes that the run computes are not in the tensor yet: the most that they can be; without a
    // bound, as much as the caller has room for, or what is left.
    uint64_t bytes = 0;
    bool known = true;
    if (!is_input)
      for (int d = 0; d < t.rank; ++d)
        known &= model->outputs[i - model->num_inputs].shape[d] != ORTC_COMPUTED;
    if (known)
      known = tensor_bytes(t.dtype, t.dims, t.rank, &bytes);
    else if (model->output_bound)
      known = (bytes = model->output_bound(i - model->num_inputs, dims)) != 0;
    if (!known) {
      const uint64_t left = staging_bytes - offset;
      bytes = t.capacity < left ? t.capacity : left;
    }
    if (offset + bytes > staging_bytes)
      return why() << "these sizes need " << offset + bytes << " bytes for inputs and outputs, and "
                   << staging_bytes << " are reserved: call reserve with them",
             ORTC_NEED_RESERVE;
    io[i] = staging + offset;
    offset += aligned(bytes);
    if (bytes == 0) continue;
    const char* name =
        is_input ? model->inputs[i].name : model->outputs[i - model->num_inputs].name;
    if (const ortc_status s = check(ORTC_BUFFER(stream, io[i], bytes, name), name)) return s;
    if (!is_input) continue;
    const cudaError_t error = cudaMemcpyAsync(io[i], t.data, bytes, cudaMemcpyHostToDevice, stream);
    if (const ortc_status s = check(error, "copying an input to the device")) return s;
  }
  return ORTC_OK;
}

ortc_status cuda_context::fetch(ortc_tensor* out) {
  for (int i = 0; i < model->num_outputs; ++i) {
    uint64_t bytes = 0;
    if (!out[i].data || !tensor_bytes(out[i].dtype, out[i].dims, out[i].rank, &bytes) || bytes == 0)
      continue;
    const char* from = io[model->num_inputs + i];
    const cudaError_t error =
        cudaMemcpyAsync(out[i].data, from, bytes, cudaMemcpyDeviceToHost, stream);
    if (const ortc_status s = check(error, "copying an output to the host")) return s;
  }
  return check(cudaStreamSynchronize(stream), "running the model");
}

ortc_status cuda_context::give_up(ortc_status status) {
  cudaStreamSynchronize(stream); // the caller's inputs may still be on their way
  return status;
}

ortc_status cuda_context::read_back(void* to, const void* from, uint64_t bytes, cudaStream_t on) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (const ortc_status s = check(cudaStreamIsCapturing(on, &capture), "asking the stream"))
    return s;
  if (capture != cudaStreamCaptureStatusNone)
    return why() << "the stream is being captured, but this model decides on the host by values "
                    "that it computes; "
                    "run it without a graph",
           ORTC_UNSUPPORTED;
  if (const ortc_status s =
          check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, on), "reading back"))
    return s;
  return check(cudaStreamSynchronize(on), "reading back");
}

ORTC_RT_END
