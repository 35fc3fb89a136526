// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/Places.h"
#include "compiler/lower/LowerKernel.h"

using namespace mlir;

namespace ortc {

bool isProgramBlock(Block* block) {
  for (Operation* p = block->getParentOp(); p; p = p->getParentOp()) {
    if (isa<func::FuncOp>(p)) return true;
    if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp>(p)) return false;
  }
  return false;
}

static bool isPlaced(Type t) {
  return isDenseTensor(t);
}

Sizes Places::contiguousStrides(ArrayRef<OpFoldResult> sizes) {
  Sizes strides(sizes.size(), b.getIndexAttr(1));
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = mulSizes(b, function.getLoc(), strides[d], sizes[d]);
  return strides;
}

bool Places::isContiguous(const PlannedPlace& place, ArrayRef<OpFoldResult> sizes) {
  OpFoldResult want = b.getIndexAttr(1);
  for (size_t d = sizes.size(); d-- > 0;) {
    if (constantSize(sizes[d]) != 1 && !sameSize(place.strides[d], want)) return false;
    want = mulSizes(b, function.getLoc(), want, sizes[d]);
  }
  return true;
}

// ---- copies ----

Value Places::copyOf(Value tensor, Operation* before) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(before);
  auto kernel = b.create<KernelOp>(tensor.getLoc(), TypeRange{tensor.getType()}, "copy",
                                   DictionaryAttr(), DictionaryAttr());
  kernel->setAttr("ortc.copy", b.getUnitAttr());
  b.createBlock(&kernel.getBody());
  b.create<YieldOp>(tensor.getLoc(), tensor);
  ++copies;
  return kernel.getResult(0);
}

/// What a loop carries as its i-th value, in the block that ends with the next one. (Loops with a
/// condition pass all that they carry, in order.)
static Value carriedArgument(Operation* loop, unsigned i) {
  if (auto f = dyn_cast_or_null<scf::ForOp>(loop)) return f.getRegionIterArg(i);
  if (auto w = dyn_cast_or_null<scf::WhileOp>(loop)) return w.getAfterArguments()[i];
  return {};
}

/// Lets `tensor` be written at its target, when it is made by a kernel (or a concatenation) and not
/// claimed yet.
bool Places::claim(Value tensor, Target target) {
  Operation* op = tensor.getDefiningOp();
  if (!op || targets.count(tensor)) return false;
  if (auto reshape = dyn_cast<ReshapeOp>(op); reshape && target.kind == Target::Output) {
    // The same elements under other sizes: claim the source when this is all that is made of it
    // here. The caller is told the sizes before anything is written.
    Operation* source = reshape.getSource().getDefiningOp();
    for (OpFoldResult s : getSizes(b, tensor))
      if (!atStart(s) && (!source || !isKnownBefore(s, source))) return false;
    return claim(reshape.getSource(), target);
  }
  // What a loop fills row by row may be an output itself; needed where its size is data, so that
  // only the caller can give memory for it.
  if (isa<scf::ForOp, scf::WhileOp>(op) && target.kind == Target::Output &&
      llvm::any_of(getSizes(b, tensor), [&](OpFoldResult s) { return !boundAtStart(s); })) {
    targets[tensor] = target;
    return true;
  }
  // A step of the host may write an output, too: its size may be data without a bound.
  bool isStep = isa<HostStepOp>(op) && target.kind == Target::Output;
  if (!isStep && !isa<KernelOp, ConcatOp>(op)) return false;
  targets[tensor] = target;
  return true;
}

