// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/Legalise.h"
#include "codegen/common/Signature.h"
#include "codegen/gpu/Math.h"
#include "compiler/ir/Order.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::gpu {
namespace {

/// The type that stands for `type` on the device; null when there is none.
Type deviceType(Type type) {
  MLIRContext* c = type.getContext();
  if (type.isIndex() || type.isInteger(1) || type.isF32() || type.isInteger(32)) return type;
  if (type.isInteger(8) || type.isInteger(16) || type.isInteger(64) || type.isInteger(4))
    return IntegerType::get(c, 32);
  if (type.isF16() || type.isBF16()) return Float32Type::get(c);
  return {};
}
int64_t bytesOf(Type element) {
  return element.isIndex()                      ? 8
         : element.getIntOrFloatBitWidth() <= 8 ? 1
                                                : element.getIntOrFloatBitWidth() / 8;
}
bool isNarrow(Type t) {
  return t.isInteger(4) || t.isInteger(8) || t.isInteger(16);
}

class KernelLegaliser {
public:
  KernelLegaliser(DeviceKernel& kernel, ArrayRef<Binding> argBindings, ModuleOp into,
                  int64_t threads)
      : kernel(kernel), argBindings(argBindings), into(into), threads(threads),
        b(into.getContext()) {}

  LogicalResult run() {
    func::FuncOp source = kernel.source;
    collectAccesses();
    b.setInsertionPointToEnd(into.getBody());
    kernel.function =
        b.create<func::FuncOp>(source.getLoc(), kernel.name, b.getFunctionType({}, {}));
    kernel.function.setPrivate();
    Block* entry = kernel.function.addEntryBlock();
    for (Binding& binding : kernel.bindings)
      entry->addArgument(MemRefType::get({ShapedType::kDynamic},
                                         binding.isFloat ? Type(b.getF32Type()) : b.getI32Type()),
                         source.getLoc());
    b.setInsertionPointToEnd(entry);
    // Scalars: offsets of buffers, then what the kernel takes.
    SmallVector<std::pair<unsigned, Attribute>> names;
    KernelSignature signature = analyzeSignature(source);
    for (BlockArgument arg : source.getArguments()) {
      auto memref = dyn_cast<MemRefType>(arg.getType());
      if (memref) {
        Type element = memref.getElementType();
        if (!deviceType(element))
          return source.emitError() << "cannot lower a buffer of " << element
                                    << " for this device: it has no such type";
        if (memref.getRank() != 1 || !memref.getLayout().isIdentity())
          return source.emitError("kernels for this device take one-dimensional buffers");
        Value at = entry->addArgument(b.getI32Type(), arg.getLoc());
        names.push_back({cast<BlockArgument>(at).getArgNumber(),
                         b.getStringAttr(signature.argNames[arg.getArgNumber()] + "_at")});
        kernel.scalars.push_back(
            {arg.getArgNumber(), true, std::min<int64_t>(bytesOf(element), 4), 'i'});
        offsets[arg] = b.create<arith::IndexCastOp>(arg.getLoc(), b.getIndexType(), at);
      } else {
        Type type = deviceType(arg.getType());
        if (!type)
          return source.emitError()
                 << "cannot pass a scalar of " << arg.getType() << " to this device";
        Value v =
            entry->addArgument(isa<FloatType>(type) ? type : Type(b.getI32Type()), arg.getLoc());
        names.push_back({cast<BlockArgument>(v).getArgNumber(),
                         b.getStringAttr(signature.argNames[arg.getArgNumber()])});
        kernel.scalars.push_back({arg.getArgNumber(), false, 1, isa<FloatType>(type) ? 'f' : 'i'});
        if (type.isIndex()) v = b.create<arith::IndexCastOp>(arg.getLoc(), type, v);
        if (type.isInteger(1))
          v = b.create<arith::CmpIOp>(arg.getLoc(), arith::CmpIPredicate::ne, v,
                                      S(b, arg.getLoc(), v).num(0).v);
        map[arg] = v;
      }
    }
    if (kernel.parallel) kernel.workgroup = {threads, 1, 1};
    if (auto block = source->getAttrOfType<DenseI64ArrayAttr>("ortc.block")) {
      kernel.workgroup.assign(block.asArrayRef().begin(), block.asArrayRef().end());
      kernel.workgroup.resize(3, 1);
    }
    if (failed(emitBlock(source.getBody().front()))) return failure();
    b.setInsertionPointToEnd(entry);
    b.create<func::ReturnOp>(source.getLoc());
    kernel.function.setFunctionType(b.getFunctionType(entry->getArgumentTypes(), {}));
    for (auto [i, name] : names)
      kernel.function.setArgAttr(i, "ortc.name", name);
    for (NamedAttribute a : source->getDiscardableAttrs())
      if (a.getName() != "ortc.grid") kernel.function->setAttr(a.getName(), a.getValue());
    kernel.function->setAttr("ortc.block", b.getDenseI64ArrayAttr(kernel.workgroup));
    return success(!hasFailed);
  }

private:
  DeviceKernel& kernel;
  ArrayRef<Binding> argBindings; // of each memref argument of the source, by argument number
  ModuleOp into;
  int64_t threads;
  OpBuilder b;
  DenseMap<Value, Value> map;
  DenseMap<Value, Value> offsets; // of memref arguments
  SmallVector<unsigned> bindingOf;
  bool hasFailed = false;

