// SPDX-License-Identifier: Apache-2.0
#include "codegen/cxx/CxxPrinter.h"
#include "codegen/common/Provenance.h"
#include "llvm/ADT/StringExtras.h"
using namespace mlir;

namespace ortc::codegen::cxx {

std::string CxxPrinter::typeName(Type type) {
  if (auto v = dyn_cast<VectorType>(type)) {
    if (v.getRank() == 0) return typeName(v.getElementType());
    Type element = v.getElementType();
    if (isSmallFloat(element)) element = Float32Type::get(type.getContext()); // until it is stored
    return vectorName(element.isInteger(1) ? IntegerType::get(type.getContext(), 32) : element,
                      v.getNumElements());
  }
  return CPrinter::typeName(type);
}

std::string CxxPrinter::constDecl(Type type, StringRef name, StringRef init) {
  auto v = dyn_cast<VectorType>(type);
  if (v && v.getElementType().isInteger(1))
    return "const auto " + name.str() + " = " + init.str() + ";"; // as wide as what was compared
  return CPrinter::constDecl(type, name, init);
}

std::string CxxPrinter::varDecl(Type type, StringRef name, StringRef init) {
  if (isa<VectorType>(type) && init.starts_with("splat<") &&
      (init.ends_with(">(0.0f)") || init.ends_with(">(0)") || init.ends_with(">(0.0)")))
    return typeName(type) + " " + name.str() + " = {};";
  return CPrinter::varDecl(type, name, init);
}

std::optional<LogicalResult> CxxPrinter::printSpecial(Operation* op) {
  if (auto call = dyn_cast<CallTemplateOp>(op)) return printCallTemplate(call);
  return printVectorOp(op);
}

LogicalResult CxxPrinter::printAlloca(Operation* op, MemRefType type) {
  std::string hint = hintFor(op->getResult(0));
  std::string name = names.fresh(hint.empty() ? "local" : hint);
  int64_t count = std::max<int64_t>(1, type.getNumElements());
  w.line("alignas(64) " + elementTypeName(type.getElementType()) + " " + name + "[" +
         std::to_string(count) + "];");
  layouts[op->getResult(0)] = sourceLayout(type, name, {});
  return success();
}

LogicalResult CxxPrinter::printParallel(scf::ParallelOp op) {
  if (!op.getInitVals().empty()) return unsupported(op, "parallel reductions");
  unsigned n = op.getNumLoops();
  size_t scope = names.mark();
  // Inside a piece of work already: plain loops.
  if (op->getParentOfType<scf::ParallelOp>() || loopDepth) return Printer::printParallel(op);
  headers.insert("rt/pool.h");
  // One piece per iteration of all loops together; the innermost loop counts fastest.
  SmallVector<Expr> counts;
  Expr total = integer(1);
  for (unsigned d = 0; d < n; ++d) {
    Expr lower = expr(op.getLowerBound()[d]), upper = expr(op.getUpperBound()[d]),
         step = expr(op.getStep()[d]);
    Expr length = isInteger(lower, 0) ? upper
                  : upper.isInteger && lower.isInteger
                      ? sum(upper, integer(-std::stoll(lower.text)))
                      : binary("-", upper, lower);
    if (isInteger(step, 1))
      counts.push_back(length);
    else if (length.isInteger && step.isInteger)
      counts.push_back(
          integer((std::stoll(length.text) + std::stoll(step.text) - 1) / std::stoll(step.text)));
    else
      counts.push_back(call("pieces", {length.text, step.text}));
  }
  SmallVector<std::string> ivNames;
  for (unsigned d = 0; d < n; ++d)
    ivNames.push_back(loopName(op.getInductionVars()[d], op, d, n));
  for (unsigned d = 0; d < n; ++d) {
    // A count is used in the product and in the decoding: give it a name unless it is short.
    if (n > 1 && counts[d].prec != Prec::Primary) {
      std::string name = names.fresh(ivNames[d] + "_count");
      w.line(constDecl(op.getInductionVars()[d].getType(), name, counts[d].text));
      counts[d] = {name};
    }
    total = product(total, counts[d]);
  }
  auto isPlain = [&](unsigned d) {
    return matchPattern(op.getLowerBound()[d], m_Zero()) && matchPattern(op.getStep()[d], m_One());
  };
  bool single = n == 1 && isPlain(0);
  std::string index = single ? ivNames[0] : names.fresh("part");
  w.open("parallel_for(threads, " + total.text + ", [&](int64_t " + index + ") {");
  Expr rest = {index};
  for (unsigned d = n; d-- > 0 && !single;) {
    // From the innermost outwards.
    bool used = !op.getInductionVars()[d].use_empty();
    Expr position = d == 0 ? rest : binary("%", {rest.text, rest.prec}, counts[d]);
    if (used) {
      Expr value = position;
      if (!isPlain(d))
        value = sum(expr(op.getLowerBound()[d]), product(position, expr(op.getStep()[d])));
      w.line("const int64_t " + ivNames[d] + " = " + value.text + ";");
    }
    if (d > 0)
      rest = isInteger(counts[d], 1)
                 ? rest
                 : binary("/",
                          {rest.prec == Prec::Primary ? rest.text : rest.text,
                           rest.prec == Prec::Primary ? Prec::Primary : Prec::Unary},
                          counts[d]);
  }
  for (auto [iv, name] : llvm::zip(op.getInductionVars(), ivNames))
    bind(iv, {name});
  ++loopDepth;
  LogicalResult r = printBlock(*op.getBody(), {});
  --loopDepth;
  w.close("});");
  names.release(scope);
  return r;
}

namespace {
/// A kernel: its body first, then the head, which leaves out the names of what is not used.
class KernelPrinter : public CxxPrinter {
public:
  KernelPrinter(func::FuncOp kernel, const Options& options, Needs& needs, llvm::raw_ostream& body)
      : CxxPrinter(body, options, needs), kernel(kernel), signature(analyzeSignature(kernel)) {}

