// SPDX-License-Identifier: Apache-2.0
// From a block of scalar ops to a program over registers.
#include "compiler/evaluate/Body.h"
#include "compiler/evaluate/Decode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace ortc {

namespace {
class Compiler {
public:
  Compiler(Body& body, Block& top, ArrayRef<Operation*> skip) : body(body), top(top), skip(skip) {}

  LogicalResult compile() {
    for (BlockArgument a : top.getArguments())
      body.arguments.push_back(a.use_empty() ? noRegister : define(a, true));
    if (failed(block(top, body.code))) return failure();
    for (Value v : top.getTerminator()->getOperands()) {
      bool skipped = v.getDefiningOp() && llvm::is_contained(skip, v.getDefiningOp());
      Register r = skipped ? noRegister : use(v);
      if (!skipped && r == noRegister) return failure();
      body.yields.push_back(r);
      body.yieldTypes.push_back(cellType(v.getType()));
    }
    for (Operation* op : skip)
      for (Value v : op->getOperands())
        if ((body.kept[v] = use(v)) == noRegister) return failure();
    body.registers = next;
    return success();
  }

private:
  Register fresh() {
    if (!free.empty()) return free.pop_back_val();
    return next++;
  }
  /// A register for a value; `forGood`: it is never reused (arguments, constants, what the driver
  /// fills).
  Register define(Value v, bool forGood = false) {
    Register r = forGood ? next++ : fresh();
    registers[v] = r;
    return r;
  }
  bool isInside(Value v) {
    Region* r = v.getParentRegion();
    return top.getParent() == r || top.getParent()->isAncestor(r);
  }

  Register use(Value v) {
    auto it = registers.find(v);
    if (it != registers.end()) return it->second;
    if (cellType(v.getType()).kind == CellType::none) {
      emitError(v.getLoc()) << "cannot evaluate a scalar of type " << v.getType();
      return noRegister;
    }
    Register r = next++;
    registers[v] = r;
    TypedAttr constant;
    if (auto op = v.getDefiningOp<arith::ConstantOp>()) constant = op.getValue();
    if (constant) {
      HostScalar s{v.getType(), {}};
      if (auto f = dyn_cast<FloatAttr>(constant)) {
        APFloat value = f.getValue();
        bool lossy;
        value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
        s.cell.f = value.convertToDouble();
      } else if (auto i = dyn_cast<IntegerAttr>(constant)) {
        s.cell.i = i.getValue().getBitWidth() == 1 ? i.getValue().getZExtValue()
                                                   : i.getValue().getSExtValue();
      } else {
        emitError(v.getLoc()) << "cannot evaluate this constant in a body";
        return noRegister;
      }
      body.constants.emplace_back(s, r);
      return r;
    }
    body.captured.emplace_back(v, r);
    return r;
  }
  LogicalResult uses(ValueRange values, SmallVectorImpl<Register>& out) {
    for (Value v : values) {
      out.push_back(use(v));
      if (out.back() == noRegister) return failure();
    }
    return success();
  }

  /// Registers of values that are defined in `block` and have their last use below `op` are free
  /// after it.
  void release(Block& block, Operation* op) {
    auto consider = [&](Value v) {
      if (v.getParentBlock() != &block || isa<BlockArgument>(v) ||
          v.getDefiningOp<arith::ConstantOp>() || v.getDefiningOp<linalg::IndexOp>())
        return;
      auto it = registers.find(v);
      if (it == registers.end()) return;
      for (Operation* user : v.getUsers()) {
        if (llvm::is_contained(skip, user)) return;
        Operation* here = block.findAncestorOpInBlock(*user);
        if (here == block.getTerminator() || (here != op && op->isBeforeInBlock(here))) return;
      }
      free.push_back(it->second);
      registers.erase(it);
    };
    llvm::SmallSetVector<Value, 8> seen;
    op->walk([&](Operation* inner) { seen.insert(inner->operand_begin(), inner->operand_end()); });
    for (Value v : op->getResults())
      if (v.use_empty()) seen.insert(v);
    for (Value v : seen)
      consider(v);
  }

  LogicalResult block(Block& b, std::vector<Instruction>& code) {
    for (Operation& op : b.without_terminator()) {
      if (llvm::is_contained(skip, &op)) continue;
      if (failed(operation(&op, code))) return failure();
      release(b, &op);
    }
    return success();
  }

