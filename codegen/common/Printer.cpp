// SPDX-License-Identifier: Apache-2.0
// Values, names, and which values become part of a larger expression.
#include "codegen/common/Printer.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen {

bool isScalarBool(Type type) {
  return type.isInteger(1);
}
Type elementOf(Type type) {
  return getElementTypeOrSelf(type);
}

/// Expressions longer than this get a name.
constexpr size_t kInlineLimit = 64;

static bool isRead(Operation* op) {
  return isa<memref::LoadOp, vector::LoadOp, vector::MaskedLoadOp, vector::GatherOp,
             vector::TransferReadOp>(op);
}

bool mayWrite(Operation* op) {
  if (isMemoryEffectFree(op) || isRead(op)) return false;
  if (isa<memref::SubViewOp, memref::CastOp, memref::DimOp, BufferOp>(op)) return false;
  auto effects = getEffectsRecursively(op);
  if (!effects) return true;
  return llvm::any_of(*effects, [](const MemoryEffects::EffectInstance& e) {
    return isa<MemoryEffects::Write>(e.getEffect());
  });
}

/// Ops whose text mentions an operand more than once.
static bool repeatsOperand(Operation* user, Value operand) {
  if (auto cmp = dyn_cast<arith::CmpFOp>(user)) {
    using P = arith::CmpFPredicate;
    return llvm::is_contained({P::ONE, P::UEQ, P::ORD, P::UNO}, cmp.getPredicate());
  }
  return isa<memref::SubViewOp, memref::ReinterpretCastOp, memref::ViewOp, BufferOp,
             vector::FromElementsOp, scf::ParallelOp, CallTemplateOp, memref::CopyOp,
             memref::AllocaOp, memref::AllocOp>(user);
}

void Printer::analyze(Region& region) {
  region.walk([&](Block* block) {
    llvm::DenseMap<Operation*, Operation*> root; // the statement that an inlined op ends up in
    llvm::DenseMap<Operation*, unsigned> number;
    llvm::DenseSet<Operation*> bounds; // ops that become part of the head of a loop
    SmallVector<unsigned> writes;      // prefix count of writing ops
    unsigned n = 0, count = 0;
    for (Operation& op : *block) {
      number[&op] = n++;
      writes.push_back(count);
      count += mayWrite(&op);
    }
    for (Operation& op : llvm::reverse(*block)) {
      if (op.getNumResults() != 1 || op.getNumRegions() != 0 || !op.getResult(0).hasOneUse())
        continue;
      if (isa<MemRefType>(op.getResult(0).getType())) continue;
      bool pure = isMemoryEffectFree(&op), read = isRead(&op);
      if (!pure && !read) continue;
      Operation* user = *op.getResult(0).getUsers().begin();
      if (user->getBlock() != block || repeatsOperand(user, op.getResult(0))) continue;
      // Bounds of a loop are evaluated again and again: only arithmetic on names may stand there.
      OpOperand& use = *op.getResult(0).use_begin();
      bool isBound = (isa<scf::ForOp>(user) && use.getOperandNumber() < 3) || bounds.contains(user);
      if (isBound && read) continue;
      if (isBound) bounds.insert(&op);
      Operation* last = inlinable.contains(user) ? root.lookup(user) : user;
      if (read && writes[number[last]] != writes[number[&op]]) continue;
      inlinable.insert(&op);
      root[&op] = last;
    }
  });
}

Expr Printer::expr(Value value) {
  auto it = exprs.find(value);
  if (it != exprs.end()) return it->second;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    // From outside of what is printed, or not reached yet.
    if (::mlir::failed(printOp(constant))) return {"<<unsupported constant>>"};
    return exprs[value];
  }
  hasFailed = true;
  emitError(value.getLoc()) << "cannot print a value: its definition was not printed";
  return {"<<unsupported value>>"};
}

Layout& Printer::layoutOf(Value memref) {
  auto it = layouts.find(memref);
  if (it != layouts.end()) return it->second;
  hasFailed = true;
  emitError(memref.getLoc())
      << "cannot print an access to a memref: its definition was not printed";
  Layout& l = layouts[memref];
  l.base = "<<unsupported memref>>";
  l.sizes.assign(cast<MemRefType>(memref.getType()).getRank(), integer(0));
  l.strides = l.sizes;
  return l;
}

