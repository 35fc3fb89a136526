// SPDX-License-Identifier: Apache-2.0
#include "targets/cpu/Gemm.h"
#include "targets/cpu/Epilogue.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/gemm/unpacked.h"

using namespace mlir;

namespace ortc::cpu {
namespace {

/// A loop of the contraction, or several that run as one.
struct Axis {
  OpFoldResult extent;
  OpFoldResult a, b, c; // strides in lhs, rhs and result; 0 where it is not
};

/// The contraction as matrices: rows (lhs and result), columns (rhs and result), inner (both
/// operands), batch (all).
struct Problem {
  std::vector<Axis> batch, rows, columns, inner;
};

OpFoldResult product(OpBuilder& b, ArrayRef<Axis> axes) {
  OpFoldResult n = b.getIndexAttr(1);
  for (const Axis& x : axes)
    n = mulSizes(b, b.getUnknownLoc(), n, x.extent);
  return n;
}

/// Runs neighbouring loops as one where every operand is dense across them. The order is that of
/// the result (or of the lhs, for inner loops), outermost first.
void merge(OpBuilder& b, std::vector<Axis>& axes, bool ignoreB) {
  Location loc = b.getUnknownLoc();
  std::vector<Axis> merged;
  for (const Axis& x : axes) {
    if (constantSize(x.extent) == 1) continue;
    if (!merged.empty()) {
      Axis& last = merged.back();
      auto dense = [&](OpFoldResult outer, OpFoldResult inner) {
        return sameSize(outer, mulSizes(b, loc, inner, x.extent));
      };
      if (dense(last.a, x.a) && (ignoreB || dense(last.b, x.b)) && dense(last.c, x.c)) {
        last = {mulSizes(b, loc, last.extent, x.extent), x.a, x.b, x.c};
        continue;
      }
    }
    merged.push_back(x);
  }
  axes = merged;
}

/// Loops by what they are, in the order of the result, then of the lhs. False when a loop is summed
/// over alone.
bool classify(ContractOp op, OpBuilder& b, ArrayRef<OpFoldResult> as, ArrayRef<OpFoldResult> bs,
              ArrayRef<OpFoldResult> cs, Problem& p) {
  OpFoldResult zero = b.getIndexAttr(0);
  auto strideOf = [&](unsigned operand, ArrayRef<OpFoldResult> strides, unsigned loop) {
    for (auto [d, e] : llvm::enumerate(op.map(operand).getResults()))
      if (e == getAffineDimExpr(loop, op.getContext())) return strides[d];
    return zero;
  };
  SmallVector<unsigned> order;
  for (AffineExpr e : op.map(2).getResults())
    order.push_back(cast<AffineDimExpr>(e).getPosition());
  for (AffineExpr e : op.map(0).getResults())
    if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !llvm::is_contained(order, l))
      order.push_back(l);
  for (AffineExpr e : op.map(1).getResults())
    if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !llvm::is_contained(order, l))
      order.push_back(l);
  for (unsigned l : order) {
    auto [operand, dim] = op.extentOf(l);
    bool inA = op.map(0).isFunctionOfDim(l), inB = op.map(1).isFunctionOfDim(l),
         inC = op.map(2).isFunctionOfDim(l);
    Axis x{getSize(b, operand ? op.getRhs() : op.getLhs(), dim), strideOf(0, as, l),
           strideOf(1, bs, l), strideOf(2, cs, l)};
    if (inC)
      (inA && inB ? p.batch : inA ? p.rows : p.columns).push_back(x);
    else if (inA && inB)
      p.inner.push_back(x);
    else
      return false;
  }
  return true;
}

Sizes denseStrides(OpBuilder& b, Value v) {
  Sizes sizes = getSizes(b, v), strides(sizes.size(), b.getIndexAttr(1));
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = mulSizes(b, v.getLoc(), strides[d], sizes[d]);
  return strides;
}

struct Tile {
  int MR, NV, bytes;
  std::string rows;
  int NR() const { return NV * bytes / 4; }
};

