// SPDX-License-Identifier: 0BSD
//
// What matrix products and convolutions share: a block of threads computes a tile of outputs, with
// pieces of both operands in shared memory and a smaller tile of outputs in the registers of each
// thread.
//
// The pieces are double-buffered: while one is multiplied, the next is on its way from global
// memory to registers, so that there is one barrier per BK steps of the sum. Where an operand is
// read from is the business of a Source; the tile only knows lines (rows of A, columns of B) and k.
#ifndef ORTC_CUDA_KERNELS_TILE_CUH
#define ORTC_CUDA_KERNELS_TILE_CUH

#include "ortc_cuda.cuh"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

// BM x BN outputs of a block, TM x TN of them by each thread, BK steps of the sum at a time.
template <int BlockM, int BlockN, int BlockK, int ThreadM, int ThreadN> struct Tile {
  static constexpr int BM = BlockM, BN = BlockN, BK = BlockK, TM = ThreadM, TN = ThreadN;
  static constexpr int threadsN = BN / TN, threads = BM / TM * threadsN;
  // Four floats more than needed keep the lines that one warp writes off each other's banks, and
  // vectors aligned.
  static constexpr int pitchA = BM + 4, pitchB = BN + 4;
  static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "shared memory is read four at a time");

  // The outputs of a thread are groups of 4 x 4. Neighbouring threads have neighbouring groups, so
  // that a warp reads and writes whole lines of memory.
  static ORTC_DEV int row(int i) {
    return i / 4 * (4 * BM / TM) + static_cast<int>(threadIdx.x) / threadsN * 4 + i % 4;
  }
  static ORTC_DEV int column(int j) {
    return j / 4 * (4 * BN / TN) + static_cast<int>(threadIdx.x) % threadsN * 4 + j % 4;
  }
};

// Which four elements of an operand are fetched together: of one line along k, or of neighbouring
// lines at one k. They should lie side by side in memory.
enum class Along { K, Lines };

// `count` of four elements that are `step` apart, zeros for the rest. `whole`: they lie side by
// side and aligned to 16 bytes.
ORTC_DEV float4 load_four(const float* p, int64_t count, int64_t step, bool whole) {
  if (whole && count >= 4) return load_vector<float4>(p);
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (count > 0) v.x = p[0];
  if (count > 1) v.y = p[step];
  if (count > 2) v.z = p[2 * step];
  if (count > 3) v.w = p[3 * step];
  return v;
}

ORTC_DEV bool is_aligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}

// An operand that is a matrix in memory: element (line, k) at line * lineStride + k * kStride.
template <Along A> struct MatrixSource {
  static constexpr Along along = A;
  const float* data;
  int64_t lines, K, lineStride, kStride;
  bool whole;

  ORTC_DEV MatrixSource(const float* data, int64_t lines, int64_t K, int64_t lineStride,
                        int64_t kStride)
      : data(data), lines(lines), K(K), lineStride(lineStride), kStride(kStride),
        whole(is_aligned(data) && (A == Along::K ? kStride == 1 && lineStride % 4 == 0
                                                 : lineStride == 1 && kStride % 4 == 0)) {}

  // Where a thread is in its line, or in the first of its four lines.
  struct Cursor {
    const float* p;
    int64_t k;
    int lines; // of four, how many there are
  };
  ORTC_DEV Cursor at(int64_t line, int k) const {
    const int64_t left = lines - line;
    return {data + (left > 0 ? line * lineStride : 0) + k * kStride, k,
            left < 0   ? 0
            : left < 4 ? static_cast<int>(left)
                       : 4};
  }
  ORTC_DEV float4 load(const Cursor& c) const {
    const int64_t left = K - c.k;
    if (A == Along::K) return load_four(c.p, c.lines > 0 ? left : 0, kStride, whole);
    return load_four(c.p, left > 0 ? c.lines : 0, lineStride, whole);
  }
  ORTC_DEV void advance(Cursor& c, int steps) const {
    c.p += steps * kStride;
    c.k += steps;
  }
};

