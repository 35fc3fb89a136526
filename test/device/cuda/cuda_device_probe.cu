// SPDX-License-Identifier: Apache-2.0
//
// One call of each wrapper and function of targets/cuda/host/*.cuh, compared with what the host
// computes. On a GPU it tells whether our reading of CUDA's manuals is right; under the emulator,
// whether this program is. Exit: 0 all as expected, 1 not, 77 no device (with the reason).
// targets/cuda/device_ledger.py records runs on a device.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "function_list.h"
#include "narrow.cuh"
#include "ortc_cuda.cuh"

namespace ortc_rt {
namespace probe {
namespace {

int failures = 0, checks = 0;

void expect(bool ok, const char* what) {
  ++checks;
  if (ok) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}
void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Memory that is copied to the device at the start and back at finish().
template <class T> struct Both {
  std::vector<T> host;
  T* device = nullptr;
  explicit Both(std::vector<T> values) : host(std::move(values)) {
    require(cudaMalloc(&device, host.size() * sizeof(T)), "cudaMalloc");
    require(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
            "copy to the device");
  }
  ~Both() { cudaFree(device); }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;
  void finish(const char* what) {
    require(cudaDeviceSynchronize(), what);
    require(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost),
            "copy to the host");
  }
};

// Functions: the same text on the host and on the device.

template <class F, class T, class R> __global__ void apply1(const T* x, R* y, int n) {
  const int64_t i = thread_index();
  if (i < n) y[i] = F()(x[i]);
}
template <class F, class T, class R> __global__ void apply2(const T* a, const T* b, R* y, int n) {
  const int64_t i = thread_index();
  if (i < n) y[i] = F()(a[i], b[i]);
}

template <class R> bool agree(R found, R expected, double tolerance) {
  if (found == expected || (found != found && expected != expected)) return true;
  const double f = static_cast<double>(found), e = static_cast<double>(expected),
               size = e < 0 ? -e : e;
  const double error = f < e ? e - f : f - e;
  return error <= tolerance * (size > 1e-30 ? size : 1e-30);
}

template <class F, class T>
void check1(const char* what, const std::vector<T>& x, double tolerance) {
  using R = decltype(F()(T()));
  Both<T> in(x);
  Both<R> out(std::vector<R>(x.size(), R()));
  const int n = static_cast<int>(x.size());
  require(ORTC_LAUNCH((apply1<F, T, R>), dim3(static_cast<unsigned>(n + 63) / 64), dim3(64), 0,
                      nullptr, in.device, out.device, n),
          what);
  out.finish(what);
  for (size_t i = 0; i < x.size(); ++i)
    expect(agree(out.host[i], F()(x[i]), tolerance), what);
}
/// All pairs of x.
template <class F, class T>
void check2(const char* what, const std::vector<T>& x, double tolerance) {
  using R = decltype(F()(T(), T()));
  std::vector<T> a, b;
  for (const T u : x)
    for (const T v : x) {
      a.push_back(u);
      b.push_back(v);
    }
  Both<T> left(a), right(b);
  Both<R> out(std::vector<R>(a.size(), R()));
  const int n = static_cast<int>(a.size());
  require(ORTC_LAUNCH((apply2<F, T, R>), dim3(static_cast<unsigned>(n + 63) / 64), dim3(64), 0,
                      nullptr, left.device, right.device, out.device, n),
          what);
  out.finish(what);
  for (size_t i = 0; i < a.size(); ++i)
    expect(agree(out.host[i], F()(a[i], b[i]), tolerance), what);
}

#define DECLARE1(name, expression, tolerance)                                                      \
  template <class T> struct one_##name {                                                           \
    ORTC_HD auto operator()(T x) const {                                                           \
      return expression;                                                                           \
    }                                                                                              \
  };
#define DECLARE2(name, expression, tolerance)                                                      \
  template <class T> struct two_##name {                                                           \
    ORTC_HD auto operator()(T x, T y) const {                                                      \
      return expression;                                                                           \
    }                                                                                              \
  };
namespace of_floats {
FLOAT_FUNCTIONS(DECLARE1)
CUDA_ONLY_FUNCTIONS(DECLARE1)
FLOAT_PAIRS(DECLARE2)
CUDA_ONLY_PAIRS(DECLARE2)
} // namespace of_floats
namespace of_integers {
INTEGER_FUNCTIONS(DECLARE1)
INTEGER_PAIRS(DECLARE2)
} // namespace of_integers