  LogicalResult operation(Operation* op, std::vector<Instruction>& code) {
    if (isa<arith::ConstantOp, tensor::EmptyOp>(op)) return success(); // made where it is used
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      body.indexRegisters.emplace_back(index.getDim(), define(index, true));
      return success();
    }
    ++body.operations;
    if (decodeScalar(op)) {
      SmallVector<Register> in;
      if (failed(uses(op->getOperands(), in))) return failure();
      for (OpResult v : op->getResults()) {
        Instruction i{Instruction::scalar};
        i.op = *decodeScalar(op, v.getResultNumber());
        for (auto [n, r] : llvm::enumerate(in))
          i.in[n] = r;
        i.out = define(v);
        code.push_back(std::move(i));
      }
      return success();
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      if (isInside(extract.getTensor()))
        return op->emitError("reads a tensor that is made inside the body");
      Instruction i{Instruction::extract};
      i.op.out = cellType(extract.getType());
      if (i.op.out.kind == CellType::none)
        return op->emitError() << "cannot evaluate elements of type " << extract.getType();
      auto* it = llvm::find(body.tensors, extract.getTensor());
      i.tensor = it - body.tensors.begin();
      if (it == body.tensors.end()) body.tensors.push_back(extract.getTensor());
      if (failed(uses(extract.getIndices(), i.indices))) return failure();
      i.out = define(extract.getResult());
      code.push_back(std::move(i));
      return success();
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      Instruction i{Instruction::load};
      i.op.out = cellType(load.getType());
      if (failed(memory(op, load.getMemRef(), load.getIndices(), i))) return failure();
      i.out = define(load.getResult());
      code.push_back(std::move(i));
      return success();
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      Instruction i{Instruction::store};
      i.in[0] = use(store.getValue());
      if (i.in[0] == noRegister || failed(memory(op, store.getMemRef(), store.getIndices(), i)))
        return failure();
      code.push_back(std::move(i));
      return success();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Instruction i{Instruction::ifElse};
      i.in[0] = use(branch.getCondition());
      if (i.in[0] == noRegister || failed(block(*branch.thenBlock(), i.code)) ||
          failed(uses(branch.thenYield().getOperands(), i.yields)))
        return failure();
      if (branch.elseBlock() && (failed(block(*branch.elseBlock(), i.otherCode)) ||
                                 failed(uses(branch.elseYield().getOperands(), i.otherYields))))
        return failure();
      return finish(op, std::move(i), code);
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Instruction i{Instruction::forLoop};
      SmallVector<Register> bounds;
      if (failed(uses({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, bounds)) ||
          failed(uses(loop.getInitArgs(), i.inits)))
        return failure();
      std::copy(bounds.begin(), bounds.end(), i.in.begin());
      i.out = define(loop.getInductionVar(), true);
      for (Value a : loop.getRegionIterArgs())
        i.carried.push_back(define(a, true));
      if (failed(block(*loop.getBody(), i.code)) ||
          failed(uses(loop.getBody()->getTerminator()->getOperands(), i.yields)))
        return failure();
      return finish(op, std::move(i), code);
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      Instruction i{Instruction::whileLoop};
      if (failed(uses(loop.getInits(), i.inits))) return failure();
      for (Value a : loop.getBeforeArguments())
        i.carried.push_back(define(a, true));
      if (failed(block(*loop.getBeforeBody(), i.code)) ||
          failed(uses(loop.getConditionOp().getArgs(), i.yields)))
        return failure();
      i.condition = use(loop.getConditionOp().getCondition());
      for (Value a : loop.getAfterArguments())
        i.otherArguments.push_back(define(a, true));
      if (failed(block(*loop.getAfterBody(), i.otherCode)) ||
          failed(uses(loop.getYieldOp().getOperands(), i.otherYields)))
        return failure();
      return finish(op, std::move(i), code);
    }
    return op->emitError("cannot be evaluated in a body");
  }

  /// The memory that an op loads from or stores to: an argument of the body.
  LogicalResult memory(Operation* op, Value memref, ValueRange indices, Instruction& i) {
    auto arg = dyn_cast<BlockArgument>(memref);
    if (!arg || arg.getOwner() != &top)
      return op->emitError("loads or stores memory that is no argument of the body");
    for (BlockArgument a : top.getArguments().take_front(arg.getArgNumber()))
      i.tensor += isa<MemRefType>(a.getType());
    return uses(indices, i.indices);
  }

  LogicalResult finish(Operation* op, Instruction i, std::vector<Instruction>& code) {
    // Results get registers of their own: they are written while the code of the regions still runs
    // for other lanes.
    for (Value v : op->getResults())
      i.results.push_back(define(v, true));
    code.push_back(std::move(i));
    return success();
  }

  Body& body;
  Block& top;
  ArrayRef<Operation*> skip;
  llvm::DenseMap<Value, Register> registers;
  SmallVector<Register> free;
  unsigned next = 0;
};
} // namespace

FailureOr<Body> Body::compile(Block& block, ArrayRef<Operation*> skip) {
  Body body;
  if (failed(Compiler(body, block, skip).compile())) return failure();
  return body;
}

} // namespace ortc
