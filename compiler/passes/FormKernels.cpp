// SPDX-License-Identifier: Apache-2.0
// Decides what is computed together. From the last op to the first, each op joins the kernel of its users when that
// costs nothing, and else starts a kernel of its own, so that its result gets a place in memory.
//
//   elementwise producers       join any kernel that reads them, unless they would be computed again and again there;
//                               cheap ones (casts, transposes, broadcasts) are even copied into several kernels
//   reductions                  join when their users need them per row: softmax and layer norm become one kernel
//   contractions, convolutions  take elementwise users of their result in as an epilogue, nothing else
//   reshape, slices, concat     stay outside when their source is in memory: the planner makes them views
//
// Assumes: simplified tensor IR (no dead ops, transposes folded into contractions). Guarantees: at the function's level
// (and in scf regions) every tensor op is in a kernel, or is a view, a constant or control flow.
#include "compiler/passes/FormKernels.h"
#include "compiler/ir/Sizes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;

namespace ortc {
namespace {

bool isView(Operation* op) { return isa<ReshapeOp, tensor::ExtractSliceOp, tensor::CastOp>(op); }
bool isHeavy(Operation* op) { return isa<ContractOp, ConvOp>(op); }
/// Written in place wherever it is read; never a kernel of its own.
bool isShapeOnly(Operation* op) {
  if (auto c = dyn_cast<arith::ConstantOp>(op)) return isa<TensorType>(c.getType());
  return isa<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(op);
}

linalg::GenericOp asGeneric(Operation* op) { return dyn_cast<linalg::GenericOp>(op); }
bool isParallel(linalg::GenericOp g) { return g && g.getNumReductionLoops() == 0; }

/// Work per element that is not worth a trip through memory.
bool isCheap(Operation* op) {
  auto g = asGeneric(op);
  if (!isParallel(g)) return false;
  unsigned ops = 0;
  bool costly = false;
  g.getRegion().walk([&](Operation* inner) {
    if (isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(inner)) return;
    if (inner->getDialect()->getNamespace() == "math" || isa<scf::ForOp, scf::WhileOp, arith::DivFOp>(inner)) costly = true;
    ++ops;
  });
  return !costly && ops <= 3;
}

/// Does `user` read `value` so that each element is read about once? (Not along loops that value does not have, and not
/// at computed places of which there may be many.)
bool readsOnce(Operation* user, Value value) {
  auto g = asGeneric(user);
  if (!g) return isa<ReshapeOp, tensor::ExtractSliceOp, ConcatOp, tensor::CastOp>(user);
  bool once = true;
  for (OpOperand& operand : g->getOpOperands()) {
    if (operand.get() != value) continue;
    AffineMap map = g.getMatchingIndexingMap(&operand);
    once &= map.isPermutation() || (map.isProjectedPermutation(true) && map.getNumResults() == map.getNumDims());
  }
  // Read by tensor.extract in the body: about once if nothing is summed over.
  bool extracted = false;
  g.getRegion().walk([&](tensor::ExtractOp e) { extracted |= e.getTensor() == value; });
  if (extracted && g.getNumReductionLoops()) once = false;
  return once;
}

/// Is `value` read by `user` only along a prefix of the loops (per row), with the rest of the loops running inside?
bool readsPerRow(Operation* user, Value value) {
  auto g = asGeneric(user);
  if (!g) return isa<ReshapeOp>(user);
  for (OpOperand& operand : g->getOpOperands()) {
    if (operand.get() != value) continue;
    AffineMap map = g.getMatchingIndexingMap(&operand);
    for (AffineExpr e : map.getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(e)) return false;
  }
  bool extracted = false;
  g.getRegion().walk([&](tensor::ExtractOp e) { extracted |= e.getTensor() == value; });
  return !extracted;
}

struct Group {
  unsigned id;
  SmallVector<Operation*> ops; // last first; ops.front() is the root
  Operation* heavy = nullptr;  // the contraction or convolution
  bool onlyEpilogue = true;    // all ops are elementwise over the root's index space, so that a heavy op may join
  bool hasReduction = false;
};

class Former {
public:
  explicit Former(func::FuncOp function) : function(function) {}

  void run() {
    function.walk([&](Block* block) {
      Operation* parent = block->getParentOp();
      if (parent == function.getOperation() || isa<scf::IfOp, scf::ForOp, scf::WhileOp>(parent))
        if (!parent->getParentOfType<linalg::GenericOp>() && !parent->getParentOfType<KernelOp>()) blocks.push_back(block);
    });
    for (Block* block : blocks) formBlock(*block);
  }

private:
  func::FuncOp function;
  SmallVector<Block*> blocks;
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation*, Group*> groupOf;

