// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Signature.h"
#include "codegen/spirv/PrintSpirv.h"
#include "compiler/ir/Order.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRVPass.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"
using namespace mlir;

namespace ortc::codegen::spirv_text {
namespace {

/// Calls of the functions of scalar math become their bodies, which are one block each.
void inlineCalls(func::FuncOp function, ModuleOp functions) {
  SmallVector<func::CallOp> calls;
  auto collect = [&] {
    calls.clear();
    function.walk([&](func::CallOp c) { calls.push_back(c); });
    return !calls.empty();
  };
  while (collect())
    for (func::CallOp call : calls) {
      auto callee = functions.lookupSymbol<func::FuncOp>(call.getCallee());
      OpBuilder b(call);
      IRMapping map;
      Block& body = callee.getBody().front();
      for (auto [arg, operand] : llvm::zip(body.getArguments(), call.getOperands()))
        map.map(arg, operand);
      for (Operation& op : body.without_terminator())
        b.clone(op, map)->walk([&](Operation* o) { o->setLoc(call.getLoc()); });
      for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(map.lookupOrDefault(value));
      call.erase();
    }
}

/// MLIR's conversion leaves the results of a loop undefined when it has no turn: they are its
/// initial values.
void defineResultsOfEmptyLoops(func::FuncOp function) {
  SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) {
    auto lower = getConstantIntValue(loop.getLowerBound()),
         upper = getConstantIntValue(loop.getUpperBound());
    if (loop.getNumResults() && !(lower && upper && *lower < *upper)) loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    OpBuilder b(loop);
    Value runs = b.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt,
                                         loop.getLowerBound(), loop.getUpperBound());
    b.setInsertionPointAfter(loop);
    for (auto [result, init] : llvm::zip(loop.getResults(), loop.getInitArgs())) {
      auto made = b.create<arith::SelectOp>(loop.getLoc(), runs, result, init);
      result.replaceAllUsesExcept(made, made);
    }
  }
}

/// The function as gpu.func, with what the conversion wants to know.
void makeGpuFunction(const LegalKernel& kernel, ModuleOp into) {
  MLIRContext* c = into.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(into.getBody());
  func::FuncOp function = kernel.function;
  auto module = b.create<mlir::gpu::GPUModuleOp>(function.getLoc(), kernel.name + "_module");
  b.setInsertionPointToStart(module.getBody());
  auto made =
      b.create<mlir::gpu::GPUFuncOp>(function.getLoc(), kernel.name, function.getFunctionType());
  made->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  made->setAttr(mlir::spirv::getEntryPointABIAttrName(),
                mlir::spirv::getEntryPointABIAttr(c, {static_cast<int32_t>(kThreads), 1, 1}));
  Block& from = function.getBody().front();
  Block& to = made.getBody().front();
  for (auto [x, y] : llvm::zip(from.getArguments(), to.getArguments()))
    x.replaceAllUsesWith(y);
  from.getTerminator()->erase();
  to.getOperations().splice(to.end(), from.getOperations());
  b.setInsertionPointToEnd(&to);
  b.create<mlir::gpu::ReturnOp>(function.getLoc());
  function.erase();
}

/// The buffer of scalars becomes push constants: a change of types only.
void toPushConstants(mlir::spirv::ModuleOp module, StringRef name) {
  auto moved = [](Type t) {
    return mlir::spirv::PointerType::get(cast<mlir::spirv::PointerType>(t).getPointeeType(),
                                         mlir::spirv::StorageClass::PushConstant);
  };
  module.walk([&](mlir::spirv::GlobalVariableOp g) {
    if (g.getSymName() != name) return;
    g.setType(moved(g.getType()));
    g->removeAttr("binding");
    g->removeAttr("descriptor_set");
  });
  module.walk([&](mlir::spirv::AddressOfOp a) {
    if (a.getVariable() != name) return;
    a.getPointer().setType(moved(a.getPointer().getType()));
    for (Operation* user : a.getPointer().getUsers())
      if (auto chain = dyn_cast<mlir::spirv::AccessChainOp>(user))
        chain.getComponentPtr().setType(moved(chain.getComponentPtr().getType()));
  });
}

const char* featureOf(mlir::spirv::Capability c) {
  using C = mlir::spirv::Capability;
  switch (c) {
  case C::Int8:
  case C::StorageBuffer8BitAccess:
  case C::UniformAndStorageBuffer8BitAccess: return "VULKAN_INT8";
  case C::Int16:
  case C::StorageBuffer16BitAccess: return "VULKAN_INT16";
  case C::Int64: return "VULKAN_INT64";
  case C::Float64: return "VULKAN_FLOAT64";
  default: return nullptr;
  }
}

