// SPDX-License-Identifier: Apache-2.0
// How large a launch is: a kernel's loop bounds and grid, in terms of what the host passes.
#include "codegen/common/Printer.h"
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include <map>
using namespace mlir;

namespace ortc::codegen {

Expr Printer::divideSizes(const Expr& a, const Expr& b, bool up) {
  return up ? binary("/", sum(a, sum(b, integer(-1))), b) : binary("/", a, b);
}

Expr Printer::launchCount(Operation* launch, func::FuncOp kernel, scf::ParallelOp loop) {
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
    if (auto dim =
            dyn_cast<memref::DimOp>(&o)) { // a size of a buffer, from its place in the program
      auto source = dyn_cast<BlockArgument>(dim.getSource());
      OpFoldResult size =
          source && dim.getConstantIndex()
              ? programSize(launch->getOperand(source.getArgNumber()), *dim.getConstantIndex())
              : OpFoldResult();
      if (auto v = dyn_cast_or_null<Value>(size))
        bind(dim, expr(v));
      else if (size)
        bind(dim, integer(cast<IntegerAttr>(cast<Attribute>(size)).getInt()));
      else
        (void)unsupported(launch, "the extent of its loop is not known to the host");
      continue;
    }
    if (mayWrite(&o) || isa<memref::LoadOp>(&o)) {
      (void)unsupported(launch, "the extent of its loop depends on data");
      continue;
    }
    inlinable.insert(&o); // names and short arithmetic
    if (::mlir::failed(printOp(&o))) hasFailed = true;
  }
  Expr total = integer(1);
  for (unsigned d = 0; d < loop.getNumLoops(); ++d) {
    Expr lower = expr(loop.getLowerBound()[d]), upper = expr(loop.getUpperBound()[d]),
         step = expr(loop.getStep()[d]);
    Expr length = codegen::isInteger(lower, 0) ? upper : binary("-", upper, lower);
    if (!codegen::isInteger(step, 1)) length = divideSizes(length, step, true);
    total = product(total, length);
  }
  return total;
}

SmallVector<Expr> Printer::launchGrid(Operation* launch, func::FuncOp kernel) {
  SmallVector<Expr> scalars;
  for (auto [arg, operand] : llvm::zip(kernel.getArguments(), launch->getOperands()))
    if (arg.getType().isIndex()) scalars.push_back(expr(operand));
  return gridOf(kernel, scalars);
}

SmallVector<Expr> Printer::gridOf(func::FuncOp kernel, ArrayRef<Expr> scalars) {
  auto maps = kernel->getAttrOfType<ArrayAttr>("ortc.grid");
  if (!maps) {
    (void)unsupported(kernel, "the kernel says its block but not its grid (ortc.grid)");
    return {};
  }
  SmallVector<Expr> parts;
  std::function<Expr(AffineExpr, unsigned)> affine = [&](AffineExpr e, unsigned numDims) -> Expr {
    if (auto c = dyn_cast<AffineConstantExpr>(e)) return integer(c.getValue());
    unsigned at = isa<AffineDimExpr>(e)      ? cast<AffineDimExpr>(e).getPosition()
                  : isa<AffineSymbolExpr>(e) ? numDims + cast<AffineSymbolExpr>(e).getPosition()
                                             : 0;
    if (isa<AffineDimExpr, AffineSymbolExpr>(e))
      return at < scalars.size() ? scalars[at] : Expr{"<<unknown size>>"};
    auto b = cast<AffineBinaryOpExpr>(e);
    Expr x = affine(b.getLHS(), numDims), y = affine(b.getRHS(), numDims);
    int64_t i = 0, j = 0;
    bool constant = x.isInteger && y.isInteger && !StringRef(x.text).getAsInteger(10, i) &&
                    !StringRef(y.text).getAsInteger(10, j) && j != 0;
    switch (b.getKind()) {
    case AffineExprKind::Add: return sum(x, y);
    case AffineExprKind::Mul: return product(x, y);
    case AffineExprKind::FloorDiv: return constant ? integer(i / j) : divideSizes(x, y, false);
    case AffineExprKind::Mod: return constant ? integer(i % j) : binary("%", x, y);
    default: return constant ? integer((i + j - 1) / j) : divideSizes(x, y, true);
    }
  };
  for (Attribute a : maps) {
    AffineMap map = cast<AffineMapAttr>(a).getValue();
    parts.push_back(affine(map.getResult(0), map.getNumDims()));
  }
  return parts;
}

