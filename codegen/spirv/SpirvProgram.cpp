// SPDX-License-Identifier: Apache-2.0
// The host program: launches are dispatches on ranges of the arena and of the weights.
#include "codegen/common/CProgram.h"
#include "codegen/spirv/PrintSpirv.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/StringExtras.h"
using namespace mlir;

namespace ortc::codegen::spirv_text {
namespace {

class ProgramPrinter : public CProgramPrinter {
public:
  ProgramPrinter(func::FuncOp run, const SpirvProgram& kernels, llvm::raw_ostream& os)
      : CProgramPrinter(kCxx, run, os), kernels(kernels) {}

protected:
  /// Buffers are ranges of Vulkan's buffers; nothing has their address.
  std::string bufferPointer(BufferOp, const Expr&, const std::string&) override { return ""; }
  /// Checked before the program starts.
  LogicalResult printRequireArena(RequireArenaOp) override { return success(); }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    if (auto buffer = dyn_cast<BufferOp>(op)) return printPlace(buffer);
    if (auto load = dyn_cast<memref::LoadOp>(op)) return printReadBack(load);
    if (isa<memref::CopyOp>(op)) return unsupported(op, "a copy by the host");
    if (isa<func::ReturnOp>(op)) return w.line("return context.vk.status();"), success();
    if (auto step = dyn_cast<HostStepOp>(op);
        step &&
        llvm::any_of(step.getArguments(), [](Value v) { return isa<MemRefType>(v.getType()); }))
      return unsupported(op, "the host does not see tensors of this device");
    return CProgramPrinter::printSpecial(op);
  }

  LogicalResult printLaunch(LaunchOp op) override {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
    auto known = kernel ? kernels.byName.find(kernel.getSymName()) : kernels.byName.end();
    if (known == kernels.byName.end()) return unsupported(op, "there is no kernel of this name");
    const SpirvKernel& k = kernels.kernels[known->second];
    // Behind the kernel's arguments: the bytes of each buffer.
    unsigned sizes = kernel.getNumArguments();
    if (op->getNumOperands() != sizes + k.legal.bindings.size())
      return unsupported(op, "the bytes of its buffers are not told");
    SmallVector<std::string> buffers, words;
    for (auto [i, arg] : llvm::enumerate(k.legal.bindings)) {
      auto it = places.find(op->getOperand(arg));
      if (it == places.end()) return unsupported(op, "a buffer of unknown place");
      buffers.push_back(range(it->second, it->second.at, expr(op->getOperand(sizes + i))));
    }
    for (const PushScalar& s : k.legal.scalars) {
      Value operand = op->getOperand(s.arg);
      if (s.isStart) {
        words.push_back("vk_start(" + places[operand].at.text + ", " +
                        std::to_string(places[operand].unit) + ")");
        continue;
      }
      bool isIndex = s.type.isIndex(), isWide = !isIndex && s.type.getIntOrFloatBitWidth() == 64;
      if (isSmallFloatType(s.type)) return unsupported(op, "a scalar of this type");
      std::string value = text(operand);
      if (isWide)
        words.push_back("vk_low(" + value + ")"), words.push_back("vk_high(" + value + ")");
      else
        words.push_back(isIndex ? "context.size(" + value + ")" : "vk_word(" + value + ")");
    }
    Expr threads = threadCount(op, kernel);
    w.line("context.launch(kernel_" + k.legal.name + ", {" + llvm::join(buffers, ", ") + "}, {" +
           llvm::join(words, ", ") + "}, " + threads.text + ");");
    return success();
  }

private:
  struct Place {
    std::string segment; // "arena(", "input(2, "
    Expr at;             // bytes
    int64_t unit = 1;    // bytes of an element
    bool isIo = false;
  };

  const SpirvProgram& kernels;
  DenseMap<Value, Place> places;

  std::string range(const Place& p, const Expr& at, const Expr& bytes) {
    // Of inputs and outputs the context knows the size.
    return "context." + p.segment + at.text +
           (p.isIo && isInteger(bytes, 0) ? "" : ", " + bytes.text) + ")";
  }

