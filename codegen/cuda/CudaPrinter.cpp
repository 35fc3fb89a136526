// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/CProgram.h"
#include "codegen/common/Provenance.h"
#include "codegen/common/TemplateCall.h"
#include "codegen/cuda/CudaEpilogue.h"
#include "codegen/cuda/PrintCuda.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::cuda {
namespace {

/// Threads of a block where the kernel does not say.
constexpr int64_t kBlock = 256;

/// Blocks of a launch along x, and along y and z (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
constexpr int64_t kMostBlocks = 2147483647, kMostBlocksAcross = 65535;

struct Shape {
  enum Kind { Serial, Threads, Rows, Blocks, Template } kind = Serial;
  scf::ParallelOp parallel;
  SmallVector<int64_t> block = {1, 1, 1};
};

Shape shapeOf(func::FuncOp kernel) {
  Shape s;
  kernel.walk([&](scf::ParallelOp p) {
    if (p->getParentOp() == kernel)
      s.kind = Shape::Threads, s.parallel = p, s.block = {kBlock, 1, 1};
  });
  if (auto threads = kernel->getAttrOfType<IntegerAttr>("ortc.row_threads"))
    s.kind = Shape::Rows, s.block = {threads.getInt(), 1, 1};
  if (auto block = kernel->getAttrOfType<DenseI64ArrayAttr>("ortc.block")) {
    if (s.kind == Shape::Serial) s.kind = Shape::Blocks;
    s.block.assign(block.asArrayRef().begin(), block.asArrayRef().end());
    s.block.resize(3, 1);
  }
  kernel.walk([&](CallTemplateOp) { s.kind = Shape::Template; });
  return s;
}

/// Blocks along one side of a grid: at least one and no more than a launch can have; kernels loop
/// over the rest.
std::string gridExtent(const Expr& blocks, int64_t most) {
  int64_t n;
  if (!StringRef(blocks.text).getAsInteger(10, n))
    return std::to_string(std::clamp<int64_t>(n, 1, most));
  return "grid_of(" + blocks.text + ", " + std::to_string(most) + ")";
}
std::string gridText(ArrayRef<Expr> blocks) {
  SmallVector<std::string> parts;
  for (auto [d, e] : llvm::enumerate(blocks))
    parts.push_back(gridExtent(e, d == 0 ? kMostBlocks : kMostBlocksAcross));
  while (parts.size() > 1 && parts.back() == "1")
    parts.pop_back();
  return llvm::join(parts, ", ");
}
std::string dim3Text(ArrayRef<int64_t> b) {
  std::string s = std::to_string(b[0]);
  if (b[1] != 1 || b[2] != 1) s += ", " + std::to_string(b[1]);
  if (b[2] != 1) s += ", " + std::to_string(b[2]);
  return "dim3(" + s + ")";
}

class KernelPrinter : public CPrinter {
public:
  KernelPrinter(func::FuncOp kernel, Needs& needs, llvm::raw_ostream& body)
      : CPrinter(kCuda, body), kernel(kernel), signature(analyzeSignature(kernel)),
        shape(shapeOf(kernel)), needs(needs) {
    if (auto bits = kernel->getAttrOfType<IntegerAttr>("ortc.index_bits"))
      index32 = bits.getInt() == 32;
  }

  std::string prelude; ///< text that must stand before the kernel: structs of epilogues

  LogicalResult printBody() {
    names.reserve("stream");
    bindParameters(kernel, signature);
    analyze(kernel.getBody());
    w.indent = 1;
    if (shape.kind == Shape::Threads || shape.kind == Shape::Rows)
      for (Operation& op : kernel.getBody().front())
        if (&op != shape.parallel && mayWrite(&op) && !isa<func::ReturnOp>(op))
          (void)unsupported(&op, "all threads would do this; only the parallel loop may write");
    return printBlock(kernel.getBody().front(), {});
  }

  void printHead(llvm::raw_ostream& os, StringRef body, StringRef end) {
    Writer head(os);
    SmallVector<std::string> parameters = parameterList(kernel, signature, body);
    if (shape.kind == Shape::Template) { // a function of the host
      parameters.insert(parameters.begin(), "cudaStream_t stream");
      head.line("static cudaError_t " + kernelName(kernel) + "(" + llvm::join(parameters, ", ") +
                ")" + end.str());
      return;
    }
    int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
    head.line("static __global__ void __launch_bounds__(" + std::to_string(threads) + ") " +
              kernelName(kernel) + "(" + llvm::join(parameters, ", ") + ")" + end.str());
  }

