// SPDX-License-Identifier: Apache-2.0
// ortc-translate: program IR in, text of one language out. For the tests of the printers.
#include "codegen/cuda/PrintCuda.h"
#include "codegen/cxx/PrintCxx.h"
#include "codegen/js/PrintJs.h"
#include "codegen/spirv/PrintSpirv.h"
#include "codegen/wgsl/PrintWgsl.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
using namespace mlir;

static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::init("-"),
                                        llvm::cl::desc("<input .mlir>"));
static llvm::cl::opt<std::string>
    to("to", llvm::cl::init("cxx"),
       llvm::cl::desc(
           "cxx, cuda, wgsl, js, spirv (text and program), spv (the first kernel as a binary)"));
static llvm::cl::opt<std::string> shaders("shaders", llvm::cl::desc("folder for shaders"));
static llvm::cl::opt<std::string> output("o", llvm::cl::init("-"), llvm::cl::desc("output file"));

static LogicalResult printCxx(ModuleOp module, llvm::raw_ostream& os) {
  ortc::codegen::cxx::Needs needs;
  std::string text;
  llvm::raw_string_ostream body(text);
  LogicalResult result = success();
  for (auto f : module.getOps<func::FuncOp>()) {
    if (f->hasAttr("ortc.kernel")) {
      if (failed(ortc::codegen::cxx::printKernel(f, body, needs))) result = failure();
    } else if (f->hasAttr("ortc.program")) {
      if (failed(ortc::codegen::cxx::printArenaBytes(f, body))) result = failure();
      body << "\n";
      if (failed(ortc::codegen::cxx::printProgram(f, body, needs))) result = failure();
    } else
      continue;
    body << "\n";
  }
  for (const std::string& header : needs.headers)
    os << "#include \"" << header << "\"\n";
  os << "namespace ortc_rt {\nnamespace model {\n\n" << StringRef(text).rtrim() << "\n\n}\n}\n";
  return result;
}

static LogicalResult printCuda(ModuleOp module, llvm::raw_ostream& os) {
  using namespace ortc::codegen;
  bool hasProgram = llvm::any_of(module.getOps<func::FuncOp>(),
                                 [](func::FuncOp f) { return f->hasAttr("ortc.program"); });
  os << "#include \"" << (hasProgram ? "cuda_context.h" : "ortc_cuda.cuh")
     << "\"\nnamespace ortc_rt {\nnamespace model {\n";
  LogicalResult result = success();
  cuda::Needs needs;
  for (auto f : module.getOps<func::FuncOp>()) {
    os << "\n";
    if (f->hasAttr("ortc.kernel") && failed(cuda::printKernel(f, os, needs))) result = failure();
    if (!f->hasAttr("ortc.program")) continue;
    if (failed(cuda::printArenaBytes(f, os))) result = failure();
    os << "\n";
    if (failed(cuda::printProgram(f, os))) result = failure();
  }
  os << "\n}\n}\n";
  return result;
}

static LogicalResult printWgsl(ModuleOp module, llvm::raw_ostream& os) {
  auto device = ortc::codegen::gpu::DeviceModule::create(module);
  if (failed(device)) return failure();
  LogicalResult result = success();
  for (const auto& kernel : device->kernels()) {
    if (!shaders.empty()) {
      llvm::sys::fs::create_directories(shaders);
      std::error_code error;
      llvm::raw_fd_ostream file(shaders + "/" + kernel.name + ".wgsl", error);
      if (error || failed(ortc::codegen::wgsl::printKernel(kernel, file))) result = failure();
      continue;
    }
    if (device->kernels().size() > 1) os << "// " << kernel.name << ".wgsl\n";
    if (failed(ortc::codegen::wgsl::printKernel(kernel, os))) result = failure();
    os << "\n";
  }
  return result;
}

/// Binaries into the folder --shaders; their disassembly, and the program, as text.
static LogicalResult printSpirv(ModuleOp module, llvm::raw_ostream& os, bool binary) {
  namespace sp = ortc::codegen::spirv_text;
  FailureOr<sp::SpirvProgram> program = sp::compileKernels(module);
  if (failed(program)) return failure();
  for (const sp::SpirvKernel& k : program->kernels) {
    if (binary) {
      os.write(reinterpret_cast<const char*>(k.words.data()), k.words.size() * 4);
      return success();
    }
    os << k.text << "\n\n";
  }
  for (auto& [feature, kernel] : program->needs)
    os << "// needs " << feature << ": " << kernel << "\n";
  LogicalResult result = success();
  std::set<std::string> headers;
  for (auto f : module.getOps<func::FuncOp>()) {
    if (!f->hasAttr("ortc.program")) continue;
    if (failed(sp::printArenaBytes(f, *program, os, headers)) ||
        failed(sp::printProgram(f, *program, "net_context", os, headers)))
      result = failure();
  }
  for (const std::string& header : headers)
    os << "// needs " << header << "\n";
  return result;
}

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
  if (to == "cxx") return failed(printCxx(*module, os));
  if (to == "cuda") return failed(printCuda(*module, os));
  if (to == "wgsl") return failed(printWgsl(*module, os));
  if (to == "js") {
    auto device = ortc::codegen::gpu::DeviceModule::create(*module);
    return failed(device) || failed(ortc::codegen::js::printModule(*module, *device, os));
  }
  if (to == "spirv" || to == "spv") return failed(printSpirv(*module, os, to == "spv"));
  llvm::errs() << "unknown language '" << to << "'\n";
  return 2;
}
