// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/LowerKernel.h"
#include "compiler/lower/GroupSums.h"
#include "compiler/lower/Vectorise.h"
#include "compiler/support/Names.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace ortc {

std::string wishName(Value value) {
  if (auto dim = value.getDefiningOp<DimOp>()) return dim.getName().str();
  if (auto arg = dyn_cast<BlockArgument>(value))
    if (auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()))
      if (auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), "ortc.name"))
        return name.getValue().str();
  std::string found;
  value.getLoc()->walk([&](Location l) {
    if (auto name = dyn_cast<NameLoc>(l); name && found.empty()) found = name.getName().str();
    return WalkResult::advance();
  });
  // "node '/fc1/Gemm' (Gemm, opset 13)" and "initializer 'w'": what stands between the first quotes
  size_t open = found.find('\''),
         close = open == std::string::npos ? open : found.find('\'', open + 1);
  if (close != std::string::npos) return found.substr(open + 1, close - open - 1);
  // Folding moves constants and forgets where they came from; what they are used for says enough.
  if (auto constant = value.getDefiningOp<arith::ConstantOp>();
      constant && isa<TensorType>(value.getType())) {
    if (value.use_empty()) return "w"; // packed for one kernel
    for (Operation* user : value.getUsers()) {
      if (isa<ContractOp, ConvOp>(user)) return "w";
      auto generic = dyn_cast<linalg::GenericOp>(user);
      if (!generic) generic = user->getParentOfType<linalg::GenericOp>();
      if (!generic) continue;
      Block& body = generic.getRegion().front();
      if (body.getOperations().size() == 2) {
        if (isa<arith::AddFOp>(body.front())) return "bias";
        if (isa<arith::MulFOp>(body.front())) return "scale";
      }
      if (generic != user) return "table"; // read at computed places
    }
    return "constant";
  }
  return "";
}

/// The nodes of a kernel's ops, in order: "node '/fc1/Gemm' (Gemm, opset 13)".
static SmallVector<StringAttr> nodesOf(KernelOp kernel) {
  SmallVector<StringAttr> nodes;
  auto add = [&](Operation* op) {
    op->getLoc()->walk([&](Location l) {
      if (auto name = dyn_cast<NameLoc>(l))
        if (!llvm::is_contained(nodes, name.getName())) nodes.push_back(name.getName());
      return WalkResult::advance();
    });
  };
  kernel.getBody().walk([&](Operation* op) {
    if (op->getNumResults() && isa<TensorType>(op->getResult(0).getType()) &&
        !isa<tensor::EmptyOp, linalg::FillOp, arith::ConstantOp>(op))
      add(op);
  });
  if (nodes.empty()) add(kernel);
  return nodes;
}

/// "fc1_gemm_relu" for nodes '/fc1/Gemm' (Gemm) and '/fc1/Relu' (Relu): where the first node is in
/// the model, and what is computed. Equal kernels of other nodes share the function, so the name is
/// that of the first.
static std::string functionName(KernelOp kernel) {
  std::string place, operators;
  unsigned count = 0;
  for (StringAttr node : nodesOf(kernel)) {
    StringRef text = node.getValue();
    StringRef type =
        text.rsplit('(').second.take_until([](char c) { return c == ',' || c == ')'; });
    if (size_t dot = type.rfind('.'); dot != StringRef::npos) type = type.drop_front(dot + 1);
    if (count == 0 && text.consume_front("node '")) {
      StringRef name = text.take_until([](char c) { return c == '\''; });
      // The last part of an exporter's path is the operator again.
      StringRef head = name.rsplit('/').first, tail = name.rsplit('/').second;
      if (!tail.empty() && tail.take_front(type.size()).equals_insensitive(type)) name = head;
      place = name.trim('/').str();
    }
    if (type.empty() || StringRef(operators).ends_with("_" + type.lower())) continue;
    if (++count <= 4) operators += "_" + type.lower();
  }
  if (count > 4) operators += "_more";
  if (kernel->hasAttr("ortc.copy")) operators = "_copy";
  if (place.empty() && !operators.empty()) operators.erase(0, 1);
  return legaliseIdentifier(place + operators, "kernel");
}

static MemRefType bufferType(Value tensor) {
  return MemRefType::get({ShapedType::kDynamic},
                         cast<RankedTensorType>(tensor.getType()).getElementType());
}

KernelWriter::KernelWriter(KernelOp kernel, ModuleOp module, std::function<Sizes(Value)> strides)
    : builder(kernel.getContext()), emitter(builder, kernel.getLoc(), *this), kernel(kernel),
      stridesOf(std::move(strides)) {
  builder.setInsertionPointToEnd(module.getBody());
  function = builder.create<func::FuncOp>(kernel.getLoc(), functionName(kernel),
                                          builder.getFunctionType({}, {}));
  function.setPrivate();
  function->setAttr("ortc.kernel", builder.getUnitAttr());
  Block* entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  for (Value v : kernel.getResults())
    results.push_back({entry->addArgument(bufferType(v), v.getLoc()), stridesOf(v)});
}

Value KernelWriter::scalar(Value outer) {
  for (auto& [from, to] : scalarArgs)
    if (from == outer) return to;
  Value arg = function.front().addArgument(outer.getType(), outer.getLoc());
  scalarArgs.push_back({outer, arg});
  return arg;
}

