// SPDX-License-Identifier: Apache-2.0
// Control flow: scf.for, if, while, index_switch, and loops in general.
#include "codegen/common/Printer.h"
#include "compiler/ops/AllOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"
using namespace mlir;

namespace ortc::codegen {

std::string Printer::loopName(Value induction, Operation* loop, unsigned number, unsigned count) {
  std::string wish;
  if (auto axis = loop->getAttrOfType<StringAttr>("ortc.axis")) {
    // "m,n" names several loops at once.
    SmallVector<StringRef> parts;
    axis.getValue().split(parts, ',');
    if (number < parts.size()) wish = parts[number].trim().str();
  }
  if (auto axes = loop->getAttrOfType<ArrayAttr>("ortc.axis"); axes && number < axes.size())
    if (auto s = dyn_cast<StringAttr>(axes[number])) wish = s.str();
  auto fromLoc = [&](Location l) {
    if (auto loc = dyn_cast<NameLoc>(l)) {
      StringRef s = loc.getName().getValue();
      if (wish.empty() && !s.empty() && s.size() < 16 &&
          llvm::all_of(s, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
        wish = s.str();
    }
  };
  fromLoc(induction.getLoc());
  if (count == 1) fromLoc(loop->getLoc());
  if (wish.empty()) {
    static const char* const letters[] = {"i", "j", "k", "l", "p", "q", "r", "s"};
    for (const char* letter : letters)
      if (names.isFree(letter)) {
        wish = letter;
        break;
      }
  }
  return names.fresh(wish.empty() ? "i" : wish);
}

/// What a loop-carried variable is called: by what is done to it.
static std::string carriedName(Value yielded) {
  Operation* op = yielded.getDefiningOp();
  if (!op) return "state";
  if (std::string name = givenName(op); !name.empty()) return name;
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Cases("arith.addf", "arith.addi", "math.fma", "vector.fma", "total")
      .Cases("arith.mulf", "arith.muli", "scale")
      .Cases("arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui", "largest")
      .Cases("arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui", "smallest")
      .Cases("arith.andi", "arith.ori", "holds")
      .Default("state")
      .str();
}

LogicalResult Printer::printFor(scf::ForOp op) {
  SmallVector<std::string> carried;
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  auto outer = dyn_cast<scf::ForOp>(op->getParentOp());
  for (auto [i, arg, init, result, next] : llvm::enumerate(op.getRegionIterArgs(), op.getInitArgs(),
                                                           op.getResults(), yield.getOperands())) {
    std::string name;
    // The outer loop's variable goes through this loop unchanged before and after: it is one
    // variable.
    if (auto from = dyn_cast<BlockArgument>(init);
        outer && from && from.getOwner() == outer.getBody() && from.hasOneUse() &&
        from.getArgNumber() > 0 && result.hasOneUse()) {
      OpOperand& use = *result.use_begin();
      if (use.getOwner() == outer.getBody()->getTerminator() &&
          use.getOperandNumber() == from.getArgNumber() - 1)
        name = text(from);
    }
    if (name.empty()) {
      Value deep = next; // through nested loops
      while (auto inner = deep.getDefiningOp<scf::ForOp>())
        deep = cast<scf::YieldOp>(inner.getBody()->getTerminator())
                   .getOperand(cast<OpResult>(deep).getResultNumber());
      std::string hint = hintFor(arg);
      name = names.fresh(hint.empty() ? carriedName(deep) : hint);
      w.line(varDecl(arg.getType(), name, text(init)));
    }
    bind(arg, {name});
    bind(result, {name});
    carried.push_back(name);
  }
  size_t scope = names.mark();
  std::string iv = loopName(op.getInductionVar(), op, 0, 1);
  bind(op.getInductionVar(), {iv});
  w.open(forHeader(op.getInductionVar().getType(), iv, expr(op.getLowerBound()),
                   expr(op.getUpperBound()), expr(op.getStep())));
  ++loopDepth;
  LogicalResult r = printBlock(*op.getBody(), carried);
  --loopDepth;
  names.release(scope);
  w.close();
  return r;
}

/// Can the block be written as one expression per result: no statement, all inlined?
static bool isExpressionBlock(Block& block, const llvm::DenseSet<Operation*>& inlinable) {
  for (Operation& op : block.without_terminator())
    if (!inlinable.contains(&op) && !isa<arith::ConstantOp>(op)) return false;
  return true;
}

/// Is `user` a statement of the same block, with nothing in between that changes memory?
static bool isUsedBeforeWrites(Operation* op, Operation* user) {
  if (user->getBlock() != op->getBlock() || !isa<scf::YieldOp, memref::StoreOp>(user)) return false;
  for (Operation* between = op->getNextNode(); between != user; between = between->getNextNode())
    if (mayWrite(between)) return false;
  return true;
}

LogicalResult Printer::printIf(scf::IfOp op, bool isElse) {
  // A choice between two expressions.
  if (hasConditionalExpr() && !isElse && op.getNumResults() == 1 && op.elseBlock() &&
      !isa<VectorType>(op.getResult(0).getType()) &&
      isExpressionBlock(*op.thenBlock(), inlinable) &&
      isExpressionBlock(*op.elseBlock(), inlinable)) {
    auto count = [](Block* b) { return std::distance(b->begin(), b->end()); };
    if (count(op.thenBlock()) + count(op.elseBlock()) <= 10) {
      llvm::SaveAndRestore inlineAll(forceInline, true);
      for (Block* b : {op.thenBlock(), op.elseBlock()})
        for (Operation& o : b->without_terminator())
          if (::mlir::failed(printOp(&o))) return failure();
      Expr yes = expr(op.thenYield().getOperand(0)), no = expr(op.elseYield().getOperand(0));
      Expr e = conditional(expr(op.getCondition()), yes, no);
      // Right where it is used: no name.
      if (op.getResult(0).hasOneUse() &&
          isUsedBeforeWrites(op, *op.getResult(0).getUsers().begin())) {
        bind(op.getResult(0), e);
        return success();
      }
      std::string name = freshName(op.getResult(0), "chosen");
      w.line(constDecl(op.getResult(0).getType(), name, e.text));
      bind(op.getResult(0), {name});
      return success();
    }
  }
  SmallVector<std::string> targets;
  if (isElse)
    targets = yieldTargets.back();
  else
    for (Value r : op.getResults()) {
      std::string name = freshName(r, "chosen");
      w.line(varDecl(r.getType(), name, ""));
      targets.push_back(name);
      bind(r, {name});
    }
  std::string head = "if (" + text(op.getCondition()) + ") {";
  isElse ? w.middle("} else " + head) : w.open(head);
  if (::mlir::failed(printBlock(*op.thenBlock(), targets))) return failure();
  if (Block* other = op.elseBlock();
      other && (other->getOperations().size() > 1 || op.getNumResults())) {
    // else { if ... } whose results go straight out: else if.
    auto nested = dyn_cast<scf::IfOp>(other->front());
    Operation* second = nested ? nested->getNextNode() : nullptr;
    bool chain = nested && second == other->getTerminator() &&
                 nested.getResults() == second->getOperands() &&
                 (nested.getNumResults() == 0 || nested.elseBlock());
    if (chain) {
      for (auto [r, t] : llvm::zip(nested.getResults(), targets))
        bind(r, {t});
      yieldTargets.push_back(targets);
      LogicalResult r = printIf(nested, true);
      yieldTargets.pop_back();
      return r;
    }
    w.middle("} else {");
    if (::mlir::failed(printBlock(*other, targets))) return failure();
  }
  w.close();
  return success();
}

LogicalResult Printer::printWhile(scf::WhileOp op) {
  Block &before = *op.getBeforeBody(), &after = *op.getAfterBody();
  auto condition = cast<scf::ConditionOp>(before.getTerminator());
  SmallVector<std::string> state, passed;
  auto yield = cast<scf::YieldOp>(after.getTerminator());
  for (auto [arg, init, next] :
       llvm::zip(before.getArguments(), op.getInits(), yield.getOperands())) {
    std::string name = names.fresh(hintFor(arg).empty() ? carriedName(next) : hintFor(arg));
    w.line(varDecl(arg.getType(), name, text(init)));
    bind(arg, {name});
    state.push_back(name);
  }
  // Results that are the state itself need no variables of their own.
  SmallVector<bool> isState;
  for (auto [i, value, arg, result] :
       llvm::enumerate(condition.getArgs(), after.getArguments(), op.getResults())) {
    auto from = dyn_cast<BlockArgument>(value);
    bool same = from && from.getOwner() == &before && llvm::count(condition.getArgs(), value) == 1;
    std::string name = same ? state[from.getArgNumber()] : names.fresh("result");
    if (!same) w.line(varDecl(arg.getType(), name, ""));
    isState.push_back(same);
    passed.push_back(name);
    bind(arg, {name});
    bind(result, {name});
  }
  bool simple =
      isExpressionBlock(before, inlinable) && llvm::all_of(isState, [](bool b) { return b; });
  ++loopDepth;
  LogicalResult r = success();
  if (simple) {
    llvm::SaveAndRestore inlineAll(forceInline, true);
    for (Operation& o : before.without_terminator())
      r = success(succeeded(r) && succeeded(printOp(&o)));
    w.open("while (" + text(condition.getCondition()) + ") {");
  } else {
    w.open(std::string(language.endlessLoop) + " {");
    yieldTargets.emplace_back();
    for (Operation& o : before.without_terminator())
      r = success(succeeded(r) && succeeded(printOp(&o)));
    yieldTargets.pop_back();
    // The condition is of the old values: name it when an assignment could change what it says.
    Expr c = expr(condition.getCondition());
    SmallVector<std::string> targets;
    SmallVector<Value> values;
    for (auto [i, v] : llvm::enumerate(condition.getArgs()))
      if (!isState[i]) targets.push_back(passed[i]), values.push_back(v);
    if (!targets.empty()) assign(targets, values);
    Expr stop = unary("!", c);
    w.line("if (" + stop.text + ") {");
    ++w.indent;
    w.line("break;");
    w.close();
  }
  if (::mlir::failed(printBlock(after, state))) r = failure();
  --loopDepth;
  w.close();
  return r;
}

LogicalResult Printer::printSwitch(scf::IndexSwitchOp op) {
  SmallVector<std::string> targets;
  for (Value r : op.getResults()) {
    std::string name = freshName(r, "chosen");
    w.line(varDecl(r.getType(), name, ""));
    targets.push_back(name);
    bind(r, {name});
  }
  bool c = language.casesFallThrough;
  LogicalResult r = success();
  w.line("switch (" + text(op.getArg()) + ") {");
  auto arm = [&](const Twine& label, Region& region) {
    w.open((label + (c ? ": {" : " {")).str());
    if (::mlir::failed(printBlock(region.front(), targets))) r = failure();
    if (c) w.line("break;");
    w.close();
  };
  for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions()))
    arm("case " + Twine(value), region);
  arm("default", op.getDefaultRegion());
  w.line("}");
  return r;
}

LogicalResult Printer::printParallel(scf::ParallelOp op) {
  if (!op.getInitVals().empty()) return unsupported(op, "parallel reductions");
  unsigned n = op.getNumLoops();
  size_t scope = names.mark();
  for (unsigned d = 0; d < n; ++d) {
    Value iv = op.getInductionVars()[d];
    std::string name = loopName(iv, op, d, n);
    w.open(forHeader(iv.getType(), name, expr(op.getLowerBound()[d]), expr(op.getUpperBound()[d]),
                     expr(op.getStep()[d])));
    bind(iv, {name});
  }
  loopDepth += n;
  LogicalResult r = printBlock(*op.getBody(), {});
  loopDepth -= n;
  for (unsigned d = 0; d < n; ++d)
    w.close();
  names.release(scope);
  return r;
}

void Printer::loopNest(ArrayRef<Expr> sizes, llvm::function_ref<void(ArrayRef<Expr>)> body) {
  SmallVector<Expr> ivs;
  unsigned opened = 0;
  size_t scope = names.mark();
  for (const Expr& size : sizes) {
    if (isInteger(size, 1)) {
      ivs.push_back(integer(0));
      continue;
    }
    std::string name = "i";
    for (const char* letter : {"i", "j", "k", "l", "p", "q"})
      if (names.isFree(letter)) {
        name = letter;
        break;
      }
    name = names.fresh(name);
    w.open(forHeader(Type(), name, integer(0), size, integer(1)));
    ++opened;
    ivs.push_back({name});
  }
  body(ivs);
  while (opened--)
    w.close();
  names.release(scope);
}

} // namespace ortc::codegen