void Places::insertCopies(Block& block) {
  // Shapes and splats that something other than a kernel reads are written by a kernel; so are
  // those that a catalogue kernel multiplies with. (Splat constants are weights then, see
  // placeBlock.)
  for (Operation& op : llvm::make_early_inc_range(block)) {
    if (auto kernel = dyn_cast<KernelOp>(op))
      kernel.walk([&](DestinationStyleOpInterface heavy) {
        if (!isa<ContractOp, ConvOp>(heavy)) return;
        for (OpOperand* operand : heavy.getDpsInputOperands()) {
          Operation* source = operand->get().getDefiningOp();
          if (isa_and_nonnull<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(source) &&
              !kernel->isAncestor(source))
            operand->set(copyOf(operand->get(), kernel)), --copies;
        }
      });
    if (isa<KernelOp, linalg::FillOp>(op) ||
        (op.getNumRegions() && !isa<scf::ForOp, scf::WhileOp>(op)))
      continue;
    for (OpOperand& operand : op.getOpOperands()) {
      if (!isPlaced(operand.get().getType())) continue;
      if (auto dps = dyn_cast<DestinationStyleOpInterface>(op); dps && dps.isDpsInit(&operand))
        continue;
      Operation* source = operand.get().getDefiningOp();
      bool inPlace =
          isa_and_nonnull<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(source);
      inPlace |= isInlineConstant(source);
      if (isa<HostStepOp>(op) && isa_and_nonnull<tensor::EmptyOp>(source))
        continue; // the init of a result
      if (inPlace) operand.set(copyOf(operand.get(), &op)), --copies;
    }
  }
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      bool known = true;
      for (OpFoldResult s : getSizes(b, concat.getInit()))
        known &= atStart(s).has_value();
      for (auto [i, source] : llvm::enumerate(concat.getSources())) {
        for (OpFoldResult s : getSizes(b, source))
          known &= atStart(s).has_value();
        bool here = source.getParentBlock() == &block && known;
        // A catalogue kernel writes rows at one distance, which must be seen to be one: sizes that
        // only the run finds equal cost it a copy, which is less than to be written as loops.
        if (auto kernel = source.getDefiningOp<KernelOp>(); kernel && kernel.getChoice()) {
          Sizes mine = getSizes(b, source), whole = getSizes(b, concat.getInit());
          for (size_t d = 0; d < mine.size(); ++d)
            here &= d == concat.getAxis() || sameSize(mine[d], whole[d]);
        }
        if (here && claim(source, {Target::Concat, &op, static_cast<unsigned>(i)})) continue;
        Value copy = copyOf(source, &op);
        concat.getSourcesMutable()[i].set(copy);
        targets[copy] = {Target::Concat, &op, static_cast<unsigned>(i)};
      }
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      for (OpOperand& operand : ret->getOpOperands()) {
        if (!isPlaced(operand.get().getType())) continue;
        unsigned i = operand.getOperandNumber();
        if (operand.get().getParentBlock() == &block &&
            claim(operand.get(), {Target::Output, &op, i}))
          continue;
        Value copy = copyOf(operand.get(), &op);
        operand.set(copy);
        targets[copy] = {Target::Output, &op, i};
      }
    } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
      Operation* parent = op.getParentOp();
      bool loop = isa<scf::ForOp, scf::WhileOp>(parent);
      for (OpOperand& operand : yield->getOpOperands()) {
        if (!isPlaced(operand.get().getType())) continue;
        unsigned i = operand.getOperandNumber();
        Target target{Target::Result, parent, i};
        Value v = operand.get(), old = carriedArgument(parent, i);
        if (loop && v == old) continue; // unchanged
        if (auto insert = v.getDefiningOp<tensor::InsertSliceOp>();
            insert && loop && insert.getDest() == old)
          continue; // written in place
        // In a loop the old value is read until the new one is complete: the new one may be written
        // in its place only when nothing reads the old one at or after the op that makes it.
        bool free = true;
        if (loop && v.getDefiningOp() && v.getParentBlock() == &block)
          for (Operation* user : old.getUsers()) {
            Operation* at = block.findAncestorOpInBlock(*user);
            free &= at && at != v.getDefiningOp() && at->isBeforeInBlock(v.getDefiningOp());
            // a view of the old value lives on in its users
            free &= isa<KernelOp>(at);
          }
        if (free && v.getParentBlock() == &block && claim(v, target)) continue;
        Value copy = copyOf(v, &op);
        operand.set(copy);
        targets[copy] = target;
      }
    } else if (isa<scf::ForOp, scf::WhileOp>(op)) {
      auto loop = cast<LoopLikeOpInterface>(op);
      for (OpOperand& operand : loop.getInitsMutable()) {
        if (!isPlaced(operand.get().getType())) continue;
        unsigned i = operand.getOperandNumber() - loop.getInitsMutable()[0].getOperandNumber();
        Target target{Target::Result, &op, i};
        if (operand.get().getParentBlock() == &block && operand.get().hasOneUse() &&
            claim(operand.get(), target))
          continue;
        Value copy = copyOf(operand.get(), &op);
        operand.set(copy);
        targets[copy] = target;
      }
    }
  }
}

// ---- places ----

static LogicalResult refuseUnbounded(Location where, const Twine& what) {
  auto error = mlir::emitError(where) << what << " depends on data, and has no bound";
  error.attachNote() << "help: fix the inputs that it is computed from (--shape, or constants of "
                        "the model), or do that part elsewhere (--cut-inputs, --cut-outputs)";
  return error;
}

