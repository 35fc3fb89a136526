// SPDX-License-Identifier: Apache-2.0
// Contractions as matrix products: which of kernels/gemm and kernels/onednn fit, and their calls.
#include "targets/common/catalogue/Contraction.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/gemm/pack.h"
#include "targets/cpu/kernels/gemm/unpacked.h"

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

struct Tile {
  int MR, NV, bytes;
  int NR() const { return NV * bytes / 4; }
};

/// kernels/README.md, "Which tile". M < 0: not known.
Tile chooseTile(const Processor& p, int64_t M, int64_t N) {
  Tile t{6, 4, p.vectorBytes};
  if (p.vectorBytes == 64) {
    if (M == 1)
      t = {1, 8, 64};
    else if (M >= 0 && M <= 4)
      t = {static_cast<int>(M), 4, 64};
    else if (N % 64 && N % 48 == 0)
      t = {8, 3, 64};
    else if (N <= 32)
      t = {14, 2, 64};
    // Few columns: no wider a tile than they fill.
    if (N <= 16)
      t.NV = 1, t.MR = M >= 0 && M < 14 ? static_cast<int>(std::max<int64_t>(M, 1)) : 14;
    else if (N <= 32 && t.NV > 2)
      t.NV = 2;
  } else if (p.vectorBytes == 32) {
    if (M == 1)
      t = {1, 8, 32};
    else if (M >= 0 && M < 4)
      t = {static_cast<int>(M), 3, 32};
    else if (N % 24 == 0 || N > 64)
      t = {4, 3, 32};
    else
      t = {6, 2, 32};
    if (N <= 8)
      t.NV = 1, t.MR = M >= 0 && M < 8 ? static_cast<int>(std::max<int64_t>(M, 1)) : 8;
    else if (N <= 16 && t.NV > 2)
      t.NV = 2;
  } else {
    if (M == 1)
      t = {1, 8, 16};
    else if (N % 12 == 0)
      t = {4, 3, 16};
    else
      t = {4, 2, 16};
    if (M > 0 && M < 4) t.MR = static_cast<int>(M);
    if (N <= 4) t.NV = 1;
  }
  if (M > 0 && M < t.MR) t.MR = static_cast<int>(M);
  return t;
}

double known(OpFoldResult size, double otherwise) {
  auto c = constantSize(size);
  return c ? static_cast<double>(*c) : otherwise;
}

/// Multiply-adds up to which sizes are compiled into the layer (kernels/gemm/small.h): beyond, a
/// call with sizes at run time is as fast, and one copy of it serves all layers.
constexpr int64_t kMostOfSmall = 65536;

/// kernels/onednn: matrices as they lie in memory, also constants.
void oneDnnCandidate(ContractOp op, const Processor& processor, std::vector<Candidate>& rows) {
  OpBuilder b(op);
  auto p = matrixProduct(op, b, /*packed=*/false, denseStrides(b, op.getLhs()),
                         denseStrides(b, op.getRhs()), denseStrides(b, op.getInit()));
  if (!p) return;
  double batches = known(extentOf(b, p->batch), 4);
  for (size_t i = 0; i + 1 < p->rows.size(); ++i)
    batches *= known(p->rows[i].extent, 4);
  double m = known(p->rows.back().extent, 32), n = known(p->columns[0].extent, 64),
         k = known(p->inner[0].extent, 256);
  // kernels/onednn/README.md: it cuts long sums in blocks that stay in a cache, which our kernels
  // do not; it packs B in each call, and a call costs some microseconds.
  double rate = (k >= 2048 ? 1.12 : 0.95) * processor.gigaflops;
  double each = 2 * m * n * k / rate / 1e3 + 4 * n * k / processor.l3Gbps / 1e3 + 5;
  rows.push_back({"onednn_gemm_f32", batches * each,
                  b.getDictionaryAttr({b.getNamedAttr("form", b.getStringAttr("onednn"))})});
}

/// Does the epilogue read a tensor that the run has computed? It may be planned into the place of
/// the result, which the library writes before the epilogue runs.
bool readsComputed(KernelOp kernel, ContractOp op) {
  for (Operation& other : kernel.block().without_terminator()) {
    if (&other == op.getOperation()) continue;
    for (Value v : other.getOperands())
      if (isa<TensorType>(v.getType()) && v.getParentBlock() != &kernel.block() && !constantOf(v) &&
          !v.getDefiningOp<tensor::EmptyOp>())
        return true;
  }
  return false;
}

