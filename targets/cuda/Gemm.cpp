// SPDX-License-Identifier: Apache-2.0
// Contractions as matrix products: which tiles of kernels/gemm fit, and the call of one.
#include "targets/common/catalogue/Contraction.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cuda/Families.h"
#include "targets/cuda/Tiles.h"

using namespace mlir;

namespace ortc::cuda {
using namespace catalogue;
namespace {

/// The product with its batches, of which the kernel takes two loops; operands may have any layout.
struct Product {
  MatrixLoop rows, columns, inner;
  std::vector<MatrixLoop> batches; // at most two
  ProductSizes sizes;
};

std::optional<Product> productOf(ContractOp op, OpBuilder& b, ArrayRef<OpFoldResult> as,
                                 ArrayRef<OpFoldResult> bs, ArrayRef<OpFoldResult> cs) {
  std::optional<MatrixLoops> loops = matrixLoops(op, b, as, bs, cs);
  if (!loops) return std::nullopt;
  for (auto* list : {&loops->batch, &loops->rows, &loops->columns, &loops->inner})
    mergeLoops(b, *list, /*ignoreRhs=*/false);
  // The innermost rows are M; rows that do not run as one with them are batches.
  if (loops->columns.size() > 1 || loops->inner.size() > 1 ||
      loops->batch.size() + std::max<size_t>(loops->rows.size(), 1) - 1 > 2)
    return std::nullopt;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  Product p;
  p.columns = loops->columns.empty() ? MatrixLoop{one, zero, one, one} : loops->columns[0];
  p.inner = loops->inner.empty() ? MatrixLoop{one, one, one, zero} : loops->inner[0];
  p.rows = loops->rows.empty() ? MatrixLoop{one, p.inner.extent, zero, p.columns.extent}
                               : loops->rows.back();
  p.batches = loops->batch;
  if (!loops->rows.empty())
    p.batches.insert(p.batches.end(), loops->rows.begin(), loops->rows.end() - 1);
  if (constantSize(p.columns.c) != 1) return std::nullopt;
  p.sizes = {usual(p.rows.extent, 256), usual(p.columns.extent, 256), usual(p.inner.extent, 256),
             1};
  for (const MatrixLoop& l : p.batches)
    p.sizes.batches *= usual(l.extent, 4);
  return p;
}

void candidates(KernelOp kernel, const Device& device, std::vector<Candidate>& rows) {
  auto op = dyn_cast_or_null<ContractOp>(heavyOp(kernel));
  if (!op || !columnsComeLast(op)) return;
  bool hasEpilogue = kernel.yielded()[0] != op.getResult();
  if (hasEpilogue && !batchComesFirst(op)) return;
  OpBuilder b(kernel);
  auto p = productOf(op, b, denseStrides(b, op.getLhs()), denseStrides(b, op.getRhs()),
                     denseStrides(b, op.getInit()));
  if (!p) return;
  for (const TileRow& tile : tileRows())
    rows.push_back({fmt::format("gemm_f32_{}", tile.name()), tileMicros(device, tile, p->sizes),
                    b.getDictionaryAttr({b.getNamedAttr("tile", b.getStringAttr(tile.name()))})});
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  auto op = cast<ContractOp>(heavyOp(kernel));
  OpBuilder b(kernel);
  auto p =
      productOf(op, b, strides(op.getLhs()), strides(op.getRhs()), strides(kernel.getResult(0)));
  if (!p) return LoweredKernel();
  SmallVector<OpFoldResult> counts;
  for (const MatrixLoop& l : p->batches)
    counts.push_back(l.extent);
  bool known = isLaunchSize(kernel, p->rows.extent) && isLaunchSize(kernel, p->columns.extent);
  for (OpFoldResult n : counts)
    known &= isLaunchSize(kernel, n);
  if (!known) return LoweredKernel();
  const TileRow& tile = tileNamed(kernel.getChoiceAttr()
                                      .getAs<DictionaryAttr>("parameters")
                                      .getAs<StringAttr>("tile")
                                      .getValue());

  KernelWriter writer(kernel, module, strides);
  TemplateCall call(writer, "gemm_f32", "GemmArgs");
  const char *alongK = "Along::K", *alongLines = "Along::Lines";
  call.parameter("Tile", tile.parameter());
  call.parameter("A", constantSize(p->rows.a) == 1 && constantSize(p->inner.a) != 1 ? alongLines
                                                                                    : alongK);
  call.parameter("B", constantSize(p->columns.b) == 1 && constantSize(p->inner.b) != 1 ? alongLines
                                                                                       : alongK);
  call.buffer("a", writer.place(op.getLhs()).buffer);
  call.buffer("b", writer.place(op.getRhs()).buffer);
  call.buffer("c", writer.result(0).buffer);
  call.size("M", p->rows.extent);
  call.size("N", p->columns.extent);
  call.size("K", p->inner.extent);
  call.size("aRow", p->rows.a);
  call.size("aK", p->inner.a);
  call.size("bK", p->inner.b);
  call.size("bColumn", p->columns.b);
  call.size("cRow", p->rows.c);
  const char* names[] = {"outer", "inner"};
  for (auto [i, l] : llvm::enumerate(p->batches)) {
    std::string name = names[p->batches.size() == 1 ? 1 : i];
    call.size(name + ".count", l.extent);
    call.size(name + ".a", l.a);
    call.size(name + ".b", l.b);
    call.size(name + ".c", l.c);
  }
  call.finish(kernel, op.getResult(), rowDims(op));
  LoweredKernel lowered = writer.finish();
  setLaunch(lowered, tile, p->rows.extent, p->columns.extent, counts);
  return lowered;
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"gemm_"}, .candidates = candidates, .write = write});

} // namespace
} // namespace ortc::cuda
