// SPDX-License-Identifier: Apache-2.0
#include "compiler/evaluate/Interpreter.h"
#include "compiler/evaluate/Decode.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>
#include <mutex>

using namespace mlir;

namespace ortc {

/// An op at the level of a function costs about as much as this many scalar operations in a body.
constexpr uint64_t stepsPerOp = 128;

HostTensor toTensor(const HostScalar& s) {
  HostTensor t(s.type, {});
  CellType c = cellType(s.type);
  if (c.isFloat())
    storeDoubles(c, t.data.get(), 0, 1, 1, &s.cell.f);
  else
    storeIntegers(c, t.strings ? static_cast<void*>(t.strings->data()) : t.data.get(), 0, 1, 1,
                  &s.cell.i);
  return t;
}

HostScalar toScalar(const HostTensor& t, Type type) {
  HostScalar s{type, {}};
  CellType c = cellType(t.elementType);
  if (c.isFloat())
    loadDoubles(c, t.data.get(), 0, 0, 1, &s.cell.f);
  else
    loadIntegers(c, t.strings ? static_cast<void*>(t.strings->data()) : t.data.get(), 0, 0, 1,
                 &s.cell.i);
  return s;
}

HostScalar indexScalar(MLIRContext* context, int64_t value) {
  HostScalar s{IndexType::get(context), {}};
  s.cell.i = value;
  return s;
}

LogicalResult Interpreter::fail(Operation* op, const Twine& text, bool isLimit) {
  limitExceeded |= isLimit;
  if (!options.quiet) op->emitError() << text;
  return failure();
}

LogicalResult Interpreter::check(Operation* op) {
  if (!errors.failed) return success();
  return fail(op, errors.message, errors.limit);
}

LogicalResult Interpreter::countSteps(Operation* op, uint64_t n) {
  if (n > errors.maxSteps || errors.steps.fetch_add(n) + n > errors.maxSteps)
    return fail(op, fmt::format("takes more than {} steps to evaluate", errors.maxSteps),
                /*isLimit=*/true);
  return success();
}

LogicalResult Interpreter::checkSize(Operation* op, Type elementType, ArrayRef<int64_t> sizes) {
  uint64_t bytes = std::max(1u, storageBytes(elementType));
  bool empty = llvm::is_contained(sizes, 0);
  for (int64_t s : sizes) {
    if (s < 0) return fail(op, "size " + Twine(s) + " is negative");
    if (!empty) bytes = llvm::SaturatingMultiply(bytes, static_cast<uint64_t>(s));
  }
  if (!empty && bytes > options.maxBytes)
    return fail(
        op, fmt::format("needs {} bytes for one tensor, the limit is {}", bytes, options.maxBytes),
        /*isLimit=*/true);
  return success();
}

// A value dies after the last op of its own block that uses it, in its regions too; what the
// terminator passes on lives.
const SmallVector<Value>& Interpreter::diesAfter(Operation* op) {
  Block* block = op->getBlock();
  if (block && analysed.insert(block).second) {
    auto note = [&](Value v) {
      Operation* last = nullptr;
      for (Operation* user : v.getUsers()) {
        Operation* here = block->findAncestorOpInBlock(*user);
        if (here && (!last || last->isBeforeInBlock(here))) last = here;
      }
      if (last && !last->hasTrait<OpTrait::IsTerminator>()) deaths[last].push_back(v);
      if (!last)
        if (Operation* def = v.getDefiningOp()) deaths[def].push_back(v);
    };
    for (BlockArgument a : block->getArguments())
      note(a);
    for (Operation& o : *block)
      for (Value v : o.getResults())
        note(v);
  }
  return deaths[op];
}

bool Interpreter::dies(Operation* op, Value v) {
  return llvm::is_contained(diesAfter(op), v) &&
         llvm::none_of(v.getUsers(), [&](Operation* user) { return op->isProperAncestor(user); });
}

void Interpreter::set(Value v, HostValue value) {
  if (options.onValue) options.onValue(v, value);
  environment[v] = std::move(value);
}

HostValue Interpreter::get(Value v) {
  auto it = environment.find(v);
  if (it != environment.end()) return it->second;
  // A single op is evaluated without what is around it: constants are found on demand.
  if (auto op = v.getDefiningOp<arith::ConstantOp>())
    if (succeeded(constant(op))) return environment[v];
  return {};
}

HostTensor Interpreter::shape(Value v) {
  HostValue h = get(v);
  if (HostTensor* t = h.tensor()) return *t;
  return {};
}

FailureOr<HostTensor> Interpreter::tensor(Operation* op, Value v) {
  HostValue h = get(v);
  if (const HostScalar* s = h.scalar()) return toTensor(*s);
  HostTensor* t = h.tensor();
  if (!t) return fail(op, "reads a value that is not there");
  if (!t->data && !t->strings) {
    if (failed(checkSize(op, t->elementType, t->dims))) return failure();
    *t = HostTensor(t->elementType, t->dims);
  }
  return *t;
}

FailureOr<HostTensor> Interpreter::ownTensor(Operation* op, Value v) {
  FailureOr<HostTensor> t = tensor(op, v);
  if (failed(t)) return failure();
  if (dies(op, v)) environment.erase(v);
  bool alone = t->strings ? t->strings.use_count() == 1 : t->data.use_count() == 1;
  if (alone) return t;
  HostTensor copy(t->elementType, t->dims);
  if (t->strings)
    *copy.strings = *t->strings;
  else
    std::copy_n(t->data.get(), t->bytes(), copy.data.get());
  return copy;
}

int64_t Interpreter::index(Value v) {
  HostValue h = get(v);
  if (const HostScalar* s = h.scalar()) return s->cell.i;
  return 0;
}
int64_t Interpreter::index(OpFoldResult v) {
  if (auto value = dyn_cast<Value>(v)) return index(value);
  return cast<IntegerAttr>(cast<Attribute>(v)).getInt();
}

LogicalResult Interpreter::constant(arith::ConstantOp op) {
  Attribute attr = op.getValue();
  if (auto elements = dyn_cast<ElementsAttr>(attr)) {
    HostTensor& t = constants[attr];
    if (!t.elementType) {
      auto type = cast<ShapedType>(elements.getType());
      if (failed(checkSize(op, type.getElementType(), type.getShape()))) return failure();
      t = toHostTensor(elements);
    }
    set(op, t);
    return success();
  }
  HostScalar s{op.getType(), {}};
  if (auto f = dyn_cast<FloatAttr>(attr)) {
    APFloat v = f.getValue();
    bool lossy;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    s.cell.f = v.convertToDouble();
  } else if (auto i = dyn_cast<IntegerAttr>(attr)) {
    s.cell.i = i.getType().isInteger(1) ? i.getValue().getZExtValue() : i.getValue().getSExtValue();
  } else {
    return fail(op, "cannot evaluate this constant");
  }
  set(op, s);
  return success();
}

LogicalResult Interpreter::scalar(Operation* op) {
  std::array<Lane, 3> in{};
  for (auto [i, v] : llvm::enumerate(op->getOperands())) {
    HostValue h = get(v);
    const HostScalar* s = h.scalar();
    if (!s) return fail(op, "reads a value that is not there");
    in[i] = s->cell;
  }
  for (OpResult r : op->getResults()) {
    HostScalar out{r.getType(), {}};
    applyScalar(*decodeScalar(op, r.getResultNumber()), &out.cell, &in[0], &in[1], &in[2], 1);
    set(r, out);
  }
  return success();
}

/// Roughly the number of scalar operations of an own op: products for contractions, else elements.
static uint64_t workOf(Operation* op, ArrayRef<HostTensor> operands) {
  uint64_t elements = 0;
  for (const HostTensor& t : operands)
    elements += static_cast<uint64_t>(t.size());
  uint64_t each = 1; // per element of the result
  if (auto contract = dyn_cast<ContractOp>(op)) {
    for (unsigned l : contract.reductionLoops()) {
      auto [operand, dim] = contract.extentOf(l);
      each *= static_cast<uint64_t>(operands[operand].dims[dim]);
    }
  } else if (isa<ConvOp>(op) && operands[1].dims[0] > 0) {
    each = static_cast<uint64_t>(operands[1].size() / operands[1].dims[0]);
  } else {
    return elements;
  }
  return llvm::SaturatingMultiply(each, static_cast<uint64_t>(operands[2].size()));
}

LogicalResult Interpreter::evaluable(Operation* op) {
  SmallVector<HostTensor> operands, results;
  auto style = dyn_cast<DestinationStyleOpInterface>(op);
  for (OpOperand& o : op->getOpOperands()) {
    if (style && style.isDpsInit(&o)) { // only its sizes mean something
      operands.push_back(shape(o.get()));
      if (failed(checkSize(op, operands.back().elementType, operands.back().dims)))
        return failure();
      continue;
    }
    FailureOr<HostTensor> t = tensor(op, o.get());
    if (failed(t)) return failure();
    operands.push_back(std::move(*t));
  }
  if (failed(countSteps(op, workOf(op, operands)))) return failure();
  std::optional<ScopedDiagnosticHandler> silence;
  if (options.quiet) silence.emplace(op->getContext(), [](Diagnostic&) { return success(); });
  if (failed(cast<Evaluable>(op).evaluate(operands, results))) return failure();
  for (auto [r, t] : llvm::zip(op->getResults(), results)) {
    if (isa<TensorType>(r.getType()))
      set(r, std::move(t));
    else
      set(r, toScalar(t, r.getType()));
  }
  return success();
}

FailureOr<Interpreter::Results> Interpreter::block(Block& block) {
  Operation* end = block.getTerminator();
  for (Operation& op : block.without_terminator()) {
    if (failed(execute(&op))) return failure();
    for (Value v : diesAfter(&op))
      environment.erase(v);
  }
  Results results;
  for (Value v : end->getOperands())
    results.push_back(get(v));
  for (Value v : end->getOperands())
    if (v.getParentBlock() == &block) environment.erase(v);
  for (Value v : block.getArguments())
    environment.erase(v);
  return results;
}

LogicalResult Interpreter::ifElse(scf::IfOp op) {
  bool yes = index(op.getCondition()) != 0;
  if (!yes && op.getElseRegion().empty()) return success();
  auto results = block(yes ? *op.thenBlock() : *op.elseBlock());
  if (failed(results)) return failure();
  for (auto [r, v] : llvm::zip(op.getResults(), *results))
    set(r, std::move(v));
  return success();
}

LogicalResult Interpreter::forLoop(scf::ForOp op) {
  int64_t i = index(op.getLowerBound()), end = index(op.getUpperBound()),
          step = index(op.getStep());
  if (step <= 0) return fail(op, "step of a loop must be positive");
  Results carried;
  for (Value v : op.getInitArgs())
    carried.push_back(get(v));
  for (Value v : op.getInitArgs())
    if (dies(op, v)) environment.erase(v); // so that the body may change it in place
  while (i < end) {
    if (failed(countSteps(op, stepsPerOp))) return failure();
    HostScalar at{op.getInductionVar().getType(), {}};
    at.cell.i = i;
    set(op.getInductionVar(), at);
    for (auto [a, v] : llvm::zip(op.getRegionIterArgs(), carried))
      set(a, std::move(v));
    auto next = block(*op.getBody());
    if (failed(next)) return failure();
    carried = std::move(*next);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  for (auto [r, v] : llvm::zip(op.getResults(), carried))
    set(r, std::move(v));
  return success();
}

LogicalResult Interpreter::whileLoop(scf::WhileOp op) {
  Results carried;
  for (Value v : op.getInits())
    carried.push_back(get(v));
  for (Value v : op.getInits())
    if (dies(op, v)) environment.erase(v);
  for (;;) {
    if (failed(countSteps(op, stepsPerOp))) return failure();
    for (auto [a, v] : llvm::zip(op.getBeforeArguments(), carried))
      set(a, std::move(v));
    auto passed = block(*op.getBeforeBody());
    if (failed(passed)) return failure();
    bool again = passed->front().scalar()->cell.i != 0;
    carried.assign(std::make_move_iterator(passed->begin() + 1),
                   std::make_move_iterator(passed->end()));
    passed = failure(); // holds no tensor any more, which may then be changed in place
    if (!again) break;
    for (auto [a, v] : llvm::zip(op.getAfterArguments(), carried))
      set(a, std::move(v));
    auto next = block(*op.getAfterBody());
    if (failed(next)) return failure();
    carried = std::move(*next);
  }
  for (auto [r, v] : llvm::zip(op.getResults(), carried))
    set(r, std::move(v));
  return success();
}

namespace {
struct HostSteps {
  std::mutex mutex;
  llvm::StringMap<HostStep> steps;
  HostSteps() { addBuiltInHostSteps(steps); }
};
HostSteps& hostSteps() {
  static HostSteps s;
  return s;
}
} // namespace

void registerHostStep(StringRef name, HostStep step) {
  std::lock_guard lock(hostSteps().mutex);
  hostSteps().steps[name] = std::move(step);
}

LogicalResult Interpreter::hostStep(HostStepOp op) {
  HostStep step;
  {
    std::lock_guard lock(hostSteps().mutex);
    step = hostSteps().steps.lookup(op.getStep());
  }
  if (!step) return fail(op, "host step '" + op.getStep() + "' is not known to the evaluator");
  Results arguments;
  for (Value v : op.getArguments()) {
    if (isa<TensorType>(v.getType())) {
      auto t = tensor(op, v);
      if (failed(t)) return failure();
      arguments.push_back(std::move(*t));
    } else
      arguments.push_back(get(v));
  }
  std::optional<ScopedDiagnosticHandler> silence;
  if (options.quiet) silence.emplace(op->getContext(), [](Diagnostic&) { return success(); });
  auto results = step(op, arguments);
  if (failed(results)) return failure();
  if (results->size() != op->getNumResults())
    return fail(op, "host step gave the wrong number of results");
  for (auto [r, v] : llvm::zip(op->getResults(), *results))
    set(r, std::move(v));
  return success();
}

LogicalResult Interpreter::execute(Operation* op) {
  if (failed(countSteps(op, stepsPerOp))) return failure();
  if (auto c = dyn_cast<arith::ConstantOp>(op)) return constant(c);
  if (auto linalgOp = dyn_cast<linalg::FillOp>(op)) return fill(linalgOp);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) return structured(linalgOp);
  if (auto own = dyn_cast<Evaluable>(op)) return evaluable(op);
  if (auto o = dyn_cast<SerialOp>(op)) return serial(o);
  if (decodeScalar(op)) return scalar(op);
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](scf::IfOp o) { return ifElse(o); })
      .Case([&](scf::ForOp o) { return forLoop(o); })
      .Case([&](scf::WhileOp o) { return whileLoop(o); })
      .Case([&](HostStepOp o) { return hostStep(o); })
      .Case([&](KernelOp o) -> LogicalResult {
        auto results = block(o.block());
        if (failed(results)) return failure();
        for (auto [r, v] : llvm::zip(o.getResults(), *results))
          set(r, std::move(v));
        return success();
      })
      .Case([&](CheckOp o) -> LogicalResult {
        if (index(o.getCondition()) == 0) return fail(op, o.getMessage());
        return success();
      })
      .Case([&](DimOp o) -> LogicalResult {
        auto it = dims.find(o.getName());
        if (it == dims.end()) return fail(op, "no input has dim '" + o.getName() + "'");
        set(o, indexScalar(op->getContext(), it->second));
        return success();
      })
      .Case([&](func::CallOp o) -> LogicalResult {
        auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, o.getCalleeAttr());
        if (!callee || callee.isExternal()) return fail(op, "calls a function that is not there");
        Results arguments;
        for (Value v : o.getOperands())
          arguments.push_back(get(v));
        auto results = call(callee, arguments);
        if (failed(results)) return failure();
        for (auto [r, v] : llvm::zip(o.getResults(), *results))
          set(r, std::move(v));
        return success();
      })
      .Default([&](Operation*) { return tensorOp(op); });
}

