// SPDX-License-Identifier: Apache-2.0
// The tool of the lit tests: reads MLIR text, runs passes by name, prints. Users never need it.
#include "compiler/ops/AllOps.h"
#include "compiler/passes/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<ortc::OrtcDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
              mlir::math::MathDialect, mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect,
              mlir::scf::SCFDialect, mlir::memref::MemRefDialect, mlir::vector::VectorDialect>();
  mlir::registerCanonicalizer();
  mlir::registerCSE();
  ortc::registerOrtcPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "ortc-opt: the passes of ortc on MLIR text\n", registry));
}