/// kernels/README.md, "Which tile". M < 0: not known.
Tile chooseTile(const Processor& p, int64_t M, int64_t N) {
  Tile t{6, 4, p.vectorBytes, ""};
  if (p.vectorBytes == 64) {
    if (M == 1)
      t = {1, 8, 64, ""};
    else if (M >= 0 && M <= 4)
      t = {static_cast<int>(M), 4, 64, ""};
    else if (N % 64 && N % 48 == 0)
      t = {8, 3, 64, ""};
    else if (N <= 32)
      t = {14, 2, 64, ""};
    // Few columns: no wider a tile than they fill.
    if (N <= 16)
      t.NV = 1, t.MR = M >= 0 && M < 14 ? static_cast<int>(std::max<int64_t>(M, 1)) : 14;
    else if (N <= 32 && t.NV > 2)
      t.NV = 2;
  } else if (p.vectorBytes == 32) {
    if (M == 1)
      t = {1, 8, 32, ""};
    else if (M >= 0 && M < 4)
      t = {static_cast<int>(M), 3, 32, ""};
    else if (N % 24 == 0 || N > 64)
      t = {4, 3, 32, ""};
    else
      t = {6, 2, 32, ""};
    if (N <= 8)
      t.NV = 1, t.MR = M >= 0 && M < 8 ? static_cast<int>(std::max<int64_t>(M, 1)) : 8;
    else if (N <= 16 && t.NV > 2)
      t.NV = 2;
  } else {
    if (M == 1)
      t = {1, 8, 16, ""};
    else if (N % 12 == 0)
      t = {4, 3, 16, ""};
    else
      t = {4, 2, 16, ""};
    if (M > 0 && M < 4) t.MR = static_cast<int>(M);
    if (N <= 4) t.NV = 1;
  }
  if (M > 0 && M < t.MR) t.MR = static_cast<int>(M);
  t.rows = M > 0 && M % t.MR == 0                             ? "Rows::Exact"
           : M > 0 && (M + t.MR - 1) / t.MR * (t.MR - 1) <= M ? "Rows::Even"
                                                              : "Rows::Any";
  return t;
}

std::optional<Problem> problemOf(ContractOp op, OpBuilder& b, ArrayRef<OpFoldResult> as,
                                 ArrayRef<OpFoldResult> bs, ArrayRef<OpFoldResult> cs) {
  Problem p;
  if (!classify(op, b, as, bs, cs, p)) return std::nullopt;
  // Constants with batches of their own are not packed (see below), and are read as they lie.
  bool packed = constantOf(op.getRhs()) &&
                llvm::all_of(p.batch, [](const Axis& x) { return constantSize(x.extent) == 1; });
  merge(b, p.rows, false);
  merge(b, p.columns, packed);
  merge(b, p.inner, packed);
  merge(b, p.batch, packed);
  // The innermost row axis is M; the others are batches, of which two are possible.
  if (p.columns.size() > 1 || p.inner.size() > 1 ||
      p.batch.size() + std::max<size_t>(p.rows.size(), 1) - 1 > 2)
    return std::nullopt;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  if (p.columns.empty()) p.columns.push_back({one, zero, one, one});
  if (p.inner.empty()) p.inner.push_back({one, one, one, zero});
  if (p.rows.empty()) p.rows.push_back({one, p.inner[0].extent, zero, p.columns[0].extent});
  if (constantSize(p.columns[0].c) != 1 || constantSize(p.inner[0].a) != 1) return std::nullopt;
  if (!packed && constantSize(p.columns[0].b) != 1 && constantSize(p.inner[0].b) != 1)
    return std::nullopt;
  return p;
}

/// The result's dims are rows and batches in order, then columns: what an epilogue can count by m
/// and n.
bool epilogueFits(ContractOp op) {
  bool columns = false;
  for (AffineExpr e : op.map(2).getResults()) {
    unsigned l = cast<AffineDimExpr>(e).getPosition();
    bool isColumn = !op.map(0).isFunctionOfDim(l);
    if (columns && !isColumn) return false;
    columns |= isColumn;
  }
  return true;
}
/// m of an epilogue counts (outer, inner, row): the batch loops must come before the row loops in
/// the result, too.
bool batchComesFirst(ContractOp op) {
  bool row = false;
  for (AffineExpr e : op.map(2).getResults()) {
    unsigned l = cast<AffineDimExpr>(e).getPosition();
    bool inA = op.map(0).isFunctionOfDim(l), inB = op.map(1).isFunctionOfDim(l);
    if (inA && inB && row) return false;
    row |= inA && !inB;
  }
  return true;
}

