// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/BuildProgram.h"
#include "compiler/plan/Arena.h"
#include "compiler/plan/LateBuffers.h"
#include "compiler/plan/Places.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ortc {
namespace {

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, func::FuncOp main, const ProgramOptions& options)
      : module(module), main(main), options(options), places(main), b(module.getContext()) {}

  FailureOr<ProgramFacts> build() {
    facts.weights = options.weights.value_or(Weights(static_cast<uint64_t>(options.alignment)));
    places.workspaceOf = options.workspace;
    places.growsArena = options.growsArena;
    if (failed(places.run()) || failed(mlir::verify(main))) return failure();
    // Constants get their offsets in the order in which kernels are written, which is that of the
    // program.
    b.setInsertionPoint(main);
    auto run = b.create<func::FuncOp>(main.getLoc(), "run", b.getFunctionType({}, {}));
    run->setAttr("ortc.program", b.getUnitAttr());
    b.setInsertionPointToStart(run.addEntryBlock());
    assignArena();
    if (failed(emitBlock(main.getBody().front()))) return failure();
    b.setInsertionPointToEnd(&run.getBody().front());
    b.create<func::ReturnOp>(main.getLoc());
    IRRewriter rewriter(b.getContext());
    DominanceInfo dominance(run);
    eliminateCommonSubExpressions(rewriter, dominance, run);
    dropUnusedResults(run);
    setModuleAttributes();
    makeOutputBounds();
    main.erase();
    module->setAttr("ortc.weights_bytes",
                    b.getI64IntegerAttr(static_cast<int64_t>(facts.weights.bytes())));
    facts.copies = places.copies;
    return std::move(facts);
  }