  LogicalResult fail(Operation* op, const Twine& why) {
    hasFailed = true;
    // Constants are shared by nodes: the one that uses it first is named.
    Operation* at = op->hasTrait<OpTrait::ConstantLike>() && !op->use_empty() ? firstUser(op) : op;
    return at->emitError() << "cannot lower '" << op->getName() << "' for this device: " << why;
  }

  static Operation* firstUser(Operation* op) {
    Operation* first = nullptr;
    op->getParentOfType<func::FuncOp>().walk<WalkOrder::PreOrder>([&](Operation* o) {
      if (!llvm::is_contained(o->getOperands(), op->getResult(0))) return WalkResult::advance();
      first = o;
      return WalkResult::interrupt();
    });
    return first;
  }

  void collectAccesses() {
    func::FuncOp source = kernel.source;
    bindingOf.assign(source.getNumArguments(), 0);
    for (BlockArgument arg : source.getArguments()) {
      auto memref = dyn_cast<MemRefType>(arg.getType());
      if (!memref) continue;
      const Binding& wanted = argBindings[arg.getArgNumber()];
      auto it = llvm::find_if(kernel.bindings, [&](const Binding& x) {
        return x.segment == wanted.segment && x.number == wanted.number;
      });
      bool isFloat = memref.getElementType().isF32(), isNew = it == kernel.bindings.end();
      if (isNew) {
        kernel.bindings.push_back(wanted);
        it = kernel.bindings.end() - 1;
        it->isFloat = isFloat;
      }
      bindingOf[arg.getArgNumber()] = it - kernel.bindings.begin();
      it->isFloat &= isFloat;
      bool written = !isReadOnly(arg);
      // WebGPU: a buffer is read-only or writable for a whole dispatch.
      it->written |= written || wanted.segment == "arena";
      if (written && bytesOf(memref.getElementType()) < 4) it->isAtomic = true;
    }
    for (Binding& x : kernel.bindings)
      if (x.isAtomic) x.isFloat = false;
  }

  // ---- values ----

  Value get(Value v) {
    auto it = map.find(v);
    if (it != map.end()) return it->second;
    emitError(v.getLoc(),
              "cannot lower a value for this device: it comes from outside of the kernel");
    hasFailed = true;
    return b.create<arith::ConstantOp>(
        v.getLoc(),
        b.getZeroAttr(deviceType(v.getType()) ? deviceType(v.getType()) : Type(b.getI32Type())));
  }
  S s(Value v) { return S(b, v.getLoc(), v); }
  SmallVector<Value> getAll(ValueRange values) {
    SmallVector<Value> r;
    for (Value v : values)
      r.push_back(get(v));
    return r;
  }
  Value index(Location loc, int64_t c) { return b.create<arith::ConstantIndexOp>(loc, c); }
  /// An i32 that stands for an integer of `type`: sign-extended.
  Value wrap(Type type, Value v) {
    if (!isNarrow(type)) return v;
    int shift = 32 - static_cast<int>(type.getIntOrFloatBitWidth());
    S x = s(v);
    return (x << shift).bin<arith::ShRSIOp>(x.num(shift)).v;
  }
  Value zeroExtended(Type type, Value v) {
    if (!isNarrow(type)) return v;
    return (s(v) & s(v).num((1 << type.getIntOrFloatBitWidth()) - 1)).v;
  }
  Value rounded(Type type, Value v) { // to f16 or bf16 and back
    if (type.isF16()) return decode(type, encode(type, v));
    if (type.isBF16()) return decode(type, encode(type, v));
    return v;
  }
  Value encode(Type type, Value v) {
    return callHelper(into, b, v.getLoc(), type.isF16() ? "f16_bits" : "bf16_bits", v);
  }
  Value decode(Type type, Value v) {
    if (type.isF16()) return callHelper(into, b, v.getLoc(), "f16_value", v);
    return (s(v) << 16).asFloat().v;
  }

  // ---- memory ----

