// SPDX-License-Identifier: Apache-2.0
// The tiles of the catalogue: which fits a product best, and the launch that it needs.
#pragma once
#include "compiler/lower/LowerKernel.h"
#include "targets/cuda/Device.h"
#include <string>

namespace ortc::cuda {

/// A row of kernels/tiles.inc.
struct TileRow {
  int BM, BN, BK, TM, TN, percent;
  int threads() const { return BM / TM * (BN / TN); }
  std::string name() const;      ///< "64x64"
  std::string parameter() const; ///< "Tile<64, 64, 16, 4, 4>"
};
llvm::ArrayRef<TileRow> tileRows();
const TileRow& tileNamed(llvm::StringRef name);

/// A product whose sizes may not be known: those count as what is usual.
struct ProductSizes {
  double M, N, K, batches;
};
double usual(mlir::OpFoldResult size, double otherwise);
double tileMicros(const Device& device, const TileRow& tile, const ProductSizes& sizes);
/// One thread per output, each with the whole sum.
double loopsMicros(const Device& device, const ProductSizes& sizes);

/// Can the host tell a kernel's grid from these? They are constants, or values that a kernel gets
/// as arguments.
bool isLaunchSize(KernelOp kernel, mlir::OpFoldResult size);
/// Writes ortc.block and ortc.grid: ceil(M / BM), ceil(N / BN), and the product of `batches`. Sizes
/// are those that the kernel was given.
void setLaunch(LoweredKernel& kernel, const TileRow& tile, mlir::OpFoldResult M,
               mlir::OpFoldResult N, llvm::ArrayRef<mlir::OpFoldResult> batches);

} // namespace ortc::cuda