  static bool isTensorWork(Operation& op) {
    if (isShapeOnly(&op) || op.getNumResults() == 0 || op.getNumRegions() > 1) return false;
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, KernelOp, HostStepOp, tensor::InsertSliceOp>(op)) return false;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    return type && type.getElementType().isIntOrIndexOrFloat();
  }

  void formBlock(Block& block) {
    groupOf.clear();
    groups.clear();
    for (Operation& op : llvm::reverse(block)) {
      if (!isTensorWork(op) || op.use_empty()) continue;
      place(op);
    }
    for (auto& g : groups) build(*g);
  }

  /// Users in this block, by the op of this block that holds them.
  SmallVector<Operation*> usersOf(Operation& op) {
    llvm::SetVector<Operation*> r;
    for (Operation* user : op.getUsers()) {
      Operation* here = op.getBlock()->findAncestorOpInBlock(*user);
      r.insert(here ? here : user);
    }
    return r.takeVector();
  }

  void place(Operation& op) {
    SmallVector<Operation*> users = usersOf(op);
    Group* common = nullptr;
    bool all = true, allGrouped = true;
    for (Operation* user : users) {
      Group* g = groupOf.lookup(user);
      allGrouped &= g != nullptr;
      if (!common) common = g;
      all &= g && g == common;
    }
    if (all && common && mayJoin(op, users, *common)) return join(op, *common);
    if (isView(&op)) return; // of something in memory
    if (isa<ConcatOp>(op)) return; // its sources are written in place
    // Cheap: a copy in each kernel that reads it is better than memory.
    if (allGrouped && isCheap(&op) && users.size() <= 4 && sourcesInMemory(op)) {
      bool fits = llvm::all_of(users, [&](Operation* u) { return mayJoinCheap(op, u, *groupOf.lookup(u)); });
      if (fits) return duplicate(op, users);
    }
    auto g = std::make_unique<Group>();
    g->id = groups.size();
    if (isHeavy(&op)) g->heavy = &op;
    auto generic = asGeneric(&op);
    if (generic && generic.getNumReductionLoops()) g->hasReduction = true, g->onlyEpilogue = false;
    if (!generic && !isHeavy(&op)) g->onlyEpilogue = false;
    if (generic && !isPointwise(generic)) g->onlyEpilogue = false;
    groups.push_back(std::move(g));
    join(op, *groups.back());
  }

  static bool sourcesInMemory(Operation&) { return true; }

  /// Elementwise with the loops of its result, in order (what an epilogue can be).
  static bool isPointwise(linalg::GenericOp g) {
    return isParallel(g) && g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity() && !g.hasIndexSemantics();
  }

  bool mayJoin(Operation& op, ArrayRef<Operation*> users, Group& g) {
    if (isHeavy(&op)) {
      // Becomes the accumulator of an epilogue: all users read it at the element they write.
      if (g.heavy || !g.onlyEpilogue) return false;
      return llvm::all_of(users, [&](Operation* u) { return readsAtIdentity(u, op.getResult(0)); }) &&
             llvm::all_of(g.ops, [&](Operation* o) { return sameShape(o, &op); });
    }
    auto generic = asGeneric(&op);
    if (g.heavy) {
      // Joins the epilogue side only: nothing is computed inside of the sums of a heavy op.
      for (Operation* u : users)
        if (u == g.heavy) return false;
      return generic && isParallel(generic) && isCheap(&op) && llvm::all_of(users, [&](Operation* u) { return readsOnce(u, op.getResult(0)) || isBroadcast(op, u); });
    }
    if (generic && generic.getNumReductionLoops()) {
      // Per row: only where its users stand in one root whose rows it is computed for.
      if (op.getParentOp() != g.ops.front()->getParentOp()) return false;
      return llvm::all_of(users, [&](Operation* u) { return readsPerRow(u, op.getResult(0)); }) && rowsFit(generic, g);
    }
    if (isView(&op) || isParallel(generic) || isa<ConcatOp>(op)) {
      if (isa<ConcatOp>(op)) return false;
      for (Operation* u : users) {
        if (readsOnce(u, op.getResult(0))) continue;
        if (isCheap(&op) || isView(&op)) {
          if (isHeavy(u)) return false;
          continue;
        }
        if (readsPerRow(u, op.getResult(0)) && !isHeavy(u)) continue; // computed once per row, before the inner loop
        return false;
      }
      // Several readers in one kernel: written once where indices agree; sums read it once more each.
      return true;
    }
    return false;
  }

  bool mayJoinCheap(Operation& op, Operation* user, Group& g) {
    if (isHeavy(user)) return false;
    if (g.heavy) return readsOnce(user, op.getResult(0)) || isBroadcast(op, user);
    return true;
  }
  static bool isBroadcast(Operation& op, Operation* user) { return readsPerRow(user, op.getResult(0)); }

