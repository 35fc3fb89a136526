// SPDX-License-Identifier: Apache-2.0
// The host program of a CPU: launches are calls.
#include "codegen/common/CProgram.h"
#include "codegen/cxx/PrintCxx.h"
#include "llvm/ADT/StringExtras.h"
using namespace mlir;

namespace ortc::codegen::cxx {
namespace {

class ProgramPrinter : public CProgramPrinter {
public:
  ProgramPrinter(func::FuncOp program, llvm::raw_ostream& os)
      : CProgramPrinter(kCxx, program, os) {}

protected:
  std::string bufferPointer(BufferOp op, const Expr& at, const std::string& element) override {
    StringRef segment = op.getSegment();
    if (segment == "weights" || segment == "arena")
      return std::string(segment == "weights" ? "context.params" : "context.memory") + ".at<" +
             element + ">(" + (at.isInteger ? at.text : "uint64_t(" + at.text + ")") + ")";
    if (segment == "strings")
      return "strings_" + std::to_string(op.getNumber()) +
             (codegen::isInteger(at, 0) ? "" : " + " + at.text + " / 16");
    bool constant = segment == "input";
    std::string data = std::string(constant ? "inputs" : "outputs") + "[" +
                       std::to_string(op.getNumber()) + "].data";
    std::string pointee = (constant ? "const " : "") + element;
    if (codegen::isInteger(at, 0)) return "static_cast<" + pointee + "*>(" + data + ")";
    return "reinterpret_cast<" + pointee + "*>(static_cast<" + (constant ? "const char" : "char") +
           "*>(" + data + ") + " + at.text + ")";
  }

  LogicalResult printRequireArena(RequireArenaOp op) override {
    std::string ofData = op.getLate() ? ", /*of_data=*/true" : "";
    returnOnFailure("context.need_arena(uint64_t(" + text(op.getBytes()) + ")" + ofData + ")");
    return success();
  }

  LogicalResult printLaunch(LaunchOp op) override {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
    if (!kernel) return unsupported(op, "there is no kernel of this name");
    SmallVector<std::string> args;
    if (analyzeSignature(kernel).usesThreads)
      args.push_back("threads"), headers.insert("rt/pool.h");
    if (mlir::failed(launchArguments(op, kernel, args))) return failure();
    w.line(kernelName(kernel) + "(" + llvm::join(args, ", ") + ");");
    return success();
  }
};

} // namespace

LogicalResult printProgram(func::FuncOp program, llvm::raw_ostream& os, Needs& needs,
                           const Options& options) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  ProgramPrinter printer(program, bodyStream);
  LogicalResult r = printer.printBody();
  if (mentions(body, "threads")) body = "  const executor& threads = context.threads;\n" + body;
  body = printer.dimDeclarations(body) + body;
  Writer w(os);
  auto parameter = [&](StringRef type, StringRef name) {
    return (type + (mentions(body, name) ? name.str() : "/*" + name.str() + "*/")).str();
  };
  w.line("static ortc_status run(" + parameter(options.contextType + "& ", "context") + ", " +
         parameter("const ortc_tensor* ", "inputs") + ", " + parameter("ortc_tensor* ", "outputs") +
         ", " + parameter("const int64_t* ", "dims") + ") {");
  os << body << "}\n";
  needs.headers.insert(printer.headers.begin(), printer.headers.end());
  needs.headers.insert("rt/context.h");
  return success(succeeded(r) && !printer.failed());
}

LogicalResult printArenaBytes(func::FuncOp program, llvm::raw_ostream& os) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  return ProgramPrinter(program, bodyStream).printArenaBytes(os);
}

LogicalResult printComputedBytes(func::FuncOp bounds, llvm::raw_ostream& os) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  return ProgramPrinter(bounds, bodyStream).printComputedBytes(os);
}

} // namespace ortc::codegen::cxx
