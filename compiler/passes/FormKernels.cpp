// SPDX-License-Identifier: Apache-2.0
// Decides what is computed together. From the last op to the first, each op joins the kernel of its
// users when that costs nothing, and else starts a kernel of its own, so that its result gets a
// place in memory.
//
//   contractions, convolutions  take the elementwise ops after them as an epilogue: what they
//   compute goes to memory in
//                               any case, so that this is free, and comes before all else
//   elementwise producers       join any kernel that reads them, unless they would be computed
//   again and again there;
//                               cheap ones (casts, transposes, broadcasts) are even copied into
//                               several kernels
//   reductions                  join when their users need them per row: softmax and layer norm
//   become one kernel reshape, slices, concat     stay outside when their source is in memory: the
//   planner makes them views
//
// Assumes: simplified tensor IR (no dead ops, transposes folded into contractions). Guarantees: at
// the function's level (and in scf regions) every tensor op is in a kernel, or is a view, a
// constant or control flow.
#include "compiler/passes/FormKernels.h"
#include "compiler/ir/Sizes.h"
#include "compiler/passes/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;

namespace ortc {
#define GEN_PASS_DEF_FORMKERNELS
#include "compiler/passes/Passes.h.inc"

namespace {

bool isView(Operation* op) {
  return isa<ReshapeOp, tensor::ExtractSliceOp, tensor::CastOp>(op);
}
bool isHeavy(Operation* op) {
  return isa<ContractOp, ConvOp>(op);
}
/// Written in place wherever it is read; never a kernel of its own.
bool isShapeOnly(Operation* op) {
  if (auto c = dyn_cast<arith::ConstantOp>(op)) return isa<TensorType>(c.getType());
  return isa<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(op);
}

linalg::GenericOp asGeneric(Operation* op) {
  return dyn_cast<linalg::GenericOp>(op);
}
bool isParallel(linalg::GenericOp g) {
  return g && g.getNumReductionLoops() == 0;
}

/// Is the index made of numbers that are read, and not of loops?
bool isData(Value index) {
  SetVector<Value> seen; // what an index shares is looked at once
  seen.insert(index);
  for (size_t i = 0; i < seen.size(); ++i)
    if (Operation* op = seen[i].getDefiningOp()) {
      if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) return true;
      seen.insert(op->operand_begin(), op->operand_end());
    }
  return false;
}

/// Does an element come from a place that the data says, and its neighbours, but for a few, from
/// others? No vector is read then, and what is computed together with it is not a vector, either.
bool isScattered(linalg::GenericOp g) {
  constexpr int64_t kShortRow = 32;
  auto shape = cast<RankedTensorType>(g.getResult(0).getType()).getShape();
  const int64_t rowLength = shape.empty() ? 1 : shape.back();
  bool scattered = false;
  g.getRegion().walk([&](tensor::ExtractOp e) {
    if (e.getIndices().empty() || llvm::none_of(e.getIndices(), [](Value i) { return isData(i); }))
      return;
    auto last = e.getIndices().back().getDefiningOp<linalg::IndexOp>();
    scattered |= !last || last.getDim() + 1 != g.getNumLoops() ||
                 (!ShapedType::isDynamic(rowLength) && rowLength < kShortRow);
  });
  return scattered;
}

/// Work per element that is not worth a trip through memory.
bool isCheap(Operation* op) {
  auto g = asGeneric(op);
  if (!isParallel(g)) return false;
  unsigned ops = 0;
  bool costly = false;
  g.getRegion().walk([&](Operation* inner) {
    if (isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(inner)) return;
    if (inner->getDialect()->getNamespace() == "math" ||
        isa<scf::ForOp, scf::WhileOp, arith::DivFOp>(inner))
      costly = true;
    ++ops;
  });
  return !costly && ops <= 3 && !isScattered(g);
}

/// Types of tensors in an epilogue of sums in `element`.
bool isEpilogueType(Type t, Type element) {
  if (!element || t == element) return true;
  if (element.isInteger(32)) return t.isF32() || t.isInteger(8);
  return !isa<FloatType>(element);
}

/// May `g` be in the epilogue of a contraction or convolution? All kernels of catalogues can do
/// arithmetic on what is read along the columns of the result, and nothing else: `element` is the
/// type of it, when it is known.
bool fitsEpilogueOf(linalg::GenericOp g, Type element) {
  if (!isParallel(g) || g.getNumDpsInits() != 1 ||
      !g.getMatchingIndexingMap(g.getDpsInitOperand(0)).isIdentity())
    return false;
  bool fits = true;
  g.getRegion().walk([&](Operation* op) {
    if (!isa<linalg::YieldOp>(op)) fits &= fitsEpilogue(op, element);
  });
  for (OpOperand* operand : g.getDpsInputOperands()) {
    AffineMap map = g.getMatchingIndexingMap(operand);
    fits &= isEpilogueType(getElementTypeOrSelf(operand->get().getType()), element) &&
            map.isProjectedPermutation(true);
    for (auto [d, e] : llvm::enumerate(map.getResults())) // the last loop runs along the last dim
      fits &= e != getAffineDimExpr(g.getNumLoops() - 1, g.getContext()) ||
              d + 1 == map.getNumResults();
  }
  return fits;
}

/// Do the loops of the result that both operands have come before all others? Catalogues count the
/// rows of an epilogue over batches first.
bool batchComesFirst(ContractOp op) {
  bool row = false;
  for (AffineExpr e : op.map(2).getResults()) {
    unsigned l = cast<AffineDimExpr>(e).getPosition();
    bool isBatch = op.map(0).isFunctionOfDim(l) && op.map(1).isFunctionOfDim(l);
    if (isBatch && row) return false;
    row |= !isBatch;
  }
  return true;
}

constexpr uint64_t insideSum = uint64_t(1) << 63;
/// Per dim of a tensor: on which loops of a kernel its index depends when it is read there, as bits
/// (the kernel's root is written by one loop per dim); `insideSum` for loops of reductions.
using Access = SmallVector<uint64_t>;

struct Group {
  unsigned id;
  SmallVector<Operation*> ops;                        // last first; ops.front() is the root
  Operation* heavy = nullptr;                         // the contraction or convolution
  DenseMap<Operation*, SmallVector<Access>> accesses; // how the results of ops are read
  llvm::SmallPtrSet<Operation*, 8> repeated; // ops whose elements are computed more than once
  Operation* root() const { return ops.front(); }
};

uint64_t unionOf(const Access& a) {
  uint64_t m = 0;
  for (uint64_t x : a)
    m |= x;
  return m;
}

/// The loops of `g` on which a value in its body depends; a block argument depends on those that
/// its operand is read by.
uint64_t loopsOf(Value v, linalg::GenericOp g, ArrayRef<uint64_t> loops, unsigned depth = 0) {
  uint64_t all = 0;
  for (uint64_t l : loops)
    all |= l;
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    if (arg.getOwner() != &g.getRegion().front() ||
        !isa<RankedTensorType>(g->getOperand(arg.getArgNumber()).getType()))
      return all;
    uint64_t m = 0;
    for (AffineExpr e : g.getMatchingIndexingMap(&g->getOpOperand(arg.getArgNumber())).getResults())
      e.walk([&](AffineExpr x) {
        if (auto d = dyn_cast<AffineDimExpr>(x)) m |= loops[d.getPosition()];
      });
    return m;
  }
  Operation* op = v.getDefiningOp();
  if (!g->isProperAncestor(op)) return 0;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) return loops[index.getDim()];
  if (op->getNumRegions() || depth > 24) return all;
  uint64_t m = 0;
  for (Value operand : op->getOperands())
    m |= loopsOf(operand, g, loops, depth + 1);
  return m;
}