#define RUN_FLOAT1(name, expression, tolerance)                                                    \
  check1<of_floats::one_##name<float>>(#name " of f32", floats, tolerance);
#define RUN_FLOAT2(name, expression, tolerance)                                                    \
  check2<of_floats::two_##name<float>>(#name " of f32", floats, tolerance);
#define RUN_I32_1(name, expression, tolerance)                                                     \
  check1<of_integers::one_##name<int32_t>>(#name " of i32", i32, tolerance);
#define RUN_I32_2(name, expression, tolerance)                                                     \
  check2<of_integers::two_##name<int32_t>>(#name " of i32", i32, tolerance);
#define RUN_I8_2(name, expression, tolerance)                                                      \
  check2<of_integers::two_##name<int8_t>>(#name " of i8", i8, tolerance);
#define RUN_I64_2(name, expression, tolerance)                                                     \
  check2<of_integers::two_##name<int64_t>>(#name " of i64", i64, tolerance);

void checkFunctions() {
  const std::vector<float> floats = {FLOAT_VALUES};
  const std::vector<int32_t> i32 = {I32_VALUES};
  const std::vector<int8_t> i8 = {I8_VALUES};
  const std::vector<int64_t> i64 = {I64_VALUES};
  FLOAT_FUNCTIONS(RUN_FLOAT1)
  CUDA_ONLY_FUNCTIONS(RUN_FLOAT1)
  FLOAT_PAIRS(RUN_FLOAT2)
  CUDA_ONLY_PAIRS(RUN_FLOAT2)
  INTEGER_FUNCTIONS(RUN_I32_1)
  INTEGER_PAIRS(RUN_I32_2)
  INTEGER_PAIRS(RUN_I8_2)
  INTEGER_PAIRS(RUN_I64_2)
}

// Wrappers: one warp or block each, results against the definition.

__global__ void bitCounts(const int32_t* x, int32_t* y) {
  const int i = static_cast<int>(threadIdx.x);
  y[i * 3] = count_ones(x[i]);
  y[i * 3 + 1] = leading_zeros(x[i]);
  y[i * 3 + 2] = trailing_zeros(x[i]);
}
void checkBitCounts() {
  Both<int32_t> x({0, 1, -1, 48}), y(std::vector<int32_t>(12, 0));
  require(ORTC_LAUNCH(bitCounts, dim3(1), dim3(4), 0, nullptr, x.device, y.device), "count_ones");
  y.finish("count_ones");
  expect(y.host == std::vector<int32_t>{0, 32, 32, 1, 31, 0, 32, 0, 0, 2, 26, 4},
         "count_ones, leading_zeros, trailing_zeros");
}

__global__ void shuffles(const float* x, float* y) {
  const int lane = static_cast<int>(threadIdx.x);
  const float v = x[lane];
  y[lane] = shuffle_xor(v, 5);
  y[32 + lane] = shuffle_down(v, 3u);
  y[64 + lane] = shuffle_from(v, 17);
  y[96 + lane] = static_cast<float>(__ballot_sync(0xffffffffu, lane % 3 == 0) >> lane & 1u);
  y[128 + lane] = static_cast<float>(__any_sync(0xffffffffu, lane == 9) +
                                     2 * __all_sync(0xffffffffu, lane < 31));
}
void checkShuffles() {
  std::vector<float> x(32), expected(160);
  for (size_t i = 0; i < 32; ++i) {
    x[i] = static_cast<float>(i * i);
    expected[i] = static_cast<float>((i ^ 5) * (i ^ 5));
    const size_t down = i + 3 < 32 ? i + 3 : i;
    expected[32 + i] = static_cast<float>(down * down);
    expected[64 + i] = 289.0f;
    expected[96 + i] = i % 3 == 0 ? 1.0f : 0.0f;
    expected[128 + i] = 1.0f;
  }
  Both<float> in(x), out(std::vector<float>(160, 0.0f));
  require(ORTC_LAUNCH(shuffles, dim3(1), dim3(32), 0, nullptr, in.device, out.device), "shuffles");
  out.finish("shuffles");
  expect(out.host == expected, "shuffle_xor, shuffle_down, shuffle_from, ballot, any, all");
}