  LogicalResult printPlace(BufferOp op) {
    if (op->use_empty()) return success();
    Place p;
    p.unit = storageType(cast<MemRefType>(op.getMemref().getType()).getElementType())
                 .getIntOrFloatBitWidth() /
             8;
    StringRef segment = op.getSegment();
    p.isIo = segment == "input" || segment == "output";
    p.segment = segment.str() + (p.isIo ? "(" + std::to_string(op.getNumber()) + ", " : "(");
    p.at = op.getOffset() ? expr(op.getOffset()) : integer(0);
    if (!p.at.isInteger) {
      std::string name = names.fresh(legalIdentifier(op.getName()) + "_at");
      w.line("const int64_t " + name + " = " + p.at.text + ";");
      p.at = {name};
    }
    places[op.getMemref()] = p;
    return success();
  }

  /// What the host decides by: waits for the device.
  LogicalResult printReadBack(memref::LoadOp op) {
    auto it = places.find(op.getMemRef());
    if (it == places.end() || op.getIndices().size() != 1)
      return unsupported(op, "a buffer of unknown place");
    const Place& p = it->second;
    Expr at = sum(p.at, product(expr(op.getIndices()[0]), integer(p.unit)));
    std::string name = freshName(op, "value");
    w.line(elementTypeName(op.getType()) + " " + name + ";");
    returnOnFailure("context.read_back(&" + name + ", " + range(p, at, integer(p.unit)) + ")");
    return bind(op, {name}), success();
  }

  /// How many iterations the kernel's parallel loop has, from what is passed to it.
  Expr threadCount(LaunchOp launch, func::FuncOp kernel) {
    scf::ParallelOp loop;
    kernel.walk([&](scf::ParallelOp p) {
      if (p->getParentOp() == kernel) loop = p;
    });
    for (auto [arg, operand] : llvm::zip(kernel.getArguments(), launch->getOperands()))
      if (!isa<MemRefType>(arg.getType())) bind(arg, expr(operand));
    SetVector<Operation*> slice;
    for (ValueRange values : {ValueRange(loop.getLowerBound()), ValueRange(loop.getUpperBound()),
                              ValueRange(loop.getStep())})
      for (Value v : values)
        if (Operation* def = v.getDefiningOp()) {
          getBackwardSlice(def, &slice);
          slice.insert(def);
        }
    for (Operation& o : kernel.getBody().front()) {
      if (!slice.contains(&o)) continue;
      inlinable.insert(&o); // short arithmetic on sizes
      if (mlir::failed(printOp(&o))) hasFailed = true;
    }
    Expr total = integer(1);
    for (unsigned d = 0; d < loop.getNumLoops(); ++d) {
      Expr lower = expr(loop.getLowerBound()[d]), upper = expr(loop.getUpperBound()[d]),
           step = expr(loop.getStep()[d]);
      Expr length = codegen::isInteger(lower, 0) ? upper : binary("-", upper, lower);
      if (!codegen::isInteger(step, 1))
        length = binary("/", sum(length, sum(step, integer(-1))), step);
      total = product(total, length);
    }
    return total;
  }
};

} // namespace

LogicalResult printProgram(func::FuncOp run, const SpirvProgram& program, StringRef contextType,
                           llvm::raw_ostream& os, std::set<std::string>& headers) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  ProgramPrinter printer(run, program, bodyStream);
  LogicalResult r = printer.printBody();
  headers.insert(printer.headers.begin(), printer.headers.end());
  body = printer.dimDeclarations(body) + body;
  auto parameter = [&](StringRef type, StringRef name) {
    return (type + (mentions(body, name) ? name.str() : "/*" + name.str() + "*/")).str();
  };
  os << "ortc_status run(" << parameter((contextType + "& ").str(), "context") << ", "
     << parameter("ortc_tensor* ", "outputs") << ", " << parameter("const int64_t* ", "dims")
     << ") {\n"
     << body << "}\n";
  return success(succeeded(r) && !printer.failed());
}

LogicalResult printArenaBytes(func::FuncOp run, const SpirvProgram& program, llvm::raw_ostream& os,
                              std::set<std::string>& headers) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  ProgramPrinter printer(run, program, bodyStream);
  LogicalResult result = printer.printArenaBytes(os);
  headers.insert(printer.headers.begin(), printer.headers.end());
  return result;
}

} // namespace ortc::codegen::spirv_text