/// Is every element of `value` read once while all of `user` is computed?
bool readsOnce(Operation* user, Value value) {
  auto g = asGeneric(user);
  if (!g) return isa<ReshapeOp, tensor::ExtractSliceOp, ConcatOp, tensor::CastOp>(user);
  bool once = true;
  for (OpOperand& operand : g->getOpOperands()) {
    if (operand.get() != value) continue;
    AffineMap map = g.getMatchingIndexingMap(&operand);
    once &= map.isPermutation() ||
            (map.isProjectedPermutation(true) && map.getNumResults() == map.getNumDims());
  }
  // Read by tensor.extract in the body: about once if nothing is summed over.
  bool extracted = false;
  g.getRegion().walk([&](tensor::ExtractOp e) { extracted |= e.getTensor() == value; });
  if (extracted && g.getNumReductionLoops()) once = false;
  return once;
}

class Former {
public:
  explicit Former(func::FuncOp function) : function(function) {}

  void run() {
    function.walk([&](Block* block) {
      Operation* parent = block->getParentOp();
      if (parent == function.getOperation() || isa<scf::IfOp, scf::ForOp, scf::WhileOp>(parent))
        if (!parent->getParentOfType<linalg::GenericOp>() && !parent->getParentOfType<SerialOp>() &&
            !parent->getParentOfType<KernelOp>())
          blocks.push_back(block);
    });
    for (Block* block : blocks)
      formBlock(*block);
  }

private:
  func::FuncOp function;
  SmallVector<Block*> blocks;
  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation*, Group*> groupOf;

