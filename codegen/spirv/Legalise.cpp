// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/Legalise.h"
#include "codegen/common/Signature.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::spirv_text {
namespace {

class KernelLegaliser {
public:
  KernelLegaliser(func::FuncOp source, ArrayRef<bool> startsAligned, ModuleOp into)
      : source(source), startsAligned(startsAligned), into(into), b(source.getContext()),
        scalars(b, into) {}

  FailureOr<LegalKernel> run() {
    kernel.name = kernelName(source);
    b.setInsertionPointToEnd(into.getBody());
    kernel.function =
        b.create<func::FuncOp>(source.getLoc(), kernel.name, b.getFunctionType({}, {}));
    entry = kernel.function.addEntryBlock();
    if (failed(bindArguments())) return failure();
    source.walk([&](scf::ParallelOp p) {
      if (p->getParentOp() == source) spread = p;
    });
    if (!spread)
      return source.emitError("cannot be written for Vulkan: a kernel without a parallel loop"),
             failure();
    for (Operation& op : source.getBody().front()) {
      if (!isa<scf::ParallelOp>(op) && op.getNumResults() == 0 && !isa<func::ReturnOp>(op))
        return op.emitError("cannot be written for Vulkan: all threads would do this"), failure();
      if (failed(emit(&op))) return failure();
    }
    b.setInsertionPointToEnd(entry);
    b.create<func::ReturnOp>(source.getLoc());
    kernel.function.setFunctionType(b.getFunctionType(entry->getArgumentTypes(), {}));
    return kernel;
  }

private:
  func::FuncOp source;
  ArrayRef<bool> startsAligned;
  ModuleOp into;
  OpBuilder b;
  ScalarLegaliser scalars;
  LegalKernel kernel;
  Block* entry = nullptr;
  scf::ParallelOp spread;
  DenseMap<Value, Value> map;
  DenseMap<Value, Value>
      starts; // of memref arguments that do not begin where their descriptor does
  Value push;

  LogicalResult fail(Operation* op, const Twine& why) {
    return op->emitError() << "cannot be written for Vulkan: '" << op->getName() << "': " << why;
  }

  MemRefType bufferType(ArrayRef<int64_t> shape, Type element) {
    return MemRefType::get(
        shape, element, MemRefLayoutAttrInterface(),
        spirv::StorageClassAttr::get(b.getContext(), spirv::StorageClass::StorageBuffer));
  }