  /// The line of the provenance comment that CUDA adds.
  std::string launchComment() {
    int64_t shared = 0;
    kernel.walk([&](memref::AllocaOp op) {
      if (isWorkgroup(op.getType()))
        shared += op.getType().getNumElements() *
                  std::max<int64_t>(1, op.getType().getElementTypeBitWidth() / 8);
    });
    std::string s = "launch   ";
    switch (shape.kind) {
    case Shape::Serial: s += "one thread"; break;
    case Shape::Threads:
      s += "a thread per iteration, blocks of " + std::to_string(shape.block[0]);
      break;
    case Shape::Rows:
      s += "a block of " + std::to_string(shape.block[0]) + " threads per iteration";
      break;
    case Shape::Template:
      s += "blocks of " + std::to_string(shape.block[0]) + " threads, a tile each";
      break;
    case Shape::Blocks:
      s += "blocks of " + std::to_string(shape.block[0]) + " x " + std::to_string(shape.block[1]) +
           " x " + std::to_string(shape.block[2]) + " threads";
    }
    if (shared) s += ", " + std::to_string(shared) + " bytes of shared memory";
    return s;
  }

protected:
  std::string indexName() override { return index32 ? "int" : "int64_t"; }

  static bool isWorkgroup(MemRefType type) {
    auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
    if (space) return space.getValue() == gpu::AddressSpace::Workgroup;
    auto number = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
    return number && number.getInt() == 3;
  }

  LogicalResult printAlloca(Operation* op, MemRefType type) override {
    std::string hint = hintFor(op->getResult(0));
    bool shared = isWorkgroup(type);
    std::string name = names.fresh(hint.empty() ? (shared ? "tile" : "local") : hint);
    std::string element = elementTypeName(type.getElementType()),
                count = std::to_string(std::max<int64_t>(1, type.getNumElements()));
    w.line(shared ? "ORTC_SHARED(" + element + ", " + name + ", " + count + ");"
                  : element + " " + name + "[" + count + "];");
    layouts[op->getResult(0)] = sourceLayout(type, name, {});
    return success();
  }

