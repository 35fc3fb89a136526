// SPDX-License-Identifier: Apache-2.0
// ortc-translate: program IR in, text of one language out. For the tests of the printers.
#include "codegen/common/Translations.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
using namespace mlir;

static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::init("-"),
                                        llvm::cl::desc("<input .mlir>"));
static llvm::cl::opt<std::string> to("to", llvm::cl::init("cxx"), llvm::cl::desc("language"));
static llvm::cl::opt<std::string> output("o", llvm::cl::init("-"), llvm::cl::desc("output file"));

int main(int argc, char** argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "program IR to text\n");
  DialectRegistry registry;
  registry.insert<ortc::OrtcDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, func::FuncDialect, vector::VectorDialect, gpu::GPUDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module) return 1;
  std::error_code error;
  llvm::raw_fd_ostream os(output, error);
  if (error) {
    llvm::errs() << "cannot write '" << output << "': " << error.message() << "\n";
    return 3;
  }
  auto& known = ortc::codegen::translations();
  if (auto language = known.find(to); language != known.end())
    return failed(language->second(*module, os));
  llvm::errs() << "unknown language '" << to << "'; there are";
  for (auto& [name, translation] : known)
    llvm::errs() << " " << name;
  llvm::errs() << "\n";
  return 2;
}