StringRef formOf(KernelOp kernel) {
  return kernel.getChoiceAttr()
      .getAs<DictionaryAttr>("parameters")
      .getAs<StringAttr>("form")
      .getValue();
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  const Processor& processor = machine.processor;
  auto op = dyn_cast_or_null<ContractOp>(heavyOp(kernel));
  if (!op || !columnsComeLast(op)) return;
  bool hasEpilogue = kernel.yielded()[0] != op.getResult();
  if (hasEpilogue && !batchComesFirst(op)) return;
  if (machine.oneDnn && !readsComputed(kernel, op)) oneDnnCandidate(op, processor, rows);
  OpBuilder b(kernel);
  // A constant that is repeated over a batch axis of its own would be packed per batch; leave that
  // to the unpacked form, which reads it where it lies.
  bool packed = constantOf(op.getRhs()).has_value();
  auto problem = [&] {
    return matrixProduct(op, b, packed, denseStrides(b, op.getLhs()), denseStrides(b, op.getRhs()),
                         denseStrides(b, op.getInit()));
  };
  auto p = problem();
  if (p && packed && !p->batch.empty()) packed = false, p = problem();
  if (!p) return;
  OpFoldResult M = p->rows.back().extent, N = p->columns[0].extent;
  if (packed && !constantSize(N)) return;
  int64_t m = constantSize(M).value_or(-1), n = constantSize(N).value_or(64);
  Tile t = chooseTile(processor, m, n);
  double flops = 2.0 * known(extentOf(b, p->batch), 4) * known(extentOf(b, p->rows), 32) * n *
                 known(p->inner[0].extent, 256);
  double weightBytes = 4.0 * n * known(p->inner[0].extent, 256);
  double micros = std::max(flops / processor.gigaflops / 1e3, weightBytes / processor.l3Gbps / 1e3);
  Builder& ab = b;
  auto k = constantSize(p->inner[0].extent);
  if (packed && p->batch.empty() && p->rows.size() == 1 && m >= 1 && m <= 4 && k &&
      m * n * *k <= kMostOfSmall) {
    const int64_t lanes = processor.vectorBytes / 4;
    const int64_t most = (processor.vectorBytes == 64 ? 12 : 8) / m;
    const int64_t NV = std::min(std::min<int64_t>(most, 8), (n + lanes - 1) / lanes);
    auto number = [&](StringRef name, int64_t v) {
      return ab.getNamedAttr(name, ab.getI64IntegerAttr(v));
    };
    rows.push_back(
        {fmt::format("gemm_small_f32_{}x{}_{}", m, NV * lanes, isaName(processor)),
         std::max(flops / (processor.gigaflops / 2), weightBytes / processor.l2Gbps) / 1e3,
         ab.getDictionaryAttr({number("M", m), number("N", n), number("K", *k), number("NV", NV),
                               number("bytes", processor.vectorBytes),
                               ab.getNamedAttr("form", ab.getStringAttr("small"))})});
  }
  micros += 0.05; // to the first multiply-add
  const bool prefetch =
      prefetchPays(kernel) && (processor.prefetchesVectors || constantSize(M) != 1);
  SmallVector<NamedAttribute> parameters{
      ab.getNamedAttr("prefetch", ab.getBoolAttr(prefetch)),
      ab.getNamedAttr("MR", ab.getI64IntegerAttr(t.MR)),
      ab.getNamedAttr("NV", ab.getI64IntegerAttr(t.NV)),
      ab.getNamedAttr("bytes", ab.getI64IntegerAttr(t.bytes)),
      ab.getNamedAttr("form", ab.getStringAttr(packed ? "packed" : "unpacked"))};
  rows.push_back({fmt::format("gemm_{}f32_{}x{}_{}", packed ? "" : "unpacked_", t.MR, t.NR(),
                              isaName(processor)),
                  micros, ab.getDictionaryAttr(parameters)});
}