/// The sizes of a buffer in the arena, at most; false: they depend on data, without a bound, and
/// the target cannot wait for them. `at`: where the buffer is needed first.
bool Places::setSizes(PlannedBuffer& buffer, ArrayRef<OpFoldResult> sizes, Operation* at) {
  for (OpFoldResult s : sizes) {
    auto known = boundAtStart(s);
    if (!known) {
      if (!growsArena || !at) return false;
      buffer.sizes.assign(sizes.begin(), sizes.end());
      buffer.madeLate = at;
      boundBeforeLoop(buffer);
      return true;
    }
    buffer.sizes.push_back(*known);
  }
  return true;
}

FailureOr<unsigned> Places::newBuffer(Value tensor, StringRef segment, int64_t number,
                                      Operation* at) {
  PlannedBuffer buffer;
  buffer.segment = segment.str();
  buffer.number = number;
  buffer.name = wishName(tensor);
  buffer.elementType = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (segment == "arena" && !setSizes(buffer, getSizes(b, tensor), at))
    return refuseUnbounded(tensor.getLoc(), "the size of a value that is kept in memory");
  buffers.push_back(std::move(buffer));
  return static_cast<unsigned>(buffers.size() - 1);
}

FailureOr<PlannedPlace> Places::placeResult(Value tensor, Operation* at) {
  if (auto it = places.find(tensor); it != places.end()) return it->second;
  if (!at) at = tensor.getDefiningOp();
  PlannedPlace place;
  place.offset = b.getIndexAttr(0);
  b.setInsertionPoint(start);
  Sizes sizes;
  bool known = true;
  for (OpFoldResult s : getSizes(b, tensor)) {
    sizes.push_back(atStart(s).value_or(s));
    known &= atStart(s).has_value();
  }
  // Arithmetic on sizes that a run computes on its way goes where they are there.
  auto goWhereKnown = [&] { b.setInsertionPoint(known || !at ? start : at); };
  goWhereKnown();
  auto target = targets.find(tensor);
  if (target == targets.end()) {
    auto buffer = newBuffer(tensor, "arena", 0, at);
    if (failed(buffer)) return failure();
    place.buffer = *buffer;
    goWhereKnown();
    place.strides = contiguousStrides(sizes);
  } else if (target->second.kind == Target::Output) {
    auto buffer = newBuffer(tensor, "output", target->second.index);
    if (failed(buffer)) return failure();
    place.buffer = *buffer;
    goWhereKnown();
    place.strides = contiguousStrides(sizes);
  } else if (target->second.kind == Target::Concat) {
    auto concat = cast<ConcatOp>(target->second.op);
    auto whole = placeResult(concat.getResult(), at);
    if (failed(whole)) return failure();
    place = *whole;
    b.setInsertionPoint(start);
    SmallVector<OpFoldResult> pieces;
    for (Value source : concat.getSources().take_front(target->second.index)) {
      OpFoldResult s = getSize(b, source, concat.getAxis());
      pieces.push_back(atStart(s).value_or(s));
      known &= atStart(s).has_value();
    }
    for (OpFoldResult s : getSizes(b, concat.getResult())) // the strides of the whole
      known &= atStart(s).has_value();
    goWhereKnown();
    OpFoldResult before = b.getIndexAttr(0);
    for (OpFoldResult s : pieces)
      before = addSizes(b, tensor.getLoc(), before, s);
    place.offset = addSizes(b, tensor.getLoc(), place.offset,
                            mulSizes(b, tensor.getLoc(), before, place.strides[concat.getAxis()]));
  } else {
    Value result = target->second.op->getResult(target->second.index);
    if (!places.count(result) && targets.count(result)) // a loop whose result is an output
      if (failed(placeResult(result, at))) return failure();
    auto whole = places.find(result);
    if (whole == places.end()) { // what a loop begins with: the sizes are those of the whole loop
      auto buffer = newBuffer(tensor, "arena", 0, at);
      if (failed(buffer)) return failure();
      place.buffer = *buffer;
      goWhereKnown();
      place.strides = contiguousStrides(sizes);
      places[result] = place;
    } else {
      place = whole->second;
    }
  }
  places[tensor] = place;
  return place;
}