  static bool isTensorWork(Operation& op) {
    if (isShapeOnly(&op) || op.getNumResults() == 0 || op.getNumRegions() > 1) return false;
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, KernelOp, HostStepOp, tensor::InsertSliceOp>(op))
      return false;
    return isDenseTensor(op.getResult(0).getType());
  }

  void formBlock(Block& block) {
    groupOf.clear();
    groups.clear();
    for (Operation& op : llvm::reverse(block)) {
      if (!isTensorWork(op) || op.use_empty()) continue;
      place(op);
    }
    for (auto& g : groups)
      build(*g);
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

  // ---- how ops of a group are read ----

  /// The accesses to `value` that `user`, a member of `g`, makes.
  void accessesBy(Operation* user, Value value, Group& g, SmallVectorImpl<Access>& out) {
    for (const Access& at : g.accesses[user]) {
      if (auto generic = asGeneric(user)) {
        SmallVector<uint64_t> loops(generic.getNumLoops(), insideSum);
        AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
        for (auto [d, e] : llvm::enumerate(map.getResults()))
          if (auto dim = dyn_cast<AffineDimExpr>(e)) loops[dim.getPosition()] = at[d];
        for (OpOperand& operand : generic->getOpOperands()) {
          if (operand.get() != value || generic.isDpsInit(&operand)) continue;
          Access a;
          for (AffineExpr e : generic.getMatchingIndexingMap(&operand).getResults()) {
            uint64_t m = 0;
            e.walk([&](AffineExpr x) {
              if (auto dim = dyn_cast<AffineDimExpr>(x)) m |= loops[dim.getPosition()];
            });
            a.push_back(m);
          }
          out.push_back(a);
        }
        generic.getRegion().walk([&](tensor::ExtractOp e) {
          if (e.getTensor() != value) return;
          Access a;
          for (Value i : e.getIndices())
            a.push_back(loopsOf(i, generic, loops));
          out.push_back(a);
        });
      } else if (auto reshape = dyn_cast<ReshapeOp>(user)) {
        OpBuilder b(user);
        Sizes from = getSizes(b, value), to = getSizes(b, reshape.getResult());
        Access a(from.size(), 0);
        for (const DimGroup& group : groupDims(from, to)) {
          uint64_t m = 0;
          for (unsigned d = group.to0; d < group.to1; ++d)
            m |= at[d];
          for (unsigned d = group.from0; d < group.from1; ++d)
            if (constantSize(from[d]) != 1) a[d] = m;
        }
        out.push_back(a);
      } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
        Access a;
        auto dropped = slice.getDroppedDims();
        unsigned next = 0;
        for (int64_t d = 0; d < slice.getSourceType().getRank(); ++d)
          a.push_back(dropped.test(d) ? 0 : at[next++]);
        out.push_back(a);
      } else {
        out.push_back(at);
      }
    }
  }

  SmallVector<Access> accessesOf(Operation& op, ArrayRef<Operation*> users, Group& g) {
    SmallVector<Access> all;
    for (Operation* u : users)
      if (g.accesses.count(u)) accessesBy(u, op.getResult(0), g, all);
    return all;
  }

  static Access rootAccess(Operation* root) {
    Access a;
    for (auto [d, s] :
         llvm::enumerate(cast<RankedTensorType>(root->getResult(0).getType()).getShape()))
      a.push_back(s == 1 ? 0 : uint64_t(1) << std::min<size_t>(d, 62));
    return a;
  }

  /// Is the access made in the outermost loops of the kernel only, so that what is read is computed
  /// once there?
  static bool isPerRow(const Access& a, Group& g) {
    uint64_t m = unionOf(a);
    if (m & insideSum) return false;
    for (uint64_t loop : rootAccess(g.root())) {
      if (m == 0) return true;
      if (loop && !(m & loop)) return false;
      m &= ~loop;
    }
    return m == 0;
  }

  // ---- groups around a contraction or convolution ----

  /// The elementwise ops that end in `root`, up to the contraction or convolution whose epilogue
  /// they can be; empty when there is none.
  SmallVector<Operation*> collectEpilogue(Operation& root) {
    SmallVector<Operation*> set;
    if (!isHeavy(&root) && !fitsEpilogueOf(asGeneric(&root), nullptr)) return set;
    llvm::SmallPtrSet<Operation*, 16> members;
    auto add = [&](Operation* op) {
      set.push_back(op);
      members.insert(op);
    };
    add(&root);
    if (isHeavy(&root)) return set;
    unsigned steps =
        0; // everything up to the heavy op is taken, what comes before it joins by other rules
    for (Operation* op = root.getPrevNode(); op && steps < 400; op = op->getPrevNode(), ++steps) {
      if (op->getNumResults() != 1 || op->use_empty() || groupOf.count(op)) continue;
      bool heavy = isHeavy(op);
      if (!heavy && !fitsEpilogueOf(asGeneric(op), nullptr)) continue;
      SmallVector<Operation*> users = usersOf(*op);
      if (!llvm::all_of(users, [&](Operation* u) {
            return members.contains(u) && readsAtIdentity(u, op->getResult(0));
          }))
        continue;
      if (!sameShape(op, &root)) continue;
      add(op);
      if (!heavy) continue;
      Type element = getElementTypeOrSelf(op->getResult(0).getType());
      auto fits = [&](Operation* o) { return fitsEpilogueOf(asGeneric(o), element); };
      auto contract = dyn_cast<ContractOp>(op);
      if ((contract && !batchComesFirst(contract)) ||
          !llvm::all_of(ArrayRef(set).drop_back(), fits))
        return {};
      return set;
    }
    return {};
  }

  // ---- placing ----

  void place(Operation& op) {
    if (groupOf.count(&op)) return;
    SmallVector<Operation*> users = usersOf(op);
    if (SmallVector<Operation*> epilogue = collectEpilogue(op); !epilogue.empty()) {
      Group& g = newGroup(op);
      for (Operation* member : ArrayRef(epilogue).drop_front())
        join(*member, g);
      g.heavy = epilogue.back();
      return;
    }
    Group* common = nullptr;
    bool all = true, allGrouped = true;
    for (Operation* user : users) {
      Group* g = groupOf.lookup(user);
      allGrouped &= g != nullptr;
      if (!common) common = g;
      all &= g && g == common;
    }
    if (all && common && mayJoin(op, users, *common)) return join(op, *common);
    if (isView(&op)) return;       // of something in memory
    if (isa<ConcatOp>(op)) return; // its sources are written in place
    // Cheap: a copy in each kernel that reads it is better than memory.
    if (allGrouped && isCheap(&op) && users.size() <= 4) {
      bool fits = llvm::all_of(
          users, [&](Operation* u) { return mayJoinCheap(op, u, *groupOf.lookup(u)); });
      if (fits) return duplicate(op, users);
    }
    newGroup(op);
  }

  Group& newGroup(Operation& root) {
    groups.push_back(std::make_unique<Group>());
    Group& g = *groups.back();
    g.id = groups.size();
    g.ops.push_back(&root);
    g.accesses[&root].push_back(rootAccess(&root));
    groupOf[&root] = &g;
    return g;
  }

  bool mayJoin(Operation& op, ArrayRef<Operation*> users, Group& g) {
    if (isHeavy(&op) || isa<ConcatOp>(op)) return false;
    auto generic = asGeneric(&op);
    if (g.heavy) {
      // Joins the epilogue side only: nothing is computed inside of the sums of a heavy op.
      for (Operation* u : users)
        if (u == g.heavy) return false;
      return generic && isCheap(&op) &&
             fitsEpilogueOf(generic, getElementTypeOrSelf(g.heavy->getResult(0).getType()));
    }
    for (Operation* u : users) // ops with loops of their own read what is in memory
      if (!asGeneric(u) && !isView(u)) return false;
    SmallVector<Access> accesses = accessesOf(op, users, g);
    if (accesses.empty() || accesses.size() > 8) return false;
    bool perRow = llvm::all_of(accesses, [&](const Access& a) { return isPerRow(a, g); });
    for (Operation* u : users)
      perRow &= !g.repeated.contains(u);
    if (generic && generic.getNumReductionLoops())
      return perRow && rowsAreEnough(generic, g, accesses);
    if (!isView(&op) && !isParallel(generic)) return false;
    if (perRow || isCheap(&op) || isView(&op)) return true;
    for (Operation* u : users)
      if (g.repeated.contains(u) || !readsOnce(u, op.getResult(0))) return false;
    return accesses.size() <= 2;
  }

  /// A large sum that is needed in a few rows only is better spread over threads on its own.
  static bool rowsAreEnough(linalg::GenericOp sum, Group& g, ArrayRef<Access> accesses) {
    auto shape = cast<RankedTensorType>(g.root()->getResult(0).getType()).getShape();
    int64_t rows = 1, all = 1;
    uint64_t m = unionOf(accesses[0]);
    for (auto [d, size] : llvm::enumerate(shape)) {
      if (ShapedType::isDynamic(size)) return true;
      all *= size;
      if (d < 63 && m >> d & 1) rows *= size;
    }
    return rows >= 16 || all < 65536;
  }

  static bool mayJoinCheap(Operation& op, Operation* user, Group& g) {
    if (!asGeneric(user) && !isView(user)) return false;
    return !g.heavy ||
           fitsEpilogueOf(asGeneric(&op), getElementTypeOrSelf(g.heavy->getResult(0).getType()));
  }

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
    auto ta = cast<RankedTensorType>(a->getResult(0).getType()),
         tb = cast<RankedTensorType>(b->getResult(0).getType());
    if (ta.getRank() != tb.getRank()) return false;
    return sameSizes(getSizes(builder, a->getResult(0)), getSizes(builder, b->getResult(0)));
  }

  void join(Operation& op, Group& g) {
    SmallVector<Operation*> users = usersOf(op);
    SmallVector<Access> accesses = accessesOf(op, users, g);
    bool once = true;
    for (Operation* u : users)
      if (g.accesses.count(u)) once &= !g.repeated.contains(u) && readsOnce(u, op.getResult(0));
    if (!once && !llvm::all_of(accesses, [&](const Access& a) { return isPerRow(a, g); }))
      g.repeated.insert(&op);
    g.accesses[&op] = std::move(accesses);
    g.ops.push_back(&op);
    groupOf[&op] = &g;
  }

  void duplicate(Operation& op, ArrayRef<Operation*> users) {
    OpBuilder b(&op);
    // The original stays with the group of the first user; joined last, when it has no other users
    // any more.
    Group* first = groupOf.lookup(users[0]);
    DenseMap<Group*, Operation*> copies;
    for (Operation* user : users) {
      Group* g = groupOf.lookup(user);
      if (g == first) continue;
      Operation*& copy = copies[g];
      bool isNew = !copy;
      if (isNew) copy = b.clone(op);
      for (OpOperand& use : llvm::make_early_inc_range(op.getUses()))
        if (op.getBlock()->findAncestorOpInBlock(*use.getOwner()) == user)
          use.set(copy->getResult(0));
    }
    for (Operation* user : users) {
      Group* g = groupOf.lookup(user);
      if (Operation* copy = copies.lookup(g); copy && !groupOf.count(copy)) join(*copy, *g);
    }
    join(op, *first);
  }

  /// Outer loops of the root that sums inside of the kernel are computed for: those within run many
  /// times per sum.
  static std::optional<int64_t> rowLoops(Group& g) {
    std::optional<int64_t> rows;
    int64_t rank = cast<RankedTensorType>(g.root()->getResult(0).getType()).getRank();
    for (Operation* op : g.ops) {
      auto generic = asGeneric(op);
      if (op == g.root() || !generic || !generic.getNumReductionLoops()) continue;
      int64_t deepest = 0;
      for (const Access& a : g.accesses[op])
        for (int64_t d = 0; d < std::min<int64_t>(rank, 62); ++d)
          if (unionOf(a) >> d & 1) deepest = std::max(deepest, d + 1);
      rows = std::min(rows.value_or(rank), deepest);
    }
    return rows;
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
    auto kernel = b.create<KernelOp>(root->getLoc(), root->getResultTypes(), "kernel",
                                     DictionaryAttr(), DictionaryAttr());
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
    for (auto [inner, outer] : llvm::zip(root->getResults(), kernel.getResults()))
      inner.replaceUsesWithIf(
          outer, [&](OpOperand& use) { return !kernel->isProperAncestor(use.getOwner()); });
    kernel->setLoc(FusedLoc::get(b.getContext(), locs));
    if (auto rows = rowLoops(g)) kernel->setAttr("ortc.rows", b.getI64IntegerAttr(*rows));
  }
};

struct FormKernelsPass : impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override { formKernels(getOperation()); }
};
} // namespace

bool fitsEpilogue(Operation* op, Type element) {
  StringRef dialect = op->getDialect()->getNamespace();
  if (dialect != "arith" && dialect != "math") return false;
  if (element && element.isInteger(32)) {
    // Sums in i32 become floats once, and what comes of it 8 bits: no other arithmetic on integers.
    using namespace arith;
    return llvm::all_of(op->getResultTypes(), [&](Type t) {
      if (t.isInteger(1)) return isa<ConstantOp, CmpFOp, AndIOp, OrIOp, XOrIOp>(op);
      if (t.isInteger(8)) return isa<ConstantOp, FPToSIOp, FPToUIOp>(op);
      if (t.isInteger(32)) return isa<ConstantOp, AddIOp, SubIOp, MulIOp, ExtSIOp, ExtUIOp>(op);
      return t.isF32() && !isa<BitcastOp, ExtFOp, TruncFOp>(op) &&
             (!isa<UIToFPOp>(op) || op->getOperand(0).getType().isInteger(8));
    });
  }
  return llvm::all_of(op->getResultTypes(),
                      [&](Type t) { return t.isInteger(1) || isEpilogueType(t, element); });
}

void formKernels(func::FuncOp function) {
  Former(function).run();
}

} // namespace ortc