  struct Word {
    Value memref, index;
    Value shift; // of sub-word elements, i32
  };
  Word wordOf(Location loc, BlockArgument arg, Value i) {
    Type element = cast<MemRefType>(arg.getType()).getElementType();
    int64_t bytes = bytesOf(element);
    Value memref = kernel.function.getArgument(bindingOf[arg.getArgNumber()]);
    if (bytes == 8) i = b.create<arith::MulIOp>(loc, i, index(loc, 2));
    Value at = b.create<arith::AddIOp>(loc, offsets[arg], i);
    if (bytes >= 4) return {memref, at, {}};
    int64_t perWord = 4 / bytes;
    Value word = b.create<arith::DivUIOp>(loc, at, index(loc, perWord));
    Value rest = b.create<arith::IndexCastOp>(
        loc, b.getI32Type(), b.create<arith::RemUIOp>(loc, at, index(loc, perWord)));
    return {memref, word, (s(rest) * s(rest).num(8 * bytes)).v};
  }

  Value load(memref::LoadOp op) {
    Location loc = op.getLoc();
    Type element = op.getType();
    if (auto arg = dyn_cast<BlockArgument>(op.getMemRef()); arg && offsets.count(arg)) {
      Word w = wordOf(loc, arg, get(op.getIndices()[0]));
      Value v = b.create<memref::LoadOp>(loc, w.memref, w.index);
      bool isFloat = v.getType().isF32();
      if (element.isF32()) return isFloat ? v : s(v).asFloat().v;
      if (isFloat) v = s(v).bits().v;
      if (!w.shift)
        return element.isIndex() ? b.create<arith::IndexCastOp>(loc, element, v).getResult() : v;
      S x = s(v).bin<arith::ShRUIOp>(s(w.shift));
      if (element.isInteger(1)) return (x & x.num(0xff)).cmpi(arith::CmpIPredicate::ne, x.num(0)).v;
      if (element.isF16() || element.isBF16()) return decode(element, (x & x.num(0xffff)).v);
      return wrap(element.isInteger(4) ? Type(b.getIntegerType(8)) : element, x.v);
    }
    Value v = b.create<memref::LoadOp>(loc, get(op.getMemRef()), getAll(op.getIndices()));
    if (element.isInteger(1)) return s(v).cmpi(arith::CmpIPredicate::ne, s(v).num(0)).v;
    if (element.isIndex()) return b.create<arith::IndexCastOp>(loc, element, v);
    return v;
  }