  LogicalResult printParallel(scf::ParallelOp op) override {
    if (op != shape.parallel) return Printer::printParallel(op);
    if (!op.getInitVals().empty()) return unsupported(op, "parallel reductions");
    unsigned n = op.getNumLoops();
    size_t scope = names.mark();
    SmallVector<Expr> counts;
    SmallVector<std::string> ivNames;
    for (unsigned d = 0; d < n; ++d)
      ivNames.push_back(loopName(op.getInductionVars()[d], op, d, n));
    Expr total = integer(1);
    for (unsigned d = 0; d < n; ++d) {
      Expr lower = expr(op.getLowerBound()[d]), upper = expr(op.getUpperBound()[d]),
           step = expr(op.getStep()[d]);
      Expr length = codegen::isInteger(lower, 0) ? upper : binary("-", upper, lower);
      if (!codegen::isInteger(step, 1))
        length = call("ceil_div",
                      {length.isInteger ? indexName() + "(" + length.text + ")" : length.text,
                       step.isInteger ? indexName() + "(" + step.text + ")" : step.text});
      if (n > 1 && length.prec != Prec::Primary) {
        std::string name = names.fresh(ivNames[d] + "_count");
        w.line("const " + indexName() + " " + name + " = " + length.text + ";");
        length = {name};
      }
      counts.push_back(length);
      total = product(total, length);
    }
    auto isPlain = [&](unsigned d) {
      return matchPattern(op.getLowerBound()[d], m_Zero()) &&
             matchPattern(op.getStep()[d], m_One());
    };
    bool single = n == 1 && isPlain(0);
    std::string index =
        single ? ivNames[0] : names.fresh(shape.kind == Shape::Rows ? "row" : "thread");
    bool rows = shape.kind == Shape::Rows;
    std::string first = rows      ? "blockIdx.x"
                        : index32 ? "int(thread_index())"
                                  : "thread_index()",
                stride = rows      ? "gridDim.x"
                         : index32 ? "int(thread_count())"
                                   : "thread_count()";
    w.open("for (" + indexName() + " " + index + " = " + first + "; " +
           binary("<", {index}, total).text + "; " + index + " += " + stride + ") {");
    std::string rest = index;
    for (unsigned d = n; d-- > 0 && !single;) {
      Expr position = {rest, Prec::Unary};
      if (d > 0)
        position = codegen::isInteger(counts[d], 1) ? integer(0) : binary("%", position, counts[d]);
      if (!op.getInductionVars()[d].use_empty()) {
        Expr value = {position.text, rest == index && d == 0 ? Prec::Primary : position.prec};
        if (!isPlain(d))
          value = sum(product(position, expr(op.getStep()[d])), expr(op.getLowerBound()[d]));
        w.line("const " + indexName() + " " + ivNames[d] + " = " + value.text + ";");
      }
      if (d > 0 && !codegen::isInteger(counts[d], 1))
        rest = binary("/", {rest, Prec::Unary}, counts[d]).text;
    }
    for (auto [iv, name] : llvm::zip(op.getInductionVars(), ivNames))
      bind(iv, {name});
    ++loopDepth;
    LogicalResult r = printBlock(*op.getBody(), {});
    --loopDepth;
    w.close();
    names.release(scope);
    return r;
  }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    auto id = [&](const char* variable, gpu::Dimension d) -> std::optional<LogicalResult> {
      static const char* const letters[] = {"x", "y", "z"};
      std::string text = std::string(variable) + "." + letters[static_cast<int>(d)];
      define(op, castTo(IndexType::get(op->getContext()), {text}));
      return success();
    };
    return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
        .Case([&](gpu::ThreadIdOp o) { return id("threadIdx", o.getDimension()); })
        .Case([&](gpu::BlockIdOp o) { return id("blockIdx", o.getDimension()); })
        .Case([&](gpu::BlockDimOp o) { return id("blockDim", o.getDimension()); })
        .Case([&](gpu::GridDimOp o) { return id("gridDim", o.getDimension()); })
        .Case([&](gpu::BarrierOp) -> std::optional<LogicalResult> {
          return w.line("__syncthreads();"), success();
        })
        .Case([&](CallTemplateOp call) -> std::optional<LogicalResult> {
          return printCallTemplate(call);
        })
        .Case([&](gpu::AllReduceOp reduce) -> std::optional<LogicalResult> {
          StringRef function = reduceFunction(reduce);
          if (function.empty() || shape.kind != Shape::Rows)
            return unsupported(op, "this reduction over a block");
          // Never inside of an expression: all threads have to come here.
          std::string name = freshName(reduce.getResult(), "whole");
          w.line(constDecl(reduce.getType(), name, call(function, {text(reduce.getValue())}).text));
          return bind(reduce.getResult(), {name}), success();
        })
        .Case([&](gpu::ShuffleOp s) -> std::optional<LogicalResult> {
          APInt width;
          if (s.getMode() != gpu::ShuffleMode::XOR ||
              !matchPattern(s.getWidth(), m_ConstantInt(&width)) || width != 32 ||
              !s.getValid().use_empty())
            return unsupported(op, "only exchanges (xor) within a warp of 32");
          std::string name = freshName(s.getShuffleResult(), "other");
          w.line(constDecl(s.getShuffleResult().getType(), name,
                           call("shuffle_xor", {text(s.getValue()), text(s.getOffset())}).text));
          return bind(s.getShuffleResult(), {name}), success();
        })
        .Case([&](memref::AtomicRMWOp a) -> std::optional<LogicalResult> {
          const Layout& l = layoutOf(a.getMemref());
          if (a.getKind() != arith::AtomicRMWKind::addf &&
              a.getKind() != arith::AtomicRMWKind::addi)
            return unsupported(op, "only atomic sums");
          if (!a.getResult().use_empty()) return unsupported(op, "the old value of an atomic sum");
          w.line(call("atomicAdd", {address(l, linearIndex(l, a.getIndices())), text(a.getValue())})
                     .text +
                 ";");
          return success();
        })
        .Default([&](Operation*) -> std::optional<LogicalResult> { return std::nullopt; });
  }

private:
  func::FuncOp kernel;
  KernelSignature signature;
  Shape shape;
  Needs& needs;
  bool index32 = false;

  static StringRef reduceFunction(gpu::AllReduceOp reduce) {
    if (!reduce.getOp()) return "";
    switch (*reduce.getOp()) {
    case gpu::AllReduceOperation::ADD: return "block_sum";
    case gpu::AllReduceOperation::MUL: return "block_product";
    case gpu::AllReduceOperation::MAXIMUMF:
    case gpu::AllReduceOperation::MAXSI: return "block_maximum";
    case gpu::AllReduceOperation::MINIMUMF:
    case gpu::AllReduceOperation::MINSI: return "block_minimum";
    default: return "";
    }
  }

