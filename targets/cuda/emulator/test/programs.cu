// SPDX-License-Identifier: 0BSD
//
// Host side of the test kernels, written as an emitted program would be.
#include "programs.h"

#include <cstdio>
#include <cstdlib>

#include "kernels.cuh"

namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
#ifdef ORTC_CUEMU
  if (!cuemu::reports().empty()) return; // the test looks at those
#endif
  std::fprintf(stderr, "unexpected CUDA error: %s\n", cudaGetErrorString(error));
  std::abort();
}

/// Device memory of one test.
template <class T> class Buffer {
public:
  explicit Buffer(size_t n) : size(n) { check(cudaMalloc(&data, n * sizeof(T))); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { upload(values); }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void upload(const std::vector<T>& values) {
    check(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> values(size);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

  T* data = nullptr;
  size_t size;
};

template <Bug bug> void launchSum(const float* x, float* out, int n, int blocks) {
  check(ORTC_LAUNCH(sumAll<bug>, dim3(static_cast<unsigned>(blocks)), dim3(256), 0, nullptr, x, out,
                    n));
}

template <Bug bug> void launchGemm(const float* a, const float* b, float* c, int M, int N, int K) {
  const dim3 grid(static_cast<unsigned>(N / 64), static_cast<unsigned>(M / 64));
  check(ORTC_LAUNCH(gemmTiled<bug>, grid, dim3(256), 0, nullptr, a, b, c, N, K));
}

} // namespace

std::vector<float> runGemm(Bug bug, const std::vector<float>& a, const std::vector<float>& b, int M,
                           int N, int K) {
  Buffer<float> da(a), db(b), dc(static_cast<size_t>(M) * static_cast<size_t>(N));
  switch (bug) {
  case Bug::NoBarrierBeforeRead:
    launchGemm<Bug::NoBarrierBeforeRead>(da.data, db.data, dc.data, M, N, K);
    break;
  case Bug::NoBarrierBeforeOverwrite:
    launchGemm<Bug::NoBarrierBeforeOverwrite>(da.data, db.data, dc.data, M, N, K);
    break;
  case Bug::GlobalOverrun:
    launchGemm<Bug::GlobalOverrun>(da.data, db.data, dc.data, M, N, K);
    break;
  case Bug::SharedOverrun:
    launchGemm<Bug::SharedOverrun>(da.data, db.data, dc.data, M, N, K);
    break;
  default: launchGemm<Bug::None>(da.data, db.data, dc.data, M, N, K); break;
  }
  return dc.download();
}

std::vector<float> runSoftmax(const std::vector<float>& x, int rows, int columns) {
  Buffer<float> dx(x), dy(x.size());
  const dim3 grid(static_cast<unsigned>(rows + 3) / 4);
  check(ORTC_LAUNCH(softmaxRows, grid, dim3(128), 0, nullptr, dx.data, dy.data, rows, columns));
  return dy.download();
}

float runSum(Bug bug, const std::vector<float>& x, int blocks) {
  Buffer<float> dx(x), out(std::vector<float>(1, 0.0f));
  const int n = static_cast<int>(x.size());
  switch (bug) {
  case Bug::SharedUnwritten: launchSum<Bug::SharedUnwritten>(dx.data, out.data, n, blocks); break;
  case Bug::PlainSumOfBlocks: launchSum<Bug::PlainSumOfBlocks>(dx.data, out.data, n, blocks); break;
  case Bug::BarrierForSome: launchSum<Bug::BarrierForSome>(dx.data, out.data, n, blocks); break;
  case Bug::TwoBarriersOnOneLine:
    launchSum<Bug::TwoBarriersOnOneLine>(dx.data, out.data, n, blocks);
    break;
  case Bug::BarrierAndShuffle:
    launchSum<Bug::BarrierAndShuffle>(dx.data, out.data, n, blocks);
    break;
  default: launchSum<Bug::None>(dx.data, out.data, n, blocks); break;
  }
  return out.download()[0];
}

std::vector<float> runSwap(Bug bug, const std::vector<float>& x) {
  Buffer<float> dx(x), dy(x.size());
  const auto run = [&](auto kernel) {
    check(ORTC_LAUNCH(kernel, dim3(1), dim3(64), 0, nullptr, dx.data, dy.data));
  };
  switch (bug) {
  case Bug::NoWarpBarrier: run(swapNeighbours<Bug::NoWarpBarrier>); break;
  case Bug::LaneNotThere: run(swapNeighbours<Bug::LaneNotThere>); break;
  default: run(swapNeighbours<Bug::None>); break;
  }
  return dy.download();
}

std::vector<float> runSquareBiasHalf(Bug bug, const std::vector<float>& x,
                                     const std::vector<float>& b) {
  using ortc_rt::f16;
  std::vector<f16> hx, hb;
  for (const float v : x)
    hx.push_back(ortc_rt::to_f16(v));
  for (const float v : b)
    hb.push_back(ortc_rt::to_f16(v));
  Buffer<f16> dx(hx), db(hb), dy(x.size());
  const int pairs = static_cast<int>(x.size() / 2) - (bug == Bug::Misaligned ? 1 : 0);
  if (bug == Bug::Misaligned)
    check(ORTC_LAUNCH(squareBiasHalf<Bug::Misaligned>, dim3(2), dim3(256), 0, nullptr, dx.data,
                      db.data, dy.data, pairs));
  else
    check(ORTC_LAUNCH(squareBiasHalf<Bug::None>, dim3(2), dim3(256), 0, nullptr, dx.data, db.data,
                      dy.data, pairs));
  std::vector<float> y;
  for (const f16 v : dy.download())
    y.push_back(ortc_rt::to_f32(v));
  return y;
}

std::vector<uint8_t> runLookUp(const std::vector<uint8_t>& table,
                               const std::vector<int64_t>& index) {
  Buffer<uint8_t> dt(table), dy(index.size());
  Buffer<int64_t> di(index);
  const int n = static_cast<int>(index.size());
  const dim3 grid(static_cast<unsigned>(n + 255) / 256);
  check(ORTC_LAUNCH(lookUpBytes, grid, dim3(256), 0, nullptr, dt.data, di.data, dy.data, n));
  return dy.download();
}

std::vector<uint8_t> runReverseBytes(Bug bug, const std::vector<uint8_t>& x) {
  Buffer<uint8_t> dx(x), dy(x.size());
  if (bug == Bug::NoBarrierBeforeRead)
    check(ORTC_LAUNCH(reverseBytes<Bug::NoBarrierBeforeRead>, dim3(1), dim3(128), 0, nullptr,
                      dx.data, dy.data));
  else
    check(ORTC_LAUNCH(reverseBytes<Bug::None>, dim3(1), dim3(128), 0, nullptr, dx.data, dy.data));
  return dy.download();
}

std::vector<int> runCountPositive(const std::vector<int>& x) {
  const dim3 block(5, 3, 7); // 105 threads: the last warp is not full
  const unsigned threads = block.x * block.y * block.z,
                 blocks = static_cast<unsigned>(x.size() + threads - 1) / threads;
  Buffer<int> dx(x), counts(blocks);
  check(ORTC_LAUNCH(countPositive, dim3(blocks), block, threads * sizeof(int), nullptr, dx.data,
                    counts.data, static_cast<int>(x.size())));
  return counts.download();
}

float runSumOfHostPointer(const std::vector<float>& x) {
  Buffer<float> out(std::vector<float>(1, 0.0f));
  launchSum<Bug::None>(x.data(), out.data, static_cast<int>(x.size()), 1);
  return out.download()[0];
}

float runSumOfUnwritten(int n) {
  Buffer<float> dx(static_cast<size_t>(n)), out(std::vector<float>(1, 0.0f));
  launchSum<Bug::None>(dx.data, out.data, n, 1);
  return out.download()[0];
}

float runSumOfFreed(const std::vector<float>& x) {
  Buffer<float> out(std::vector<float>(1, 0.0f));
  const float* freed;
  {
    Buffer<float> dx(x);
    freed = dx.data;
  }
  launchSum<Bug::None>(freed, out.data, static_cast<int>(x.size()), 1);
  return out.download()[0];
}

float readDevicePointerOnHost() {
  Buffer<float> dx(std::vector<float>(4, 1.0f));
  const volatile float* p = dx.data;
  return p[2];
}

float runSumInArena(bool unwritten, bool overrun) {
  const int n = 512;
  Buffer<float> arena(4096), out(std::vector<float>(1, 0.0f));
  const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  float* first = arena.data;
  float* second = arena.data + 1024;
  check(ORTC_BUFFER(nullptr, first, ones.size() * sizeof(float), "first"));
  check(cudaMemcpy(first, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice));
  check(ORTC_BUFFER(nullptr, second, ones.size() * sizeof(float), "second"));
  if (!unwritten)
    check(cudaMemcpy(second, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice));
  launchSum<Bug::None>(first, out.data, overrun ? n + 1 : n, 1);
  launchSum<Bug::None>(second, out.data, n, 1);
  return out.download()[0];
}

// As emitted: inside the runtime's namespace, so that `erf` is ours and not one of several in the
// global namespace.
namespace ortc_rt {
namespace {

// Results that ops.h states for the same calls, one per index.
__global__ void scalarFunctions(double* y) {
  const float nan = NAN, inf = INFINITY;
  int i = 0;
  y[i++] = is_nan(maximum(nan, 1.0f)) && is_nan(maximum(1.0f, nan)) && is_nan(minimum(nan, 1.0f));
  y[i++] = max_number(nan, 1.0f) + min_number(1.0f, nan);
  y[i++] = cast<int32_t>(3e9f);
  y[i++] = cast<int32_t>(nan);
  y[i++] = cast<int32_t>(-inf);
  y[i++] = cast<uint8_t>(-3.5f);
  y[i++] = cast<int8_t>(int32_t(200)); // wraps
  y[i++] = saturate<int8_t>(int32_t(200));
  y[i++] = saturate<uint8_t>(int64_t(-5));
  y[i++] = static_cast<double>(floor_div(int32_t(-7), int32_t(2)));
  y[i++] = static_cast<double>(ceil_div(int32_t(-7), int32_t(2)));
  y[i++] = div(INT32_MIN, -1);
  y[i++] = rem(7, 0);
  y[i++] = mod(-7, 3);
  y[i++] = mod(-7.5f, 2.0f);
  y[i++] = shl(int32_t(1), int32_t(33));
  y[i++] = shr_arithmetic(int32_t(-8), int32_t(40));
  y[i++] = static_cast<double>(shr_logical(int8_t(-1), int8_t(4)));
  y[i++] = round_even(2.5f) + round_away(2.5f);
  y[i++] = sign(-0.5f) + sign(uint8_t(9));
  y[i++] = pow_int(int32_t(-3), int32_t(3));
  y[i++] = count_ones(int8_t(-1));
  y[i++] = leading_zeros(int16_t(1));
  y[i++] = trailing_zeros(int32_t(0));
  y[i++] = add(int8_t(127), int8_t(1));
  y[i++] = static_cast<double>(cast<int64_t>(1e19));
  y[i++] = cast<bool>(0.5f);
  y[i++] = to_f32(to_f16(65519.0f));
  y[i++] = is_inf(to_f32(to_f16(65520.0f)));
  y[i++] = to_f32(to_bf16(1.00390625f)); // a tie, to even
  y[i++] = to_f32(to_f16(5.9604645e-8f)) * 16777216.0f;
  y[i++] = erf(0.5f);
}

} // namespace
} // namespace ortc_rt

std::vector<double> runScalarFunctions() {
  Buffer<double> y(std::vector<double>(40, 0.0));
  check(ORTC_LAUNCH(ortc_rt::scalarFunctions, dim3(1), dim3(1), 0, nullptr, y.data));
  return y.download();
}

std::vector<float> runGraph(const std::vector<float>& first, const std::vector<float>& second,
                            int rows, int columns) {
  Buffer<float> x(first), half(first.size()), y(first.size());
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const dim3 grid(static_cast<unsigned>(rows + 3) / 4);
  check(ORTC_LAUNCH(softmaxRows, grid, dim3(128), 0, stream, x.data, half.data, rows, columns));
  check(ORTC_LAUNCH(softmaxRows, grid, dim3(128), 0, stream, half.data, y.data, rows, columns));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph));
  x.upload(second);
  check(cudaGraphLaunch(executable, stream));
  check(cudaStreamSynchronize(stream));
  const std::vector<float> result = y.download();
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
  return result;
}