  LogicalResult store(memref::StoreOp op) {
    Location loc = op.getLoc();
    Type element = op.getValue().getType();
    Value v = get(op.getValue());
    if (element.isInteger(1)) v = b.create<arith::ExtUIOp>(loc, b.getI32Type(), v);
    if (element.isIndex()) v = b.create<arith::IndexCastOp>(loc, b.getI32Type(), v);
    auto arg = dyn_cast<BlockArgument>(op.getMemRef());
    if (!arg || !offsets.count(arg)) {
      b.create<memref::StoreOp>(loc, v, get(op.getMemRef()), getAll(op.getIndices()));
      return success();
    }
    Word w = wordOf(loc, arg, get(op.getIndices()[0]));
    bool isFloat = cast<MemRefType>(w.memref.getType()).getElementType().isF32();
    if (!w.shift) {
      if (v.getType().isF32() != isFloat) v = isFloat ? s(v).asFloat().v : s(v).bits().v;
      b.create<memref::StoreOp>(loc, v, w.memref, w.index);
      if (bytesOf(element) == 8) {
        Value next = b.create<arith::AddIOp>(loc, w.index, index(loc, 1));
        Value high = s(v).bin<arith::ShRSIOp>(s(v).num(31)).v;
        b.create<memref::StoreOp>(loc, high, w.memref, next);
      }
      return success();
    }
    if (element.isF16() || element.isBF16()) v = encode(element, v);
    int64_t mask = bytesOf(element) == 1 ? 0xff : 0xffff;
    S m = s(w.shift).num(mask).bin<arith::ShLIOp>(s(w.shift));
    S keep = m.num(-1).bin<arith::XOrIOp>(m);
    S bits = (s(v) & s(v).num(mask)).bin<arith::ShLIOp>(s(w.shift));
    b.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::andi, keep.v, w.memref, w.index);
    b.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::ori, bits.v, w.memref, w.index);
    return success();
  }

  // ---- ops ----

  LogicalResult emitBlock(Block& block) {
    for (Operation& op : block)
      if (failed(emit(&op))) return failure();
    return success();
  }

  LogicalResult constant(arith::ConstantOp op) {
    Type type = op.getType();
    Location loc = op.getLoc();
    if (auto f = dyn_cast<FloatAttr>(op.getValue())) {
      if (!deviceType(type)) return fail(op, "it has no f64");
      APFloat v = f.getValue();
      bool lossy;
      v.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lossy);
      map[op] = b.create<arith::ConstantOp>(loc, b.getFloatAttr(b.getF32Type(), v));
      return success();
    }
    auto i = dyn_cast<IntegerAttr>(op.getValue());
    if (!i) return fail(op, "a constant of this type");
    int64_t v = i.getValue().getSExtValue();
    if (type.isInteger(1)) {
      map[op] = b.create<arith::ConstantOp>(loc, b.getBoolAttr(v != 0));
      return success();
    }
    if (v > INT32_MAX || v < INT32_MIN) {
      if (!isOnlyBound(op)) return fail(op, "integers have 32 bits there, and this is " + Twine(v));
      v = v < 0 ? INT32_MIN : INT32_MAX;
    }
    Type t = type.isIndex() ? type : Type(b.getI32Type());
    map[op] = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(t, v));
    return success();
  }

  Operation* clone(Operation* op, ValueRange operands, TypeRange types) {
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(types);
    state.addAttributes(op->getAttrs());
    return b.create(state);
  }

  LogicalResult thread(scf::ParallelOp op) {
    Location loc = op.getLoc();
    if (!op.getInitVals().empty()) return fail(op, "parallel reductions");
    unsigned n = op.getNumLoops();
    SmallVector<Value> counts;
    Value total = index(loc, 1);
    for (unsigned d = 0; d < n; ++d) {
      Value lower = get(op.getLowerBound()[d]), upper = get(op.getUpperBound()[d]),
            step = get(op.getStep()[d]);
      Value count = getConstantIntValue(lower) == 0
                        ? upper
                        : b.create<arith::SubIOp>(loc, upper, lower).getResult();
      if (getConstantIntValue(step) != 1) {
        Value up =
            b.create<arith::AddIOp>(loc, count, b.create<arith::SubIOp>(loc, step, index(loc, 1)));
        count = b.create<arith::DivSIOp>(loc, up, step);
      }
      counts.push_back(count);
      total = d == 0 ? count : b.create<arith::MulIOp>(loc, total, count).getResult();
    }
    Value block = b.create<mlir::gpu::BlockIdOp>(loc, mlir::gpu::Dimension::x),
          thread = b.create<mlir::gpu::ThreadIdOp>(loc, mlir::gpu::Dimension::x);
    Value size = index(loc, threads);
    Value first = b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, block, size), thread);
    Value stride = b.create<arith::MulIOp>(
        loc, b.create<mlir::gpu::GridDimOp>(loc, mlir::gpu::Dimension::x), size);
    auto loop = b.create<scf::ForOp>(loc, first, total, stride);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    if (n > 1) loop->setAttr("ortc.axis", b.getStringAttr("part"));
    for (unsigned d = n; d-- > 0;) {
      Value position = d == 0 ? rest : b.create<arith::RemSIOp>(loc, rest, counts[d]).getResult();
      if (d > 0) rest = b.create<arith::DivSIOp>(loc, rest, counts[d]);
      if (auto axes = op->getAttr("ortc.axis"); axes && position.getDefiningOp())
        position.getDefiningOp()->setAttr("ortc.name", axisName(axes, d));
      Value lower = get(op.getLowerBound()[d]), step = get(op.getStep()[d]);
      if (getConstantIntValue(step) != 1) position = b.create<arith::MulIOp>(loc, position, step);
      if (getConstantIntValue(lower) != 0) position = b.create<arith::AddIOp>(loc, position, lower);
      map[op.getInductionVars()[d]] = position;
    }
    if (n == 1)
      if (auto axes = op->getAttr("ortc.axis"))
        if (getConstantIntValue(op.getStep()[0]) == 1 &&
            getConstantIntValue(op.getLowerBound()[0]) == 0)
          loop->setAttr("ortc.axis", axisName(axes, 0));
    return emitBlock(*op.getBody());
  }
  StringAttr axisName(Attribute axes, unsigned d) {
    if (auto list = dyn_cast<ArrayAttr>(axes))
      return d < list.size() ? dyn_cast<StringAttr>(list[d]) : b.getStringAttr("i");
    SmallVector<StringRef> parts;
    cast<StringAttr>(axes).getValue().split(parts, ',');
    return b.getStringAttr(d < parts.size() ? parts[d].trim() : "i");
  }

  LogicalResult region(Block& from, Block* to, ValueRange fromArgs, ValueRange toArgs) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(to);
    for (auto [x, y] : llvm::zip(fromArgs, toArgs))
      map[x] = y;
    return emitBlock(from);
  }
  FailureOr<SmallVector<Type>> types(Operation* op, TypeRange range) {
    SmallVector<Type> r;
    for (Type t : range) {
      Type d = deviceType(t);
      if (!d) return fail(op, "it has no such type");
      r.push_back(d);
    }
    return r;
  }

  LogicalResult emit(Operation* op) {
    Location loc = op->getLoc();
    auto bindResults = [&](Operation* made) {
      for (auto [x, y] : llvm::zip(op->getResults(), made->getResults()))
        map[x] = y;
    };
    return llvm::TypeSwitch<Operation*, LogicalResult>(op)
        .Case([&](arith::ConstantOp c) { return constant(c); })
        .Case([&](func::ReturnOp) { return success(); })
        .Case([&](scf::ReduceOp) { return success(); })
        .Case([&](memref::LoadOp l) { return map[l] = load(l), success(); })
        .Case([&](memref::StoreOp st) { return store(st); })
        .Case([&](memref::AssumeAlignmentOp) { return success(); })
        .Case([&](memref::AllocaOp a) -> LogicalResult {
          MemRefType t = a.getType();
          Type e = deviceType(t.getElementType());
          if (!e || !t.hasStaticShape()) return fail(op, "this local array");
          if (e.isInteger(1) || e.isIndex()) e = b.getI32Type();
          auto made = b.create<memref::AllocaOp>(
              loc,
              MemRefType::get(t.getShape(), e, MemRefLayoutAttrInterface(), t.getMemorySpace()));
          if (Attribute name = op->getAttr("ortc.name")) made->setAttr("ortc.name", name);
          return map[a] = made, success();
        })
        .Case([&](scf::ParallelOp p) -> LogicalResult {
          if (p == kernel.parallel) return thread(p);
          SmallVector<Value> ivs;
          OpBuilder::InsertionGuard guard(b);
          for (unsigned d = 0; d < p.getNumLoops(); ++d) {
            auto loop = b.create<scf::ForOp>(loc, get(p.getLowerBound()[d]),
                                             get(p.getUpperBound()[d]), get(p.getStep()[d]));
            map[p.getInductionVars()[d]] = loop.getInductionVar();
            b.setInsertionPointToStart(loop.getBody());
          }
          return emitBlock(*p.getBody());
        })
        .Case([&](scf::ForOp f) -> LogicalResult {
          SmallVector<Value> bounds = {get(f.getLowerBound()), get(f.getUpperBound()),
                                       get(f.getStep())};
          auto made =
              b.create<scf::ForOp>(loc, bounds[0], bounds[1], bounds[2], getAll(f.getInitArgs()));
          if (Attribute a = f->getAttr("ortc.axis")) made->setAttr("ortc.axis", a);
          if (!made.getBody()->empty()) made.getBody()->back().erase();
          SmallVector<Value> from = {f.getInductionVar()}, to = {made.getInductionVar()};
          llvm::append_range(from, f.getRegionIterArgs());
          llvm::append_range(to, made.getRegionIterArgs());
          if (failed(region(*f.getBody(), made.getBody(), from, to))) return failure();
          return bindResults(made), success();
        })
        .Case([&](scf::IfOp f) -> LogicalResult {
          auto t = types(op, f.getResultTypes());
          if (failed(t)) return failure();
          auto made = b.create<scf::IfOp>(loc, *t, get(f.getCondition()), f.elseBlock() != nullptr);
          for (auto [from, to] : {std::pair(f.thenBlock(), made.thenBlock()),
                                  std::pair(f.elseBlock(), made.elseBlock())}) {
            if (!from) continue;
            if (!to->empty()) to->back().erase();
            if (failed(region(*from, to, {}, {}))) return failure();
          }
          return bindResults(made), success();
        })
        .Case([&](scf::WhileOp f) -> LogicalResult {
          auto results = types(op, f.getResultTypes());
          if (failed(results)) return failure();
          SmallVector<Value> inits = getAll(f.getInits());
          auto made = b.create<scf::WhileOp>(loc, *results, inits);
          SmallVector<Location> l1(inits.size(), loc), l2(results->size(), loc);
          Block *before, *after;
          {
            OpBuilder::InsertionGuard guard(b);
            before = b.createBlock(&made.getBefore(), {}, ValueRange(inits).getTypes(), l1);
            after = b.createBlock(&made.getAfter(), {}, *results, l2);
          }
          if (failed(region(*f.getBeforeBody(), before, f.getBeforeArguments(),
                            before->getArguments())))
            return failure();
          if (failed(
                  region(*f.getAfterBody(), after, f.getAfterArguments(), after->getArguments())))
            return failure();
          return bindResults(made), success();
        })
        .Case<scf::YieldOp, scf::ConditionOp>(
            [&](Operation*) { return clone(op, getAll(op->getOperands()), {}), success(); })
        .Case<mlir::gpu::ThreadIdOp, mlir::gpu::BlockIdOp, mlir::gpu::GridDimOp,
              mlir::gpu::BarrierOp>(
            [&](Operation*) { return bindResults(clone(op, {}, op->getResultTypes())), success(); })
        .Case([&](mlir::gpu::BlockDimOp d) {
          return map[d] = index(loc, kernel.workgroup[static_cast<int>(d.getDimension())]),
                 success();
        })
        .Default([&](Operation*) { return scalar(op); });
  }

  LogicalResult scalar(Operation* op) {
    Location loc = op->getLoc();
    if (op->getNumResults() != 1 || op->getNumRegions()) return fail(op, "there is no form of it");
    Type type = op->getResult(0).getType(),
         from = op->getNumOperands() ? op->getOperand(0).getType() : type;
    for (Type t : {type, from})
      if (!deviceType(t)) return fail(op, t.isF64() ? "it has no f64" : "it has no such type");
    Type to = deviceType(type);
    SmallVector<Value> v = getAll(op->getOperands());
    bool narrow = isNarrow(type), small = type.isF16() || type.isBF16();
    auto put = [&](Value r) {
      // What earlier stages called it.
      if (Operation* def = r.getDefiningOp())
        if (Attribute name = op->getAttr("ortc.name")) def->setAttr("ortc.name", name);
      return map[op->getResult(0)] = r, success();
    };
    auto helper = [&](StringRef name, Value x) { return callHelper(into, b, loc, name, x); };
    return llvm::TypeSwitch<Operation*, LogicalResult>(op)
        // casts
        .Case<arith::ExtFOp>([&](Operation*) { return put(v[0]); })
        .Case<arith::TruncFOp>([&](Operation*) { return put(rounded(type, v[0])); })
        .Case<arith::SIToFPOp>([&](Operation*) {
          if (from.isInteger(1)) return put(s(v[0]).select(s(v[0]).lit(-1), s(v[0]).lit(0)).v);
          return put(rounded(type, b.create<arith::SIToFPOp>(loc, b.getF32Type(), v[0])));
        })
        .Case<arith::UIToFPOp>([&](Operation*) {
          if (from.isInteger(1)) return put(s(v[0]).select(s(v[0]).lit(1), s(v[0]).lit(0)).v);
          Value x = zeroExtended(from, v[0]);
          return put(
              rounded(type, isNarrow(from)
                                ? b.create<arith::SIToFPOp>(loc, b.getF32Type(), x).getResult()
                                : b.create<arith::UIToFPOp>(loc, b.getF32Type(), x).getResult()));
        })
        .Case<arith::FPToSIOp, arith::FPToUIOp>([&](Operation*) {
          bool isSigned = isa<arith::FPToSIOp>(op);
          if (type.isInteger(1))
            return put(s(v[0]).cmpf(arith::CmpFPredicate::UNE, s(v[0]).lit(0)).v);
          Value r = helper(isSigned || narrow ? "f32_to_i32" : "f32_to_u32", v[0]);
          if (narrow) { // saturate
            int64_t width = type.getIntOrFloatBitWidth();
            S x = s(r), low = x.num(isSigned ? -(1 << (width - 1)) : 0),
              high = x.num(isSigned ? (1 << (width - 1)) - 1 : (1 << width) - 1);
            x = x.cmpi(arith::CmpIPredicate::slt, low).select(low, x);
            x = x.cmpi(arith::CmpIPredicate::sgt, high).select(high, x);
            r = wrap(type, x.v);
          }
          return put(r);
        })
        .Case<arith::ExtSIOp>([&](Operation*) {
          return put(from.isInteger(1) ? b.create<arith::ExtSIOp>(loc, to, v[0]).getResult()
                                       : v[0]);
        })
        .Case<arith::ExtUIOp>([&](Operation*) {
          if (from.isInteger(1)) return put(b.create<arith::ExtUIOp>(loc, to, v[0]));
          return put(zeroExtended(from, v[0]));
        })
        .Case<arith::TruncIOp>([&](Operation*) {
          if (type.isInteger(1))
            return put((s(v[0]) & s(v[0]).num(1)).cmpi(arith::CmpIPredicate::ne, s(v[0]).num(0)).v);
          return put(wrap(type, v[0]));
        })
        .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](Operation*) {
          Value x = v[0];
          if (isa<arith::IndexCastUIOp>(op)) x = zeroExtended(from, x);
          if (x.getType().isInteger(1))
            x = isa<arith::IndexCastUIOp>(op)
                    ? b.create<arith::ExtUIOp>(loc, b.getI32Type(), x).getResult()
                    : b.create<arith::ExtSIOp>(loc, b.getI32Type(), x).getResult();
          if (x.getType() == to) return put(wrap(type, x));
          return put(wrap(type, b.create<arith::IndexCastOp>(loc, to, x)));
        })
        .Case<arith::BitcastOp>([&](Operation*) {
          if (from.isInteger(64) || type.isInteger(64)) return fail(op, "64-bit values");
          if (small) return put(decode(type, zeroExtended(from, v[0])));
          if (from.isF16() || from.isBF16()) return put(wrap(type, encode(from, v[0])));
          return put(b.create<arith::BitcastOp>(loc, to, v[0]));
        })
        // integers
        .Case<arith::CmpIOp>([&](arith::CmpIOp c) {
          bool isUnsigned = c.getPredicate() >= arith::CmpIPredicate::ult;
          if (isUnsigned) v[0] = zeroExtended(from, v[0]), v[1] = zeroExtended(from, v[1]);
          if (from.isInteger(1) && c.getPredicate() > arith::CmpIPredicate::ne) {
            for (Value& x : v)
              x = isUnsigned ? b.create<arith::ExtUIOp>(loc, b.getI32Type(), x).getResult()
                             : b.create<arith::ExtSIOp>(loc, b.getI32Type(), x).getResult();
          }
          return put(b.create<arith::CmpIOp>(loc, c.getPredicate(), v[0], v[1]));
        })
        .Case<arith::FloorDivSIOp, arith::CeilDivSIOp>([&](Operation*) {
          using P = arith::CmpIPredicate;
          Value q = b.create<arith::DivSIOp>(loc, v[0], v[1]),
                r = b.create<arith::RemSIOp>(loc, v[0], v[1]);
          Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(to, 0)),
                one = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(to, 1));
          Value inexact = b.create<arith::CmpIOp>(loc, P::ne, r, zero);
          Value differ =
              b.create<arith::CmpIOp>(loc, P::ne, b.create<arith::CmpIOp>(loc, P::slt, r, zero),
                                      b.create<arith::CmpIOp>(loc, P::slt, v[1], zero));
          bool floor = isa<arith::FloorDivSIOp>(op);
          if (!floor)
            differ = b.create<arith::XOrIOp>(loc, differ,
                                             b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)));
          Value by = b.create<arith::SelectOp>(loc, b.create<arith::AndIOp>(loc, inexact, differ),
                                               one, zero);
          return put(floor ? b.create<arith::SubIOp>(loc, q, by).getResult()
                           : b.create<arith::AddIOp>(loc, q, by).getResult());
        })
        .Case<arith::CeilDivUIOp>([&](Operation*) { return fail(op, "unsigned rounding up"); })
        .Case<arith::DivUIOp, arith::RemUIOp, arith::MaxUIOp, arith::MinUIOp, arith::ShRUIOp>(
            [&](Operation*) {
              if (from.isInteger(64) && isa<arith::ShRUIOp>(op))
                return fail(op, "shifts of 64-bit values");
              v[0] = zeroExtended(from, v[0]);
              if (!isa<arith::ShRUIOp>(op)) v[1] = zeroExtended(from, v[1]);
              return put(wrap(type, clone(op, v, to)->getResult(0)));
            })
        .Case<arith::ShLIOp, arith::ShRSIOp>([&](Operation*) {
          if (from.isInteger(64)) return fail(op, "shifts of 64-bit values");
          return put(wrap(type, clone(op, v, to)->getResult(0)));
        })
        .Case<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(
            [&](Operation*) {
              if (!type.isInteger(32)) return fail(op, "bits of anything but 32-bit values");
              return put(callMath(into, b, op, v));
            })
        .Case<math::AbsIOp>([&](Operation*) {
          Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(to, 0));
          Value negative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, v[0], zero);
          return put(wrap(type, b.create<arith::SelectOp>(loc, negative,
                                                          b.create<arith::SubIOp>(loc, zero, v[0]),
                                                          v[0])));
        })
        // floats
        .Case<arith::CmpFOp>([&](arith::CmpFOp c) {
          using P = arith::CmpFPredicate;
          // Compilers of shaders may take for granted that there is no NaN: ask the bits.
          if (c.getPredicate() == P::ORD || c.getPredicate() == P::UNO) {
            S nan = s(v[0]).isNaN();
            if (v[0] != v[1]) nan = nan | s(v[1]).isNaN();
            if (c.getPredicate() == P::UNO) return put(nan.v);
            return put(b.create<arith::XOrIOp>(
                loc, nan.v, b.create<arith::ConstantOp>(loc, b.getBoolAttr(true))));
          }
          if (c.getPredicate() == P::UNE && v[0] == v[1]) return put(s(v[0]).isNaN().v);
          if (c.getPredicate() == P::OEQ && v[0] == v[1])
            return put(b.create<arith::XOrIOp>(
                loc, s(v[0]).isNaN().v, b.create<arith::ConstantOp>(loc, b.getBoolAttr(true))));
          // Drivers were seen to take `a != b` for "ordered and different".
          if (c.getPredicate() == P::UNE) {
            Value equal = b.create<arith::CmpFOp>(loc, P::OEQ, v[0], v[1]);
            return put(b.create<arith::XOrIOp>(
                loc, equal, b.create<arith::ConstantOp>(loc, b.getBoolAttr(true))));
          }
          return put(b.create<arith::CmpFOp>(loc, c.getPredicate(), v[0], v[1]));
        })
        .Case<arith::NegFOp>([&](Operation*) { return put(b.create<arith::NegFOp>(loc, v[0])); })
        .Default([&](Operation*) -> LogicalResult {
          StringRef dialect = op->getDialect()->getNamespace();
          if (dialect != "arith" && dialect != "math") return fail(op, "there is no form of it");
          if (Value r = callMath(into, b, op, v)) return put(rounded(type, wrap(type, r)));
          OperationState state(loc, op->getName());
          state.addOperands(v);
          state.addTypes(to);
          Operation* made = b.create(state);
          Value r = made->getResult(0);
          if (narrow) r = wrap(type, r);
          if (small) r = rounded(type, r);
          return put(r);
        });
  }
};

} // namespace

