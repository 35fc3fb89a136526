// SPDX-License-Identifier: Apache-2.0
#include "targets/common/catalogue/TemplateCall.h"
#include "compiler/passes/FormKernels.h"

using namespace mlir;

namespace ortc::catalogue {

/// The only contraction or convolution of a kernel without other sums; null otherwise.
static Operation* onlyHeavyOp(KernelOp kernel) {
  Operation* heavy = nullptr;
  for (Operation& op : kernel.block().without_terminator()) {
    if (isa<ContractOp, ConvOp>(op)) {
      if (heavy) return nullptr;
      heavy = &op;
    } else if (auto g = dyn_cast<linalg::GenericOp>(op)) {
      if (g.getNumReductionLoops()) return nullptr;
    } else if (op.getNumResults() && isa<TensorType>(op.getResult(0).getType())) {
      return nullptr;
    }
  }
  return kernel.yielded().size() == 1 ? heavy : nullptr;
}

/// Operands run along n densely, or not at all.
static bool readsAlongColumns(linalg::GenericOp g) {
  bool plain = true;
  for (OpOperand& operand : g->getOpOperands()) {
    AffineMap map = g.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation(true)) plain = false;
    // the last loop may only be the last dim, but for dims of size 1
    for (auto [d, e] : llvm::enumerate(map.getResults()))
      if (e == getAffineDimExpr(g.getNumLoops() - 1, g.getContext()))
        for (AffineExpr after : map.getResults().drop_front(d + 1))
          plain &= isa<AffineConstantExpr>(after);
  }
  return plain;
}

/// Are all ops but `heavy` an epilogue of sums in `element`, on tensors of types that `fits` takes?
static bool isEpilogue(KernelOp kernel, Operation* heavy, Type element,
                       llvm::function_ref<bool(Type)> fits) {
  for (Operation& op : kernel.block().without_terminator()) {
    if (&op == heavy) continue;
    for (Value v : op.getOperands())
      if (isa<TensorType>(v.getType()) && !fits(getElementTypeOrSelf(v.getType()))) return false;
    auto g = dyn_cast<linalg::GenericOp>(op);
    if (!g) continue;
    bool plain = readsAlongColumns(g);
    g.getRegion().walk([&](Operation* inner) {
      plain &= isa<linalg::YieldOp>(inner) || fitsEpilogue(inner, element);
    });
    if (!plain) return false;
  }
  return true;
}

Operation* heavyOp(KernelOp kernel) {
  Operation* heavy = onlyHeavyOp(kernel);
  auto isF32 = [](Type t) { return getElementTypeOrSelf(t).isF32(); };
  if (!heavy || !llvm::all_of(heavy->getOperandTypes(), isF32)) return nullptr;
  return isEpilogue(kernel, heavy, Float32Type::get(kernel.getContext()), isF32) ? heavy : nullptr;
}

Operation* heavyByteOp(KernelOp kernel) {
  Operation* heavy = onlyHeavyOp(kernel);
  if (!heavy || !getElementTypeOrSelf(heavy->getResult(0).getType()).isInteger(32) ||
      !getElementTypeOrSelf(heavy->getOperand(0).getType()).isInteger(8))
    return nullptr;
  Type weights = getElementTypeOrSelf(heavy->getOperand(1).getType());
  if (!weights.isInteger(8) && !weights.isInteger(16)) return nullptr;
  auto fits = [](Type t) { return t.isF32() || t.isInteger(32) || t.isInteger(8); };
  return isEpilogue(kernel, heavy, IntegerType::get(kernel.getContext(), 32), fits) ? heavy
                                                                                    : nullptr;
}

std::optional<HostTensor> constantOf(Value v) {
  auto c = v.getDefiningOp<arith::ConstantOp>();
  if (!c || !isa<ElementsAttr>(c.getValue())) return std::nullopt;
  return toHostTensor(cast<ElementsAttr>(c.getValue()));
}

bool prefetchPays(KernelOp kernel) {
  constexpr int64_t kCache = 1 << 20;
  int64_t bytes = 0;
  // Constants stand at the function's level.
  for (auto constant :
       kernel->getParentOfType<func::FuncOp>().getBody().front().getOps<arith::ConstantOp>())
    if (auto type = dyn_cast<RankedTensorType>(constant.getType()); type && !constant->use_empty())
      bytes += type.getNumElements() * 4;
  return bytes > kCache;
}

void TemplateCall::parameter(StringRef name, int64_t value) {
  Builder& b = writer.builder;
  parameters.push_back(b.getNamedAttr(name, b.getI64IntegerAttr(value)));
  order.push_back(b.getStringAttr(name));
}
void TemplateCall::parameter(StringRef name, StringRef text) {
  Builder& b = writer.builder;
  parameters.push_back(b.getNamedAttr(name, b.getStringAttr(text)));
  order.push_back(b.getStringAttr(name));
}
void TemplateCall::buffer(StringRef name, Value memref) {
  bufferNames.push_back(writer.builder.getStringAttr(name));
  buffers.push_back(memref);
}
void TemplateCall::size(StringRef name, OpFoldResult value) {
  sizeNames.push_back(writer.builder.getStringAttr(name));
  sizes.push_back(writer.emitter.localSize(value));
}
void TemplateCall::size(StringRef name, int64_t value) {
  size(name, OpFoldResult(writer.builder.getIndexAttr(value)));
}

void TemplateCall::finish(KernelOp kernel, Value heavy, unsigned rows) {
  OpBuilder& b = writer.builder;
  Location loc = kernel.getLoc();
  SmallVector<Attribute> names(bufferNames);
  names.append(sizeNames);
  auto call = b.create<CallTemplateOp>(loc, callee, b.getDictionaryAttr(parameters), buffers, sizes,
                                       b.getArrayAttr(names));
  call->setAttr("parameterOrder", b.getArrayAttr(order));
  call->setAttr("argsType", b.getStringAttr(argsType));
  Value root = kernel.yielded()[0];
  if (root == heavy) return; // no epilogue
  OpBuilder::InsertionGuard guard(b);
  Block* block = b.createBlock(
      &call.getEpilogue(), {},
      {getElementTypeOrSelf(heavy.getType()), b.getIndexType(), b.getIndexType()}, {loc, loc, loc});
  LoopEmitter& e = writer.emitter;
  Sizes all = getSizes(b, heavy);
  auto split = [&](Value whole, unsigned from, unsigned to, SmallVector<Value>& indices) {
    SmallVector<Value> parts(to - from);
    Value rest = whole;
    unsigned first = from; // the outermost dim of a size other than 1 needs no remainder
    while (first < to && constantSize(all[first]) == 1)
      ++first;
    for (unsigned d = to; d-- > from;) {
      if (constantSize(all[d]) == 1) {
        parts[d - from] = e.index(0);
        continue;
      }
      Value size = e.localSize(all[d]);
      parts[d - from] = d == first ? rest : e.rem(rest, size);
      if (d != first) rest = e.div(rest, size);
    }
    e.setFlat(parts, whole, ArrayRef(all).slice(from, to - from));
    indices.append(parts);
  };
  SmallVector<Value> indices;
  split(block->getArgument(1), 0, rows, indices);
  split(block->getArgument(2), rows, all.size(), indices);
  e.setWritten(heavy, indices, block->getArgument(0));
  Value result = e.read(root, indices);
  b.create<YieldOp>(loc, result);
}

} // namespace ortc::catalogue