/// Strides of a reshaped view: each group of dims that becomes another group must be dense in
/// itself.
std::optional<Sizes> Places::stridesThrough(ReshapeOp reshape, const PlannedPlace& place) {
  Location loc = reshape.getLoc();
  Sizes from = getSizes(b, reshape.getSource()), to = getSizes(b, reshape.getResult());
  Sizes strides(to.size(), b.getIndexAttr(1));
  for (const DimGroup& g : groupDims(from, to)) {
    OpFoldResult step, next;
    for (unsigned d = g.from1; d-- > g.from0;) {
      if (constantSize(from[d]) == 1) continue;
      if (!step)
        step = place.strides[d];
      else if (!sameSize(place.strides[d], next))
        return std::nullopt;
      next = mulSizes(b, loc, place.strides[d], from[d]);
    }
    if (!step) step = b.getIndexAttr(1);
    for (unsigned d = g.to1; d-- > g.to0;) {
      strides[d] = step;
      step = mulSizes(b, loc, step, to[d]);
    }
  }
  return strides;
}

/// A host step takes a pointer and sizes: what lies in memory with gaps (one column of a table) is
/// copied first.
LogicalResult Places::closeUpOperands(HostStepOp step) {
  for (OpOperand& operand : step->getOpOperands()) {
    auto place = places.find(operand.get());
    if (place == places.end()) continue;
    b.setInsertionPoint(step);
    if (isContiguous(place->second, getSizes(b, operand.get()))) continue;
    Value copy = copyOf(operand.get(), step);
    number();
    if (failed(placeResult(copy))) return failure();
    operand.set(copy);
  }
  return success();
}

LogicalResult Places::placeBlock(Block& block) {
  for (Operation& op : llvm::make_early_inc_range(block)) {
    if (auto step = dyn_cast<HostStepOp>(op); step && failed(closeUpOperands(step)))
      return failure();
    for (Value r : op.getResults()) {
      if (!isPlaced(r.getType())) continue;
      if (isa<tensor::EmptyOp, linalg::FillOp, tensor::FromElementsOp>(op)) continue;
      if (auto c = dyn_cast<arith::ConstantOp>(op)) {
        bool multiplied =
            llvm::any_of(r.getUsers(), [](Operation* u) { return isa<ContractOp, ConvOp>(u); });
        if ((isInlineConstant(c) && !multiplied) || r.use_empty()) continue;
        PlannedBuffer buffer;
        // Strings hold addresses: they are tables in the source, not weights.
        bool strings = isa<StringType>(cast<RankedTensorType>(r.getType()).getElementType());
        buffer.segment = strings ? "strings" : "weights";
        if (strings)
          buffer.number = stringTables.size(),
          stringTables.push_back(cast<DenseStringElementsAttr>(c.getValue()));
        buffer.name = wishName(r);
        buffer.elementType = cast<RankedTensorType>(r.getType()).getElementType();
        buffers.push_back(buffer);
        places[r] = {static_cast<unsigned>(buffers.size() - 1), b.getIndexAttr(0),
                     contiguousStrides(getSizes(b, r))};
        continue;
      }
      if (isa<ReshapeOp, tensor::ExtractSliceOp, tensor::CastOp, tensor::InsertSliceOp>(op)) {
        unsigned from = isa<tensor::InsertSliceOp>(op) ? 1 : 0;
        auto source = places.find(op.getOperand(from));
        if (source == places.end()) return op.emitError("reads a tensor that has no place");
        PlannedPlace place = source->second;
        b.setInsertionPoint(&op);
        if (auto reshape = dyn_cast<ReshapeOp>(op)) {
          if (auto strides = stridesThrough(reshape, place)) {
            place.strides = *strides;
            places[r] = place;
            continue;
          }
          if (!isContiguous(place, getSizes(b, reshape.getSource()))) {
            Value copy = copyOf(reshape.getSource(), &op);
            number();
            auto made = placeResult(copy);
            if (failed(made)) return failure();
            reshape.getSourceMutable().assign(copy);
            place = *made;
          }
          b.setInsertionPoint(&op);
          place.strides = contiguousStrides(getSizes(b, r));
        } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
          Sizes strides;
          auto dropped = slice.getDroppedDims();
          for (auto [d, offset, step] :
               llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
            place.offset = addSizes(b, op.getLoc(), place.offset,
                                    mulSizes(b, op.getLoc(), offset, source->second.strides[d]));
            if (!dropped.test(d))
              strides.push_back(mulSizes(b, op.getLoc(), step, source->second.strides[d]));
          }
          place.strides = strides;
        } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
          if (failed(placeInsert(insert, place))) return failure();
        }
        places[r] = place;
        continue;
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (failed(placeBranchResult(branch, cast<OpResult>(r).getResultNumber())))
          return failure();
        continue;
      }
      if (isa<scf::ForOp, scf::WhileOp>(op)) {
        unsigned i = cast<OpResult>(r).getResultNumber();
        // One place for the value before, during and after. The init was claimed for it, or copied
        // to it.
        auto init = placeResult(cast<LoopLikeOpInterface>(op).getInits()[i]);
        if (failed(init)) return failure();
        places[r] = *init;
        places[carriedArgument(&op, i)] = *init;
        if (auto loop = dyn_cast<scf::WhileOp>(op)) places[loop.getBeforeArguments()[i]] = *init;
        continue;
      }
      if (isa<KernelOp, ConcatOp>(op)) {
        if (failed(placeResult(r))) return failure();
        continue;
      }
      if (isa<HostStepOp>(op)) { // dense results of steps (the others are handles)
        if (failed(placeResult(r))) return failure();
        continue;
      }
      return op.emitError() << "has no place for its result of type " << r.getType();
    }
    if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
      for (Region& region : op.getRegions())
        for (Block& inner : region)
          if (failed(placeBlock(inner))) return failure();
  }
  return success();
}