  /// The name of the epilogue's struct, which is written before the first kernel that needs it.
  std::string epilogueStruct(CallTemplateOp call, const EpilogueText& epilogue) {
    std::string text;
    for (auto& [declaration, init] : epilogue.fields)
      text += "  " + declaration + ";\n";
    auto parameter = [&](StringRef type, StringRef n) {
      return (type + " " + (mentions(epilogue.body, n) ? n.str() : "/*" + n.str() + "*/")).str();
    };
    text += "  ORTC_DEV float operator()(" + parameter("float", "acc") + ", " +
            parameter("int64_t", "m") + ", " + parameter("int64_t", "n") + ") const {\n" +
            epilogue.body + "  }\n};\n\n";
    std::string& name = needs.epilogues[text];
    if (!name.empty()) return name;
    const std::string wish = epilogueName(call.getEpilogue());
    std::string candidate = wish;
    auto taken = [&](const std::string& n) {
      return llvm::any_of(needs.epilogues, [&](auto& e) { return e.second == n; });
    };
    for (unsigned i = 2; taken(candidate); ++i)
      candidate = wish + std::to_string(i);
    name = candidate;
    prelude += "struct " + name + " {\n" + text;
    return name;
  }

  /// The kernel is the template: what is written is the function of the host that launches it.
  LogicalResult printCallTemplate(CallTemplateOp call) {
    for (Operation& op : kernel.getBody().front())
      if (isa<memref::LoadOp>(op) || (op.getNumRegions() && &op != call.getOperation()))
        return unsupported(&op, "beside a kernel template");
    FailureOr<EpilogueText> epilogue =
        printEpilogue(call, [&](Value v) { return expr(v); }, [&](Value v) { return layoutOf(v); });
    const std::string callee = templateCallee(call);
    if (mlir::failed(epilogue) || callee.empty()) return unsupported(call);
    std::string args = names.fresh("args");
    w.line(argsTypeOf(call) + " " + args + ";");
    unsigned k = 0;
    auto field = [&] {
      return args + "." + cast<StringAttr>(call.getArgNames()[k++]).str() + " = ";
    };
    for (Value v : call.getBuffers()) {
      const Layout& l = layoutOf(v);
      w.line(field() + address(l, l.offset) + ";");
    }
    for (Value v : call.getSizes())
      w.line(field() + text(v) + ";");
    SmallVector<std::string> inits;
    for (auto& [declaration, init] : epilogue->fields)
      inits.push_back(init);
    SmallVector<Expr> indices;
    for (BlockArgument a : kernel.getArguments())
      if (a.getType().isIndex()) indices.push_back(expr(a));
    const std::string name = epilogueStruct(call, *epilogue);
    // The callee with the type of its epilogue as its last argument.
    std::string instance = callee.back() == '>' ? callee.substr(0, callee.size() - 1) + ", " + name
                                                : callee + "<" + name;
    w.line("return ORTC_LAUNCH((" + instance + ">), dim3(" + gridText(gridOf(kernel, indices)) +
           "), " + dim3Text(shape.block) + ", 0, stream, " + args + ", " + name + "{" +
           llvm::join(inits, ", ") + "});");
    needs.templates.insert(call.getCallee().str());
    return success();
  }
};

class ProgramPrinter : public CProgramPrinter {
public:
  ProgramPrinter(func::FuncOp program, llvm::raw_ostream& os)
      : CProgramPrinter(kCuda, program, os) {}
  bool usesBlocksFor = false;

protected:
  std::string bufferPointer(BufferOp op, const Expr& at, const std::string& element) override {
    StringRef segment = op.getSegment();
    if (segment == "weights" || segment == "arena")
      return std::string(segment == "weights" ? "context.weight<" : "context.buffer<") + element +
             ">(" + (at.isInteger ? at.text : "uint64_t(" + at.text + ")") + ")";
    std::string whose = segment == "input" ? "context.input<" : "context.output<",
                number = std::to_string(op.getNumber());
    if (codegen::isInteger(at, 0)) return whose + element + ">(" + number + ")";
    std::string constant = segment == "input" ? "const " : "";
    return "reinterpret_cast<" + constant + element + "*>(" + whose + "char>(" + number + ") + " +
           at.text + ")";
  }