LogicalResult convert(ModuleOp module) {
  MLIRContext* c = module.getContext();
  using namespace mlir::spirv;
  auto triple = VerCapExtAttr::get(
      Version::V_1_3,
      {Capability::Shader, Capability::Int8, Capability::Int16, Capability::Int64,
       Capability::Float64, Capability::StorageBuffer8BitAccess,
       Capability::StorageBuffer16BitAccess},
      {Extension::SPV_KHR_storage_buffer_storage_class, Extension::SPV_KHR_8bit_storage,
       Extension::SPV_KHR_16bit_storage},
      c);
  module->setAttr(getTargetEnvAttrName(),
                  TargetEnvAttr::get(triple, getDefaultResourceLimits(c), ClientAPI::Vulkan));
  PassManager pm(c);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<mlir::gpu::GPUModuleOp>(createConvertMathToSPIRVPass());
  pm.addPass(createConvertGPUToSPIRVPass(/*mapMemorySpace=*/false));
  OpPassManager& sp = pm.nest<mlir::spirv::ModuleOp>();
  sp.addPass(createSPIRVLowerABIAttributesPass());
  sp.addPass(createCanonicalizerPass());
  sp.addPass(createCSEPass());
  sp.addPass(createSPIRVUpdateVCEPass());
  return pm.run(module);
}

/// Which memref arguments begin at an aligned byte in every launch.
SmallVector<bool> alignedStarts(func::FuncOp kernel) {
  SmallVector<bool> aligned(kernel.getNumArguments(), true);
  for (Operation* launch : launchesOf(kernel))
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      if (!isa<MemRefType>(kernel.getArgumentTypes()[i])) continue;
      auto buffer = launch->getOperand(i).getDefiningOp<BufferOp>();
      if (!buffer) continue;
      APInt at;
      if (buffer.getOffset() && !(matchPattern(buffer.getOffset(), m_ConstantInt(&at)) &&
                                  at.getSExtValue() % kBindingAlignment == 0))
        aligned[i] = false;
    }
  return aligned;
}

} // namespace

FailureOr<SpirvProgram> compileKernels(ModuleOp module) {
  module.getContext()->loadDialect<mlir::gpu::GPUDialect, mlir::spirv::SPIRVDialect>();
  SpirvProgram program;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr("ortc.kernel")) continue;
    OwningOpRef<ModuleOp> work = ModuleOp::create(kernel.getLoc()),
                          functions = ModuleOp::create(kernel.getLoc());
    FailureOr<LegalKernel> legal = legaliseKernel(kernel, alignedStarts(kernel), *functions);
    if (failed(legal)) return failure();
    inlineCalls(legal->function, *functions);
    defineResultsOfEmptyLoops(legal->function);
    orderOps(legal->function);
    if (failed(verify(legal->function))) return failure();
    makeGpuFunction(*legal, *work);
    if (failed(convert(*work))) return kernel.emitError("cannot be written for Vulkan"), failure();
    SpirvKernel made{*legal, kernel, {}, ""};
    made.legal.function = {};
    LogicalResult written = failure();
    work->walk([&](mlir::spirv::ModuleOp shader) {
      if (made.legal.pushWords)
        toPushConstants(shader,
                        made.legal.name + "_arg_" + std::to_string(made.legal.bindings.size()));
      shader.walk([&](mlir::spirv::GlobalVariableOp g) {
        // Results may lie where an operand did, and views overlap.
        if (g.getBinding()) g->setAttr("aliased", UnitAttr::get(g.getContext()));
      });
      if (auto triple = shader.getVceTriple())
        for (mlir::spirv::Capability c : triple->getCapabilities())
          if (const char* feature = featureOf(c))
            program.needs.try_emplace(feature, made.legal.name);
      SmallVector<uint32_t, 0> words;
      written = mlir::spirv::serialize(shader, words);
      made.words.assign(words.begin(), words.end());
      llvm::raw_string_ostream os(made.text);
      shader.print(os);
    });
    if (failed(written))
      return kernel.emitError("cannot be written for Vulkan: its SPIR-V cannot be serialised"),
             failure();
    program.byName[kernel.getSymName()] = program.kernels.size();
    program.kernels.push_back(std::move(made));
  }
  return program;
}

} // namespace ortc::codegen::spirv_text