Place KernelWriter::place(Value tensor) {
  for (auto& [from, to] : inputArgs)
    if (from == tensor) return {to, stridesOf(tensor)};
  Value arg = function.front().insertArgument(static_cast<unsigned>(inputArgs.size()),
                                              bufferType(tensor), tensor.getLoc());
  inputArgs.push_back({tensor, arg});
  return {arg, stridesOf(tensor)};
}

Value KernelWriter::workspace() {
  if (!workspaceArg)
    workspaceArg = function.front().insertArgument(
        static_cast<unsigned>(inputArgs.size() + results.size()),
        MemRefType::get({ShapedType::kDynamic}, builder.getF32Type()), kernel.getLoc());
  return workspaceArg;
}

LoweredKernel KernelWriter::finish() {
  Block& entry = function.front();
  if (entry.empty() || !entry.back().hasTrait<OpTrait::IsTerminator>()) {
    builder.setInsertionPointToEnd(&entry);
    builder.create<func::ReturnOp>(kernel.getLoc());
  }
  function.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  LoweredKernel r{function, {}, {}, static_cast<bool>(workspaceArg)};
  for (auto& [from, to] : inputArgs)
    r.inputs.push_back(from);
  for (auto& [from, to] : scalarArgs)
    r.scalars.push_back(from);
  SmallVector<Value> outer(r.inputs);
  outer.append(kernel.getResults().begin(), kernel.getResults().end());
  if (workspaceArg) outer.push_back({});
  outer.append(r.scalars);
  for (auto [i, v] : llvm::enumerate(outer)) {
    if (!v) {
      function.setArgAttr(i, "ortc.name", builder.getStringAttr("workspace"));
      continue;
    }
    std::string name = wishName(i >= r.inputs.size() && i < r.inputs.size() + kernel.getNumResults()
                                    ? kernel.yielded()[i - r.inputs.size()]
                                    : v);
    function.setArgAttr(i, "ortc.name", builder.getStringAttr(name));
  }
  SmallVector<Attribute> nodes;
  for (StringAttr node : nodesOf(kernel))
    nodes.push_back(node);
  function->setAttr("ortc.nodes", builder.getArrayAttr(nodes));
  if (kernel.getChoiceAttr()) function->setAttr("ortc.choice", kernel.getChoiceAttr());
  return r;
}

LogicalResult tidyKernel(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  GreedyRewriteConfig config;
  RewritePatternSet none(function.getContext());
  (void)applyPatternsAndFoldGreedily(function, std::move(none),
                                     config); // folds and removes what is dead
  DominanceInfo again(function);
  eliminateCommonSubExpressions(rewriter, again, function);
  return mlir::verify(function);
}

FailureOr<LoweredKernel> lowerKernel(KernelOp kernel, ModuleOp module, const Schedule& schedule,
                                     StridesOf stridesOf) {
  KernelWriter writer(kernel, module, stridesOf);
  LoopEmitter& e = writer.emitter;
  Value root = kernel.yielded()[0];
  Sizes sizes = getSizes(writer.builder, root);
  SmallVector<Value> extents;
  for (OpFoldResult s : sizes)
    extents.push_back(e.localSize(s));
  SmallVector<Value> indices;
  auto store = [&] {
    for (auto [i, v] : llvm::enumerate(kernel.yielded())) {
      e.loc = v.getLoc();
      e.store(e.read(v, indices), writer.result(i), indices);
    }
  };
  auto axis = [](size_t d) { return "i" + std::to_string(d); };
  std::function<void(size_t)> nest = [&](size_t d) {
    if (d == extents.size()) return store();
    if (constantSize(sizes[d]) == 1) {
      indices.push_back(e.index(0));
      return nest(d + 1);
    }
    e.loop(extents[d], axis(d), [&](Value iv) {
      indices.push_back(iv);
      nest(d + 1);
    });
  };
  // The loops that are spread: skip those of one turn.
  SmallVector<Value> spread;
  SmallVector<std::string> axes;
  size_t d = 0;
  int64_t want =
      schedule.parallelLoops < 0 ? static_cast<int64_t>(extents.size()) : schedule.parallelLoops;
  for (; d < extents.size() && static_cast<int64_t>(spread.size()) < want; ++d) {
    if (constantSize(sizes[d]) == 1) {
      indices.push_back(e.index(0));
      continue;
    }
    indices.push_back({});
    spread.push_back(extents[d]);
    axes.push_back(axis(d));
  }
  if (spread.empty() && schedule.parallelLoops == 0) {
    nest(d);
  } else {
    if (spread.empty()) spread.push_back(e.index(1)), axes.push_back("one");
    e.parallel(spread, axes, [&](ValueRange ivs) {
      size_t next = 0;
      for (Value& i : indices)
        if (!i) i = ivs[next++];
      nest(d);
    });
  }
  LoweredKernel lowered = writer.finish();
  if (schedule.vectorLanes > 1) vectoriseLoops(lowered.function, schedule.vectorLanes);
  groupSums(lowered.function);
  if (failed(tidyKernel(lowered.function))) return failure();
  return lowered;
}

} // namespace ortc