FailureOr<Interpreter::Results> Interpreter::call(func::FuncOp function,
                                                  ArrayRef<HostValue> arguments) {
  if (depth >= 200) return fail(function, "calls itself too deeply", /*isLimit=*/true);
  ++depth;
  llvm::DenseMap<Value, HostValue> outer;
  std::swap(outer, environment);
  for (auto [a, v] : llvm::zip(function.getArguments(), arguments))
    set(a, v);
  auto results = block(function.getBody().front());
  if (succeeded(results)) // what was never written still has to exist
    for (auto [r, v] :
         llvm::zip(*results, function.getBody().front().getTerminator()->getOperands()))
      if (HostTensor* t = r.tensor(); t && !t->data && !t->strings)
        *t = HostTensor(t->elementType, t->dims);
  std::swap(outer, environment);
  --depth;
  return results;
}

static std::string argumentName(func::FuncOp function, unsigned i) {
  if (auto name = function.getArgAttrOfType<StringAttr>(i, "ortc.name"))
    return "'" + name.str() + "'";
  return "#" + std::to_string(i);
}

LogicalResult Interpreter::bindDims(func::FuncOp function, ArrayRef<HostValue> arguments) {
  if (arguments.size() != function.getNumArguments())
    return fail(function, fmt::format("has {} inputs, {} were given", function.getNumArguments(),
                                      arguments.size()));
  llvm::StringMap<std::string> where;
  for (auto [i, given] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (!type) continue;
    std::string name = argumentName(function, i);
    const HostTensor* t = given.tensor();
    if (!t) return fail(function, "input " + name + " must be a tensor");
    if (t->elementType != type.getElementType()) {
      std::string text;
      llvm::raw_string_ostream(text) << "input " << name << " has elements of type "
                                     << t->elementType << ", expected " << type.getElementType();
      return fail(function, text);
    }
    if (t->rank() != type.getRank())
      return fail(function, fmt::format("input {} has rank {}, expected {}", name, t->rank(),
                                        type.getRank()));
    auto names = function.getArgAttrOfType<ArrayAttr>(i, "ortc.dims");
    for (int64_t d = 0; d < t->rank(); ++d) {
      int64_t size = t->dims[d];
      if (!type.isDynamicDim(d)) {
        if (size != type.getDimSize(d))
          return fail(function, fmt::format("input {} has size {} on dim {}, expected {}", name,
                                            size, d, type.getDimSize(d)));
        continue;
      }
      auto symbol = names && d < static_cast<int64_t>(names.size()) ? dyn_cast<StringAttr>(names[d])
                                                                    : StringAttr();
      if (!symbol) continue;
      auto [it, isNew] = dims.try_emplace(symbol.getValue(), size);
      std::string here = fmt::format("dim {} of input {}", d, name);
      if (isNew)
        where[symbol.getValue()] = here;
      else if (it->second != size)
        return fail(function,
                    fmt::format("dim '{}' is {} by {}, but {} by {}", symbol.getValue().str(),
                                it->second, where[symbol.getValue()], size, here));
    }
  }
  auto result = function.walk([&](DimOp dim) {
    auto it = dims.find(dim.getName());
    if (it == dims.end()) return WalkResult::advance();
    int64_t size = it->second, min = dim.getMin(), max = dim.getMax(),
            multiple = dim.getMultipleOf();
    if (size < min || size > max)
      return (void)fail(dim, fmt::format("dim '{}' is {}, outside of its bounds [{}, {}]",
                                         dim.getName().str(), size, min, max)),
             WalkResult::interrupt();
    if (size % multiple)
      return (void)fail(dim, fmt::format("dim '{}' is {}, no multiple of {}", dim.getName().str(),
                                         size, multiple)),
             WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace ortc