bool isOnlyBound(Value number) {
  return llvm::all_of(number.getUses(), [](OpOperand& use) {
    Operation* user = use.getOwner();
    if (isa<arith::MinSIOp, arith::MaxSIOp, arith::CmpIOp, arith::SelectOp, scf::YieldOp>(user))
      return true;
    auto loop = dyn_cast<scf::ForOp>(user);
    BlockArgument carried = loop ? loop.getTiedLoopRegionIterArg(&use) : BlockArgument();
    return carried && isOnlyBound(carried);
  });
}

FailureOr<DeviceModule> DeviceModule::create(ModuleOp module, int64_t threads) {
  module.getContext()->loadDialect<mlir::gpu::GPUDialect>();
  DeviceModule result;
  result.module = ModuleOp::create(module.getLoc());
  for (NamedAttribute a : module->getAttrs())
    if (a.getName() != SymbolTable::getSymbolAttrName())
      (*result.module)->setAttr(a.getName(), a.getValue());
  bool ok = true;
  llvm::StringMap<unsigned> known;
  llvm::StringMap<unsigned> used;
  auto add = [&](func::FuncOp source, ArrayRef<Binding> args,
                 const std::string& key) -> std::optional<unsigned> {
    if (auto it = known.find(key); it != known.end()) return it->second;
    DeviceKernel kernel;
    kernel.source = source;
    kernel.name = kernelName(source);
    if (unsigned n = used[kernel.name]++) kernel.name += "_v" + std::to_string(n + 1);
    source.walk([&](scf::ParallelOp p) {
      if (p->getParentOp() == source) kernel.parallel = p;
    });
    if (failed(KernelLegaliser(kernel, args, *result.module, threads).run())) {
      ok = false;
      return std::nullopt;
    }
    result.list.push_back(std::move(kernel));
    return known[key] = result.list.size() - 1;
  };
  module.walk([&](LaunchOp launch) {
    auto source =
        SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
    if (!source) {
      launch.emitError("there is no kernel of this name");
      ok = false;
      return;
    }
    SmallVector<Binding> args;
    std::string key = source.getSymName().str();
    SmallVector<int64_t>& weights = result.weightBuffers[launch];
    for (Value v : launch.getArguments()) {
      Binding binding;
      if (isa<MemRefType>(v.getType())) {
        auto buffer = v.getDefiningOp<BufferOp>();
        if (!buffer) {
          launch.emitError("kernels for this device take buffers as a whole");
          ok = false;
          return;
        }
        binding.segment = buffer.getSegment().str();
        if (binding.segment == "input" || binding.segment == "output") {
          binding.number = buffer.getNumber();
        } else if (binding.segment == "weights") {
          // Counted, so that layers with their weights in other buffers share one kernel.
          auto it = llvm::find(weights, buffer.getNumber());
          binding.number = it - weights.begin();
          if (it == weights.end()) weights.push_back(buffer.getNumber());
        }
        key += "|" + binding.segment + std::to_string(binding.number);
      }
      args.push_back(binding);
    }
    if (auto i = add(source, args, key)) result.byLaunch[launch] = *i;
  });
  // A kernel without a launch (tests): every buffer is an input of its own.
  for (auto f : module.getOps<func::FuncOp>()) {
    if (!f->hasAttr("ortc.kernel") || !launchesOf(f).empty()) continue;
    SmallVector<Binding> args;
    for (unsigned i = 0; i < f.getNumArguments(); ++i)
      args.push_back({"input", i});
    add(f, args, f.getSymName().str() + "!");
  }
  if (ok && failed(mlir::verify(*result.module))) ok = false;
  if (!ok) return failure();
  orderOps(*result.module);
  return result;
}

} // namespace ortc::codegen::gpu