/// A name written by earlier stages: attribute ortc.name, or a location that is a plain identifier
/// (locations of nodes are sentences).
std::string givenName(Operation* op) {
  if (!op) return "";
  if (auto name = op->getAttrOfType<StringAttr>("ortc.name")) return name.str();
  if (auto loc = dyn_cast<NameLoc>(op->getLoc())) {
    StringRef s = loc.getName().getValue();
    if (!s.empty() && s.size() < 24 &&
        llvm::all_of(s, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      return s.str();
  }
  return "";
}

std::string Printer::hintFor(Value value) {
  Operation* op = value.getDefiningOp();
  if (std::string name = givenName(op); !name.empty()) return name;
  if (!op) return "";
  auto after = [&](Value memref, StringRef suffix) {
    auto it = layouts.find(memref);
    return it == layouts.end() || it->second.base.size() > 20 ? std::string("value")
                                                              : it->second.base + suffix.str();
  };
  if (isa<memref::LoadOp, vector::LoadOp, vector::MaskedLoadOp>(op))
    return after(op->getOperand(0), "_value");
  if (isa<arith::CmpFOp, arith::CmpIOp>(op)) return "holds";
  if (isa<arith::SelectOp>(op)) return "chosen";
  if (value.getType().isIndex()) return "at";
  if (auto reduction = dyn_cast<vector::ReductionOp>(op)) return "total";
  if (const OpRow* row = findOpRow(op->getName().getStringRef()); row && *row->hint)
    return row->hint;
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
          arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(op))
    return "converted";
  return "";
}

std::string Printer::freshName(Value value, StringRef fallback) {
  std::string hint = hintFor(value);
  if (hint.empty()) hint = fallback.str();
  if (hint.empty()) {
    Type e = elementOf(value.getType());
    hint = e.isInteger(1) ? "holds" : isa<FloatType>(e) ? "value" : "number";
  }
  return names.fresh(hint);
}

void Printer::define(Operation* op, Expr e) {
  Value result = op->getResult(0);
  if (inlinable.contains(op) && (forceInline || e.text.size() <= kInlineLimit))
    return bind(result, std::move(e));
  if (result.use_empty()) return;
  std::string name = freshName(result, "");
  w.line(constDecl(result.getType(), name, e.text));
  bind(result, {name});
}

LogicalResult Printer::unsupported(Operation* op, const Twine& why) {
  hasFailed = true;
  auto diag = op->emitError() << "cannot print '" << op->getName() << "' as " << language.name;
  if (std::string reason = why.str(); !reason.empty()) diag << ": " << reason;
  std::string mark = "<<unsupported " + op->getName().getStringRef().str() + ">>";
  w.line(mark);
  for (Value r : op->getResults()) {
    bind(r, {mark});
    if (auto type = dyn_cast<MemRefType>(r.getType())) {
      Layout& l = layouts[r];
      l.base = mark;
      l.sizes.assign(type.getRank(), integer(0));
      l.strides = l.sizes;
    }
  }
  return success(); // go on: all that cannot be printed is reported at once
}

void Printer::forward(Operation* op, Expr e) {
  bool atom = llvm::all_of(
      e.text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-'; });
  if (atom || !e.lane.empty())
    bind(op->getResult(0), std::move(e));
  else
    define(op, std::move(
                   e)); // more than a name: used several times, it would be computed several times
}

Expr Printer::selectExpr(Type, const Expr& c, const Expr& yes, const Expr& no) {
  return conditional(c, yes, no);
}

LogicalResult Printer::printBlock(Block& block, ArrayRef<std::string> yieldTo) {
  size_t scope = names.mark();
  yieldTargets.emplace_back(yieldTo.begin(), yieldTo.end());
  LogicalResult result = success();
  for (Operation& op : block)
    if (::mlir::failed(printOp(&op))) result = failure();
  yieldTargets.pop_back();
  names.release(scope);
  return result;
}

static bool containsWord(StringRef text, StringRef word) {
  for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    bool before = at > 0 && isWord(text[at - 1]);
    bool after = at + word.size() < text.size() && isWord(text[at + word.size()]);
    if (!before && !after) return true;
  }
  return false;
}

/// Is there a `+` or `-` outside of all parentheses?
static bool hasOuterSum(StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth == 0 && (text.substr(i).starts_with(" + ") || text.substr(i).starts_with(" - ")))
      return true;
  }
  return false;
}

void Printer::assign(ArrayRef<std::string> targets, ValueRange values) {
  // All at once: a value that mentions a variable which an earlier line changes is computed first.
  SmallVector<std::string> texts;
  for (Value v : values)
    texts.push_back(text(v));
  for (unsigned j = 1; j < texts.size(); ++j) {
    bool changed = false;
    for (unsigned i = 0; i < j; ++i)
      changed |= texts[i] != targets[i] && containsWord(texts[j], targets[i]);
    if (!changed || texts[j] == targets[j]) continue;
    std::string name = names.fresh("next_" + targets[j]);
    w.line(constDecl(values[j].getType(), name, texts[j]));
    texts[j] = name;
  }
  for (auto [target, value, v] : llvm::zip(targets, texts, values)) {
    if (target == value) continue;
    StringRef t(value);
    // x = x + e reads better as x += e.
    Expr e = expr(v);
    bool spelled = t.consume_front(target + " ");
    if (spelled && e.prec == Prec::Additive && (t.starts_with("+ ") || t.starts_with("- ")) &&
        !hasOuterSum(t.drop_front(2)) && value == e.text)
      w.line(target + " " + t[0] + "= " + t.drop_front(2).str() + ";");
    else
      w.line(target + " = " + value + ";");
  }
}

bool Printer::isNonNegative(Value value, unsigned depth) {
  if (depth > 8) return false;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation* parent = arg.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      APInt step;
      return value == loop.getInductionVar() && isNonNegative(loop.getLowerBound(), depth + 1) &&
             matchPattern(loop.getStep(), m_ConstantInt(&step)) && !step.isNegative();
    }
    if (auto loop = dyn_cast<scf::ParallelOp>(parent))
      return arg.getArgNumber() < loop.getNumLoops() &&
             isNonNegative(loop.getLowerBound()[arg.getArgNumber()], depth + 1);
    return false;
  }
  Operation* op = value.getDefiningOp();
  APInt c;
  if (matchPattern(value, m_ConstantInt(&c))) return !c.isNegative();
  if (isa<memref::DimOp, DimOp, gpu::ThreadIdOp, gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp>(
          op))
    return true;
  if (!value.getType().isIndex()) return false;
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::RemUIOp,
          arith::MinSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::MinUIOp>(op))
    return isNonNegative(op->getOperand(0), depth + 1) &&
           isNonNegative(op->getOperand(1), depth + 1);
  if (isa<arith::RemSIOp>(op)) return isNonNegative(op->getOperand(0), depth + 1);
  if (isa<arith::MaxSIOp>(op))
    return isNonNegative(op->getOperand(0), depth + 1) ||
           isNonNegative(op->getOperand(1), depth + 1);
  return false;
}

} // namespace ortc::codegen