unsigned rowDims(ContractOp op) {
  unsigned n = 0;
  for (AffineExpr e : op.map(2).getResults())
    n += op.map(0).isFunctionOfDim(cast<AffineDimExpr>(e).getPosition());
  return n;
}

double known(OpFoldResult size, double otherwise) {
  auto c = constantSize(size);
  return c ? static_cast<double>(*c) : otherwise;
}

} // namespace

void gemmCandidates(KernelOp kernel, const Processor& processor, std::vector<Candidate>& rows) {
  auto op = dyn_cast_or_null<ContractOp>(heavyOp(kernel));
  if (!op || !epilogueFits(op)) return;
  bool hasEpilogue = kernel.yielded()[0] != op.getResult();
  if (hasEpilogue && !batchComesFirst(op)) return;
  OpBuilder b(kernel);
  auto p = problemOf(op, b, denseStrides(b, op.getLhs()), denseStrides(b, op.getRhs()),
                     denseStrides(b, op.getInit()));
  if (!p) return;
  auto rhs = constantOf(op.getRhs());
  // A constant that is repeated over a batch axis of its own would be packed per batch; leave that
  // to the unpacked form.
  bool packed = rhs.has_value() && p->batch.empty();
  OpFoldResult M = p->rows.back().extent, N = p->columns[0].extent;
  if (packed && !constantSize(N)) return;
  int64_t m = constantSize(M).value_or(-1), n = constantSize(N).value_or(64);
  Tile t = chooseTile(processor, m, n);
  double flops = 2.0 * known(product(b, p->batch), 4) * known(product(b, p->rows), 32) * n *
                 known(p->inner[0].extent, 256);
  double weightBytes = 4.0 * n * known(p->inner[0].extent, 256);
  double micros = std::max(flops / processor.gigaflops / 1e3, weightBytes / processor.l3Gbps / 1e3);
  Builder& ab = b;
  SmallVector<NamedAttribute> parameters{ab.getNamedAttr("MR", ab.getI64IntegerAttr(t.MR)),
                                         ab.getNamedAttr("NV", ab.getI64IntegerAttr(t.NV)),
                                         ab.getNamedAttr("bytes", ab.getI64IntegerAttr(t.bytes)),
                                         ab.getNamedAttr("rows", ab.getStringAttr(t.rows)),
                                         ab.getNamedAttr("packed", ab.getBoolAttr(packed))};
  std::string isa = processor.vectorBytes == 64   ? "avx512"
                    : processor.vectorBytes == 32 ? "avx2"
                                                  : "sse";
  rows.push_back({fmt::format("gemm_{}f32_{}x{}_{}", packed ? "" : "unpacked_", t.MR, t.NR(), isa),
                  micros, ab.getDictionaryAttr(parameters)});
}

std::optional<OpFoldResult> gemmWorkspace(KernelOp kernel, OpBuilder& b) {
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  if (parameters.getAs<BoolAttr>("packed").getValue()) return std::nullopt;
  auto op = cast<ContractOp>(heavyOp(kernel));
  auto p = problemOf(op, b, denseStrides(b, op.getLhs()), denseStrides(b, op.getRhs()),
                     denseStrides(b, op.getInit()));
  int64_t NR = parameters.getAs<IntegerAttr>("NV").getInt() *
               parameters.getAs<IntegerAttr>("bytes").getInt() / 4;
  // linear in K
  return mulSizes(b, kernel.getLoc(), p->inner[0].extent,
                  b.getIndexAttr(4 * ortc_rt::unpackedWorkspaceFloats(1, NR)));
}