__global__ void sharedMemory(const int* x, int* y) {
  ORTC_SHARED(int, reversed, 96);
  ORTC_SHARED_DYNAMIC(int, rotated);
  const int t = static_cast<int>(threadIdx.x);
  reversed[95 - t] = x[t];
  rotated[(t + 1) % 96] = x[t];
  __syncthreads();
  const int sum = reversed[t] * 1000 + rotated[t];
  const int count = __syncthreads_count(t % 4 == 0);
  const int any = __syncthreads_or(t == 95);
  const int all = __syncthreads_and(t != 95);
  __syncwarp();
  y[t] = sum + 1000000 * (count + 100 * any + 1000 * all);
}
void checkSharedMemory() {
  std::vector<int> x(96), expected(96);
  for (int t = 0; t < 96; ++t) {
    x[static_cast<size_t>(t)] = t;
    expected[static_cast<size_t>(t)] = (95 - t) * 1000 + (t + 95) % 96 + 1000000 * 124;
  }
  Both<int> in(x), out(std::vector<int>(96, 0));
  require(ORTC_LAUNCH(sharedMemory, dim3(1), dim3(96), 96 * sizeof(int), nullptr, in.device,
                      out.device),
          "shared");
  out.finish("shared memory");
  expect(out.host == expected,
         "ORTC_SHARED, ORTC_SHARED_DYNAMIC, __syncthreads and its votes, __syncwarp");
}

__global__ void vectors(const uint8_t* from, uint8_t* to) {
  store_vector(to, load_vector<uint16_t>(from));
  store_vector(to + 4, load_vector<uint32_t>(from + 4));
  store_vector(to + 8, load_vector<float2>(from + 8));
  store_vector(to + 16, load_vector<float4>(from + 16));
  to[2] = static_cast<uint8_t>(get_u4(from, 5) * 16 + static_cast<uint8_t>(get_i4(from, 1) & 15));
  to[3] = 0;
  put_4(to, 6, 9);
  put_4(to, 7, 6);
}
__global__ void products(const float* x, float* y) {
  y[threadIdx.x] = multiply_add(x[threadIdx.x], 1.0f + 0x1p-12f, -x[threadIdx.x]);
}
void checkVectors() {
  std::vector<uint8_t> x(32), expected(32);
  for (size_t i = 0; i < 32; ++i)
    expected[i] = x[i] = static_cast<uint8_t>(i * 11 + 3);
  expected[2] = static_cast<uint8_t>((x[2] >> 4) * 16 + (x[0] >> 4));
  expected[3] = 0x69;
  Both<uint8_t> in(x), out(std::vector<uint8_t>(32, 0));
  require(ORTC_LAUNCH(vectors, dim3(1), dim3(1), 0, nullptr, in.device, out.device), "vectors");
  out.finish("vectors");
  expect(out.host == expected, "load_vector, store_vector, get_u4, get_i4, put_4");
}
// A device rounds once, so that nothing of the product is lost; the emulator may round twice.
void checkProducts() {
  std::vector<float> numbers(32);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 1.0f + static_cast<float>(i) * 0x1p-20f;
  Both<float> in(numbers), out(std::vector<float>(32, 0.0f));
  require(ORTC_LAUNCH(products, dim3(1), dim3(32), 0, nullptr, in.device, out.device), "products");
  out.finish("products");
  bool right = true;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double exact = static_cast<double>(numbers[i]) * 0x1p-12;
#ifdef ORTC_CUEMU
    right &= std::fabs(static_cast<double>(out.host[i]) - exact) < 0x1p-22;
#else
    right &= static_cast<double>(out.host[i]) == exact;
#endif
  }
  expect(right, "multiply_add");
}

__global__ void rowTotals(float* f, int64_t* i) {
  const float x = static_cast<float>(threadIdx.x + 1);
  const float sum = block_sum(x), most = block_maximum(x), least = block_minimum(x);
  const float product = block_product(threadIdx.x % 7 == 0   ? 0.5f
                                      : threadIdx.x % 7 == 1 ? 2.0f
                                                             : 1.0f);
  const int64_t whole = block_sum(static_cast<int64_t>(threadIdx.x) << 33);
  if (threadIdx.x != 23) return; // any of them: all have the same
  f[0] = sum, f[1] = most, f[2] = least, f[3] = product;
  i[0] = whole;
}
void checkRows() {
  for (unsigned threads : {32u, 96u, 256u}) {
    Both<float> f(std::vector<float>(4, 0.0f));
    Both<int64_t> i(std::vector<int64_t>(1, 0));
    require(ORTC_LAUNCH(rowTotals, dim3(1), dim3(threads), 0, nullptr, f.device, i.device), "rows");
    f.finish("rows");
    i.finish("rows");
    const auto n = static_cast<int64_t>(threads);
    const float halves = static_cast<float>((n + 6) / 7), twos = static_cast<float>((n + 5) / 7);
    expect(f.host[0] == static_cast<float>(n * (n + 1) / 2) && f.host[1] == static_cast<float>(n) &&
               f.host[2] == 1.0f && f.host[3] == std::exp2(twos - halves) &&
               i.host[0] == (n * (n - 1) / 2) << 33,
           "block_sum, block_product, block_maximum, block_minimum");
  }
}