  LogicalResult printBody() {
    names.reserve("threads");
    bindParameters(kernel, signature);
    analyze(kernel.getBody());
    w.indent = 1;
    return printBlock(kernel.getBody().front(), {});
  }

  void printHead(llvm::raw_ostream& os, StringRef body, StringRef end) {
    SmallVector<std::string> list = parameterList(kernel, signature, body);
    if (signature.usesThreads)
      list.insert(list.begin(),
                  "const executor& " +
                      std::string(mentions(body, "threads") ? "threads" : "/*threads*/"));
    Writer head(os);
    head.line((options.linkage.empty() ? "" : options.linkage + " ") + "void " +
              kernelName(kernel) + "(" + llvm::join(list, ", ") + ")" + end.str());
    if (signature.usesThreads) headers.insert("rt/pool.h");
  }

private:
  func::FuncOp kernel;
  KernelSignature signature;
};
} // namespace

LogicalResult printKernel(func::FuncOp kernel, llvm::raw_ostream& os, Needs& needs,
                          const Options& options) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  KernelPrinter printer(kernel, options, needs, bodyStream);
  LogicalResult r = printer.printBody();
  Writer w(os);
  os << printer.prelude;
  printProvenance(kernel, w);
  printer.printHead(os, body, " {");
  os << body << "}\n";
  needs.headers.insert(printer.headers.begin(), printer.headers.end());
  return success(succeeded(r) && !printer.failed());
}

LogicalResult printKernelDeclaration(func::FuncOp kernel, llvm::raw_ostream& os,
                                     const Options& options) {
  std::string nothing;
  llvm::raw_string_ostream unused(nothing);
  Needs ignored;
  KernelPrinter printer(kernel, options, ignored, unused);
  std::string all; // every name counts as used
  for (const KernelParam& p : analyzeSignature(kernel).params)
    all += p.name + " ";
  printer.printHead(os, all + "threads", ";");
  return success(!printer.failed());
}

} // namespace ortc::codegen::cxx
