// SPDX-License-Identifier: Apache-2.0
// If: two branches, of which a run takes one. When the condition is known, only that branch is
// built.
#include "compiler/onnx/ControlFlow.h"
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

/// Looks through casts between index and other integers.
static OpFoldResult asSize(Value v) {
  while (auto cast = v.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp>(cast)) break;
    v = cast->getOperand(0);
  }
  if (auto c = getConstantIntValue(v)) return Builder(v.getContext()).getIndexAttr(*c);
  return v;
}

/// The value of a condition on sizes, when the bounds of the dims decide it.
static std::optional<bool> decided(Value v) {
  if (auto c = getConstantIntValue(v)) return *c != 0;
  Operation* op = v.getDefiningOp();
  if (!op) return std::nullopt;
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    auto x = decided(op->getOperand(0)), y = decided(op->getOperand(1));
    if (isa<arith::AndIOp>(op) && ((x && !*x) || (y && !*y))) return false;
    if (isa<arith::OrIOp>(op) && ((x && *x) || (y && *y))) return true;
    if (!x || !y) return std::nullopt;
    return isa<arith::AndIOp>(op) ? *x && *y : isa<arith::OrIOp>(op) ? *x || *y : *x != *y;
  }
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp) return std::nullopt;
  OpFoldResult left = asSize(cmp.getLhs()), right = asSize(cmp.getRhs());
  auto [a, b] = indexRange(left);
  auto [c, d] = indexRange(right);
  bool equal = sameSize(left, right), below = b<c, above = a> d, notAbove = b <= c,
       notBelow = a >= d;
  auto choose = [](bool yes, bool no) {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  using P = arith::CmpIPredicate;
  switch (cmp.getPredicate()) {
  case P::eq: return choose(equal, below || above);
  case P::ne: return choose(below || above, equal);
  case P::slt: return choose(below, equal || notBelow);
  case P::sle: return choose(equal || notAbove, above);
  case P::sgt: return choose(above, equal || notAbove);
  case P::sge: return choose(equal || notBelow, below);
  default: return std::nullopt;
  }
}

ORTC_ONNX_OP("If", since(1, 11, 13, 16, 19, 21, 23, 24, 25)) {
  Tensor cond = n.input(0, "cond", boolean);
  const Graph &then = n.graphAttr("then_branch"), &otherwise = n.graphAttr("else_branch");
  auto take = [&](llvm::ArrayRef<Tensor> results) {
    if (results.size() != n.numOutputs())
      n.error("a branch has {} outputs; expected {}", results.size(), n.numOutputs());
    for (auto [i, t] : llvm::enumerate(results))
      n.output(i, t);
  };
  for (int64_t d = 0; d < cond.rank(); ++d)
    if (n.size(cond, d).constant() && !n.size(cond, d).is(1))
      n.error("the condition is {}; expected one element", n.typeText(cond));
  std::optional<bool> known;
  if (auto c = n.constantTensor(cond); c && c->size() == 1) known = c->getInt(0, true) != 0;
  Value condition;
  if (!known) {
    if (auto elements = cond.value.getDefiningOp<tensor::FromElementsOp>())
      condition = elements.getElements()[0];
    else {
      SmallVector<Scalar> at(cond.rank(), n.index(0));
      condition = n.at(cond, at).v;
    }
    known = decided(condition);
  }
  if (known) return take(n.graph.importSubgraph(*known ? then : otherwise, {}));
  struct CannotRun {
    bool isThen;
  };
  auto branch = [&](bool isThen) {
    return [&, isThen]() -> std::vector<Tensor> {
      std::optional<std::vector<Tensor>> results = n.graph.importBranch(isThen ? then : otherwise);
      if (!results) throw CannotRun{isThen};
      return *results;
    };
  };
  try {
    take(buildIf(n.b, n.loc, condition, branch(true), branch(false)));
  } catch (CannotRun& bad) {
    // With these sizes a run can only take the other one, which it checks.
    Value other =
        bad.isThen
            ? n.b.create<arith::XOrIOp>(n.loc, condition,
                                        n.b.create<arith::ConstantOp>(n.loc, n.b.getBoolAttr(true)))
            : condition;
    n.b.create<CheckOp>(n.loc, other, "RUN_ERROR",
                        fmt::format("{}: its {} branch cannot have the sizes that this was "
                                    "compiled for",
                                    n.node.describe(), bad.isThen ? "first" : "second"));
    take(n.graph.importSubgraph(bad.isThen ? otherwise : then, {}));
  }
}

} // namespace ortc::opdef
