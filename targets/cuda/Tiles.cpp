// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/Tiles.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace ortc::cuda {

std::string TileRow::name() const {
  return fmt::format("{}x{}", BM, BN);
}
std::string TileRow::parameter() const {
  return fmt::format("Tile<{}, {}, {}, {}, {}>", BM, BN, BK, TM, TN);
}

ArrayRef<TileRow> tileRows() {
  static const TileRow rows[] = {
#define ORTC_CUDA_TILE(BM, BN, BK, TM, TN, percent) {BM, BN, BK, TM, TN, percent},
#include "targets/cuda/kernels/tiles.inc"
#undef ORTC_CUDA_TILE
  };
  return rows;
}
const TileRow& tileNamed(StringRef name) {
  for (const TileRow& row : tileRows())
    if (row.name() == name) return row;
  llvm_unreachable("a choice names a tile of the table");
}

double usual(OpFoldResult size, double otherwise) {
  auto c = constantSize(size);
  return c ? static_cast<double>(*c) : otherwise;
}

/// Blocks of the multiprocessor that gets most of them: it ends last.
static double rounds(const Device& device, double blocks) {
  return std::ceil(blocks / device.multiprocessors);
}

double tileMicros(const Device& device, const TileRow& tile, const ProductSizes& s) {
  const double blocks =
      rounds(device, std::ceil(s.M / tile.BM) * std::ceil(s.N / tile.BN) * s.batches);
  // A multiprocessor issues four warps at a time.
  const double busy = std::min(1.0, blocks * tile.threads() / 128.0);
  const double products = blocks * tile.BM * tile.BN * s.K;
  const double bytes = 4 * s.batches * (s.M * s.K + s.N * s.K + s.M * s.N);
  return std::max(products / (device.multiplyAddsPerMicro * busy * tile.percent / 100),
                  bytes / device.bytesPerMicro);
}

double loopsMicros(const Device& device, const ProductSizes& s) {
  // Two loads and their addresses for each product: a tenth of what the arithmetic could take.
  constexpr double threads = 256, instructions = 10;
  const double blocks = rounds(device, std::ceil(s.M * s.N * s.batches / threads));
  return std::max(blocks * threads * s.K * instructions / device.multiplyAddsPerMicro,
                  s.K * device.loadMicros);
}

bool isLaunchSize(KernelOp kernel, OpFoldResult size) {
  auto v = dyn_cast<Value>(size);
  return !v || !v.getDefiningOp() || !kernel->isProperAncestor(v.getDefiningOp());
}

void setLaunch(LoweredKernel& kernel, const TileRow& tile, OpFoldResult M, OpFoldResult N,
               ArrayRef<OpFoldResult> batches) {
  func::FuncOp function = kernel.function;
  MLIRContext* context = function.getContext();
  Builder b(context);
  // Symbols are the function's index arguments.
  SmallVector<Value> indices;
  for (Value v : kernel.scalars)
    if (v.getType().isIndex()) indices.push_back(v);
  auto exprOf = [&](OpFoldResult size) {
    if (auto c = constantSize(size)) return b.getAffineConstantExpr(*c);
    auto at = llvm::find(indices, cast<Value>(size));
    assert(at != indices.end() && "a size of the launch is an argument of the kernel");
    return b.getAffineSymbolExpr(at - indices.begin());
  };
  AffineExpr count = b.getAffineConstantExpr(1);
  for (OpFoldResult n : batches)
    count = count * exprOf(n);
  SmallVector<Attribute> grid;
  for (AffineExpr e : {exprOf(M).ceilDiv(tile.BM), exprOf(N).ceilDiv(tile.BN), count})
    grid.push_back(
        AffineMapAttr::get(AffineMap::get(0, static_cast<unsigned>(indices.size()), e, context)));
  function->setAttr("ortc.grid", b.getArrayAttr(grid));
  function->setAttr("ortc.block", b.getDenseI64ArrayAttr({tile.threads(), 1, 1}));
}

} // namespace ortc::cuda