__global__ void atomics(int* i, float* f, unsigned* u, long long* l) {
  atomicAdd(&i[0], static_cast<int>(threadIdx.x));
  atomicMax(&i[1], static_cast<int>(threadIdx.x + blockIdx.x));
  atomicMin(&i[2], -static_cast<int>(threadIdx.x));
  atomicAdd(&f[0], 0.5f);
  atomicOr(&u[0], 1u << (threadIdx.x % 32));
  atomicMax(&l[0], static_cast<long long>(threadIdx.x) << 33);
  if (thread_index() == thread_count() - 1) atomicExch(&i[3], static_cast<int>(thread_count()));
}
void checkAtomics() {
  Both<int> i(std::vector<int>(4, 0));
  Both<float> f(std::vector<float>(1, 0.0f));
  Both<unsigned> u(std::vector<unsigned>(1, 0u));
  Both<long long> l(std::vector<long long>(1, 0ll));
  require(
      ORTC_LAUNCH(atomics, dim3(3), dim3(64), 0, nullptr, i.device, f.device, u.device, l.device),
      "atomics");
  i.finish("atomics");
  f.finish("atomics");
  u.finish("atomics");
  l.finish("atomics");
  expect(i.host == std::vector<int>{3 * 2016, 65, -63, 192} && f.host[0] == 96.0f &&
             u.host[0] == ~0u && l.host[0] == 63ll << 33,
         "atomics, thread_index, thread_count");
}

void checkGraph() {
  Both<int> i(std::vector<int>(4, 0));
  Both<float> f(std::vector<float>(1, 0.0f));
  Both<unsigned> u(std::vector<unsigned>(1, 0u));
  Both<long long> l(std::vector<long long>(1, 0ll));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  require(ORTC_BUFFER(stream, f.device, sizeof(float), "sum"), "ORTC_BUFFER");
  require(cudaMemsetAsync(f.device, 0, sizeof(float), stream), "memset");
  require(
      ORTC_LAUNCH(atomics, dim3(1), dim3(32), 0, stream, i.device, f.device, u.device, l.device),
      "launch");
  require(cudaStreamEndCapture(stream, &graph), "capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  for (int k = 0; k < 3; ++k)
    require(cudaGraphLaunch(executable, stream), "graph");
  require(cudaStreamSynchronize(stream), "graph");
  i.finish("graph");
  f.finish("graph");
  expect(f.host[0] == 16.0f && i.host[0] == 3 * 496, "launches in a graph, replayed three times");
  require(cudaGraphExecDestroy(executable), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
  require(cudaStreamDestroy(stream), "destroy");
}

__global__ void stops(int* x) {
  if (x[0] == 0) ORTC_TRAP("as asked");
  x[1] = 1;
}
/// Last: a trap ends the use of the device by this process.
void checkTrap() {
  Both<int> x({0, 0});
  require(ORTC_LAUNCH(stops, dim3(1), dim3(1), 0, nullptr, x.device), "trap");
  expect(cudaDeviceSynchronize() != cudaSuccess, "ORTC_TRAP stops the kernel with an error");
}

int run() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    std::printf("skipped: no NVIDIA driver was found\n");
    return 77;
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    std::printf("skipped: no NVIDIA GPU is visible: %s\n", cudaGetErrorString(error));
    return 77;
  }
  checkFunctions();
  checkBitCounts();
  checkShuffles();
  checkSharedMemory();
  checkVectors();
  checkProducts();
  checkRows();
  checkAtomics();
  checkGraph();
  checkTrap();
#ifndef ORTC_CUEMU
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess)
    std::printf("device %s, compute capability %d.%d, driver %d\n", device.name, device.major,
                device.minor, driver);
#else
  std::printf("device emulated\n");
#endif
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures ? 1 : 0;
}

} // namespace
} // namespace probe
} // namespace ortc_rt

int main() {
  return ortc_rt::probe::run();
}
