// SPDX-License-Identifier: 0BSD
//
// Streams, events, graphs and memory as the host sees them. A stream is a queue of closures; by
// default it is emptied at once, and with Options::deferred only when somebody waits, which finds
// programs that forget to. A capture moves closures into a graph instead; a graph replays them.
#include "host_api.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "checker.h"
#include "memory.h"
#include "report.h"

namespace cuemu {

void runLaunch(const KernelCall& call, dim3 grid, dim3 block, size_t sharedBytes); // scheduler.cpp

using Work = std::function<void()>;

struct Graph {
  std::vector<Work> work;
};

struct Capture {
  Stream* origin;
  std::vector<Work> work;
  bool invalidated = false;
};

struct Stream {
  bool legacy = false, nonBlocking = false;
  std::deque<Work> queue;
  uint64_t submitted = 0, done = 0;
  std::shared_ptr<Capture> capture;
};

struct Event {
  Stream* stream = nullptr;
  uint64_t position = 0; // done when the stream has done this many
  std::shared_ptr<Capture> capture;
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

namespace {

struct Host {
  std::recursive_mutex mutex; // the API may be called from several threads
  Stream legacy;
  std::set<Stream*> streams;
  std::map<const void*, int> dynamicLimit; // cudaFuncSetAttribute
  cudaError_t last = cudaSuccess;
  int captures = 0;
  Host() { legacy.legacy = true; }
};
Host& host() {
  static Host h;
  return h;
}
using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t fail(cudaError_t error) {
  if (error != cudaSuccess) host().last = error;
  return error;
}

cudaError_t asynchronousError() {
  return anyReports() ? fail(cudaErrorLaunchFailure) : cudaSuccess; // sticky, as on a device
}

Stream& streamOf(cudaStream_t s) {
  return s ? *s : host().legacy;
}

void drain(Stream& s, uint64_t until) {
  while (s.done < until && !s.queue.empty()) {
    Work work = std::move(s.queue.front());
    s.queue.pop_front();
    work();
    ++s.done;
  }
}
void drain(Stream& s) {
  drain(s, s.submitted);
}

void drainAll() {
  drain(host().legacy);
  for (Stream* s : host().streams)
    drain(*s);
}

/// Waiting and allocating are not allowed while anything is captured: they would not be part of the
/// graph.
cudaError_t refuseInCapture() {
  Host& h = host();
  if (h.captures == 0) return cudaSuccess;
  for (Stream* s : h.streams)
    if (s->capture) s->capture->invalidated = true;
  return fail(cudaErrorStreamCaptureUnsupported);
}

cudaError_t deviceError() {
  const Options& o = options();
  if (o.driverVersion < 13000) return cudaErrorInsufficientDriver;
  return o.deviceCount > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t submit(cudaStream_t stream, Work work) {
  if (const cudaError_t error = deviceError()) return fail(error);
  Host& h = host();
  if (stream && !h.streams.count(stream)) return fail(cudaErrorInvalidResourceHandle);
  Stream& s = streamOf(stream);
  if (s.capture) {
    if (s.capture->invalidated) return fail(cudaErrorStreamCaptureInvalidated);
    s.capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (s.legacy) {
    if (h.captures > 0) return fail(cudaErrorStreamCaptureImplicit);
    drainAll(); // the default stream waits for the others, and they for it
  }
  s.queue.push_back(std::move(work));
  ++s.submitted;
  if (!options().deferred || s.legacy) drain(s);
  return cudaSuccess;
}

/// Both ends of a copy are where the caller says they are.
bool copyIsValid(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  DeviceMemory& m = DeviceMemory::get();
  const bool toDevice = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                        (kind == cudaMemcpyDefault && m.holds(to));
  const bool fromDevice = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                          (kind == cudaMemcpyDefault && m.holds(from));
  return toDevice == m.holds(to) && fromDevice == m.holds(from) &&
         (!toDevice || m.allocated(to, bytes)) && (!fromDevice || m.allocated(from, bytes));
}

void doCopy(void* to, const void* from, size_t bytes) {
  DeviceMemory& m = DeviceMemory::get();
  if (options().check) {
    m.shadowReady();
    if (m.holds(from) && m.holds(to)) {
      m.copyWritten(to, from, bytes);
    } else if (m.holds(from)) {
      const size_t at = m.firstUnwritten(from, bytes);
      if (at < bytes && firstTime("UNINIT", "copy" + keyOf(from)))
        report("UNINIT", "a copy to the host of " + std::to_string(bytes) +
                             " bytes reads what was never written, from byte " +
                             std::to_string(at) + " on");
    } else {
      m.markWritten(to, bytes);
    }
  }
  std::memmove(to, from, bytes);
}

Options optionsFromEnvironment() {
  Options o;
  if (const char* s = std::getenv("ORTC_CUEMU_SCHEDULE")) {
    if (std::strcmp(s, "reverse") == 0) o.schedule = Schedule::Reverse;
    if (std::strncmp(s, "random", 6) == 0) o.schedule = Schedule::Random;
    if (const char* colon = std::strchr(s, ':')) o.seed = std::strtoull(colon + 1, nullptr, 10);
  }
  if (const char* s = std::getenv("ORTC_CUEMU_THREADS")) o.hostThreads = std::atoi(s);
  if (const char* s = std::getenv("ORTC_CUEMU_DEFERRED")) o.deferred = std::atoi(s) != 0;
  if (const char* s = std::getenv("ORTC_CUEMU_DEVICE")) {
    if (std::strcmp(s, "none") == 0)
      o.driverVersion = 0;
    else
      o.capability = std::atoi(s);
  }
  return o;
}

} // namespace

Options& options() {
  static Options o = optionsFromEnvironment();
  return o;
}

Statistics& statistics() {
  static Statistics s;
  return s;
}

int launch(const KernelCall& call, dim3 grid, dim3 block, size_t sharedBytes, Stream* stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  const auto limit = host().dynamicLimit.find(call.function);
  const size_t allowed =
      limit == host().dynamicLimit.end() ? size_t(48) << 10 : static_cast<size_t>(limit->second);
  const bool badGrid =
      !grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535;
  if (!threads || threads > 1024 || block.z > 64 || badGrid)
    return fail(cudaErrorInvalidConfiguration);
  if (sharedBytes > allowed) return fail(cudaErrorInvalidValue);
  return submit(stream, [=] { runLaunch(call, grid, block, sharedBytes); });
}

int beginBuffer(Stream* stream, void* data, size_t bytes, const char* name) {
  CoreScope scope;
  Lock lock(host().mutex);
  return submit(stream,
                [=] { DeviceMemory::get().beginBuffer(static_cast<char*>(data), bytes, name); });
}

} // namespace cuemu

using namespace cuemu;

cudaError_t cudaDriverGetVersion(int* version) {
  *version = options().driverVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13050;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t error = deviceError()) return fail(error);
  *count = options().deviceCount;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return fail(deviceError());
}
cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = deviceError()) return fail(error);
  return device >= 0 && device < options().deviceCount ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (const cudaError_t error = deviceError()) return fail(error);
  switch (attribute) {
  case cudaDevAttrComputeCapabilityMajor: *value = options().capability / 10; return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor: *value = options().capability % 10; return cudaSuccess;
  }
  return fail(cudaErrorInvalidValue);
}
cudaError_t cudaPeekAtLastError() {
  return asynchronousError() ? cudaErrorLaunchFailure : host().last;
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  host().last = cudaSuccess;
  return error;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "no error";
  case cudaErrorInvalidValue: return "invalid argument";
  case cudaErrorMemoryAllocation: return "out of memory";
  case cudaErrorInvalidConfiguration: return "invalid configuration argument";
  case cudaErrorStubLibrary: return "CUDA driver is a stub library";
  case cudaErrorInsufficientDriver:
    return "CUDA driver version is insufficient for CUDA runtime version";
  case cudaErrorNoDevice: return "no CUDA-capable device is detected";
  case cudaErrorInvalidDevice: return "invalid device ordinal";
  case cudaErrorNoKernelImageForDevice:
    return "no kernel image is available for execution on the device";
  case cudaErrorInvalidResourceHandle: return "invalid resource handle";
  case cudaErrorNotReady: return "device not ready";
  case cudaErrorLaunchFailure: return anyReports() ? firstReport() : "unspecified launch failure";
  case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
  case cudaErrorStreamCaptureInvalidated:
    return "operation failed due to a previous error during capture";
  case cudaErrorStreamCaptureImplicit:
    return "operation would make the legacy stream depend on a capturing stream";
  case cudaErrorStreamCaptureIsolation:
    return "dependency created on uncaptured work in another stream";
  }
  return "unknown error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return cudaGetErrorString(error);
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  CoreScope scope;
  Lock lock(host().mutex);
  *data = nullptr;
  if (const cudaError_t error = deviceError()) return fail(error);
  if (const cudaError_t error = refuseInCapture()) return error;
  if (bytes == 0) return cudaSuccess;
  *data = DeviceMemory::get().allocate(bytes);
  return *data ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* data) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (const cudaError_t error = deviceError()) return fail(error);
  if (const cudaError_t error = refuseInCapture()) return error;
  if (!data) return cudaSuccess;
  drainAll();
  return DeviceMemory::get().release(data) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (bytes == 0) return cudaSuccess;
  if (!copyIsValid(to, from, bytes, kind)) return fail(cudaErrorInvalidValue);
  return submit(stream, [=] { doCopy(to, from, bytes); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (const cudaError_t error = refuseInCapture()) return error;
  if (const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr)) return error;
  return asynchronousError();
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (bytes == 0) return cudaSuccess;
  if (!DeviceMemory::get().allocated(data, bytes)) return fail(cudaErrorInvalidValue);
  return submit(stream, [=] {
    if (options().check) DeviceMemory::get().shadowReady();
    std::memset(data, value, bytes);
    DeviceMemory::get().markWritten(data, bytes);
  });
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  return cudaMemsetAsync(data, value, bytes, nullptr);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int value) {
  Lock lock(host().mutex);
  if (value < 0 || value > 227 << 10) return fail(cudaErrorInvalidValue);
  host().dynamicLimit[function] = value;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  Lock lock(host().mutex);
  *stream = nullptr;
  if (const cudaError_t error = deviceError()) return fail(error);
  *stream = new Stream;
  (*stream)->nonBlocking = flags & cudaStreamNonBlocking;
  host().streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (!host().streams.erase(stream)) return fail(cudaErrorInvalidResourceHandle);
  drain(*stream);
  if (stream->capture && stream->capture->origin == stream) --host().captures;
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (const cudaError_t error = deviceError()) return fail(error);
  if (const cudaError_t error = refuseInCapture()) return error;
  drain(streamOf(stream));
  return asynchronousError();
}
cudaError_t cudaDeviceSynchronize() {
  CoreScope scope;
  Lock lock(host().mutex);
  if (const cudaError_t error = deviceError()) return fail(error);
  if (const cudaError_t error = refuseInCapture()) return error;
  drainAll();
  return asynchronousError();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  if (const cudaError_t error = deviceError()) return fail(error);
  *event = new Event;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  Stream& s = streamOf(stream);
  event->stream = &s;
  event->position = s.submitted;
  event->capture = s.capture;
  event->time = std::chrono::steady_clock::now();
  event->recorded = true;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Lock lock(host().mutex);
  return !event->recorded || event->stream->done >= event->position ? cudaSuccess
                                                                    : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (event->recorded) drain(*event->stream, event->position);
  return asynchronousError();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from->recorded || !to->recorded) return fail(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  CoreScope scope;
  Lock lock(host().mutex);
  if (!event->recorded) return cudaSuccess;
  Stream& s = streamOf(stream);
  if (event->capture) {
    s.capture = event->capture; // the waiting stream joins the capture
    return cudaSuccess;
  }
  if (s.capture) {
    s.capture->invalidated = true;
    return fail(cudaErrorStreamCaptureIsolation);
  }
  Stream* other = event->stream;
  const uint64_t position = event->position;
  return submit(stream, [=] { drain(*other, position); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  Lock lock(host().mutex);
  if (!stream || stream->capture) return fail(cudaErrorStreamCaptureUnsupported);
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  ++host().captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Lock lock(host().mutex);
  *graph = nullptr;
  if (!stream || !stream->capture || stream->capture->origin != stream)
    return fail(cudaErrorInvalidValue);
  const std::shared_ptr<Capture> capture = stream->capture;
  for (Stream* s : host().streams)
    if (s->capture == capture) s->capture.reset();
  --host().captures;
  if (capture->invalidated) return fail(cudaErrorStreamCaptureInvalidated);
  *graph = new Graph{std::move(capture->work)};
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  Lock lock(host().mutex);
  const Stream& s = streamOf(stream);
  *status = !s.capture               ? cudaStreamCaptureStatusNone
            : s.capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new Graph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  CoreScope scope;
  Lock lock(host().mutex);
  for (const Work& work : executable->work)
    if (const cudaError_t error = submit(stream, work)) return error;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
