// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/Accumulate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <atomic>
#include <thread>

using namespace mlir;

namespace ortc {

static std::atomic<unsigned> threadCount = 0;
void setThreadCount(unsigned threads) { threadCount = threads; }

void parallelFor(int64_t count, llvm::function_ref<void(int64_t, int64_t)> body) {
  unsigned wanted = threadCount ? threadCount.load() : std::max(1u, std::thread::hardware_concurrency());
  int64_t threads = std::min<int64_t>(wanted, count);
  if (threads <= 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::vector<std::thread> pool;
  for (int64_t t = 1; t < threads; ++t)
    pool.emplace_back([=] { body(count * t / threads, count * (t + 1) / threads); });
  body(0, count / threads);
  for (std::thread& t : pool) t.join();
}

namespace {
struct Problem {
  ArrayRef<int64_t> outer, inner;
  std::array<SmallVector<int64_t>, 3> outerStrides;
  std::array<SmallVector<int64_t>, 2> innerStrides;
};

// Sum in `Acc` over the inner loops; the innermost one is a plain loop.
template <typename Acc, typename A, typename B>
Acc sumInner(const Problem& p, const A* a, const B* b, size_t level) {
  Acc sum = 0;
  if (p.inner.empty()) return static_cast<Acc>(*a) * static_cast<Acc>(*b);
  int64_t sa = p.innerStrides[0][level], sb = p.innerStrides[1][level], n = p.inner[level];
  if (level + 1 == p.inner.size()) {
    for (int64_t i = 0; i < n; ++i) sum += static_cast<Acc>(a[i * sa]) * static_cast<Acc>(b[i * sb]);
    return sum;
  }
  for (int64_t i = 0; i < n; ++i) sum += sumInner<Acc>(p, a + i * sa, b + i * sb, level + 1);
  return sum;
}

template <typename Acc>
void run(const Problem& p, const Acc* a, const Acc* b, HostTensor& result) {
  int64_t total = 1;
  for (int64_t e : p.outer) total *= e;
  parallelFor(total, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, oa = 0, ob = 0, oc = 0;
      for (size_t l = p.outer.size(); l-- > 0;) {
        int64_t at = rest % p.outer[l];
        rest /= p.outer[l];
        oa += at * p.outerStrides[0][l], ob += at * p.outerStrides[1][l], oc += at * p.outerStrides[2][l];
      }
      Acc sum = sumInner<Acc>(p, a + oa, b + ob, 0);
      if constexpr (std::is_same_v<Acc, double>) result.setDouble(oc, sum);
      else result.setInt(oc, static_cast<int64_t>(sum));
    }
  });
}
} // namespace

void sumOfProducts(const HostTensor& lhs, bool lhsUnsigned, const HostTensor& rhs, bool rhsUnsigned, HostTensor& result,
                   ArrayRef<int64_t> outer, ArrayRef<int64_t> inner, std::array<SmallVector<int64_t>, 3> outerStrides,
                   std::array<SmallVector<int64_t>, 2> innerStrides) {
  Problem p{outer, inner, std::move(outerStrides), std::move(innerStrides)};
  if (isa<FloatType>(result.elementType)) {
    auto wide = [](const HostTensor& t) {
      std::vector<double> r(t.size());
      parallelFor(t.size(), [&](int64_t b, int64_t e) { for (int64_t i = b; i < e; ++i) r[i] = t.getDouble(i); });
      return r;
    };
    std::vector<double> a = wide(lhs), b = wide(rhs);
    run<double>(p, a.data(), b.data(), result);
    return;
  }
  auto wide = [](const HostTensor& t, bool isUnsigned) {
    std::vector<uint64_t> r(t.size()); // unsigned: overflow wraps
    for (int64_t i = 0; i < t.size(); ++i) r[i] = t.getInt(i, isUnsigned);
    return r;
  };
  std::vector<uint64_t> a = wide(lhs, lhsUnsigned), b = wide(rhs, rhsUnsigned);
  run<uint64_t>(p, a.data(), b.data(), result);
}

Type accumulatorType(Type result) {
  if (isa<FloatType>(result) && result.getIntOrFloatBitWidth() < 32) return Float32Type::get(result.getContext());
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
  SmallVector<Value> sum = e.reduce(extents, zero, [&](ValueRange k, ValueRange carried) -> SmallVector<Value> {
    auto [x, y] = factors(k);
    if (isFloat) return {b.create<arith::AddFOp>(e.loc, carried[0], b.create<arith::MulFOp>(e.loc, x, y))};
    return {b.create<arith::AddIOp>(e.loc, carried[0], b.create<arith::MulIOp>(e.loc, x, y))};
  });
  if (acc == result) return sum[0];
  return b.create<arith::TruncFOp>(e.loc, result, sum[0]);
}

} // namespace ortc