  LogicalResult bindArguments() {
    Location loc = source.getLoc();
    for (BlockArgument arg : source.getArguments()) {
      auto memref = dyn_cast<MemRefType>(arg.getType());
      if (!memref) continue;
      Type element = storageType(memref.getElementType());
      if (!element)
        return source.emitError() << "cannot be written for Vulkan: there is no memory of type "
                                  << memref.getElementType();
      if (memref.getRank() != 1 || !memref.getLayout().isIdentity())
        return source.emitError("cannot be written for Vulkan: buffers have one dimension there");
      if (!isReadOnly(arg)) kernel.writes |= 1u << kernel.bindings.size();
      kernel.bindings.push_back(arg.getArgNumber());
      map[arg] = entry->addArgument(bufferType({ShapedType::kDynamic}, element), arg.getLoc());
    }
    if (kernel.bindings.size() > kMaxBindings)
      return source.emitError() << "cannot be written for Vulkan: the kernel reads and writes "
                                << kernel.bindings.size() << " tensors, and devices bind "
                                << kMaxBindings;
    // How many words, then the block itself.
    for (BlockArgument arg : source.getArguments()) {
      if (isa<MemRefType>(arg.getType())) {
        if (startsAligned[arg.getArgNumber()]) continue;
        kernel.scalars.push_back({arg.getArgNumber(), true, b.getIndexType()});
        kernel.pushWords += 1;
        continue;
      }
      Type type = valueType(arg.getType());
      if (!type)
        return source.emitError() << "cannot be written for Vulkan: a scalar of type "
                                  << arg.getType();
      kernel.scalars.push_back({arg.getArgNumber(), false, arg.getType()});
      kernel.pushWords += !type.isIndex() && type.getIntOrFloatBitWidth() == 64 ? 2 : 1;
    }
    if (kernel.pushWords > kMaxPushWords)
      return source.emitError() << "cannot be written for Vulkan: the kernel takes "
                                << kernel.pushWords
                                << " words of sizes and scalars, and devices pass "
                                << kMaxPushWords;
    b.setInsertionPointToEnd(entry);
    if (!kernel.pushWords) return success();
    push = entry->addArgument(bufferType({kernel.pushWords}, b.getI32Type()), loc);
    int64_t next = 0;
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    auto word = [&] {
      return b
          .create<memref::LoadOp>(loc, push,
                                  ValueRange{b.create<arith::ConstantIndexOp>(loc, next++)})
          .getResult();
    };
    for (const PushScalar& s : kernel.scalars) {
      Value v = word();
      Value arg = source.getArgument(s.arg);
      if (s.isStart) {
        starts[arg] = b.create<arith::IndexCastOp>(loc, b.getIndexType(), v);
        continue;
      }
      Type type = valueType(s.type);
      if (!type.isIndex() && type.getIntOrFloatBitWidth() == 64) {
        Value low = b.create<arith::ExtUIOp>(loc, i64, v),
              high = b.create<arith::ExtUIOp>(loc, i64, word());
        v = b.create<arith::OrIOp>(
            loc, low,
            b.create<arith::ShLIOp>(loc, high,
                                    b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(32))));
      }
      if (type.isIndex())
        v = b.create<arith::IndexCastOp>(loc, type, v);
      else if (type.isInteger(1))
        v = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, v,
                                    b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i32, 0)));
      else if (isa<FloatType>(type))
        v = b.create<arith::BitcastOp>(loc, type, v);
      map[arg] = v;
    }
    return success();
  }

  // ---- memory ----

  SmallVector<Value> indicesOf(Location loc, Value memref, ValueRange from) {
    SmallVector<Value> r;
    for (Value v : from)
      r.push_back(map.lookup(v));
    if (Value start = starts.lookup(memref)) r[0] = b.create<arith::AddIOp>(loc, start, r[0]);
    return r;
  }

  LogicalResult load(memref::LoadOp op) {
    Location loc = op.getLoc();
    Type type = op.getType(), i32 = b.getI32Type();
    Value v = b.create<memref::LoadOp>(loc, map.lookup(op.getMemRef()),
                                       indicesOf(loc, op.getMemRef(), op.getIndices()));
    if (type.isIndex())
      v = b.create<arith::IndexCastOp>(loc, type, v);
    else if (type.isInteger(1) || isSmallFloatType(type))
      v = b.create<arith::ExtUIOp>(loc, i32, v);
    else if (isNarrowInt(type))
      v = b.create<arith::ExtSIOp>(loc, i32, v);
    if (type.isInteger(1))
      v = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, v,
                                  b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i32, 0)));
    if (isSmallFloatType(type)) v = scalars.decode(type, v);
    map[op] = v;
    return success();
  }

  LogicalResult store(memref::StoreOp op) {
    Location loc = op.getLoc();
    Type type = op.getValue().getType(), i32 = b.getI32Type();
    Value v = map.lookup(op.getValue());
    auto number = [&](int64_t n) {
      return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i32, n)).getResult();
    };
    if (type.isIndex()) v = b.create<arith::IndexCastOp>(loc, b.getI64Type(), v);
    if (type.isInteger(1)) v = b.create<arith::SelectOp>(loc, v, number(1), number(0));
    if (isSmallFloatType(type)) v = scalars.encode(type, v);
    Type stored = cast<MemRefType>(map.lookup(op.getMemRef()).getType()).getElementType();
    if (isa<IntegerType>(stored) && stored.getIntOrFloatBitWidth() < 32)
      v = b.create<arith::TruncIOp>(loc, stored, v);
    b.create<memref::StoreOp>(loc, v, map.lookup(op.getMemRef()),
                              indicesOf(loc, op.getMemRef(), op.getIndices()));
    return success();
  }

  // ---- control ----

  /// This thread's iterations: from its number on, in steps of the number of threads.
  LogicalResult thread(scf::ParallelOp op) {
    Location loc = op.getLoc();
    if (!op.getInitVals().empty()) return fail(op, "parallel reductions");
    auto index = [&](int64_t c) { return b.create<arith::ConstantIndexOp>(loc, c).getResult(); };
    SmallVector<Value> counts;
    Value total;
    for (unsigned d = 0; d < op.getNumLoops(); ++d) {
      Value lower = map.lookup(op.getLowerBound()[d]), count = map.lookup(op.getUpperBound()[d]),
            step = map.lookup(op.getStep()[d]);
      if (getConstantIntValue(lower) != 0) count = b.create<arith::SubIOp>(loc, count, lower);
      if (getConstantIntValue(step) != 1)
        count = b.create<arith::DivUIOp>(
            loc, b.create<arith::AddIOp>(loc, count, b.create<arith::SubIOp>(loc, step, index(1))),
            step);
      counts.push_back(count);
      total = total ? b.create<arith::MulIOp>(loc, total, count).getResult() : count;
    }
    auto x = mlir::gpu::Dimension::x;
    Value size = index(kThreads);
    Value first = b.create<arith::AddIOp>(
        loc, b.create<arith::MulIOp>(loc, b.create<mlir::gpu::BlockIdOp>(loc, x), size),
        b.create<mlir::gpu::ThreadIdOp>(loc, x));
    Value stride = b.create<arith::MulIOp>(loc, b.create<mlir::gpu::GridDimOp>(loc, x), size);
    auto loop = b.create<scf::ForOp>(loc, first, total, stride);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    for (unsigned d = op.getNumLoops(); d-- > 0;) {
      Value position = rest;
      if (d > 0) {
        rest = b.create<arith::DivUIOp>(loc, position, counts[d]);
        position =
            b.create<arith::SubIOp>(loc, position, b.create<arith::MulIOp>(loc, rest, counts[d]));
      }
      Value lower = map.lookup(op.getLowerBound()[d]), step = map.lookup(op.getStep()[d]);
      if (getConstantIntValue(step) != 1) position = b.create<arith::MulIOp>(loc, position, step);
      if (getConstantIntValue(lower) != 0) position = b.create<arith::AddIOp>(loc, position, lower);
      map[op.getInductionVars()[d]] = position;
    }
    return emitBlock(*op.getBody());
  }

  LogicalResult emitBlock(Block& block) {
    for (Operation& op : block)
      if (failed(emit(&op))) return failure();
    return success();
  }
  LogicalResult region(Block& from, Block* to, ValueRange fromArgs, ValueRange toArgs) {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>()) to->back().erase();
    b.setInsertionPointToEnd(to);
    for (auto [x, y] : llvm::zip(fromArgs, toArgs))
      map[x] = y;
    return emitBlock(from);
  }
  SmallVector<Value> all(ValueRange values) {
    SmallVector<Value> r;
    for (Value v : values)
      r.push_back(map.lookup(v));
    return r;
  }
  /// What a while carries: MLIR's conversion to SPIR-V would leave an index as it is.
  SmallVector<Value> carried(Location loc, ValueRange values) {
    SmallVector<Value> r = all(values);
    for (Value& v : r)
      if (v.getType().isIndex()) v = b.create<arith::IndexCastOp>(loc, b.getI32Type(), v);
    return r;
  }
  Value asValue(Location loc, Type source, Value carriedValue) {
    if (!source.isIndex()) return carriedValue;
    return b.create<arith::IndexCastOp>(loc, source, carriedValue);
  }
  LogicalResult types(Operation* op, TypeRange from, SmallVectorImpl<Type>& to) {
    for (Type t : from) {
      to.push_back(valueType(t));
      if (!to.back()) return fail(op, "there is no such type");
    }
    return success();
  }

  LogicalResult emit(Operation* op) {
    Location loc = op->getLoc();
    for (Value v : op->getOperands())
      if (!map.count(v)) return fail(op, "a value from outside of the kernel");
    auto bind = [&](Operation* made) {
      for (auto [x, y] : llvm::zip(op->getResults(), made->getResults()))
        map[x] = y;
      return success();
    };
    return llvm::TypeSwitch<Operation*, LogicalResult>(op)
        .Case([&](arith::ConstantOp c) {
          return success(static_cast<bool>(map[c] = scalars.constant(c)));
        })
        .Case<func::ReturnOp, scf::ReduceOp, memref::AssumeAlignmentOp>(
            [&](Operation*) { return success(); })
        .Case([&](memref::LoadOp l) { return load(l); })
        .Case([&](memref::StoreOp s) { return store(s); })
        .Case([&](memref::AllocaOp a) -> LogicalResult {
          MemRefType t = a.getType();
          Type element = valueType(t.getElementType());
          if (!element || !t.hasStaticShape() || element != t.getElementType() ||
              element.isIndex() || element.isInteger(1))
            return fail(op, "a local array of this type");
          map[a] = b.create<memref::AllocaOp>(
              loc, MemRefType::get(t.getShape(), element, MemRefLayoutAttrInterface(),
                                   spirv::StorageClassAttr::get(b.getContext(),
                                                                spirv::StorageClass::Function)));
          return success();
        })
        .Case([&](scf::ParallelOp p) -> LogicalResult {
          if (p == spread) return thread(p);
          OpBuilder::InsertionGuard guard(b);
          for (unsigned d = 0; d < p.getNumLoops(); ++d) {
            auto loop =
                b.create<scf::ForOp>(loc, map.lookup(p.getLowerBound()[d]),
                                     map.lookup(p.getUpperBound()[d]), map.lookup(p.getStep()[d]));
            map[p.getInductionVars()[d]] = loop.getInductionVar();
            b.setInsertionPointToStart(loop.getBody());
          }
          return emitBlock(*p.getBody());
        })
        .Case([&](scf::ForOp f) -> LogicalResult {
          auto made = b.create<scf::ForOp>(loc, map.lookup(f.getLowerBound()),
                                           map.lookup(f.getUpperBound()), map.lookup(f.getStep()),
                                           all(f.getInitArgs()));
          SmallVector<Value> from(f.getBody()->args_begin(), f.getBody()->args_end()),
              to(made.getBody()->args_begin(), made.getBody()->args_end());
          if (failed(region(*f.getBody(), made.getBody(), from, to))) return failure();
          return bind(made);
        })
        .Case([&](scf::IfOp f) -> LogicalResult {
          SmallVector<Type> results;
          if (failed(types(op, f.getResultTypes(), results))) return failure();
          auto made = b.create<scf::IfOp>(loc, results, map.lookup(f.getCondition()),
                                          f.elseBlock() != nullptr);
          if (failed(region(*f.thenBlock(), made.thenBlock(), {}, {}))) return failure();
          if (f.elseBlock() && failed(region(*f.elseBlock(), made.elseBlock(), {}, {})))
            return failure();
          return bind(made);
        })
        .Case([&](scf::WhileOp f) -> LogicalResult {
          SmallVector<Type> results;
          if (failed(types(op, f.getResultTypes(), results))) return failure();
          for (Type& t : results)
            if (t.isIndex()) t = b.getI32Type();
          SmallVector<Value> inits = carried(loc, f.getInits());
          auto made = b.create<scf::WhileOp>(loc, results, inits);
          auto part = [&](Region& to, Block& from, TypeRange carriedTypes) {
            OpBuilder::InsertionGuard guard(b);
            SmallVector<Location> locations(carriedTypes.size(), loc);
            Block* block = b.createBlock(&to, {}, carriedTypes, locations);
            SmallVector<Value> args;
            for (auto [x, y] : llvm::zip(from.getArguments(), block->getArguments()))
              args.push_back(asValue(loc, x.getType(), y));
            return region(from, block, from.getArguments(), args);
          };
          if (failed(part(made.getBefore(), *f.getBeforeBody(), ValueRange(inits).getTypes())) ||
              failed(part(made.getAfter(), *f.getAfterBody(), results)))
            return failure();
          b.setInsertionPointAfter(made);
          for (auto [x, y] : llvm::zip(f.getResults(), made.getResults()))
            map[x] = asValue(loc, x.getType(), y);
          return success();
        })
        .Case([&](scf::YieldOp y) {
          bool isWhile = isa<scf::WhileOp>(y->getParentOp());
          b.create<scf::YieldOp>(loc,
                                 isWhile ? carried(loc, y.getOperands()) : all(y.getOperands()));
          return success();
        })
        .Case([&](scf::ConditionOp c) {
          b.create<scf::ConditionOp>(loc, map.lookup(c.getCondition()), carried(loc, c.getArgs()));
          return success();
        })
        .Default([&](Operation*) {
          if (op->getNumResults() != 1) return fail(op, "there is no form of it");
          return success(static_cast<bool>(map[op->getResult(0)] =
                                               scalars.legalise(op, all(op->getOperands()))));
        });
  }
};

} // namespace

FailureOr<LegalKernel> legaliseKernel(func::FuncOp kernel, ArrayRef<bool> startsAligned,
                                      ModuleOp into) {
  return KernelLegaliser(kernel, startsAligned, into).run();
}

} // namespace ortc::codegen::spirv_text