FailureOr<LoweredKernel> writeGemm(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto op = cast<ContractOp>(heavyOp(kernel));
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  bool packed = parameters.getAs<BoolAttr>("packed").getValue();
  OpBuilder ob(kernel);
  Sizes rhsStrides = packed ? denseStrides(ob, op.getRhs()) : strides(op.getRhs());
  auto p = problemOf(op, ob, strides(op.getLhs()), rhsStrides, strides(kernel.getResult(0)));
  if (!p) return LoweredKernel();
  auto number = [&](StringRef name) { return parameters.getAs<IntegerAttr>(name).getInt(); };
  int64_t NR = number("NV") * number("bytes") / 4;

  Value packedRhs; // a new constant, known to the program as one
  if (packed) {
    HostTensor rhs = *constantOf(op.getRhs());
    // Rows and columns of the matrix from the loops of the rhs, whatever their order there.
    SmallVector<int64_t> dense(rhs.dims.size(), 1), kStrides, kSizes, nStrides, nSizes;
    for (size_t d = rhs.dims.size(); d-- > 1;)
      dense[d - 1] = dense[d] * rhs.dims[d];
    auto strideOf = [&](unsigned loop, SmallVector<int64_t>& s, SmallVector<int64_t>& n) {
      for (auto [d, e] : llvm::enumerate(op.map(1).getResults()))
        if (e == getAffineDimExpr(loop, op.getContext()))
          s.push_back(dense[d]), n.push_back(rhs.dims[d]);
    };
    for (AffineExpr e : op.map(2).getResults())
      if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !op.map(0).isFunctionOfDim(l))
        strideOf(l, nStrides, nSizes);
    for (AffineExpr e : op.map(0).getResults())
      if (unsigned l = cast<AffineDimExpr>(e).getPosition(); !op.map(2).isFunctionOfDim(l))
        strideOf(l, kStrides, kSizes);
    auto offsets = [](ArrayRef<int64_t> strides, ArrayRef<int64_t> sizes) {
      std::vector<int64_t> r{0};
      for (auto [s, n] : llvm::zip(strides, sizes)) {
        std::vector<int64_t> next;
        for (int64_t at : r)
          for (int64_t i = 0; i < n; ++i)
            next.push_back(at + i * s);
        r = next;
      }
      return r;
    };
    std::vector<int64_t> ks = offsets(kStrides, kSizes), ns = offsets(nStrides, nSizes);
    int64_t K = ks.size(), N = ns.size();
    HostTensor out(rhs.elementType, {packedGemmFloats(K, N, static_cast<int>(NR))});
    std::vector<float> row(K * N);
    for (int64_t k = 0; k < K; ++k)
      for (int64_t n = 0; n < N; ++n)
        std::memcpy(&row[k * N + n], rhs.data.get() + (ks[k] + ns[n]) * 4, 4); // may be unaligned
    packGemm(row.data(), K, N, N, 1, static_cast<int>(NR), out.as<float>());
    // Stands in the function beside the original, which is left without use.
    auto made = ob.create<arith::ConstantOp>(op.getRhs().getLoc(), toAttribute(out, "packed"));
    packedRhs = made.getResult();
  }

  KernelWriter writer(kernel, module, [&](Value v) {
    return v == packedRhs ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  TemplateCall call(writer, packed ? "gemm_f32" : "gemm_unpacked_f32",
                    packed ? "GemmArgs" : "UnpackedArgs");
  call.parameter("MR", number("MR"));
  call.parameter("NV", number("NV"));
  call.parameter("Bytes", number("bytes"));
  if (packed)
    call.parameter("Rows", parameters.getAs<StringAttr>("rows").getValue());
  else
    call.parameter("Transposed", StringRef(constantSize(p->columns[0].b) == 1 ? "false" : "true"));
  const Axis &m = p->rows.back(), &n = p->columns[0], &k = p->inner[0];
  call.buffer("a", writer.place(op.getLhs()).buffer);
  call.buffer("b", writer.place(packed ? packedRhs : op.getRhs()).buffer);
  call.buffer("c", writer.result(0).buffer);
  if (!packed) call.buffer("workspace", writer.workspace());
  call.size("lda", m.a);
  if (!packed) call.size("ldb", constantSize(n.b) == 1 ? k.b : n.b);
  call.size("ldc", m.c);
  call.size("M", m.extent);
  call.size("N", n.extent);
  call.size("K", k.extent);
  std::vector<Axis> batch = p->batch;
  batch.insert(batch.end(), p->rows.begin(), p->rows.end() - 1);
  const char* names[] = {"outer", "inner"};
  for (size_t i = 0; i < batch.size(); ++i) {
    std::string name = names[batch.size() == 1 ? 1 : i];
    call.size(name + ".count", batch[i].extent);
    call.size(name + ".a", batch[i].a);
    call.size(name + ".b", batch[i].b);
    call.size(name + ".c", batch[i].c);
  }
  if (packed) call.size("prefetchBytes", 384 << 10);
  call.finish(kernel, op.getResult(), rowDims(op));
  return writer.finish();
}

} // namespace ortc::cpu