// The share of one thread in fetching a piece: BK steps of `Lines` lines.
template <class T, int Lines, class Source> class Fetch {
  static constexpr int kVectors = Lines * T::BK / 4;
  static constexpr int kEach = (kVectors + T::threads - 1) / T::threads;
  static constexpr bool kAlongK = Source::along == Along::K;
  static constexpr int kPitch = Lines + 4;

  static ORTC_DEV int number(int i) { return static_cast<int>(threadIdx.x) + i * T::threads; }
  static ORTC_DEV bool isMine(int i) { return kVectors % T::threads == 0 || number(i) < kVectors; }
  static ORTC_DEV int line(int i) {
    return kAlongK ? number(i) / (T::BK / 4) : number(i) % (Lines / 4) * 4;
  }
  static ORTC_DEV int k(int i) {
    return kAlongK ? number(i) % (T::BK / 4) * 4 : number(i) / (Lines / 4);
  }

  const Source& source;
  typename Source::Cursor cursors[kEach];
  float4 values[kEach];

public:
  ORTC_DEV Fetch(const Source& source, int64_t firstLine) : source(source) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      cursors[i] = source.at(firstLine + line(i), k(i));
  }
  // Starts the loads of the next BK steps.
  ORTC_DEV void get() {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (!isMine(i)) continue;
      values[i] = source.load(cursors[i]);
      source.advance(cursors[i], T::BK);
    }
  }
  // Writes them to shared memory as [k][line].
  ORTC_DEV void put(float* piece) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (!isMine(i)) continue;
      float* to = piece + k(i) * kPitch + line(i);
      if (kAlongK) {
        to[0] = values[i].x;
        to[kPitch] = values[i].y;
        to[2 * kPitch] = values[i].z;
        to[3 * kPitch] = values[i].w;
      } else {
        store_vector(to, values[i]);
      }
    }
  }
};

// acc += a piece of A times a piece of B.
template <class T>
ORTC_DEV void multiply_pieces(float (&acc)[T::TM][T::TN], const float* a, const float* b) {
#pragma unroll
  for (int k = 0; k < T::BK; ++k) {
    float x[T::TM], y[T::TN];
#pragma unroll
    for (int i = 0; i < T::TM; i += 4) {
      const float4 v = load_vector<float4>(a + k * T::pitchA + T::row(i));
      x[i] = v.x, x[i + 1] = v.y, x[i + 2] = v.z, x[i + 3] = v.w;
    }
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
      const float4 v = load_vector<float4>(b + k * T::pitchB + T::column(j));
      y[j] = v.x, y[j + 1] = v.y, y[j + 2] = v.z, y[j + 3] = v.w;
    }
#pragma unroll
    for (int i = 0; i < T::TM; ++i)
#pragma unroll
      for (int j = 0; j < T::TN; ++j)
        acc[i][j] = multiply_add(x[i], y[j], acc[i][j]);
  }
}

// Where the outputs of a tile go: c[m * ldc + n] for m < M and n < N. The epilogue sees m and n
// counted from firstM and firstN: over all batches, over all groups.
struct TileResult {
  float* c;
  int64_t ldc, M, N, firstM, firstN;
};

template <class T, class Epilogue>
ORTC_DEV void store_tile(const float (&acc)[T::TM][T::TN], const TileResult& to, int64_t m0,
                         int64_t n0, const Epilogue& epilogue) {
  const bool whole = is_aligned(to.c) && to.ldc % 4 == 0;
#pragma unroll
  for (int i = 0; i < T::TM; ++i) {
    const int64_t m = m0 + T::row(i);
    if (m >= to.M) continue;
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
      const int64_t n = n0 + T::column(j);
      float* p = to.c + m * to.ldc + n;
      const auto value = [&](int q) {
        return epilogue(acc[i][j + q], to.firstM + m, to.firstN + n + q);
      };
      if (whole && n + 4 <= to.N) {
        store_vector(p, make_float4(value(0), value(1), value(2), value(3)));
        continue;
      }
#pragma unroll
      for (int q = 0; q < 4; ++q)
        if (n + q < to.N) p[q] = value(q);
    }
  }
}

// The tile whose first output is (m0, n0): sums over all K, then the epilogue and the stores. All
// threads of the block call.
template <class T, class A, class B, class Epilogue>
ORTC_DEV void compute_tile(const A& a, const B& b, int64_t K, const TileResult& to, int64_t m0,
                           int64_t n0, const Epilogue& epilogue) {
  constexpr int pieceA = T::BK * T::pitchA, pieceB = T::BK * T::pitchB;
  ORTC_SHARED(float, piecesA, 2 * pieceA);
  ORTC_SHARED(float, piecesB, 2 * pieceB);
  Fetch<T, T::BM, A> fetchA(a, m0);
  Fetch<T, T::BN, B> fetchB(b, n0);
  float acc[T::TM][T::TN] = {};
  fetchA.get();
  fetchB.get();
  fetchA.put(piecesA);
  fetchB.put(piecesB);
  __syncthreads();
  int now = 0;
  for (int64_t k = 0; k < K; k += T::BK) {
    const bool more = k + T::BK < K;
    if (more) {
      fetchA.get();
      fetchB.get();
    }
    multiply_pieces<T>(acc, piecesA + now * pieceA, piecesB + now * pieceB);
    now ^= 1;
    if (more) {
      fetchA.put(piecesA + now * pieceA);
      fetchB.put(piecesB + now * pieceB);
    }
    __syncthreads();
  }
  store_tile<T>(acc, to, m0, n0, epilogue);
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif
