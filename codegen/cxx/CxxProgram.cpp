// SPDX-License-Identifier: Apache-2.0
#include "codegen/cxx/CxxPrinter.h"
using namespace mlir;
namespace ortc::codegen::cxx {
LogicalResult printProgram(func::FuncOp program, llvm::raw_ostream& os, Needs& needs, const Options& options) { return failure(); }
} // namespace ortc::codegen::cxx