  static bool readsAtIdentity(Operation* user, Value value) {
    auto g = asGeneric(user);
    if (!g) return false;
    bool found = false;
    for (OpOperand& operand : g->getOpOperands()) {
      if (operand.get() != value) continue;
      if (!g.getMatchingIndexingMap(&operand).isIdentity()) return false;
      found = true;
    }
    bool extracted = false;
    g.getRegion().walk([&](tensor::ExtractOp e) { extracted |= e.getTensor() == value; });
    return found && !extracted;
  }

  static bool sameShape(Operation* a, Operation* b) {
    OpBuilder builder(a);
    auto ta = cast<RankedTensorType>(a->getResult(0).getType()), tb = cast<RankedTensorType>(b->getResult(0).getType());
    if (ta.getRank() != tb.getRank()) return false;
    return sameSizes(getSizes(builder, a->getResult(0)), getSizes(builder, b->getResult(0)));
  }

  /// A reduction is computed once per row of the kernel only if what it keeps are the outer loops of the root. With
  /// one reader per row and a root that is itself a reduction of the same rows, this holds as well.
  bool rowsFit(linalg::GenericOp reduction, Group& g) {
    // The summed loops come last.
    auto iterators = reduction.getIteratorTypesArray();
    bool sawReduction = false;
    for (auto it : iterators) {
      if (it == utils::IteratorType::reduction) sawReduction = true;
      else if (sawReduction) return false;
    }
    auto root = dyn_cast<RankedTensorType>(g.ops.front()->getResult(0).getType());
    int64_t kept = reduction.getNumParallelLoops();
    if (root.getRank() < kept) return false;
    OpBuilder b(reduction);
    Sizes rows = getSizes(b, reduction.getResult(0)), all = getSizes(b, g.ops.front()->getResult(0));
    for (int64_t d = 0; d < kept; ++d)
      if (!sameSize(rows[d], all[d])) return false;
    return true;
  }

  void join(Operation& op, Group& g) {
    if (isHeavy(&op)) g.heavy = &op;
    auto generic = asGeneric(&op);
    if (generic && generic.getNumReductionLoops()) g.hasReduction = true;
    if (!g.ops.empty() && (!generic || !isPointwise(generic)) && !isHeavy(&op)) g.onlyEpilogue = false;
    g.ops.push_back(&op);
    groupOf[&op] = &g;
  }

  void duplicate(Operation& op, ArrayRef<Operation*> users) {
    OpBuilder b(&op);
    DenseMap<Group*, Operation*> copies;
    for (Operation* user : users) {
      Group* g = groupOf.lookup(user);
      Operation*& copy = copies[g];
      if (!copy) {
        copy = copies.size() == 1 ? &op : b.clone(op);
        join(*copy, *g);
      }
      if (copy != &op)
        for (OpOperand& use : llvm::make_early_inc_range(op.getUses()))
          if (op.getBlock()->findAncestorOpInBlock(*use.getOwner()) == user) use.set(copy->getResult(0));
    }
  }

  void build(Group& g) {
    Operation* root = g.ops.front();
    // Views at the border whose source is outside stay outside: the planner makes them free.
    llvm::SmallPtrSet<Operation*, 16> inside(g.ops.begin(), g.ops.end());
    for (Operation* op : llvm::reverse(g.ops)) {
      if (!isView(op) || op == root) continue;
      Operation* source = op->getOperand(0).getDefiningOp();
      if (!source || !inside.contains(source)) inside.erase(op);
    }
    OpBuilder b(root);
    auto kernel = b.create<KernelOp>(root->getLoc(), root->getResultTypes(), "kernel", DictionaryAttr(), DictionaryAttr());
    Block* body = b.createBlock(&kernel.getBody());
    SmallVector<Operation*> ordered;
    for (Operation* op : llvm::reverse(g.ops))
      if (inside.contains(op)) ordered.push_back(op);
    llvm::sort(ordered, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
    SmallVector<Location> locs;
    for (Operation* op : ordered) {
      op->moveBefore(body, body->end());
      locs.push_back(op->getLoc());
    }
    b.setInsertionPointToEnd(body);
    b.create<YieldOp>(root->getLoc(), root->getResults());
    root->getResult(0).replaceUsesWithIf(kernel.getResult(0), [&](OpOperand& use) { return !kernel->isProperAncestor(use.getOwner()); });
    kernel->setLoc(FusedLoc::get(b.getContext(), locs));
  }
};

} // namespace

void formKernels(func::FuncOp function) { Former(function).run(); }

} // namespace ortc