LogicalResult Places::placeInsert(tensor::InsertSliceOp insert, const PlannedPlace& dest) {
  // The piece is copied into its part of the destination, which goes on under the name of the
  // result.
  for (Operation* user : insert.getDest().getUsers())
    if (user != insert.getOperation() && insert->getBlock()->findAncestorOpInBlock(*user) &&
        insert->isBeforeInBlock(insert->getBlock()->findAncestorOpInBlock(*user)))
      return insert.emitError("the tensor that is written to is read again afterwards");
  PlannedPlace part = dest;
  Sizes strides;
  auto dropped = insert.getDroppedDims();
  b.setInsertionPoint(insert);
  for (auto [d, offset, step] :
       llvm::enumerate(insert.getMixedOffsets(), insert.getMixedStrides())) {
    part.offset = addSizes(b, insert.getLoc(), part.offset,
                           mulSizes(b, insert.getLoc(), offset, dest.strides[d]));
    if (!dropped.test(d)) strides.push_back(mulSizes(b, insert.getLoc(), step, dest.strides[d]));
  }
  part.strides = strides;
  Value copy = copyOf(insert.getSource(), insert);
  insert.getSourceMutable().assign(copy);
  places[copy] = part;
  number();
  return success();
}

LogicalResult Places::placeBranchResult(scf::IfOp branch, unsigned i) {
  Value r = branch.getResult(i);
  if (places.count(r)) return success();
  // Sizes differ from branch to branch: the buffer holds the larger, and each branch lays its own
  // out densely.
  PlannedPlace place;
  place.offset = b.getIndexAttr(0);
  auto type = cast<RankedTensorType>(r.getType());
  PlannedBuffer buffer;
  buffer.segment = "arena";
  buffer.name = wishName(r);
  buffer.elementType = type.getElementType();
  b.setInsertionPoint(start);
  OpFoldResult most;
  for (Region* region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    Value yielded = region->front().getTerminator()->getOperand(i);
    OpFoldResult count = b.getIndexAttr(1);
    for (OpFoldResult s : getSizes(b, yielded)) {
      auto known = boundAtStart(s);
      if (!known) return refuseUnbounded(branch.getLoc(), "the size of a branch's result");
      b.setInsertionPoint(start);
      count = mulSizes(b, branch.getLoc(), count, *known);
    }
    most = most ? maxSizes(b, branch.getLoc(), most, count) : count;
  }
  buffer.sizes.push_back(most);
  buffers.push_back(buffer);
  place.buffer = buffers.size() - 1;
  b.setInsertionPointAfter(branch);
  place.strides = contiguousStrides(getSizes(b, r));
  places[r] = place;
  for (Region* region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    Value yielded = region->front().getTerminator()->getOperand(i);
    // The yielded tensor was claimed for, or is a copy to, this place.
    PlannedPlace inner = place;
    b.setInsertionPointToStart(&region->front());
    Sizes sizes;
    bool allKnown = true;
    for (OpFoldResult s : getSizes(b, yielded)) {
      sizes.push_back(atStart(s).value_or(s));
      allKnown &= atStart(s).has_value();
    }
    b.setInsertionPoint(allKnown ? start : region->front().getTerminator());
    inner.strides = contiguousStrides(sizes);
    places[yielded] = inner;
  }
  return success();
}

