// SPDX-License-Identifier: 0BSD
//
// Every tile of the catalogue with every layout, launched as emitted programs do.
#include "programs.h"

#include <cstdio>
#include <cstdlib>

#include "../conv/conv.cuh"
#include "../gemm/gemm.cuh"

namespace {

using namespace ortc_rt;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
#ifdef ORTC_CUEMU
  if (!cuemu::reports().empty()) return; // the test looks at those
#endif
  std::fprintf(stderr, "unexpected CUDA error: %s\n", cudaGetErrorString(error));
  std::abort();
}

/// Device memory of one test.
class Buffer {
public:
  explicit Buffer(const std::vector<float>& values) : size(values.size()) {
    check(cudaMalloc(&data, size * sizeof(float)));
    check(cudaMemcpy(data, values.data(), size * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::vector<float> download() const {
    std::vector<float> values(size);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), data, size * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
  }

  float* data = nullptr;
  size_t size;
};

struct ScaleAdd {
  const float *rows, *columns;
  ORTC_DEV float operator()(float acc, int64_t m, int64_t n) const {
    return acc * rows[m] + columns[n];
  }
};

unsigned blocks(int64_t n, int tile) {
  return static_cast<unsigned>((n + tile - 1) / tile);
}

template <class T> void launchGemm(const GemmProblem& p, const GemmArgs& g, const ScaleAdd& e) {
  const bool one = p.shortGrid;
  const dim3 grid(blocks(p.M, T::BM), one ? 1 : blocks(p.N, T::BN),
                  one ? 1 : static_cast<unsigned>(p.outer * p.inner));
  const auto launch = [&](auto kernel) {
    check(ORTC_LAUNCH(kernel, grid, dim3(T::threads), 0, nullptr, g, e));
  };
  const bool aAlongK = p.aK == 1 || p.aRow != 1, bAlongK = p.bK == 1;
  if (aAlongK && bAlongK) launch(gemm_f32<T, Along::K, Along::K, ScaleAdd>);
  if (aAlongK && !bAlongK) launch(gemm_f32<T, Along::K, Along::Lines, ScaleAdd>);
  if (!aAlongK && bAlongK) launch(gemm_f32<T, Along::Lines, Along::K, ScaleAdd>);
  if (!aAlongK && !bAlongK) launch(gemm_f32<T, Along::Lines, Along::Lines, ScaleAdd>);
}

ConvAxis axis(const ConvAxisProblem& a) {
  ConvAxis r;
  r.in = a.in, r.out = a.out, r.kernel = a.kernel;
  r.stride = a.stride, r.dilation = a.dilation, r.pad = a.pad;
  return r;
}

} // namespace

std::vector<TileShape> tileShapes() {
  return {
#define ORTC_CUDA_TILE(BM, BN, BK, TM, TN, percent) {BM, BN},
#include "../tiles.inc"
#undef ORTC_CUDA_TILE
  };
}

std::vector<float> runGemm(const GemmProblem& p, int tile) {
  Buffer a(p.a), b(p.b), rows(p.rows), columns(p.columns),
      c(std::vector<float>(static_cast<size_t>(p.cFloats), -1.0f));
  GemmArgs g;
  g.a = a.data + p.aFirst;
  g.b = b.data + p.bFirst;
  g.c = c.data + p.cFirst;
  g.M = p.M, g.N = p.N, g.K = p.K;
  g.aRow = p.aRow, g.aK = p.aK, g.bK = p.bK, g.bColumn = p.bColumn, g.cRow = p.cRow;
  g.outer.count = p.outer, g.outer.a = p.outerA, g.outer.b = p.outerB, g.outer.c = p.outerC;
  g.inner.count = p.inner, g.inner.a = p.innerA, g.inner.b = p.innerB, g.inner.c = p.innerC;
  const ScaleAdd e{rows.data, columns.data};
  int i = 0;
#define ORTC_CUDA_TILE(BM, BN, BK, TM, TN, percent)                                                \
  if (tile == i++) launchGemm<Tile<BM, BN, BK, TM, TN>>(p, g, e);
#include "../tiles.inc"
#undef ORTC_CUDA_TILE
  return c.download();
}

std::vector<float> runConv(const ConvProblem& p, int tile) {
  ConvArgs v;
  v.depth = axis(p.depth), v.height = axis(p.height), v.width = axis(p.width);
  v.pixels = static_cast<int64_t>(p.images) * p.depth.out * p.height.out * p.width.out;
  Buffer x(p.x), w(p.w), rows(p.rows), columns(p.columns),
      y(std::vector<float>(static_cast<size_t>(v.pixels * p.yPixel), -1.0f));
  v.x = x.data + p.xFirst;
  v.w = w.data;
  v.y = y.data;
  v.IC = p.IC, v.OC = p.OC, v.groups = p.groups;
  v.xPixel = p.xPixel;
  v.xRow = v.xPixel * p.width.in;
  v.xPlane = v.xRow * p.height.in;
  v.xImage = v.xPlane * p.depth.in;
  v.yPixel = p.yPixel;
  const ScaleAdd e{rows.data, columns.data};
  int i = 0;
#define ORTC_CUDA_TILE(BM, BN, BK, TM, TN, percent)                                                \
  if (tile == i++) {                                                                               \
    using T = Tile<BM, BN, BK, TM, TN>;                                                            \
    const dim3 grid(blocks(v.pixels, BM), p.shortGrid ? 1 : blocks(p.OC, BN),                      \
                    p.shortGrid ? 1 : static_cast<unsigned>(p.groups));                            \
    check(ORTC_LAUNCH((conv_f32<T, ScaleAdd>), grid, dim3(T::threads), 0, nullptr, v, e));         \
  }
#include "../tiles.inc"
#undef ORTC_CUDA_TILE
  return y.download();
}