/// Bytes of an element of ONNX's type; 0 when it is none that devices know.
static int64_t dtypeBytes(int64_t dtype) {
  switch (dtype) {
  case 2:
  case 3:
  case 9:
  case 17:
  case 18:
  case 19:
  case 20:
  case 24: return 1;
  case 4:
  case 5:
  case 10:
  case 16: return 2;
  case 1:
  case 6:
  case 12: return 4;
  case 7:
  case 11:
  case 13:
  case 14: return 8;
  default: return 0;
  }
}

void Printer::outputBounds(func::FuncOp bounds,
                           llvm::function_ref<void(int64_t, const Expr&)> each) {
  analyze(bounds.getBody());
  for (Operation& o : bounds.getBody().front().without_terminator()) {
    auto output = dyn_cast<OutputDimsOp>(o);
    if (!output) {
      if (::mlir::failed(printOp(&o))) hasFailed = true;
      continue;
    }
    Expr bytes = integer(output.getElementBytes());
    for (Value v : output.getSizes())
      bytes = product(bytes, expr(v));
    each(output.getNumber(), bytes);
  }
}

Expr Printer::arenaBytes(func::FuncOp program) {
  auto constant =
      program->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>("ortc.arena_bytes");
  Expr bytes = integer(constant ? constant.getInt() : 0);
  program.walk([&](RequireArenaOp op) {
    if (op.getLate()) return;
    SetVector<Operation*> needed;
    getBackwardSlice(op.getBytes(), &needed);
    if (Operation* last = op.getBytes().getDefiningOp()) needed.insert(last);
    for (Operation& o : program.getBody().front())
      if (needed.contains(&o) && ::mlir::failed(printOp(&o))) hasFailed = true;
    bytes = expr(op.getBytes());
  });
  return bytes;
}

LogicalResult Printer::bufferBytes(func::FuncOp program,
                                   llvm::function_ref<Expr(StringRef)> dimText, Expr& arena,
                                   SmallVectorImpl<Expr>& inputs, SmallVectorImpl<Expr>& outputs) {
  auto module = program->getParentOfType<ModuleOp>();
  arena = arenaBytes(program);
  std::map<int64_t, Expr> computed; // outputs
  if (auto bounds = module.lookupSymbol<func::FuncOp>("output_bounds"))
    outputBounds(bounds, [&](int64_t output, const Expr& bytes) { computed[output] = bytes; });
  // Of an input or output whose sizes are constants and dims.
  auto bytesOf = [&](DictionaryAttr io) -> std::optional<Expr> {
    auto dtype = io.getAs<IntegerAttr>("dtype");
    auto name = io.getAs<StringAttr>("name");
    auto fail = [&](StringRef what) {
      program.emitError() << "'" << (name ? name.getValue() : "") << "' has " << what;
      return std::nullopt;
    };
    auto dims = io.getAs<ArrayAttr>("dims");
    Expr bytes = integer(dtype ? dtypeBytes(dtype.getInt()) : 0);
    if (codegen::isInteger(bytes, 0) || !dims) return fail("a type that this target does not have");
    for (Attribute d : dims) {
      if (auto n = dyn_cast<IntegerAttr>(d))
        bytes = product(bytes, integer(n.getInt()));
      else if (auto dim = dyn_cast<StringAttr>(d))
        bytes = product(bytes, dimText(dim.getValue()));
      else
        return fail("a size that is computed, and no bound");
    }
    return bytes;
  };
  auto list = [&](StringRef name) {
    auto all = module->getAttrOfType<ArrayAttr>(name);
    return (all ? all : ArrayAttr::get(module.getContext(), {})).getAsRange<DictionaryAttr>();
  };
  for (DictionaryAttr input : list("ortc.inputs")) {
    std::optional<Expr> bytes = bytesOf(input);
    if (!bytes) return failure();
    inputs.push_back(*bytes);
  }
  for (auto [i, output] : llvm::enumerate(list("ortc.outputs"))) {
    auto bound = computed.find(i);
    std::optional<Expr> bytes = bound != computed.end() ? bound->second : bytesOf(output);
    if (!bytes) return failure();
    outputs.push_back(*bytes);
  }
  return success(!hasFailed);
}

} // namespace ortc::codegen