private:
  /// Sizes that branches and loops hand on although planning found them known: nobody reads them.
  /// (Only now: in tensor IR the values that follow a tensor say its sizes.)
  static void dropUnusedResults(func::FuncOp run) {
    RewritePatternSet patterns(run.getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, run.getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, run.getContext());
    (void)applyPatternsAndFoldGreedily(run, std::move(patterns));
  }

  ModuleOp module;
  func::FuncOp main;
  const ProgramOptions& options;
  Places places;
  OpBuilder b;
  IRMapping map;
  ProgramFacts facts;
  DenseMap<Value, SmallVector<Value>> bufferOps; // of a tensor, in blocks that are being written
  llvm::StringMap<func::FuncOp> kernelsByText;
  llvm::StringMap<unsigned> kernelNames;
  std::vector<unsigned> arenaBuffers;

  // ---- arena ----

  OpFoldResult bytesOf(const PlannedBuffer& buffer) {
    OpBuilder& mb = places.builder();
    mb.setInsertionPoint(places.startPoint());
    OpFoldResult bytes = mb.getIndexAttr(elementBytes(buffer.elementType));
    for (OpFoldResult s : buffer.sizes)
      bytes = mulSizes(mb, main.getLoc(), bytes, s);
    return bytes;
  }

  static constexpr int64_t kMostBytes = int64_t(1) << 48; // more is no bound that helps anyone

  /// Which tensors are live where most bytes are.
  void nameLiveSet(ArrayRef<ArenaRequest> requests) {
    int64_t most = -1, where = 0;
    for (const ArenaRequest& at : requests) { // the most is reached where some buffer begins
      int64_t live = 0;
      for (const ArenaRequest& r : requests)
        if (r.first <= at.first && at.first <= r.last) live += r.bytes;
      if (live > most) most = live, where = at.first;
    }
    for (auto [i, r] : llvm::zip(arenaBuffers, requests))
      if (r.first <= where && where <= r.last)
        facts.liveSet.emplace_back(places.buffers[i].name, r.bytes);
    llvm::stable_sort(facts.liveSet, [](auto& x, auto& y) { return x.second > y.second; });
  }

  void assignArena() {
    std::vector<ArenaRequest> requests;
    std::vector<OpFoldResult> bytes;
    bool bounded = true, anyLate = false;
    for (auto [i, buffer] : llvm::enumerate(places.buffers)) {
      if (buffer.segment != "arena" || buffer.last < 0) continue;
      anyLate |= buffer.madeLate != nullptr;
      if (buffer.madeLate) continue;
      arenaBuffers.push_back(i);
      bytes.push_back(bytesOf(buffer));
      int64_t high = indexRange(bytes.back()).second;
      bounded &= high < kMostBytes;
      requests.push_back({high, buffer.first, buffer.last});
    }
    if (bounded) {
      facts.arenaBytes = assignOffsets(requests, options.alignment);
      facts.largestLiveSet = largestLiveSet(requests, options.alignment);
      nameLiveSet(requests);
      for (auto [i, r] : llvm::zip(arenaBuffers, requests))
        places.buffers[i].byteOffset = b.getIndexAttr(r.offset);
      if (anyLate) return placeLate(b.getIndexAttr(*std::exchange(facts.arenaBytes, {})));
      module->setAttr("ortc.arena_bytes", b.getI64IntegerAttr(*facts.arenaBytes));
      return;
    }
    // Sizes without a bound: slots, whose offsets are sums of what a run needs.
    std::vector<int64_t> slot;
    int64_t count = assignSlots(requests, slot);
    OpBuilder& mb = places.builder();
    mb.setInsertionPoint(places.startPoint());
    std::vector<OpFoldResult> sizes(count, mb.getIndexAttr(0)), offsets;
    for (size_t i = 0; i < requests.size(); ++i)
      sizes[slot[i]] = maxSizes(mb, main.getLoc(), sizes[slot[i]], bytes[i]);
    OpFoldResult total = mb.getIndexAttr(0), unit = mb.getIndexAttr(options.alignment);
    for (OpFoldResult s : sizes) {
      offsets.push_back(total);
      total = addSizes(mb, main.getLoc(), total,
                       mulSizes(mb, main.getLoc(), ceilDivSizes(mb, main.getLoc(), s, unit), unit));
    }
    for (size_t i = 0; i < requests.size(); ++i)
      places.buffers[arenaBuffers[i]].byteOffset = offsets[slot[i]];
    arenaTotal = total;
    if (anyLate) placeLate(total);
  }
  /// The dims say what a run needs at least; the arena has no fixed size.
  void placeLate(OpFoldResult known) {
    arenaTotal = known;
    placeLateBuffers(main, places.buffers, known, options.alignment);
  }
  OpFoldResult arenaTotal;

  // ---- values ----

  /// The value in the program. Arithmetic on sizes that planning made where it was already passed
  /// is written here.
  Value mapped(Value v) {
    if (Value here = map.lookupOrNull(v)) return here;
    Operation* op = v.getDefiningOp();
    assert(op && op->getNumRegions() == 0 && "only arithmetic may be missing");
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, mapped(operand));
    return b.clone(*op, operands)->getResult(cast<OpResult>(v).getResultNumber());
  }
  Value mappedSize(OpFoldResult s) {
    if (auto c = constantSize(s)) return b.create<arith::ConstantIndexOp>(main.getLoc(), *c);
    return mapped(cast<Value>(s));
  }

  /// The buffer op of a tensor: where its first element lies.
  Value bufferOf(Value tensor) {
    for (Value v : bufferOps[tensor]) {
      for (Block* at = b.getInsertionBlock(); at;
           at = at->getParentOp() ? at->getParentOp()->getBlock() : nullptr)
        if (v.getParentBlock() == at) return v;
    }
    const PlannedPlace* place = places.find(tensor);
    if (!place) { // weights that a catalogue kernel has packed for itself
      auto constant = tensor.getDefiningOp<arith::ConstantOp>();
      HostTensor data = toHostTensor(cast<ElementsAttr>(constant.getValue()));
      Value at = b.create<arith::ConstantIndexOp>(
          tensor.getLoc(), static_cast<int64_t>(facts.weights.add(data, wishName(tensor))));
      return b.create<BufferOp>(tensor.getLoc(),
                                MemRefType::get({ShapedType::kDynamic}, data.elementType),
                                wishName(tensor), "weights", 0, at);
    }
    PlannedBuffer& buffer = places.buffers[place->buffer];
    if (buffer.segment == "weights" && !buffer.byteOffset) {
      auto constant = tensor.getDefiningOp<arith::ConstantOp>();
      for (Value v = tensor; !constant;) { // a view of a constant
        v = v.getDefiningOp()->getOperand(0);
        constant = v.getDefiningOp<arith::ConstantOp>();
      }
      HostTensor data = toHostTensor(cast<ElementsAttr>(constant.getValue()));
      buffer.byteOffset =
          b.getIndexAttr(static_cast<int64_t>(facts.weights.add(data, buffer.name)));
    }
    OpFoldResult offset = place->offset;
    Location loc = tensor.getLoc();
    auto unit = static_cast<int64_t>(elementBytes(buffer.elementType));
    Value at;
    auto c = constantSize(offset);
    auto base = buffer.byteOffset ? constantSize(buffer.byteOffset) : std::optional<int64_t>(0);
    if (c && base) {
      if (*base || *c || buffer.segment == "arena" || buffer.segment == "weights")
        at = b.create<arith::ConstantIndexOp>(loc, *base + *c * unit);
    } else {
      at = b.createOrFold<arith::MulIOp>(loc, mappedSize(offset),
                                         b.create<arith::ConstantIndexOp>(loc, unit));
      if (buffer.byteOffset)
        at = b.createOrFold<arith::AddIOp>(loc, mappedSize(buffer.byteOffset), at);
    }
    auto type = MemRefType::get({ShapedType::kDynamic}, buffer.elementType);
    std::string name = wishName(tensor);
    if (buffer.segment == "input" || name.empty()) name = buffer.name;
    Value v = b.create<BufferOp>(loc, type, name, buffer.segment, buffer.number, at);
    bufferOps[tensor].push_back(v);
    return v;
  }

  /// The bytes from a tensor's first element to the end of the buffer that it lies in; 0: of an
  /// input or output, all.
  Value bytesBehind(Value tensor) {
    Location loc = main.getLoc();
    auto constantBytes = [&](Value v) {
      return static_cast<int64_t>(
          toHostTensor(cast<ElementsAttr>(v.getDefiningOp<arith::ConstantOp>().getValue()))
              .bytes());
    };
    const PlannedPlace* place = places.find(tensor);
    if (!place) return b.create<arith::ConstantIndexOp>(loc, constantBytes(tensor));
    PlannedBuffer& buffer = places.buffers[place->buffer];
    OpFoldResult all = b.getIndexAttr(0), offset = place->offset;
    if (buffer.segment == "arena") {
      all = bytesOf(buffer);
    } else if (buffer.segment == "weights") {
      Value v = tensor;
      while (!v.getDefiningOp<arith::ConstantOp>())
        v = v.getDefiningOp()->getOperand(0);
      all = b.getIndexAttr(constantBytes(v));
    } else {
      return b.create<arith::ConstantIndexOp>(loc, 0);
    }
    auto unit = static_cast<int64_t>(storageBytes(buffer.elementType));
    if (constantSize(all) && constantSize(offset))
      return b.create<arith::ConstantIndexOp>(loc,
                                              *constantSize(all) - *constantSize(offset) * unit);
    Value total = mappedSize(all);
    if (constantSize(offset) == 0) return total;
    return b.createOrFold<arith::SubIOp>(
        loc, total,
        b.createOrFold<arith::MulIOp>(loc, mappedSize(offset),
                                      b.create<arith::ConstantIndexOp>(loc, unit)));
  }

  // ---- kernels ----

  /// Equal kernels are one function, whatever nodes they come from.
  func::FuncOp shared(func::FuncOp function) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto nodes = function->getAttrOfType<ArrayAttr>("ortc.nodes");
    SmallVector<Attribute> names;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      names.push_back(function.getArgAttr(i, "ortc.name"));
      function.removeArgAttr(i, b.getStringAttr("ortc.name"));
    }
    std::string name = function.getName().str();
    function->removeAttr("ortc.nodes");
    function.setName("k");
    function->print(os, OpPrintingFlags().useLocalScope().enableDebugInfo(false));
    function.setName(name);
    auto [it, isNew] = kernelsByText.try_emplace(os.str(), function);
    if (!isNew) {
      SmallVector<Attribute> all(it->second->getAttrOfType<ArrayAttr>("ortc.nodes").getValue());
      for (Attribute n : nodes)
        if (!llvm::is_contained(all, n)) all.push_back(n);
      it->second->setAttr("ortc.nodes", b.getArrayAttr(all));
      function.erase();
      return it->second;
    }
    for (auto [i, n] : llvm::enumerate(names))
      if (n) function.setArgAttr(i, "ortc.name", n);
    function->setAttr("ortc.nodes", nodes);
    unsigned& used = kernelNames[name];
    if (used++) function.setName(name + "_" + std::to_string(used));
    return function;
  }

  /// What was chosen cannot be written where the operands have come to lie: say what it is instead.
  void noteLoops(KernelOp kernel) {
    DictionaryAttr choice = kernel.getChoiceAttr();
    auto name = choice ? choice.getAs<StringAttr>("kernel") : StringAttr();
    if (!name || name.getValue() == "loops") return;
    NamedAttrList loops;
    loops.set("kernel", b.getStringAttr("loops"));
    loops.set("in_place_of", name);
    loops.set("parameters", b.getDictionaryAttr({}));
    if (auto next = choice.getAs<StringAttr>("next"); next && next.getValue() == "loops")
      loops.set("cost_us", choice.get("next_us"));
    kernel.setChoiceAttr(loops.getDictionary(b.getContext()));
  }

  LogicalResult emitKernel(KernelOp kernel) {
    auto stridesOf = [&](Value tensor) -> Sizes {
      const PlannedPlace* p = places.find(tensor);
      assert(p && "every tensor that a kernel reads has a place");
      return p->strides;
    };
    for (Value v : kernel.getResults())
      if (const PlannedPlace* p = places.find(v))
        if (const PlannedBuffer& buffer = places.buffers[p->buffer]; buffer.segment == "output")
          emitOutputDims(static_cast<unsigned>(buffer.number), /*atStart=*/false);
    FailureOr<LoweredKernel> lowered = failure();
    bool written = false;
    if (options.writeChoice && kernel.getChoice()) {
      lowered = options.writeChoice(kernel, module, stridesOf, facts.weights);
      if (failed(lowered)) return failure();
      written = static_cast<bool>(lowered->function);
      if (written && failed(tidyKernel(lowered->function))) return failure();
    }
    if (!written) noteLoops(kernel);
    if (!written) lowered = lowerKernel(kernel, module, options.schedule(kernel), stridesOf);
    if (failed(lowered)) return failure();
    SmallVector<Value> args, bytes;
    auto pass = [&](Value tensor) {
      args.push_back(bufferOf(tensor));
      if (options.bufferBytes) bytes.push_back(bytesBehind(tensor));
    };
    for (Value v : lowered->inputs)
      pass(v);
    for (Value v : kernel.getResults())
      pass(v);
    if (lowered->hasWorkspace) {
      auto it = places.workspaces.find(kernel);
      if (it == places.workspaces.end())
        return kernel.emitError("uses a workspace that was not planned");
      Value at = mappedSize(places.buffers[it->second].byteOffset);
      args.push_back(b.create<BufferOp>(kernel.getLoc(),
                                        MemRefType::get({ShapedType::kDynamic}, b.getF32Type()),
                                        "workspace", "arena", 0, at));
      if (options.bufferBytes) bytes.push_back(mappedSize(bytesOf(places.buffers[it->second])));
    }
    for (Value v : lowered->scalars)
      args.push_back(mapped(v));
    llvm::append_range(args, bytes);
    func::FuncOp function = shared(lowered->function);
    b.create<LaunchOp>(kernel.getLoc(), function.getName(), args);
    ++facts.launches;
    return success();
  }

  // ---- blocks ----

  llvm::DenseSet<unsigned> dimsTold; // outputs whose sizes the caller was told

  /// Tells the caller the sizes of output `i` before anything is written to it: at the start of the
  /// run when they are known then, else (sizes that depend on data or on a branch) before the
  /// launch that writes it.
  void emitOutputDims(unsigned i, bool atStart) {
    auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
    Value result = ret.getOperand(i);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || dimsTold.contains(i)) return;
    OpBuilder& mb = places.builder();
    mb.setInsertionPoint(atStart ? places.startPoint() : ret);
    SmallVector<OpFoldResult> sizes;
    bool known = true;
    for (OpFoldResult s : getSizes(mb, result)) {
      auto k = places.atStart(s);
      known &= k.has_value();
      sizes.push_back(k.value_or(s));
    }
    if (atStart && !known) return;
    SmallVector<Value> values;
    for (OpFoldResult s : sizes)
      values.push_back(mappedSize(s));
    b.create<OutputDimsOp>(ret.getLoc(), i, elementBytes(type.getElementType()), values);
    dimsTold.insert(i);
  }

  llvm::DenseSet<Operation*> checksMade;

  /// What can be checked when the run begins is checked then, once, before sizes that would not
  /// make sense are told to anyone.
  void emitChecksAtStart() {
    SmallVector<Value> known;
    for (auto check : main.getBody().front().getOps<CheckOp>()) {
      auto condition = places.atStart(OpFoldResult(check.getCondition()));
      if (!condition) continue;
      checksMade.insert(check);
      if (auto c = constantSize(*condition); c && *c) continue;
      OpBuilder& mb = places.builder();
      mb.setInsertionPoint(places.startPoint());
      Value v = cast<Value>(*condition);
      if (llvm::any_of(known, [&](Value k) { return sameSize(OpFoldResult(k), OpFoldResult(v)); }))
        continue;
      known.push_back(v);
      b.create<CheckOp>(check.getLoc(), mapped(v), check.getStatusAttr(), check.getMessageAttr(),
                        check.getOfDataAttr());
    }
  }

  LogicalResult emitBlock(Block& block) {
    for (Operation& op : block) {
      if (failed(emit(op))) return failure();
    }
    return success();
  }

  bool isTensor(Type t) { return isa<RankedTensorType>(t); }

  LogicalResult emit(Operation& op) {
    if (&op == places.startPoint()) {
      // All sizes that a run begins with are computed: check what the caller gave before anything
      // is written.
      b.clone(op, map);
      emitChecksAtStart();
      if (arenaTotal) b.create<RequireArenaOp>(main.getLoc(), mappedSize(arenaTotal));
      for (unsigned i = 0, e = main.getNumResults(); i < e; ++i)
        emitOutputDims(i, /*atStart=*/true);
      return success();
    }
    if (auto kernel = dyn_cast<KernelOp>(op)) return emitKernel(kernel);
    if (isa<CheckOp>(op) && checksMade.contains(&op)) return success();
    if (auto ret = dyn_cast<func::ReturnOp>(op)) return emitLists(ret);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      // Read back by the host.
      const PlannedPlace* place = places.find(extract.getTensor());
      if (!place) return op.emitError("reads a tensor that has no place");
      Value linear = b.create<arith::ConstantIndexOp>(op.getLoc(), 0);
      for (auto [i, stride] : llvm::zip(extract.getIndices(), place->strides))
        linear = b.createOrFold<arith::AddIOp>(
            op.getLoc(), linear,
            b.createOrFold<arith::MulIOp>(op.getLoc(), mapped(i), mappedSize(stride)));
      map.map(
          extract.getResult(),
          b.create<memref::LoadOp>(op.getLoc(), bufferOf(extract.getTensor()), linear).getResult());
      return success();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) return emitIf(branch);
    if (auto loop = dyn_cast<scf::ForOp>(op)) return emitFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return emitWhile(loop);
    if (auto step = dyn_cast<HostStepOp>(op)) return emitStep(step);
    // Views and shapes are gone; constants and arithmetic on scalars stay.
    if (llvm::any_of(op.getResultTypes(), [&](Type t) { return isTensor(t); })) return success();
    if (op.getNumRegions()) return op.emitError("has no counterpart in a program");
    b.clone(op, map);
    return success();
  }

  /// A step takes each tensor as its buffer and its sizes; lists and maps are handles. Dense
  /// results are buffers, too, after the arguments.
  LogicalResult emitStep(HostStepOp step) {
    SmallVector<Value> args;
    auto add = [&](Value v) {
      if (v.getDefiningOp<tensor::EmptyOp>()) return; // the init of a result
      if (!isTensor(v.getType())) return args.push_back(mapped(v));
      args.push_back(bufferOf(v));
      OpBuilder& mb = places.builder();
      mb.setInsertionPoint(step);
      for (OpFoldResult s : getSizes(mb, v))
        args.push_back(mappedSize(s));
    };
    for (Value v : step.getArguments())
      add(v);
    SmallVector<Type> types;
    for (Value r : step.getResults()) {
      if (isTensor(r.getType())) {
        if (const PlannedPlace* p = places.find(r))
          if (const PlannedBuffer& buffer = places.buffers[p->buffer]; buffer.segment == "output")
            emitOutputDims(static_cast<unsigned>(buffer.number), /*atStart=*/false);
        add(r);
      } else
        types.push_back(r.getType());
    }
    auto made =
        b.create<HostStepOp>(step.getLoc(), types, step.getStep(), args, step.getSettingsAttr());
    unsigned next = 0;
    for (Value r : step.getResults())
      if (!isTensor(r.getType())) map.map(r, made.getResult(next++));
    return success();
  }

  /// Lists and maps that the model returns are handed to the caller at the end.
  LogicalResult emitLists(func::ReturnOp ret) {
    for (OpOperand& operand : ret->getOpOperands()) {
      if (isTensor(operand.get().getType())) continue;
      if (!isa<ListType, MapType>(operand.get().getType()))
        return ret.emitError() << "cannot return a value of type " << operand.get().getType();
      if (isa<BlockArgument>(operand.get()))
        return ret.emitError("an input that is a list or map cannot be an output, too");
      auto number = b.getNamedAttr("number", b.getI64IntegerAttr(operand.getOperandNumber()));
      b.create<HostStepOp>(ret.getLoc(), TypeRange{}, "set_output",
                           ValueRange{mapped(operand.get())}, b.getDictionaryAttr(number));
    }
    return success();
  }

  SmallVector<Value> scalarsOf(ValueRange values) {
    SmallVector<Value> r;
    for (Value v : values)
      if (!isTensor(v.getType())) r.push_back(mapped(v));
    return r;
  }

  LogicalResult emitInto(Block& from, Block& to) {
    OpBuilder::InsertionGuard guard(b);
    if (!to.empty() && to.back().hasTrait<OpTrait::IsTerminator>()) to.back().erase();
    b.setInsertionPointToEnd(&to);
    for (Operation& op : from.without_terminator())
      if (failed(emit(op))) return failure();
    b.create<scf::YieldOp>(from.getTerminator()->getLoc(),
                           scalarsOf(from.getTerminator()->getOperands()));
    return success();
  }

  LogicalResult emitIf(scf::IfOp branch) {
    SmallVector<Type> types;
    for (Type t : branch.getResultTypes())
      if (!isTensor(t)) types.push_back(t);
    auto made =
        b.create<scf::IfOp>(branch.getLoc(), types, mapped(branch.getCondition()), true, true);
    if (made.getThenRegion().empty()) b.createBlock(&made.getThenRegion());
    if (failed(emitInto(branch.getThenRegion().front(), made.getThenRegion().front())))
      return failure();
    if (!branch.getElseRegion().empty() &&
        failed(emitInto(branch.getElseRegion().front(), made.getElseRegion().front())))
      return failure();
    b.setInsertionPointAfter(made);
    unsigned next = 0;
    for (Value r : branch.getResults())
      if (!isTensor(r.getType())) map.map(r, made.getResult(next++));
    return success();
  }

  LogicalResult emitFor(scf::ForOp loop) {
    auto made = b.create<scf::ForOp>(loop.getLoc(), mapped(loop.getLowerBound()),
                                     mapped(loop.getUpperBound()), mapped(loop.getStep()),
                                     scalarsOf(loop.getInitArgs()));
    map.map(loop.getInductionVar(), made.getInductionVar());
    unsigned next = 0;
    for (Value arg : loop.getRegionIterArgs())
      if (!isTensor(arg.getType())) map.map(arg, made.getRegionIterArg(next++));
    if (failed(emitInto(*loop.getBody(), *made.getBody()))) return failure();
    b.setInsertionPointAfter(made);
    next = 0;
    for (Value r : loop.getResults())
      if (!isTensor(r.getType())) map.map(r, made.getResult(next++));
    return success();
  }

  LogicalResult emitWhile(scf::WhileOp loop) {
    SmallVector<Value> inits = scalarsOf(loop.getInits());
    TypeRange types = ValueRange(inits).getTypes();
    auto made = b.create<scf::WhileOp>(loop.getLoc(), types, inits);
    SmallVector<Location> locs(inits.size(), loop.getLoc());
    auto mapScalars = [&](ValueRange from, ValueRange to) {
      unsigned next = 0;
      for (Value v : from)
        if (!isTensor(v.getType())) map.map(v, to[next++]);
    };
    Block* before = b.createBlock(&made.getBefore(), {}, types, locs);
    mapScalars(loop.getBeforeArguments(), before->getArguments());
    auto condition = loop.getConditionOp();
    for (Operation& op : loop.getBeforeBody()->without_terminator())
      if (failed(emit(op))) return failure();
    b.create<scf::ConditionOp>(loop.getLoc(), mapped(condition.getCondition()),
                               scalarsOf(condition.getArgs()));
    Block* after = b.createBlock(&made.getAfter(), {}, types, locs);
    mapScalars(loop.getAfterArguments(), after->getArguments());
    if (failed(emitInto(*loop.getAfterBody(), *after))) return failure();
    b.setInsertionPointAfter(made);
    mapScalars(loop.getResults(), made.getResults());
    return success();
  }

  // ---- what the bundle says of its inputs and outputs ----

  Attribute dimsOf(ArrayRef<int64_t> shape, ArrayAttr names) {
    SmallVector<Attribute> dims;
    for (auto [i, s] : llvm::enumerate(shape)) {
      if (!ShapedType::isDynamic(s))
        dims.push_back(b.getI64IntegerAttr(s));
      else if (names && isa<StringAttr>(names[i]))
        dims.push_back(names[i]);
      else
        dims.push_back(b.getUnitAttr()); // computed by the run
    }
    return b.getArrayAttr(dims);
  }

  void setModuleAttributes() {
    SmallVector<Attribute> ins, outs;
    OpBuilder& mb = places.builder();
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      NamedAttrList d;
      d.set("name", main.getArgAttr(i, "ortc.name"));
      d.set("dtype", main.getArgAttr(i, "ortc.dtype"));
      if (auto t = dyn_cast<RankedTensorType>(main.getArgumentTypes()[i]))
        d.set("dims", dimsOf(t.getShape(), main.getArgAttrOfType<ArrayAttr>(i, "ortc.dims")));
      ins.push_back(d.getDictionary(b.getContext()));
    }
    auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      NamedAttrList d;
      d.set("name", main.getResultAttr(i, "ortc.name"));
      d.set("dtype", main.getResultAttr(i, "ortc.dtype"));
      if (isa<ListType>(ret.getOperand(i).getType())) {
        d.set("dtype", b.getI64IntegerAttr(100)); // ORTC_LIST
        d.set("dims", b.getArrayAttr({b.getUnitAttr()}));
      } else if (isa<MapType>(ret.getOperand(i).getType())) {
        d.set("dtype", b.getI64IntegerAttr(101)); // ORTC_MAP
      }
      if (isTensor(ret.getOperand(i).getType())) {
        SmallVector<Attribute> dims;
        mb.setInsertionPoint(ret);
        for (OpFoldResult s : getSizes(mb, ret.getOperand(i))) {
          // The same reduction to what a run begins with as for output_dims, so that both agree on
          // what is known.
          OpFoldResult size = places.atStart(s).value_or(s);
          Value v = dyn_cast<Value>(size);
          auto dim = v ? v.getDefiningOp<DimOp>() : DimOp();
          if (auto c = constantSize(size))
            dims.push_back(b.getI64IntegerAttr(*c));
          else
            dims.push_back(dim ? Attribute(dim.getNameAttr()) : Attribute(b.getUnitAttr()));
        }
        d.set("dims", b.getArrayAttr(dims));
      }
      outs.push_back(d.getDictionary(b.getContext()));
    }
    SmallVector<Attribute> tables;
    for (DenseStringElementsAttr t : places.stringTables) {
      SmallVector<Attribute> strings;
      for (StringRef s : t.getValues<StringRef>())
        strings.push_back(b.getStringAttr(s));
      tables.push_back(b.getArrayAttr(strings));
    }
    if (!tables.empty()) module->setAttr("ortc.string_tables", b.getArrayAttr(tables));
    module->setAttr("ortc.inputs", b.getArrayAttr(ins));
    module->setAttr("ortc.outputs", b.getArrayAttr(outs));
  }

  /// @output_bounds: for outputs whose sizes the run computes, no less than these, from the dims
  /// alone. An output of which a size has no such bound is left out.
  void makeOutputBounds() {
    b.setInsertionPointAfter(module.lookupSymbol("run"));
    auto bounds = b.create<func::FuncOp>(main.getLoc(), "output_bounds", b.getFunctionType({}, {}));
    b.setInsertionPointToStart(bounds.addEntryBlock());
    auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
    DenseMap<Value, Value> copies;
    bool any = false;
    for (auto [i, output] : llvm::enumerate(module->getAttrOfType<ArrayAttr>("ortc.outputs"))) {
      auto type = dyn_cast<RankedTensorType>(ret.getOperand(i).getType());
      auto dims = cast<DictionaryAttr>(output).getAs<ArrayAttr>("dims");
      if (!type || !llvm::any_of(dims, [](Attribute d) { return isa<UnitAttr>(d); })) continue;
      SmallVector<Value> most;
      OpBuilder& mb = places.builder();
      mb.setInsertionPoint(ret);
      for (OpFoldResult s : getSizes(mb, ret.getOperand(i)))
        if (std::optional<OpFoldResult> bound = boundOf(s))
          most.push_back(sizeValue(
              b, main.getLoc(),
              constantSize(*bound)
                  ? *bound
                  : computedAgain(b, cast<Value>(*bound), [](Value) { return false; }, copies)));
      if (most.size() != static_cast<size_t>(type.getRank())) continue;
      any = true;
      b.create<OutputDimsOp>(ret.getLoc(), i, elementBytes(type.getElementType()), most);
    }
    b.create<func::ReturnOp>(main.getLoc());
    if (!any) bounds.erase();
  }

  /// Of a size: the number, what planning knows of it, or what its arithmetic says.
  std::optional<OpFoldResult> boundOf(OpFoldResult size) {
    constexpr int64_t kMost = int64_t(1) << 40;
    std::optional<OpFoldResult> bound = places.boundAtStart(size);
    const int64_t most = indexRange(size).second;
    if (most <= kMost && (!bound || most < indexRange(*bound).second)) bound = b.getIndexAttr(most);
    return bound;
  }
};

} // namespace

FailureOr<ProgramFacts> buildProgram(ModuleOp module, const ProgramOptions& options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  return ProgramBuilder(module, main, options).build();
}

} // namespace ortc