std::optional<OpFoldResult> workspace(KernelOp kernel, OpBuilder& b) {
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  if (formOf(kernel) != "unpacked") return std::nullopt;
  auto op = cast<ContractOp>(heavyOp(kernel));
  auto p = matrixProduct(op, b, /*packed=*/false, denseStrides(b, op.getLhs()),
                         denseStrides(b, op.getRhs()), denseStrides(b, op.getInit()));
  int64_t NR = parameters.getAs<IntegerAttr>("NV").getInt() *
               parameters.getAs<IntegerAttr>("bytes").getInt() / 4;
  // linear in K
  return mulSizes(b, kernel.getLoc(), p->inner[0].extent,
                  b.getIndexAttr(4 * ortc_rt::unpackedWorkspaceFloats(1, NR)));
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto op = cast<ContractOp>(heavyOp(kernel));
  auto parameters = kernel.getChoiceAttr().getAs<DictionaryAttr>("parameters");
  const StringRef form = formOf(kernel);
  const bool small = form == "small", packed = form == "packed" || small, oneDnn = form == "onednn";
  OpBuilder ob(kernel);
  Sizes rhsStrides = packed ? denseStrides(ob, op.getRhs()) : strides(op.getRhs());
  auto p =
      matrixProduct(op, ob, packed, strides(op.getLhs()), rhsStrides, strides(kernel.getResult(0)));
  if (!p) return LoweredKernel();
  auto number = [&](StringRef name) { return parameters.getAs<IntegerAttr>(name).getInt(); };
  // The choice was made for operands that lie densely. Where one is a part of another tensor, fewer
  // loops make up the rows.
  const int64_t M = constantSize(p->rows.back().extent).value_or(-1);
  if (small && (M != number("M") || p->rows.size() != 1 || !p->batch.empty()))
    return LoweredKernel();

  Value packedRhs; // a new constant, known to the program as one
  if (packed) {
    int64_t NR = number("NV") * number("bytes") / 4;
    HostTensor matrix = rhsMatrix(op, *constantOf(op.getRhs()));
    const int64_t K = matrix.dims[0], N = matrix.dims[1];
    HostTensor out(matrix.elementType, {packedGemmFloats(K, N, static_cast<int>(NR))});
    packGemm(matrix.as<float>(), K, N, N, 1, static_cast<int>(NR), out.as<float>());
    // Stands in the function beside the original, which is left without use.
    auto made = ob.create<arith::ConstantOp>(op.getRhs().getLoc(), toAttribute(out, "packed"));
    packedRhs = made.getResult();
  }

  KernelWriter writer(kernel, module, [&](Value v) {
    return v == packedRhs ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  TemplateCall call(writer,
                    small    ? "gemm_small_f32"
                    : packed ? "gemm_f32"
                    : oneDnn ? "onednn_gemm_f32"
                             : "gemm_unpacked_f32",
                    packed   ? "GemmArgs"
                    : oneDnn ? "OneDnnArgs"
                             : "UnpackedArgs");
  if (small)
    for (const char* name : {"M", "N", "K"})
      call.parameter(name, number(name));
  else if (!oneDnn)
    call.parameter("MR", number("MR"));
  if (!oneDnn) {
    call.parameter("NV", number("NV"));
    call.parameter("Bytes", number("bytes"));
  }
  if (form == "packed")
    call.parameter("Rows", rowsOf(M, number("MR")));
  else if (!small)
    call.parameter("Transposed", StringRef(constantSize(p->columns[0].b) == 1 ? "false" : "true"));
  const MatrixLoop &m = p->rows.back(), &n = p->columns[0], &k = p->inner[0];
  call.buffer("a", writer.place(op.getLhs()).buffer);
  call.buffer("b", writer.place(packed ? packedRhs : op.getRhs()).buffer);
  call.buffer("c", writer.result(0).buffer);
  if (form == "unpacked") call.buffer("workspace", writer.workspace());
  call.size("lda", m.a);
  if (!packed) call.size("ldb", constantSize(n.b) == 1 ? k.b : n.b);
  call.size("ldc", m.c);
  call.size("M", m.extent);
  call.size("N", n.extent);
  call.size("K", k.extent);
  std::vector<MatrixLoop> batch = p->batch;
  batch.insert(batch.end(), p->rows.begin(), p->rows.end() - 1);
  const char* names[] = {"outer", "inner"};
  for (size_t i = 0; i < batch.size(); ++i) {
    std::string name = names[batch.size() == 1 ? 1 : i];
    call.size(name + ".count", batch[i].extent);
    call.size(name + ".a", batch[i].a);
    call.size(name + ".b", batch[i].b);
    call.size(name + ".c", batch[i].c);
  }
  if (form == "packed" && parameters.getAs<BoolAttr>("prefetch").getValue())
    call.size("prefetchBytes", kPrefetchBytes);
  call.finish(kernel, op.getResult(), rowDims(op));
  return writer.finish();
}

[[maybe_unused]] const bool registered = Families::add(
    {.kernels = {"gemm_", "onednn_gemm_"},
     .candidates = candidates,
     .write = write,
     .workspace = workspace,
     .headers = {{"gemm_small_f32", "gemm/small.h"}, {"gemm_unpacked_f32", "gemm/unpacked.h"}}});

} // namespace
} // namespace ortc::cpu
