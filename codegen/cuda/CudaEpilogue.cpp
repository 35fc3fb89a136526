// SPDX-License-Identifier: Apache-2.0
// A thread has one output at a time, so the scalar code of the region is printed as it is. What it
// reads of the kernel (a bias, a residual, a size) becomes a field of the struct around it.
#include "codegen/cuda/CudaEpilogue.h"
#include "codegen/common/CPrinter.h"
#include "llvm/ADT/StringExtras.h"
using namespace mlir;

namespace ortc::codegen::cuda {
namespace {

class EpiloguePrinter : public CPrinter {
public:
  explicit EpiloguePrinter(llvm::raw_ostream& os) : CPrinter(kCuda, os) {}
  std::vector<std::pair<std::string, std::string>> fields;

  LogicalResult print(CallTemplateOp call, llvm::function_ref<Expr(Value)> outer,
                      llvm::function_ref<Layout(Value)> layout) {
    w.indent = 2;
    Region& region = call.getEpilogue();
    if (region.empty()) {
      w.line("return acc;");
      return success();
    }
    Block& block = region.front();
    static const char* const argNames[] = {"acc", "m", "n"};
    if (block.getNumArguments() != 3) return unsupported(call, "an epilogue takes acc, m and n");
    for (BlockArgument a : block.getArguments()) {
      names.reserve(argNames[a.getArgNumber()]);
      bind(a, {argNames[a.getArgNumber()]});
    }
    region.walk([&](Operation* op) {
      for (Value v : op->getOperands()) {
        bool inside = region.isAncestor(v.getParentRegion());
        if (inside || exprs.count(v) || layouts.count(v) || v.getDefiningOp<arith::ConstantOp>())
          continue;
        isa<MemRefType>(v.getType()) ? addBuffer(v, layout(v)) : addScalar(v, outer(v));
      }
    });
    analyze(region);
    for (Operation& op : block) {
      if (auto yield = dyn_cast<YieldOp>(op)) {
        if (yield.getNumOperands() != 1) return unsupported(&op, "an epilogue gives one value");
        w.line("return " + text(yield.getOperand(0)) + ";");
      } else if (mlir::failed(printOp(&op))) {
        return failure();
      }
    }
    return success(!failed());
  }

private:
  void addBuffer(Value v, Layout l) {
    std::string init = address(l, l.offset);
    l.base = names.fresh(l.base), l.offset = integer(0), l.constant = true;
    Type element = cast<MemRefType>(v.getType()).getElementType();
    fields.push_back({"const " + elementTypeName(element) + "* " + l.base, init});
    for (Expr& stride : l.strides)
      if (!stride.isInteger && !l.identity) {
        std::string name = names.fresh("pitch");
        fields.push_back({"int64_t " + name, stride.text});
        stride = {name};
      }
    layouts[v] = std::move(l);
  }
  void addScalar(Value v, const Expr& e) {
    bool isName = llvm::all_of(e.text, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
                  !llvm::isDigit(e.text[0]);
    std::string name = names.fresh(isName ? e.text : "value");
    fields.push_back({typeName(v.getType()) + " " + name, e.text});
    bind(v, {name});
  }
};

} // namespace

FailureOr<EpilogueText> printEpilogue(CallTemplateOp call, llvm::function_ref<Expr(Value)> outer,
                                      llvm::function_ref<Layout(Value)> layout) {
  EpilogueText text;
  llvm::raw_string_ostream os(text.body);
  EpiloguePrinter printer(os);
  if (failed(printer.print(call, outer, layout))) return failure();
  text.fields = std::move(printer.fields);
  return text;
}

} // namespace ortc::codegen::cuda