  /// The arena is checked before the program starts.
  LogicalResult printRequireArena(RequireArenaOp) override { return success(); }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    // What the host decides by comes back from the device.
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      const Layout& l = layoutOf(load.getMemRef());
      std::string name = freshName(load, "value");
      w.line(elementTypeName(load.getType()) + " " + name + ";");
      returnOnFailure("context.read_back(&" + name + ", " +
                      address(l, linearIndex(l, load.getIndices())) + ", sizeof " + name +
                      ", stream)");
      return bind(load, {name}), success();
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) return unsupported(op, "a copy by the host");
    return CProgramPrinter::printSpecial(op);
  }

  LogicalResult printLaunch(LaunchOp op) override {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
    if (!kernel) return unsupported(op, "there is no kernel of this name");
    SmallVector<std::string> args;
    if (mlir::failed(launchArguments(op, kernel, args))) return failure();
    Shape shape = shapeOf(kernel);
    std::string grid = "1", name = kernelName(kernel);
    if (shape.kind == Shape::Threads) {
      Expr total = launchCount(op, kernel, shape.parallel);
      int64_t n;
      if (!StringRef(total.text).getAsInteger(10, n))
        grid = std::to_string(std::min<int64_t>(
            std::max<int64_t>(1, (n + shape.block[0] - 1) / shape.block[0]), 1 << 20));
      else
        usesBlocksFor = true,
        grid = "blocks_for(" + total.text +
               (shape.block[0] == kBlock ? "" : ", " + std::to_string(shape.block[0])) + ")";
    } else if (shape.kind == Shape::Rows) {
      grid = gridExtent(launchCount(op, kernel, shape.parallel), kMostBlocks);
    } else if (shape.kind == Shape::Blocks) {
      grid = gridText(launchGrid(op, kernel));
    }
    if (shape.kind == Shape::Template) {
      args.insert(args.begin(), "stream");
      w.line("ORTC_CUDA_TRY(context, \"" + name + "\", " + name + "(" + llvm::join(args, ", ") +
             "));");
      return success();
    }
    std::string call = "ORTC_LAUNCH(" + name + ", dim3(" + grid + "), " + dim3Text(shape.block) +
                       ", 0, stream" + (args.empty() ? "" : ", ") + llvm::join(args, ", ") + ")";
    w.line("ORTC_CUDA_TRY(context, \"" + name + "\", " + call + ");");
    return success();
  }
};

} // namespace

LogicalResult printKernel(func::FuncOp kernel, llvm::raw_ostream& os, Needs& needs) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  KernelPrinter printer(kernel, needs, bodyStream);
  LogicalResult r = printer.printBody();
  os << printer.prelude;
  Writer w(os);
  printProvenance(kernel, w);
  w.comment(printer.launchComment(), 9);
  printer.printHead(os, body, " {");
  os << body << "}\n";
  return success(succeeded(r) && !printer.failed());
}

LogicalResult printKernelDeclaration(func::FuncOp kernel, llvm::raw_ostream& os) {
  std::string nothing, all;
  llvm::raw_string_ostream unused(nothing);
  Needs ignored;
  KernelPrinter printer(kernel, ignored, unused);
  for (const KernelParam& p : analyzeSignature(kernel).params)
    all += p.name + " ";
  printer.printHead(os, all, ";");
  return success(!printer.failed());
}

LogicalResult printProgram(func::FuncOp program, llvm::raw_ostream& os, const Options& options) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  ProgramPrinter printer(program, bodyStream);
  LogicalResult r = printer.printBody();
  body = printer.dimDeclarations(body) + body;
  if (printer.usesBlocksFor)
    os << "// Blocks for one thread per element. Kernels loop with the stride of the grid, so that "
          "a limit does no harm.\n"
          "static unsigned blocks_for(int64_t elements, int64_t block = 256) {\n"
          "  const int64_t blocks = (elements + block - 1) / block;\n"
          "  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 1048576 ? 1048576 : blocks);\n"
          "}\n\n";
  Writer w(os);
  auto parameter = [&](StringRef type, StringRef name) {
    return (type + (mentions(body, name) ? name.str() : "/*" + name.str() + "*/")).str();
  };
  w.line("static ortc_status run(" + parameter(options.contextType + "& ", "context") + ", " +
         parameter("ortc_tensor* ", "outputs") + ", " + parameter("const int64_t* ", "dims") +
         ", " + parameter("cudaStream_t ", "stream") + ") {");
  os << body << "}\n";
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

} // namespace ortc::codegen::cuda