// ---- time ----

void Places::number() {
  positions.clear();
  int64_t n = 0;
  std::function<void(Block&)> walk = [&](Block& block) {
    for (Operation& op : block) {
      int64_t begin = n++;
      if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
        for (Region& r : op.getRegions())
          for (Block& inner : r)
            walk(inner);
      positions[&op] = {begin, n++};
    }
  };
  walk(function.getBody().front());
}

void Places::extend(Value tensor) {
  auto it = places.find(tensor);
  if (it == places.end()) return;
  PlannedBuffer& buffer = buffers[it->second.buffer];
  Block* home = tensor.getParentBlock();
  Operation* def = tensor.getDefiningOp();
  if (!def) def = home->getParentOp(); // an argument of a loop lives as long as the loop
  if (isa<func::FuncOp>(def)) return;
  auto [begin, end] = positions.lookup(def);
  buffer.first = std::min(buffer.first, begin);
  buffer.last = std::max(buffer.last, isa<BlockArgument>(tensor) ? end : begin);
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(def)) buffer.last = std::max(buffer.last, end);
  for (Operation* user : tensor.getUsers()) {
    // From the user outwards to an op of the block where the tensor is made; loops on the way hold
    // it until they end.
    Operation* at = user;
    while (at && at->getBlock() != home && !isProgramBlock(at->getBlock()))
      at = at->getParentOp();
    int64_t last = 0;
    for (Operation* o = at; o; o = o->getParentOp()) {
      if (!positions.count(o)) continue;
      last = std::max(last, o->getBlock() == home || isa<scf::ForOp, scf::WhileOp>(o)
                                ? positions[o].second
                                : positions[o].first);
      if (o->getBlock() == home) break;
    }
    buffer.last = std::max(buffer.last, last);
  }
}

LogicalResult Places::planWorkspaces() {
  LogicalResult result = success();
  function.walk([&](KernelOp kernel) {
    if (!workspaceOf || failed(result)) return;
    b.setInsertionPoint(kernel);
    auto bytes = workspaceOf(kernel, b);
    if (!bytes) return;
    PlannedBuffer buffer;
    buffer.segment = "arena";
    buffer.name = "workspace";
    buffer.elementType = Float32Type::get(function.getContext());
    bool bounded = boundAtStart(*bytes).has_value();
    b.setInsertionPoint(bounded ? start : kernel);
    OpFoldResult count = ceilDivSizes(b, kernel.getLoc(), bounded ? *boundAtStart(*bytes) : *bytes,
                                      b.getIndexAttr(4));
    if (!setSizes(buffer, count, kernel)) {
      result = refuseUnbounded(kernel.getLoc(), "the workspace of this kernel");
      return;
    }
    std::tie(buffer.first, buffer.last) = positions.lookup(kernel);
    workspaces[kernel] = buffers.size();
    buffers.push_back(std::move(buffer));
  });
  return result;
}

LogicalResult Places::run() {
  Block& entry = function.getBody().front();
  // Dims first: folding puts constants among them.
  SmallVector<Operation*> dims;
  for (Operation& op : entry)
    if (isa<DimOp>(op)) dims.push_back(&op);
  for (Operation* op : llvm::reverse(dims))
    op->moveBefore(&entry, entry.begin());
  start = dims.empty() ? &entry.front() : dims.back()->getNextNode();
  // A marker that stays first, whatever is put in before other ops.
  b.setInsertionPoint(start);
  start = b.create<arith::ConstantIndexOp>(function.getLoc(), 0);
  for (auto [i, arg] : llvm::enumerate(entry.getArguments())) {
    if (!isPlaced(arg.getType())) continue;
    auto buffer = newBuffer(arg, "input", i);
    auto name = function.getArgAttrOfType<StringAttr>(i, "ortc.name");
    if (name) buffers[*buffer].name = name.getValue().str();
    b.setInsertionPoint(start);
    places[arg] = {*buffer, b.getIndexAttr(0), contiguousStrides(getSizes(b, arg))};
  }
  SmallVector<Block*> blocks;
  function.walk([&](Block* block) {
    if (isProgramBlock(block)) blocks.push_back(block);
  });
  for (Block* block : blocks)
    insertCopies(*block);
  number();
  if (failed(placeBlock(entry))) return failure();
  number();
  for (auto& [tensor, place] : places)
    extend(tensor);
  writeInPlace();
  return planWorkspaces();
}

} // namespace ortc
