// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/Accumulate.h"
#include "compiler/ops/Panels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <atomic>
#include <thread>

using namespace mlir;

namespace ortc {

static std::atomic<unsigned> threadCount = 0;
void setThreadCount(unsigned threads) {
  threadCount = threads;
}

void parallelFor(int64_t count, llvm::function_ref<void(int64_t, int64_t)> body) {
  unsigned wanted =
      threadCount ? threadCount.load() : std::max(1u, std::thread::hardware_concurrency());
  int64_t threads = std::min<int64_t>(wanted, count);
  if (threads <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::vector<std::thread> pool;
  for (int64_t t = 1; t < threads; ++t)
    pool.emplace_back([=] { body(count * t / threads, count * (t + 1) / threads); });
  body(0, count / threads);
  for (std::thread& t : pool)
    t.join();
}

void toDoubles(const HostTensor& t, double* out) {
  CellType c = cellType(t.elementType);
  constexpr int64_t piece = 1 << 14;
  parallelFor((t.size() + piece - 1) / piece, [&](int64_t begin, int64_t end) {
    int64_t first = begin * piece, count = std::min(t.size(), end * piece) - first;
    loadDoubles(c, t.data.get(), first, 1, count, out + first);
  });
}

void toIntegers(const HostTensor& t, bool isUnsigned, uint64_t* out) {
  CellType c = cellType(t.elementType);
  loadIntegers(c, t.data.get(), 0, 1, t.size(), reinterpret_cast<int64_t*>(out));
  if (isUnsigned && c.width < 64)
    for (int64_t i = 0, n = t.size(); i < n; ++i)
      out[i] &= (uint64_t(1) << c.width) - 1;
}

bool exactInDoubles(const HostTensor& a, const HostTensor& b, int64_t terms) {
  CellType ca = cellType(a.elementType), cb = cellType(b.elementType);
  return ca.width + cb.width + llvm::Log2_64_Ceil(std::max<int64_t>(terms, 1)) <= 53;
}

namespace {
/// Element offsets of all points of a nest, row-major.
std::vector<int64_t> offsets(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
  std::vector<int64_t> r{0};
  for (auto [e, s] : llvm::zip(extents, strides)) {
    std::vector<int64_t> next;
    next.reserve(r.size() * e);
    for (int64_t o : r)
      for (int64_t i = 0; i < e; ++i)
        next.push_back(o + i * s);
    r = std::move(next);
  }
  return r;
}

/// The problem as a batch of matrix products: loops sorted by which operands have them.
struct Product {
  std::vector<int64_t> batch[3];                             // lhs, rhs, result
  std::vector<int64_t> rows, depthLeft, columns, depthRight; // element offsets
  std::vector<int64_t> resultRows, resultColumns;
};

template <typename T, typename A, typename B>
void multiply(const Product& p, const A* a, const B* b, HostTensor& result) {
  CellType cell = cellType(result.elementType);
  int64_t rows = p.rows.size(), depth = p.depthLeft.size(), columns = p.columns.size(),
          batches = p.batch[0].size();
  constexpr int64_t width = ColumnBlock<T>::blockColumns;
  int64_t blocks = (columns + width - 1) / width;
  int64_t step = columns > 1 ? p.resultColumns[1] - p.resultColumns[0] : 1;
  bool regular = true; // columns of the result lie at equal distances
  for (int64_t n = 1; n < columns; ++n)
    regular &= p.resultColumns[n] - p.resultColumns[n - 1] == step;

  auto pack = [&](LeftPanels<T>& left, int64_t batch, int64_t panel) {
    const A* from = a + p.batch[0][batch];
    left.pack(panel, [&](int64_t r, int64_t k) {
      return static_cast<T>(from[p.rows[r] + p.depthLeft[k]]);
    });
  };
  auto block = [&](const LeftPanels<T>& left, ColumnBlock<T>& work, int64_t batch, int64_t at) {
    int64_t first = at * width, count = std::min(width, columns - first);
    const B* from = b + p.batch[1][batch];
    const int64_t* column = p.columns.data() + first;
    bool dense = count > 0 && column[count - 1] - column[0] == count - 1;
    for (int64_t n = 1; dense && n < count; ++n)
      dense = column[n] == column[0] + n;
    auto packRow = [&](int64_t k, T* out) {
      const B* row = from + p.depthRight[k];
      if (dense)
        for (int64_t n = 0; n < count; ++n)
          out[n] = static_cast<T>(row[column[0] + n]);
      else
        for (int64_t n = 0; n < count; ++n)
          out[n] = static_cast<T>(row[column[n]]);
    };
    auto store = [&](int64_t r, const T* values) {
      int64_t to = p.batch[2][batch] + p.resultRows[r];
      auto put = [&](int64_t offset, int64_t stride, int64_t n, const T* v) {
        if (cell.isFloat()) {
          if constexpr (std::is_same_v<T, double>)
            storeDoubles(cell, result.data.get(), offset, stride, n, v);
          return;
        }
        int64_t whole[width];
        for (int64_t i = 0; i < n; ++i)
          whole[i] = static_cast<int64_t>(v[i]);
        storeIntegers(cell, result.data.get(), offset, stride, n, whole);
      };
      if (regular)
        put(to + p.resultColumns[first], step, count, values);
      else
        for (int64_t n = 0; n < count; ++n)
          put(to + p.resultColumns[first + n], 1, 1, values + n);
    };
    work.run(left, count, packRow, store);
  };

  if (batches >= 8) { // many products: each is done by one thread
    parallelFor(batches, [&](int64_t begin, int64_t end) {
      LeftPanels<T> left(rows, depth);
      ColumnBlock<T> work;
      for (int64_t n = begin; n < end; ++n) {
        if (n == begin || p.batch[0][n] != p.batch[0][n - 1])
          for (int64_t q = 0; q < left.panels(); ++q)
            pack(left, n, q);
        for (int64_t at = 0; at < blocks; ++at)
          block(left, work, n, at);
      }
    });
    return;
  }
  for (int64_t n = 0; n < batches; ++n) {
    LeftPanels<T> left(rows, depth);
    bool small = rows * depth * columns < 100000;
    auto run = [&](int64_t count, llvm::function_ref<void(int64_t, int64_t)> body) {
      small ? body(0, count) : parallelFor(count, body);
    };
    run(left.panels(), [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q)
        pack(left, n, q);
    });
    run(blocks, [&](int64_t begin, int64_t end) {
      ColumnBlock<T> work;
      for (int64_t at = begin; at < end; ++at)
        block(left, work, n, at);
    });
  }
}
} // namespace

void sumOfProducts(const HostTensor& lhs, bool lhsUnsigned, const HostTensor& rhs, bool rhsUnsigned,
                   HostTensor& result, ArrayRef<int64_t> outer, ArrayRef<int64_t> inner,
                   std::array<SmallVector<int64_t>, 3> outerStrides,
                   std::array<SmallVector<int64_t>, 2> innerStrides) {
  if (result.size() == 0) return;
  // Loops of one operand only make rows or columns, those of both a batch. The smaller side is
  // packed as a whole.
  SmallVector<int64_t> extents[3], strides[3][3]; // batch, left, right; lhs, rhs, result
  int64_t sizes[3] = {1, 1, 1};
  for (size_t l = 0; l < outer.size(); ++l) {
    bool inLeft = outerStrides[0][l] != 0, inRight = outerStrides[1][l] != 0;
    int kind = inLeft == inRight ? 0 : inLeft ? 1 : 2;
    extents[kind].push_back(outer[l]);
    sizes[kind] *= outer[l];
    for (int o = 0; o < 3; ++o)
      strides[kind][o].push_back(outerStrides[o][l]);
  }
  bool swap = sizes[1] > sizes[2];
  int left = swap ? 2 : 1, right = swap ? 1 : 2;
  int operandLeft = swap ? 1 : 0, operandRight = swap ? 0 : 1;
  Product p;
  p.batch[0] = offsets(extents[0], strides[0][operandLeft]);
  p.batch[1] = offsets(extents[0], strides[0][operandRight]);
  p.batch[2] = offsets(extents[0], strides[0][2]);
  p.rows = offsets(extents[left], strides[left][operandLeft]);
  p.resultRows = offsets(extents[left], strides[left][2]);
  p.columns = offsets(extents[right], strides[right][operandRight]);
  p.resultColumns = offsets(extents[right], strides[right][2]);
  p.depthLeft = offsets(inner, innerStrides[operandLeft]);
  p.depthRight = offsets(inner, innerStrides[operandRight]);

  const HostTensor &a = swap ? rhs : lhs, &b = swap ? lhs : rhs;
  if (isa<FloatType>(result.elementType)) {
    // f32 is read in place, which saves two thirds of the memory of large weights.
    if (a.elementType.isF32() && b.elementType.isF32())
      return multiply<double>(p, a.as<float>(), b.as<float>(), result);
    std::vector<double> wa(a.size()), wb(b.size());
    toDoubles(a, wa.data());
    toDoubles(b, wb.data());
    return multiply<double>(p, wa.data(), wb.data(), result);
  }
  std::vector<uint64_t> wa(a.size()), wb(b.size());
  toIntegers(a, swap ? rhsUnsigned : lhsUnsigned, wa.data());
  toIntegers(b, swap ? lhsUnsigned : rhsUnsigned, wb.data());
  if (exactInDoubles(a, b, p.depthLeft.size()))
    return multiply<double>(p, reinterpret_cast<const int64_t*>(wa.data()),
                            reinterpret_cast<const int64_t*>(wb.data()), result);
  multiply<uint64_t>(p, wa.data(), wb.data(), result);
}

Type accumulatorType(Type result) {
  if (isa<FloatType>(result) && result.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(result.getContext());
  return result;
}

Value widen(ElementEmitter& e, Value v, Type result, bool isUnsigned) {
  Type to = accumulatorType(result);
  if (v.getType() == to) return v;
  OpBuilder& b = e.builder();
  if (isa<FloatType>(to)) return b.create<arith::ExtFOp>(e.loc, to, v);
  if (isUnsigned) return b.create<arith::ExtUIOp>(e.loc, to, v);
  return b.create<arith::ExtSIOp>(e.loc, to, v);
}

Value accumulateProducts(ElementEmitter& e, Type result, ValueRange extents,
                         llvm::function_ref<std::pair<Value, Value>(ValueRange)> factors) {
  OpBuilder& b = e.builder();
  Type acc = accumulatorType(result);
  bool isFloat = isa<FloatType>(acc);
  Value zero = b.create<arith::ConstantOp>(e.loc, b.getZeroAttr(acc));
  SmallVector<Value> sum =
      e.reduce(extents, zero, [&](ValueRange k, ValueRange carried) -> SmallVector<Value> {
        auto [x, y] = factors(k);
        if (isFloat)
          return {b.create<arith::AddFOp>(e.loc, carried[0], b.create<arith::MulFOp>(e.loc, x, y))};
        return {b.create<arith::AddIOp>(e.loc, carried[0], b.create<arith::MulIOp>(e.loc, x, y))};
      });
  if (acc == result) return sum[0];
  return b.create<arith::TruncFOp>(e.loc, result, sum[0]);
}

} // namespace ortc
