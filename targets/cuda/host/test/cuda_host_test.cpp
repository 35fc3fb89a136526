// SPDX-License-Identifier: 0BSD
//
// The host side of CUDA bundles under the emulator: what it says without a usable device, and that
// its runs are ordered, allocate nothing and can be captured.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "bundle.h"
#include "cuemu.h"

namespace {

/// A context and the text of its last error.
struct Net {
  const ortc_model& model;
  ortc_context* context = nullptr;
  ortc_status created;
  explicit Net(const ortc_model* m = net_model(), const ortc_options* options = nullptr)
      : model(*m) {
    created = model.create(options, &context);
  }
  ~Net() { model.destroy(context); }
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;
  std::string error() const { return model.error(context); }
  ortc_status reserve(int64_t batch) { return model.reserve(context, &batch); }
};

struct Tensor {
  int64_t dims[2];
  ortc_tensor t{};
  Tensor(void* data, int64_t batch, ortc_space space) : dims{batch, 4} {
    t.data = data;
    t.dims = dims;
    t.capacity = static_cast<uint64_t>(batch) * 16;
    t.rank = 2;
    t.dtype = ORTC_FLOAT;
    t.space = space;
  }
};

std::vector<float> values(int64_t batch, float step) {
  std::vector<float> x(static_cast<size_t>(batch) * 4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i) * step) + 1.0f;
  return x;
}

void requireResult(const std::vector<float>& y, const std::vector<float>& x) {
  const double factor[4] = {1, -1, 0.5, 2};
  REQUIRE(y.size() == x.size());
  for (size_t row = 0; row < x.size(); row += 4) {
    double sum = 0;
    for (size_t i = 0; i < 4; ++i)
      sum += std::exp(static_cast<double>(x[row + i]) * factor[i]);
    for (size_t i = 0; i < 4; ++i)
      REQUIRE(static_cast<double>(y[row + i]) ==
              Approx(std::exp(static_cast<double>(x[row + i]) * factor[i]) / sum));
  }
}

std::vector<float> runOnHost(Net& net, std::vector<float> x, ortc_status expected = ORTC_OK) {
  const int64_t batch = static_cast<int64_t>(x.size() / 4);
  std::vector<float> y(x.size());
  Tensor in(x.data(), batch, ORTC_HOST), out(y.data(), batch, ORTC_HOST);
  const ortc_status status = net.model.run(net.context, &in.t, &out.t);
  INFO(net.error());
  REQUIRE(status == expected);
  return y;
}

/// Options of the emulated machine for one test.
struct Machine {
  cuemu::Options before = cuemu::options();
  Machine(int driver, int devices, int capability) {
    cuemu::options().driverVersion = driver;
    cuemu::options().deviceCount = devices;
    cuemu::options().capability = capability;
  }
  ~Machine() { cuemu::options() = before; }
};

std::string refusal(int driver, int devices, int capability, intptr_t ordinal = 0) {
  const Machine machine(driver, devices, capability);
  ortc_options options{};
  options.size = sizeof options;
  options.device = reinterpret_cast<void*>(ordinal);
  const Net net(net_model(), &options);
  REQUIRE(net.created == ORTC_NO_DEVICE);
  return net.error();
}

} // namespace

TEST_CASE("no usable device is a status and says what is needed") {
  REQUIRE(refusal(0, 1, 90) ==
          "no NVIDIA driver was found; this bundle needs one for CUDA 13.0 or newer");
  REQUIRE(refusal(12040, 1, 90) ==
          "the NVIDIA driver is for CUDA 12.4; this bundle needs one for CUDA 13.0 or newer");
  REQUIRE(refusal(13050, 0, 90) == "no NVIDIA GPU is visible: no CUDA-capable device is detected");
  REQUIRE(refusal(13050, 2, 90, 2) == "there is no CUDA device 2: the devices are 0 to 1");
  REQUIRE(refusal(13050, 1, 70) == "CUDA device 0 has compute capability 7.0, and this bundle was "
                                   "compiled for 7.5, 8.0, 9.0, 10.0 and, as PTX, "
                                   "for 10.0 or newer");
}

TEST_CASE("capabilities that run: the same major with at least that minor, and newer ones by PTX") {
  for (const int capability : {75, 80, 86, 89, 90, 100, 103, 120}) {
    const Machine machine(13050, 1, capability);
    Net net;
    REQUIRE(net.created == ORTC_OK);
  }
}

TEST_CASE("run with host memory, also when nothing happens before somebody waits") {
  cuemu::options().deferred = GENERATE(false, true);
  Net net;
  REQUIRE(net.created == ORTC_OK);
  REQUIRE(net.reserve(8) == ORTC_OK);
  for (const int64_t batch : {8, 3, 1, 8}) {
    const std::vector<float> x = values(batch, 0.3f * static_cast<float>(batch));
    requireResult(runOnHost(net, x), x);
  }
  cuemu::options().deferred = false;
  REQUIRE(cuemu::reports().empty());
}

TEST_CASE("sizes beyond what was reserved") {
  Net net;
  runOnHost(net, values(2, 0.1f), ORTC_NEED_RESERVE);
  REQUIRE(net.error() ==
          "these sizes need 32 bytes of arena, and 0 are reserved: call reserve with them");
  REQUIRE(net.reserve(65) == ORTC_INVALID_ARGUMENT);
  REQUIRE(net.reserve(2) == ORTC_OK);
  requireResult(runOnHost(net, values(2, 0.1f)), values(2, 0.1f));
}

TEST_CASE("device memory and the caller's stream; contexts share weights") {
  cuemu::options().deferred = GENERATE(false, true);
  Net net, other;
  REQUIRE(net.reserve(16) == ORTC_OK);
  REQUIRE(other.reserve(16) == ORTC_OK);
  const std::vector<float> x = values(16, 0.7f);
  std::vector<float> y(x.size());
  const size_t bytes = x.size() * sizeof(float);
  float *dx, *dy;
  cudaStream_t first, second;
  REQUIRE(cudaMalloc(&dx, bytes) == cudaSuccess);
  REQUIRE(cudaMalloc(&dy, bytes) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&first) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&second) == cudaSuccess);
  REQUIRE(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
  Tensor in(dx, 16, ORTC_DEVICE), out(dy, 16, ORTC_DEVICE);
  REQUIRE(net.model.run_async(net.context, &in.t, &out.t, first) == ORTC_OK);
  REQUIRE(net.model.run_async(net.context, &in.t, &out.t, second) ==
          ORTC_OK); // after the first: one arena
  REQUIRE(other.model.run_async(other.context, &in.t, &out.t, second) == ORTC_OK);
  REQUIRE(cudaStreamSynchronize(second) == cudaSuccess);
  REQUIRE(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
  requireResult(y, x);

  Tensor host(y.data(), 16, ORTC_HOST);
  REQUIRE(net.model.run_async(net.context, &host.t, &out.t, first) == ORTC_INVALID_ARGUMENT);
  REQUIRE(cudaStreamDestroy(first) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(second) == cudaSuccess);
  cudaFree(dx);
  cudaFree(dy);
  cuemu::options().deferred = false;
}

TEST_CASE("run_async can be captured, and the graph replayed on new data") {
  Net net;
  REQUIRE(net.reserve(4) == ORTC_OK);
  const size_t bytes = 16 * sizeof(float);
  float *dx, *dy;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaMalloc(&dx, bytes) == cudaSuccess);
  REQUIRE(cudaMalloc(&dy, bytes) == cudaSuccess);
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  Tensor in(dx, 4, ORTC_DEVICE), out(dy, 4, ORTC_DEVICE);
  // The emulator, as the driver, breaks a capture during which anything is allocated or waited for.
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  REQUIRE(net.model.run_async(net.context, &in.t, &out.t, stream) == ORTC_OK);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  for (const float step : {0.2f, 0.9f}) {
    const std::vector<float> x = values(4, step);
    std::vector<float> y(x.size());
    REQUIRE(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    REQUIRE(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    requireResult(y, x);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);

  // A model that decides on the host cannot be captured, and says so.
  Net deciding(net_deciding_model());
  REQUIRE(deciding.reserve(4) == ORTC_OK);
  REQUIRE(deciding.model.run_async(deciding.context, &in.t, &out.t, stream) == ORTC_OK);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  REQUIRE(deciding.model.run_async(deciding.context, &in.t, &out.t, stream) == ORTC_UNSUPPORTED);
  REQUIRE(deciding.error().find("is being captured") != std::string::npos);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  cudaGraphDestroy(graph);
  std::vector<float> negative = values(2, 0.3f);
  negative[0] = -1.0f;
  runOnHost(deciding, negative, ORTC_RUN_ERROR);
  REQUIRE(deciding.error() == "the first value is negative");
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  cudaFree(dx);
  cudaFree(dy);
}

TEST_CASE("not enough memory on the device") {
  Net net;
  cuemu::clearReports();
  void* most = nullptr;
  size_t bytes = cuemu::options().memoryBytes;
  // Takes what there is, down to less than the arena needs.
  std::vector<void*> taken;
  for (; bytes >= 512; bytes /= 2)
    if (cudaMalloc(&most, bytes) == cudaSuccess) taken.push_back(most);
  REQUIRE(net.reserve(64) == ORTC_OUT_OF_MEMORY);
  REQUIRE(net.error() == "device memory for the arena: out of memory");
  for (void* p : taken)
    cudaFree(p);
}

TEST_CASE("a fault in a kernel is a status with a text") {
  if (!cuemu::options().check) return;
  Net net;
  REQUIRE(net.reserve(4) == ORTC_OK);
  float* dx;
  REQUIRE(cudaMalloc(&dx, 64) == cudaSuccess); // never written
  Tensor in(dx, 4, ORTC_DEVICE), out(dx, 4, ORTC_DEVICE);
  REQUIRE(net.model.run_async(net.context, &in.t, &out.t, nullptr) == ORTC_OK);
  runOnHost(net, values(4, 0.1f), ORTC_RUN_ERROR);
  REQUIRE(net.error().find("UNINIT in 'scale'") != std::string::npos);
  REQUIRE(net.error().find("bundle.cu:") != std::string::npos);
  cuemu::clearReports();
  cudaFree(dx);
}

int main(int argc, char** argv) {
  cuemu::options().printReports = false;
  cuemu::options().memoryBytes = size_t(1) << 28; // so that filling it up is quick
  return Catch::Session().run(argc, argv);
}
